"""Quadratic programs over y >= 0, by interior points and by pivoting, also under constraints."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, qr

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.numeric.operators.base import Map
from freewill.numeric.solvers.interior import cholesky, reach

_MAX_STEPS = 60
"""Three times what either method needs."""
_PATIENCE = 5
"""Exchanges of a block in a row that may fail to lower the number of wrong signs."""
_FRACTION = 0.9995
"""Of the way to the boundary: the quadratic is exact, so that little room is enough."""
_NEAREST_STEPS = 100
_RESIDUAL = 1e-12
"""Of constraints, and of slopes where those of the weights are about 1."""
_NEAREST_FRACTION = 0.995
"""Of the way to the boundary."""
_HAIR = 1e-14
_RANK = 1e-9
"""Of a row of constraints, relative to the first, what the others leave where it follows from them.
"""


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


Solve = Callable[..., tuple[FloatArray, FloatArray, FloatArray]]
"""Returns steps of x, s and the multipliers, from residuals."""


class Nearest(NamedTuple):
    """The nearest point, with what is left of the optimality conditions."""

    point: FloatArray
    change: float
    """(x - y)' W (x - y)."""
    gap: float
    """Bound on how much less the change could be: of the best point with the same constraints."""
    residual: float
    """The largest violation of a constraint; signs are never violated."""
    steps: int


def nearest_point(
    targets: FloatArray,
    weights: Sequence[FloatArray],
    constraints: FloatArray,
    values: FloatArray,
    tolerance: float = 1e-9,
) -> Nearest:
    """Minimise (x - y)' W (x - y) over x >= 0 with E x = e, for W >= 0 in blocks.

    Primal-dual interior point with Mehrotra's corrector: with H = 2 W + diag(s / x), whose blocks
    are factored one by one, steps solve E H^-1 E' dl = r for the multipliers l of E x = e. The gap
    is x's, at most `tolerance` of the change or of 1, for the slopes s >= 0 with
    2 W (x - y) = E'l + s. O(sum of cubes of blocks + rows^3) a step, 10 to 30 steps.

    >>> y, free = np.array([0.9, 0.4, -0.1]), [np.eye(3)]
    >>> nearest_point(y, free, np.ones((1, 3)), np.ones(1)).point.round(9)
    array([0.75, 0.25, 0.  ])
    """
    whole = 2 * block_diag(*weights)
    scale = float(np.mean(np.diag(whole))) or 1.0
    whole = whole / scale
    rows = _independent(constraints)
    matrix, wanted = constraints[rows], values[rows]
    ends = np.cumsum([len(block) for block in weights])[:-1]
    x = np.maximum(targets, 1e-2 / targets.size)
    s, multipliers = np.ones_like(x), np.zeros(len(rows))
    steps = 0
    while steps < _NEAREST_STEPS:
        dual = whole @ (x - targets) - matrix.T @ multipliers - s
        primal, mu = matrix @ x - wanted, float(x @ s) / x.size
        change = float((x - targets) @ whole @ (x - targets)) / 2
        near = x @ s < tolerance * max(change, 1 / scale)
        if near and max(np.abs(dual).max(), np.abs(primal).max()) < _RESIDUAL:
            break
        steps += 1
        solve = _nearest_solver(whole, s / x, ends, matrix)
        step, slope, _ = solve(dual, primal, x * s, x, s)
        length = min(reach(step / x), reach(slope / s))
        ahead = float((x + length * step) @ (s + length * slope)) / x.size
        centre = mu * (ahead / mu) ** 3
        step, slope, turn = solve(dual, primal, x * s + step * slope - centre, x, s)
        length = min(reach(step / x), reach(slope / s))
        length *= _NEAREST_FRACTION if length < 1 else 1.0
        x, s, multipliers = x + length * step, s + length * slope, multipliers + length * turn
    change = float((x - targets) @ whole @ (x - targets)) * scale / 2
    residual = float(np.abs(constraints @ x - values).max(initial=0.0))
    return Nearest(x, change, float(x @ s) * scale, residual, steps)


def _nearest_solver(
    whole: FloatArray, ratio: FloatArray, ends: IntArray, matrix: FloatArray
) -> Solve:
    """Return what solves the Newton system at one point."""
    starts = [0, *ends.tolist(), len(ratio)]
    factors = [
        (slice(first, end), cho_factor(whole[first:end, first:end] + np.diag(ratio[first:end])))
        for first, end in pairwise(starts)
    ]

    def inverse(vectors: FloatArray) -> FloatArray:
        return np.concatenate([cho_solve(own, vectors[block]) for block, own in factors])

    through = inverse(matrix.T)
    schur = matrix @ through
    # Near the end entries of H differ by 10^20: a hair keeps rounding from making this indefinite.
    schur[np.diag_indices(len(schur))] += _HAIR * float(np.trace(schur))
    factor = cho_factor(schur)

    def solve(
        dual: FloatArray, primal: FloatArray, product: FloatArray, x: FloatArray, s: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        right = -dual - product / x
        turn = cho_solve(factor, -primal - matrix @ inverse(right))
        step = inverse(right) + through @ turn
        return step, -(product + s * step) / x, turn

    return solve


def _independent(rows: FloatArray) -> IntArray:
    """Return which rows of constraints do not follow from the others."""
    _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
    left = np.abs(np.diag(triangle))
    return np.sort(order[: int(np.sum(left > _RANK * left[0]))])
