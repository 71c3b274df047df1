"""Bit reports counted as they stream by: patterns in a table where few, packed rows where many."""

import numpy as np

from freewill.types import IntArray, PackedBits, Reports

_NARROW_BITS = 20
_FIRST_ROWS = 1 << 20


def narrow(bits: int) -> bool:
    """Say whether all patterns of so many bits fit a small table."""
    return bits <= _NARROW_BITS


class Patterns:
    """Counts of all 2^bits patterns, in one table."""

    def __init__(self, bits: int) -> None:
        self._width = -(-bits // 8)
        self._table = np.zeros(1 << bits, dtype=np.int64)

    def add(self, packed: Reports, counts: IntArray | None) -> None:
        """Count patterns, once each unless told otherwise."""
        numbers = np.zeros(len(packed), dtype=np.uint32)
        for byte in range(self._width):
            numbers |= packed[:, byte].astype(np.uint32) << np.uint32(8 * byte)
        np.add.at(self._table, numbers, 1 if counts is None else counts)

    def result(self) -> tuple[PackedBits, IntArray]:
        """Return the patterns seen, packed, and their counts."""
        seen = np.flatnonzero(self._table)
        packed = seen.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : self._width]
        return np.ascontiguousarray(packed), self._table[seen]


class PackedRows:
    """All rows in one growing array, made distinct now and then where that halves it.

    Beside the rows it takes their counts once they repeat, and memory that was never written
    takes none.
    """

    def __init__(self, width: int) -> None:
        self._rows = np.empty((_FIRST_ROWS, width), dtype=np.uint8)
        self._counts: IntArray | None = None
        self._used = 0
        self._next_look = _FIRST_ROWS

    def add(self, packed: Reports, counts: IntArray | None) -> None:
        """Append rows, each once unless told otherwise."""
        end = self._used + len(packed)
        if end > len(self._rows):
            if self._used >= self._next_look:
                self._look()
                end = self._used + len(packed)
            self._resize(max(end, 2 * self._used))
        self._rows[self._used : end] = packed
        if counts is not None and self._counts is None:
            self._counts = np.ones(len(self._rows), dtype=np.int64)
        if self._counts is not None:
            self._counts[self._used : end] = 1 if counts is None else counts
        self._used = end

    def result(self) -> tuple[PackedBits, IntArray]:
        """Return the rows and their counts."""
        self._resize(self._used)
        if self._counts is None:
            return self._rows, np.ones(self._used, dtype=np.int64)
        return self._rows, self._counts

    def _look(self) -> None:
        """Make the rows distinct if at most half of them are, and look again at four times that."""
        keys = row_keys(self._rows[: self._used])
        ordered = np.sort(keys)
        distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        del ordered
        if 2 * distinct <= self._used:
            self._merge(keys)
        self._next_look = max(_FIRST_ROWS, 4 * self._used)

    def _merge(self, keys: IntArray) -> None:
        order = np.argsort(keys)
        rows, keys = self._rows[order], keys[order]
        new = np.ones(len(rows), dtype=np.bool_)
        new[1:] = keys[1:] != keys[:-1]
        # Rows that share a key by accident stay apart: repeated rows do no harm.
        new[1:] |= (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(new)
        counts = np.ones(len(rows), np.int64) if self._counts is None else self._counts[order]
        self._used = len(starts)
        self._resize(max(_FIRST_ROWS, 2 * self._used))
        self._rows[: self._used] = rows[starts]
        self._counts = np.ones(len(self._rows), dtype=np.int64)
        self._counts[: self._used] = np.add.reduceat(counts, starts)

    def _resize(self, rows: int) -> None:
        # In place: large arrays move by page tables, not by copying.
        self._rows.resize((rows, self._rows.shape[1]), refcheck=False)
        if self._counts is not None:
            self._counts.resize(rows, refcheck=False)


def row_keys(packed: PackedBits) -> IntArray:
    """Return a 64-bit key of each row, by blocks that stay in the cache."""
    keys = np.zeros(len(packed), dtype=np.uint64)
    height = 1 << 14
    for first in range(0, len(packed), height):
        block = packed[first : first + height]
        words = np.zeros((len(block), -(-block.shape[1] // 8) * 8), dtype=np.uint8)
        words[:, : block.shape[1]] = block
        some = keys[first : first + height]
        for column in words.view("<u8").T:
            some *= np.uint64(0x9E3779B97F4A7C15)
            some += column
    return keys.view(np.int64)
