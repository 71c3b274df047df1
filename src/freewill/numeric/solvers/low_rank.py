"""Newton systems of a structured law and a few rows of any other, by Woodbury's formula."""

from collections.abc import Sequence

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.stack import StackOperator, parts_of
from freewill.numeric.solvers.conjugate import ConjugateSystem
from freewill.numeric.solvers.newton import Factor, cholesky
from freewill.numeric.solvers.systems import Line, LinearSystem, System

_MOST_BYTES = 1 << 28
"""Memory of a banded system beyond which its mechanisms are merged."""
_MERGED = 3
"""Mechanisms that are left then."""


class LowRankSystem:
    """(B + R' diag(d) R) x = r, where B is a structured system and R has few rows.

    With Z = B^-1 R' the answer is B^-1 r - Z (diag(1/d) + R Z)^-1 R B^-1 r. O(rows^2 k) and as many
    solves with B a step, in memory for two arrays of rows * k.
    """

    def __init__(self, base: System, rows: FloatArray, few: BoolArray) -> None:
        self.base = base
        self.rows = rows
        self.few = few
        """Which of all outputs the rows are; the others are the structured ones."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Factor:
        """Factor the structured part, and the small matrix of the few rows."""
        base = self.base.factor(inner[~self.few], outer)
        solved = np.array([base(row) for row in self.rows])
        small = cholesky(self.rows @ solved.T, 1 / inner[self.few])

        def solve(right: FloatArray) -> FloatArray:
            first = base(right)
            return np.asarray(first - small(self.rows @ first) @ solved)

        return solve


class DiagonalSystem:
    """What is left where no part has structure: diag(outer)."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Factor:
        """Divide."""
        return lambda right: np.asarray(right / outer)


def rows_beside(operator: Operator) -> int:
    """Return how many outputs have no structure on a line."""
    return sum(part.shape[0] for part in parts_of(operator) if part.line_terms() is None)


def structured_system(operator: Operator) -> System:
    """Return the system of all parts that have structure on a line, and the others as rows.

    Where many geometric mechanisms on a long line would take too much memory, those of like
    sharpness are merged, and the system so made is the preconditioner of conjugate gradients.
    """
    parts = parts_of(operator)
    terms = [part.line_terms() for part in parts]
    others = [part for part, term in zip(parts, terms, strict=True) if term is None]
    known = [term for term in terms if term is not None]
    line = Line(known, operator.shape[1]) if known else None
    if line is not None and line.band_bytes > _MOST_BYTES:
        near = _with_rows(LinearSystem(line.merged(_MERGED)), parts, others)
        return ConjugateSystem(operator, near)
    return _with_rows(DiagonalSystem() if line is None else LinearSystem(line), parts, others)


def _with_rows(base: System, parts: Sequence[Operator], others: Sequence[Operator]) -> System:
    """Return the system of the structured parts with the rows of the others beside it."""
    if not others:
        return base
    few = np.concatenate([np.full(part.shape[0], part in others) for part in parts])
    return LowRankSystem(base, StackOperator(others).dense(), few)
