"""A device keeps the permanent answer of a two-step mechanism, and reports it anew each period."""

import math

import numpy as np
import pytest

import freewill as fw
from contract import g_test
from freewill.device.budget import next_price
from freewill.device.memory import answer_key, period_key, reported

LINE = fw.Linear(0, 3)
TWO_STEP = [
    fw.LongitudinalKRR(LINE, 2.0, 2.5),
    fw.LongitudinalUnary(LINE, 1.0, 2.5),
    fw.BloomRAPPOR(LINE, bits=4, hashes=2, cohorts=3),
]
each = pytest.mark.parametrize("mechanism", TWO_STEP, ids=lambda one: one.name)


@each
def test_a_period_has_its_report_and_the_question_its_answer(mechanism, tmp_path):
    device = fw.Device(mechanism, tmp_path / "memory", question="our-town/age")
    first = device.row(2, period="monday")
    assert device.row(3, period="monday") == first
    # So many that a report which is always the same is chance once in ten million runs.
    rows = [device.row(2, period=f"day {day}") for day in range(120)]
    assert len({row["value"] for row in rows}) > 1
    assert len({row["report_id"] for row in rows}) == 120
    sent = fw.Memory(tmp_path / "memory").sent
    assert len(sent) == 122
    assert answer_key("id our-town/age") in sent
    assert period_key("id our-town/age", "monday") in sent


@pytest.mark.slow
@each
def test_reports_of_two_periods_are_those_of_one_answer(mechanism):
    """Were the first step drawn anew, reports of many people would not agree with records."""
    texts = []
    for _ in range(2500):  # so that drawing anew is seen, whatever the system draws
        device = fw.Device(mechanism, fw.Memory(), question="our-town/age")
        texts.append([device.report(1, period=day) for day in ("monday", "tuesday")])
    periods = [mechanism.received(list(day)) for day in zip(*texts, strict=True)]
    record = fw.Repeated(mechanism, 2)
    law, space = record.law()[1], record.output_space
    counts = np.bincount(space.numbers(space.joined(periods)), minlength=law.size)
    assert g_test(counts.astype(float), law) > 1e-4
    apart = np.outer(*[mechanism.law()[1]] * 2).ravel()
    assert g_test(counts.astype(float), apart) < 1e-9


@each
def test_costs_add_up_to_what_the_record_tells(mechanism):
    budget = fw.Budget(math.inf)
    device = fw.Device(mechanism, fw.Memory(), budget, question="our-town/age")
    for times in range(1, 6):
        device.report(1, period=str(times))
        assert float(budget.spent) == pytest.approx(
            fw.Repeated(mechanism, times).guarantee().epsilon, rel=1e-12
        )
    for _ in range(3):
        device.report(1, period="1")
    assert float(budget.spent) < mechanism.lifetime().epsilon
    prices = [next_price(mechanism, times) for times in (0, 1, 5, 50, 20_000)]
    assert all(price >= 0 for price in prices)
    assert float(prices[-1]) < 1e-6


def test_a_budget_refuses_the_report_that_would_pass_it():
    mechanism = TWO_STEP[0]
    device = fw.Device(mechanism, fw.Memory(), fw.Budget(2), question="our-town/age")
    device.report(1, period="one")
    with pytest.raises(fw.BudgetError, match="costs epsilon"):
        device.report(1, period="two")
    assert device.report(1, period="one") is not None


def test_what_is_asked_without_a_period_is_drawn_from_the_same_answer():
    device = fw.Device(TWO_STEP[1], fw.Memory(), question="our-town/age")
    first = device.report(1)
    assert device.report(2) == first
    device.report(1, period="later")
    content = device.memory._read()
    assert reported(content, "id our-town/age") == 2
    device.forget()
    assert not device.memory.sent
    assert device.memory.spent > 1


def test_questions_do_not_share_periods():
    memory = fw.Memory()
    one = fw.Device(TWO_STEP[1], memory, question="our-town/age")
    other = fw.Device(TWO_STEP[1], memory, question='x" id our-town/age')
    one.report(1, period="a")
    other.report(1, period="a")
    assert reported(memory._read(), "id our-town/age") == 1
    one.forget()
    assert len(memory.sent) == 2


def test_periods_are_refused_where_nothing_is_kept():
    with pytest.raises(fw.DeviceError, match="without a memory"):
        fw.Device(TWO_STEP[0]).report(1, period="a")
    plain = fw.Device(fw.KRR(LINE, 1.0), fw.Memory(), question="our-town/age")
    with pytest.raises(fw.DeviceError, match="keeps no permanent answer"):
        plain.report(1, period="a")
    for wrong in (3, "", "a\n"):
        with pytest.raises(fw.DeviceError, match="period"):
            fw.Device(TWO_STEP[0], fw.Memory(), question="our-town/age").report(1, period=wrong)


def test_another_choice_in_a_later_period_is_refused():
    survey = fw.Survey(
        LINE,
        {"one": TWO_STEP[0], "two": TWO_STEP[1], "plain": fw.KRR(LINE, 1.0)},
        question="Which?",
    )
    device = fw.Device(survey, fw.Memory())
    device.row(1, "one", period="a")
    with pytest.raises(fw.DeviceError, match="same choice"):
        device.row(1, "two", period="b")
    plain = fw.Device(survey, fw.Memory())
    plain.row(1, "plain")
    with pytest.raises(fw.DeviceError, match="no permanent answer was kept"):
        plain.row(1, "two", period="b")


@each
def test_people_are_told_of_both_promises(mechanism):
    sentences = fw.explain(mechanism).sentences
    assert sum("again and again" in sentence for sentence in sentences) == 1
    plain = fw.explain(fw.KRR(LINE, 1.0)).sentences
    assert not any("again and again" in sentence for sentence in plain)
