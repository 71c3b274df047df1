"""Operator of rows of a Hadamard matrix: products by fast Walsh-Hadamard transforms."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.operators.base import Operator, RowNumbers, Structure, numbers_at

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
        doubt = np.flatnonzero(fitted * error < _ROUNDING * theta.sum())
        for some in slices(doubt.size, max(1, _ENTRIES // self.size)):
            fitted[doubt[some]] = self.subset(doubt[some]).dense() @ theta
        return fitted

    def _by_row(self, weights: FloatArray) -> FloatArray:
        """Return the weights, transformed, one number a row of the matrix."""
        return transformed(np.bincount(self.symbols, weights, minlength=self.order).astype(float))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum(base w) + (gain w added up over the outputs that support each value)."""
        rows = self._by_row(self.gain * weights)
        return np.asarray((self.base * weights).sum() + (rows[0] + rows[1 : self.size + 1]) / 2)

    def _squares(self, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return A, B and C with the gram matrix A + B_x + B_x' + C_((x + 1) xor (x' + 1)).

        An entry is mean +- half, by the sign of the matrix; the product of two rows of it is a
        third one.
        """
        half = np.asarray(self.gain) / 2
        mean = self.base + half
        linear = self._by_row(mean * half * weights)
        return float((mean**2 * weights).sum()), linear, self._by_row(half**2 * weights)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the matrix from two transforms, written out in O(k^2)."""
        constant, linear, products = self._squares(weights)
        rows = np.arange(1, self.size + 1)
        gram = products[np.bitwise_xor.outer(rows, rows)]
        gram += np.add.outer(linear[rows], linear[rows])
        gram += constant
        return np.asarray(gram)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return A + 2 B_x + C_0."""
        constant, linear, products = self._squares(weights)
        return np.asarray(constant + products[0] + 2 * linear[1 : self.size + 1])

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
