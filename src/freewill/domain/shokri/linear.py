"""Linear programs whose unknowns are columns of a law, one after the other, solved by HiGHS."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray
from freewill.domain.shokri.problem import Problem
from freewill.errors import LawError


def equalities(problem: Problem, outputs: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the row sums and the user's loss as forms on the columns of these outputs."""
    many = problem.times(outputs)
    rows = np.hstack([times * problem.averaging.T for times in many])
    cost = (problem.report_loss[:, outputs].T * problem.prior * many[:, None]).ravel()
    return rows, cost


def on_columns(forms: FloatArray, which: IntArray, count: int) -> Any:
    """Return the sparse matrix that applies forms[i] to column which[i] of `count` columns."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    size = forms.shape[1]
    entries = which[:, None] * size + np.arange(size)
    starts = np.arange(0, forms.size + 1, size)
    return csr_array((forms.ravel(), entries.ravel(), starts), (which.size, count * size))


def solve(objective: NDArray[np.floating[Any]], quality_loss: float, **program: Any) -> Any:
    """Return what HiGHS finds, or say why it found nothing."""
    from scipy.optimize import linprog  # noqa: PLC0415

    answer = linprog(objective, **program)
    if answer.status != 0:
        raise LawError(f"the linear program at quality_loss={quality_loss:g}: {answer.message}")
    return answer
