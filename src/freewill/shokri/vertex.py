"""An optimal law at a vertex: what a call to a linear programming solver returns."""

import numpy as np

from freewill.errors import LawError
from freewill.shokri.face import Guesses, on_face
from freewill.shokri.problem import Problem
from freewill.types import FloatArray

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, spread evenly and never repeat: weights without a pattern."""


def solve(problem: Problem, quality_loss: float) -> FloatArray:
    """Return a basic solution of the optimal face, by the dual simplex method (HiGHS).

    The face is E l = Q, rows that sum to 1 and, on every output y, no guess better than y; guesses
    are added as they turn out better. Most entries are 0, some outputs are never used, and the law
    is singular: equally private by the criterion, and much less useful to the collector.
    """
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415

    outputs, size = problem.possible, problem.size
    many = problem.times(outputs)
    # Unknowns: columns[y, x] of the possible outputs, flattened.
    rows = csr_array(np.hstack([times * problem.averaging.T for times in many]))
    cost = (problem.report_loss[:, outputs].T * problem.prior * many[:, None]).ravel()
    equal = vstack([rows, csr_array(cost[None, :])])
    # All vertices are optimal. Weights without pattern single one out, the same for every solver.
    taste = np.arange(cost.size) * _GOLDEN % 1

    def find(guesses: Guesses) -> FloatArray:
        which, number = np.nonzero(guesses.used)
        columns_of = which[:, None] * size + np.arange(size)
        rows_of = np.repeat(np.arange(which.size), size)
        forms = guesses.forms[which, number].ravel()
        worse = csr_array((-forms, (rows_of, columns_of.ravel())), (which.size, cost.size))
        answer = linprog(  # type: ignore[call-overload]
            taste,
            A_ub=worse,
            b_ub=np.zeros(which.size),
            A_eq=equal,
            b_eq=np.append(np.ones(rows.shape[0]), quality_loss),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10},
        )
        if answer.status != 0:
            raise LawError(f"the linear program at quality_loss={quality_loss:g}: {answer.message}")
        return np.asarray(np.maximum(answer.x, 0).reshape(outputs.size, size))

    return on_face(problem, find)
