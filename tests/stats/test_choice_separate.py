"""Intervals that hold whoever chooses what, against the least squares that they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from choice_cases import BITS, MIXED, chosen, slope_of
from freewill.stats.choice.aware import Separate
from freewill.stats.information import OneStep
from profiles import examples

STEPS = np.select([np.arange(40) < 10, np.arange(40) < 24], [0.97, 0.5], 0.03)


def survey(law, people, seed, mechanisms=None):
    """Return evidence of two mechanisms on 0..39, the first chosen by a law, and a truth."""
    line, rng = fw.Linear(0, 39), np.random.default_rng(seed)
    pair = mechanisms or [fw.Geometric(line, 0.3), fw.KRR(line, 2.5)]
    truth = np.exp(-((np.arange(40) - 18) ** 2) / 200)
    truth /= truth.sum()
    values = rng.choice(40, people, p=truth)
    first = rng.random(people) < law[values]
    parts = [(pair[0], values[first]), (pair[1], values[~first])]
    return fw.collect([(one, one.obfuscate(some, rng)) for one, some in parts]), truth


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
def test_weights_and_variance_are_those_of_least_squares(mechanisms):
    """y = h'theta + d + e, where d has the covariance r^2 (diag(1 / s) - 1 1'), e that of y."""
    size = mechanisms[0].alphabet.size
    evidence = chosen(mechanisms, np.full(size, 1 / size), slope_of(size, 3), 3000, 2)
    separate, row = Separate(evidence), np.arange(float(size))
    estimated, _, weights = separate.estimated(row[None])
    shares = np.array([one.people for one in evidence.groups]) / evidence.people
    parts = [OneStep(fw.Evidence(evidence.alphabet, (one,)), None) for one in evidence.groups]
    values = np.array([row @ one.theta for one in parts])
    noise = np.diag([float(one.information.variances(row[None])[0]) / one.evidence.people
                     for one in parts])  # fmt: skip
    theta = shares @ np.stack([one.mode for one in parts])
    theta = (3000 * theta + 0.5) / (3000 + 0.5 * size)
    possible = (theta @ row**2 - (theta @ row) ** 2) * (np.diag(1 / shares) - 1)
    solved = np.linalg.solve(possible + noise, np.ones(3))
    expected = solved / solved.sum()
    np.testing.assert_allclose(weights[:, 0], expected, rtol=1e-8)
    middle = expected @ values
    assert estimated.values[0] == pytest.approx(middle)
    between = expected @ (values - middle) ** 2 / 3000
    assert estimated.variances[0] == pytest.approx(1 / solved.sum() + between)


@examples(60)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(-6, 6))
def test_no_choice_law_biases_by_more_than_the_variance_counts_for(seed, count, noisy):
    """The bias of sum w y is at most r sqrt(sum w^2 / s - 1), by whatever people choose."""
    rng = np.random.default_rng(seed)
    theta, row = rng.dirichlet(np.full(12, 0.5)), rng.standard_normal(12)
    certain = np.eye(count)[rng.integers(count, size=12)]
    choice = np.where(rng.random() < 0.5, certain, rng.dirichlet(np.full(count, 0.3), 12))
    shares = theta @ choice
    possible = theta @ row**2 - (theta @ row) ** 2
    counted = shares / (1 + np.exp(noisy + rng.standard_normal(count)))
    weights = counted / counted.sum()
    means = (theta * row) @ choice / np.maximum(shares, 1e-300)
    bias = weights @ np.where(shares > 0, means, 0) - theta @ row
    some = shares > 0
    room = possible * (np.sum(weights[some] ** 2 / shares[some]) - 1)
    assert bias**2 <= room * (1 + 1e-9) + 1e-12


def test_a_group_that_tells_nothing_widens_by_what_its_people_may_be():
    """Of n people half tell all and half nothing: the variance is that of h."""
    menu = fw.Linear(0, 9)
    pair = [fw.Identity(menu), fw.KRR(menu, 1e-9)]
    rng = np.random.default_rng(0)
    values = rng.integers(10, size=20_000)
    parts = [(pair[0], values[:10_000]), (pair[1], pair[1].obfuscate(values[10_000:], rng))]
    told = Separate(fw.collect(parts)).intervals("mean", 0.95, False)
    assert told.standard_error == pytest.approx(np.std(values), rel=0.05)
    assert told.high - told.low == pytest.approx(9, abs=0.1)


@pytest.mark.parametrize("people", [300, 10_000])
def test_intervals_hold_a_mean_that_steps_would_hide(people):
    """Most runs of steps are not noticed at 300, and the mean is held there and later."""
    held = []
    for seed in range(25):
        evidence, truth = survey(STEPS, people, seed)
        told = Separate(evidence).intervals("mean", 0.95, False)
        held.append(told.low <= truth @ np.arange(40) <= told.high)
    assert np.mean(held) >= 0.84  # of 25 runs at 95 %, one in a hundred falls below


def test_bands_hold_more_than_intervals_one_by_one():
    evidence, _ = survey(STEPS, 2000, 1)
    aware = fw.choice_aware(evidence)
    alone, band = aware.intervals(), aware.intervals(joint=True)
    assert band.critical > alone.critical + 0.5
    np.testing.assert_allclose(band.standard_error, alone.standard_error)


@pytest.mark.parametrize("law", [STEPS, np.full(40, 0.5)], ids=["steps", "free"])
def test_the_estimate_is_free_where_the_test_does_not_reject(law):
    verdicts = []
    for seed in range(6):
        evidence, _ = survey(law, 400, seed)
        aware, check = fw.choice_aware(evidence), fw.check_choice(evidence)
        assert aware.is_free == check.holds
        assert aware.check.p_value == pytest.approx(check.p_value, rel=1e-3)
        if check.holds:
            np.testing.assert_array_equal(aware.theta, fw.gibu(evidence).theta)
        verdicts.append(check.holds)
    assert any(verdicts)


def test_the_strain_is_the_largest_of_the_standardised_errors():
    evidence, truth = survey(STEPS, 2000, 3)
    rows = np.stack([np.arange(40.0), np.arange(40.0) ** 2, np.arange(40) < 20])
    separate = Separate(evidence)
    intervals = separate.intervals(rows, 0.95, False)
    expected = np.abs(rows @ truth - intervals.point) / intervals.standard_error
    assert separate.strain(rows, truth) == pytest.approx(expected.max(), rel=1e-6)
    assert separate.strain(np.ones((1, 40)), truth) == 0.0


def test_a_law_that_the_groups_contradict_is_left_aside():
    """Smooth laws explain an even-odd preference by a theta that is far away."""
    line, values = fw.Linear(0, 99), np.arange(100)
    truth = 0.6 * np.exp(-((values - 35) ** 2) / 200) + 0.4 * np.exp(-((values - 65) ** 2) / 288)
    pair, even = [fw.KRR(line, 2.0), fw.KRR(line, 5.0)], np.where(values % 2, 0.1, 0.9)
    truth /= truth.sum()
    evidence = chosen(pair, truth, np.stack([even, 1 - even], axis=1), 100_000, 0)
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    wrong = max(aware.fits[1:], key=lambda one: one.criterion)
    assert wrong.criterion > aware.fits[0].criterion + 10
    assert fw.emd(wrong.theta, truth, line) > 3 * fw.emd(free.theta, truth, line)
    np.testing.assert_array_equal(aware.theta, free.theta)
    assert (aware.basis, aware.is_free) == ("none", False)
    assert "No choice law of the bases that were tried explains why" in aware.advice


def test_a_law_that_the_groups_support_is_followed():
    evidence, truth = survey(STEPS, 20_000, 0)
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    line = evidence.alphabet
    assert fw.emd(aware.theta, truth, line) < 0.5 * fw.emd(free.theta, truth, line)


def test_the_class_of_preferences_is_named():
    evidence, _ = survey(STEPS, 700, 1)
    assert "6 splines over 0..39" in fw.choice_aware(evidence).choice_class
    menu = fw.Categorical(["a", "b", "c"])
    labels = [(fw.KRR(menu, 2.0), [0, 1, 2], [90, 80, 70]), (fw.KRR(menu, 3.0), [0, 1], [90, 80])]
    assert "categories" in fw.choice_aware(fw.collect(labels)).choice_class
