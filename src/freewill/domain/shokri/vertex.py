"""An optimal law at a vertex: what a call to a linear programming solver returns."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.shokri import linear
from freewill.domain.shokri.face import Guesses, on_face
from freewill.domain.shokri.problem import Problem

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, spread evenly and never repeat: weights without a pattern."""


def solve(problem: Problem, quality_loss: float) -> FloatArray:
    """Return a basic solution of the optimal face, by the dual simplex method (HiGHS).

    The face is E l = Q, rows that sum to 1 and, on every output y, no guess better than y; guesses
    are added as they turn out better. Most entries are 0, some outputs are never used, and the law
    is singular: equally private by the criterion, and much less useful to the collector.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    outputs, size = problem.possible, problem.size
    rows, cost = linear.equalities(problem, outputs)
    equal = csr_array(np.vstack([rows, cost]))
    # All vertices are optimal. Weights without pattern single one out, the same for every solver.
    taste = np.arange(cost.size) * _GOLDEN % 1

    def find(guesses: Guesses) -> FloatArray:
        which, number = np.nonzero(guesses.used)
        answer = linear.solve(
            taste,
            quality_loss,
            A_ub=linear.on_columns(-guesses.forms[which, number], which, outputs.size),
            b_ub=np.zeros(which.size),
            A_eq=equal,
            b_eq=np.append(np.ones(len(rows)), quality_loss),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10},
        )
        return np.asarray(np.maximum(answer.x, 0).reshape(outputs.size, size))

    return on_face(problem, find)
