"""Kernels that smooth along a line or over a grid: heat that cannot leave it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import AlphabetError

_NARROWEST = 0.5
"""Narrower kernels leave a cell as it is: the next one gets less than a tenth of its mass."""
_WIDEST = 1 / 6
"""Of the longer side: six standard deviations of the widest kernel fill it."""


@dataclass(frozen=True)
class Kernels:
    """Where heat is that started in one cell, on a line or grid with reflecting borders.

    On a side of m cells, the walk that steps either way at rate 1/2, and stays where a step would
    lead outside, is after the time h^2 distributed as

        K_h = V diag(exp(-h^2 (1 - cos(pi j / m)))) V',   V_xj ~ cos(pi (x + 1/2) j / m).

    That is the discrete Gaussian of standard deviation h, folded back at the borders. K_h is
    symmetric and doubly stochastic, and K_g K_h = K_sqrt(g^2 + h^2): what a wide kernel can fit, a
    narrower one can as well. On a grid the two sides' kernels multiply. `sides` are the lengths of
    a cell, in units of the shorter one; so are widths.

    >>> Kernels((1, 3), (1.0, 1.0)).kernel(1.0).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    """

    plane: tuple[int, int]
    sides: tuple[float, float]

    @classmethod
    def on(cls, alphabet: Alphabet) -> "Kernels":
        """Return the kernels of an alphabet that has neighbours."""
        if alphabet.plane is None:
            raise AlphabetError(
                f"the values {alphabet} have no neighbours, and smoothing moves weight to "
                f"neighbours. Take fw.gibu; or, if the values are in order, a Linear alphabet."
            )
        # `plane` counts rows first, `extent` begins with the axis along a row.
        lengths = [high - low for low, high in reversed(alphabet.extent)]
        lengths = [1.0] * (2 - len(lengths)) + lengths
        pairs = list(zip(lengths, alphabet.plane, strict=True))
        # Along an axis of one cell nothing moves, however long that is.
        shortest = min((length / count for length, count in pairs if count > 1), default=1.0)
        north, east = (length / count / shortest if count > 1 else 1.0 for length, count in pairs)
        return cls(alphabet.plane, (north, east))

    @property
    def size(self) -> int:
        """How many cells there are, k."""
        return self.plane[0] * self.plane[1]

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """Row and column of each cell."""
        rows, columns = np.divmod(np.arange(self.size), self.plane[1])
        return rows, columns

    def widths(self, per_doubling: int) -> list[float]:
        """Return widths from half a cell to a sixth of the longer side, so many to a doubling.

        >>> [round(width, 2) for width in Kernels((1, 12), (1.0, 1.0)).widths(2)]
        [0.5, 0.71, 1.0, 1.41, 2.0]
        """
        pairs = zip(self.plane, self.sides, strict=True)
        widest = _WIDEST * max(count * side for count, side in pairs)
        if widest < _NARROWEST:
            return []
        steps = int(np.floor(per_doubling * np.log2(widest / _NARROWEST) + 1e-9))
        return [_NARROWEST * 2 ** (step / per_doubling) for step in range(steps + 1)]

    def kernel(self, widths: FloatArray | float) -> FloatArray:
        """Return k x k numbers: a column for each cell, the distribution of heat from there.

        With one width for each cell, columns still sum to 1, but rows need not. O(k^2 m), m the
        longer side.
        """
        times = np.broadcast_to(np.square(widths), self.size)
        north, east = (
            _heat(count, starts, times / side**2)
            for count, side, starts in zip(self.plane, self.sides, self.places, strict=True)
        )
        return np.asarray((north[:, None, :] * east).reshape(self.size, self.size))

    def apart(self, cell: int, others: list[int], distance: float) -> bool:
        """Tell whether a cell is further than a distance from all others."""
        steps = [place[cell] - place[others] for place in self.places]
        away = np.hypot(steps[0] * self.sides[0], steps[1] * self.sides[1])
        return bool(np.all(away > distance))


def _heat(size: int, starts: IntArray, times: FloatArray) -> FloatArray:
    """Return a column for each start: where heat is on a side of so many cells after its time."""
    waves = np.arange(size)
    modes = np.cos(np.pi * np.outer(waves + 0.5, waves) / size) * np.sqrt(2 / size)
    modes[:, 0] /= np.sqrt(2)
    cooled = np.exp(np.outer(np.cos(np.pi * waves / size) - 1, times)) * modes[starts].T
    # What is 0 but for rounding may be on its wrong side.
    return np.asarray(np.maximum(modes @ cooled, 0.0))
