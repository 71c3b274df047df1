"""From any vector to a distribution: the paper's two post-processings."""

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, numbers
from freewill.errors import ParameterError


def project(vector: ArrayLike) -> FloatArray:
    """Return the distribution nearest to `vector` in the l2 distance.

    The answer is max(v - t, 0) with the t that makes it sum to 1, found by sorting in
    O(k log k) (Wang and Carreira-Perpinan 2013; section V-A of the paper).

    >>> project([0.6, 0.6, -0.2])
    array([0.5, 0.5, 0. ])
    """
    values = _finite(vector)
    # The answer does not depend on a shift; without one, a large vector loses its 1.
    # What lies more than 1 below the largest gets nothing, however far below it lies.
    values = 2 * np.maximum(values / 2 - values.max() / 2, -1.0)
    falling = np.sort(values)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, values.size + 1)
    support = np.flatnonzero(falling > shifts)[-1]
    shifted = np.maximum(values - shifts[support], 0)
    return np.asarray(shifted / shifted.sum())


def normalise(vector: ArrayLike) -> FloatArray:
    """Set negative components to 0 and divide by the sum (section V-A of the paper).

    O(k).

    >>> normalise([0.6, 0.6, -0.2])
    array([0.5, 0.5, 0. ])
    """
    values = np.maximum(_finite(vector), 0)
    largest = values.max()
    if largest <= 0:
        raise ParameterError("no component is positive: nothing to normalise. Use project.")
    # By the largest first: numbers near the largest double have no sum.
    values = values / largest
    return np.asarray(values / values.sum())


def _finite(vector: ArrayLike) -> FloatArray:
    values = numbers(vector, "vector")
    if values.ndim != 1 or values.size == 0:
        raise ParameterError(f"vector of shape {values.shape}: expected one axis, not empty.")
    if not np.all(np.isfinite(values)):
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ParameterError(f"component {where} is {values[where]}: expected finite numbers.")
    return values
