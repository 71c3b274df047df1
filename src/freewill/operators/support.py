"""Operators of the form base + gain * [x in S_y]: k-RR, no privacy, and all bit reports."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.operators.base import Guess, LineTerms, Products, Structure
from freewill.operators.kernel import PATTERNS, Sums, by_byte, kernel
from freewill.slices import slices
from freewill.types import BoolArray, FloatArray, IntArray, PackedBits

_BLOCK_BYTES = 1 << 20


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
        tables = by_byte(theta, self.packed.shape[1]) @ PATTERNS.T
        ones = np.zeros(self.packed.shape[0])
        for rows, block in self.blocks():
            for table, column in zip(tables, block.T, strict=True):
                ones[rows] += table[column]
        return np.asarray(self.bases * theta.sum() + self.gain * ones)

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

    def by_bit(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs in which each bit is set."""
        tables = np.zeros((self.packed.shape[1], 256))
        for rows, block in self.blocks():
            for byte, column in enumerate(block.T):
                tables[byte] += np.bincount(column, weights[rows], minlength=256)
        return (tables @ PATTERNS).ravel()[: self.size]

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows by unpacked blocks, O(outputs * k^2)."""
        both = np.zeros((self.size, self.size))
        for rows, block in self.blocks():
            bits = self._unpack(block)
            both += bits.T @ (weights[rows, None] * bits)
        own = self.base * self.gain * both.diagonal()
        constant = float(self.bases**2 @ weights)
        return np.asarray(self.gain**2 * both + np.add.outer(own, own) + constant)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return base^2 sum(w) + gain (2 base + gain) (weights added up by set bit)."""
        extra = self.gain * (2 * self.base + self.gain)
        return np.asarray(self.bases**2 @ weights + extra * self.by_bit(weights))

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
        """Return the rows as an array: for small problems."""
        bits = self._unpack(self.packed)
        return self.bases[:, None] + self.gain * (bits if columns is None else bits[:, columns])

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        levels = np.array([self.log_base, np.logaddexp(self.log_base, np.log(self.gain))])
        bits = self._unpack(self.packed).astype(np.intp)
        return np.asarray(self.log_factor[:, None] + levels[bits])

    def blocks(self) -> Iterator[tuple[slice, PackedBits]]:
        """Yield the packed rows in pieces that stay in the processor's cache."""
        outputs, width = self.packed.shape
        for rows in slices(outputs, _BLOCK_BYTES // max(1, width)):
            yield rows, self.packed[rows]

    def _unpack(self, packed: PackedBits) -> FloatArray:
        bits = np.unpackbits(packed, axis=1, count=self.size, bitorder="little")
        return bits.astype(np.float64)
