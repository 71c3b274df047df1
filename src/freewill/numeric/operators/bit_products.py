"""Products of packed bits with vectors, of which never more than a block is unpacked.

Many rows are summed by tables: a byte of bits is looked up among the 256 sums that it can stand
for, or adds to one of 256 sums. The tables of a few rows would cost more than these do unpacked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray, PackedBits, slices

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
