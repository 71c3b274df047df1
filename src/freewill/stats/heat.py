"""Heat along a side with reflecting borders: what kernels on lines, grids and records are of."""

import numpy as np

from freewill.core.types import FloatArray, IntArray

_NARROWEST = 0.5
"""Narrower kernels leave a cell as it is: the next one gets less than a tenth of its mass."""
_WIDEST = 1 / 6
"""Of the longer side: six standard deviations of the widest kernel fill it."""


def heat(size: int, starts: IntArray, times: FloatArray) -> FloatArray:
    """Return a column for each start: where heat is on a side of so many cells after its time."""
    waves = np.arange(size)
    modes = np.cos(np.pi * np.outer(waves + 0.5, waves) / size) * np.sqrt(2 / size)
    modes[:, 0] /= np.sqrt(2)
    cooled = np.exp(np.outer(np.cos(np.pi * waves / size) - 1, times)) * modes[starts].T
    # What is 0 but for rounding may be on its wrong side.
    return np.asarray(np.maximum(modes @ cooled, 0.0))


def ladder(longest: float, per_doubling: int, share: float = 1.0) -> list[float]:
    """Return widths from half a cell to a sixth of the longest side, so many to a doubling.

    Where heat spreads by a `share` of them alone, from half a cell of that on.

    >>> [round(width, 2) for width in ladder(12, 2)]
    [0.5, 0.71, 1.0, 1.41, 2.0]
    """
    widest, narrowest = _WIDEST * longest, _NARROWEST / share
    if widest < narrowest:
        return []
    steps = int(np.floor(per_doubling * np.log2(widest / narrowest) + 1e-9))
    return [narrowest * 2 ** (step / per_doubling) for step in range(steps + 1)]
