"""The face of the optimal laws: those that cost Q and on which no guess beats the report."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.shokri.problem import Problem
from freewill.errors import LawError

_VIOLATION = 1e-11
"""How much better, relative, a guess must be to count: less is the rounding of its own sum."""
_ROUNDS = 30
"""Times that guesses are added; each adds all that beat the report, so that few are needed."""


@dataclass(frozen=True, eq=False)
class Guesses:
    """Which guesses the law must make no better than y, one row a possible output y.

    `lists` is padded with -1; `forms[y, g]` is row g of F_y, the linear form of s for guess g.
    """

    lists: IntArray
    forms: FloatArray

    @classmethod
    def near(cls, problem: Problem) -> "Guesses":
        """Start with the values that lose least when guessed for y."""
        reps = problem.possible
        order = np.argsort(problem.guess_loss[reps], axis=1, kind="stable")
        others = order[order != reps[:, None]].reshape(reps.size, -1)
        return cls.of(problem, others[:, : problem.near])

    @classmethod
    def of(cls, problem: Problem, lists: IntArray) -> "Guesses":
        """Tabulate the forms of these guesses."""
        loss, reps = problem.guess_loss, problem.possible
        forms = (loss[:, lists] - loss[:, reps][:, :, None]).transpose(1, 2, 0)
        return cls(lists, np.where(lists[:, :, None] >= 0, forms * problem.prior, 0.0))

    @property
    def used(self) -> BoolArray:
        """Which entries of the lists are guesses."""
        return np.asarray(self.lists >= 0)

    def apply(self, columns: FloatArray) -> FloatArray:
        """Return F_y a_y for each output y."""
        return np.asarray(np.einsum("ygx,yx->yg", self.forms, columns))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return F_y' w_y for each output y."""
        return np.asarray(np.einsum("ygx,yg->yx", self.forms, weights))

    def better_than_output(self, problem: Problem, columns: FloatArray) -> IntArray:
        """Return for each y the best guess where it beats y, as (row, guess) pairs."""
        expected = (columns * problem.prior) @ problem.guess_loss
        own = expected[np.arange(len(columns)), problem.possible]
        best = expected.argmin(axis=1)
        rows = np.flatnonzero(expected.min(axis=1) < own - _VIOLATION * expected.sum())
        return np.column_stack([rows, best[rows]])

    def add(self, problem: Problem, pairs: IntArray) -> "Guesses":
        """Consider these guesses too."""
        extra = np.full((len(self.lists), 1), -1)
        extra[pairs[:, 0], 0] = pairs[:, 1]
        return Guesses.of(problem, np.hstack([self.lists, extra]))


def on_face(problem: Problem, find: Callable[[Guesses], FloatArray]) -> FloatArray:
    """Return the law whose columns `find` gives, once all guesses that matter are considered."""
    guesses = Guesses.near(problem)
    for _ in range(_ROUNDS):
        columns = find(guesses)
        better = guesses.better_than_output(problem, columns)
        if not better.size:
            return problem.unfold(columns, problem.possible)
        guesses = guesses.add(problem, better)
    raise LawError(
        "guesses kept turning out better than the reports. Use the max-entropy selection."
    )
