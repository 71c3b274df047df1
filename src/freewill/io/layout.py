"""How files of reports are laid out: one check of their columns, whatever reads them afterwards.

Engines differ in what they make of files with other columns, another order of columns, other
types, or folders such as `mechanism=careful`. So files are sorted here into parts that are alike,
and an engine only ever reads a part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from freewill.errors import ReportError, first_line
from freewill.io import files, rows
from freewill.io.parquet_pages import refuse_long_rows
from freewill.io.rows import Columns

ADVICE = {
    "parquet": "Is it damaged, or not completely written? Write it again, or leave it out.",
    "csv": "Expected UTF-8, one row a line, columns separated by commas (or ; or tabs), "
    "names in the first line.",
    "ndjson": "Expected UTF-8 and one JSON object a line, with the keys mechanism and report.",
    "arrow": "Expected an Arrow IPC file (Feather version 2), completely written.",
}

_OF_ONE_QUESTION = Columns()


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
    wanted: tuple[str, ...] = _OF_ONE_QUESTION.names
    """The names of the columns that count."""


def parts_of(
    listed: files.Files, peek: Callable[[str], Any], columns: Columns = _OF_ONE_QUESTION
) -> list[Part]:
    """Sort files into parts that an engine can read as one table.

    `peek` returns the Arrow schema of a file that lies elsewhere. NDJSON has no columns but keys,
    which may differ from line to line.
    """
    alike: dict[tuple[Any, ...], dict[str, int | None]] = {}
    kinds: dict[str, str] = {}
    for path in listed.paths:
        folders = {n: own for n, own in files.folder_values(path).items() if n in columns.names}
        # Names are decoded when first asked for, those of a damaged file in vain.
        with _explained(path, listed.format):
            schema, separator, count = _described(path, listed.format, peek, columns.names)
            if listed.format != "ndjson":
                _check_columns(schema, folders, path, listed.format, columns)
            if rows.REPORT in schema.names and rows.REPORT in columns.names:
                kinds.setdefault(files.type_family(schema.field(rows.REPORT).type), path)
            if listed.format in files.TEXTS and not files.is_remote(path):
                count = files.csv_rows(path) if listed.format == "csv" else files.ndjson_rows(path)
        key = (tuple(folders.items()), _columns(schema, listed.format, columns.names), separator)
        alike.setdefault(key, {})[path] = count
    if len(kinds) > 1:  # an engine would cast some to the others' kind
        (kind, first), (other_kind, second), *_ = kinds.items()
        raise ReportError(
            f"mixed types: reports are {kind} in {first} and {other_kind} in {second}. Read "
            f"them apart and merge their evidence with +."
        )
    return [
        Part(tuple(counts), dict(folders), own, separator, total(counts.values()), columns.names)
        for (folders, own, separator), counts in alike.items()
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
        name if name in part.wanted else f"_{place}" for place, (name, _) in enumerate(part.columns)
    ]


def _check_columns(
    schema: Any, folders: Mapping[str, str], path: str, kind: str, columns: Columns
) -> None:
    """Refuse a file whose columns are not those of reports, with those that its folders give."""
    if files.EVIDENCE_KEY in (schema.metadata or {}):
        raise ReportError(f"{path} holds evidence, not reports: read it with load_evidence.")
    twice = [name for name in folders if name in schema.names]
    if twice:
        raise ReportError(
            f"{path} has a column {twice[0]!r} and so has the name of its folder: take "
            f"one of them away, or move the file."
        )
    wanted = {name.lower() for name in columns.names}
    named = {name.strip().lower() for name in schema.names} & wanted
    others = [name for name in folders if name not in (rows.MECHANISM, rows.REPORT_ID)]
    if kind == "csv" and not named and not others:
        raise ReportError(
            f"{path} has no column 'mechanism': its first line is "
            f"{rows.in_a_few_letters(schema.names)}. Expected a header there, with "
            f"{columns.expected}.{rows.SEPARATED}"
        )
    columns.check([*schema.names, *folders], path)


def _columns(schema: Any, kind: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return names and types; the order of columns matters to readers of CSV alone."""
    columns = [(field.name, str(field.type)) for field in schema]
    if kind == "csv":
        return tuple(columns)
    return tuple(sorted(column for column in columns if column[0] in names))


@contextmanager
def _explained(path: str, kind: str) -> Iterator[None]:
    """Turn what goes wrong with a file into an error that says what was expected of it."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path} cannot be read: {first_line(error)}. {ADVICE[kind]}") from None


def _described(
    path: str, kind: str, peek: Callable[[str], Any], names: tuple[str, ...]
) -> tuple[Any, str, int | None]:
    """Return the Arrow schema of a file, what separates its columns, and its rows if it says so.

    An Arrow file is the memory of its columns, offsets and all: what reads a damaged one would
    follow them to wherever they point. So every batch of it is checked in full.
    """
    if kind == "ndjson":
        return pa.schema([]), ",", None
    if files.is_remote(path):
        return peek(path), ",", None
    if kind == "csv":
        head = files.head_of(path)
        separator = files.separator_of(head, names)
        header = files.first_row(head, separator)
        return pa.schema([(name, pa.string()) for name in header]), separator, None
    if kind == "arrow":
        with pa.memory_map(path) as memory:
            reader = ipc.open_file(memory)
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)
            return reader.schema, ",", int(reader.count_rows())
    with parquet.ParquetFile(path) as file:
        schema, count = file.schema_arrow, int(file.metadata.num_rows)
    refuse_long_rows(path, names)
    return schema, ",", count
