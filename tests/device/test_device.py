"""A person's device: what it draws, what it repeats, what it refuses."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.device import offered as values
from freewill.domain.alphabets.base import readable
from freewill.domain.draws.sources import GivenBytes
from freewill.errors import AlphabetError, BudgetError, DeviceError, LawError

LINE, MENU, CITY = fw.Linear(1, 10), fw.Categorical(["yes", "no", "3"]), fw.Grid(4, 3, cell=0.5)
BOX = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=6, rows=4)
EVERY = [
    *(kind(alphabet, 1.0) for kind in (fw.KRR, fw.RAPPOR) for alphabet in (LINE, MENU, CITY, BOX)),
    fw.Geometric(LINE, 0.5), fw.PlanarGeometric(CITY, 2.0), fw.PlanarGeometric(BOX, 0.7),
    fw.Identity(MENU), fw.Identity(BOX), fw.Shokri(LINE, 1.5),
    fw.Matrix(MENU, [[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], fw.Categorical(["up", "down"])),
]  # fmt: skip
WORDS = {"question": "How much is it?"}
CHOICES = {"careful": fw.KRR(LINE, 0.5), "relaxed": fw.KRR(LINE, 2.0), "bits": fw.RAPPOR(LINE, 1.0)}
SURVEY = fw.Survey(LINE, CHOICES, **WORDS)


@pytest.mark.parametrize("mechanism", EVERY, ids=str)
def test_reports_are_values_that_the_mechanism_reads(mechanism):
    device = fw.Device(mechanism)
    for value in readable(mechanism.alphabet, np.arange(mechanism.alphabet.size)):
        report = device.report(value)
        assert type(report) is type(mechanism.report(value))
        assert len(mechanism.received([report])) == 1
    if isinstance(mechanism, fw.Identity):
        assert report == value


def test_reports_follow_the_law():
    # 2,000 draws of a law with six outputs: a right sampler is off that far once in a million.
    mechanism = fw.Geometric(fw.Linear(0, 5), 0.7)
    device = fw.Device(mechanism)
    counts = np.bincount([device.report(2) for _ in range(2000)], minlength=6)
    expected = 2000 * mechanism.law()[2]
    statistic = 2 * float(np.sum(counts * np.log(np.maximum(counts, 1) / expected)))
    assert statistic < 36.0  # chi-square with 5 degrees of freedom, 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY, ids=str)
def test_rows_are_read_as_the_reports_they_are(mechanism, tmp_path):
    survey = fw.Survey(mechanism.alphabet, {"mine": mechanism}, **WORDS)
    value = readable(mechanism.alphabet, [1])[0]
    device = fw.Device(survey, tmp_path / "m")
    row, again = device.row(value), device.row(value)
    assert row == again == json.loads(json.dumps(row))
    assert row["mechanism"] == "mine"
    evidence = fw.read_reports(pa.Table.from_pylist([row, again]), survey, strict=True)
    assert evidence.people == 1
    outputs = evidence.groups[0].outputs
    assert np.array_equal(outputs, mechanism.received([device.report(value)]))


def test_the_bytes_are_the_operating_systems(monkeypatch):
    stream = np.random.default_rng(5).bytes(4000)
    for mechanism in EVERY:
        given, place = GivenBytes(stream), iter(stream)
        monkeypatch.setattr(
            os, "urandom", lambda count, place=place: bytes(next(place) for _ in range(count))
        )
        text = values.drawn_text(mechanism, 1)
        monkeypatch.undo()
        drawn = mechanism.draw(1, given)
        assert len(stream) - len(bytes(place)) == given.used
        assert text == (
            drawn.tobytes().hex()
            if mechanism.output_space.alphabet is None
            else values.texts(mechanism.output_space.alphabet, [drawn])[0]
        )


def test_there_is_no_seed_and_one_value_at_a_time():
    device = fw.Device(fw.KRR(LINE, 1.0))
    seeded = {"rng": np.random.default_rng(0)}
    with pytest.raises(TypeError):
        device.report(3, **seeded)
    for wrong in ([3], [3, 4], np.array([3]), []):
        with pytest.raises(AlphabetError, match="reports one value"):
            device.report(wrong)
    for wrong in (0, 11, "3", None, 2.5):
        with pytest.raises(AlphabetError):
            device.report(wrong)
    assert fw.Device(fw.Identity(CITY)).report((0.3, 0.3)) == (0.25, 0.25)
    with pytest.raises(AlphabetError, match="reports one value"):
        fw.Device(fw.Identity(CITY)).report([(0.3, 0.3)])


def test_a_choice_is_needed_where_there_is_one():
    device = fw.Device(SURVEY)
    for wrong in (None, "other", 3, ["careful"]):
        with pytest.raises(DeviceError, match="expected one of 'careful', 'relaxed', 'bits'"):
            device.report(3, wrong)
    assert device.row(3, CHOICES["relaxed"].id)["mechanism"] == "relaxed"
    for wrong in (None, fw.KRR, 3, "survey.json"):
        with pytest.raises(DeviceError, match="expected a mechanism"):
            fw.Device(wrong)
    with pytest.raises(DeviceError, match="expected a budget"):
        fw.Device(SURVEY, budget=2.0)


def never(*_):
    raise AssertionError("drawn anew")


def test_what_was_sent_is_sent_again_whatever_is_asked(tmp_path, monkeypatch):
    row = fw.Device(SURVEY, tmp_path / "m").row(3, "careful")
    monkeypatch.setattr("freewill.device.offered.drawn_text", never)
    for value in range(1, 11):
        assert fw.Device(SURVEY, tmp_path / "m").row(value, "careful") == row
        assert fw.Device(SURVEY, str(tmp_path / "m")).row(value, "bits") == row
    assert fw.Device(SURVEY, tmp_path / "m").report(9, "careful") == int(row["value"])
    with pytest.raises(DeviceError, match=r"answered with k-rr\(1\.\.10, epsilon=0\.5\)"):
        fw.Device(SURVEY, tmp_path / "m").report(9, "relaxed")
    with pytest.raises(AlphabetError):
        fw.Device(SURVEY, tmp_path / "m").row(11, "careful")
    with pytest.raises(AssertionError, match="drawn anew"):
        fw.Device(SURVEY).row(3, "careful")


def test_a_mended_text_or_a_longer_menu_is_the_same_question(tmp_path, monkeypatch):
    texts = WORDS | {"question_id": "how-much-2026"}
    first = fw.Survey(LINE, CHOICES, title="Teh survey", descriptions={"bits": "Bist."}, **texts)
    row = fw.Device(first, tmp_path / "m").row(3, "careful")
    monkeypatch.setattr("freewill.device.offered.drawn_text", never)
    renamed = {"cautious": CHOICES["careful"], "careful": CHOICES["relaxed"]}
    for same in (
        fw.Survey(LINE, CHOICES, title="The survey", descriptions={"bits": "Bits."}, **texts),
        fw.Survey(LINE, {**CHOICES, "open": fw.Identity(LINE)}, **texts),
        fw.Survey(
            LINE, CHOICES, question="How much is it, all in all?", question_id="how-much-2026"
        ),
    ):
        assert fw.Device(same, tmp_path / "m").row(4, "bits") == row
    # Under another name the same mechanism is the same; the old name now means another law.
    again = fw.Device(fw.Survey(LINE, renamed, **texts), tmp_path / "m").row(4, "careful")
    assert again == {**row, "mechanism": "cautious"}


def test_blanks_and_spellings_make_no_other_question(tmp_path, monkeypatch):
    words = "Où es-tu née?"
    row = fw.Device(fw.Survey(LINE, CHOICES, question=words), tmp_path / "m").row(3, "bits")
    monkeypatch.setattr("freewill.device.offered.drawn_text", never)
    same = "  Ou\u0300  es-tu\u00a0ne\u0301e? "
    assert fw.Device(fw.Survey(LINE, CHOICES, question=same), tmp_path / "m").row(3, "bits") == row


def test_another_question_over_the_same_values_is_another(tmp_path):
    other = fw.Survey(LINE, CHOICES, question="How many are you?")
    # An id that reads like a question, or the other way round, is not that question.
    posing = fw.Survey(LINE, CHOICES, question_id=WORDS["question"])
    ids = {
        fw.Device(survey, tmp_path / "m").row(3, "careful")["report_id"]
        for survey in (SURVEY, other, posing)
    }
    assert len(ids) == 3
    assert fw.Memory(tmp_path / "m").spent == 3 * fw.Memory(tmp_path / "m").sent[
        "question How much is it?"
    ].epsilon  # fmt: skip


def test_an_unnamed_question_is_not_remembered(tmp_path):
    for offered in (CHOICES["careful"], fw.Survey(LINE, CHOICES)):
        with pytest.raises(DeviceError, match="nothing that says which question"):
            fw.Device(offered, tmp_path / "m")
        fw.Device(offered, tmp_path / "m", question="some-question")
    for wrong in ("short", 3, "a\nbcdefgh", ""):
        with pytest.raises(DeviceError, match="question"):
            fw.Device(SURVEY, tmp_path / "m", question=wrong)


def test_a_mechanism_that_is_gone_is_no_reason_for_a_second_report(tmp_path, monkeypatch):
    fw.Device(SURVEY, tmp_path / "m").row(3, "careful")
    monkeypatch.setattr("freewill.device.offered.drawn_text", never)
    wider = fw.Linear(1, 12)
    for gone in (
        fw.Survey(LINE, {"careful": fw.KRR(LINE, 0.6)}, **WORDS),
        fw.Survey(wider, {"careful": fw.KRR(wider, 0.5)}, **WORDS),
    ):
        device = fw.Device(gone, tmp_path / "m")
        with pytest.raises(DeviceError, match="which is not on offer here"):
            device.row(3)
        with pytest.raises(DeviceError, match="a second report with"):
            device.report(3)
        assert device.remembered is not None


def test_no_true_value_is_in_the_file(tmp_path):
    secret = "the-true-value-itself"
    many = fw.Categorical([secret, *(f"label {number}" for number in range(2000))])
    device = fw.Device(fw.KRR(many, 1e-9), tmp_path / "m", question="what-is-it")
    while device.report(secret) == secret:
        device.forget()
    assert secret.encode() not in (tmp_path / "m").read_bytes()


def test_forgetting_draws_anew_and_gives_nothing_back(tmp_path):
    device = fw.Device(SURVEY, tmp_path / "m", fw.Budget(1.2))
    first = device.row(3, "careful")
    device.forget()
    assert device.remembered is None
    assert fw.Memory(tmp_path / "m").spent == fw.Budget(0.5).limit
    second = device.row(3, "careful")
    assert second["report_id"] != first["report_id"]
    device.forget()
    with pytest.raises(BudgetError, match=r"costs epsilon 0\.5, and of the budget of 1\.2"):
        device.row(3, "careful")
    with pytest.raises(DeviceError, match=r"is not remembered.*Remembered: none"):
        device.forget()
    with pytest.raises(DeviceError, match="no memory"):
        fw.Device(SURVEY).forget()


def test_a_repeated_report_costs_nothing_and_a_refused_one_is_not_drawn(tmp_path, monkeypatch):
    device = fw.Device(SURVEY, tmp_path / "m", fw.Budget(0.5))
    rows = [device.row(3, "careful") for _ in range(5)]
    assert rows.count(rows[0]) == 5
    assert device.budget.left == 0
    # Also where another choice would be too dear.
    assert device.row(3, "relaxed") == rows[0]
    monkeypatch.setattr("freewill.device.offered.drawn_text", never)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        fw.Device(SURVEY, tmp_path / "m", fw.Budget(0.6), question="a-second-one").row(3, "careful")
    assert (tmp_path / "m").read_bytes() == before


@given(st.data())
def test_every_report_comes_back_from_its_text(data):
    mechanism = data.draw(st.sampled_from([one for one in EVERY if one.output_space.alphabet]))
    space = mechanism.output_space.alphabet
    index = data.draw(st.integers(0, space.size - 1))
    text = values.texts(space, [index])[0]
    assert mechanism.received([values.as_report(text, mechanism)]).tolist() == [index]


def test_a_report_that_the_mechanism_does_not_give_is_refused():
    for mechanism, text in (
        (CHOICES["careful"], "11"),
        (CHOICES["bits"], "ff"),
        (EVERY[1], "maybe"),
    ):
        with pytest.raises(DeviceError, match="gives no such report"):
            values.as_report(text, mechanism)


def test_a_law_that_cannot_be_listed_costs_the_infinite():
    class Hidden(fw.Shokri):
        def law(self):
            raise LawError("too large")

    device = fw.Device(Hidden(LINE, 1.5), budget=fw.Budget(100))
    with pytest.raises(BudgetError, match="costs epsilon infinite"):
        device.report(3)
