"""DuckDB: reports on one machine, streamed and out of core."""

import glob
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import duckdb

from freewill.errors import ReportError, first_line
from freewill.io import rows
from freewill.io.decoding import Decoder
from freewill.io.engines.base import LONG_ID, MACHINE, Table, TableSource, blamed
from freewill.io.files import is_remote
from freewill.io.layout import Part, by_place
from freewill.io.rows import LONGEST_ID

_MEMORY = "2GB"
_OUT_OF_MEMORY = (
    f"The reports are fine; the {_MEMORY} that DuckDB may take do not suffice: write Parquet in "
    f"smaller row groups, read fewer files at once and merge their evidence with +, or use "
    f"engine='spark'."
)
_MEMORY_SIGNS = r"(?i)out of memory|failed to (allocate|pin block|offload)|could not allocate"
_FAULTS = {_MEMORY_SIGNS: _OUT_OF_MEMORY, **LONG_ID, **MACHINE}
_BATCH_ROWS, _FEWEST_ROWS = 1 << 16, 1 << 11
_BATCH_BYTES = 1 << 27
# All told: what DuckDB finds out by itself may skip the lines that do not fit.
_CSV = (
    "auto_detect=false, header=true, quote='\"', escape='\"', comment='', skip=0, "
    "null_padding=false, ignore_errors=false, allow_quoted_nulls=false, hive_partitioning=false"
)
_NDJSON = "format='newline_delimited', hive_partitioning=false"
_LENGTH = {"VARCHAR": "strlen", "BLOB": "octet_length"}
_ID = (
    f"CASE WHEN strlen(report_id) > {LONGEST_ID} THEN error('a report_id of ' || strlen(report_id) "
    f"|| ' bytes: ids have at most {LONGEST_ID}') ELSE report_id END AS report_id"
)
_READERS = {
    "csv": ("read_csv", _CSV),
    "ndjson": ("read_json", _NDJSON),
    "parquet": ("read_parquet", "hive_partitioning=false, union_by_name=true"),
}


@dataclass(frozen=True)
class Running:
    """A database in memory, with a limit and a folder of its own for what exceeds it."""

    connection: Any
    groups_bits: ClassVar[bool] = False

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What DuckDB raises where a source is at fault, or it is itself."""
        return (duckdb.Error,)

    def blamed(self, error: BaseException) -> tuple[str, str]:
        """Return what happened and, where no source is at fault, what helps."""
        return blamed(error, [first_line(error)], _FAULTS)

    def owns(self, source: Any) -> bool:
        """Say whether a source is a relation of DuckDB."""
        return isinstance(source, duckdb.DuckDBPyRelation)

    def keep(self, source: Any, table: Table, decoder: Decoder) -> TableSource:
        """Return a source that reads the rows anew for each pass."""
        return TableSource(session, source, table.what, decoder, table)

    def scan(self, part: Part, kind: str) -> Any:
        """Return the rows of files that are alike."""
        paths = part.paths
        listed = [path if is_remote(path) else glob.escape(path) for path in paths]
        quoted = ", ".join(f"'{_doubled(path, chr(39))}'" for path in listed)
        reader, options = _READERS[kind]
        if kind == "csv":
            options = f"{options}, delim='{part.separator}', columns={_as_texts(by_place(part))}"
        if kind == "ndjson":
            options = f"{options}, columns={_as_texts(part.wanted)}"
        try:
            relation = self.connection.sql(f"SELECT * FROM {reader}([{quoted}], {options})")
            if kind == "csv" and len(part.columns) == 1:
                # An empty line is no row, where one column would make it one; "" is.
                (name,) = by_place(part)
                return relation.filter(f"{_quoted(name)} IS NOT NULL")
            return relation
        except duckdb.Error as error:
            if is_remote(paths[0]) and "extension" in str(error):
                raise ReportError(
                    f"{paths[0]} lies elsewhere, and DuckDB needs an extension to reach it, which "
                    f"is never downloaded on its own. Copy the files here, install it by `INSTALL "
                    f"httpfs` in DuckDB, or use engine='spark'."
                ) from None
            raise

    def table(self, arrow: Any, wanted: Sequence[str]) -> Any:
        """Return the rows of an Arrow table or dataset."""
        return self.connection.from_arrow(arrow)

    def renamed(self, frame: Any, names: Mapping[str, str]) -> Any:
        """Return some columns of a relation under other names."""
        pairs = (f"{_quoted(name)} AS {_quoted(new)}" for name, new in names.items())
        return frame.project(", ".join(pairs))

    def bounded(self, frame: Any, limits: Mapping[str, int]) -> Any:
        """Return a relation in which no text is longer than any can be."""
        kinds = _kinds(frame)
        long = {}
        for name, limit in limits.items():
            length = f"{_LENGTH.get(kinds.get(name, ''))}({name}) > {limit}"
            if kinds.get(name) in _LENGTH and frame.filter(length).limit(1).fetchall():
                long[name] = limit + 1
        frame = _cut(frame, long)
        return (
            frame.project(f"* REPLACE ({_ID})") if kinds.get(rows.REPORT_ID) == "VARCHAR" else frame
        )

    def as_bytes(self, frame: Any) -> Any:
        """Return a frame whose reports are the bytes of their texts: a cast would read escapes."""
        return frame.project("* REPLACE (encode(report) AS report)")

    def peek(self, path: str) -> Any:
        """Return the Arrow schema of a Parquet file that lies elsewhere."""
        return self.scan(Part((path,), {}), "parquet").limit(0).to_arrow_table().schema

    def batches(self, query: Any, longest: int) -> Iterator[Any]:
        """Run a query and yield its rows, a batch at a time."""
        relation = _cut(query.to_native(), {rows.REPORT: longest + 1})
        size = max(_FEWEST_ROWS, min(_BATCH_ROWS, _BATCH_BYTES // (longest + 1)))
        try:
            # Before DuckDB 1.4 the reader had another name.
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
            yield from reader(size)
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None

    def progress(self) -> float:
        """Return the share done of the running query."""
        return max(0.0, float(self.connection.query_progress()) / 100)

    def interrupt(self) -> None:
        """Stop the running query."""
        self.connection.interrupt()


def _as_texts(names: Sequence[str]) -> str:
    """Return the columns of a text file, all as texts, so that 5 and "5" are the same."""
    listed = (f"'{_doubled(name, chr(39))}': VARCHAR" for name in names)
    return f"{{{', '.join(listed)}}}"


def _quoted(name: str) -> str:
    return f'"{_doubled(name, chr(34))}"'


def _doubled(text: str, sign: str) -> str:
    return text.replace(sign, 2 * sign)


def _kinds(relation: Any) -> dict[str, str]:
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _cut(relation: Any, lengths: Mapping[str, int]) -> Any:
    """Cut texts and bytes off behind so many: a file may hold a long one once, and repeat it."""
    kinds = _kinds(relation)
    short = {"VARCHAR": "left({0}, {1}) AS {0}", "BLOB": "{0}[1:{1}] AS {0}"}
    cut = [
        short[kinds[name]].format(name, length)
        for name, length in lengths.items()
        if kinds.get(name) in short
    ]
    return relation.project(f"* REPLACE ({', '.join(cut)})") if cut else relation


@contextmanager
def session(source: Any = None, streaming: bool = False) -> Iterator[Running]:
    """Start a database of our own; one thread is enough for a stream, and needs less memory."""
    with tempfile.TemporaryDirectory(prefix="freewill-") as folder:
        config: dict[str, Any] = {
            "temp_directory": folder,
            "memory_limit": _MEMORY,
            "preserve_insertion_order": False,
            # Nothing is ever downloaded; what the user has installed may be loaded.
            "autoinstall_known_extensions": False,
            **({"threads": 1} if streaming else {}),
        }
        with duckdb.connect(config=config) as connection:
            # For `show`, and never printed; in a notebook without ipywidgets DuckDB refuses both
            # settings, and prints nothing.
            with suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar_print = false")
                connection.execute("SET enable_progress_bar = true")
            yield Running(connection)
