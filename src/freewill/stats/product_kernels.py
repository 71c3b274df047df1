"""Kernels of heat, with reflecting borders: on lines, grids, and records along ordered sides."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import has_raster
from freewill.errors import AlphabetError

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


class Axis(NamedTuple):
    """Cells in a row along one attribute, and the length of one; no length without an order.

    A grid has two. `share` is how far heat spreads beside the longest attribute, in lengths.
    """

    attribute: str
    cells: int
    side: float | None
    share: float = 1.0


@dataclass(frozen=True)
class ProductKernels:
    """Products of kernels along attributes: K = K_1 x .. x K_d, the identity without an order.

    Attributes have no unit in common, so that widths are shares of each one's length: a width of h
    steps of the longest one is h m_i / m steps of one of m_i. Either all that have an order are
    smoothed, or one of them alone (`variants`).

    >>> import freewill as fw
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> kernels = ProductKernels.on(people)
    >>> kernels.kernel(1.0)[::2, 0].round(3), kernels.kernel(1.0)[1::2, 0]
    (array([0.674, 0.259, 0.067]), array([0., 0., 0.]))
    """

    axes: tuple[Axis, ...]
    along: tuple[str, ...]
    """The attributes that are smoothed."""
    plane: None = None

    @classmethod
    def on(cls, alphabet: Any) -> "ProductKernels":
        """Return the kernels over a product of which at least one attribute has an order."""
        axes = [axis for name, own in alphabet.attributes.items() for axis in _axes(name, own)]
        lengths = {
            name: max(axis.cells * (axis.side or 0.0) for axis in axes if axis.attribute == name)
            for name in alphabet.attributes
        }
        along = tuple(name for name, length in lengths.items() if length > 0)
        if not along:
            masked = [name for name, own in alphabet.attributes.items() if has_raster(own)]
            way = (
                f" Of {masked[0]!r} alone there are: evidence.marginal({masked[0]!r})."
                if masked
                else ""
            )
            raise AlphabetError(
                f"no attribute of {alphabet} has neighbours, and smoothing moves weight to "
                f"neighbours. Take fw.gibu, or fw.shrink, which pulls all shares together; or, if "
                f"the values of an attribute are in order, a Linear alphabet for it."
                f"{way}"
            )
        longest = max(lengths.values())
        shared = (axis._replace(share=lengths[axis.attribute] / longest) for axis in axes)
        return cls(tuple(shared), along)

    def variants(self) -> list["ProductKernels"]:
        """Return the kernels along all attributes with an order, and those along each one alone."""
        alone = [replace(self, along=(name,)) for name in self.along]
        return [self, *(alone if len(alone) > 1 else [])]

    @property
    def size(self) -> int:
        """How many records there are."""
        return int(np.prod([axis.cells for axis in self.axes]))

    @cached_property
    def places(self) -> tuple[IntArray, ...]:
        """Where each record stands on each axis."""
        return np.unravel_index(np.arange(self.size), [axis.cells for axis in self.axes])

    def widths(self, per_doubling: int) -> list[float]:
        """Return widths from half a cell to a sixth of the longest attribute, in steps of it.

        Along one attribute alone: from half a cell of it on.
        """
        own = [axis for axis in self.axes if axis.attribute in self.along and axis.side]
        longest = max(axis.cells * (axis.side or 0.0) / axis.share for axis in own)
        shortest = min(axis.share for axis in own) if len(self.along) == 1 else 1.0
        return ladder(longest, per_doubling, shortest)

    def kernel(self, widths: FloatArray | float) -> FloatArray:
        """Return k x k numbers: a column for each record, the distribution of heat from there."""
        widths = np.broadcast_to(widths, self.size)
        table = np.ones((1, self.size))
        for axis, starts in zip(self.axes, self.places, strict=True):
            if axis.side is None or axis.attribute not in self.along:
                own = np.asarray(np.arange(axis.cells)[:, None] == starts, dtype=np.float64)
            else:
                own = heat(axis.cells, starts, np.square(widths * axis.share / axis.side))
            table = (table[:, None, :] * own).reshape(-1, self.size)
        return table

    def apart(self, cell: int, others: list[int], distance: float) -> bool:
        """Tell whether a record is further than a distance from all others, where heat flows."""
        away = np.zeros(len(others))
        for axis, places in zip(self.axes, self.places, strict=True):
            steps = np.abs(places[cell] - places[others])
            if axis.side is None or axis.attribute not in self.along:
                away[steps > 0] = np.inf
            else:
                away += np.square(steps * axis.side / axis.share)
        return bool(np.all(np.sqrt(away) > distance))


def _axes(name: str, alphabet: Any) -> list[Axis]:
    """Return the axes of an attribute, in the order of its values, in units of its shorter side."""
    if alphabet.plane is None:
        return [Axis(name, alphabet.size, None)]
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    pairs = list(zip(lengths, alphabet.plane[-len(lengths) :], strict=True))
    shortest = min((length / count for length, count in pairs if count > 1), default=1.0)
    return [
        Axis(name, count, length / count / shortest if count > 1 else None)
        for length, count in pairs
    ]
