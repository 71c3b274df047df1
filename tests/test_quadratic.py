"""The small quadratic programs, against all active sets tried one by one."""

from itertools import product

import numpy as np
import pytest

from freewill.solvers.newton import cholesky
from freewill.solvers.quadratic import nonnegative_quadratic, pivoted_quadratic


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


def test_the_corrector_keeps_the_steps_few(monkeypatch):
    factors = []
    monkeypatch.setattr(
        "freewill.solvers.quadratic.cholesky", lambda *a: factors.append(1) or cholesky(*a)
    )
    rng = np.random.default_rng(8)
    for _ in range(5):
        half = rng.standard_normal((150, 120)) * 10 ** rng.uniform(-2, 2, 120)
        nonnegative_quadratic(half.T @ half, -np.abs(half).T @ rng.random(150), np.ones(120))
    assert len(factors) <= 5 * 17


def test_no_exchange_but_one_at_a_time_ends_in_the_minimum(monkeypatch):
    monkeypatch.setattr("freewill.solvers.quadratic._PATIENCE", -1)
    for hessian, linear, _ in programs(1.0):
        found = pivoted_quadratic(hessian, linear, np.ones(linear.size, dtype=bool))
        np.testing.assert_allclose(found, brute_force(hessian, linear), atol=1e-8)


def test_the_interior_point_answers_where_exchanges_do_not_end(monkeypatch):
    steps = "freewill.solvers.quadratic._MAX_STEPS"
    asked = []

    def noted(*program):
        asked.append(program)
        with monkeypatch.context() as patch:
            patch.setattr(steps, 60)
            return nonnegative_quadratic(*program)

    monkeypatch.setattr("freewill.solvers.quadratic.nonnegative_quadratic", noted)
    monkeypatch.setattr(steps, 0)
    for hessian, linear, _ in programs(0.0):
        found = pivoted_quadratic(hessian, linear, linear < 0)
        np.testing.assert_allclose(found, brute_force(hessian, linear), atol=1e-8)
    assert len(asked) == 25
