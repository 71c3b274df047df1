"""The optimal law in the middle of all optimal ones: the analytic centre of the optimal face."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from freewill.errors import LawError
from freewill.shokri.problem import Problem
from freewill.types import BoolArray, FloatArray, IntArray

_MAX_STEPS = 400
_CENTRED = 1e-16
_VIOLATION = 1e-11
_ROUNDS = 30


def solve(
    problem: Problem, threshold: float, on_step: Callable[[float], None] | None = None
) -> FloatArray:
    """Maximise sum log A_xy + sum log s_yz over the optimal laws.

    A law is optimal when E l = Q and on every output y no guess z is better than y itself:
    s_yz = sum_x pi_x A_xy (l(x,z) - l(x,y)) >= 0. Guesses near y are considered from the start
    and others when they turn out better. Each Newton step eliminates one column at a time, whose
    matrix is a diagonal plus a few guesses, and solves for the k + 1 equalities: O(k^2 * guesses).
    """
    guesses = Guesses.near(problem)
    columns = _start(problem, threshold)
    for _ in range(_ROUNDS):
        columns = _centre(problem, threshold, guesses, columns, on_step)
        better = guesses.better_than_truth(problem, columns)
        if not better.size:
            return problem.unfold(columns, problem.possible)
        guesses = guesses.add(problem, better)
    raise LawError(
        f"no centre of the optimal laws at quality_loss={threshold:g}: "
        f"guesses kept turning out better. Use the max-entropy selection."
    )


@dataclass(frozen=True, eq=False)
class Guesses:
    """Which guesses the law must make no better than y, one row a possible output y.

    `lists` is padded with -1; `forms[y, g]` is the linear form of s for guess g.
    """

    lists: IntArray
    forms: FloatArray

    @classmethod
    def near(cls, problem: Problem) -> "Guesses":
        """Start with the values that lose least when guessed for y."""
        reps = problem.possible
        order = np.argsort(problem.privacy[reps], axis=1, kind="stable")
        others = order[order != reps[:, None]].reshape(reps.size, -1)
        return cls.of(problem, others[:, : problem.near])

    @classmethod
    def of(cls, problem: Problem, lists: IntArray) -> "Guesses":
        """Tabulate the forms of these guesses."""
        loss, reps = problem.privacy, problem.possible
        forms = (loss[:, lists] - loss[:, reps][:, :, None]).transpose(1, 2, 0)
        return cls(lists, np.where(lists[:, :, None] >= 0, forms * problem.prior, 0.0))

    @property
    def used(self) -> BoolArray:
        """Which entries of the lists are guesses."""
        return np.asarray(self.lists >= 0)

    def better_than_truth(self, problem: Problem, columns: FloatArray) -> IntArray:
        """Return for each y the best guess where it beats y, as (row, guess) pairs."""
        expected = (columns * problem.prior) @ problem.privacy
        own = expected[np.arange(len(columns)), problem.possible]
        best = expected.argmin(axis=1)
        rows = np.flatnonzero(expected.min(axis=1) < own - _VIOLATION * expected.sum())
        return np.column_stack([rows, best[rows]]) if rows.size else np.empty((0, 2), np.int64)

    def add(self, problem: Problem, pairs: IntArray) -> "Guesses":
        """Consider these guesses too."""
        extra = np.full((len(self.lists), 1), -1)
        extra[pairs[:, 0], 0] = pairs[:, 1]
        return Guesses.of(problem, np.hstack([self.lists, extra]))


def _start(problem: Problem, threshold: float) -> FloatArray:
    """Return positive columns near the centre: 1 / (nu + mu l), with about the right loss."""
    loss = problem.quality[:, problem.possible].T
    tilt = 1.0 / threshold
    for _ in range(60):
        weights = 1 / (1e-3 * tilt * threshold + tilt * loss)
        law = weights / weights.sum(axis=1, keepdims=True)
        if (law * loss).sum(axis=1).mean() < threshold:
            break
        tilt *= 2
    return np.asarray(law)


def _centre(
    problem: Problem,
    threshold: float,
    guesses: Guesses,
    columns: FloatArray,
    on_step: Callable[[float], None] | None,
) -> FloatArray:
    """Newton's method from a start that need not satisfy the equalities."""
    slacks = np.ones(guesses.lists.shape)
    for _ in range(_MAX_STEPS):
        step, slack_step = _newton(problem, threshold, guesses, columns, slacks)
        relative = np.concatenate([(step / columns).ravel(), (slack_step / slacks).ravel()])
        length = min(1.0, 0.99 / max(float(-relative.min()), 1e-300))
        columns, slacks = columns + length * step, slacks + length * slack_step
        distance = float(relative @ relative)
        if on_step is not None:
            on_step(distance)
        if length == 1 and distance < _CENTRED:
            return columns
    raise LawError(
        f"no centre of the optimal laws at quality_loss={threshold:g} within {_MAX_STEPS} Newton "
        f"steps. Use the max-entropy selection."
    )


def _newton(
    problem: Problem,
    threshold: float,
    guesses: Guesses,
    columns: FloatArray,
    slacks: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the Newton step of columns and slacks, by elimination column after column."""
    forms, used = guesses.forms, guesses.used
    many = problem.times(problem.possible)
    cost = problem.quality[:, problem.possible].T * problem.prior
    missing = np.where(used, np.einsum("ygx,yx->yg", forms, columns) - slacks, 0.0)
    pull = np.where(used, 1 / slacks - missing / slacks**2, 0.0)
    right = 1 / columns + np.einsum("ygx,yg->yx", forms, pull)
    squares = columns**2
    # A column's matrix is diag(1/A^2) + F' diag(1/s^2) F; by Woodbury its inverse is
    # diag(A^2) - R'R with R = chol(diag(s^2) + F diag(A^2) F')^-1 F diag(A^2).
    scaled = forms * squares[:, None, :]
    small = np.einsum("ygx,yhx->ygh", scaled, forms)
    diagonal = np.arange(small.shape[1])
    small[:, diagonal, diagonal] += np.where(used, slacks**2, 1.0)
    low = np.linalg.solve(np.linalg.cholesky(small), scaled)

    def inverse(vector: FloatArray) -> FloatArray:
        inner = np.einsum("ygx,yx->yg", low, vector)
        return np.asarray(squares * vector - np.einsum("ygx,yg->yx", low, inner))

    free, priced = inverse(right), inverse(cost)
    average = problem.averaging
    folded = (low @ average) * np.sqrt(many)[:, None, None]
    folded = folded.reshape(-1, average.shape[1])
    rows = average.T @ ((many @ squares)[:, None] * average) - folded.T @ folded
    border = average.T @ (many @ priced)
    corner = float(many @ (cost * priced).sum(axis=1))
    schur = np.block([[rows, border[:, None]], [border[None, :], np.array([[corner]])]])
    targets = np.append(
        average.T @ (many @ (free + columns)) - 1,
        float(many @ (cost * (free + columns)).sum(axis=1)) - threshold,
    )
    scale = 1 / np.sqrt(schur.diagonal())
    prices = scale * np.linalg.solve(schur * scale * scale[:, None], scale * targets)
    step = free - inverse(np.broadcast_to(average @ prices[:-1], columns.shape))
    step -= prices[-1] * priced
    slack_step = np.where(used, np.einsum("ygx,yx->yg", forms, step) + missing, 0.0)
    return np.asarray(step), slack_step
