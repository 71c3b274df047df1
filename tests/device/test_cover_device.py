"""Covers on devices, in Python and in freewill.js: what is drawn, remembered, charged and said."""

from collections import Counter
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from tools.javascript import evaluated, node
from tools.javascript.cases import covers

import freewill as fw
from device_cases import skipped
from freewill.device import offered
from freewill.device.budget import covered_cost
from freewill.device.memory import amount_text
from freewill.device.offered import as_text
from freewill.domain.draws.sources import GivenBytes
from freewill.errors import BudgetError, DeviceError

LINE = fw.Linear(0, 9)
MENU = {"shy": fw.KRR(LINE, 0.5), "open": fw.KRR(LINE, 2.0)}
SURVEY = fw.Survey(LINE, fw.Cover(MENU, 1.0), question="How many?")
SILENT = fw.Survey(
    LINE,
    fw.Cover({**MENU, "none": fw.Silent(LINE), "true": fw.Identity(LINE)}, 1.0, "protection"),
    question="How many?",
)
THREE = fw.Categorical(["a", "b", "c"])
NEXT = fw.Matrix(THREE, [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
ENDLESS = fw.Survey(
    THREE,
    fw.Cover({"k": fw.KRR(THREE, 1.0), "next": NEXT, "true": fw.Identity(THREE)}, 1, "protection"),
    question="Which?",
)
"""Two that promise no epsilon: one hides half of it, the other nothing."""
in_javascript = skipped(node(), "Node 18 or newer")


def test_a_row_names_the_mechanism_that_was_used():
    rows = Counter(fw.Device(SURVEY).row(3, "shy")["mechanism"] for _ in range(400))
    # 400 / (1 + e) is 107.6; more than six standard deviations off once in 10^9 times.
    assert 50 < rows["open"] < 165
    assert set(rows) == {"shy", "open"}


def test_what_was_drawn_is_remembered_and_charged_once():
    budget, memory = fw.Budget(6), fw.Memory()
    sent = fw.Device(SURVEY, memory=memory, budget=budget)
    row = sent.row(3, "shy")
    assert budget.spent == 3  # 1 for the choice, and the 2 of what may be used
    assert all(sent.row(value, choice) == row for value in (3, 7) for choice in MENU)
    assert sent.remembered.mechanism == MENU[row["mechanism"]].id
    assert budget.spent == 3
    with pytest.raises(BudgetError, match="costs epsilon 3"):
        fw.Device(SURVEY, budget=fw.Budget(2.9)).row(3, "shy")


def test_towards_protection_a_report_costs_what_was_chosen():
    costs = {name: covered_cost(SILENT.cover, name) for name in SILENT.mechanisms}
    assert costs == {"shy": Fraction(1, 2), "open": 2, "none": 0, "true": np.inf}


def test_what_all_answers_cost_counts_the_choice():
    both = fw.Questionnaire(
        {"many": SURVEY, "few": fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0)}, question="Few?")}
    )
    assert fw.explain(both, {"many": "shy", "few": "k"}).costs == {"many": 3, "few": 1}
    row = fw.Device(both, budget=fw.Budget(4)).row({"many": 3, "few": 3}, {"many": "shy"})
    assert set(row["mechanism"]) == {"many", "few"}


def test_who_is_silent_need_not_give_a_value():
    one = fw.Questionnaire({"many": SILENT})
    assert fw.Device(one).row({}, {"many": "none"})["mechanism"] == {"many": "none"}
    with pytest.raises(DeviceError, match="no value is given"):
        fw.Device(one).row({}, {"many": "shy"})


def test_a_form_that_does_not_name_the_mechanism_is_refused_before_any_draw():
    asked = fw.Questionnaire({"many": SURVEY})
    with patch.object(offered, "drawn_text", side_effect=AssertionError):
        with pytest.raises(DeviceError, match="Ask for row"):
            fw.Device(SURVEY).report(3, "shy")
        with pytest.raises(DeviceError, match="Ask for row"):
            fw.Device(asked).report({"many": 3}, "shy")


def test_mechanisms_of_two_steps_report_once_under_a_cover():
    twice = fw.LongitudinalKRR(LINE, epsilon=1.0, epsilon_inf=3.0)
    survey = fw.Survey(LINE, fw.Cover({"twice": twice, **MENU}), question="How many?")
    memory = fw.Memory()
    row = fw.Device(survey, memory=memory).row(3, "twice")
    assert list(memory.sent) == ["question How many?"]
    assert fw.Device(survey, memory=memory).row(5, "shy") == row
    with pytest.raises(DeviceError, match="keeps no permanent answer"):
        fw.Device(survey, memory=memory).row(3, "twice", period="May")


def test_people_are_told_what_is_drawn():
    (first, *_) = fw.explain(SURVEY, "shy").sentences
    assert first == (
        "Which protection is used is drawn, too: with a chance of 27 % it is another one of the "
        "list, stronger or weaker, so that your choice is not told for sure. What "
        "follows is about this one."
    )
    said = {name: " ".join(fw.explain(SILENT, name).sentences) for name in SILENT.mechanisms}
    assert [name for name in said if "never a weaker one" in said[name]] == ["shy", "open", "true"]
    assert [name for name in said if "it is seen that you chose it." in said[name]] == ["true"]
    assert [name for name in said if "one that promises no more" in said[name]] == ["shy", "open"]


@in_javascript
def test_the_same_bytes_give_the_same_rows_in_javascript():
    """Whole rows of a device: the announcement, the report, and the 16 bytes of the id."""
    stream = np.random.default_rng(3).bytes(1 << 15)
    offered = [SURVEY, SILENT, ENDLESS, *covers()]
    body = """async (given) => {
      const read = given.surveys.map((one) => survey.Survey.parse(JSON.stringify(one)));
      const source = new draws.GivenBytes(given.bytes);
      const rows = [];
      for (const one of read) {
        for (const { name } of one.menu()) {
          const kept = new memory.Memory(memory.temporary());
          const own = new device.Device(one, { source, memory: kept, question: "question one" });
          rows.push([await own.row(one.alphabet.decode(1), name), source.used, own.remembered]);
        }
      }
      return rows;
    }"""
    given = {"surveys": [one.spec() for one in offered], "bytes": list(stream)}
    rows = evaluated(body, given)
    source, found = GivenBytes(stream), iter(rows)
    for one in offered:
        for choice in one.cover:
            name, drawn = one.cover.draw(choice, 1, source)
            own = bytes(source.byte() for _ in range(16)).hex()
            text = as_text(one.cover[name], drawn)
            row, used, kept = next(found)
            assert row == {"mechanism": name, "value": text, "report_id": own}
            assert (used, kept["mechanism"]) == (source.used, one.cover[name].id)
            assert kept["words"] == str(one.cover[name])


@in_javascript
def test_costs_and_words_are_the_same_in_javascript():
    body = """(given) => given.map((one) => {
      const read = survey.Survey.parse(one);
      const choices = explain.explainSurvey(read);
      const said = choices.map(({ warnings, sentences }) => [warnings, sentences.slice(0, 2)]);
      return [said, read.menu().map(({ name }) => memory.written(read.cover.cost(name)))];
    })"""
    weak = fw.Survey(LINE, fw.Cover({**MENU, "weak": fw.KRR(LINE, 9.0)}))
    assert fw.explain(weak, "shy").warnings == (
        "Careful: what may be used in place of this one is weak.",
    )
    offered = [SURVEY, SILENT, ENDLESS, weak, *covers()]
    theirs = evaluated(body, [one.spec() for one in offered])
    for one, (said, costs) in zip(offered, theirs, strict=True):
        assert costs == [amount_text(covered_cost(one.cover, name)) for name in one.cover]
        for name, (warnings, sentences) in zip(one.cover, said, strict=True):
            ours = [words for words in fw.explain(one, name).sentences if "is used" in words]
            assert ours
            assert warnings == list(fw.explain(one, name).warnings)
            assert sentences[: len(ours)] == ours


@in_javascript
def test_what_cannot_be_drawn_whole_is_not_read_in_part():
    spec = SURVEY.spec()
    spec["mechanisms"]["odd"] = {"mechanism": "unheard-of", "version": 1}
    body = """(given) => {
      const names = [];
      for (const cover of [undefined, given.cover]) {
        try {
          const read = survey.Survey.parse({ ...given, cover }, { partly: true });
          names.push(read.undrawable.join());
        } catch (error) {
          names.push(error.message);
        }
      }
      return names;
    }"""
    bare, covered = evaluated(body, spec)
    assert "odd" in covered
    assert "expected one of" in covered
    assert bare != covered
