"""Composed mechanisms in browsers: drawn by programs made of programs, to the last bit."""

import copy
import json

import numpy as np
import pytest
from tools.javascript import evaluated, in_node, node
from tools.javascript.cases import written

import freewill as fw
from device_cases import skipped
from freewill.domain.alphabets.groups import coarser
from freewill.domain.draws.sources import GivenBytes

pytestmark = skipped(node(), "Node 18 or newer")


def offered(alphabet, epsilon: float) -> fw.Survey:
    values, bits = fw.KRR(alphabet, epsilon), fw.RAPPOR(alphabet, epsilon)
    hashed, sets = fw.LocalHashing(alphabet, epsilon), fw.SubsetSelection(alphabet, epsilon)
    signs = fw.HadamardResponse(alphabet, epsilon)
    chances = np.random.default_rng(0).dirichlet(np.ones(3), alphabet.size)
    mechanisms = {
        "values and bits": fw.Both(values, bits),
        "all": fw.Both(signs, hashed, sets, fw.OUE(alphabet, epsilon), values),
        "shy": fw.Perhaps(values, 0.3),
        "shy sets": fw.Perhaps(sets, 2.0**-40),
        "shy pair": fw.Perhaps(fw.Both(hashed, fw.Perhaps(values, 0.9)), 0.5),
        "shy twice": fw.Perhaps(fw.Perhaps(values, 0.7), 0.7),
        "groups": values.then(np.arange(alphabet.size) % 2),
        "by chance": values.then(chances, fw.Categorical(["a", "b", "c"])),
        "signs": signs.then(lambda sign: "low" if sign < 2 else "high"),
        "group and value": fw.Both(values.then(np.arange(alphabet.size) % 2), values),
    }
    if isinstance(alphabet, fw.Linear):
        noise = fw.Geometric(alphabet, epsilon / 4)
        mechanisms["two noises"] = fw.Both(noise, fw.Exponential(alphabet, epsilon / 4))
        mechanisms["noise and values"] = fw.Both(noise, values)
        mechanisms["bins"] = noise.then(coarser(alphabet, 2))
    return fw.Survey(alphabet, mechanisms)


SURVEYS = [
    offered(fw.Linear(0, 9, unit="year"), 1.0),
    offered(fw.Linear(0, 299, step=1), 0.1),
    offered(fw.Categorical(list("abcde")), 3.0),
    offered(fw.Grid(4, 3, cell=(0.5, 0.3)), 0.5),
]


def test_the_same_bytes_give_the_same_reports():
    stream, count = np.random.default_rng(27).bytes(1 << 22), 60
    specs = [survey.for_devices() for survey in SURVEYS]
    found = in_node("draws", {"surveys": specs, "count": {"default": count}}, stream)
    source, reports = GivenBytes(stream), 0
    for survey, rows in zip(SURVEYS, found, strict=True):
        size = survey.alphabet.size
        for (name, one), row in zip(survey.mechanisms.items(), rows, strict=True):
            ours = [written(one, one.draw(i % size, source)) for i in range(count)]
            assert (row["reports"], row["used"]) == (ours, source.used), name
            reports += count
    assert reports > 2_000


def test_ids_and_promises_are_those_of_python():
    body = """({specs}) => specs.map((spec) => survey.Survey.parse(spec).menu().map(
      ({mechanism}) => [mechanism.id, mechanism.promise, mechanism.epsilon]))"""
    found = evaluated(body, {"specs": [survey.for_devices() for survey in SURVEYS]})
    for survey, rows in zip(SURVEYS, found, strict=True):
        promises = [(one.id, one.guarantee()) for one in survey.mechanisms.values()]
        assert rows == [[name, promise.kind, promise.epsilon] for name, promise in promises]


def test_both_languages_say_the_same():
    body = """({specs, given}) => specs.map((spec, i) =>
      explain.explainSurvey(survey.Survey.parse(spec), given[i]))"""
    ours = [fw.explain(survey) for survey in SURVEYS]
    specs = [survey.for_devices() for survey in SURVEYS]
    theirs = evaluated(body, {"specs": specs, "given": [own.for_devices() for own in ours]})
    for own, said in zip(ours, theirs, strict=True):
        for (name, choice), other in zip(own.choices.items(), said, strict=True):
            assert other["sentences"] == list(choice.sentences), name
            assert other["warnings"] == list(choice.warnings), name


def test_reports_are_known_and_foreign_ones_refused():
    line = fw.Linear(0, 4)
    survey = fw.Survey(
        line,
        {
            "both": fw.Both(fw.KRR(line, 1.0), fw.RAPPOR(line, 1.0)),
            "shy": fw.Perhaps(fw.LocalHashing(line, 1.0, 4), 0.5),
        },
    )
    good = {"both": ["041f", "0000"], "shy": ["00" * 9, "01ffffffff03000000"]}
    bad = {
        "both": ["051f", "0420", "04", "041f00", "041F", "xxxx", ""],
        "shy": ["00" * 8, "00" * 8 + "01", "02" + "00" * 8, "01ffffffff04000000"],
    }
    asked = [(name, text) for texts in (good, bad) for name in texts for text in texts[name]]
    body = """({spec, asked}) => {
      const read = survey.Survey.parse(spec);
      return asked.map(([name, text]) => read.find(name).gives(text));
    }"""
    found = evaluated(body, {"spec": survey.for_devices(), "asked": asked})
    assert found == [True] * 4 + [False] * (len(asked) - 4)
    body = """({spec}) => {
      const read = survey.Survey.parse(spec);
      const kinds = (parts) => parts.map(([part, text]) => [part.kind, text]);
      const said = (name, text) => kinds(read.find(name).reads(text));
      return [said("both", "0311"), said("shy", "010200000003000000"), said("shy", "00".repeat(9))];
    }"""
    said = evaluated(body, {"spec": survey.for_devices()})
    assert said == [[["k-rr", "3"], ["rappor", "11"]], [["local-hashing", "2:3"]], []]


def program_of(spec):
    (program,) = spec["programs"].values()
    return program


LIES = {
    "a sum that is too small": ("both", lambda p: p["promise"].update(epsilon=1.999)),
    "another kind": ("both", lambda p: p["promise"].update(kind="geo")),
    "no promise": ("both", lambda p: p["promise"].update(epsilon=None)),
    "a louder part": (
        "both",
        lambda p: p["parts"][0]["mechanism"].update(epsilon=1.5),
    ),
    "one part": ("both", lambda p: p["parts"].pop()),
    "parts that are none": ("both", lambda p: p.update(parts=[1, 2])),
    "a part with an alphabet": (
        "both",
        lambda p: p["parts"][0]["mechanism"].update(alphabet=fw.Linear(0, 1).spec()),
    ),
    "a part that promises nothing": (
        "both",
        lambda p: p["parts"][0].update(mechanism={"mechanism": "identity", "version": 1}),
    ),
    "a louder inner report": ("perhaps", lambda p: p["promise"].update(epsilon=0.5)),
    "an inner program that lies": (
        "perhaps",
        lambda p: p["inner"]["promise"].update(epsilon=0.9),
    ),
    "a chance of 1": ("perhaps", lambda p: p.update(chance=["1", 0])),
    "a map that is too short": ("then", lambda p: p["map"].pop()),
    "a map beyond the outputs": ("then", lambda p: p["map"].__setitem__(0, 7)),
    "less than the inner promise": ("then", lambda p: p["promise"].update(epsilon=0.9)),
}


@pytest.mark.parametrize(("name", "change"), LIES.values(), ids=LIES)
def test_programs_that_tell_more_than_they_promise_are_refused(name, change):
    line = fw.Linear(0, 4)
    values = fw.KRR(line, 1.0)
    made = {
        "both": fw.Both(values, fw.OUE(line, 1.0)),
        "perhaps": fw.Perhaps(fw.OUE(line, 1.0), 0.5),
        "then": values.then([0, 0, 1, 1, 1]),
    }[name]
    spec = fw.Survey(line, {"m": made}).for_devices()
    lie = copy.deepcopy(spec)
    change(program_of(lie))
    body = """({given}) => given.map((spec) => {
      try { survey.Survey.parse(spec); } catch (error) { return error.message; }
      return "";
    })"""
    honest, refused = evaluated(body, {"given": [spec, lie]})
    assert honest == ""
    assert "Nothing is drawn by it" in refused
    with pytest.raises(fw.SurveyError):
        fw.Survey.from_spec(json.loads(json.dumps(lie)))


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.Both(fw.Identity(fw.Linear(0, 4)), fw.KRR(fw.Linear(0, 4), 1.0)),
        fw.Perhaps(fw.KRR(fw.Linear(0, 4), 1.0), 1.0),
        fw.Perhaps(fw.Shokri(fw.Linear(0, 4), 1.0), 0.5),
        fw.KRR(fw.Linear(0, 4), 1.0).then(lambda value: min(value, 3)),
        fw.RAPPOR(fw.Linear(0, 1), 1.0).then([0, 1, 1, 0]),
    ],
    ids=str,
)
def test_what_no_browser_draws_has_no_program(mechanism):
    assert mechanism.program() is None
