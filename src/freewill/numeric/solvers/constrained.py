"""Least weighted change under linear constraints and signs, by an interior point."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, qr

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.solvers.systems import reach

_MAX_STEPS = 100
_RESIDUAL = 1e-12
"""Of constraints, and of slopes where those of the weights are about 1."""
_FRACTION = 0.995
"""Of the way to the boundary."""
_HAIR = 1e-14
_RANK = 1e-9
"""Of a row of constraints, relative to the first, what the others leave where it follows from them.
"""


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
    while steps < _MAX_STEPS:
        dual = whole @ (x - targets) - matrix.T @ multipliers - s
        primal, mu = matrix @ x - wanted, float(x @ s) / x.size
        change = float((x - targets) @ whole @ (x - targets)) / 2
        near = x @ s < tolerance * max(change, 1 / scale)
        if near and max(np.abs(dual).max(), np.abs(primal).max()) < _RESIDUAL:
            break
        steps += 1
        solve = _solver(whole, s / x, ends, matrix)
        step, slope, _ = solve(dual, primal, x * s, x, s)
        length = min(reach(step / x), reach(slope / s))
        ahead = float((x + length * step) @ (s + length * slope)) / x.size
        centre = mu * (ahead / mu) ** 3
        step, slope, turn = solve(dual, primal, x * s + step * slope - centre, x, s)
        length = min(reach(step / x), reach(slope / s))
        length *= _FRACTION if length < 1 else 1.0
        x, s, multipliers = x + length * step, s + length * slope, multipliers + length * turn
    change = float((x - targets) @ whole @ (x - targets)) * scale / 2
    residual = float(np.abs(constraints @ x - values).max(initial=0.0))
    return Nearest(x, change, float(x @ s) * scale, residual, steps)


def _solver(whole: FloatArray, ratio: FloatArray, ends: IntArray, matrix: FloatArray) -> Solve:
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
