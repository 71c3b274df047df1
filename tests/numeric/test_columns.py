"""Column generation: agrees with a reference optimum, certifies, and says so when it cannot."""

import cvxpy
import numpy as np
import pytest

import freewill as fw
from columns_cases import assert_certified
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import columns
from freewill.numeric.solvers.likelihood import Likelihood, Status
from freewill.stats.estimators.estimate import likelihood_of
from freewill.stats.evidence import Evidence

SMALL = fw.Grid(12, 8, cell=0.5)


def smooth_truth(grid):
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    east, north = column / grid.columns, row / grid.rows
    truth = 0.02 + np.exp(-60 * ((east - 0.3) ** 2 + (north - 0.6) ** 2))
    truth += 0.5 * np.exp(-90 * ((east - 0.8) ** 2 + (north - 0.3) ** 2))
    return truth / truth.sum()


def gather(mechanisms, truth, people, seed=7):
    rng = np.random.default_rng(seed)
    values = rng.choice(truth.size, (len(mechanisms), people // len(mechanisms)), p=truth)
    return fw.collect(
        [(m, m.obfuscate(value, rng)) for m, value in zip(mechanisms, values, strict=True)]
    )


def plane_of(grid):
    return grid.rows, grid.columns


def solve(evidence: Evidence, tolerance=1e-9, max_steps=60, **options):
    return columns.solve(likelihood_of(evidence), tolerance, max_steps, **options)


def reference_value(evidence: Evidence) -> float:
    """Return a likelihood that a general convex solver reaches, never above the maximum."""
    likelihood = likelihood_of(evidence)
    theta = cvxpy.Variable(likelihood.size, nonneg=True)
    fitted = likelihood.operator.dense() @ theta
    goal = cvxpy.Maximize(likelihood.weights @ cvxpy.log(fitted))
    cvxpy.Problem(goal, [cvxpy.sum(theta) == 1]).solve(solver=cvxpy.CLARABEL)
    found = np.maximum(theta.value, 0)
    return likelihood.certify(found / found.sum()).value


MIXTURES = {
    "planar": [fw.PlanarGeometric(SMALL, e) for e in (0.3, 0.9, 2.5)],
    "planar and k-RR": [
        fw.PlanarGeometric(SMALL, 0.4),
        fw.PlanarGeometric(SMALL, 1.5),
        fw.KRR(SMALL, 2.0),
    ],
    "k-RR": [fw.KRR(SMALL, 1.0), fw.KRR(SMALL, 4.0)],
    "one wide mechanism": [fw.PlanarGeometric(SMALL, 0.2)],
    "with no privacy": [fw.PlanarGeometric(SMALL, 0.4), fw.Identity(SMALL)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("geometry", [True, False])
def test_agrees_with_a_reference_optimum(name, geometry):
    evidence = gather(MIXTURES[name], smooth_truth(SMALL), 6_000)
    solution = solve(evidence, plane=plane_of(SMALL) if geometry else None)
    assert_certified(solution, likelihood_of(evidence))
    difference = reference_value(evidence) - solution.certificate.value
    assert difference <= solution.certificate.gap + 1e-9
    assert difference >= -1e-5


def test_on_a_line():
    line = fw.Linear(0, 99)
    truth = np.exp(-((np.arange(100) - 40) ** 2) / 200)
    mechanisms = [fw.Geometric(line, e) for e in (0.02, 0.1, 0.8)]
    evidence = gather(mechanisms, truth / truth.sum(), 9_000)
    solution = solve(evidence, plane=(1, 100))
    assert_certified(solution, likelihood_of(evidence))
    assert reference_value(evidence) <= solution.certificate.value + 1e-9


def test_one_person():
    evidence = fw.collect([(fw.PlanarGeometric(SMALL, 0.7), [29])])
    solution = solve(evidence, plane=plane_of(SMALL))
    assert_certified(solution, likelihood_of(evidence))
    assert solution.theta[29] == pytest.approx(1)


def test_zero_counts_change_nothing():
    wide, sharp = MIXTURES["planar"][0], MIXTURES["planar"][2]
    some = fw.collect([(wide, [3, 40, 77], [5, 9, 2]), (sharp, [41], [4])])
    more = fw.collect([(wide, [3, 8, 40, 77], [5, 0, 9, 2]), (sharp, [2, 41], [0, 4])])
    first, second = (solve(evidence, plane=plane_of(SMALL)) for evidence in (some, more))
    assert np.array_equal(first.theta, second.theta)


def test_duplicated_mechanisms():
    evidence = gather([MIXTURES["planar"][1]] * 2, smooth_truth(SMALL), 4_000)
    once = likelihood_of(evidence)
    rows, scale = once.operator.dense(), once.operator.log_scale
    doubled = DenseOperator(np.concatenate([rows, rows]), np.tile(scale, 2))
    twice = Likelihood(doubled, np.tile(once.weights / 2, 2))
    solutions = [columns.solve(each, 1e-9, 60, plane=plane_of(SMALL)) for each in (once, twice)]
    for solution, likelihood in zip(solutions, (once, twice), strict=True):
        assert_certified(solution, likelihood)
    values = [solution.certificate.value for solution in solutions]
    assert values[0] == pytest.approx(values[1], abs=2e-9)


def test_truth_in_one_cell():
    truth = np.zeros(SMALL.size)
    truth[50] = 1.0
    evidence = gather(MIXTURES["planar"], truth, 6_000)
    solution = solve(evidence, plane=plane_of(SMALL))
    assert_certified(solution, likelihood_of(evidence))
    assert solution.theta[50] > 0.9


@pytest.mark.parametrize("epsilon", [5.0, 40.0, 500.0, 5000.0])
def test_large_epsilon(epsilon):
    mechanisms = [fw.PlanarGeometric(SMALL, epsilon), fw.PlanarGeometric(SMALL, epsilon / 10)]
    evidence = gather(mechanisms, smooth_truth(SMALL), 3_000)
    solution = solve(evidence, plane=plane_of(SMALL))
    assert_certified(solution, likelihood_of(evidence))


def test_a_start_at_the_optimum_takes_no_steps():
    evidence = gather(MIXTURES["planar"], smooth_truth(SMALL), 6_000)
    first = solve(evidence, plane=plane_of(SMALL))
    again = solve(evidence, tolerance=1e-8, plane=plane_of(SMALL), start=first.theta)
    assert again.steps == 0
    assert again.status == Status.CERTIFIED


def test_too_few_steps_are_reported():
    evidence = gather(MIXTURES["planar"], smooth_truth(SMALL), 6_000)
    solution = solve(evidence, max_steps=2, plane=plane_of(SMALL))
    assert (solution.status, solution.steps) == (Status.MAX_STEPS, 2)
    assert 1e-9 < solution.certificate.gap < np.inf
    assert reference_value(evidence) - solution.certificate.value <= solution.certificate.gap


def test_a_tolerance_out_of_reach_is_reported():
    evidence = gather(MIXTURES["planar"], smooth_truth(SMALL), 6_000)
    solution = solve(evidence, tolerance=1e-300, plane=plane_of(SMALL))
    assert solution.status in {Status.STALLED, Status.MAX_STEPS, Status.CERTIFIED}
    assert (solution.status == Status.CERTIFIED) == (solution.certificate.gap <= 1e-300)
    assert solution.certificate.gap < 1e-12


def test_no_room_for_the_columns_is_reported(monkeypatch):
    monkeypatch.setattr(columns, "_MOST", 64)
    grid = fw.Grid(40, 30, cell=0.5)
    flat = np.full(grid.size, 1 / grid.size)
    for epsilons in ((1.0,), (0.5, 90.0)):
        evidence = gather([fw.PlanarGeometric(grid, e) for e in epsilons], flat, 20_000)
        solution = solve(evidence, plane=plane_of(grid))
        assert solution.status == Status.STALLED
        assert solution.certificate.gap > 1e-9
        assert solution.theta.sum() == pytest.approx(1)


def test_a_larger_grid_in_single_precision():
    grid = fw.Grid(60, 40, cell=0.2)
    mechanisms = [fw.PlanarGeometric(grid, e) for e in (0.19, 0.31, 0.49, 0.84, 3.1)]
    evidence = gather(mechanisms, smooth_truth(grid), 50_000)
    likelihood = likelihood_of(evidence)
    assert likelihood.operator.shape[0] > 8_000
    solution = solve(evidence, tolerance=1e-9, plane=plane_of(grid))
    assert solution.status == Status.CERTIFIED
    assert solution.certificate.gap <= 1e-9
    # By the operator's own products, which the solver does not use for p.
    assert likelihood.certify(solution.theta).gap <= 1.1e-9
    assert np.count_nonzero(solution.theta) < grid.size / 4


def test_a_start_whose_slope_overflows_ends_in_a_stall_over_all_values():
    """What is returned then is over the alphabet, not over the columns in use."""
    rows = np.array([[1e-311, 1e-311, 1e-311], [0.5, 0.2, 0.3]])
    likelihood = Likelihood(DenseOperator(rows), np.array([0.5, 0.5]))
    with np.errstate(all="ignore"):
        solution = columns.solve(likelihood, 1e-9, 20, np.array([1.0, 0.0, 0.0]))
    assert solution.status == Status.STALLED
    assert solution.theta.shape == (3,)
    assert solution.theta.sum() == 1.0
    assert np.isinf(solution.certificate.gap)
