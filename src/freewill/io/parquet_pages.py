"""Parquet files of a few bytes that would unpack to very many: refused by the heads of their pages.

Whoever reads a page makes room for as many bytes as its head says, and fails if it unpacks to
more. So these numbers bound the memory, and none in the footer does: there they are remarks. Heads
and footer are structs of Thrift's compact protocol, read here: PyArrow shows no page, has no memory
pool with a limit, and its metadata of some damaged footers end the whole process.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from freewill.core.types import PAGE_BYTES, ROW_GROUP_BYTES, refuse_beyond
from freewill.errors import EvidenceError, ReportError, several

_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY = 1, 2, 3, (4, 5, 6), 7, 8
_LIST, _SET, _STRUCT = 9, 10, 12
_ROW_GROUPS, _COLUMNS, _ROWS = 4, 1, 3
"""The field of a footer, and those of a row group."""
_INNER, _PATH, _VALUES, _BYTES, _DATA, _DICTIONARY = 3, 3, 5, 7, 9, 11
"""Of a column the struct, and the fields in it."""
_UNPACKED, _PACKED, _KINDS = 2, 3, (5, 7, 8)
"""Fields of a page's head; the last are of a data page, a dictionary and a data page 2."""
_DEEPEST = 12
_TAIL_BYTES = 8
_BATCH_ROWS = 1 << 17
_VECTOR_ROWS = 2048
"""Rows that an engine holds at once, at least."""


class Page(NamedTuple):
    """A page: the bytes it unpacks to and the values it holds."""

    unpacked: int
    values: int


class Chunk(NamedTuple):
    """A column of one row group, of so many rows and values: where its pages lie."""

    group: int
    rows: int
    column: str
    values: int
    start: int
    bytes: int
    has_dictionary: bool


def refuse_bombs(path: str | Path) -> None:
    """Refuse evidence of which a piece that is read at once would unpack to very much."""
    with Path(path).open("rb") as file:
        chunks = chunks_of(file)
        needed: dict[int, int] = {}
        for chunk in chunks:
            pages = sum(page.unpacked for page in pages_of(file, chunk))
            needed[chunk.group] = needed.get(chunk.group, 0) + pages
    for group, size in needed.items():
        what, advice = f"row group {group} of {path}, unpacked,", "Write it in smaller ones."
        refuse_beyond(ROW_GROUP_BYTES, size, what, advice, EvidenceError)
    for chunk in chunks:
        # Each row may repeat the longest value of a dictionary, however few bytes that takes.
        if chunk.column == "bits" and chunk.has_dictionary:
            _refuse_long_bits(path, chunk)


def refuse_long_rows(path: str | Path, columns: Collection[str]) -> None:
    """Refuse reports of which a page, or the rows that an engine holds at once, unpack to much.

    A row group may be as large as it likes: it passes through memory page by page.
    """
    try:
        with Path(path).open("rb") as file:
            for chunk in chunks_of(file):
                rows = min(_VECTOR_ROWS, chunk.rows)
                what = f"{several(rows, 'row')} of {chunk.column} in {path}, unpacked,"
                for page in pages_of(file, chunk) if chunk.column in columns else ():
                    needed = max(page.unpacked, page.unpacked // max(page.values, 1) * rows)
                    advice = "No report is that long: are they reports?"
                    refuse_beyond(PAGE_BYTES, needed, what, advice, ReportError)
    except ReportError:
        raise
    except ValueError as error:
        message = f"{path} cannot be read: it is damaged, {error}. Write it again."
        raise ReportError(message) from None


def _refuse_long_bits(path: str | Path, chunk: Chunk) -> None:
    """Look at the dictionary of the bits of one row group, without unfolding it."""
    with parquet.ParquetFile(path, read_dictionary=["bits"], pre_buffer=False) as file:
        for batch in file.iter_batches(_BATCH_ROWS, [chunk.group], ["bits"], use_threads=False):
            if not pa.types.is_dictionary(batch.column("bits").type):
                return  # no bits: who reads them says so
            lengths = pc.binary_length(batch.column("bits").dictionary)
            needed = chunk.values * (pc.max(lengths).as_py() or 0)
            what, advice = f"the bits of {path}, unfolded,", "Collect the reports again."
            refuse_beyond(ROW_GROUP_BYTES, needed, what, advice, EvidenceError)


def chunks_of(file: BinaryIO) -> list[Chunk]:
    """Return what the footer of a Parquet file says of its columns; damage is a ValueError."""
    end = max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES)
    tail = _Reader(file, end, end + _TAIL_BYTES).take(_TAIL_BYTES)
    start = end - int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or start < 0:
        raise ValueError("a footer that is none")
    groups = _field(_Reader(file, start, end).struct(), _ROW_GROUPS, list)
    return [
        _chunk(number, _count(group, _ROWS), _field(column, _INNER, dict))
        for number, group in enumerate(groups)
        for column in _field(group, _COLUMNS, list)
    ]


def _chunk(group: int, rows: int, fields: Any) -> Chunk:
    parts = [part if isinstance(part, bytes) else b"?" for part in _field(fields, _PATH, list)]
    path = b".".join(parts).decode("utf-8", "replace")
    data, dictionary = _count(fields, _DATA), _count({_DICTIONARY: 0, **fields}, _DICTIONARY)
    start = dictionary if 0 < dictionary < data else data
    size = _count(fields, _BYTES)
    return Chunk(group, rows, path, _count(fields, _VALUES), start, size, dictionary > 0)


def pages_of(file: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """Yield the pages of a column; a damaged one is a ValueError.

    >>> import io, pyarrow as pa
    >>> from pyarrow import parquet
    >>> file = io.BytesIO()
    >>> parquet.write_table(pa.table({"a": [1, 2, 3]}), file)
    >>> [page for chunk in chunks_of(file) for page in pages_of(file, chunk)]
    [Page(unpacked=24, values=3), Page(unpacked=10, values=3)]
    """
    at, end = chunk.start, chunk.start + chunk.bytes
    while at < end:
        reader = _Reader(file, at, end)
        head = reader.struct()
        inner: Any = next((head[kind] for kind in _KINDS if kind in head), {})
        yield Page(_count(head, _UNPACKED), _count(inner, 1))
        at = reader.at + _count(head, _PACKED)


def _field(fields: Any, number: int, kind: type) -> Any:
    """Return a field of a struct, which must be of a kind."""
    value = fields.get(number) if isinstance(fields, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"a {kind.__name__} that is missing")
    return value


def _count(fields: Any, number: int) -> int:
    """Return a number >= 0 from the fields of a struct."""
    value: int = _field(fields, number, int)
    if value < 0:
        raise ValueError("a number below 0")
    return value


class _Reader:
    """Reads a struct of Thrift's compact protocol, from one place of a file to another."""

    def __init__(self, file: BinaryIO, at: int, end: int) -> None:
        self.file, self.at, self.end = file, at, end
        file.seek(at)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number."""
        fields: dict[int, Any] = {}
        number = 0
        while byte := self.take(1)[0]:
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._integer()
            # A field that is true or false says so by its kind.
            fields[number] = None if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("a struct nested too deep")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            byte = self.take(1)[0]
            size = byte >> 4 if byte >> 4 < 15 else self._varint()
            # Each takes a byte at least, so that no number of them outlasts the struct.
            return [self._value(byte & 15, depth + 1) for _ in range(size)]
        if kind == _BINARY:
            return self.take(self._varint())
        if kind not in (_TRUE, _FALSE, _BYTE, _DOUBLE):
            raise ValueError("a struct that is none")
        return self.take(8 if kind == _DOUBLE else 1)

    def _integer(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number that has no end")

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        self.at += length
        content = self.file.read(length) if self.at <= self.end else b""
        if len(content) < length:
            raise ValueError("a struct that is cut off")
        return content
