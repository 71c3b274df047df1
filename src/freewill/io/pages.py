"""The pages of a Parquet file and what each unpacks to, by their own heads.

Whoever reads a page makes room for as many bytes as its head says, and fails if it unpacks to
more. So these numbers bound the memory, and none in the footer does: there they are remarks. Heads
and footer are structs of Thrift's compact protocol, read here: PyArrow ends the whole process at
some damaged footers.
"""

import io
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_SIZES = {_BYTE: 1, _DOUBLE: 8}
_ROW_GROUPS = 4
"""The field of a footer; those of a row group; of a column, in its inner struct, what follows."""
_COLUMNS, _ROWS = 1, 3
_INNER, _PATH, _VALUES, _BYTES, _DATA, _DICTIONARY = 3, 3, 5, 7, 9, 11
_UNPACKED, _PACKED, _KINDS = 2, 3, (5, 7, 8)
"""Fields of a page's head; the last are of a data page, a dictionary and a data page 2."""
_DEEPEST, _LONGEST = 12, 400
"""Levels of structs, and bytes of a name; the least and largest value of a page may be longer."""


class Page(NamedTuple):
    """A page: its column, the bytes it unpacks to and the values it holds."""

    column: str
    unpacked: int
    values: int


class Chunk(NamedTuple):
    """A column of one row group: where its pages lie."""

    column: str
    values: int
    start: int
    bytes: int
    has_dictionary: bool


class RowGroup(NamedTuple):
    """Rows of a file that lie together."""

    rows: int
    chunks: tuple[Chunk, ...]


def row_groups(file: BinaryIO) -> list[RowGroup]:
    """Return what the footer of an open Parquet file tells; a damaged one is a ValueError."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > end - 8:
        raise ValueError("a footer that is none")
    file.seek(end - 8 - length)
    footer = _Reader(io.BytesIO(file.read(length)), length).struct()
    return [
        RowGroup(_number(group, _ROWS), tuple(map(_chunk, _list(group, _COLUMNS))))
        for group in _list(footer, _ROW_GROUPS)
    ]


def pages_of(file: BinaryIO, group: RowGroup) -> Iterator[Page]:
    """Yield the pages of a row group; a damaged one is a ValueError.

    >>> import pathlib, pyarrow as pa, tempfile
    >>> from pyarrow import parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(pa.table({"a": [1, 2, 3]}), f"{folder}/x.parquet")
    ...     with pathlib.Path(folder, "x.parquet").open("rb") as file:
    ...         for page in pages_of(file, row_groups(file)[0]):
    ...             print(page)
    Page(column='a', unpacked=24, values=3)
    Page(column='a', unpacked=10, values=3)
    """
    for chunk in group.chunks:
        at, end = chunk.start, chunk.start + chunk.bytes
        while at < end:
            file.seek(at)
            reader = _Reader(file, end - at)
            head = reader.struct()
            inner: Any = next((head[kind] for kind in _KINDS if kind in head), {})
            yield Page(chunk.column, _number(head, _UNPACKED), _number(inner, 1))
            at += reader.done + _number(head, _PACKED)


def _chunk(told: Any) -> Chunk:
    inner = told.get(_INNER) if isinstance(told, dict) else None
    path = b".".join(part or b"?" for part in _list(inner, _PATH)).decode("utf-8", "replace")
    data, dictionary = _number(inner, _DATA), _number(inner, _DICTIONARY, 0)
    start = dictionary if 0 < dictionary < data else data
    return Chunk(path, _number(inner, _VALUES), start, _number(inner, _BYTES), dictionary > 0)


def _number(fields: Any, field: int, default: int | None = None) -> int:
    """Return a number >= 0 from the fields of a struct."""
    found = fields.get(field, default) if isinstance(fields, dict) else None
    if not isinstance(found, int) or found < 0:
        raise ValueError("a number that is missing")
    return found


def _list(fields: Any, field: int) -> list[Any]:
    found = fields.get(field) if isinstance(fields, dict) else None
    if not isinstance(found, list):
        raise ValueError("a list that is missing")
    return found


class _Reader:
    """Reads a struct of Thrift's compact protocol, of at most so many bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file, self.most, self.done = file, most, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number; of some only that they are there."""
        if depth > _DEEPEST:
            raise ValueError("a struct nested too deep")
        found: dict[int, Any] = {}
        number = 0
        while (byte := self._byte()) != _STOP:
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._integer()
            # A field that is true or false says so by its kind.
            found[number] = None if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._items(depth)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind not in _SIZES:
            raise ValueError("a struct that is none")
        return self._bytes(_SIZES[kind])

    def _items(self, depth: int) -> list[Any]:
        byte = self._byte()
        size, kind = byte >> 4, byte & 15
        size = self._varint() if size == 15 else size
        kind = _BYTE if kind in (_TRUE, _FALSE) else kind
        # Each takes a byte at least, so that no number of them outlasts the struct.
        return [self._value(kind, depth + 1) for _ in range(min(size, self.most + 1))]

    def _bytes(self, length: int) -> bytes | None:
        self.done += length
        if self.done > self.most:
            raise ValueError("a struct that is cut off")
        if length > _LONGEST:
            self.file.seek(length, os.SEEK_CUR)
            return None
        return self.file.read(length)

    def _integer(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
        raise ValueError("a number that has no end")

    def _byte(self) -> int:
        self.done += 1
        found = self.file.read(1) if self.done <= self.most else b""
        if not found:
            raise ValueError("a struct that is cut off")
        return found[0]
