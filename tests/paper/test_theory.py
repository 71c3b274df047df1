"""Propositions 1 to 3, checked by simulation with stated standard errors."""

import itertools
import math

import numpy as np
import pytest

import freewill as fw
from freewill.domain.mechanisms.randomised_response import average_epsilon

THETA = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
LINE = fw.Linear(0, 4)


def squared_errors(kind: type, epsilons: list[float], people: int, repeats: int) -> np.ndarray:
    """Return ||theta^ - theta||^2 of [INV]M or [RAP]M, raw, for many fresh collections."""
    rng = np.random.default_rng(17)
    estimator = fw.debias if kind is fw.RAPPOR else fw.inversion
    mechanisms = [kind(LINE, epsilon) for epsilon in epsilons]
    errors = np.empty(repeats)
    for repeat in range(repeats):
        values = rng.choice(5, size=people, p=THETA)
        shares = np.array_split(values, len(mechanisms))
        evidence = fw.collect(
            [(m, m.obfuscate(share, rng)) for m, share in zip(mechanisms, shares, strict=True)]
        )
        found = fw.combine_mechanisms(evidence, estimator, post="none").theta
        errors[repeat] = ((found - THETA) ** 2).sum()
    return errors


BOUNDS = [(fw.KRR, fw.krr_error_bound), (fw.RAPPOR, fw.rappor_error_bound)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bound"), BOUNDS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_is_exact_when_all_epsilons_are_equal(kind, bound, epsilon: float) -> None:
    errors = squared_errors(kind, [epsilon], 400, 900)
    standard_error = errors.std() / np.sqrt(errors.size)
    assert abs(errors.mean() - bound(THETA, [epsilon], [400])) < 4 * standard_error
    # The test can see a bound that is off by a tenth.
    assert standard_error < 0.025 * errors.mean()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bound"), BOUNDS)
def test_the_bound_holds_when_epsilons_differ(kind, bound) -> None:
    epsilons = [0.3, 1.0, 4.0, 8.0]
    errors = squared_errors(kind, epsilons, 400, 400)
    standard_error = errors.std() / np.sqrt(errors.size)
    limit = bound(THETA, epsilons, [100] * 4)
    assert errors.mean() < limit + 2 * standard_error
    assert errors.mean() > fw.error_without_privacy(THETA, 400)


@pytest.mark.parametrize("k", [2, 5, 100, 10_000])
def test_krr_is_within_3_of_the_best_once_e_to_the_epsilon_is_k(k: int) -> None:
    theta = np.random.default_rng(k).dirichlet(np.ones(k))
    for factor in (1.0, 1.5, 10.0):
        excess = fw.krr_error_bound(theta, [np.log(factor * k)], [1000])
        excess -= fw.error_without_privacy(theta, 1000)
        assert 0 < excess <= (3 + 1 / (k - 1)) / 1000 * (1 + 1e-12)


def test_the_bound_at_e_to_the_epsilon_equal_k_is_reached() -> None:
    theta = np.full(2, 0.5)
    excess = fw.krr_error_bound(theta, [np.log(2)], [1]) - fw.error_without_privacy(theta, 1)
    assert excess == pytest.approx(3 + 1 / (2 - 1))


@pytest.mark.parametrize(
    ("theta", "people"), [([0.2, 0.3, 0.5], 4), ([1.0, 0.0], 3), ([0.5] * 2, 1)]
)
def test_the_error_without_privacy_is_that_of_the_shares(theta: list[float], people: int) -> None:
    """Against the sum over everything that people may have."""
    expected = 0.0
    for values in itertools.product(range(len(theta)), repeat=people):
        shares = np.bincount(values, minlength=len(theta)) / people
        expected += np.prod(np.take(theta, values)) * ((shares - theta) ** 2).sum()
    assert fw.error_without_privacy(theta, people) == pytest.approx(expected, rel=1e-12)


def test_the_error_without_privacy_is_no_bound_on_all_estimators() -> None:
    k, people = 10, 100
    theta = np.full(k, 1 / k)
    counts = np.random.default_rng(0).multinomial(people, theta, size=20_000)
    biased = (counts + np.sqrt(people) / k) / (people + np.sqrt(people))
    errors = ((biased - theta) ** 2).sum(axis=1)
    standard_error = errors.std() / np.sqrt(errors.size)
    assert abs(errors.mean() - (1 - 1 / k) / (1 + np.sqrt(people)) ** 2) < 4 * standard_error
    assert errors.mean() + 10 * standard_error < fw.error_without_privacy(theta, people)


@pytest.mark.parametrize("epsilons", [[1.0], [0.3, 3.0]])
def test_the_error_falls_to_zero_as_people_join(epsilons: list[float]) -> None:
    means = [squared_errors(fw.KRR, epsilons, n, 40).mean() for n in (400, 6400, 102_400)]
    # Proposition 1, at the rate 1/n of proposition 2: a factor of 16 a step, give or take.
    assert 5 < means[0] / means[1] < 50
    assert 5 < means[1] / means[2] < 50


@pytest.mark.slow
@pytest.mark.parametrize("mixture", [fw.Geometric, fw.KRR])
def test_maximum_likelihood_is_consistent_too(mixture) -> None:
    rng = np.random.default_rng(3)
    mechanisms = [mixture(LINE, 0.5), mixture(LINE, 2.0)]
    distances = []
    for people in (1000, 100_000, 10_000_000):
        values = rng.choice(5, size=people, p=THETA)
        halves = np.array_split(values, 2)
        parts = [(m, m.obfuscate(half, rng)) for m, half in zip(mechanisms, halves, strict=True)]
        distances.append(fw.l2(fw.gibu(fw.collect(parts)).theta, THETA))
    assert distances[2] < distances[0] / 10
    assert distances[2] < 0.003


def test_average_epsilons_are_means_and_extreme_ones_stay_finite() -> None:
    weights = np.array([0.5, 0.5])
    for level in (1e-9, 1e-3, 1.0, 50.0, 600.0):
        mean = average_epsilon(np.array([level, level]), weights, 7)
        assert mean == pytest.approx(level, rel=1e-12)
    between = average_epsilon(np.array([1.0, 3.0]), weights, 7)
    assert 1 < between < 3


@pytest.mark.parametrize(
    "arguments", [([0.5, 0.6], [1.0]), ([0.5, 0.5], [-1.0]), ([0.5, 0.5], [1.0], [1, 2])]
)
def test_bad_input(arguments: tuple) -> None:
    with pytest.raises(fw.ParameterError):
        fw.krr_error_bound(*arguments)


def test_without_numbers_one_person_has_each_epsilon() -> None:
    theta, epsilons = [0.2, 0.3, 0.5], [0.5, 1.0, 3.0]
    for bound in (fw.krr_error_bound, fw.rappor_error_bound):
        assert bound(theta, epsilons) == pytest.approx(bound(theta, epsilons, [1, 1, 1]))
        # The formulas, where all have one epsilon.
        for epsilon in (0.1, 1.0, 4.0):
            alone = (1 - 0.38) / 7
            e, root = math.exp(epsilon), math.exp(epsilon / 2)
            extra = {
                fw.krr_error_bound: 2 * (3 + 2 * (e - 1)) / (e - 1) ** 2,
                fw.rappor_error_bound: 3 * root / (root - 1) ** 2,
            }
            found = bound(theta, [epsilon, epsilon], [3, 4])
            assert found == pytest.approx(alone + extra[bound] / 7)
