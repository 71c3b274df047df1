"""Where reports lie: paths, globs and folders into one list of files, of one format, unchanged."""

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from freewill.core.files import checked_path
from freewill.errors import ReportError, several, shown

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
_COMPRESSED = {".gz", ".zst"}


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
        for path, (size, time) in zip(self.paths, self.states, strict=False):
            now_size, now_time = _state(path)
            if (now_size, now_time) != (size, time):
                raise ReportError(
                    f"{path} changed while it was read ({several(size, 'byte')} at first, "
                    f"{now_size:,} now). Read it again when nothing writes to it, or read a copy."
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
    paths = []
    for one in given:
        text = os.fspath(one) if isinstance(one, os.PathLike) else one
        if not isinstance(text, str):
            raise ReportError(f"source {shown(one)}: expected a path as text, or a frame.")
        try:
            paths += _listed(local_path(text))
        except OSError as error:  # a name that is too long, a folder that may not be read
            raise ReportError(f"{shown(one)} cannot be read: {error.strerror}.") from None
    for path in paths:
        checked_path(path, ReportError)
    paths = _each_once(paths)
    formats = {format_of(path): path for path in paths}
    if len(formats) > 1:
        (one, first), (other, second), *_ = formats.items()
        raise ReportError(
            f"{first} is {one} and {second} is {other}: read files of one format at a time and "
            f"merge their evidence with +."
        )
    local = [path for path in paths if not is_remote(path)]
    states = tuple(_state(path) for path in local) if len(local) == len(paths) else ()
    for path, (size, _) in zip(paths, states, strict=False):
        if size == 0:
            raise ReportError(
                f"{path} is empty, 0 bytes: expected reports. Was it written completely?"
            )
    return Files(tuple(paths), next(iter(formats)), states)


def _listed(text: str) -> list[str]:
    """List the files of one path, glob or folder."""
    if is_remote(text):
        return [text]
    if Path(text).is_dir():
        return _inside(Path(text))
    return [text] if Path(text).is_file() else _matching(text)


def local_path(text: str) -> str:
    """Return the path that an address of a local file stands for.

    >>> local_path("file:///data/r.csv"), local_path("s3://data/r.csv")
    ('/data/r.csv', 's3://data/r.csv')
    """
    return url2pathname(urlsplit(text).path) if text.lower().startswith("file:/") else text


def _each_once(paths: list[str]) -> list[str]:
    """Leave out a file that is named twice, also by a link or another spelling of its path."""
    known: dict[Any, str] = {}
    for path in paths:
        if is_remote(path):
            known.setdefault(path, path)
        else:
            state = os.stat(path)
            known.setdefault((state.st_dev, state.st_ino), path)
    return list(known.values())


def is_remote(path: str) -> bool:
    """Say whether a path is an address such as s3://bucket/reports.parquet."""
    return "://" in path


def format_of(path: str) -> str:
    """Return the format of a file by its suffix.

    >>> format_of("monday/reports.csv.gz")
    'csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _COMPRESSED
    suffix = (suffixes[:-1] if packed else suffixes)[-1:] or [""]
    if suffix == [""] and is_remote(path):
        return "parquet"
    found = FORMATS.get(suffix[0])
    if found is None or (packed and found not in TEXTS):
        raise ReportError(
            f"{path}: no file of reports has this suffix; expected one of {', '.join(FORMATS)}. "
            f"In a folder with other files, name those to read: folder/*.parquet."
        )
    return found


def _inside(folder: Path) -> list[str]:
    """List the files in a folder and below, but for hidden ones and marks such as _SUCCESS."""
    found = sorted(
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    if not found:
        raise ReportError(f"{folder}: there are no files in this folder; expected reports.")
    return found


def _matching(pattern: str) -> list[str]:
    found = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
    if found:
        return found
    if glob.has_magic(pattern):
        raise ReportError(f"{pattern}: no file matches this pattern.")
    raise ReportError(f"{pattern}: there is no such file or folder.")


def _state(path: str) -> tuple[int, int]:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return -1, -1
    return state.st_size, state.st_mtime_ns
