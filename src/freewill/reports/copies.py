"""Files of reports that are copies of each other: everyone in them would count twice."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from freewill.errors import ReportError
from freewill.reports.rows import REPORT_ID
from freewill.reports.separators import head_of
from freewill.reports.sources import files_of, format_of, is_remote


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
    for first, second in _pairs(source):
        if not _harmless(first):
            raise ReportError(
                f"{first} and {second} hold the same reports, of people who would count twice: is "
                f"one a copy? If not, give --equal to `freewill collect`."
            )


def _pairs(source: Any) -> Iterator[tuple[str, str]]:
    """Yield files of the same bytes."""
    sizes: dict[tuple[Any, ...], list[str]] = {}
    for path in files_of(source).paths:
        if not is_remote(path):
            told = [part for part in Path(path).parent.parts if "=" in part]
            sizes.setdefault((Path(path).stat().st_size, *told), []).append(path)
    for alike in sizes.values():
        known: dict[bytes, str] = {}
        for path in alike if len(alike) > 1 else ():
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
            if digest in known:
                yield known[digest], path
            known[digest] = path


def _harmless(path: str) -> bool:
    """Say whether a second copy changes nothing: without rows, or with rows known by their ids."""
    kind = format_of(path)
    if kind == "parquet":
        try:
            found = parquet.read_metadata(path)
        except (pa.ArrowException, OSError):
            return False
        return found.num_rows == 0 or REPORT_ID in found.schema.to_arrow_schema().names
    # Of a text, the first line has the names; of an Arrow file, its first bytes.
    head = head_of(path)
    return REPORT_ID in head or (kind == "csv" and len(head.splitlines()) < 2)
