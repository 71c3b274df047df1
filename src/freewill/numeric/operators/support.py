"""Operators of the form base + gain * [x in S_y]: k-RR, no privacy, and all bit reports."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, PackedBits
from freewill.numeric.operators.base import Guess, LineTerms, Map, Products, Structure
from freewill.numeric.operators.bit_products import bit_sums, row_sums, unpacked, unpacked_blocks
from freewill.numeric.operators.kernel import Sums, kernel

_GRAM_ENTRIES = 1 << 20
"""Entries of an unpacked block for a matrix product, which then runs at full speed."""


@dataclass(frozen=True, eq=False)
class SymbolOperator(Products):
    """Each output is a symbol and its support is that symbol alone; products in O(k + outputs).

    P(y | x) = exp(log_scale[y]) * (base + gain * [x = y]).
    """

    symbols: IntArray
    size: int
    base: float
    gain: float
    log_scale: FloatArray
    structure: ClassVar[Structure] = "symbols"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.symbols.size, self.size

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return base * sum(theta) + gain * theta[y]."""
        return np.asarray(self.base * theta.sum() + self.gain * theta[self.symbols])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return base * sum(w) + gain * (weights added up by symbol)."""
        return np.asarray(self.base * weights.sum() + self.gain * self.by_symbol(weights))

    def by_symbol(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs that are each symbol."""
        return np.bincount(self.symbols, weights, minlength=self.size).astype(
            np.float64, copy=False
        )

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return a diagonal plus rank two, written out in O(k^2)."""
        own = self.base * self.gain * self.by_symbol(weights)
        gram = np.add.outer(own, own)
        gram += self.base**2 * weights.sum()
        gram[np.diag_indices(self.size)] += self.gain**2 * self.by_symbol(weights)
        return np.asarray(gram)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return base^2 sum(w) + gain (2 base + gain) (weights added up by symbol)."""
        extra = self.gain * (2 * self.base + self.gain)
        return np.asarray(self.base**2 * weights.sum() + extra * self.by_symbol(weights))

    def subset(self, places: IntArray) -> "SymbolOperator":
        """Return the law of some of the outputs."""
        return replace(self, symbols=self.symbols[places], log_scale=self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        if columns is not None:
            return self.base + self.gain * self._member(columns)
        rows = np.full(self.shape, self.base)
        rows[np.arange(self.symbols.size), self.symbols] += self.gain
        return rows

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        with np.errstate(divide="ignore"):
            levels = np.log([self.base, self.base + self.gain])
        return np.asarray(self.log_scale[:, None] + levels[self._member(None).astype(np.intp)])

    def line_terms(self) -> LineTerms:
        """Return base and gain; each output counts once."""
        return LineTerms(self.symbols, base=self.base, gain=self.gain)

    def _member(self, columns: IntArray | None) -> FloatArray:
        wanted = np.arange(self.size) if columns is None else columns
        return np.equal.outer(self.symbols, wanted).astype(np.float64)


@dataclass(frozen=True, eq=False)
class BitOperator(Products):
    """Each output is a packed bit vector and its support the set bits; never unpacked whole.

    P(y | x) = exp(log_factor[y]) * (base + gain * y_x), base = e^log_base. A row without a bit is
    stored as ones, for at large epsilons its `base` would underflow. A product reads the packed
    bytes once: 256 partial sums a byte column, O(outputs * k / 8).
    """

    packed: PackedBits
    size: int
    log_base: float
    gain: float
    log_factor: FloatArray
    structure: ClassVar[Structure] = "bits"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.packed.shape[0], self.size

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return base * sum(theta) + gain * (sum of theta over the set bits)."""
        return np.asarray(self.bases * theta.sum() + self.gain * row_sums(self.packed, theta))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return base * sum(w) + gain * (weights added up by set bit)."""
        return np.asarray(self.bases @ weights + self.gain * self.by_bit(weights))

    @property
    def base(self) -> float:
        """What a row has where its bit is not set."""
        return float(np.exp(self.log_base))

    @cached_property
    def told(self) -> BoolArray:
        """Whether an output has a bit at all."""
        return np.asarray(self.packed.any(axis=1))

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self.log_factor + np.where(self.told, 0.0, self.log_base)

    @property
    def bases(self) -> FloatArray:
        """`base` for each output, 1 where no bit is set."""
        return np.where(self.told, self.base, 1.0)

    @property
    def _extra(self) -> float:
        """What a set bit adds to the square of an entry."""
        return self.gain * (2 * self.base + self.gain)

    def by_bit(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs in which each bit is set."""
        return bit_sums(self.packed, weights, self.size)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows by unpacked blocks, O(outputs * k^2)."""
        both, product = np.zeros((self.size, self.size)), np.empty((self.size, self.size))
        for rows, bits in unpacked_blocks(self.packed, self.size, np.float64, _GRAM_ENTRIES):
            both += np.matmul(bits.T, weights[rows, None] * bits, out=product)
        own = self.base * self.gain * both.diagonal()
        both *= self.gain**2
        both += own
        both += own[:, None] + float(self.bases**2 @ weights)
        return both

    def gram_map(self, weights: FloatArray) -> Map:
        """Return x -> P' diag(weights) P x, whose two products share each block of float32."""
        bases = self.bases

        def product(vector: FloatArray) -> FloatArray:
            single, total, image = vector.astype(np.float32), vector.sum(), np.zeros(self.size)
            for rows, bits in unpacked_blocks(self.packed, self.size, np.float32):
                fitted = bases[rows] * total + self.gain * (bits @ single)
                ratio = weights[rows] * fitted
                image += bases[rows] @ ratio + self.gain * (ratio.astype(np.float32) @ bits)
            return image

        return product

    def near_gram_map(self, weights: FloatArray) -> Map:
        """Return the product of bits that do not depend on each other, O(k).

        Its matrix has the diagonal of P' diag(w) P, and elsewhere (P'w) (P'w)' / sum(w): that of
        many reports, up to their sampling, for a report's bits are flipped one by one.
        """
        total, ones = float(weights.sum()), self.by_bit(weights)
        sums = self.bases @ weights + self.gain * ones
        means = sums / total if total else sums
        own = self.bases**2 @ weights + self._extra * ones - means * sums
        return lambda vector: np.asarray(sums * (means @ vector) + own * vector)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return base^2 sum(w) + gain (2 base + gain) (weights added up by set bit)."""
        return np.asarray(self.bases**2 @ weights + self._extra * self.by_bit(weights))

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H from about one report in `stride`."""
        return kernel(self.packed, weights, theta, self.base, self.gain, stride)

    def guess(self, weights: FloatArray) -> Guess:
        """Return the bit sums, from which theta can be read roughly."""
        return Guess(self.base, self.gain, float(weights.sum()), self.by_bit(weights))

    def subset(self, places: IntArray) -> "BitOperator":
        """Return the law of some of the outputs."""
        return replace(self, packed=self.packed[places], log_factor=self.log_factor[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, or only these columns of it: O(outputs * columns)."""
        rows = np.multiply(unpacked(self.packed, self.size, columns), self.gain, dtype=np.float64)
        rows += self.bases[:, None]
        return rows

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        set_bit = float(np.logaddexp(self.log_base, np.log(self.gain)))
        rows = np.where(unpacked(self.packed, self.size), set_bit, self.log_base)
        rows += self.log_factor[:, None]
        return rows
