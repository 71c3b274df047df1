"""Choice by value on random mixtures of up to 10^12 people: an answer, an honest stall, a refusal.

No other exception, no warning, nothing that is no number.
"""

import os

import numpy as np
import pytest

import freewill as fw
from freewill.errors import FreewillError
from freewill.stats.choice.bases import basis_of
from freewill.stats.choice.fit import _WIDEST, JointEstimate, _moved
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.estimators.estimate import default_tolerance
from mixture_cases import enlarged

TIMES = int(os.environ.get("FREEWILL_FUZZ", "1"))
"""More than 1 for a long night."""


def certified_or_stalled(evidence: fw.Evidence, aware: fw.ChoiceAwareEstimate) -> None:
    """Hold an estimate against its own likelihood, its gap, and its status."""
    assert abs(aware.theta.sum() - 1) < 1e-12
    assert aware.theta.min() >= 0
    np.testing.assert_allclose(aware.choice.sum(axis=1), 1, atol=1e-12)
    assert aware.choice.min() >= 0
    assert np.isfinite([aware.log_likelihood, aware.criterion, aware.likelihood_ratio]).all()
    tolerance = default_tolerance(evidence)
    assert (aware.status == fw.Status.CERTIFIED) == (aware.gap <= tolerance)
    slope, value = np.zeros(aware.theta.size), 0.0
    for group, chosen in zip(evidence.groups, aware.choice.T, strict=True):
        rows, weights = group.operator.dense(), group.counts / evidence.people
        fitted = rows @ (chosen * aware.theta)
        slope += chosen * ((weights / fitted) @ rows)
        value += float(weights @ (np.log(fitted) + group.operator.log_scale))
    assert np.log(max(slope.max(), 1.0)) <= aware.gap + 1e-12
    assert aware.log_likelihood == pytest.approx(value, rel=1e-10, abs=1e-10)


def asked(evidence: fw.Evidence) -> None:
    """Ask all that rests on a choice by value."""
    if len(evidence.groups) < 2:
        return
    try:
        aware = fw.choice_aware(evidence)
    except FreewillError:
        return
    certified_or_stalled(evidence, aware)
    if evidence.people < 2:
        return
    shares, (low, high) = aware.intervals(), aware.choice_intervals()
    for ends in ((shares.low, shares.high), (low, high)):
        assert np.all(ends[0] <= ends[1])
    for check in (
        lambda: fw.check_choice(evidence),
        lambda: fw.check_fit(evidence),
        lambda: fw.check_fit(evidence, aware=aware),
    ):
        try:
            result = check()
        except FreewillError:
            continue
        assert 0 <= result.p_value <= 1
        assert str(result)


@pytest.mark.later
@pytest.mark.parametrize("number", range(12))
def test_extreme_mixtures_are_answered(number) -> None:
    asked(enlarged(31, number, 8).evidence())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 16 * TIMES, 8))
def test_many_extreme_mixtures_are_answered(first) -> None:
    for number in range(first, first + 8):
        asked(enlarged(32, number, 40).evidence())


def test_no_step_moves_a_logit_beyond_its_reach() -> None:
    """Where nearly nobody chose one of two, a Newton step once made a choice of e^-700."""
    line = fw.Linear(0, 9)
    few, many = fw.Identity(line), fw.KRR(line, 1.0)
    parts = [(few, [2, 7], [3, 9]), (many, np.arange(10), np.full(10, 10**11))]
    evidence = fw.collect(parts)
    model, basis = ChoiceModel(evidence, 1e-9, 50), basis_of("linear", line)
    start, coefficients = np.full(10, 0.1), model.free(1)
    there = _moved(model, basis, coefficients, np.full_like(coefficients, 1e6), start)
    change = model.logits(basis, there.coefficients) - model.logits(basis, coefficients)
    assert np.abs(change).max() == pytest.approx(_WIDEST)
    certified_or_stalled(evidence, fw.choice_aware(evidence))


@pytest.mark.parametrize("height", [0.0, 2.0, 30.0, 400.0])
def test_a_choice_that_is_all_but_certain_has_intervals(height) -> None:
    """c may round to 0 and 1, and 1 - c is then no number to divide by."""
    line = fw.Linear(0, 4)
    three = [fw.KRR(line, 1.0), fw.KRR(line, 2.0), fw.KRR(line, 3.0)]
    evidence = fw.collect([(one, np.arange(5), np.arange(5) + 3) for one in three])
    model, basis = ChoiceModel(evidence, 1e-9, 50), basis_of("linear", line)
    coefficients = np.array([[0.0, 0.1], [height, -height / 2]])
    joint = JointEstimate(model, basis, np.full(5, 0.2), coefficients, 3.0)
    covariance = 0.04 * np.eye(9)
    vars(joint)["_efficient"] = (np.append(np.full(5, 0.2), coefficients), covariance, None)
    low, high = joint.choice_intervals(0.95)
    logits = (basis.with_constant @ coefficients @ model.contrasts.T).astype(np.longdouble)
    for value, eta in enumerate(logits):
        for place in range(3):
            others = np.delete(eta, place)
            most = others.max()
            parts = np.exp(others - most)
            odds = eta[place] - most - np.log(parts.sum())
            move = (
                model.contrasts[place] - parts @ np.delete(model.contrasts, place, 0) / parts.sum()
            )
            along = np.outer(basis.with_constant[value], move)
            reach = 1.959963985 * 0.2 * np.sqrt(np.sum(along**2))
            expected = [1 / (1 + np.exp(-odds + reach)), 1 / (1 + np.exp(-odds - reach))]
            found = [low[value, place], high[value, place]]
            np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-8, atol=0)
