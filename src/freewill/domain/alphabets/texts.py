"""Values as people read and write them: labels, integers, points with the digits it takes."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.texts import number, whole
from freewill.core.types import IntArray
from freewill.domain.alphabets.base import Alphabet, Inside, checked_indices

_SPACES = " \t"
_BETWEEN = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
_FINER = 100
"""A coordinate is rounded to less than this part of a cell, so that it stays in its cell."""


def readable(alphabet: Alphabet, indices: ArrayLike) -> list[Any]:
    """Return the values at indices as plain Python: a text, an integer, or a pair of coordinates.

    A cell is told by its centre, in the coordinates that `encode` takes, with no more digits than
    it takes to find the cell again: encoding gives back the indices.

    >>> import freewill as fw
    >>> readable(fw.Linear(1, 100), [40]), readable(fw.Categorical(["yes", "no"]), [1])
    ([41], ['no'])
    >>> city = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
    >>> readable(city, [208])
    [(37.76094, -122.42153)]
    """
    found = checked_indices(indices, alphabet.size).reshape(-1)
    if alphabet.labels:
        return [alphabet.labels[index] for index in found.tolist()]
    values = alphabet.decode(found)
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
    return [
        " ".join(map(repr, value)) if isinstance(value, tuple) else str(value)
        for value in readable(alphabet, indices)
    ]


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
    kept = np.array([found is not None for found in read], dtype=bool)
    values = np.array([found for found in read if found], np.int64 if exact else np.float64)
    inside = alphabet.encode_inside(values.reshape(-1, wide) if wide > 1 else values.reshape(-1))
    kept[kept] = inside.kept
    return Inside(inside.indices, kept)


def encode_values(alphabet: Alphabet, values: Any) -> tuple[IntArray, bool]:
    """Turn one value, or a list of values, into indices, and tell whether it was one."""
    if alphabet.labels:
        alone = isinstance(values, str)
    else:
        alone = _depth(values) < (2 if len(alphabet.axes) > 1 else 1) and _length(values) != 0
    return alphabet.encode(values), alone


def _depth(values: Any) -> int:
    try:
        return int(np.ndim(values))
    except (TypeError, ValueError, RecursionError):
        return 1  # uneven lists, which `encode` refuses


def _length(values: Any) -> int:
    return len(values) if hasattr(values, "__len__") and _depth(values) else 1


def _numbers(text: str, wide: int, read: Callable[[str], float | None]) -> list[float] | None:
    """Return as many numbers as there are axes, or None."""
    found = [read(part) for part in _BETWEEN.split(text.strip(_SPACES))]
    numbers = [number for number in found if number is not None]
    return numbers if len(numbers) == len(found) == wide else None


def _places(alphabet: Alphabet) -> list[int]:
    """Return how many digits after the point keep a point well inside its cell, on each axis."""
    rows, columns = alphabet.plane or (1, 1)
    # In a box, north comes first.
    counts = (rows, columns) if alphabet.axes[0] == "lat" else (columns, rows)
    sides = [
        (end - start) / count for (start, end), count in zip(alphabet.reach, counts, strict=True)
    ]
    return [max(0, math.ceil(-math.log10(side / _FINER))) for side in sides]
