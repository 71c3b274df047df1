"""Operator of bit reports whose bits are made from something smaller, block by block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Guess, Map, StackOperator, Structure, Sums
from freewill.numeric.operators.support import BitOperator, near_gram_map

Make = Callable[[Any], BitOperator]
"""Makes the law of some rows: a slice, or their places."""
HELD_BITS = 1 << 31
"""Bits, 256 MB of them, up to which all rows are made at once, and kept."""
_BLOCK_BITS = 1 << 27
"""Bits of a block of rows."""


def bits_of(make: Make, rows: int, size: int) -> "BitOperator | BlockOperator":
    """Return all rows at once where they take little memory, else block by block."""
    if rows * size <= HELD_BITS:
        return make(slice(None))
    return BlockOperator(_Blocks(make, rows, max(1, _BLOCK_BITS // size)), rows, size)


@dataclass(frozen=True)
class _Blocks(Sequence[BitOperator]):
    """Blocks of rows, each made when it is asked for."""

    make: Make
    rows: int
    each: int

    def __len__(self) -> int:
        return (self.rows + self.each - 1) // self.each

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.make(slice(number * self.each, min(self.rows, (number + 1) * self.each)))


@dataclass(frozen=True, eq=False)
class BlockOperator(StackOperator):
    """A stack of blocks of bits, of which no two are in memory at a time.

    Every product makes them anew.
    """

    parts: _Blocks
    rows: int
    size: int
    structure: ClassVar[Structure] = "bits"

    def __post_init__(self) -> None:
        """Make nothing yet."""

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.rows, self.size

    @cached_property
    def _ends(self) -> IntArray:
        return np.minimum(np.arange(1, len(self.parts) + 1) * self.parts.each, self.rows)

    def _pieces(self, weights: FloatArray) -> Iterator[tuple[BitOperator, FloatArray]]:
        return zip(self.parts, self.split(weights), strict=True)

    @property
    def ones(self) -> IntArray:
        """How many bits are set in each output."""
        return np.concatenate([part.ones for part in self.parts])

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the (near) product; blocks are made anew for each vector."""
        if near:
            return near_gram_map(self, weights)
        return lambda vector: np.asarray(
            sum(part.gram_map(piece)(vector) for part, piece in self._pieces(weights))
        )

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return the sum of what the blocks give."""
        return reduce(add, (part.sums(theta, some, stride) for part, some in self._pieces(weights)))

    def by_bit(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs in which each bit is set."""
        return self._sum("by_bit", weights)

    def guess(self, weights: FloatArray, ones: FloatArray | None = None) -> Guess:
        """Return the sum of the blocks' guesses."""
        guesses = [part.guess(some) for part, some in self._pieces(weights)]
        total = np.sum([guess.total for guess in guesses], axis=0)
        return Guess(total, sum(guess.precision for guess in guesses))

    def subset(self, places: IntArray) -> "BitOperator | BlockOperator":  # type: ignore[override]
        """Return the law of some of the outputs."""
        return bits_of(lambda some: self.parts.make(places[some]), places.size, self.size)
