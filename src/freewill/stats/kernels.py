"""Kernels of heat, with reflecting borders: on lines, grids, and records along ordered sides."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import attributes_of, has_raster, raster_of
from freewill.errors import AlphabetError

_NARROWEST = 0.5
"""Narrower kernels leave a cell as it is: the next one gets less than a tenth of its mass."""
_WIDEST = 1 / 6
"""Of the longer side: six standard deviations of the widest kernel fill it."""


class Axis(NamedTuple):
    """Cells in a row, and the length of one; no length where nothing moves along them.

    A line has one axis, a grid two, and of records each attribute has its own. `share` is how far
    heat spreads beside the longest attribute, in lengths.
    """

    attribute: str
    cells: int
    side: float | None
    share: float = 1.0

    @property
    def length(self) -> float:
        """The length of all cells; 0 where nothing moves."""
        return self.cells * (self.side or 0.0)


@dataclass(frozen=True)
class Kernels:
    """Where heat is that started in one cell, on a line or grid with reflecting borders.

    On a side of m cells, the walk that steps either way at rate 1/2, and stays where a step would
    lead outside, is after the time h^2 distributed as

        K_h = V diag(exp(-h^2 (1 - cos(pi j / m)))) V',   V_xj ~ cos(pi (x + 1/2) j / m).

    That is the discrete Gaussian of standard deviation h, folded back at the borders. K_h is
    symmetric and doubly stochastic, and K_g K_h = K_sqrt(g^2 + h^2): what a wide kernel can fit, a
    narrower one can as well. Kernels along several axes multiply, and are the identity along an
    attribute without an order. Widths are in units of the shorter side of a cell.

    Attributes have no unit in common, so that widths are shares of each one's length: a width of h
    steps of the longest one is h m_i / m steps of one of m_i. Either all that have an order are
    smoothed, or one of them alone (`variants`).

    >>> import freewill as fw
    >>> Kernels.on(fw.Linear(0, 2)).kernel(1.0).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> kernels = Kernels.on(people)
    >>> kernels.kernel(1.0)[::2, 0].round(3), kernels.kernel(1.0)[1::2, 0]
    (array([0.674, 0.259, 0.067]), array([0., 0., 0.]))
    """

    axes: tuple[Axis, ...]
    along: tuple[str, ...] = ()
    """The attributes that are smoothed, where values are records."""
    cells: IntArray | None = None
    """row * columns + column of each value, where not every cell is one: heat stays on these."""

    @classmethod
    def on(cls, alphabet: Any) -> "Kernels":
        """Return the kernels over an alphabet that has neighbours, or an attribute that has."""
        attributes, raster = attributes_of(alphabet), raster_of(alphabet)
        if raster is not None:
            return cls(
                tuple(_axes("", alphabet, raster[:2])),
                cells=None if alphabet.plane else raster.cells,
            )
        axes = [axis for name, own in attributes.items() for axis in _axes(name, own, own.plane)]
        lengths = {
            name: max(axis.length for axis in axes if axis.attribute == name) for name in attributes
        }
        along = tuple(name for name, length in lengths.items() if length > 0)
        if not along:
            who, of, rest = f"the values {alphabet} have no", "", "."
            if attributes:
                who, of, rest = f"no attribute of {alphabet} has", " of an attribute", " for it."
            masked = [name for name, own in attributes.items() if has_raster(own)]
            rest += "".join(
                f" Of {x!r} alone there are: evidence.marginal({x!r})." for x in masked[:1]
            )
            raise AlphabetError(
                f"{who} neighbours, and smoothing moves weight to neighbours. Take fw.gibu, or "
                f"fw.shrink, which pulls all shares together; or, if the values{of} are in order, "
                f"a Linear alphabet{rest}"
            )
        longest = max(lengths.values())
        shared = (axis._replace(share=lengths[axis.attribute] / longest) for axis in axes)
        return cls(tuple(shared), along)

    def variants(self) -> list["Kernels"]:
        """Return these kernels, and of several attributes with an order each one's alone."""
        if len(self.along) < 2:
            return [self]
        alone = [
            (name, [x if x.attribute == name else x._replace(side=None) for x in self.axes])
            for name in self.along
        ]
        return [self, *(replace(self, axes=tuple(axes), along=(name,)) for name, axes in alone)]

    @property
    def size(self) -> int:
        """How many values there are, k."""
        return self.places[0].size

    @cached_property
    def places(self) -> tuple[IntArray, ...]:
        """Where each value stands on each axis."""
        shape = [axis.cells for axis in self.axes]
        cells = np.arange(np.prod(shape)) if self.cells is None else self.cells
        return np.unravel_index(cells, shape)

    def widths(self, per_doubling: int) -> list[float]:
        """Return widths from half a cell to a sixth of the longest side, so many to a doubling.

        Along one attribute alone: from half a cell of it on.

        >>> import freewill as fw
        >>> [round(width, 2) for width in Kernels.on(fw.Linear(0, 11)).widths(2)]
        [0.5, 0.71, 1.0, 1.41, 2.0]
        """
        own = [axis for axis in self.axes if axis.side]
        widest = _WIDEST * max((axis.length / axis.share for axis in own), default=0.0)
        alone = len(self.along) == 1
        narrowest = _NARROWEST / (min(axis.share for axis in own) if alone else 1.0)
        if widest < narrowest:
            return []
        steps = int(np.floor(per_doubling * np.log2(widest / narrowest) + 1e-9))
        return [narrowest * 2 ** (step / per_doubling) for step in range(steps + 1)]

    def kernel(self, widths: FloatArray | float) -> FloatArray:
        """Return k x k numbers: a column for each value, the distribution of heat from there.

        With one width for each value, columns still sum to 1, but rows need not. O(k^2 m), m the
        longer side. Heat that would reach a cell that is left out stays with the others, in
        proportion.
        """
        widths = np.broadcast_to(widths, self.size)
        kernel = np.ones((self.size, self.size))
        for axis, places in zip(self.axes, self.places, strict=True):
            if axis.side is None:
                kernel *= places[:, None] == places
            else:
                times = np.square(widths * axis.share / axis.side)
                kernel *= _heat(axis.cells, places, times)[places]
        return kernel if self.cells is None else kernel / kernel.sum(axis=0)

    def apart(self, cell: int, others: list[int], distance: float) -> bool:
        """Tell whether a value is further than a distance from all others, where heat flows."""
        away = np.zeros(len(others))
        for axis, places in zip(self.axes, self.places, strict=True):
            steps = np.abs(places[cell] - places[others])
            if axis.side is None:
                away[steps > 0] = np.inf
            else:
                away += np.square(steps * axis.side / axis.share)
        return bool(np.all(np.sqrt(away) > distance))


def _heat(size: int, starts: IntArray, times: FloatArray) -> FloatArray:
    """Return a column for each start: where heat is on a side of so many cells after its time."""
    waves = np.arange(size)
    modes = np.cos(np.pi * np.outer(waves + 0.5, waves) / size) * np.sqrt(2 / size)
    modes[:, 0] /= np.sqrt(2)
    cooled = np.exp(np.outer(np.cos(np.pi * waves / size) - 1, times)) * modes[starts].T
    # What is 0 but for rounding may be on its wrong side.
    return np.asarray(np.maximum(modes @ cooled, 0.0))


def _axes(name: str, alphabet: Any, plane: tuple[int, int] | None) -> list[Axis]:
    """Return the axes of an attribute, in the order of its values, in units of its shorter side."""
    if plane is None:
        return [Axis(name, alphabet.size, None)]
    # `plane` counts rows first, `extent` begins with the axis along a row.
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    pairs = list(zip(lengths, plane[-len(lengths) :], strict=True))
    # Along an axis of one cell nothing moves, however long that is.
    shortest = min((length / count for length, count in pairs if count > 1), default=1.0)
    return [
        Axis(name, count, length / count / shortest if count > 1 else None)
        for length, count in pairs
    ]
