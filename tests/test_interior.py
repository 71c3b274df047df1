"""The interior point: few steps, a gap over all values, and starts of any kind."""

import numpy as np
import pytest

import freewill as fw
from freewill.estimators.estimate import likelihood_of
from freewill.operators import DenseOperator
from freewill.solvers import Likelihood, Status, interior
from freewill.solvers.iteration import after_em, em_steps, pulled_inside
from freewill.solvers.likelihood import compact, gap_of
from freewill.solvers.systems import DenseSystem
from problems import MIXTURES, random_truth, simulated


def solve(likelihood, tolerance=1e-10, max_steps=60, **options):
    dense = compact(likelihood)
    return interior.solve(dense, DenseSystem(dense.operator.rows), tolerance, max_steps, **options)


def geometric_line(size=60, people=20_000):
    line = fw.Linear(0, size - 1)
    truth = np.exp(-((np.arange(size) - 20.0) ** 2) / 80)
    mechanisms = [fw.Geometric(line, e) for e in (0.03, 0.1, 0.4)]
    return simulated(mechanisms, truth / truth.sum(), people, 3)


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [("geometric", 9), ("k-RR of two levels", 8), ("planar", 8), ("a bit of everything", 4.5)],
)
def test_predictor_and_corrector_need_few_steps(name, ceiling):
    """Without the corrector's second-order terms the means are 11.2, 9.5, 10.2 and 5.3."""
    steps = [
        solve(likelihood_of(simulated(MIXTURES[name], random_truth(12, seed), 3000, seed))).steps
        for seed in range(6)
    ]
    assert np.mean(steps) <= ceiling


def test_the_corrector_saves_steps_where_the_optimum_is_sparse():
    solution = solve(likelihood_of(geometric_line()), 1e-12)
    assert solution.status == Status.CERTIFIED
    assert np.count_nonzero(solution.theta > 1e-6) < 30
    assert solution.steps <= 11


def test_the_gap_is_taken_over_all_values():
    """All mass on one value is best among distributions on that value, and far from the best."""
    law = DenseOperator(np.array([[0.6, 0.5, 0.1], [0.4, 0.5, 0.9]]))
    likelihood = Likelihood(law, np.array([0.3, 0.7]))
    theta = np.array([0.0, 1.0, 0.0])
    certificate = likelihood.certify(theta)
    assert certificate.slope[1] == pytest.approx(1)
    best = solve(likelihood).certificate.value
    assert certificate.gap >= best - certificate.value > 0.05
    assert gap_of(certificate.slope) == pytest.approx(np.log(certificate.slope.max()))


def test_the_gap_does_not_depend_on_the_scale_of_theta_or_the_weights():
    rng = np.random.default_rng(0)
    rows, weights, theta = rng.random((9, 5)), rng.random(9), rng.random(5)
    gaps = [
        Likelihood(DenseOperator(rows), a * weights).certify(b * theta).gap
        for a in (1.0, 1 / weights.sum(), 30.0)
        for b in (1.0, 1 / theta.sum(), 0.01)
    ]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-12)
    assert gaps[0] > 0.01


@pytest.mark.parametrize("name", MIXTURES)
def test_a_start_at_the_optimum_takes_no_steps(name):
    likelihood = likelihood_of(simulated(MIXTURES[name], random_truth(12, 5), 3000, 6))
    first = solve(likelihood)
    again = solve(likelihood, 1e-9, start=first.theta)
    assert (again.steps, again.status) == (0, Status.CERTIFIED)
    np.testing.assert_array_equal(again.theta, first.theta)


def test_a_start_near_the_optimum_saves_steps():
    evidence = geometric_line()
    grown = evidence + geometric_line(people=200)
    cold = solve(likelihood_of(grown), 1e-8)
    warm = solve(likelihood_of(grown), 1e-8, start=solve(likelihood_of(evidence), 1e-8).theta)
    assert warm.status == cold.status == Status.CERTIFIED
    assert warm.steps <= cold.steps - 2
    assert abs(warm.certificate.value - cold.certificate.value) <= 1e-8


@pytest.mark.parametrize("value", [0, 11])
@pytest.mark.parametrize("name", MIXTURES)
def test_a_start_on_a_corner_of_the_simplex_is_pulled_inside(name, value):
    likelihood = likelihood_of(simulated(MIXTURES[name], random_truth(12, 2), 3000, 1))
    solution = solve(likelihood, 1e-8, start=np.eye(12)[value])
    assert solution.status == Status.CERTIFIED
    best = solve(likelihood).certificate.value
    assert abs(solution.certificate.value - best) <= 1e-8


def test_small_laws_are_held_as_arrays():
    likelihood = likelihood_of(simulated(MIXTURES["one k-RR"], random_truth(12, 5), 300, 6))
    entries = likelihood.operator.shape[0] * 12
    assert compact(likelihood, entries - 1) is likelihood
    held = compact(likelihood, entries)
    np.testing.assert_array_equal(held.operator.rows, likelihood.operator.dense())
    theta = random_truth(12, 3)
    assert held.certify(theta).value == pytest.approx(likelihood.certify(theta).value, rel=1e-14)


def test_every_step_is_told_and_traced():
    told = []
    solution = solve(likelihood_of(geometric_line()), on_step=told.append)
    assert [step.number for step in told] == list(range(1, solution.steps + 1))
    assert tuple(step.gap for step in told) == solution.trace
    assert solution.trace[-1] <= 1e-10 < solution.trace[-2]
    values = [step.log_likelihood for step in told]
    assert values[-1] == pytest.approx(solution.certificate.value, abs=1e-12)
    best = max(values)
    assert all(
        best - value <= gap + 1e-12 for value, gap in zip(values, solution.trace, strict=True)
    )


def test_em_steps_are_the_iteration():
    rng = np.random.default_rng(1)
    rows, weights, theta = rng.random((6, 4)), rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(4))
    law = DenseOperator(rows)
    for (found, fitted, slope), _ in zip(em_steps(law, weights, theta), range(5), strict=False):
        np.testing.assert_allclose(found, theta, rtol=1e-12)
        np.testing.assert_allclose(fitted, rows @ theta, rtol=1e-12)
        np.testing.assert_allclose(slope, rows.T @ (weights / (rows @ theta)), rtol=1e-12)
        theta = theta * slope
    inside = after_em(law, weights, np.array([1.0, 0, 0, 0]), 3, uniform=0.2).theta
    assert inside.min() >= 0.05
    assert inside.sum() == pytest.approx(1)


def test_a_share_of_the_uniform_distribution_is_mixed_in():
    np.testing.assert_allclose(pulled_inside(np.array([0.0, 0, 0, 1]), 0.4), [0.1, 0.1, 0.1, 0.7])


def test_denormal_numbers_are_flushed():
    law = DenseOperator(np.array([[1.0, 0.1]]))
    assert after_em(law, np.ones(1), np.array([0.5, 0.5]), 140).theta[1] > 0
    assert after_em(law, np.ones(1), np.array([0.5, 0.5]), 160).theta[1] == 0
