"""The small quadratic programs, against all active sets tried one by one."""

from itertools import product

import numpy as np
import pytest

from freewill.numeric.solvers.interior import cholesky
from freewill.numeric.solvers.quadratic import (
    _exact,
    _polish,
    nonnegative_quadratic,
    pivoted_quadratic,
)


def brute_force(hessian, linear):
    """Return the minimum over y >= 0 by solving on every subset of the coordinates."""
    best, least = np.zeros(linear.size), 0.0
    for chosen in product([False, True], repeat=linear.size):
        free = np.array(chosen)
        if not free.any():
            continue
        y = np.zeros(linear.size)
        y[free] = np.linalg.solve(hessian[np.ix_(free, free)], -linear[free])
        value = y @ hessian @ y / 2 + linear @ y
        if np.all(y >= 0) and value < least:
            best, least = y, value
    return best


def programs(spread):
    rng = np.random.default_rng(3)
    for _ in range(25):
        size = rng.integers(1, 7)
        scale = 10 ** rng.uniform(-spread, spread, size)
        half = rng.standard_normal((size + 3, size)) * scale
        yield half.T @ half, rng.standard_normal(size) * scale, rng


SOLVERS = {
    "interior": lambda h, c, rng: nonnegative_quadratic(h, c, rng.random(c.size)),
    "pivoted": lambda h, c, rng: pivoted_quadratic(h, c, rng.random(c.size) < 0.5),
    "pivoted from all": lambda h, c, _: pivoted_quadratic(h, c, np.ones(c.size, dtype=bool)),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_finds_the_minimum_that_brute_force_finds(name, spread):
    active = 0
    for hessian, linear, rng in programs(spread):
        expected = brute_force(hessian, linear)
        found = SOLVERS[name](hessian, linear, rng)
        scale = np.sqrt(hessian.diagonal())
        np.testing.assert_allclose(scale * found, scale * expected, atol=1e-8)
        # Not small but zero: an exact solve on the positive coordinates ends both methods.
        if expected.any():
            np.testing.assert_array_equal(found == 0, expected == 0)
        active += np.count_nonzero(expected == 0)
    assert active > 20


@pytest.mark.parametrize("name", SOLVERS)
def test_dependent_columns_still_meet_the_conditions_of_a_minimum(name):
    rng = np.random.default_rng(5)
    for _ in range(10):
        half = rng.random((4, 9))
        hessian, linear = half.T @ half, -half.T @ rng.random(4)
        y = SOLVERS[name](hessian, linear, rng)
        slope = hessian @ y + linear
        assert y.min() >= 0
        assert slope.min() > -1e-9
        assert abs(slope @ y) < 1e-9


@pytest.fixture
def factors(monkeypatch):
    """Return a list that grows by one with each matrix that is factored."""
    found = []
    monkeypatch.setattr(
        "freewill.numeric.solvers.quadratic.cholesky",
        lambda *a: found.append(len(a[0])) or cholesky(*a),
    )
    return found


def test_the_corrector_keeps_the_steps_few(factors):
    rng = np.random.default_rng(8)
    for _ in range(5):
        half = rng.standard_normal((150, 120)) * 10 ** rng.uniform(-2, 2, 120)
        nonnegative_quadratic(half.T @ half, -np.abs(half).T @ rng.random(150), np.ones(120))
    assert len(factors) <= 5 * 17


def models(count=10, size=40):
    """Yield programs like those of a Newton step, with their minima: sums of columns fit a target.

    Half of the minimum is zero, and what is zero has a gradient of the order of the costs.
    """
    rng = np.random.default_rng(11)
    for _ in range(count):
        columns = rng.gamma(0.5, size=(3 * size, size)) * rng.uniform(0.2, 5, size)
        hessian = columns.T @ columns
        minimum = rng.dirichlet(np.full(size, 0.5)) * (rng.random(size) < 0.5)
        slope = np.where(minimum > 0, 0.0, rng.exponential(size=size))
        yield hessian, slope - hessian @ minimum, minimum


def test_a_start_near_the_minimum_saves_steps(factors):
    rng = np.random.default_rng(12)
    for hessian, linear, minimum in models():
        near = minimum * rng.uniform(0.9, 1.1, 40) + 1e-5 * rng.random(40)
        found = nonnegative_quadratic(hessian, linear, near)
        np.testing.assert_allclose(found, minimum, rtol=1e-9, atol=1e-13)
    assert len(factors) <= 59


def test_a_start_anywhere_takes_some_seventeen_steps(factors):
    for hessian, linear, minimum in models():
        found = nonnegative_quadratic(hessian, linear, np.ones(40))
        np.testing.assert_allclose(found, minimum, rtol=1e-9, atol=1e-13)
    assert len(factors) <= 173


@pytest.mark.parametrize("unit", [2.0**-12, 1.0, 2.0**12])
def test_units_change_neither_the_answer_nor_the_steps(unit, factors):
    """Powers of two, so that the scaled program is the same to the last digit."""
    rng = np.random.default_rng(13)
    for hessian, linear, minimum in models(5):
        start = rng.dirichlet(np.ones(40))
        units = unit * 2.0 ** rng.integers(-8, 8, 40)
        once = nonnegative_quadratic(hessian, linear, start)
        steps = len(factors)
        again = nonnegative_quadratic(
            hessian * units * units[:, None], linear * units, start / units
        )
        np.testing.assert_array_equal(again * units, once)
        np.testing.assert_allclose(once, minimum, rtol=1e-9, atol=1e-13)
        assert factors[steps:] == factors[:steps]
        factors.clear()


def test_without_costs_nothing_is_the_minimum():
    hessian = np.array([[1.0, -0.5], [-0.5, 1.0]])
    found = nonnegative_quadratic(hessian, np.zeros(2), np.array([1.0, 3.0]))
    np.testing.assert_array_equal(found, 0.0)


def test_positive_costs_are_soon_known_to_have_no_minimum_but_zero(factors):
    hessian, _, _ = next(models())
    found = nonnegative_quadratic(hessian, np.linspace(0.1, 3, 40), np.ones(40))
    np.testing.assert_array_equal(found, 0.0)
    assert len(factors) <= 14


def test_small_coordinates_are_told_from_zeros():
    """Of two numbers whose product is at most 1e-13 the larger is known from 1e-6 on."""
    rng = np.random.default_rng(14)
    hessian = np.eye(12) + 0.05
    for _ in range(10):
        minimum, slope = np.where(rng.random(12) < 0.5, [[2e-6], [0.0]], [[0.0], [2e-6]])
        minimum[0], slope[0] = 1.0, 0.0
        found = nonnegative_quadratic(hessian, slope - hessian @ minimum, np.ones(12))
        np.testing.assert_allclose(found, minimum, rtol=1e-9)


@pytest.fixture
def no_help(monkeypatch):
    """Let nothing but exchanges answer."""
    monkeypatch.setattr(
        "freewill.numeric.solvers.quadratic.nonnegative_quadratic",
        lambda *_: pytest.fail("not needed"),
    )


def test_exchanges_end_after_a_few_solves(factors, no_help):
    for hessian, linear, minimum in models():
        for guess in (np.ones(40, dtype=bool), (minimum > 0) ^ (np.arange(40) < 3)):
            found = pivoted_quadratic(hessian, linear, guess)
            np.testing.assert_allclose(found, minimum, rtol=1e-9, atol=1e-13)
    assert len(factors) <= 10 * 4.2 + 10 * 4.1


@pytest.mark.parametrize(("seed", "solves"), [(7687, 10), (601, 11), (9861, 17)])
def test_exchanges_that_go_in_circles_go_on_one_at_a_time(seed, solves, factors, no_help):
    """Three of 20,000 programs: they take six exchanges more than most, or turn back again."""
    rng = np.random.default_rng(seed)
    size = rng.integers(3, 7)
    half = rng.standard_normal((size, size))
    hessian, linear = half.T @ half, rng.standard_normal(size)
    found = pivoted_quadratic(hessian, linear, np.zeros(size, dtype=bool))
    np.testing.assert_allclose(found, brute_force(hessian, linear), atol=1e-8)
    assert len(factors) == solves


def test_what_is_zero_but_for_rounding_is_not_exchanged(no_help):
    """A column that stands there twice has a gradient of nothing but rounding."""
    for cost in (1e-6, 1.0, 1e6):
        for hessian, linear, _ in models():
            twice = np.r_[np.arange(40), np.arange(40)]
            guess = np.arange(80) < 40
            doubled = hessian[np.ix_(twice, twice)], cost * linear[twice]
            found = pivoted_quadratic(*doubled, guess) / cost
            once = pivoted_quadratic(hessian, linear, guess[:40])
            np.testing.assert_allclose(found[:40] + found[40:], once, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("steps", [60, 0])
def test_a_value_without_curvature_stays_at_zero(steps, monkeypatch):
    full = nonnegative_quadratic
    monkeypatch.setattr("freewill.numeric.solvers.quadratic._MAX_STEPS", steps)
    if steps == 0:

        def answer(*program):
            with monkeypatch.context() as patch:
                patch.setattr("freewill.numeric.solvers.quadratic._MAX_STEPS", 60)
                return full(*program)

        monkeypatch.setattr("freewill.numeric.solvers.quadratic.nonnegative_quadratic", answer)
    for hessian, linear, minimum in models(3):
        wider = np.zeros((41, 41))
        wider[:40, :40] = hessian
        for cost in (-1.0, 0.0, 1.0):
            for guess in (True, False):
                found = pivoted_quadratic(wider, np.append(linear, cost), np.full(41, guess))
                np.testing.assert_allclose(found, np.append(minimum, 0), rtol=1e-9, atol=1e-13)


def test_an_exact_solve_is_refined_where_a_ridge_was_needed():
    """Of 200 columns only 10 are independent: unrefined, the gradient is 3e-15."""
    rng = np.random.default_rng(3)
    half = rng.random((10, 200))
    matrix, cost = half.T @ half, -half.T @ rng.random(10)
    found = _exact(matrix, cost)
    np.testing.assert_allclose(matrix @ found, -cost, rtol=0, atol=1e-15 * np.abs(cost).max())
    assert _exact(np.empty((0, 0)), np.empty(0)).size == 0


def test_a_polished_answer_is_kept_only_if_it_is_not_negative():
    matrix, y = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1, 0])
    found = _polish(matrix, np.array([-1.0, -0.5, 1.0]), y, np.array([0.0, 0, 1]))
    np.testing.assert_array_equal(found, y)
    found = _polish(matrix, np.array([-1.0, -1.0, 1.0]), y, np.array([0.0, 0, 1]))
    np.testing.assert_allclose(found, [1 / 1.9, 1 / 1.9, 0], rtol=1e-14)


def test_no_exchange_but_one_at_a_time_ends_in_the_minimum(monkeypatch):
    monkeypatch.setattr("freewill.numeric.solvers.quadratic._PATIENCE", -1)
    for hessian, linear, _ in programs(1.0):
        found = pivoted_quadratic(hessian, linear, np.ones(linear.size, dtype=bool))
        np.testing.assert_allclose(found, brute_force(hessian, linear), atol=1e-8)


def test_the_interior_point_answers_where_exchanges_do_not_end(monkeypatch):
    steps = "freewill.numeric.solvers.quadratic._MAX_STEPS"
    asked = []

    def noted(*program):
        asked.append(program)
        with monkeypatch.context() as patch:
            patch.setattr(steps, 60)
            return nonnegative_quadratic(*program)

    monkeypatch.setattr("freewill.numeric.solvers.quadratic.nonnegative_quadratic", noted)
    monkeypatch.setattr(steps, 0)
    for hessian, linear, _ in programs(0.0):
        found = pivoted_quadratic(hessian, linear, linear < 0)
        np.testing.assert_allclose(found, brute_force(hessian, linear), atol=1e-8)
    assert len(asked) == 25
    for hessian, _, start in asked:
        np.testing.assert_allclose(start * np.sqrt(hessian.diagonal()), 1, rtol=1e-12)


def test_a_gradient_a_trifle_below_zero_frees_its_value(no_help):
    hessian = np.array([[1.0, -1 - 1e-11], [-1 - 1e-11, 4.0]])
    found = pivoted_quadratic(hessian, np.array([-1.0, 1.0]), np.array([True, False]))
    assert found[1] == pytest.approx(1e-11 / 3, rel=1e-3)
