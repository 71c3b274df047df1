"""What all Newton steps share: a Cholesky factor that rounding cannot stop, and a step's reach."""

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from freewill.core.types import FloatArray

_FIRST_RIDGE = 1e-15
"""Of a unit diagonal: the rounding of one entry."""


class Factor(Protocol):
    """A factored matrix: solves for one right-hand side after the other."""

    def __call__(self, right: FloatArray) -> FloatArray:
        """Return x with matrix x = right."""


def cholesky(matrix: FloatArray, diagonal: FloatArray | None = None) -> Factor:
    """Factor matrix + diag(diagonal), of which only the lower triangle is read.

    Adds the diagonal to the matrix itself: fresh memory costs as much as the arithmetic. Should
    rounding require it, the matrix is scaled to a unit diagonal and gets a ridge.
    """
    if diagonal is not None:
        matrix.ravel(order="K")[:: len(matrix) + 1] += diagonal
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    return (
        _ridged(matrix) if failed else lambda right: np.asarray(dpotrs(factor, right, lower=1)[0])
    )


def _ridged(matrix: FloatArray) -> Factor:
    """Factor a matrix that is not positive definite by some rounding."""
    held = matrix.diagonal()
    scale = 1 / np.sqrt(np.where(held > 0, held, 1.0))
    matrix = matrix * scale * scale[:, None]
    ridge, failed = 0.0, 1
    while failed:
        ridge = max(100 * ridge, _FIRST_RIDGE)
        matrix.ravel(order="K")[:: len(matrix) + 1] += ridge
        factor, failed = dpotrf(matrix, lower=1, clean=0)

    def solve(right: FloatArray) -> FloatArray:
        found, _ = dpotrs(factor, scale * right, lower=1)
        return np.asarray(scale * found)

    return solve


def reach(point: FloatArray, step: FloatArray) -> float:
    """Return how far (at most 1) a step keeps the positive point non-negative.

    >>> reach(np.array([1.0, 1.0]), np.array([5.0, -2.0]))
    0.5
    """
    return 1 / max(1.0, -float((step / point).min()))
