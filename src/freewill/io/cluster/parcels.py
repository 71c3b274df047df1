"""Parcels: results of work and blocks of reports as bytes, of a symmetric matrix one half."""

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from freewill.core.types import FloatArray

_LEAST = 64
"""Rows of a matrix from which half of it is worth the trouble."""


def packed(result: Any) -> bytes:
    """Return anything as bytes; a symmetric matrix in it takes k (k + 1) / 2 numbers, not k^2.

    >>> half, whole = packed(np.ones((100, 100))), packed(np.ones((99, 100)))
    >>> len(half) < 0.52 * len(whole), bool(np.all(unpacked(half) == 1))
    (True, True)
    """
    file = io.BytesIO()
    _Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(result)
    return file.getvalue()


def unpacked(parcel: bytes) -> Any:
    """Return what was packed, to the last bit."""
    return pickle.loads(parcel)


class _Packer(pickle.Pickler):
    """Pickles a symmetric matrix as its triangle, wherever in a result it stands."""

    def reducer_override(self, obj: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        if not _is_symmetric(obj):
            return NotImplemented
        return _whole, (len(obj), np.concatenate([obj[row, : row + 1] for row in range(len(obj))]))


def _is_symmetric(obj: Any) -> bool:
    return (
        type(obj) is np.ndarray
        and obj.dtype == np.float64
        and obj.ndim == 2
        and obj.shape[0] == obj.shape[1] >= _LEAST
        and np.array_equal(obj, obj.T)
        # Of 0 and -0, which are equal, both halves would be the same.
        and np.array_equal(np.signbit(obj), np.signbit(obj.T))
    )


def _whole(size: int, triangle: FloatArray) -> FloatArray:
    """Return the matrix of which this is the lower triangle, row by row."""
    matrix, end = np.empty((size, size)), 0
    for row in range(size):
        start, end = end, end + row + 1
        matrix[row, : row + 1] = matrix[: row + 1, row] = triangle[start:end]
    return matrix
