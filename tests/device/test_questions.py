"""A device with several questions: one report a question, one row, one sum."""

import pytest

import freewill as fw
from freewill.device.offered import row_id
from question_cases import AGE, AGES, COMMUTE, MODES, PAIR, TRAVEL

RECORD = {"age": 41, "commute": "bus"}
BOTH = {"age": "careful", "commute": "open"}


def test_a_row_has_an_entry_a_question_and_is_sent_again():
    device = fw.Device(PAIR, memory=fw.Memory(), budget=fw.Budget(7))
    row = device.row(RECORD, BOTH)
    assert row["mechanism"] == BOTH
    assert row["value"].keys() == RECORD.keys()
    assert device.row({"age": 3, "commute": "car"}, "careful") == row
    assert device.row({}) == row
    assert float(device.budget.spent) == pytest.approx(0.04 * 99 + 3)
    assert device.report(RECORD, BOTH) == {
        "age": int(row["value"]["age"]),
        "commute": row["value"]["commute"],
    }


def test_reports_are_those_of_the_mechanisms_that_were_chosen():
    device = fw.Device(PAIR)
    reports = [device.report(RECORD, {"age": "bits", "commute": "open"}) for _ in range(20)]
    each = PAIR.chosen(age="bits", commute="open")
    assert len(each.received(reports)) == 20


def test_silence_needs_no_value_and_costs_nothing():
    budget = fw.Budget(0)
    row = fw.Device(PAIR, budget=budget).row({}, "no answer")
    assert row["value"] == {"age": "nothing", "commute": "nothing"}
    assert budget.spent == 0
    with pytest.raises(fw.DeviceError, match="question 'age': no value is given to geometric"):
        fw.Device(PAIR).row({"commute": "bus"}, "careful")


def test_a_question_that_was_answered_alone_is_not_drawn_again():
    """It is the same question in both: its report is the same, and costs once."""
    memory = fw.Memory()
    alone = fw.Device(AGE, memory=memory).row(41, "careful")
    device = fw.Device(PAIR, memory=memory, budget=fw.Budget(99, memory))
    row = device.row({"commute": "bus"}, {"commute": "open"})
    assert row["value"]["age"] == alone["value"]
    assert row["mechanism"] == BOTH
    assert row["report_id"] != alone["report_id"]
    assert float(device.budget.spent) == pytest.approx(0.04 * 99 + 3)
    assert {*device.remembered} == {"age", "commute"}


def test_the_sum_is_held_to_the_budget_before_anything_is_drawn():
    memory = fw.Memory()
    device = fw.Device(PAIR, memory=memory, budget=fw.Budget(6.9, memory))
    with pytest.raises(fw.BudgetError, match=r"costs epsilon 6\.96 \(age 3\.96, commute 3\)"):
        device.row(RECORD, BOTH)
    assert device.remembered is None
    assert memory.spent == 0


def test_everything_is_forgotten_together():
    device = fw.Device(PAIR, memory=fw.Memory())
    first = device.row(RECORD, BOTH)
    device.forget()
    assert device.remembered is None
    assert device.row(RECORD, BOTH)["report_id"] != first["report_id"]


def test_an_own_epsilon_is_that_of_its_question():
    budget = fw.Budget(99)
    device = fw.Device(TRAVEL, budget=budget)
    record = {**RECORD, "home": (37.75, -122.44)}
    device.row(record, {**BOTH, "home": "own"}, {"home": 1.5})
    assert float(budget.spent) == pytest.approx(0.04 * 99 + 3 + 1.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((41, "careful"), "expected a dict with a value for each of age, commute"),
        (({"agee": 41}, "careful"), "'agee' is no question here.*Did you mean 'age'"),
        ((RECORD, {"age": "careful", "way": "open"}), "'way' is no question"),
        ((RECORD, {"age": "careful"}), "question 'commute': choice=None: expected one of"),
        (({**RECORD, "age": 300}, BOTH), "question 'age': 300 is not in the alphabet"),
        ((RECORD, "relaxed"), "question 'age': choice='relaxed'"),
        ((RECORD, BOTH, {"age": 0.5}), "question 'age'"),
    ],
)
def test_what_is_wrong_names_its_question(given, words):
    device = fw.Device(PAIR, memory=fw.Memory())
    with pytest.raises(fw.DeviceError, match=words):
        device.row(*given)
    assert device.remembered is None


def test_questions_without_words_are_named_by_the_questionnaire():
    bare = fw.Survey(MODES, {"k": fw.KRR(MODES, 1.0)})
    both = fw.Questionnaire({"a": bare, "b": bare})
    with pytest.raises(fw.DeviceError, match="question 'a': a memory, and nothing that says"):
        fw.Device(both, memory=fw.Memory())
    device = fw.Device(both, memory=fw.Memory(), question="our-town/2026")
    device.row({"a": "car", "b": "bus"})
    assert {*device.memory.sent} == {"id our-town/2026/a", "id our-town/2026/b"}


def test_one_question_cannot_be_asked_twice():
    other = fw.Survey(AGES, {"k": fw.KRR(AGES, 1.0)}, question="Age?", question_id=AGE.question_id)
    words = fw.Survey(MODES, {"k": fw.KRR(MODES, 1.0)}, question=" How do you  come to work?")
    for first, second in ((AGE, other), (COMMUTE, words)):
        with pytest.raises(fw.SurveyError, match="'a' and 'b' ask the same"):
            fw.Questionnaire({"a": first, "b": second})


def test_the_sum_is_said_in_words():
    said = fw.explain(PAIR, {"age": "careful", "commute": "no answer"})
    assert str(said).startswith("Epsilon 3.96 in all: age 3.96, commute 0. Of two equally")
    assert "at most 53 times as likely" in str(said)
    assert fw.explain(PAIR, {}).sentences[1] == "Together your reports tell nothing at all."
    assert [*fw.explain(PAIR)] == ["age", "commute"]
    silent = fw.explain(PAIR)["age"]["no answer"]
    assert silent.sentences[1] == "Your report tells nothing at all about your value."
    with pytest.raises(fw.FreewillError, match="question 'age': mechanism 'x' is not on offer"):
        fw.explain(PAIR, {"age": "x"})


def test_the_id_of_a_row_follows_from_its_parts():
    assert row_id(["00" * 16, "ff" * 16]) == "963b5f6948dac2dd8f625ec6fb419a56"
