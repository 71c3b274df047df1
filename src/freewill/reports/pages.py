"""The heads of the pages of a Parquet file: what each unpacks to, whatever the footer tells.

Whoever reads a page makes room for as many bytes as its head says, and fails if it unpacks to
more. So these numbers bound the memory, and none in the footer does: there they are remarks.
Heads are structs of Thrift's compact protocol (https://github.com/apache/thrift, doc/specs).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    0, 1, 2, 3, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_INTEGERS = (4, 5, 6)
_UNPACKED, _PACKED = 2, 3
_KINDS = (5, 7, 8)
"""Fields of a page's head; the last are those of data pages, dictionaries and data pages 2."""
_DEEPEST = 8


class Page(NamedTuple):
    """A page: its row group, its column, the bytes it unpacks to and the values it holds."""

    group: int
    column: str
    unpacked: int
    values: int


def pages_of(path: str | Path, metadata: Any) -> Iterator[Page]:
    """Yield the pages of a Parquet file, in the order of the footer; a damaged one is an error.

    >>> import pyarrow as pa, tempfile
    >>> from pyarrow import parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/x.parquet"
    ...     parquet.write_table(pa.table({"a": [1, 2, 3]}), path)
    ...     for page in pages_of(path, parquet.read_metadata(path)):
    ...         print(page.column, page.unpacked, page.values)
    a 24 3
    a 10 3
    """
    with Path(path).open("rb") as file:
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                chunk = group.column(place)
                for unpacked, values in _heads(file, chunk):
                    yield Page(number, chunk.path_in_schema, unpacked, values)


def _heads(file: BinaryIO, chunk: Any) -> Iterator[tuple[int, int]]:
    """Yield the bytes that each page of a column chunk unpacks to, and its values."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    if at < 0 or end < at:
        raise ValueError("a column that lies before the file")
    while at < end:
        file.seek(at)
        head = _Reader(file, end - at)
        found = head.struct()
        unpacked, packed = found.get(_UNPACKED, -1), found.get(_PACKED, -1)
        if not (isinstance(unpacked, int) and isinstance(packed, int)) or min(unpacked, packed) < 0:
            raise ValueError("a page of no size")
        inner: Any = next((found[kind] for kind in _KINDS if kind in found), {})
        values = inner.get(1, 0) if isinstance(inner, dict) else 0
        yield unpacked, values if isinstance(values, int) else 0
        at += head.done + packed


class _Reader:
    """Reads a struct of Thrift's compact protocol, of at most so many bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file, self.most, self.done = file, most, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number: integers, structs, and None for all else."""
        if depth > _DEEPEST:
            raise ValueError("the head of a page is nested too deep")
        found: dict[int, Any] = {}
        number = 0
        while (byte := self._byte()) != _STOP:
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._integer()
            found[number] = self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_TRUE, _FALSE):
            return None
        if kind in (_LIST, _SET, _MAP):
            raise ValueError("the head of a page with a list")
        sizes = {_BYTE: 1, _DOUBLE: 8}
        if kind != _BINARY and kind not in sizes:
            raise ValueError("the head of a page that is none")
        # The least and the largest value of a page stand in its head, however long they are.
        length = self._varint() if kind == _BINARY else sizes[kind]
        self.done += length
        self.file.seek(min(length, self.most), os.SEEK_CUR)
        return None

    def _integer(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _varint(self) -> int:
        found, shift = 0, 0
        while shift < 70:
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
        raise ValueError("the head of a page with a number that has no end")

    def _byte(self) -> int:
        self.done += 1
        found = self.file.read(1) if self.done <= self.most else b""
        if not found:
            raise ValueError("a page that is cut off")
        return found[0]
