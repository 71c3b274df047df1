"""Files of reports: which there are, of what format, what stands first in a text, how many rows.

Engines end where they take the end of a text to be: DuckDB at a Zstandard stream that is cut off,
and before a last line longer than its buffer. So rows are counted here as well, by a reader that
knows nothing but line ends and quotes, and a file of which an engine reads others is refused.
"""

import csv
import glob
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pyarrow as pa

from freewill.core.files import checked_path
from freewill.core.types import BoolArray
from freewill.errors import ReportError, first_line, several, shown

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Suffixes of files of reports; .csv and .ndjson may be compressed (.gz, .zst)."""
TEXTS = {"csv", "ndjson"}
"""Formats of texts, a row a line."""
SEPARATORS = ",;\t"
"""What may separate the columns of a CSV."""
EVIDENCE_KEY = b"freewill evidence"
"""The metadata that a Parquet file of evidence has, and none of reports."""
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_HEAD_BYTES, _CHUNK_BYTES = 1 << 16, 1 << 19
_BLANKS = b" \t\r\v\f"
"""What a line of NDJSON may have beside its object."""


@dataclass(frozen=True)
class Files:
    """Files of reports, all of one format, as they were when they were listed."""

    paths: tuple[str, ...]
    format: str
    states: tuple[tuple[int, int], ...] = ()
    """Size and time of each file; none for addresses such as s3://."""

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check on leaving that no file grew, shrank or was written anew meanwhile."""
        yield
        for path, state in zip(self.paths, self.states, strict=False):
            now = _state(path)
            if now != state:
                raise ReportError(
                    f"{path} changed while it was read ({several(state[0], 'byte')} at first, "
                    f"{now[0]:,} now). Read it again when nothing writes to it, or read a copy."
                )

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"


def files_of(source: Any) -> Files:
    """List the files of a path, a glob, a folder (also partitioned) or a list of those."""
    try:
        given = [source] if isinstance(source, str | bytes | os.PathLike) else list(source)
    except TypeError:
        given = [source]
    if not given:
        raise ReportError("no files of reports: the list is empty.")
    distinct: dict[Any, str] = {}
    for item in given:
        text = os.fspath(item) if isinstance(item, os.PathLike) else item
        if not isinstance(text, str):
            raise ReportError(f"source {shown(item)}: expected a path as text, or a frame.")
        try:
            for path in _listed(local_path(text)):
                checked_path(path, ReportError)
                distinct.setdefault(identity(path), path)
        except OSError as error:  # a name that is too long, a folder that may not be read
            raise ReportError(f"{shown(item)} cannot be read: {error.strerror}.") from None
    paths = tuple(distinct.values())
    formats = {format_of(path): path for path in paths}
    if len(formats) > 1:
        (kind, first), (other_kind, second), *_ = formats.items()
        raise ReportError(
            f"{first} is {kind} and {second} is {other_kind}: read files of one format at a time "
            f"and merge their evidence with +."
        )
    states = () if any(map(is_remote, paths)) else tuple(map(_state, paths))
    for path, (size, _) in zip(paths, states, strict=False):
        if size == 0:
            raise ReportError(
                f"{path} is empty, 0 bytes: expected reports. Was it written completely?"
            )
    return Files(paths, next(iter(formats)), states)


def local_path(text: str) -> str:
    """Return the path that an address of a local file stands for.

    >>> local_path("file:///data/r.csv"), local_path("s3://data/r.csv")
    ('/data/r.csv', 's3://data/r.csv')
    """
    return url2pathname(urlsplit(text).path) if text.lower().startswith("file:/") else text


def identity(path: str) -> Any:
    """Return what tells a file from others, under any name and by any link."""
    if is_remote(path) or not Path(path).exists():
        return path
    state = os.stat(path)
    return state.st_dev, state.st_ino


def is_remote(path: str) -> bool:
    """Say whether a path is an address such as s3://bucket/reports.parquet."""
    return "://" in path


def format_of(path: str) -> str:
    """Return the format of a file by its suffix.

    >>> format_of("monday/reports.csv.gz")
    'csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compressed = bool(suffixes) and suffixes[-1] in _COMPRESSIONS
    suffix = (suffixes[:-1] if compressed else suffixes)[-1:]
    if not suffix and is_remote(path):
        return "parquet"
    kind = FORMATS.get("".join(suffix))
    if kind is None or (compressed and kind not in TEXTS):
        raise ReportError(
            f"{path}: no file of reports has this suffix; expected one of {', '.join(FORMATS)}. "
            f"In a folder with other files, name those to read: folder/*.parquet."
        )
    return kind


def folder_values(path: str) -> dict[str, str]:
    """Return what names of folders such as mechanism=careful say.

    >>> folder_values("week/mechanism=careful/day=1/r.parquet")
    {'mechanism': 'careful', 'day': '1'}
    """
    return dict(part.split("=", 1) for part in Path(path).parent.parts if "=" in part)


def _listed(text: str) -> list[str]:
    """List the files of one path, glob or folder, in a folder but for hidden ones and _SUCCESS."""
    folder = Path(text)
    if is_remote(text) or folder.is_file():
        return [text]
    if folder.is_dir():
        paths = [
            str(path)
            for path in folder.rglob("*")
            if path.is_file()
            and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        ]
        fault = "there are no files in this folder; expected reports."
    else:
        paths = [path for path in glob.glob(text, recursive=True) if Path(path).is_file()]
        pattern = glob.has_magic(text)
        fault = "no file matches this pattern." if pattern else "there is no such file or folder."
    if not paths:
        raise ReportError(f"{text}: {fault}")
    return sorted(paths)


def _state(path: str) -> tuple[int, int]:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return -1, -1
    return state.st_size, state.st_mtime_ns


def type_family(kind: Any) -> str:
    """Return what Arrow types have in common that hold the same in another width.

    >>> type_family(pa.int8()), type_family(pa.large_binary()), type_family(pa.float64())
    ('integers', 'bytes', 'double')
    """
    kinds = pa.types
    if kinds.is_dictionary(kind):
        return type_family(kind.value_type)
    if kinds.is_integer(kind):
        return "integers"
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return "texts"
    if any(f(kind) for f in (kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary)):
        return "bytes"
    return str(kind)


@contextmanager
def unpacked(path: str | Path) -> Iterator[Any]:
    """Open a file of which the suffix says how it is compressed; refuse what cannot be unpacked.

    Unlike the readers of some engines, PyArrow's tells a stream that is cut off from one that ends,
    reads all members or frames of a file, and minds what stands behind the last.
    """
    compression = _COMPRESSIONS.get(Path(path).suffix.lower())
    try:
        with pa.input_stream(str(path), compression=compression) as file:
            yield file
    except OSError as error:
        if compression is None or error.errno is not None:  # of the system, not of the stream
            raise
        raise ReportError(
            f"{path} cannot be unpacked to its end: {first_line(error)}. It is damaged, or was not "
            f"completely written or copied: write it again."
        ) from None


def head_of(path: str | Path) -> str:
    """Return the beginning of a text file, also of a compressed one."""
    with unpacked(path) as file:
        return str(file.read(_HEAD_BYTES).decode("utf-8-sig", "replace"))


def first_row(head: str, separator: str) -> list[str]:
    """Return the fields of the first row of a CSV."""
    return next(csv.reader(StringIO(head, newline=""), delimiter=separator), [])


def separator_of(head: str, names: Collection[str]) -> str:
    r"""Return the separator by which the first row has most of the names; a comma if all are alike.

    >>> separator_of("mechanism;report\ncareful;34", ["mechanism", "report"])
    ';'
    """
    wanted = {*names}
    return max(SEPARATORS, key=lambda sign: len(wanted.intersection(first_row(head, sign))))


def csv_rows(path: str | Path, header: bool = True) -> int:
    """Count the rows of a CSV: lines that are not empty, line breaks within quotes aside.

    O(bytes), in one pass of constant memory: 0.3 ns a byte, 1 ns where there are quotes.
    """
    rows, filled, inside = 0, False, False
    for chunk in _chunks(path):
        ends = _places(chunk, b"\n")
        if b"\r" in chunk:
            # Of a return and a line feed, one ends the line and the other one an empty line.
            ends |= _places(chunk, b"\r")
        if inside or b'"' in chunk:
            # Behind an odd number of quotes.
            odd = np.bitwise_xor.accumulate(_places(chunk, b'"').view(np.uint8)).view(np.bool_)
            within = odd ^ inside
            ends &= ~within
            inside = bool(within[-1])
        more, filled = _rows(ends, filled)
        rows += more
    if inside:
        raise pa.ArrowInvalid("a text in quotes has no end, or one quote stands alone")
    return max(0, rows + filled - header)


def ndjson_rows(path: str | Path) -> int:
    """Count the rows of an NDJSON file: lines that are not blank. O(bytes), constant memory."""
    rows, filled = 0, False
    for chunk in _chunks(path):
        ends = _places(chunk, b"\n")
        # A line may be blank only if it starts so; elsewhere, blanks do not matter.
        starts = np.frombuffer(chunk, np.uint8)[1:]
        if not filled or ((starts <= ord(" ")) & ends[:-1]).any():
            ends = _places(chunk.translate(None, _BLANKS), b"\n")
        more, filled = _rows(ends, filled)
        rows += more
    return rows + filled


def _chunks(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked."""
    with unpacked(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _places(chunk: bytes, sign: bytes) -> BoolArray:
    """Say of each byte whether it is a sign."""
    places: BoolArray = np.frombuffer(chunk, np.uint8) == ord(sign)
    return places


def _rows(ends: BoolArray, filled: bool) -> tuple[int, bool]:
    """Count the ends of lines that are not empty; say whether anything stands behind the last.

    `filled` says whether anything stands in the line before the first byte.
    """
    if not len(ends):
        return 0, filled
    after_the_first = np.count_nonzero(ends[1:] > ends[:-1])
    return int(after_the_first) + bool(ends[0] and filled), not ends[-1]
