"""Operator of rows of a Hadamard matrix: products by fast Walsh-Hadamard transforms."""

from dataclasses import dataclass
from functools import lru_cache
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


def transformed(vector: FloatArray) -> FloatArray:
    """Return the sums of (-1)^popcount(x & y) v_x over x, for a length K = 2^m: O(K log K).

    Five bits of the index at a time, by a product with a matrix of order 32; the transpose then
    brings the next five bits to the end, and all are back in their places in the end.

    >>> transformed(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    left = vector.size.bit_length() - 1
    while left > 0:
        bits = min(_BITS, left)
        vector = (_matrix(bits) @ vector.reshape(-1, 1 << bits).T).ravel()
        left -= bits
    return vector


def even(rows: IntArray, columns: IntArray) -> BoolArray:
    """Say where the entries of the Sylvester matrix are +1: an even number of common bits.

    >>> even(np.array([3]), np.array([0, 1, 3]))
    array([ True, False,  True])
    """
    return np.asarray(np.bitwise_count(np.bitwise_and(rows, columns)) & 1 == 0)


@dataclass(frozen=True, eq=False)
class HadamardOperator(Operator):
    """Each output y is a symbol; its support the values x whose row x + 1 is +1 in column y.

    P(y | x) = exp(log_scale[y]) * (base + gain * [x in S_y]), S_y = {x : popcount((x + 1) & y) is
    even}; base and gain are one number, or one a row. Products cost O(K log K), K = `order`, and
    are accurate in terms of the largest entry, as those of an FFT are: where `base` is next to 0,
    `forward_within` sums directly what little is left.
    """

    symbols: IntArray
    order: int
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

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return base * sum(theta) + gain * (sum of theta over the support)."""
        padded = np.zeros(self.order)
        padded[1 : self.size + 1] = theta
        total = theta.sum()
        within = (total + transformed(padded)[self.symbols]) / 2
        return np.asarray(self.base * total + self.gain * within)

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return that for theta >= 0, each number within this relative error."""
        fitted = self.forward(theta)
        if self.exact:
            return fitted
        doubt = np.flatnonzero(fitted * error < _ROUNDING * theta.sum())
        for some in slices(doubt.size, max(1, _ENTRIES // self.size)):
            fitted[doubt[some]] = self.subset(doubt[some]).dense() @ theta
        return fitted

    def _by_symbol(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs that are each symbol."""
        return np.bincount(self.symbols, weights, minlength=self.order).astype(float, copy=False)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum(base w) + (gain w added up over the outputs that support each value)."""
        rows = transformed(self._by_symbol(self.gain * weights))
        return np.asarray((self.base * weights).sum() + (rows[0] + rows[1 : self.size + 1]) / 2)

    def _squares(self, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return what the squares of entries are made of: sum(m^2 w), m h w and h^2 w by symbol.

        An entry is m + h or m - h, by the sign of the matrix.
        """
        half = np.asarray(self.gain) / 2
        mean = self.base + half
        linear, square = (self._by_symbol(each * half * weights) for each in (mean, half))
        return float((mean**2 * weights).sum()), linear, square

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return A + B_x + B_x' + C_((x + 1) xor (x' + 1)), in O(k^2).

        B and C are two transforms: the product of two rows of the matrix is a third one.
        """
        constant, *by_symbol = self._squares(weights)
        linear, products = map(transformed, by_symbol)
        rows = np.arange(1, self.size + 1)
        gram = products[np.bitwise_xor.outer(rows, rows)]
        gram += np.add.outer(linear[rows], linear[rows])
        gram += constant
        return np.asarray(gram)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return A + 2 B_x + C_0."""
        constant, linear, square = self._squares(weights)
        rows = transformed(linear)[1 : self.size + 1]
        return np.asarray(constant + square.sum() + 2 * rows)

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the product by two transforms, without looking at single outputs."""
        constant, linear, square = self._squares(weights)

        def product(vector: FloatArray) -> FloatArray:
            total, padded = vector.sum(), np.zeros(self.order)
            padded[1 : self.size + 1] = vector
            signed = transformed(padded)
            level = constant * total + linear @ signed
            return np.asarray(
                level + transformed(linear * total + square * signed)[1 : self.size + 1]
            )

        return product

    def subset(self, places: IntArray) -> "HadamardOperator":
        """Return the law of some of the outputs."""
        base, gain = numbers_at(self.base, places), numbers_at(self.gain, places)
        symbols, scale = self.symbols[places], self.log_scale[places]
        return HadamardOperator(symbols, self.order, self.size, base, gain, scale)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        values = np.arange(self.size) if columns is None else columns
        within = even(self.symbols[:, None], values + 1)
        return np.asarray(np.reshape(self.base, (-1, 1)) + np.reshape(self.gain, (-1, 1)) * within)
