"""Operators of reports whose rows are made from something smaller, block by block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import (
    DenseOperator,
    Guess,
    Map,
    Operator,
    StackOperator,
    Structure,
    Sums,
    chosen_rows,
)
from freewill.numeric.operators.support import BitOperator, near_gram_map

Make = Callable[[Any], Any]
"""Makes the law of some rows, bits or an array: a slice, or their places."""
HELD_BITS = 1 << 31
"""Bits, 256 MB of them, up to which all rows are made at once, and kept."""
_BLOCK_BITS = 1 << 27
"""Bits of a block of rows."""
HELD_NUMBERS, _HELD_PRODUCTS = 1 << 22, 1 << 24
"""Numbers, 32 MB of them, up to which rows that are arrays are made at once, and kept; 128 MB of
products of rows, which take longer."""
_BLOCK_NUMBERS = 1 << 19
"""Numbers of a block of such rows, 4 MB."""


def bits_of(make: Make, rows: int, size: int) -> "BitOperator | BlockOperator":
    """Return all rows at once where they take little memory, else block by block."""
    if rows * size <= HELD_BITS:
        return make(slice(None))  # type: ignore[no-any-return]
    return BlockOperator(_Blocks(make, rows, max(1, _BLOCK_BITS // size)), rows, size)


@dataclass(frozen=True)
class _Blocks(Sequence[Any]):
    """Blocks of rows, each made when it is asked for."""

    make: Make
    rows: int
    each: int

    def __len__(self) -> int:
        return (self.rows + self.each - 1) // self.each

    def __getitem__(self, number: Any) -> Any:
        some = list(slices(self.rows, self.each))[number]
        return list(map(self.make, some)) if isinstance(some, list) else self.make(some)


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

    def _pieces(self, weights: FloatArray) -> Iterator[tuple[Any, FloatArray]]:
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
        each = (part.sums(theta, some, stride) for part, some in self._pieces(weights))
        return sum(each, Sums.nothing(self.size, stride))

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        return np.concatenate([part.log_dense() for part in self.parts])

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


class ReportRows(DenseOperator):
    """Rows of reports that hardly repeat, as an array: H may be taken from some of them."""

    structure: ClassVar[Structure] = "bits"

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H from about one row in `stride`."""

        def sampled(curvature: FloatArray) -> FloatArray:
            if stride == 1 or not curvature.size:
                return self.gram(curvature)
            squares = self.rows * self.rows
            diagonal = curvature @ squares
            leverage = curvature * (squares @ (1 / np.maximum(diagonal, 1e-12 * diagonal.max())))
            chosen, heavier = chosen_rows(curvature, leverage, stride)
            return self.subset(chosen).gram(heavier)

        gram = sampled if stride else None
        return Sums.of(theta.size, self.forward(theta), weights, self.adjoint, gram)


@dataclass(frozen=True, eq=False)
class RowBlocks(BlockOperator):
    """A stack of blocks of `ReportRows`, of which no two are in memory at a time."""

    def by_bit(self, weights: FloatArray) -> None:  # type: ignore[override]
        """Return nothing: no bit stands for a value alone."""

    def guess(self, weights: FloatArray, ones: FloatArray | None = None) -> None:  # type: ignore[override]
        """Return nothing, for the same reason."""

    def subset(self, places: IntArray) -> "ReportRows | RowBlocks":  # type: ignore[override]
        """Return the law of some of the outputs."""
        return rows_of(lambda some: self.parts.make(places[some]), places.size, self.size)


def rows_of(
    make: Make, rows: int, size: int, beside: int = 0, held: int | None = None
) -> ReportRows | RowBlocks:
    """Return all rows as an array where it is small, else block by block, each made when needed.

    A product then costs what it takes to make the rows, 4 MB of them at a time; `beside` is how
    many numbers a row is made from, if these are more than the values, `held` how many are small.

    >>> law = rows_of(lambda some: ReportRows(np.eye(3)[some]), 3, 3)
    >>> law.forward(np.array([0.5, 0.25, 0.25])), law.structure
    (array([0.5 , 0.25, 0.25]), 'bits')
    """
    widest = max(size, beside)
    if rows * widest <= (held or HELD_NUMBERS):
        return make(slice(None))  # type: ignore[no-any-return]
    return RowBlocks(_Blocks(make, rows, max(1, _BLOCK_NUMBERS // widest)), rows, size)


def product_rows(
    factors: Sequence[Operator], which: Sequence[IntArray]
) -> DenseOperator | RowBlocks:
    """Return the law of several independent reports of one value: products of laws by entry.

    Row j is the product of the rows `which[i][j]` of the factors, of which each is made once a
    block. Logarithms are added and the largest of a row taken off before it is made: two reports
    that contradict each other at an epsilon of 700 leave numbers near 1, where the product of their
    rows has only zeros.

    >>> coin = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> both = product_rows((coin, coin), (np.array([0, 0]), np.array([0, 1])))
    >>> np.exp(both.log_dense())
    array([[0.5625, 0.0625],
           [0.1875, 0.1875]])
    """
    size = factors[0].shape[1]

    # Where no part is bits, rows are of outputs that repeat, and as many as these.
    kind = ReportRows if any(factor.structure == "bits" for factor in factors) else DenseOperator

    def make(some: Any) -> DenseOperator:
        logs = np.zeros((which[0][some].size, size))
        for factor, own in zip(factors, which, strict=True):
            places, again = np.unique(own[some], return_inverse=True)
            logs += factor.subset(places).log_dense()[again]
        return kind.of_logs(logs)

    return rows_of(make, which[0].size, size, held=_HELD_PRODUCTS)
