"""Array aliases that the whole package shares, and the checks that go with them."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.errors import ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
PackedBits: TypeAlias = NDArray[np.uint8]
"""Bit reports, one row each: bit x of a report is bit x % 8 of its byte x // 8."""

Reports: TypeAlias = NDArray[np.int64] | NDArray[np.uint8]
"""What leaves the devices: output indices (one axis) or packed bits (two axes)."""

Spec: TypeAlias = dict[str, Any]
"""A portable description, ready for JSON."""


def distribution(theta: ArrayLike, size: int, name: str = "theta") -> FloatArray:
    """Return `theta` as a float array after checking that it is a distribution on `size` values.

    >>> distribution([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    try:
        array = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={theta!r}: expected {size} numbers.") from None
    if array.shape != (size,):
        raise ParameterError(
            f"{name} has shape {array.shape}; expected one weight for each of "
            f"the alphabet's {size} values."
        )
    if not np.all(np.isfinite(array)) or np.any(array < 0):
        worst = int(np.argmin(np.where(np.isfinite(array), array, -np.inf)))
        raise ParameterError(f"{name}[{worst}]={array[worst]}: must be finite and >= 0.")
    total = float(array.sum())
    if abs(total - 1) > 1e-9:
        raise ParameterError(f"{name} sums to {total!r}; expected 1. Divide it by its sum.")
    return array
