"""Intervals of theta and of the choice law together."""

from typing import Any

import numpy as np
import pytest

import freewill as fw
from choice_cases import BITS, LINE, MIXED, chosen, naive_law, random_choice, slope_of
from freewill.stats.choice.bases import ladder
from freewill.stats.choice.fit import JointEstimate
from freewill.stats.choice.model import ChoiceModel


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
def test_the_joint_covariance_is_that_of_all_pairs_listed(mechanisms: list[Any]) -> None:
    """C is the inverse of the naive information on the directions in which theta sums to 1."""
    size, people = mechanisms[0].alphabet.size, 2000
    rng = np.random.default_rng(2)
    evidence = chosen(mechanisms, rng.dirichlet(np.ones(size)), slope_of(size, 3), people, 7)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[2]
    coefficients, theta, spread = random_choice(model, basis, 3), rng.dirichlet(np.ones(size)), 0.8
    inside = (people * theta + 0.5) / (people + 0.5 * size)
    law, weights = naive_law(evidence, model.choice(basis, coefficients))
    p = inside @ law
    columns = [*law]
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-5
        ends = [
            inside @ naive_law(evidence, model.choice(basis, coefficients + side * step))[0]
            for side in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / 2e-5)
    moves = np.stack(columns, axis=1)
    prior = np.concatenate([np.zeros(size + 2), np.full(coefficients.size - 2, spread**-2)])
    information = people * (moves.T / p) @ moves + np.diag(prior)
    tangent = np.linalg.qr(np.eye(size)[:, 1:] - np.eye(size)[:, :1])[0]
    free = np.zeros((len(prior), len(prior) - 1))
    free[:size, : size - 1], free[size:, size - 1 :] = tangent, np.eye(coefficients.size)
    expected = free @ np.linalg.inv(free.T @ information @ free) @ free.T
    found = JointEstimate(model, basis, theta, coefficients, spread)
    np.testing.assert_allclose(found._efficient[1], expected, atol=1e-6 * np.abs(expected).max())
    slope = people * moves.T @ (weights / p)
    slope[size:] -= prior[size:] * coefficients.ravel()
    moved = np.concatenate([inside, coefficients.ravel()]) + expected @ slope
    np.testing.assert_allclose(found._efficient[0][:size], moved[:size], atol=1e-6)
    np.testing.assert_allclose(found.coefficients.ravel(), moved[size:], atol=1e-5)
    assert found._efficient[0][:size].sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_intervals_hold_the_mean_and_the_choice(strength: float) -> None:
    truth = np.exp(-((np.arange(12) - 5) ** 2) / 12)
    truth /= truth.sum()
    choice, mean = slope_of(12, 3, strength), truth @ np.arange(12)
    held = []
    for seed in range(40):
        evidence = chosen(MIXED, truth, choice, 4000, seed)
        order = [MIXED.index(one) for one in evidence.mechanisms]
        aware = fw.choice_aware(evidence)
        told, (low, high) = aware.intervals("mean"), aware.choice_intervals()
        inside = (low <= choice[:, order]) & (choice[:, order] <= high)
        held.append([told.low <= mean <= told.high, inside.mean()])
    assert np.mean(held, axis=0)[0] >= 0.85  # of 40 runs at 95 %, two in a thousand fall below
    assert np.mean(held, axis=0)[1] >= 0.87


def test_intervals_are_wider_where_theta_and_the_choice_are_hard_to_tell_apart() -> None:
    truth = np.full(12, 1 / 12)
    widths = []
    for faint in (2.0, 0.3, 0.01):
        pair = [fw.KRR(LINE, 3.0), fw.KRR(LINE, faint)]
        evidence = chosen(pair, truth, np.full((12, 2), 0.5), 5000, 1)
        aware, free = fw.choice_aware(evidence), fw.intervals(evidence, "mean")
        told = aware.intervals("mean")
        assert told.standard_error > free.standard_error
        widths.append(float(told.standard_error))
        low, high = aware.choice_intervals()
        assert np.all(low <= high)
        assert np.all((low >= 0) & (high <= 1))
    assert widths == sorted(widths)
    assert widths[2] > 5 * widths[0]


def test_intervals_take_what_the_others_take() -> None:
    evidence = chosen(MIXED, np.full(12, 1 / 12), slope_of(12, 3), 3000, 1)
    aware = fw.choice_aware(evidence)
    assert len(aware.intervals()) == 12
    assert len(aware.intervals("cdf")) == len(fw.intervals(evidence, "cdf"))
    median = aware.intervals("median")
    assert median.low < median.point < median.high
    narrow, wide = aware.intervals("mean", 0.5), aware.intervals("mean", 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(fw.ParameterError, match="level"):
        aware.choice_intervals(1.5)


@pytest.mark.parametrize("first", [10**9, 10**12])
def test_errors_do_not_depend_on_where_a_line_begins(first: int) -> None:
    errors = []
    for begin in (0, first):
        line, rng = fw.Linear(begin, begin + 29), np.random.default_rng(3)
        truth = rng.integers(30, size=20_000)
        chosen = rng.random(truth.size) < 1 / (1 + np.exp(-(truth - 15) / 4))
        first_one, second = fw.KRR(line, 2.0), fw.Geometric(line, 0.5)
        evidence = fw.collect(
            [
                (first_one, first_one.obfuscate(truth[chosen], rng)),
                (second, second.obfuscate(truth[~chosen], rng)),
            ]
        )
        errors.append(fw.choice_aware(evidence).intervals("mean").standard_error)
    assert errors[0] > 0.01
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
