"""Quadratic programs over y >= 0, by an interior point and by pivoting."""

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.numeric.operators.base import Map
from freewill.numeric.solvers.systems import cholesky, reach

_MAX_STEPS = 60
"""Three times what either method needs."""
_PATIENCE = 5
"""Exchanges of a block in a row that may fail to lower the number of wrong signs."""
_FRACTION = 0.9995
"""Of the way to the boundary: the quadratic is exact, so that little room is enough."""


def nonnegative_quadratic(
    hessian: FloatArray, linear: FloatArray, start: FloatArray, tolerance: float = 1e-13
) -> FloatArray:
    """Minimise y' H y / 2 + c' y over y >= 0, for a positive semidefinite H.

    Primal-dual interior point (Mehrotra's predictor and corrector), then an exact solve on the
    coordinates that stayed positive. O(m^3) a step, 10 to 20 steps.

    >>> nonnegative_quadratic(np.eye(2), np.array([-1.0, 1.0]), np.ones(2)).round(9)
    array([1., 0.])
    """
    # A value that no report speaks of may have no curvature at all.
    scale = 1 / np.sqrt(np.maximum(hessian.diagonal(), 1e-60 * float(hessian.diagonal().max())))
    matrix = hessian * scale * scale[:, None]
    cost = linear * scale
    y = start / scale
    y = np.maximum(y, 1e-3 * y.mean())
    s = np.maximum(matrix @ y + cost, 1e-2 * np.abs(cost).mean() + 1e-300)
    for _ in range(_MAX_STEPS):
        mu = float(y @ s) / y.size
        if mu <= tolerance * (1 + abs(float(cost @ y))):
            break
        residual = matrix @ y + cost - s
        factor = cholesky(matrix.copy(), s / y)
        step, dual = _direction(factor, y, s, residual, y * s)
        ahead = float((y + reach(step / y) * step) @ (s + reach(dual / s) * dual)) / y.size
        # Mehrotra's corrector: the second-order term, and a centre by how far the predictor came.
        centre = mu * (ahead / mu) ** 3
        step, dual = _direction(factor, y, s, residual, y * s + step * dual - centre)
        y = y + _FRACTION * reach(step / y) * step
        s = s + _FRACTION * reach(dual / s) * dual
    return _polish(matrix, cost, y, s) * scale


def pivoted_quadratic(hessian: FloatArray, linear: FloatArray, free: BoolArray) -> FloatArray:
    """Minimise y' H y / 2 + c' y over y >= 0, from a guess of which coordinates are positive.

    Block principal pivoting: solve exactly on the free coordinates, then exchange all that have
    the wrong sign (y < 0 while free, H y + c < 0 while fixed); when that stops helping, exchange
    one at a time. From a good guess 3 to 6 solves of O(m^3), where the interior point, which
    answers should the exchanges not end, needs 20. Portugal, Judice and Vicente, Mathematics of
    Computation 63 (1994), 625-643.

    >>> pivoted_quadratic(np.eye(2), np.array([-1.0, 1.0]), np.array([True, True]))
    array([1., 0.])
    """
    curved = hessian.diagonal() > 0
    slack = 1e-13 * np.abs(linear)
    free = free & curved
    fewest, patience = np.inf, _PATIENCE
    for _ in range(_MAX_STEPS):
        y = np.zeros_like(linear)
        y[free] = _exact(hessian[np.ix_(free, free)], linear[free])
        wrong = np.where(free, y < 0, (hessian @ y + linear < -slack) & curved)
        count = int(wrong.sum())
        if count == 0:
            return y
        patience = _PATIENCE if count < fewest else patience - 1
        fewest = min(count, fewest)
        if patience < 0:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free = free ^ wrong
    y = np.zeros_like(linear)
    block = hessian[np.ix_(curved, curved)]
    y[curved] = nonnegative_quadratic(block, linear[curved], 1 / np.sqrt(block.diagonal()))
    return y


def _exact(matrix: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the unconstrained minimiser, refined once: a ridge may have been needed."""
    if not cost.size:
        return cost
    factor = cholesky(matrix)
    y = factor(-cost)
    return y - factor(matrix @ y + cost)


def _direction(
    factor: Map, y: FloatArray, s: FloatArray, residual: FloatArray, complement: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the steps that remove the residual H y + c - s and the complement of y s."""
    step = factor(-residual - complement / y)
    return step, -(complement + s * step) / y


def _polish(matrix: FloatArray, cost: FloatArray, y: FloatArray, s: FloatArray) -> FloatArray:
    """Solve exactly on the positive coordinates; keep the answer if it is a feasible one."""
    free = y > s
    polished = np.zeros_like(y)
    polished[free] = _exact(matrix[np.ix_(free, free)], cost[free])
    return polished if np.all(polished >= 0) else np.where(free, y, 0.0)
