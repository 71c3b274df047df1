"""Reports on one machine: files and frames as tables of DuckDB, streamed and out of core."""

import glob
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa
from pyarrow import dataset

from freewill.errors import ReportError
from freewill.reports.evidence_file import is_evidence
from freewill.reports.sources import Files, files_of, partition_columns

_MEMORY = "2GB"
_BATCH_ROWS = 1 << 17
ADVICE = {
    "parquet": "Is it damaged, or not completely written? Write it again, or leave it out.",
    "csv": "Expected UTF-8, one row a line, columns separated by commas, names in the first line.",
    "ndjson": "Expected UTF-8 and one JSON object a line, with the keys mechanism and report.",
    "arrow": "Expected an Arrow IPC file (Feather version 2), completely written.",
}


@dataclass(frozen=True)
class Table:
    """Rows of reports somewhere, and how to get the answers of queries on them."""

    frame: Any
    what: str
    batches: Callable[[Any], Iterator[Any]]
    grouped_bits: bool
    """Whether bits with few patterns are best counted where the rows lie."""
    progress: Callable[[], float] | None = None
    """The share done of the running query, 0 to 1."""
    interrupt: Callable[[], None] | None = None


@contextmanager
def embedded(source: Any) -> Iterator[Table]:
    """Open files, or a frame in memory, as a table of DuckDB."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        with explained("the DuckDB relation", "Does its query run by itself?"):
            yield Table(nw.from_native(source), "the DuckDB relation", _batches, False)
        return
    with tempfile.TemporaryDirectory(prefix="freewill-") as folder:
        connection = duckdb.connect(
            config={
                "temp_directory": folder,
                "memory_limit": _MEMORY,
                "preserve_insertion_order": False,
            }
        )
        try:
            # Progress is measured and never printed: `show` is told.
            connection.execute("SET enable_progress_bar_print = false")
            connection.execute("SET enable_progress_bar = true")
            if is_frame(source):
                rows = as_arrow(source)
                with explained(_named(source), "Does it have the columns mechanism and report?"):
                    yield _table(connection, connection.from_arrow(rows), _named(source))
            else:
                files = files_of(source)
                with explained(str(files), ADVICE[files.format]), files.unchanged():
                    yield _table(connection, _relation(connection, files), str(files))
        finally:
            connection.close()


def _table(connection: Any, relation: Any, what: str) -> Table:
    def share() -> float:
        return max(0.0, float(connection.query_progress()) / 100)

    return Table(nw.from_native(relation), what, _batches, False, share, connection.interrupt)


def _batches(query: Any) -> Iterator[Any]:
    """Run a query and yield its rows, a batch at a time."""
    relation = query.to_native()
    # Before DuckDB 1.4 the reader had another name.
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    yield from reader(_BATCH_ROWS)


def _relation(connection: Any, files: Files) -> Any:
    """Return the rows of files, with every type as docs/reports.md has it."""
    if files.format == "arrow":
        return connection.from_arrow(dataset.dataset(list(files.paths), format="ipc"))
    options: dict[str, Any] = {"hive_partitioning": True, "hive_types_autocast": False}
    if files.format == "parquet":
        check_parquet(files)
    elif files.format == "csv":
        # All told: what DuckDB finds out by itself may skip the lines that do not fit.
        dialect = {"header": True, "delim": ",", "quote": '"', "escape": '"', "comment": ""}
        options |= {**dialect, "skip": 0, "null_padding": False, "ignore_errors": False}
        options |= {"all_varchar": True, "allow_quoted_nulls": False, "union_by_name": True}
    else:
        options |= {"format": "newline_delimited", "columns": json_columns(connection, files)}
    reader = {"csv": "read_csv", "ndjson": "read_json"}.get(files.format, "read_parquet")
    given = ", ".join(f"{name}={_literal(value)}" for name, value in options.items())
    return connection.sql(f"SELECT * FROM {reader}({_paths(files)}, {given})")


def json_columns(connection: Any, files: Files) -> dict[str, str]:
    """Return the columns to read of NDJSON, all as texts, so that 5 and "5" are the same.

    A key that is in no row is left out, to be missed like a column of any other file.
    """
    every = dict.fromkeys(("mechanism", "report", "report_id"), "VARCHAR")
    found = connection.sql(
        f"SELECT {', '.join(f'count({name})' for name in every)} FROM read_json({_paths(files)}, "
        f"format='newline_delimited', columns={_literal(every)}, hive_partitioning=false)"
    ).fetchall()[0]
    present = {name for name, count in zip(every, found, strict=True) if count}
    partitions = set(partition_columns(files))
    return {name: every[name] for name in every if name in present - partitions} or {
        "report": "VARCHAR"
    }


def check_parquet(files: Files) -> None:
    """Refuse evidence, and files whose reports are of different kinds.

    An engine would cast the others' reports to the kind of the first.
    """
    for path in files.paths:
        if "://" not in path and is_evidence(path):
            raise ReportError(f"{path} holds evidence, not reports: read it with load_evidence.")
    if len(files.paths) == 1 or not files.states:
        return
    with duckdb.connect() as connection:
        kinds = connection.sql(
            f"SELECT type || coalesce(' ' || converted_type, '') AS kind, min(file_name) "
            f"FROM parquet_schema({_paths(files)}) WHERE name = 'report' GROUP BY kind "
            f"ORDER BY kind"
        ).fetchall()
    families = {_family(kind): (kind, path) for kind, path in kinds}
    if len(families) > 1:
        (one, first), (other, second), *_ = families.values()
        raise ReportError(
            f"mixed types: column 'report' is {one} in {first} and {other} in {second}. Read "
            f"them apart and merge their evidence with +."
        )


def _family(kind: str) -> str:
    return "integers" if kind.startswith("INT") and "DECIMAL" not in kind else kind


def _paths(files: Files) -> str:
    return _literal([path if "://" in path else glob.escape(path) for path in files.paths])


def _literal(value: Any) -> str:
    """Write a value as SQL."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return "'" + str(value).replace("'", "''") + "'"


def is_frame(source: Any) -> bool:
    """Say whether a source is a frame or table in memory, rather than paths."""
    if isinstance(source, dataset.Dataset | pa.RecordBatch):
        return True
    return nw.dependencies.is_into_dataframe(source) or hasattr(source, "collect_schema")


def as_arrow(source: Any) -> Any:
    """Return a frame of pandas, Polars or PyArrow as Arrow, only with the columns that count."""
    if isinstance(source, dataset.Dataset):
        return source
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    try:
        frame: Any = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        wanted = [name for name in frame.columns if name in {"mechanism", "report", "report_id"}]
        return (frame.select(wanted) if "report" in wanted else frame).to_arrow()
    except (pa.ArrowException, TypeError) as error:
        raise ReportError(
            f"{_named(source)} has a column of mixed types ({first_line(error)}): make all "
            f"reports integers, all texts or all bytes."
        ) from None


def _named(source: Any) -> str:
    kind = type(source)
    return f"the {kind.__module__.split('.')[0]} {kind.__name__}"


@contextmanager
def explained(what: str, advice: str) -> Iterator[None]:
    """Turn what an engine says of a source into an error that says what to do."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise ReportError(f"{what} cannot be read: {first_line(error)}. {advice}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
