"""What an engine is: something that holds rows of reports and answers queries on them."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeAlias

import narwhals as nw
import pyarrow as pa

from freewill.errors import ParameterError, ReportError, first_line, shown
from freewill.io import rows
from freewill.io.decoding import DecodedBlocks, Decoder
from freewill.io.files import TEXTS, Files, files_of
from freewill.io.layout import ADVICE, Part, parts_of, total
from freewill.io.rows import Columns
from freewill.stats.groups import Block, Source, Work

ENGINES = {"duckdb": "freewill.io.engines.duckdb", "spark": "freewill.io.engines.spark"}
"""The module of each engine, which starts one by `session` and loads when it is first used."""
Faults: TypeAlias = Mapping[str, str]
"""What may happen to any reports, however good: a pattern of what is said then, and what helps."""
LONG_ID = {
    r"a report_id of \d+ bytes": "Is something else in the column report_id? Rename the column, "
    "or leave it out."
}
MACHINE = {
    r"(?i)no space left on device|disk quota exceeded|errno 28\b": "The disk is full: make room, "
    "or set TMPDIR to a folder on a larger one.",
    r"(?i)too many open files": "Raise the limit of open files (ulimit -n), or read fewer files "
    "at once and merge their evidence with +.",
    r"(?i)permission denied|access denied|accesscontrolexception"
    r"|operation not permitted": "Whoever runs this may not read it: change its permissions, or "
    "read a copy.",
    r"(?i)cannot allocate memory|malloc of size|realloc of size|memoryerror|bad_alloc": "This "
    "machine's memory does not suffice: read fewer files at once and merge their evidence with +, "
    "or write Parquet in smaller row groups.",
}
"""What any engine may meet."""


class Session(Protocol):
    """A running engine: it turns files and Arrow tables into frames that Narwhals knows."""

    groups_bits: ClassVar[bool]
    """Whether bits with few patterns are best counted where the rows lie."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What it raises where a source is at fault, or it is itself."""

    def blamed(self, error: BaseException) -> tuple[str, str]:
        """Return what happened and, where no source is at fault, what helps."""

    def owns(self, source: Any) -> bool:
        """Say whether a source is a frame of this engine's own."""

    def scan(self, part: Part, kind: str) -> Any:
        """Return the rows of CSV, NDJSON or Parquet that is alike; of NDJSON the keys, as texts."""

    def table(self, arrow: Any, wanted: Sequence[str]) -> Any:
        """Return the rows of an Arrow table or dataset, with the columns of these names."""

    def renamed(self, frame: Any, names: Mapping[str, str]) -> Any:
        """Return the columns of a frame of the engine's own under other names, given by theirs."""

    def bounded(self, frame: Any, limits: Mapping[str, int]) -> Any:
        """Return a frame of the engine's own without texts that are longer than any can be.

        Those of the columns in `limits` are cut off behind one byte more than so many; a longer
        report_id than ids may have is an error. A file that holds a text once may repeat it in
        every row: whatever sorts or compares the rows would take forever.
        """

    def as_bytes(self, frame: Any) -> Any:
        """Return a frame whose reports are the bytes of their texts."""

    def peek(self, path: str) -> Any:
        """Return the Arrow schema of a file that lies elsewhere."""

    def batches(self, query: Any, longest: int) -> Iterator[Any]:
        """Run a query and yield the record batches of its answer.

        No report that can be right has more than `longest` bytes: a batch is to be small enough
        for reports so long, and what is longer may be cut off behind one byte more.
        """

    def keep(self, source: Any, table: "Table", decoder: Decoder) -> "Kept":
        """Return the rows that the decoder reads as a source of passes."""

    def progress(self) -> float:
        """Return the share done of the running query, 0 to 1; 0 if nobody knows."""

    def interrupt(self) -> None:
        """Stop the running query."""


Engine: TypeAlias = Callable[[Any, bool], AbstractContextManager[Session]]
"""Starts a session, or joins what runs already or has a source; to stream, with little memory."""


class Kept(Source, Protocol):
    """A source of passes over rows of a table, while that is open and afterwards."""

    def at_rest(self) -> Source:
        """Return the source as it is once the table is closed."""


@dataclass(frozen=True)
class Table:
    """Rows of reports with the columns that count, in the types that count."""

    frame: Any
    what: str
    session: Session
    paths: tuple[str, ...] = ()
    """The files that they are read from, if they are."""
    rows: int | None = None
    """How many rows the source says it holds, against which those that are read are held."""

    def batches(self, *queries: Any, longest: int = 0) -> Iterator[Any]:
        """Run queries one after the other and yield the record batches of their answers."""
        for query in queries:
            yield from self.session.batches(query, longest)

    def tell(self, query: Any, listener: Callable[[Any], None], longest: int) -> None:
        """Run a query and tell the record batches of its answer."""
        for batch in self.batches(query, longest=longest):
            listener(batch)


def engine_for(name: str, source: Any) -> Engine:
    """Return the engine of that name; a frame of an engine's own stays with that engine."""
    if not (isinstance(name, str) and name in ENGINES):
        raise ParameterError(f"engine={shown(name)}: expected {' or '.join(ENGINES)}.")
    if type(source).__module__.startswith("pyspark."):
        name = "spark"
    engine: Engine = import_module(ENGINES[name]).session
    return engine


@contextmanager
def opened(
    engine: Engine, source: Any, columns: Columns, streaming: bool = False
) -> Iterator[Table]:
    """Open files, a frame in memory or one of the engine's own, for the columns that count."""
    with engine(source, streaming) as session:
        own = session.owns(source)
        if own or is_frame(source):
            what = f"the {type(source).__module__.split('.')[0]} {type(source).__name__}"
            with explained(what, "Does it have the columns mechanism and report?", session):
                # What a query of one's own repeats, nobody knows without running it.
                count, native, limits = None, source, Columns().limits
                if not own:
                    arrow = as_arrow(source, what, columns)
                    count, limits = getattr(arrow, "num_rows", None), columns.limits
                    native = session.table(arrow, columns.names)
                columns.check(native.columns, what)
                native = session.bounded(_renamed(native, session, columns), limits)
                yield Table(columns.read(nw.from_native(native), what), what, session, rows=count)
            return
        files = files_of(source)
        with explained(str(files), ADVICE[files.format], session), files.unchanged():
            parts = parts_of(files, session.peek, columns)
            count = total(part.rows for part in parts)
            frame = _united(parts, files, session, columns)
            yield Table(frame, str(files), session, files.paths, count)


def _renamed(native: Any, session: Session, columns: Columns) -> Any:
    """Return the columns that count under their names in queries."""
    there = {name: columns.inner[name] for name in native.columns if name in columns.inner}
    if not there or all(name == inner for name, inner in there.items()):
        return native
    return session.renamed(native, there)


def _united(parts: Iterable[Part], files: Files, session: Session, columns: Columns) -> Any:
    """Return the rows of all files, part by part."""
    # In a text nothing repeats without being there again.
    limits = {} if files.format in TEXTS else columns.limits
    frames = []
    for part in parts:
        if files.format == "arrow":
            from pyarrow import dataset  # noqa: PLC0415

            native = session.table(dataset.dataset(list(part.paths), format="ipc"), part.wanted)
        else:
            native = session.scan(part, files.format)
        native = _renamed(native, session, columns)
        frame = nw.from_native(session.bounded(native, limits))
        if files.format == "ndjson":
            frame = _keys_in_use(frame, session, part.folders, str(files), columns)
        frames.append(columns.read(frame, str(files), part.folders))
    return rows.united(frames, session.as_bytes)


def _keys_in_use(
    frame: Any, session: Session, folders: Mapping[str, str], what: str, columns: Columns
) -> Any:
    """Leave out a key that is in no row, to be missed like a column of any other file."""
    names = frame.collect_schema().names()
    counts = frame.select(*(nw.col(name).count().alias(name) for name in names))
    present = next(row for batch in session.batches(counts, 0) for row in batch.to_pylist())
    twice = [name for name in folders if present.get(columns.inner[name])]
    if twice:
        raise ReportError(
            f"{what}: lines have a key {twice[0]!r} and so has their folder: take one of them "
            f"away, or move the files."
        )
    used = [name for name in names if present[name]]
    for _, *pair in columns.fields:
        report, value = (columns.inner[name] for name in pair)
        if report in used and value in used:
            # Lines of several files may differ, as long as each has one of the two.
            frame = _one_of_two(frame, session, what, report, value)
            used.remove(value)
    outer = {inner: name for name, inner in columns.inner.items()}
    columns.check([*(outer[name] for name in used), *folders], what)
    # Where folders give all, an id that no row has stands for the rows.
    return frame.select(*(used or [rows.REPORT_ID]))


def _one_of_two(frame: Any, session: Session, what: str, report: str, value: str) -> Any:
    """Return lines of which some have a report and some a value, as reports."""
    there, valued = ~nw.col(report).is_null(), ~nw.col(value).is_null()
    for batch in session.batches(frame.filter(there & valued).head(1), 0):
        if batch.num_rows:
            rows.refuse_both(what, report, value)
    written = nw.when(valued).then(rows.valued(nw.col(value))).otherwise(nw.col(report))
    return frame.with_columns(written.alias(report))


@dataclass(frozen=True, eq=False)
class TableSource:
    """Rows that are read anew for each pass, where they lie."""

    engine: Engine
    given: Any
    what: str
    decoder: Decoder
    table: Table | None = None
    """The table, while it is open."""
    held: ClassVar[bool] = False

    @contextmanager
    def _open_blocks(self) -> Iterator[DecodedBlocks]:
        opening = (
            opened(self.engine, self.given, self.decoder.columns, streaming=True)
            if self.table is None
            else nullcontext(self.table)
        )
        with opening as table:
            queries = wide_rows(table, self.decoder)
            yield DecodedBlocks(self.decoder, table.batches(*queries, longest=self.decoder.longest))

    def map(self, work: Work) -> Iterator[Any]:
        """Do the work here, while the rows stream by."""
        with self._open_blocks() as blocks:
            yield work(blocks)

    def blocks(self) -> Iterator[Block]:
        """Yield the reports as they stream by."""
        with self._open_blocks() as blocks:
            yield from blocks

    def at_rest(self) -> "TableSource":
        """Return a source that opens the table for each pass."""
        return replace(self, table=None)

    def close(self) -> None:
        """Nothing is kept between passes."""

    def __str__(self) -> str:
        return self.what


def wide_rows(table: Table, decoder: Decoder) -> list[Any]:
    """Return the queries for the rows that a decoder reads, each report once."""
    frames = rows.distinct(table.frame, decoder.spelling)
    return [rows.naming(frame, list(decoder.mechanisms)) for frame in frames]


def is_frame(source: Any) -> bool:
    """Say whether a source is a frame or table in memory, rather than paths."""
    if is_dataset(source) or isinstance(source, pa.RecordBatch):
        return True
    return nw.dependencies.is_into_dataframe(source) or hasattr(source, "collect_schema")


def is_dataset(source: Any) -> bool:
    """Say whether a source is a dataset of PyArrow, without loading what it drags in."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(source, module.Dataset)


def as_arrow(source: Any, what: str, columns: Columns) -> Any:
    """Return a frame of pandas, Polars or PyArrow as Arrow, only with the columns that count."""
    if is_dataset(source):
        kind = getattr(getattr(source, "format", None), "default_extname", "")
        # Parquet is checked when it is decoded.
        for batch in () if kind == "parquet" else source.to_batches():
            batch.validate(full=True)
        return source
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        source.validate(full=True)
    try:
        frame: Any = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        wanted = [name for name in frame.columns if name in columns.names]
        # In memory, names are told apart to the letter.
        alike = {name.lower() for name in wanted}
        others = [name for name in frame.columns if name.lower() not in alike]
        columns.check([*wanted, *others], what)
        return frame.select(wanted).to_arrow()
    except nw.exceptions.DuplicateError as error:
        raise ReportError(
            f"{what} has two columns of one name ({first_line(error)}): rename one."
        ) from None
    except (pa.ArrowException, TypeError) as error:
        raise ReportError(
            f"{what} has a column of mixed types ({first_line(error)}): make all reports "
            f"integers, all texts or all bytes."
        ) from None


@contextmanager
def explained(what: str, advice: str, session: Session) -> Iterator[None]:
    """Turn what an engine says of a source, or of itself, into an error that says what to do."""
    try:
        yield
    except (*session.failures, pa.ArrowException, OSError, MemoryError) as error:
        cause, other = session.blamed(error)
        raise ReportError(f"{what} cannot be read: {cause}. {other or advice}") from None


def blamed(error: BaseException, lines: Sequence[str], faults: Faults) -> tuple[str, str]:
    """Return what happened and what helps, from all that an error says; no advice if unknown.

    >>> lines = ["Could not write", "No space left on device"]
    >>> blamed(OSError(), lines, MACHINE)[0]
    'No space left on device'
    >>> blamed(ValueError("strange"), ["strange"], MACHINE)
    ('strange', '')
    """
    for pattern, advice in faults.items():
        for line in lines:
            if re.search(pattern, line):
                return line, advice
    return (lines[0] if lines else first_line(error)), ""
