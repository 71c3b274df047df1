"""Operators of outputs that support a set of values: base + gain * [x in S_y].

Rows of k-RR, of no privacy, and of all bit reports.

Bits stay packed: never more than a block of them is unpacked. Many rows are summed by tables: a
byte of bits is looked up among the 256 sums that it can stand for, or adds to one of 256 sums. The
tables of a few rows would cost more than these do unpacked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, PackedBits, slices
from freewill.numeric.operators.base import (
    Guess,
    LineTerms,
    Map,
    Operator,
    RowNumbers,
    Structure,
    Sums,
    chosen_rows,
    numbers_at,
)

_PACKED_BYTES, _LEAST_ROWS = 1 << 17, 1 << 12
"""Bytes of a block of reports, which stay in the cache, and its rows at least: tables then pay."""
_FEW_ROWS = 1 << 9
"""Rows that are summed sooner unpacked than by tables."""
_ENTRIES = 1 << 17
"""Entries of an unpacked block, which stays in the cache; matrix products want larger ones."""
_PATTERNS = np.unpackbits(
    np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"
).astype(np.float64)
"""Row b: the eight bits of byte b."""


def row_sums(packed: PackedBits, vector: FloatArray) -> FloatArray:
    """Return the sum of the vector over the set bits of each row, O(rows * k / 8)."""
    sums = np.empty(len(packed))
    if len(packed) < _FEW_ROWS:
        for rows, bits in unpacked_blocks(packed, vector.size, np.float64):
            np.matmul(bits, vector, out=sums[rows])
        return sums
    tables = byte_tables(vector, packed.shape[1])
    for rows, columns in byte_columns(packed):
        sums[rows] = looked_up(tables, columns)
    return sums


def bit_sums(packed: PackedBits, weights: FloatArray, size: int) -> FloatArray:
    """Return the sum of the weights of the rows in which each bit is set, O(rows * k / 8)."""
    if len(packed) < _FEW_ROWS:
        blocks = unpacked_blocks(packed, size, np.float64)
        return np.asarray(sum((weights[rows] @ bits for rows, bits in blocks), np.zeros(size)))
    totals = np.zeros((packed.shape[1], 256))
    for rows, columns in byte_columns(packed):
        add_by_byte(totals, columns, weights[rows])
    return by_bit(totals, size)


def bit_counts(packed: PackedBits) -> IntArray:
    """Return how many bits are set in each row."""
    counts: IntArray = np.einsum("yb->y", np.bitwise_count(packed), dtype=np.int64)
    return counts  # sooner than by sum(1)


def byte_columns(packed: PackedBits) -> Iterator[tuple[slice, PackedBits]]:
    """Yield blocks of rows that stay in the cache, transposed: one byte of all rows at a time."""
    width = max(1, packed.shape[1])
    for rows in slices(len(packed), max(_LEAST_ROWS, _PACKED_BYTES // width)):
        yield rows, packed[rows].T


def byte_tables(vector: FloatArray, width: int) -> FloatArray:
    """Return the sums over the vector that each of 256 patterns stands for, [byte, pattern]."""
    padded = np.zeros(width * 8)
    padded[: vector.size] = vector
    return np.asarray(padded.reshape(width, 8) @ _PATTERNS.T)


def looked_up(tables: FloatArray, columns: PackedBits) -> FloatArray:
    """Return the sum over the set bits of each row of a transposed block."""
    sums = np.zeros(columns.shape[1])
    for table, column in zip(tables, columns, strict=True):
        sums += table.take(column)
    return sums


def add_by_byte(totals: FloatArray, columns: PackedBits, weights: FloatArray) -> None:
    """Add the weight of each row of a transposed block to the totals, [byte, pattern]."""
    for byte, column in enumerate(columns):
        totals[byte] += np.bincount(column, weights, minlength=256)


def by_bit(totals: FloatArray, size: int) -> FloatArray:
    """Return totals by byte and pattern as those of each bit."""
    return np.asarray((totals @ _PATTERNS).ravel()[:size])


def unpacked_blocks(
    packed: PackedBits, size: int, kind: type[np.floating[Any]], entries: int | None = None
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows as numbers, block by block, in an array that the next block overwrites."""
    # One buffer for all blocks: fresh memory costs more than the products.
    buffer = np.empty((max(1, min(len(packed), (entries or _ENTRIES) // size)), size), dtype=kind)
    for rows in slices(len(packed), len(buffer)):
        bits = unpacked(packed[rows], size)
        buffer[: len(bits)] = bits
        yield rows, buffer[: len(bits)]


def unpacked(packed: PackedBits, size: int, columns: IntArray | None = None) -> PackedBits:
    """Return a byte for every bit, or for those of some columns, which alone are then read."""
    if columns is None:
        return np.unpackbits(packed, axis=1, count=size, bitorder="little")
    bits = packed[:, columns >> 3]
    bits >>= (columns & 7).astype(np.uint8)
    bits &= 1
    return bits


_GRAM_BYTES = 1 << 23
"""Bytes of an unpacked block for a matrix product, which then runs at full speed."""


@dataclass(frozen=True, eq=False)
class SymbolOperator(Operator):
    """Each output is a symbol and its support is that symbol alone; products in O(k + outputs).

    P(y | x) = exp(log_scale[y]) * (base + gain * [x = y]); base and gain are one number, or one a
    row where rows of several laws stand together.
    """

    symbols: IntArray
    size: int
    base: RowNumbers
    gain: RowNumbers
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
        """Return sum(base w) + (gain w added up by symbol)."""
        return np.asarray((self.base * weights).sum() + self.by_symbol(self.gain * weights))

    def by_symbol(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs that are each symbol."""
        return np.bincount(self.symbols, weights, minlength=self.size).astype(
            np.float64, copy=False
        )

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return a diagonal plus rank two, written out in O(k^2)."""
        own = self.by_symbol(self.base * self.gain * weights)
        gram = np.add.outer(own, own)
        gram += (self.base**2 * weights).sum()
        gram[np.diag_indices(self.size)] += self.by_symbol(self.gain**2 * weights)
        return np.asarray(gram)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return sum(base^2 w) + (gain (2 base + gain) w added up by symbol)."""
        extra = self.gain * (2 * self.base + self.gain)
        return np.asarray((self.base**2 * weights).sum() + self.by_symbol(extra * weights))

    def subset(self, places: IntArray) -> "SymbolOperator":
        """Return the law of some of the outputs."""
        base, gain = numbers_at(self.base, places), numbers_at(self.gain, places)
        return SymbolOperator(self.symbols[places], self.size, base, gain, self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        base, gain = np.reshape(self.base, (-1, 1)), np.reshape(self.gain, (-1, 1))
        if columns is not None:
            return np.asarray(base + gain * np.equal.outer(self.symbols, columns))
        rows = np.broadcast_to(base, self.shape).copy()
        rows[np.arange(self.symbols.size), self.symbols] += self.gain
        return rows

    def line_terms(self) -> LineTerms:
        """Return base and gain; each output counts once."""
        return LineTerms(self.symbols, base=self.base, gain=self.gain)


@dataclass(frozen=True, eq=False)
class BitOperator(Operator):
    """Each output is a packed bit vector and its support the set bits; never unpacked whole.

    P(y | x) = exp(log_factor[y]) * (base + gain * y_x), base = e^log_base; both are one number, or
    one a row where rows of several laws stand together. A row without a bit is stored as ones, for
    at large epsilons its `base` would underflow. A product reads the packed bytes once: 256 partial
    sums a byte column, O(outputs * k / 8). `stray` is the probability of a bit that is not the own,
    None where bits are flipped alike.
    """

    packed: PackedBits
    size: int
    log_base: RowNumbers
    gain: RowNumbers
    log_factor: FloatArray
    stray: RowNumbers | None = None
    structure: ClassVar[Structure] = "bits"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.packed.shape[0], self.size

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return base * sum(theta) + gain * (sum of theta over the set bits)."""
        return np.asarray(self.bases * theta.sum() + self.gain * row_sums(self.packed, theta))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum(base w) + (gain w added up by set bit)."""
        return np.asarray(self.bases @ weights + self.by_bit(self.gain * weights))

    @cached_property
    def any_bit(self) -> BoolArray:
        """Whether an output has a bit at all."""
        return np.asarray(self.packed.any(axis=1))

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self.log_factor + np.where(self.any_bit, 0.0, self.log_base)

    @property
    def ones(self) -> IntArray:
        """How many bits are set in each output."""
        return bit_counts(self.packed)

    @property
    def bases(self) -> FloatArray:
        """`base` for each output, 1 where no bit is set."""
        return np.where(self.any_bit, np.exp(self.log_base), 1.0)

    @property
    def _extra(self) -> RowNumbers:
        """What a set bit adds to the square of an entry."""
        return self.gain * (2 * np.exp(self.log_base) + self.gain)

    def by_bit(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of the outputs in which each bit is set."""
        return bit_sums(self.packed, weights, self.size)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows by unpacked blocks, O(outputs * k^2)."""
        return self._gram(weights, np.float64)

    def _gram(self, weights: FloatArray, kind: type[np.floating[Any]]) -> FloatArray:
        """Return the sum of gain^2 w y y' + base gain w (y 1' + 1 y') + base^2 w 1 1'."""
        gram, product = np.zeros((self.size, self.size)), np.empty((self.size, self.size), kind)
        roots, half = np.sqrt(weights), np.full(self.size, float(self.bases**2 @ weights) / 2)
        bases, gains = (self.bases * roots).astype(kind), (self.gain * roots).astype(kind)
        entries = _GRAM_BYTES // product.itemsize
        for rows, bits in unpacked_blocks(self.packed, self.size, kind, entries):
            scaled = np.multiply(bits, gains[rows, None], out=bits)
            gram += np.matmul(scaled.T, scaled, out=product)
            half += bases[rows] @ scaled
        # One sum for both halves of the matrix: symmetric to the last bit, it travels as one.
        gram += np.add.outer(half, half)
        return np.asarray(gram)

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return x -> P' diag(weights) P x, whose two products share each block of float32."""
        if near:
            return near_gram_map(self, weights)
        bases, gains = self.bases, np.broadcast_to(self.gain, weights.shape)

        def product(vector: FloatArray) -> FloatArray:
            single, total, image = vector.astype(np.float32), vector.sum(), np.zeros(self.size)
            for rows, bits in unpacked_blocks(self.packed, self.size, np.float32):
                ratio = weights[rows] * (bases[rows] * total + gains[rows] * (bits @ single))
                image += bases[rows] @ ratio + (gains[rows] * ratio).astype(np.float32) @ bits
            return image

        return product

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return sum(base^2 w) + (gain (2 base + gain) w added up by set bit)."""
        return np.asarray(self.bases**2 @ weights + self.by_bit(self._extra * weights))

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H from about one report in `stride`.

        L and g are summed in float64, O(reports * k / 8): a byte of bits is looked up in a table of
        the 256 sums that it can stand for, and adds to one of 256 sums. H is summed in float32,
        O(reports * k^2 / stride): its errors cost steps, but the certificate does not rest on H.
        """
        width, total = self.packed.shape[1], float(theta.sum())
        value, level = 0.0, 0.0
        tables, totals = byte_tables(theta, width), np.zeros((width, 256))
        any_bit, fitted = np.empty(weights.size, dtype=np.bool_), np.empty(weights.size)
        for rows, block in byte_columns(self.packed):
            columns = np.ascontiguousarray(block)
            any_bit[rows] = np.bitwise_or.reduce(columns, axis=0) > 0
            bases = np.where(any_bit[rows], np.exp(numbers_at(self.log_base, rows)), 1.0)
            gain = numbers_at(self.gain, rows)
            here = fitted[rows] = bases * total + gain * looked_up(tables, columns)
            if not np.all(here > 0):
                return Sums.impossible(self.size)
            ratio = weights[rows] / here
            value += float(weights[rows] @ np.log(here))
            level += float(ratio @ bases)
            add_by_byte(totals, columns, gain * ratio)
        slope = level + by_bit(totals, self.size)
        if not stride:
            return Sums(value, slope, None)
        curvature = weights / fitted**2
        some = np.flatnonzero(any_bit)
        bits, rest, curvature = self.subset(some), curvature[~any_bit], curvature[some]
        if stride > 1 and curvature.size:
            chosen, curvature = bits.sample(curvature, stride)
            bits = bits.subset(chosen)
        return Sums(value, slope, bits._gram(curvature, np.float32) + float(rest.sum()))

    def sample(self, curvature: FloatArray, stride: int) -> tuple[IntArray, FloatArray]:
        """Choose about one row in `stride`, half evenly and half by its leverage, and weigh it up.

        The leverage of a row is its share in the diagonal of H, summed over the diagonal: at large
        epsilons a few reports carry all the curvature of a rare value, and drawn evenly they would
        be missed. A row that carries a value alone is always in, for at most k rows more.
        Systematic, a row each time the running sum of the chances passes a whole number: no
        randomness is needed and every stretch of the rows has its share.
        """
        diagonal = self.gram_diagonal(curvature)
        inverse = 1 / np.maximum(diagonal, 1e-12 * diagonal.max())
        squares = self.bases**2 * inverse.sum() + self._extra * row_sums(self.packed, inverse)
        return chosen_rows(curvature, curvature * squares, stride)

    def guess(self, weights: FloatArray, ones: FloatArray | None = None) -> Guess:
        """Return the bit sums, debiased as in eq. 14, times their precision.

        The probability p of the own bit has p = q (base + gain) / (base + q gain); where bits are
        flipped alike, p = 1 - q, that of a flip has q / (1 - q) = sqrt(base / (base + gain)).
        """
        base = np.exp(self.log_base)
        odds = np.sqrt(base / (base + self.gain))
        flip = odds / (1 + odds) if self.stray is None else self.stray
        sharpness = flip * (1 - flip) * self.gain / (base + flip * self.gain)
        # A report's precision is s^2 / variance, and theta's part of it (bits - q) / s.
        scale = sharpness / (flip * (1 - flip) + 1 / self.size)
        if ones is None or np.ndim(scale):
            scaled = self.by_bit(scale * weights)
        else:
            scaled = np.asarray(scale * ones)
        total = scaled - (scale * flip * weights).sum()
        return Guess(total, float((sharpness * scale * weights).sum()))

    def subset(self, places: IntArray) -> "BitOperator":
        """Return the law of some of the outputs."""
        log_base, gain = numbers_at(self.log_base, places), numbers_at(self.gain, places)
        stray = None if self.stray is None else numbers_at(self.stray, places)
        factor = self.log_factor[places]
        return BitOperator(self.packed[places], self.size, log_base, gain, factor, stray)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, or only these columns of it: O(outputs * columns)."""
        gain = np.reshape(self.gain, (-1, 1))
        rows = np.multiply(unpacked(self.packed, self.size, columns), gain, dtype=np.float64)
        rows += self.bases[:, None]
        return np.asarray(rows)

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        base = np.reshape(self.log_base, (-1, 1))
        set_bit = np.logaddexp(base, np.log(np.reshape(self.gain, (-1, 1))))
        rows = np.where(unpacked(self.packed, self.size), set_bit, base)
        rows += self.log_factor[:, None]
        return rows


def near_gram_map(operator: Operator, weights: FloatArray) -> Map:
    """Return the product P' diag(w) P of bits that do not depend on each other, O(k).

    Its matrix has the diagonal of P' diag(w) P, and elsewhere (P'w) (P'w)' / sum(w): that of
    many reports, up to their sampling, for a report's bits are flipped one by one.
    """
    total, sums = float(weights.sum()), operator.adjoint(weights)
    means = sums / total if total else sums
    own = operator.gram_diagonal(weights) - means * sums
    return lambda vector: np.asarray(sums * (means @ vector) + own * vector)
