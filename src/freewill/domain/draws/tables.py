"""A draw from a table of whole-number weights: each index has exactly its share."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray
from freewill.domain.draws.sources import GeneratorBytes, Source

_WORD = 64


def whole_weights(row: FloatArray) -> list[int]:
    """Return doubles as whole numbers in the same proportions, exactly.

    >>> whole_weights(np.array([0.5, 0.25, 0.0])), whole_weights(np.array([5e-324, 1e-323]))
    ([2, 1, 0], [1, 2])
    """
    ratios = [number.as_integer_ratio() for number in row.tolist()]
    largest = max((below for above, below in ratios if above), default=1)
    whole = [above * (largest // below) if above else 0 for above, below in ratios]
    # How often 2 divides all of them: what their lowest set bits have in common.
    shared = min((weight & -weight for weight in whole if weight), default=1).bit_length() - 1
    return [weight >> shared for weight in whole]


@dataclass(frozen=True)
class Table:
    """Indices, each to be drawn with probability weight / sum of all weights.

    >>> np.bincount(Table.of([0, 3, 1]).many(4000, np.random.default_rng(1)))
    array([   0, 2996, 1004])
    """

    cumulative: tuple[int, ...]

    @classmethod
    def of(cls, weights: Iterable[int]) -> "Table":
        """Add up whole numbers >= 0, not all 0."""
        return cls(tuple(accumulate(weights)))

    @cached_property
    def _only(self) -> int | None:
        """The index that has all the weight, if one has."""
        last = bisect_right(self.cumulative, self.cumulative[-1] - 1)
        first = bisect_right(self.cumulative, 0)
        return first if first == last else None

    def draw(self, source: Source) -> int:
        """Draw one index from as few bytes as decide it.

        V, of the bits that the sum S minus 1 has, is read from the top, a byte at a time, until the
        numbers that it may still become all belong to one index, or are all beyond S: then anew.
        """
        if self._only is not None:
            return self._only
        cumulative, total = self.cumulative, self.cumulative[-1]
        bits = (total - 1).bit_length()
        first = (bits - 1) % 8 + 1
        while True:
            value = source.byte() & ((1 << first) - 1)
            left = bits - first
            while value << left < total:
                index = bisect_right(cumulative, value << left)
                if (value + 1) << left <= cumulative[index]:
                    return index
                value, left = value << 8 | source.byte(), left - 8

    def many(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw independent indices: the first 64 bits of U decide, unless they are a threshold's.

        U < C_z / S is certain where the first 64 bits of U are less than those of C_z / S, and
        certainly not where they are more. Where they are equal, once in 2^64 / k draws, U is drawn
        on and compared exactly.
        """
        words = rng.integers(0, 2**_WORD, size=count, dtype=np.uint64)
        indices = np.searchsorted(self._thresholds, words, side="right")
        tied = self._thresholds[np.maximum(indices, 1) - 1] == words
        for place in np.flatnonzero(tied & (indices > 0)).tolist():
            indices[place] = self.refined(int(words[place]), GeneratorBytes(rng))
        return indices

    @cached_property
    def _thresholds(self) -> NDArray[np.uint64]:
        """The first 64 bits of all C_z / S below 1."""
        total = self.cumulative[-1]
        firsts = [(sum_ << _WORD) // total for sum_ in self.cumulative if sum_ < total]
        # Without any, one that nothing reaches.
        return np.array(firsts or [2**_WORD - 1], dtype=np.uint64)

    def refined(self, word: int, source: Source) -> int:
        """Return the index that U leads to, whose first 64 bits are given, and the rest drawn."""
        total, bits = self.cumulative[-1], _WORD
        while True:
            index = bisect_right(self.cumulative, word * total >> bits)
            if (word + 1) * total <= self.cumulative[index] << bits:
                return index
            word, bits = word << 8 | source.byte(), bits + 8


class Tables:
    """The rows of a matrix of chances, each a table that is made when it is first drawn from.

    >>> tables = Tables(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> tables.many(np.array([0, 1, 0]), np.random.default_rng(1))
    array([1, 0, 1])
    """

    def __init__(self, matrix: FloatArray) -> None:
        self._matrix = matrix
        self._made: dict[int, Table] = {}

    def __getitem__(self, row: int) -> Table:
        """Return the table of a row."""
        if row not in self._made:
            self._made[row] = Table.of(whole_weights(self._matrix[row]))
        return self._made[row]

    def many(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw an index from each of these rows, row by row."""
        drawn = np.empty(rows.size, dtype=np.int64)
        order = np.argsort(rows, axis=None, kind="stable")
        present, starts = np.unique(rows.ravel()[order], return_index=True)
        for row, places in zip(present.tolist(), np.split(order, starts)[1:], strict=True):
            drawn[places] = self[row].many(places.size, rng)
        return drawn.reshape(rows.shape)
