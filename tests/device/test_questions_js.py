"""Several questions in freewill.js: the same bytes, rows, memory, costs, words and verdicts."""

import copy
import json

import numpy as np
from tools.javascript import evaluated, in_node, node
from tools.javascript.verdicts import python_says

import freewill as fw
from device_cases import skipped, trial
from freewill.device.budget import cost
from freewill.device.memory import amount
from freewill.device.offered import as_text, row_id
from freewill.domain.draws.sources import GivenBytes
from question_cases import PAIR, TRAVEL

pytestmark = skipped(node(), "Node 18 or newer")
WAYS = [
    {"age": "careful", "commute": "open", "home": "careful"},
    {"age": "bits", "commute": "sets", "home": "own"},
    {"age": "no answer", "commute": "careful", "home": "own"},
]


def python_row(survey, choices, index, epsilons, source):
    """The row of a device that reads this source: of each question a report, then 16 bytes."""
    values, ids = {}, []
    for name, own in survey.questions.items():
        mechanism = own.find(choices[name])
        chosen = {"epsilon": epsilons[name]} if name in epsilons else {}
        values[name] = as_text(mechanism, mechanism.draw(index[name], source, **chosen))
        ids.append(bytes(source.byte() for _ in range(16)).hex())
    return {"mechanism": choices, "value": values, "report_id": row_id(ids)}


def test_the_same_bytes_give_the_same_rows():
    stream, rng = np.random.default_rng(3).bytes(1 << 17), np.random.default_rng(4)
    cases = []
    for place in range(60):
        choices = WAYS[place % len(WAYS)]
        index = {
            name: int(rng.integers(own.alphabet.size)) for name, own in TRAVEL.questions.items()
        }
        epsilons = {"home": float(rng.choice([0.5, 1.5, 4.0]))} if choices["home"] == "own" else {}
        cases.append({"choices": choices, "index": index, "epsilons": epsilons})
    theirs = in_node(
        "answers", {"survey": json.dumps(TRAVEL.for_devices()), "cases": cases}, stream
    )
    source = GivenBytes(stream)
    for case, (row, used) in zip(cases, theirs, strict=True):
        ours = python_row(TRAVEL, case["choices"], case["index"], case["epsilons"], source)
        assert (row, used) == (ours, source.used)


def test_a_vector_for_every_client():
    """So many bytes counted up, 41 years, on foot: any other client draws the same."""
    stream = bytes(range(256)) * 4
    case = {"choices": WAYS[0], "index": {"age": 41, "commute": 3, "home": 7}, "epsilons": {}}
    ((row, used),) = in_node(
        "answers", {"survey": json.dumps(TRAVEL.for_devices()), "cases": [case]}, stream
    )
    assert row == python_row(TRAVEL, WAYS[0], case["index"], {}, GivenBytes(stream))
    assert (row["value"], row["report_id"], used) == VECTOR


VECTOR = (
    {"age": "99", "commute": "on foot", "home": "37.805 -122.3642"},
    "0a59c877ed077a31284509285653d7f4",
    75,
)


def test_what_is_remembered_is_the_same_text(tmp_path):
    path = tmp_path / "memory"
    record = {"age": 41, "commute": "bus"}
    row = fw.Device(PAIR, path).row(record, {"age": "bits", "commute": "sets"})
    shared = {"spec": PAIR.for_devices(), "text": path.read_text(), "value": record}
    again = trial("shared", {**shared, "choice": "careful"})
    assert again == {"row": row, "text": path.read_text()}
    other = trial("shared", {**shared, "text": None, "choice": "careful"})
    (tmp_path / "other").write_text(other["text"], encoding="utf-8")
    device = fw.Device(PAIR, tmp_path / "other")
    assert device.row({}) == other["row"]
    assert device.memory.spent == sum(cost(own.find("careful")) for own in PAIR.questions.values())


def test_costs_and_words_are_those_of_python():
    body = """({spec, ways}) => ways.map((way) => {
      const {questions} = survey.Survey.parse(spec);
      const costs = new Map(Object.entries(way).map(([name, choice]) =>
        [name, budget.cost(questions.get(name).find(choice))]));
      return [[...costs.values()].map(memory.written), survey.explainSum(costs)];
    })"""
    ways = [
        {"age": "careful", "commute": "open"},
        {"age": "no answer", "commute": "no answer"},
        {"commute": "sets"},
        {"age": "bits"},
        {},
    ]
    found = evaluated(body, {"spec": PAIR.for_devices(), "ways": ways})
    for way, (costs, said) in zip(ways, found, strict=True):
        ours = fw.explain(PAIR, way)
        assert [amount(one) for one in costs] == [*ours.costs.values()]
        assert said == list(ours.sentences)


def test_both_languages_explain_silence_alike():
    body = """({spec, given}) => Object.fromEntries([...survey.Survey.parse(spec).questions].map(
      ([name, own]) => {
        return [name, [explain.explainChoice(own), explain.explainSurvey(own, given[name])]];
      }))"""
    ours = fw.explain(PAIR)
    theirs = evaluated(body, {"spec": PAIR.for_devices(), "given": ours.for_devices()})
    for name, own in ours.questions.items():
        seen, choices = theirs[name]
        assert seen == own.seen != ""
        for choice, other in zip(own.choices.values(), choices, strict=True):
            assert (other["name"], other["sentences"]) == (choice.name, list(choice.sentences))


def test_names_that_are_numbers_keep_their_order():
    line = fw.Linear(0, 9)
    offers = {"2": fw.KRR(line, 2.0), "1": fw.KRR(line, 1.0)}
    own = fw.Survey(line, offers)
    text = json.dumps(fw.Questionnaire({"10": own, "9": own}).for_devices())
    body = """({text}) => [...survey.Survey.parse(text).questions].map(([name, own]) =>
      [name, own.menu().map((choice) => choice.name)])"""
    assert evaluated(body, {"text": text}) == [["10", ["2", "1"]], ["9", ["2", "1"]]]


def changed(work):
    spec = copy.deepcopy(PAIR.for_devices())
    work(spec, spec["questions"])
    return spec


HOSTILE = {
    "none": lambda spec, q: spec.update(questions=[]),
    "no list": lambda spec, q: spec.update(questions={"age": q[0]}),
    "a field": lambda spec, q: spec.update(alphabet=q[0]["alphabet"]),
    "no name": lambda spec, q: q[0].pop("name"),
    "an empty name": lambda spec, q: q[0].update(name=" "),
    "two lines": lambda spec, q: q[0].update(name="a\nb"),
    "twice": lambda spec, q: q.append(q[0]),
    "the same question": lambda spec, q: q[1].update(question_id=q[0]["question_id"]),
    "a title within": lambda spec, q: q[0].update(title="Ages"),
    "a version within": lambda spec, q: q[0].update({"freewill survey": 2}),
    "another's mechanism": lambda spec, q: q[1].update(mechanisms=q[0]["mechanisms"]),
    "no mechanism": lambda spec, q: q[0].update(mechanisms={}),
    "epsilon 0": lambda spec, q: q[0]["mechanisms"]["careful"].update(epsilon=0),
    "a silent epsilon": lambda spec, q: q[0]["mechanisms"]["no answer"].update(epsilon=1),
    "a promise": lambda spec, q: q[1]["programs"]["sets"]["promise"].update(epsilon=0.5),
    "a sum of names": lambda spec, q: q[0]["mechanisms"].update(
        {"a + b": {"mechanism": "k-rr", "epsilon": 7.0}}
    ),
    "weights": lambda spec, q: spec.update(weights={"age": 1.0}),
    "negative weights": lambda spec, q: spec.update(weights={"age": 1.0, "commute": -1.0}),
    "a number for a title": lambda spec, q: spec.update(title=3),
    "an entry": lambda spec, q: q.append(7),
    "vast": lambda spec, q: q.extend(
        {**q[1], "name": f"q{n}", "question": f"Number {n}?"} for n in range(26)
    ),
}
FINE = {
    "as it is": lambda spec, q: None,
    "with weights": lambda spec, q: spec.update(weights={"age": 1.0, "commute": 2.5}),
    "without words": lambda spec, q: q[0].pop("question_id") and q[0].pop("question"),
    "one question": lambda spec, q: q.pop(),
    "named __proto__": lambda spec, q: q[0].update(name="__proto__"),
}


def test_both_languages_judge_alike():
    texts = {name: json.dumps(changed(work)) for name, work in {**HOSTILE, **FINE}.items()}
    body = """({texts}) => texts.map((text) => {
      try { survey.Survey.parse(text); } catch (error) {
        if (!(error instanceof errors.FreewillError)) throw error;
        return error.message;
      }
      return "";
    })"""
    found = evaluated(body, {"texts": [*texts.values()]})
    for (name, text), theirs in zip(texts.items(), found, strict=True):
        ours = python_says(text)
        refused = (theirs != "", "error" in ours)
        assert refused == (name in HOSTILE, name in HOSTILE), (name, theirs, ours)
