"""How files of reports are laid out: one check of their columns, whatever reads them afterwards.

Engines differ in what they make of files with other columns, another order of columns, other
types, or folders such as `mechanism=careful`. So files are sorted here into parts that are alike,
and an engine only ever reads a part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from freewill.errors import ReportError, first_line
from freewill.io import rows
from freewill.io.bombs import refuse_long_rows
from freewill.io.evidence_file import is_evidence_schema
from freewill.io.row_ends import csv_rows, ndjson_rows
from freewill.io.separators import first_row, head_of, separator_of
from freewill.io.sources import Files, is_remote

ADVICE = {
    "parquet": "Is it damaged, or not completely written? Write it again, or leave it out.",
    "csv": "Expected UTF-8, one row a line, columns separated by commas (or ; or tabs), "
    "names in the first line.",
    "ndjson": "Expected UTF-8 and one JSON object a line, with the keys mechanism and report.",
    "arrow": "Expected an Arrow IPC file (Feather version 2), completely written.",
}
_SEPARATOR = b"separator"


@dataclass(frozen=True)
class Part:
    """Files that are alike, and the columns that the names of their folders give."""

    paths: tuple[str, ...]
    folders: Mapping[str, str]
    columns: tuple[tuple[str, str], ...] = ()
    """Names and Arrow types: of a CSV all columns in their order, of NDJSON none, else those that
    count."""
    separator: str = ","
    """What stands between the columns of a CSV."""
    rows: int | None = None
    """Rows in the files, by their own account; None for files that lie elsewhere."""


def parts_of(files: Files, peek: Callable[[str], Any]) -> list[Part]:
    """Sort files into parts that an engine can read as one table.

    `peek` returns the Arrow schema of a file that lies elsewhere. NDJSON has no columns but keys,
    which may differ from line to line.
    """
    alike: dict[tuple[Any, ...], dict[str, int | None]] = {}
    kinds: dict[str, str] = {}
    for path in files.paths:
        folders, separator = _folders(path), ","
        columns: tuple[tuple[str, str], ...] = ()
        if files.format != "ndjson":
            schema = _schema(path, files.format, peek)
            _check_columns(schema, folders, path, files.format)
            if rows.REPORT in schema.names:
                kinds.setdefault(_family(schema.field(rows.REPORT).type), path)
            columns = _columns(schema, files.format)
            separator = (schema.metadata or {}).get(_SEPARATOR, b",").decode()
        key = (tuple(folders.items()), columns, separator)
        with _explained(path, files.format):
            alike.setdefault(key, {})[path] = _rows(path, files.format)
    _refuse_mixed(kinds)
    return [
        Part(tuple(counts), dict(folders), columns, separator, total(counts.values()))
        for (folders, columns, separator), counts in alike.items()
    ]


def total(counts: Iterable[int | None]) -> int | None:
    """Add up numbers of rows; the sum is unknown where one of them is.

    >>> total([2, 3]), total([2, None])
    (5, None)
    """
    listed = list(counts)
    return None if None in listed else sum(count or 0 for count in listed)


def by_place(part: Part) -> list[str]:
    """Return the names of a CSV's columns by which none is taken for another one.

    >>> by_place(Part((), {}, (("note", "string"), ("report", "string"), ("NOTE", "string"))))
    ['_0', 'report', '_2']
    """
    return [
        name if name in rows.NAMES else f"_{place}" for place, (name, _) in enumerate(part.columns)
    ]


def _check_columns(schema: Any, folders: Mapping[str, str], path: str, kind: str) -> None:
    """Refuse a file whose columns are not those of reports, with those that its folders give."""
    twice = [name for name in folders if name in schema.names]
    if twice:
        raise ReportError(
            f"{path} has a column {twice[0]!r} and so has the name of its folder: take "
            f"one of them away, or move the file."
        )
    known = {name.strip().lower() for name in schema.names} & {*rows.NAMES}
    if kind == "csv" and not known and rows.REPORT not in folders and rows.VALUE not in folders:
        raise ReportError(
            f"{path} has no column 'mechanism': its first line is "
            f"{rows.in_a_few_letters(schema.names)}. Expected a header there, with mechanism and "
            f"report (or value) and, if you like, report_id.{rows.SEPARATED}"
        )
    rows.check_names([*schema.names, *folders], path)


def _columns(schema: Any, kind: str) -> tuple[tuple[str, str], ...]:
    """Return names and types; the order of columns matters to readers of CSV alone."""
    found = [(field.name, str(field.type)) for field in schema]
    if kind == "csv":
        return tuple(found)
    return tuple(sorted(column for column in found if column[0] in rows.NAMES))


def _folders(path: str) -> dict[str, str]:
    """Return the columns of reports that names such as mechanism=careful give."""
    pairs = (part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    return {name: value for name, value in pairs if name in rows.NAMES}


def _schema(path: str, kind: str, peek: Callable[[str], Any]) -> Any:
    """Return the Arrow schema of a file."""
    with _explained(path, kind):
        schema = _schema_as_it_is(path, kind, peek)
        # Names are decoded when first asked for, those of a damaged file in vain.
        _ = schema.names
    if is_evidence_schema(schema):
        raise ReportError(f"{path} holds evidence, not reports: read it with load_evidence.")
    return schema


@contextmanager
def _explained(path: str, kind: str) -> Iterator[None]:
    """Turn what goes wrong with a file into an error that says what was expected of it."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path} cannot be read: {first_line(error)}. {ADVICE[kind]}") from None


def _rows(path: str, kind: str) -> int | None:
    """Return how many rows a file holds, by its own account and without an engine."""
    if is_remote(path):
        return None
    if kind == "parquet":
        return int(parquet.read_metadata(path).num_rows)
    if kind == "arrow":
        with pa.memory_map(path) as file:
            return int(ipc.open_file(file).count_rows())
    return csv_rows(path) if kind == "csv" else ndjson_rows(path)


def _schema_as_it_is(path: str, kind: str, peek: Callable[[str], Any]) -> Any:
    if is_remote(path):
        return peek(path)
    if kind == "csv":
        return _csv_schema(path)
    if kind == "arrow":
        return _checked_ipc(path)
    schema = parquet.read_schema(path)
    refuse_long_rows(path, rows.NAMES)
    return schema


def _checked_ipc(path: str) -> pa.Schema:
    """Return the schema of an Arrow file after checking every batch of it in full.

    Such a file is the memory of its columns, offsets and all: what reads a damaged one afterwards
    would follow them to wherever they point.
    """
    with pa.memory_map(path) as file:
        reader = ipc.open_file(file)
        for number in range(reader.num_record_batches):
            reader.get_batch(number).validate(full=True)
        return reader.schema


def _csv_schema(path: str) -> pa.Schema:
    """Return the names in the first row, all of them texts, and what separates them."""
    head = head_of(path)
    separator = separator_of(head, rows.NAMES)
    names = first_row(head, separator)
    return pa.schema([(name, pa.string()) for name in names], {_SEPARATOR: separator})


def _family(kind: Any) -> str:
    """Return what kinds of reports have in common that may stand together."""
    if pa.types.is_integer(kind):
        return "integers"
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "texts"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    return str(kind)


def _refuse_mixed(kinds: Mapping[str, str]) -> None:
    """Refuse reports of different kinds, of which an engine would cast some to the others' kind."""
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise ReportError(
            f"mixed types: reports are {one} in {first} and {other} in {second}. Read "
            f"them apart and merge their evidence with +."
        )
