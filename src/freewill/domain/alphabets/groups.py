"""What shares are of: single values, bins of a line, districts of a grid, or named sets.

Groups of the values of an alphabet are disjoint and have an order; each value is in one. `what` is
what one is called, `count` how many there are, `which` the group of each value. `heads` are the
columns of a table for programs that say what a share is of, with `cells` in them; `axes` are those
for people, one an axis, with `texts`.

>>> import freewill as fw
>>> coarser(fw.Linear(0, 4), 2).names
('0..1', '2..3', '4')
>>> coarser(fw.Categorical(["yes", "no", "maybe"]), {"told": ["yes", "no"]}).names
('told', 'the rest')
"""

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.texts import is_whole_text
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import (
    LARGEST,
    Alphabet,
    Raster,
    attributes_of,
    has_raster,
    headed,
    raster_of,
    readable,
)
from freewill.errors import AlphabetError, ParameterError, printable, several, shown

Cells: TypeAlias = list[tuple[Any, ...]]


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
    def axes(self) -> tuple[str, ...]:
        """The alphabet's own."""
        return self.alphabet.axes

    heads = axes

    def cells(self, places: IntArray) -> Cells:
        """Return values: one cell each, or their coordinates."""
        return [_flat(value) for value in readable(self.alphabet, places)]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return the same as texts."""
        return [list(map(_word, cells)) for cells in self.cells(places)]

    def __str__(self) -> str:
        return f"every one of {several(self.count, 'value')}"


@dataclass(frozen=True)
class Blocks:
    """Neighbours together: so many values of a line, columns x rows of the cells of a grid.

    Blocks are numbered row by row, as cells are; the last of a row, and those of the last row, may
    be smaller. One in which a grid leaves out all cells is none.

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
        whole = self.alphabet.plane is not None
        return math.prod(self._across) if whole else int(self._present.size)

    @property
    def _across(self) -> tuple[int, int]:
        rows, columns = checked_plane(self.alphabet)
        return -(-rows // self.rows), -(-columns // self.columns)

    @cached_property
    def _blocks(self) -> IntArray:
        """The block of each value, those without values counted, too."""
        raster: Raster = raster_of(self.alphabet)  # type: ignore[assignment]
        row, column = np.divmod(raster.cells, raster.columns)
        return np.asarray((row // self.rows) * self._across[1] + column // self.columns)

    @cached_property
    def _present(self) -> IntArray:
        """The blocks that have values, which rise."""
        return np.unique(self._blocks)

    @property
    def which(self) -> IntArray:
        """The block of each value."""
        return np.searchsorted(self._present, self._blocks)

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
        numbers = np.asarray(places)
        numbers = numbers if self.alphabet.plane is not None else self._present[numbers]
        first = np.stack(np.divmod(numbers, self._across[1])) * sides
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
        rows = [list(map(_word, cells)) for cells in self.cells(places)]
        pairs = [zip(words[::2], words[1::2], strict=True) for words in rows]
        return [[low if low == high else f"{low}..{high}" for low, high in row] for row in pairs]

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


@dataclass(frozen=True)
class RecordGroups:
    """Records together that are in the same group of every attribute, the last attribute fastest.

    >>> import freewill as fw
    >>> people = fw.Product(age=fw.Linear(0, 3), vote=fw.Categorical(["yes", "no"]))
    >>> coarser(people, {"age": 2}).names
    ('0..1, yes', '0..1, no', '2..3, yes', '2..3, no')
    """

    alphabet: Alphabet
    parts: tuple[Any, ...]
    """The groups of each attribute."""
    what: ClassVar[str] = "group"

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(part.count for part in self.parts)

    @property
    def count(self) -> int:
        """How many combinations of groups there are."""
        return math.prod(self._counts)

    @property
    def which(self) -> IntArray:
        """The group of each record."""
        records: Any = self.alphabet
        values = records.split(np.arange(records.size))
        own = [part.which[places] for part, places in zip(self.parts, values, strict=True)]
        return np.asarray(np.ravel_multi_index(own, self._counts))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups of all attributes."""
        return tuple(map(", ".join, product(*(part.names for part in self.parts))))

    @property
    def heads(self) -> tuple[str, ...]:
        """Those of the groups of each attribute, behind its name where there are several."""
        return headed(
            zip(attributes_of(self.alphabet), [own.heads for own in self.parts], strict=True)
        )

    @property
    def axes(self) -> tuple[str, ...]:
        """The same for people."""
        return headed(
            zip(attributes_of(self.alphabet), [own.axes for own in self.parts], strict=True)
        )

    def cells(self, places: IntArray) -> Cells:
        """Return the cells of all attributes, one after the other."""
        split = zip(self.parts, np.unravel_index(places, self._counts), strict=True)
        columns = [part.cells(own) for part, own in split]
        return [tuple(chain(*row)) for row in zip(*columns, strict=True)]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return the same as texts."""
        split = zip(self.parts, np.unravel_index(places, self._counts), strict=True)
        columns = [part.texts(own) for part, own in split]
        return [list(chain(*row)) for row in zip(*columns, strict=True)]

    def __str__(self) -> str:
        parts = zip(attributes_of(self.alphabet), self.parts, strict=True)
        return " x ".join(f"{name} in {part}" for name, part in parts)


Groups: TypeAlias = Values | Blocks | Sets | RecordGroups


def merged_weights(groups: Groups, weights: ArrayLike) -> FloatArray:
    """Return the sum of the weights of each group, in O(k).

    >>> import freewill as fw
    >>> merged_weights(Blocks(fw.Linear(0, 4), 2, 1), [0.1, 0.2, 0.3, 0.2, 0.2])
    array([0.3, 0.5, 0.2])
    """
    vector = np.asarray(weights, dtype=float)
    if isinstance(groups, Values):
        return vector
    return np.asarray(np.bincount(groups.which, vector, minlength=groups.count))


def checked_plane(alphabet: Alphabet) -> tuple[int, int]:
    """Return the rows and columns in which neighbours lie; without neighbours, an error."""
    if not has_raster(alphabet):
        raise AlphabetError(
            f"the values {alphabet} have no neighbours to be taken together with: expected a "
            f"Linear or a Grid, or sets of values."
        )
    own: Any = alphabet
    return alphabet.plane or (own.rows, own.columns)


def _flat(value: Any) -> tuple[Any, ...]:
    """Return a value's cells: one, its coordinates, or those of all attributes of a record."""
    if not isinstance(value, tuple):
        return (value,)
    return tuple(cell for part in value for cell in _flat(part))


def _word(cell: Any) -> str:
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


REST = "the rest"
"""The name of the set of all values that are in no other."""


def coarser(alphabet: Alphabet, by: Any, rows: int | None = None) -> Groups:
    """Return groups: bins of so many values, districts of columns x rows, or sets of values.

    `by` is a number, or sets that have no value in common: {"young": range(30), ...}, or a list of
    them; of records it may be any of these by attribute: {"age": 10}. Values that are in none are a
    last group, "the rest", so that every person is counted.

    >>> import freewill as fw
    >>> str(coarser(fw.Grid(24, 16, cell=0.5), 12, 8))
    'districts of 12 x 8 cells'
    """
    attributes = attributes_of(alphabet)
    if rows is None and isinstance(by, Mapping) and by and by.keys() <= attributes.keys():
        parts = (
            coarser(own, by[name]) if name in by else Values(own)
            for name, own in attributes.items()
        )
        return RecordGroups(alphabet, tuple(parts))
    if isinstance(by, int | np.integer) and not isinstance(by, bool):
        return _blocks(alphabet, by, rows)
    if rows is not None:
        raise ParameterError(
            f"rows={shown(rows)} beside {shown(by)}: expected coarser(columns, rows), two integers."
        )
    if not isinstance(by, Mapping | list | tuple) or not by:
        raise ParameterError(
            f"by={shown(by)}: expected how many neighbours to take together, or sets of values, as "
            f'{{"young": range(30), "old": range(65, 100)}}.'
        )
    return _sets(alphabet, by)


def _blocks(alphabet: Alphabet, columns: Any, rows: Any) -> Blocks:
    line = len(alphabet.axes) == 1
    plane = checked_plane(alphabet)
    if line and rows is not None:
        raise ParameterError(
            f"rows={shown(rows)} on {alphabet}: values on a line have no rows; "
            f"coarser({shown(columns)}) takes so many of them together."
        )
    columns = checked_length("width" if line else "columns", columns)
    rows = columns if rows is None else checked_length("rows", rows)
    return Blocks(alphabet, min(columns, plane[1]), min(rows, plane[0]))


def _sets(alphabet: Alphabet, by: Any) -> Sets:
    named = isinstance(by, Mapping)
    which = np.full(alphabet.size, -1, dtype=np.int64)
    names: list[str] = []
    for name, members in by.items() if named else ((None, members) for members in by):
        indices = members_of(alphabet, members)
        names.append(_checked_name(name) if named else set_name(alphabet, indices))
        if not indices.size:
            raise ParameterError(f"the group {shown(names[-1])} has no values: give it some.")
        taken = indices[which[indices] >= 0]
        if taken.size:
            (value,) = readable(alphabet, taken[:1])
            raise ParameterError(
                f"{shown(value)} is in two groups, {shown(names[which[taken[0]]])} and "
                f"{shown(names[-1])}: no value may be, for each person counts once."
            )
        which[indices] = len(names) - 1
    if (which < 0).any():
        if REST in names:
            raise ParameterError(
                f"a group is called {shown(REST)}, and values are left that are in none: give it "
                f"another name, or all of them."
            )
        which[which < 0] = len(names)
        names.append(REST)
    return Sets(alphabet, tuple(names), which)


def members_of(alphabet: Alphabet, members: Any) -> IntArray:
    """Return the indices of a set of values, each once, in the alphabet's order."""
    listed = list(members) if isinstance(members, Set) else members
    return np.unique(np.atleast_1d(alphabet.encode(listed)))


def set_name(alphabet: Alphabet, indices: IntArray) -> str:
    """Return a name for a set of values: from..to where they stand in a row, else a few of them.

    >>> import freewill as fw
    >>> set_name(fw.Linear(0, 99), np.arange(18, 25)), set_name(fw.Linear(0, 99), np.array([1, 3]))
    ('18..24', '1 or 3')
    """
    many = len(indices)
    words = [", ".join(text) for text in Values(alphabet).texts(indices[:3])]
    together = len(alphabet.axes) == 1 and alphabet.plane is not None
    if together and many > 1 and indices[-1] - indices[0] == many - 1:
        return f"{words[0]}..{Values(alphabet).texts(indices[-1:])[0][0]}"
    return " or ".join(words) if many <= 3 else f"{words[0]}, {words[1]} or {many - 2:,} more"


def as_groups(alphabet: Alphabet, merged: Any) -> Groups:
    """Return groups as they are, for 1 every value, and for another integer so many neighbours."""
    if isinstance(merged, Groups):
        if merged.alphabet != alphabet:
            raise ParameterError(f"groups of {merged.alphabet}: expected some of {alphabet}.")
        return merged
    side = checked_length("merged", merged)
    return Values(alphabet) if side == 1 else coarser(alphabet, side)


def checked_length(name: str, value: Any) -> int:
    """Return how many neighbours to take together after checking that it is a number of them.

    More than any alphabet has are as many as it has.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ParameterError(f"{name}={shown(value)}: expected an integer >= 1.")
    return min(int(value), LARGEST)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"a group is called {shown(name)}: expected a text.")
    if not is_whole_text(name):
        raise ParameterError(
            f"the name {printable(name)!r} has half of a character, which no table can hold."
        )
    return name
