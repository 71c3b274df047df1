"""Files of reports that are copies of each other: everyone in them would count twice."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from freewill.errors import ReportError
from freewill.io.files import TEXTS, files_of, folder_values, format_of, head_of, is_remote
from freewill.io.rows import REPORT_ID
from freewill.stats.evidence import MOST_PARTS, Parts, digest

_SMALL, _PIECE, _PIECES = 1 << 12, 1 << 16, 64
"""Bytes of a file that is large enough to be known again, and of a piece of it; how many pieces."""
_MANY = 64
"""Changes from row to row that two files do not have alike by chance."""


def refuse_copies(source: Any) -> None:
    r"""Refuse files of the same bytes, if their rows are not told apart by a `report_id`.

    Only files of one size are read for it, once. Files without rows are no matter, nor are files
    in folders such as `mechanism=careful` and `mechanism=relaxed`, which say different things.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "b.csv"):
    ...         _ = Path(folder, name).write_text("mechanism,report\ncareful,1\n")
    ...     refuse_copies(folder)
    Traceback (most recent call last):
    freewill.errors.ReportError: ... hold the same reports, of people who would count twice: ...
    """
    for first, second in _pairs(files_of(source).paths):
        if not (_is_empty(first) or _has_ids(first)):
            raise ReportError(
                f"{first} and {second} hold the same reports, of people who would count twice: is "
                f"one a copy? If not, give --equal to `freewill collect`."
            )


def copied(one: Any, other: Any) -> tuple[str, str] | None:
    r"""Return a file of reports of one source and one of the other with the same rows, if any are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "b.csv"):
    ...         _ = Path(folder, name).write_text("mechanism,report\ncareful,1\n")
    ...     [Path(path).name for path in copied(f"{folder}/a.csv", f"{folder}/b.csv")]
    ['a.csv', 'b.csv']
    """
    first, second = (files_of(source).paths for source in (one, other))
    mine = set(first)
    for pair in _pairs([*first, *second]):
        if pair[0] in mine and pair[1] not in mine and not _is_empty(pair[0]):
            return pair
    return None


def parts_in(paths: Iterable[str]) -> Parts:
    """Return digests of files of reports, by which evidence of one of them is known again.

    Not of addresses, nor of small files, which others may have by chance. Of a large file, size and
    pieces from all over it are enough: no two files have so many rows in common. A text that grows
    keeps its beginning, which no other has: with ids of reports, or with rows that change often.
    """
    digests = set()
    for path in paths:
        size = 0 if is_remote(path) else Path(path).stat().st_size
        head = head_of(path)[:_SMALL] if size and format_of(path) in TEXTS else ""
        # Of sorted reports that repeat, few rows differ from the one before.
        changes = sum(one != other for one, other in pairwise(head.splitlines()))
        if len(head) == _SMALL and (REPORT_ID in head or changes >= _MANY):
            digests.add(digest(b"beginning", *_folders(path), head.encode()))
        if size >= _SMALL:
            digests.add(digest(b"%d" % size, *_folders(path), *_pieces(path, size)))
    return frozenset(sorted(digests)[:MOST_PARTS])


def _folders(path: str) -> list[bytes]:
    return [f"{name}={value}".encode() for name, value in folder_values(path).items()]


def _pieces(path: str, size: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        for start in range(0, size, max(_PIECE, size // _PIECES)):
            file.seek(start)
            yield file.read(_PIECE)


def _pairs(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield files of the same bytes, in folders that say the same."""
    sizes: dict[tuple[Any, ...], list[str]] = {}
    for path in paths:
        if not is_remote(path):
            sizes.setdefault((Path(path).stat().st_size, *_folders(path)), []).append(path)
    for alike in sizes.values():
        first: dict[bytes, str] = {}
        for path in alike if len(alike) > 1 else ():
            with open(path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            if content in first:
                yield first[content], path
            first[content] = path


def _is_empty(path: str) -> bool:
    """Say whether a file has no rows, so that a second copy changes nothing."""
    kind = format_of(path)
    if kind == "parquet":
        metadata = _metadata(path)
        return metadata is not None and metadata.num_rows == 0
    return kind == "csv" and len(head_of(path).splitlines()) < 2


def _has_ids(path: str) -> bool:
    """Say whether rows are told apart by their ids, so that those of a second copy do not count."""
    if format_of(path) == "parquet":
        metadata = _metadata(path)
        return metadata is not None and REPORT_ID in metadata.schema.to_arrow_schema().names
    # Of a text, the first line has the names; of an Arrow file, its first bytes.
    return REPORT_ID in head_of(path)


def _metadata(path: str) -> parquet.FileMetaData | None:
    try:
        return parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return None
