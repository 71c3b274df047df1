"""Grids, reference optima and certificates, for the tests of columns."""

import numpy as np
import pytest

from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import columns
from freewill.numeric.solvers.likelihood import Likelihood, Status


def assert_certified(solution, likelihood, tolerance=1e-9):
    assert solution.status == Status.CERTIFIED
    assert 0 <= solution.certificate.gap <= tolerance
    assert np.all(solution.theta >= 0)
    assert solution.theta.sum() == pytest.approx(1, abs=1e-12)
    # The gap over all values, from scratch and from the dense rows.
    rows = likelihood.operator.dense()
    slope = (likelihood.weights / (rows @ solution.theta)) @ rows
    assert np.log(slope.max()) <= tolerance + 1e-12


def pool_of(operator, plane=None):
    return columns.ColumnPool(Likelihood(operator, np.ones(operator.shape[0])), plane)


def small_pool(outputs=30, size=12, seed=0):
    rng = np.random.default_rng(seed)
    operator = DenseOperator(rng.random((outputs, size)) + 0.05)
    return operator, pool_of(operator), rng
