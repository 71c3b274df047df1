"""The optimal law in the middle of all optimal ones: the analytic centre of the optimal face.

docs/shokri-centre.md derives the Newton step; the names of its terms are the names used here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.shokri.face import Guesses, on_face
from freewill.domain.shokri.problem import Problem
from freewill.errors import LawError

_MAX_STEPS = 400
"""Newton steps; a few dozen are usual, and the longest known take some 150."""
_CENTRED = 1e-16
"""Squared relative step at which the next one would change no more than the last digits."""
_TO_BOUNDARY = 0.99
"""Share of the way to the nearest bound that a step may go."""
_START = 1e-3
"""What the truth seems to cost at the start, in units of Q: it then gets a large, finite weight."""

OnStep = Callable[[float], None] | None


def solve(problem: Problem, quality_loss: float, on_step: OnStep = None) -> FloatArray:
    """Maximise sum log A_xy + sum log s_yz over the optimal laws.

    A law is optimal when E l = Q and on every output y no guess z is better than y itself:
    s_yz = sum_x pi_x A_xy (l(x,z) - l(x,y)) >= 0. Guesses near y are considered from the start
    and others when they turn out better. Each Newton step eliminates one column at a time, whose
    matrix is a diagonal plus a few guesses, and solves for the k + 1 equalities: O(k^2 * guesses).
    """
    weights = 1 / (_START * quality_loss + problem.report_loss[:, problem.possible].T)
    columns = np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def find(guesses: Guesses) -> FloatArray:
        nonlocal columns
        columns = _centre(problem, quality_loss, guesses, columns, on_step)
        return columns

    return on_face(problem, find)


def _centre(
    problem: Problem, quality_loss: float, guesses: Guesses, columns: FloatArray, on_step: OnStep
) -> FloatArray:
    """Newton's method from a start that need not satisfy the equalities."""
    slacks = np.ones(guesses.lists.shape)
    for _ in range(_MAX_STEPS):
        try:
            step, slack_step = newton_step(problem, quality_loss, guesses, columns, slacks)
        except np.linalg.LinAlgError:  # beyond double precision, as with a prior of 1e-15
            break
        relative = np.concatenate([(step / columns).ravel(), (slack_step / slacks).ravel()])
        length = min(1.0, _TO_BOUNDARY / max(float(-relative.min()), 1e-300))
        columns, slacks = columns + length * step, slacks + length * slack_step
        distance = float(relative @ relative)
        if on_step is not None:
            on_step(distance)
        if distance < _CENTRED:  # then the step was a full one
            return columns
    raise LawError(
        f"no centre of the optimal laws at quality_loss={quality_loss:g} within {_MAX_STEPS} "
        f"Newton steps. Use the max-entropy selection."
    )


@dataclass(frozen=True, eq=False)
class Hessians:
    """H_y = diag(1/a_y^2) + F_y' diag(1/s_y^2) F_y for all y, inverted by Woodbury.

    H_y^-1 = diag(a_y^2) - R_y' R_y with R_y = L_y^-1 F_y diag(a_y^2) and
    L_y L_y' = diag(s_y^2) + F_y diag(a_y^2) F_y'.
    """

    squares: FloatArray
    reduction: FloatArray

    @classmethod
    def at(cls, guesses: Guesses, columns: FloatArray, slacks: FloatArray) -> "Hessians":
        """Factorise at a point: O(k * guesses^2) a column."""
        squares = columns**2
        scaled = guesses.forms * squares[:, None, :]
        small = np.einsum("ygx,yhx->ygh", scaled, guesses.forms)
        diagonal = np.arange(small.shape[1])
        small[:, diagonal, diagonal] += np.where(guesses.used, slacks**2, 1.0)
        reduction = np.linalg.solve(np.linalg.cholesky(small), scaled)
        return cls(squares, np.asarray(reduction, dtype=np.float64))

    def solve(self, right: FloatArray) -> FloatArray:
        """Return H_y^-1 right_y for each y."""
        inner = np.einsum("ygx,yx->yg", self.reduction, right)
        return np.asarray(self.squares * right - np.einsum("ygx,yg->yx", self.reduction, inner))

    def between(self, averaging: FloatArray, many: FloatArray) -> FloatArray:
        """Return sum_y m_y B' H_y^-1 B."""
        reduced = (self.reduction @ averaging) * np.sqrt(many)[:, None, None]
        reduced = reduced.reshape(-1, averaging.shape[1])
        diagonal = (many @ self.squares)[:, None]
        return np.asarray(averaging.T @ (diagonal * averaging) - reduced.T @ reduced)


def newton_step(
    problem: Problem,
    quality_loss: float,
    guesses: Guesses,
    columns: FloatArray,
    slacks: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the Newton step of columns and slacks, by elimination column after column."""
    used, averaging = guesses.used, problem.averaging
    many = problem.times(problem.possible)
    cost = problem.report_loss[:, problem.possible].T * problem.prior
    residual = np.where(used, guesses.apply(columns) - slacks, 0.0)
    slack_pull = np.where(used, 1 / slacks - residual / slacks**2, 0.0)
    gradient = 1 / columns + guesses.adjoint(slack_pull)
    hessians = Hessians.at(guesses, columns, slacks)
    unpriced, of_cost = hessians.solve(gradient), hessians.solve(cost)
    rows_and_cost = averaging.T @ (many @ of_cost)
    cost_and_cost = float(many @ (cost * of_cost).sum(axis=1))
    schur = np.block(
        [
            [hessians.between(averaging, many), rows_and_cost[:, None]],
            [rows_and_cost[None, :], np.array([[cost_and_cost]])],
        ]
    )
    excess = np.append(
        averaging.T @ (many @ (unpriced + columns)) - 1,
        float(many @ (cost * (unpriced + columns)).sum(axis=1)) - quality_loss,
    )
    # Row sums and the cost have other units: a unit diagonal keeps the solve accurate.
    scale = 1 / np.sqrt(schur.diagonal())
    prices = scale * np.linalg.solve(schur * scale * scale[:, None], scale * excess)
    of_rows = hessians.solve(np.broadcast_to(averaging @ prices[:-1], columns.shape))
    step = unpriced - of_rows - prices[-1] * of_cost
    slack_step = np.where(used, guesses.apply(step) + residual, 0.0)
    return np.asarray(step), slack_step
