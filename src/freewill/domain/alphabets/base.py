"""What an alphabet is, what all share, and the two simplest: integers on a line, and labels."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.texts import checked_unit, number, whole, written_json
from freewill.core.types import (
    MATRIX_BYTES,
    VECTOR_BYTES,
    BoolArray,
    FloatArray,
    IntArray,
    Spec,
    array_of,
    refuse_beyond,
)
from freewill.errors import AlphabetError, FreewillError, closest, several, shown

LARGEST = 2**53
"""Up to which doubles tell all integers apart."""


class Inside(NamedTuple):
    """Values that are in an alphabet: their indices, and which of those given they were."""

    indices: IntArray
    kept: BoolArray

    @property
    def dropped(self) -> int:
        """How many values were outside."""
        return int((~self.kept).sum())


class Raster(NamedTuple):
    """Rows and columns in which neighbours lie side by side, and where in them the values are."""

    rows: int
    columns: int
    cells: IntArray
    """row * columns + column of each value; they rise, and not every cell need be a value."""

    def laid_out(self, numbers: Any, empty: float = math.nan) -> FloatArray:
        """Return a number a value as [row, column], with another where no value is."""
        table = np.full(self.rows * self.columns, empty)
        table[self.cells] = numbers
        return table.reshape(self.rows, self.columns)


@runtime_checkable
class Alphabet(Protocol):
    """The finite set of values that a person may have, with a distance.

    What others need to know of its geometry they ask for here, never for the class.

    >>> import freewill as fw
    >>> ages = fw.Linear(20, 24)
    >>> ages.size, ages.encode([22]), ages.decode([2])
    (5, array([2]), array([22]))
    """

    @property
    def size(self) -> int:
        """How many values there are, k."""

    @property
    def plane(self) -> tuple[int, int] | None:
        """(rows, columns) in which neighbours lie side by side: (1, k) on a line, None without."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the columns in which values stand in a table."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts that the values are, by index; empty where values are numbers."""

    @property
    def unit(self) -> str:
        """What distances count, in the singular: km, a year; nothing where it has no name."""

    @property
    def extent(self) -> tuple[tuple[float, float], ...]:
        """From where to where the values reach on each axis, in units of distance."""

    @property
    def reach(self) -> tuple[tuple[float, float], ...]:
        """From where to where the values reach on each of the `axes`, in the units of these."""

    def encode(self, values: Any) -> IntArray:
        """Turn values into indices; a value outside the alphabet is an error."""

    def encode_inside(self, values: Any) -> Inside:
        """Turn values into indices and leave out those outside, telling which and how many."""

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into values."""

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Distance between the values at two (broadcast) arrays of indices."""

    def total_distance(self) -> FloatArray:
        """Sum of the distances from each value to all values, in O(k)."""

    def transport(self, difference: FloatArray) -> float | None:
        """Least mass times distance that evens out theta - other, where a formula gives it."""

    def spec(self) -> Spec:
        """Portable description; `alphabet_from_spec` reads it back."""


def distances(alphabet: Alphabet) -> FloatArray:
    """Return the k x k matrix of distances: for small alphabets.

    O(k^2).

    >>> import freewill as fw
    >>> fw.distances(fw.Linear(0, 2))
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    size = checked_kind(alphabet).size
    what, advice = f"a matrix of {size:,} x {size:,} distances", "Take larger steps or fewer cells."
    refuse_beyond(MATRIX_BYTES, 8 * size * size, what, advice, AlphabetError)
    indices = np.arange(size)
    return alphabet.distance(indices[:, None], indices[None, :])


def checked_kind(alphabet: Any) -> Alphabet:
    """Return an alphabet after checking that it is one."""
    # A class has the attributes, too.
    if isinstance(alphabet, type) or not isinstance(alphabet, Alphabet):
        raise AlphabetError(
            f"alphabet={shown(alphabet)}: expected Linear, Grid, Categorical or Product."
        )
    return alphabet


def refuse_vast(alphabet: Alphabet, error: type[FreewillError] = AlphabetError) -> None:
    """Refuse an alphabet of which a single vector is more than memory should hold.

    >>> import freewill as fw
    >>> refuse_vast(fw.Linear(0, 10**6))
    """
    what = f"a number for each of the {several(alphabet.size, 'value')} of {alphabet}"
    advice = "Take larger steps or fewer cells."
    refuse_beyond(VECTOR_BYTES, 8 * alphabet.size, what, advice, error)


def attributes_of(alphabet: Alphabet) -> Mapping[str, Alphabet]:
    """Return the attributes of which values are records, by name; none of a single question.

    >>> import freewill as fw
    >>> [*attributes_of(fw.Product(age=fw.Linear(0, 9)))], [*attributes_of(fw.Linear(0, 9))]
    (['age'], [])
    """
    attributes: Mapping[str, Alphabet] = getattr(alphabet, "attributes", {})
    return attributes


def headed(columns: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the heads of the columns of several attributes, behind its name where one has more.

    >>> headed([("age", ("value",)), ("home", ("lat", "lon"))])
    ('age', 'home lat', 'home lon')
    """
    return tuple(
        name if len(heads) == 1 else f"{name} {head}" for name, heads in columns for head in heads
    )


def has_distance(alphabet: Alphabet) -> bool:
    """Tell whether values have a distance: records have none where no weights are given.

    >>> import freewill as fw
    >>> has_distance(fw.Linear(0, 9)), has_distance(fw.Product(age=fw.Linear(0, 9)))
    (True, False)
    """
    return not attributes_of(alphabet) or getattr(alphabet, "weights", None) is not None


def raster_of(alphabet: Any) -> Raster | None:
    """Return the rows and columns in which values lie side by side, some of which may be empty.

    `plane` says the same of an alphabet that fills them: here are grids with a mask, too. None
    where values have no neighbours.

    >>> import freewill as fw
    >>> raster_of(fw.Grid(2, 2, cell=1.0, mask=[[True, False], [True, True]]))
    Raster(rows=2, columns=2, cells=array([0, 2, 3]))
    """
    if alphabet.plane is not None:
        refuse_vast(alphabet)
        rows, columns = alphabet.plane
        return Raster(rows, columns, np.arange(alphabet.size))
    raster: Raster | None = getattr(alphabet, "raster", None)
    return raster


def has_raster(alphabet: Any) -> bool:
    """Tell whether values lie side by side, on a line or in a plane."""
    return alphabet.plane is not None or getattr(alphabet, "raster", None) is not None


def is_line(alphabet: Alphabet) -> bool:
    """Tell whether the values lie in a row, so that distances add up along the way."""
    return alphabet.plane is not None and 1 in alphabet.plane


def checked_indices(indices: ArrayLike, size: int, what: str = "index") -> IntArray:
    """Return indices as integers after checking that they lie in 0 .. size-1.

    >>> checked_indices([0, 2], 3)
    array([0, 2])
    """
    array = array_of(indices)
    if array.dtype.kind not in "iu":
        raise AlphabetError(
            f"{what}: got {shown(indices)}, {kind_of(array)}; expected integers from 0 to "
            f"{size - 1}, indices. For values, call report, or the alphabet's encode first."
        )
    if array.size and (array.min() < 0 or array.max() >= size):
        wrong = array[(array < 0) | (array >= size)].flat[0]
        raise AlphabetError(
            f"{what} {wrong} is outside the alphabet: expected 0 to {size - 1}, an index. "
            f"Does it belong to another alphabet? For values, call report, or encode first."
        )
    return array.astype(np.int64, copy=False)


def kind_of(array: NDArray[Any]) -> str:
    """Say what an array holds, in a word that people know.

    >>> kind_of(np.array(["a"])), kind_of(np.array([0.5]))
    ('texts', 'float64')
    """
    return {"U": "texts", "S": "bytes", "O": "objects"}.get(array.dtype.kind, str(array.dtype))


def checked_integer(name: str, value: Any, least: int | None = None) -> int:
    """Return a parameter as an integer after checking that it is one, and not too small.

    >>> checked_integer("columns", 24.0)
    24
    """
    try:
        number = isinstance(value, Real) and not isinstance(value, bool)
        whole = number and int(value) == value
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or (least is not None and value < least):
        wanted = "an integer" if least is None else f"an integer >= {least}"
        raise AlphabetError(f"{name}={shown(value)}: must be {wanted}.")
    return int(value)


_BETWEEN = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
_FINER = 100
"""A coordinate is rounded to less than this part of a cell, so that it stays in its cell."""


def readable(alphabet: Alphabet, indices: ArrayLike) -> list[Any]:
    """Return the values at indices as plain Python: a text, an integer, or a pair of coordinates.

    A cell is given by its centre, in the coordinates that `encode` takes, with no more digits than
    it takes to find the cell again: encoding gives back the indices.

    >>> import freewill as fw
    >>> readable(fw.Linear(1, 100), [40]), readable(fw.Categorical(["yes", "no"]), [1])
    ([41], ['no'])
    >>> city = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
    >>> readable(city, [208])
    [(37.76094, -122.42153)]
    """
    flat = checked_indices(indices, alphabet.size).reshape(-1)
    if alphabet.labels:
        return [alphabet.labels[index] for index in flat.tolist()]
    values = alphabet.decode(flat)
    if values.ndim == 1:
        return [*values.tolist()]
    places = _places(alphabet)
    return [
        tuple(round(number, digits) for number, digits in zip(point, places, strict=True))
        for point in values.tolist()
    ]


def texts(alphabet: Alphabet, indices: ArrayLike) -> list[str]:
    """Return the values at indices as texts; the coordinates of a point stand beside each other.

    >>> import freewill as fw
    >>> texts(fw.Linear(1, 100), [40]), texts(fw.Grid(24, 16, cell=0.5), [25])
    (['41'], ['0.75 0.75'])
    """
    values = readable(alphabet, indices)
    return [
        ", ".join(
            " ".join(map(repr, one)) if isinstance(one, tuple) else str(one) for one in record
        )
        for record in (values if attributes_of(alphabet) else zip(values, strict=True))
    ]


_LONGEST_FLOAT = len(repr(-1.2345678901234567e-300))


def longest_text(alphabet: Alphabet) -> int:
    """Return within how many bytes JSON holds the text of any value; no line or grid is listed.

    >>> import freewill as fw
    >>> longest_text(fw.Linear(-5, 100)), longest_text(fw.Categorical(["yes", "no", "n/ä"]))
    (3, 4)
    """
    parts = attributes_of(alphabet)
    if parts:
        return sum(map(longest_text, parts.values())) + 2 * (len(parts) - 1)
    if alphabet.labels:
        return max(len(written_json(label)) for label in alphabet.labels) - 2
    if alphabet.decode([0]).dtype.kind == "i":
        return max(map(len, texts(alphabet, [0, alphabet.size - 1])))
    return (_LONGEST_FLOAT + 1) * len(alphabet.axes) - 1


def encode_texts(alphabet: Alphabet, written: Sequence[str]) -> Inside:
    """Turn texts into indices and leave out those that are no value, telling which.

    Labels must stand as they are; numbers (`core.texts`) may have spaces around them, and
    the coordinates of a point spaces or a comma between them.

    >>> import freewill as fw
    >>> encode_texts(fw.Linear(1, 100), ["41", "41.0", "x", "101"])
    Inside(indices=array([40, 40]), kept=array([ True,  True, False, False]))
    """
    if alphabet.labels:
        return alphabet.encode_inside(written)
    wide = len(alphabet.axes)
    exact = alphabet.decode([0]).dtype.kind == "i"
    read = [_numbers(text, wide, whole if exact else number) for text in written]
    kept = np.array([numbers is not None for numbers in read], dtype=bool)
    values = np.array([numbers for numbers in read if numbers], np.int64 if exact else np.float64)
    inside = alphabet.encode_inside(values.reshape(-1, wide) if wide > 1 else values.reshape(-1))
    kept[kept] = inside.kept
    return Inside(inside.indices, kept)


def encode_values(alphabet: Alphabet, values: Any) -> tuple[IntArray, bool]:
    """Turn one value, or a list of values, into indices, and tell whether it was one."""
    if attributes_of(alphabet):
        product: Any = alphabet
        alone = product.is_record(values)
    elif alphabet.labels:
        alone = isinstance(values, str)
    else:
        array = array_of(values)
        alone = array.ndim < min(len(alphabet.axes), 2) and array.size > 0
    return alphabet.encode(values), alone


def _numbers(text: str, wide: int, read: Callable[[str], float | None]) -> list[float] | None:
    """Return as many numbers as there are axes, or None."""
    parts = [read(part) for part in _BETWEEN.split(text.strip(" \t"))]
    numbers = [number for number in parts if number is not None]
    return numbers if len(numbers) == len(parts) == wide else None


def _places(alphabet: Alphabet) -> list[int]:
    """Return how many digits after the point keep a point well inside its cell, on each axis."""
    rows, columns = alphabet.plane or getattr(alphabet, "raster", (1, 1))[:2]
    # In a box, north comes first.
    counts = (rows, columns) if alphabet.axes[0] == "lat" else (columns, rows)
    sides = [
        (end - start) / count for (start, end), count in zip(alphabet.reach, counts, strict=True)
    ]
    return [max(0, math.ceil(-math.log10(side / _FINER))) for side in sides]


@dataclass(frozen=True)
class Linear:
    """The integers first, first + step, ..., last; distance is the difference.

    `unit` says what they count, in the singular, so that promises can name it: "year".

    >>> import freewill as fw
    >>> fw.Linear(0, 99).size, fw.Linear(1900, 2000, step=10).encode([1950])
    (100, array([5]))
    >>> print(fw.Linear(0, 99, unit="year"))
    0..99 [year]
    """

    first: int
    last: int
    step: int = 1
    unit: str = ""
    axes: ClassVar[tuple[str, ...]] = ("value",)
    labels: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("first", "last", "step"):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name)))
        object.__setattr__(self, "unit", checked_unit(self.unit, AlphabetError))
        for name, value in (("first", self.first), ("last", self.last)):
            if abs(value) > LARGEST:
                raise AlphabetError(
                    f"{name}={shown(value)}: must be at most 2^53 either way, up to which "
                    f"distances are exact. Use smaller units, or labels."
                )
        if self.step <= 0:
            raise AlphabetError(f"step={shown(self.step)}: must be > 0.")
        if self.last < self.first or (self.last - self.first) % self.step:
            raise AlphabetError(
                f"first={self.first}, last={self.last}, step={shown(self.step)}: "
                f"last must be first plus a whole number of steps."
            )

    @property
    def size(self) -> int:
        """How many integers there are, k."""
        return (self.last - self.first) // self.step + 1

    @property
    def plane(self) -> tuple[int, int]:
        """One row."""
        return 1, self.size

    @property
    def extent(self) -> tuple[tuple[float, float]]:
        """Half a step beyond the first and the last."""
        return ((self.first - self.step / 2, self.last + self.step / 2),)

    reach = extent
    """The same: values are distances from 0."""

    @property
    def positions(self) -> FloatArray:
        """The integers themselves, as floats."""
        refuse_vast(self)
        return self.first + self.step * np.arange(self.size, dtype=np.float64)

    def encode(self, values: Any) -> IntArray:
        """Turn integers into indices."""
        indices, kept = self.encode_inside(values)
        if not kept.all():
            wrong = np.atleast_1d(np.asarray(values))[~kept][0]
            among = "" if self.step == 1 else f" in steps of {self.step}"
            raise AlphabetError(
                f"{wrong} is not in the alphabet ({several(int((~kept).sum()), 'such value')}): "
                f"expected integers from {self.first} to {self.last}{among}."
            )
        return indices

    def encode_inside(self, values: Any) -> Inside:
        """Turn integers into indices and leave out all other numbers."""
        array = np.atleast_1d(array_of(values))
        if array.dtype.kind not in "iuf":
            expected = f"expected integers, from {self.first} to {self.last}."
            raise AlphabetError(f"got {shown(values)}, {kind_of(array)}; {expected}")
        if array.dtype.kind == "f":  # at least doubles, which hold the ends
            array = array.astype(np.result_type(array, np.float64))
        kept = np.asarray((array >= self.first) & (array <= self.last) & (array == np.floor(array)))
        # Integers from here on, and only those that are near: differences neither round nor wrap.
        steps, rest = np.divmod(array[kept].astype(np.int64) - self.first, self.step)
        kept[kept] = rest == 0
        return Inside(steps[rest == 0], kept)

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into integers."""
        return self.first + self.step * checked_indices(indices, self.size)

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return step * |i - j|."""
        gap = np.subtract(first, second, dtype=np.float64)
        return np.asarray(self.step * np.abs(gap))

    def total_distance(self) -> FloatArray:
        """Return step * (i(i+1) + (k-1-i)(k-i)) / 2 for each index i."""
        refuse_vast(self)
        left = np.arange(self.size, dtype=np.float64)
        right = left[::-1]
        return np.asarray(self.step * (left * (left + 1) + right * (right + 1)) / 2)

    def transport(self, difference: FloatArray) -> float:
        """Return the sum of |cumulative differences| times the step: what crosses each gap."""
        return float(self.step * np.abs(np.cumsum(difference)[:-1]).sum())

    def spec(self) -> Spec:
        """Portable description."""
        # A line without a unit is described as it was before lines had any: ids stay.
        unit = {"unit": self.unit} if self.unit else {}
        return {"kind": "linear", "first": self.first, "last": self.last, "step": self.step, **unit}

    def __repr__(self) -> str:
        unit = f", unit={self.unit!r}" if self.unit else ""
        return f"Linear(first={self.first}, last={self.last}, step={self.step}{unit})"

    def __str__(self) -> str:
        by = "" if self.step == 1 else f" by {self.step}"
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{self.first}..{self.last}{by}{unit}"


@dataclass(frozen=True)
class Categorical:
    """Labels without an order; two different labels are at distance 1.

    >>> import freewill as fw
    >>> menu = fw.Categorical(["yes", "no", "won't say"])
    >>> menu.encode(["no", "yes"])
    array([1, 0])
    """

    labels: tuple[str, ...]
    plane: ClassVar[None] = None
    axes: ClassVar[tuple[str, ...]] = ("value",)
    unit: ClassVar[str] = ""
    extent: ClassVar[tuple[()]] = ()
    reach: ClassVar[tuple[()]] = ()

    def __init__(self, labels: Iterable[str]) -> None:
        # A set would have another order, hence other indices, on another machine.
        if isinstance(labels, str | bytes | Mapping | Set) or not isinstance(labels, Iterable):
            raise AlphabetError(f"labels={shown(labels)}: expected a list of texts, in order.")
        try:
            labels = tuple(labels)
        except TypeError:  # an array without an axis
            raise AlphabetError(f"labels={shown(labels)}: expected a list of texts.") from None
        if not labels:
            raise AlphabetError("labels=[]: an alphabet needs at least one value.")
        seen: set[str] = set()
        for label in labels:
            if not isinstance(label, str):
                raise AlphabetError(
                    f"label {shown(label)}: labels are texts. For numbers, use Linear."
                )
            if label in seen:
                raise AlphabetError(f"label {shown(label)} stands twice: labels must differ.")
            seen.add(label)
        try:
            "".join(labels).encode()
        except UnicodeEncodeError as error:
            half = f"{error.object[error.start]!a}, half of a character"
            message = f"a label has {half}, which no file can hold. Write the whole one."
            raise AlphabetError(message) from None
        object.__setattr__(self, "labels", labels)

    @property
    def size(self) -> int:
        """How many labels there are, k."""
        return len(self.labels)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels)}

    def encode(self, values: Any) -> IntArray:
        """Turn labels into indices."""
        try:
            values = [values] if isinstance(values, str | bytes) else list(values)
        except TypeError:  # one value, and no list of them
            values = [values]
        indices, kept = self.encode_inside(values)
        if not kept.all():
            some = ", ".join(map(shown, self.labels[:5])) + (", ..." if self.size > 5 else "")
            wrong = values[int(np.argmin(kept))]
            expected = f"expected one of {some}.{closest(wrong, self.labels[:1000])}"
            raise AlphabetError(f"{shown(wrong)} is not in the alphabet: {expected}")
        return indices

    def encode_inside(self, values: Iterable[Any]) -> Inside:
        """Turn labels into indices and leave out those that are no labels of this alphabet."""
        try:
            given = iter(values)
        except TypeError:
            raise AlphabetError(f"values={shown(values)}: expected a list of labels.") from None
        texts = (value if isinstance(value, str) else None for value in given)
        # No label is None.
        index: dict[Any, int] = self._index
        indices = np.fromiter((index.get(text, -1) for text in texts), dtype=np.int64)
        return Inside(indices[indices >= 0], np.asarray(indices >= 0))

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into labels."""
        return np.array(self.labels)[checked_indices(indices, self.size)]

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return 0 for the same label and 1 for any other."""
        return np.asarray(np.asarray(first) != np.asarray(second), dtype=np.float64)

    def total_distance(self) -> FloatArray:
        """Return k - 1 for every label."""
        return np.full(self.size, self.size - 1.0)

    def transport(self, difference: FloatArray) -> float:
        """Return the total variation: every label is at distance 1 from every other."""
        return float(np.abs(difference).sum() / 2)

    def spec(self) -> Spec:
        """Portable description."""
        return {"kind": "categorical", "labels": list(self.labels)}

    def __str__(self) -> str:
        return several(self.size, "label")


def checked_alphabet(alphabet: Any, kind: type[Any], name: str, least: int = 2) -> None:
    """Check that an alphabet is of the kind a mechanism works on and has enough values."""
    # A class has what a protocol asks for, too.
    if isinstance(alphabet, type) or not isinstance(alphabet, kind):
        names = {"Linear": "a Linear alphabet", "Grid": "a Grid"}
        wanted = names.get(kind.__name__, "an alphabet")
        raise AlphabetError(f"{name} on {shown(alphabet)}: expected {wanted}.")
    if alphabet.size < least:
        raise AlphabetError(f"{name} on an alphabet of one value: it needs at least {least}.")


def check_plane(grid: Any, name: str) -> None:
    """Refuse a grid of a single row or column."""
    if min(grid.columns, grid.rows) < 2:
        raise AlphabetError(
            f"{name} on {grid}: it needs at least 2 columns and 2 rows. For a single row, use "
            f"Geometric on a Linear alphabet."
        )
