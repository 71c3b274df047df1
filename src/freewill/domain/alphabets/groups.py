"""What shares are of: single values, bins of a line, districts of a grid, or named sets."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.texts import readable
from freewill.errors import AlphabetError, several

Cells: TypeAlias = list[tuple[Any, ...]]


class Groups(Protocol):
    """Disjoint groups of the values of an alphabet, in an order; each value is in one."""

    @property
    def what(self) -> str:
        """What one is called."""

    @property
    def alphabet(self) -> Alphabet:
        """Whose values these are."""

    @property
    def count(self) -> int:
        """How many groups there are."""

    @property
    def which(self) -> IntArray:
        """The group of each value."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each group is called."""

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the columns of a table for programs that say what a share is of."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The same for people, with one column an axis."""

    def cells(self, places: IntArray) -> Cells:
        """Return what the columns `heads` hold for some groups."""

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return what the columns `axes` hold for some groups."""


@dataclass(frozen=True)
class Values:
    """Every value by itself."""

    alphabet: Alphabet
    what: ClassVar[str] = "value"

    @property
    def count(self) -> int:
        """As many as there are values."""
        return self.alphabet.size

    @property
    def which(self) -> IntArray:
        """The value itself."""
        return np.arange(self.alphabet.size)

    @property
    def names(self) -> tuple[str, ...]:
        """Labels, numbers, or the coordinates of cells."""
        return tuple(", ".join(text) for text in self.texts(self.which))

    @property
    def heads(self) -> tuple[str, ...]:
        """The alphabet's own."""
        return self.alphabet.axes

    @property
    def axes(self) -> tuple[str, ...]:
        """The alphabet's own."""
        return self.alphabet.axes

    def cells(self, places: IntArray) -> Cells:
        """Return values: one cell each, or their coordinates."""
        values = readable(self.alphabet, places)
        return [value if isinstance(value, tuple) else (value,) for value in values]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return the same as texts."""
        return [list(map(_word, cells)) for cells in self.cells(places)]

    def __str__(self) -> str:
        return f"every one of {several(self.count, 'value')}"


@dataclass(frozen=True)
class Blocks:
    """Neighbours together: so many values of a line, columns x rows of the cells of a grid.

    Blocks are numbered row by row, as cells are; the last of a row, and those of the last row, may
    be smaller.

    >>> import freewill as fw
    >>> Blocks(fw.Linear(0, 4), 2, 1).which, Blocks(fw.Grid(3, 2, cell=1.0), 2, 2).which
    (array([0, 0, 1, 1, 2]), array([0, 0, 1, 0, 0, 1]))
    """

    alphabet: Alphabet
    columns: int
    rows: int

    @property
    def what(self) -> str:
        """What one is called."""
        return "bin" if len(self.alphabet.axes) == 1 else "district"

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return math.prod(self._across)

    @property
    def _across(self) -> tuple[int, int]:
        rows, columns = checked_plane(self.alphabet)
        return -(-rows // self.rows), -(-columns // self.columns)

    @property
    def which(self) -> IntArray:
        """The block of each value."""
        row, column = np.divmod(np.arange(self.alphabet.size), checked_plane(self.alphabet)[1])
        return np.asarray((row // self.rows) * self._across[1] + column // self.columns)

    def spans(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first and the end of the rows and of the columns of blocks, [axis, block].

        >>> import freewill as fw
        >>> first, end = Blocks(fw.Grid(3, 2, cell=1.0), 2, 2).spans([0, 1])
        >>> first, end
        (array([[0, 0],
               [0, 2]]), array([[2, 2],
               [2, 3]]))
        """
        sides = np.array([[self.rows], [self.columns]])
        first = np.stack(np.divmod(np.asarray(places), self._across[1])) * sides
        return first, np.minimum(first + sides, np.array(checked_plane(self.alphabet))[:, None])

    @property
    def names(self) -> tuple[str, ...]:
        """First and last value of a line; columns and rows of a grid."""
        places = np.arange(self.count)
        if len(self.alphabet.axes) == 1:
            return tuple(text for (text,) in self.texts(places))
        first, end = (axes.T.tolist() for axes in self.spans(places))
        return tuple(
            f"columns {left}..{right - 1}, rows {low}..{high - 1}"
            for (low, left), (high, right) in zip(first, end, strict=True)
        )

    @property
    def heads(self) -> tuple[str, ...]:
        """From where to where, on each axis."""
        axes = self.alphabet.axes
        if len(axes) == 1:
            return ("from", "to")
        return tuple(f"{axis}_{end}" for axis in axes for end in ("from", "to"))

    @property
    def axes(self) -> tuple[str, ...]:
        """The alphabet's own."""
        return self.alphabet.axes

    def cells(self, places: IntArray) -> Cells:
        """Return the first and the last value of bins, and the edges of districts."""
        alphabet = self.alphabet
        first, end = self.spans(places)
        if len(alphabet.axes) == 1:
            ends = (readable(alphabet, indices) for indices in (first[1], end[1] - 1))
            return list(zip(*ends, strict=True))
        # Latitudes go with the rows of the plane; without a box, kilometres east come first.
        order = (0, 1) if alphabet.axes == ("lat", "lon") else (1, 0)
        columns, plane = [], checked_plane(alphabet)
        for (low, high), axis in zip(alphabet.reach, order, strict=True):
            edges = np.linspace(low, high, plane[axis] + 1)
            # Three digits of a cell are enough to find its edge.
            edges = edges.round(3 - math.floor(math.log10((high - low) / plane[axis])))
            columns += [edges[first[axis]], edges[end[axis]]]
        return [tuple(row) for row in np.stack(columns).T.tolist()]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return from..to on each axis."""
        found = []
        for cells in self.cells(places):
            words = list(map(_word, cells))
            pairs = zip(words[::2], words[1::2], strict=True)
            found.append([low if low == high else f"{low}..{high}" for low, high in pairs])
        return found

    def __str__(self) -> str:
        if len(self.alphabet.axes) == 1:
            return f"bins of {several(self.columns, 'value')}"
        return f"districts of {self.columns} x {self.rows} cells"


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of values, each with a name."""

    alphabet: Alphabet
    names: tuple[str, ...]
    which: IntArray = field(repr=False)
    what: ClassVar[str] = "group"
    heads: ClassVar[tuple[str, ...]] = ("group",)
    axes: ClassVar[tuple[str, ...]] = ("group",)

    @property
    def count(self) -> int:
        """How many sets there are."""
        return len(self.names)

    def cells(self, places: IntArray) -> Cells:
        """Return the names."""
        return [(self.names[place],) for place in places]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return the names."""
        return [[self.names[place]] for place in places]

    def __str__(self) -> str:
        return several(self.count, "group")


def merged_weights(groups: Groups, weights: ArrayLike) -> FloatArray:
    """Return the sum of the weights of each group, in O(k).

    >>> import freewill as fw
    >>> merged_weights(Blocks(fw.Linear(0, 4), 2, 1), [0.1, 0.2, 0.3, 0.2, 0.2])
    array([0.3, 0.5, 0.2])
    """
    given = np.asarray(weights, dtype=float)
    if isinstance(groups, Values):
        return given
    return np.asarray(np.bincount(groups.which, given, minlength=groups.count))


def checked_plane(alphabet: Alphabet) -> tuple[int, int]:
    """Return the rows and columns in which neighbours lie; without neighbours, an error."""
    if alphabet.plane is None:
        raise AlphabetError(
            f"the values {alphabet} have no neighbours to be taken together with: expected a "
            f"Linear or a Grid, or sets of values."
        )
    return alphabet.plane


def _word(cell: Any) -> str:
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)
