"""The pool of columns and the steps on it, one by one, against dense sums."""

from itertools import islice

import numpy as np
import pytest

from columns_cases import assert_certified, pool_of, small_pool
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import columns
from freewill.numeric.solvers.likelihood import Certificate, Likelihood, Status, em_steps
from freewill.numeric.solvers.quadratic import pivoted_quadratic


def test_a_pool_is_some_columns_of_the_law():
    operator, pool, rng = small_pool()
    rows = operator.rows
    assert (pool.room, pool.crowded, pool.single) == (12, False, False)
    for added in ([3, 7, 1], [], [11, 0]):
        pool.add(np.array(added, dtype=np.int64))
        np.testing.assert_array_equal(pool.entries(slice(None)), rows[:, pool.cells].T)
    np.testing.assert_array_equal(pool.cells, [3, 7, 1, 11, 0])
    assert pool.room == 7
    theta, weights = rng.random(5), rng.random(30)
    np.testing.assert_allclose(pool.forward(theta), rows[:, pool.cells] @ theta, rtol=1e-14)
    np.testing.assert_allclose(pool.adjoint(weights), rows[:, pool.cells].T @ weights, rtol=1e-14)
    full = pool.over_alphabet(theta)
    np.testing.assert_array_equal(full[pool.cells], theta)
    assert np.count_nonzero(full) == 5


@pytest.mark.parametrize(
    "wanted", [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0], [1] * 5, [0] * 5, [0, 0, 0, 0, 1]]
)
def test_columns_are_dropped_with_their_part_of_the_hessian(wanted):
    operator, pool, rng = small_pool()
    cells = np.array([3, 7, 1, 11, 0])
    pool.add(cells)
    scale = rng.uniform(1, 2, 30)
    pool.hessian_at(scale.copy())
    order = pool.keep(np.array(wanted, dtype=bool))
    np.testing.assert_array_equal(pool.cells, cells[order])
    assert set(pool.cells) == set(cells[np.array(wanted, dtype=bool)])
    np.testing.assert_array_equal(pool.entries(slice(None)), operator.rows[:, pool.cells].T)
    if order.size:
        half = scale[:, None] * operator.rows[:, pool.cells]
        np.testing.assert_allclose(pool.hessian_at(scale), half.T @ half, rtol=1e-13)


def test_the_hessian_is_kept_where_it_still_holds():
    operator, pool, rng = small_pool(outputs=40)
    pool.add(np.arange(6))

    def exact(scale):
        half = scale[:, None] * operator.rows[:, pool.cells]
        return half.T @ half

    first = rng.uniform(1, 2, 40)
    np.testing.assert_allclose(pool.hessian_at(first.copy()), exact(first), rtol=1e-13)
    # Changes below 2 % are left out; up to a quarter of the outputs is brought up to date.
    second = first * 1.019
    second[5:15] = first[5:15] * 3
    mixed = np.where(second > 2 * first, second, first)
    np.testing.assert_allclose(pool.hessian_at(second), exact(mixed), rtol=1e-12)
    pool.add(np.array([9, 10, 11]))
    np.testing.assert_allclose(pool.hessian_at(mixed * 0.985), exact(mixed), rtol=1e-12)
    # More than a quarter: anew, with the small changes.
    third = mixed * 1.01
    third[5:16] = mixed[5:16] / 2
    np.testing.assert_allclose(pool.hessian_at(third.copy()), exact(third), rtol=1e-13)
    np.testing.assert_allclose(pool.hessian_at(third * 1.01), exact(third), rtol=1e-13)
    pool.forget()
    np.testing.assert_allclose(pool.hessian_at(third * 1.01), exact(third * 1.01), rtol=1e-13)


def test_many_new_columns_make_the_hessian_anew():
    operator, pool, rng = small_pool()
    scale = rng.uniform(1, 2, 30)
    pool.add(np.arange(4))
    pool.hessian_at(scale.copy())
    for added, held in ((np.array([4, 5]), scale), (np.arange(6, 12), scale * 1.01)):
        pool.add(added)
        half = held[:, None] * operator.rows[:, pool.cells]
        np.testing.assert_allclose(pool.hessian_at(scale * 1.01), half.T @ half, rtol=1e-13)


def test_a_pool_has_room_for_some_columns(monkeypatch):
    monkeypatch.setattr(columns, "_MOST", 100)
    pool = pool_of(DenseOperator(np.ones((30, 200))))
    assert pool.room == 100
    pool.add(np.arange(99))
    assert not pool.crowded
    pool.add(np.array([99]))
    assert (pool.crowded, pool.room) == (True, 0)
    whole = pool_of(DenseOperator(np.ones((30, 70))))
    whole.add(np.arange(70))
    assert (whole.crowded, whole.room) == (False, 0)


def test_columns_beyond_the_budget_are_looked_up(monkeypatch):
    rng = np.random.default_rng(5)
    operator = DenseOperator(rng.random((30, 40)))
    theta, weights, scale = rng.random(12), rng.random(30), rng.random(30)
    answers = []
    for budget in (1 << 20, 8 * 30 * 9):
        monkeypatch.setattr(columns, "_BUDGET", budget)
        pool = pool_of(operator)
        pool.add(np.arange(0, 18, 2))
        first = pool.hessian_at(scale)
        pool.add(np.arange(20, 30))
        pool.hessian_at(scale)
        order = pool.keep(np.arange(19) % 3 != 0)
        answers.append(
            [
                order,
                pool.cells,
                first,
                pool.hessian_at(scale * 1.1),
                pool.forward(theta),
                pool.adjoint(weights),
                pool.entries(slice(3, 9)),
                pool.entries(np.array([1, 8])),
            ]
        )
    assert pool._buffer is None
    for held, looked_up in zip(*answers, strict=True):
        np.testing.assert_allclose(looked_up, held, rtol=1e-13)


def test_many_outputs_have_columns_in_single_precision():
    assert pool_of(DenseOperator(np.ones((8001, 2)))).single
    assert not pool_of(DenseOperator(np.ones((8000, 2)))).single


def test_columns_in_single_precision_add_up_in_double(monkeypatch):
    rng = np.random.default_rng(5)
    rows = rng.random((8_200, 6))
    pool = pool_of(DenseOperator(rows))
    pool.add(np.arange(6))
    theta, scale = rng.dirichlet(np.ones(6)), rng.uniform(1, 2, 8_200)
    held = rows.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(pool.forward(theta), held @ theta, rtol=1e-14)
    expected = (scale[:, None] * rows).T @ (scale[:, None] * rows)
    np.testing.assert_allclose(pool.hessian_at(scale.copy()), expected, rtol=1e-5)
    moved = scale.copy()
    moved[:2_000] *= 1.5
    expected = (moved[:, None] * rows).T @ (moved[:, None] * rows)
    np.testing.assert_allclose(pool.hessian_at(moved), expected, rtol=1e-5)


def test_the_first_lattice_is_spread_evenly():
    np.testing.assert_array_equal(columns._lattice(100, (1, 100), 1000), np.arange(1, 100, 6))
    np.testing.assert_array_equal(columns._lattice(100, None, 1000), np.arange(1, 100, 6))
    np.testing.assert_array_equal(columns._lattice(100, None, 4), [12, 37, 62, 87])
    np.testing.assert_array_equal(columns._lattice(3, None, 1000), [0, 1, 2])
    np.testing.assert_array_equal(columns._lattice(1, None, 1000), [0])
    np.testing.assert_array_equal(columns._lattice(10, None, 1), [4])
    np.testing.assert_array_equal(columns._lattice(100, (2, 50), 1000), np.arange(0, 50, 2))
    assert columns._lattice(690, (23, 30), 1000)[0] == 30
    cells = columns._lattice(600, (20, 30), 1000)
    row, column = np.divmod(cells, 30)
    np.testing.assert_array_equal(np.unique(row), np.arange(1, 20, 4))
    np.testing.assert_array_equal(np.unique(column), np.arange(0, 30, 4))
    assert cells.size == 5 * 8


@pytest.mark.parametrize("level", [0.2, 0.9])
@pytest.mark.parametrize("single", [False, True])
def test_peaks_are_the_values_that_no_neighbour_exceeds(level, single):
    """Four neighbours where columns are cheap, eight where they are not."""
    rng = np.random.default_rng(8)
    slope = rng.random(12 * 9)
    slope[30] = slope[31] = 2.0
    pool = pool_of(DenseOperator(np.ones((5, 108))), (9, 12))
    pool.single = single
    pool.add(np.array([50, 30]))
    field = np.pad(slope.reshape(9, 12), 1, constant_values=-np.inf)
    near = np.ones((3, 3)) if single else np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    expected = [
        x
        for x in range(108)
        if slope[x] > level
        and slope[x] == field[x // 12 : x // 12 + 3, x % 12 : x % 12 + 3][near > 0].max()
        and x not in (50, 30)
    ]
    found = columns._peaks(pool, slope, level)
    assert sorted(found) == expected
    assert np.all(np.diff(slope[found]) <= 0)
    pool.plane = None
    every = columns._peaks(pool, slope, level)
    assert set(every) == set(np.flatnonzero(slope > level)) - {50, 30}


def newton_case(seed, size=8, rows=None):
    rng = np.random.default_rng(seed)
    rows = rng.random((20, size)) ** 3 + 1e-4 if rows is None else rows
    likelihood = Likelihood(DenseOperator(rows), rng.dirichlet(np.ones(len(rows))))
    pool = columns.ColumnPool(likelihood)
    pool.add(rng.permutation(size))
    theta = rng.dirichlet(np.full(size, 0.1)) + 1e-9
    return likelihood, pool, theta / theta.sum()


def test_a_newton_step_raises_the_likelihood_from_anywhere(monkeypatch):
    """Where theta is more than twice as large as it should be, the model leaves nothing of it."""
    halved, goals = 0, []
    monkeypatch.setattr(
        columns, "pivoted_quadratic", lambda *a: goals.append(pivoted_quadratic(*a)) or goals[-1]
    )
    for seed in range(60):
        likelihood, pool, theta = newton_case(seed, rows=np.eye(8) if seed % 2 else None)
        fitted = pool.forward(theta)
        before = likelihood.certify(pool.over_alphabet(theta), fitted)
        after, moved = columns._newton(pool, theta, fitted, before.slope)
        assert after.sum() == pytest.approx(1, abs=1e-12)
        assert after.min() > 0
        np.testing.assert_allclose(moved, pool.forward(after), rtol=1e-9)
        assert likelihood.value(moved) > before.value
        halved += after.size != np.count_nonzero(goals[-1])
    assert halved > 5


def test_newton_steps_arrive_in_a_few_steps():
    steps = []
    for seed in range(20):
        likelihood, _, _ = newton_case(seed)
        solution = columns.solve(likelihood, 1e-10, 60)
        assert_certified(solution, likelihood, 1e-10)
        steps.append(solution.steps)
    assert sum(steps) <= 165


@pytest.mark.parametrize("rare", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_rare_output_is_not_reached_by_halves(rare):
    likelihood = Likelihood(DenseOperator(np.eye(2)), np.array([1 - rare, rare]))
    solution = columns.solve(likelihood, rare / 100, 60, np.array([0.5, 0.5]))
    assert_certified(solution, likelihood, rare / 100)
    assert solution.steps <= 16


def test_a_newton_step_that_overflows_stays_where_it_is():
    _, pool, theta = newton_case(1)
    fitted = np.full(20, 1e-200)
    slope = np.ones(8)
    with np.errstate(over="ignore", invalid="ignore"):
        same, there = columns._newton(pool, theta, fitted, slope)
    assert same is theta
    assert there is fitted


def test_a_step_against_the_slope_is_given_up():
    """A gradient of the wrong sign points downhill: no length helps."""
    likelihood, pool, theta = newton_case(3)
    fitted = pool.forward(theta)
    pool.hessian_at(np.sqrt(likelihood.weights) / fitted)
    wrong = 2 - likelihood.certify(pool.over_alphabet(theta), fitted).slope
    same, there = columns._newton(pool, theta, fitted, wrong)
    assert same is theta
    assert there is fitted
    assert pool._hessian.size == 0


def test_steps_are_told_limits_kept_and_equal_gaps_accepted():
    likelihood, _, _ = newton_case(4)
    told = []
    solution = columns.solve(likelihood, 1e-10, 60, on_step=told.append)
    assert [step.number for step in told] == list(range(1, solution.steps + 1))
    assert solution.trace == tuple(step.gap for step in told)
    assert told[-1].log_likelihood == solution.certificate.value
    assert solution.trace[-1] == solution.certificate.gap <= 1e-10
    again = columns.solve(likelihood, solution.certificate.gap, 60)
    assert (again.steps, again.status) == (solution.steps, Status.CERTIFIED)
    short = columns.solve(likelihood, 1e-10, solution.steps - 1)
    assert (short.steps, short.status) == (solution.steps - 1, Status.MAX_STEPS)
    assert short.trace == solution.trace[:-1]


def test_rounding_is_blamed_after_steps_without_gain():
    likelihood, _, _ = newton_case(4)
    values = []
    stuck = columns.solve(likelihood, -1.0, 200, on_step=lambda s: values.append(s.log_likelihood))
    assert stuck.status == Status.STALLED
    assert stuck.certificate.gap < 1e-13
    # Five in a row in which L did not rise by more than its rounding end the run.
    rising = np.diff(values) > 1e-14 * np.abs(values[:-1])
    assert np.flatnonzero(rising)[-1] + 2 + 5 == stuck.steps


def test_a_start_covers_every_output():
    """Columns far from some outputs leave them at nothing: others are added until all are seen."""
    rows = np.kron(np.eye(6), np.ones((3, 4))) * np.random.default_rng(1).uniform(0.5, 1, (18, 24))
    likelihood = Likelihood(DenseOperator(rows), np.full(18, 1 / 18))
    for plane in (None, (1, 24), (4, 6)):
        pool = columns.ColumnPool(likelihood, plane)
        pool.add(np.array([0, 1]))
        theta, fitted = columns._cover(pool, np.array([0.5, 0.5]))
        assert np.all(fitted > 0)
        assert theta.sum() == pytest.approx(1)
        np.testing.assert_allclose(fitted, rows[:, pool.cells] @ theta, rtol=1e-12)
        assert pool.cells.size <= 24
        assert_certified(columns.solve(likelihood, 1e-9, 60, plane=plane), likelihood)
        assert_certified(
            columns.solve(likelihood, 1e-9, 60, start=np.eye(24)[5], plane=plane), likelihood
        )


@pytest.mark.parametrize("outputs", [30, 8_100])
def test_a_cold_start_is_five_steps_of_em_on_the_lattice(outputs):
    rng = np.random.default_rng(6)
    rows = rng.random((outputs, 50)) + 0.01
    likelihood = Likelihood(DenseOperator(rows), np.full(outputs, 1 / outputs))
    pool = columns.ColumnPool(likelihood)
    theta, fitted = columns._start(pool, None)
    np.testing.assert_array_equal(pool.cells, columns._lattice(50, None, 25))
    some = rows[:, pool.cells]
    even = np.full(len(theta), 1 / len(theta))
    walked = next(islice(em_steps(DenseOperator(some), likelihood.weights, even), 5, None))
    np.testing.assert_allclose(theta, walked.theta, rtol=1e-5)
    assert theta.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(fitted, pool.forward(theta), rtol=1e-13)


def test_a_given_start_brings_its_heaviest_columns(monkeypatch):
    likelihood, _, _ = newton_case(5, size=9)
    monkeypatch.setattr(columns, "_MOST", 5)
    start = np.array([0.1, 0.0, 0.3, 0.05, 0.2, 0.02, 0.25, 0.08, 0.0])
    pool = columns.ColumnPool(likelihood)
    theta, fitted = columns._start(pool, start)
    np.testing.assert_array_equal(pool.cells, [2, 6, 4, 0, 7])
    np.testing.assert_allclose(theta, start[pool.cells] / start[pool.cells].sum(), rtol=1e-14)
    np.testing.assert_allclose(fitted, likelihood.operator.rows[:, pool.cells] @ theta, rtol=1e-13)


def test_outputs_that_do_not_fit_are_impossible(monkeypatch):
    monkeypatch.setattr(columns, "_MOST", 3)
    likelihood = Likelihood(DenseOperator(np.eye(6)), np.full(6, 1 / 6))
    pool = columns.ColumnPool(likelihood)
    theta, fitted = columns._start(pool, None)
    assert (pool.room, theta.size) == (0, 3)
    assert set(np.flatnonzero(fitted)) == set(pool.cells)
    solution = columns.solve(likelihood, 1e-9, 60)
    assert (solution.status, solution.steps) == (Status.CERTIFIED, 0)
    np.testing.assert_allclose(solution.theta, 1 / 6)


@pytest.mark.parametrize(
    ("slope", "gap", "plane", "wanted"),
    [
        ([1.05, 0.9, 1.15, 0.9, 1.25], 1.0, None, [4, 2]),
        ([1.005, 0.9, 1.015, 0.9, 1.25], 1.0, (1, 5), [4, 2]),
        ([1.0005, 0.9, 1.0015, 0.9, 1.25], 1e-6, (1, 5), [4, 2]),
        ([0.9995, 0.9, 0.9, 0.9, 0.9], 1e-6, None, []),
    ],
)
def test_columns_are_taken_in_at_peaks_that_stand_out(slope, gap, plane, wanted):
    """Above 1 by a tenth of the gap, or a hundredth where peaks are few; never by rounding."""
    pool = pool_of(DenseOperator(np.ones((3, 5))), plane)
    added = columns._take_in(pool, Certificate(0.0, np.array(slope), gap), 0.1)
    assert added == len(wanted)
    np.testing.assert_array_equal(pool.cells, wanted)


def test_no_more_columns_are_taken_in_than_the_next_step_keeps(monkeypatch):
    monkeypatch.setattr(columns, "_AT_A_TIME", 3)
    pool = pool_of(DenseOperator(np.ones((3, 5))))
    assert columns._take_in(pool, Certificate(0.0, np.linspace(2, 3, 5), 0.1), 1e-9) == 3
    np.testing.assert_array_equal(pool.cells, [4, 3, 2])
