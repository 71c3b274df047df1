"""Operator of blocks of Hadamard matrices: products by fast Walsh-Hadamard transforms."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.operators.base import Map, Operator, RowNumbers, Structure, numbers_at

_BITS = 5
"""Bits of an index that one matrix product transforms: with 32 x 32 entries BLAS is fastest."""
_ROUNDING = 1e-15
"""Of a transform, in terms of the sum of what it transforms."""
_CANCELS = 1e-6
"""A base below which what is left of a sum may be next to nothing beside it."""
_ENTRIES = 1 << 22
"""Of rows that are summed directly in one go."""


@lru_cache(maxsize=8)
def _matrix(bits: int) -> FloatArray:
    """Return the Sylvester matrix of order 2^bits."""
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def transformed(vector: FloatArray, blocks: int = 1) -> FloatArray:
    """Return the sums of (-1)^popcount(x & y) v_x over x of each block: O(K log b).

    `blocks` pieces of one length b = 2^m make up the K numbers. Five bits of the index at a time,
    by a product with a matrix of order 32; the transpose then brings the next five bits to the end,
    and all are back in their places in the end.

    >>> transformed(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    >>> transformed(np.array([1.0, 2.0, 3.0, 4.0]), blocks=2)
    array([ 3., -1.,  7., -1.])
    """
    order = vector.size // blocks
    left = order.bit_length() - 1
    while left > 0:
        bits = min(_BITS, left)
        pieces = vector.reshape(blocks, -1, 1 << bits)
        vector = (_matrix(bits) @ pieces.transpose(0, 2, 1)).ravel()
        left -= bits
    return vector


def rows_of(values: IntArray, blocks: int) -> tuple[IntArray, IntArray]:
    """Return the block of each value, and its row of that block's matrix: x % B, and x // B + 1.

    So no block has two values more than another. Row 0, which is +1 throughout, is nobody's.

    >>> rows_of(np.arange(5), blocks=2)
    (array([0, 1, 0, 1, 0]), array([1, 1, 2, 2, 3]))
    """
    above, block = np.divmod(values, blocks)
    return block, above + 1


def even(rows: IntArray, columns: IntArray) -> BoolArray:
    """Say where the entries of the Sylvester matrix are +1: an even number of common bits.

    >>> even(np.array([3]), np.array([0, 1, 3]))
    array([ True, False,  True])
    """
    return np.asarray(np.bitwise_count(np.bitwise_and(rows, columns)) & 1 == 0)


def supported(symbols: IntArray, values: IntArray, order: int, blocks: int) -> BoolArray:
    """Say which values each symbol supports, [symbol, value].

    >>> supported(np.array([0, 3, 5]), np.arange(3), order=4, blocks=2).astype(int)
    array([[1, 0, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    block, row = rows_of(values, blocks)
    places, columns = np.divmod(symbols[:, None], order)
    return np.asarray((places == block) & even(row, columns))


@dataclass(frozen=True, eq=False)
class HadamardOperator(Operator):
    """Each output is a symbol y of one of B blocks, and supports values of that block.

    P(y | x) = exp(log_scale[y]) * (base + gain * [x in S_y]). Value x has row i = x // B + 1 of the
    Sylvester matrix of order b of block x % B, and S_y = {x of y's block : popcount(i & y % b) is
    even}; base and gain are one number, or one a row. Products cost O(K log b), K = B b, and are
    accurate in terms of the largest entry, as those of an FFT are: where `base` is next to 0,
    `forward_within` sums directly what little is left.
    """

    symbols: IntArray
    order: int
    blocks: int
    size: int
    base: RowNumbers
    gain: RowNumbers
    log_scale: FloatArray
    structure: ClassVar[Structure] = "hadamard"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.symbols.size, self.size

    @property
    def exact(self) -> bool:
        """Whether nothing cancels: what is left is at least the base."""
        return bool(np.min(self.base, initial=1.0) > _CANCELS)

    @cached_property
    def _places(self) -> "IntArray | slice":
        """Where values stand among all rows of all matrices."""
        if self.blocks == 1:
            return slice(1, self.size + 1)
        block, row = rows_of(np.arange(self.size), self.blocks)
        return np.asarray(block * self.order + row)

    def _within(self, theta: FloatArray) -> FloatArray:
        """Return the sum of theta over the support of every symbol, one transform."""
        padded = np.zeros(self.blocks * self.order)
        padded[self._places] = theta
        signed = transformed(padded, self.blocks).reshape(self.blocks, -1)
        # Column 0 is +1 throughout: it has the sum of the block.
        return np.asarray((signed + signed[:, :1]).ravel() / 2)

    def _supported(self, by_symbol: FloatArray) -> FloatArray:
        """Return the sum over the symbols that support each value, one transform."""
        signed = transformed(by_symbol, self.blocks).reshape(self.blocks, -1)
        return np.asarray((signed + signed[:, :1]).ravel()[self._places] / 2)

    def _by_symbol(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs that are each symbol."""
        added = np.bincount(self.symbols, weights, minlength=self.blocks * self.order)
        return added.astype(float, copy=False)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return base * sum(theta) + gain * (sum of theta over the support)."""
        return np.asarray(self.base * theta.sum() + self.gain * self._within(theta)[self.symbols])

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return that for theta >= 0, each number within this relative error."""
        fitted = self.forward(theta)
        if self.exact:
            return fitted
        doubt = np.flatnonzero(fitted * error < _ROUNDING * theta.sum())
        for some in slices(doubt.size, max(1, _ENTRIES // self.size)):
            fitted[doubt[some]] = self.subset(doubt[some]).dense() @ theta
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum(base w) + (gain w added up over the outputs that support each value)."""
        constant = (self.base * weights).sum()
        return np.asarray(constant + self._supported(self._by_symbol(self.gain * weights)))

    def _squares(self, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return what squares of entries are made of: sum(base^2 w), base gain w, gain^2 w.

        The two latter are added up by symbol.
        """
        base, gain = self.base, np.asarray(self.gain)
        linear, square = (self._by_symbol(each * gain * weights) for each in (base, gain))
        return float((np.square(base) * weights).sum()), linear, square

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return A + 2 B_x + C_xx."""
        constant, linear, square = self._squares(weights)
        return np.asarray(constant + self._supported(2 * linear + square))

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the product by two transforms, without looking at single outputs."""
        constant, linear, square = self._squares(weights)

        def product(vector: FloatArray) -> FloatArray:
            total, within = vector.sum(), self._within(vector)
            level = constant * total + linear @ within
            return np.asarray(level + self._supported(linear * total + square * within))

        return product

    def subset(self, places: IntArray) -> "HadamardOperator":
        """Return the law of some of the outputs."""
        base, gain = numbers_at(self.base, places), numbers_at(self.gain, places)
        symbols, scale = self.symbols[places], self.log_scale[places]
        return HadamardOperator(symbols, self.order, self.blocks, self.size, base, gain, scale)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        values = np.arange(self.size) if columns is None else columns
        within = supported(self.symbols, values, self.order, self.blocks)
        return np.asarray(np.reshape(self.base, (-1, 1)) + np.reshape(self.gain, (-1, 1)) * within)
