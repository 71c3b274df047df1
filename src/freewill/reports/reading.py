"""From reports to evidence: one call, whatever the format and the engine."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import narwhals as nw

from freewill.errors import ParameterError, ReportError
from freewill.evidence import Evidence
from freewill.reports import rows
from freewill.reports.embedded import Table, embedded
from freewill.reports.packed import narrow
from freewill.reports.survey import Survey
from freewill.reports.tally import Invalid, Tally
from freewill.reports.wire import Bits, codec_of

Engine: TypeAlias = Literal["duckdb", "spark"]
Show: TypeAlias = Callable[[float], None]
_POLL_SECONDS = 0.1


class InvalidReports(UserWarning):
    """Some rows were invalid and were left out of the evidence."""


@dataclass(frozen=True)
class Reading:
    """What was read: rows = people in the evidence + duplicates + invalid rows."""

    evidence: Evidence
    rows: int
    duplicates: int
    invalid: tuple[Invalid, ...]

    @property
    def refused(self) -> int:
        """How many rows were invalid."""
        return sum(part.count for part in self.invalid)

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows, {self.duplicates:,} duplicates, {self.refused:,} invalid"]
        return "\n".join([*lines, *(f"  {part}" for part in self.invalid), str(self.evidence)])


def read(
    source: Any,
    survey: Survey | str | Path,
    *,
    engine: Engine = "duckdb",
    strict: bool = False,
    show: Show | None = None,
) -> Reading:
    """Read reports into evidence, and tell how many rows were duplicates or invalid.

    `source` is a path, a glob, a folder (also partitioned) or a list of those: Parquet, CSV,
    NDJSON or Arrow files; or a frame of pandas, Polars, PyArrow, DuckDB or Spark. Rows that are
    invalid are counted by reason; with `strict` they are an error. Of rows with the same
    `report_id` one counts. `show` is called with the share done, 0 to 1. Counting is left to the
    engine; memory grows with the distinct outputs, not with the rows.

    >>> import freewill as fw, pyarrow as pa
    >>> ages = fw.Linear(0, 99)
    >>> survey = fw.Survey(ages, {"careful": fw.KRR(ages, 1.0)})
    >>> rows = pa.table({"mechanism": ["careful", "careful", "other"], "report": [7, 120, 7]})
    >>> for left_out in read(rows, survey).invalid:
    ...     print(left_out)
    1 rows: unknown mechanism (mechanism 'other', report 7)
    1 rows: report out of range (mechanism 'careful', report 120)
    """
    if not isinstance(survey, Survey):
        survey = Survey.load(survey)
    tally = Tally(survey)
    with _table(source, engine) as table:
        frame = rows.checked_columns(table.frame, table.what)
        numbered = rows.REPORT_ID in frame.collect_schema()
        total = _total(table, frame) if numbered else None
        queries = list(_queries(frame, numbered, _streamed(survey, table.grouped_bits)))
        for number, query in enumerate(queries):
            _run(table, query, tally, _part_of(show, number, len(queries)))
    evidence = tally.evidence()
    if show is not None:
        show(1.0)
    total = tally.rows if total is None else total
    reading = Reading(evidence, total, total - tally.rows, tally.invalid())
    if strict and reading.invalid:
        raise ReportError(_complaint(reading, table.what))
    return reading


def read_reports(
    source: Any,
    survey: Survey | str | Path,
    *,
    engine: Engine = "duckdb",
    strict: bool = False,
    show: Show | None = None,
) -> Evidence:
    """Read reports into evidence, as `read` does; warn if rows were invalid.

    >>> import freewill as fw, pyarrow as pa
    >>> survey = fw.Survey(fw.Linear(0, 9), {"mine": fw.KRR(fw.Linear(0, 9), epsilon=1.0)})
    >>> print(fw.read_reports(pa.table({"mechanism": ["mine"] * 3, "report": [7, 7, 2]}), survey))
    3 people, 1 mechanisms, alphabet 0..9
                 3 people           2 distinct outputs  k-rr(0..9, epsilon=1)
    """
    reading = read(source, survey, engine=engine, strict=strict, show=show)
    if reading.invalid:
        what = source if isinstance(source, str | Path) else "the reports"
        warnings.warn(_complaint(reading, str(what)), InvalidReports, stacklevel=2)
    return reading.evidence


def _complaint(reading: Reading, what: str) -> str:
    reasons = "; ".join(map(str, reading.invalid))
    return f"{reading.refused:,} of {reading.rows:,} rows of {what} are invalid: {reasons}."


def _table(source: Any, engine: str) -> AbstractContextManager[Table]:
    """Open a source with the engine asked for; frames of Spark stay on Spark."""
    if engine not in get_args(Engine):
        raise ParameterError(f"engine={engine!r}: expected duckdb or spark.")
    if engine == "spark" or nw.dependencies.is_pyspark_dataframe(source):
        from freewill.reports.spark import on_spark  # noqa: PLC0415

        return on_spark(source)
    return embedded(source)


def _streamed(survey: Survey, grouped_bits: bool) -> list[str]:
    """Return names and ids of the mechanisms whose reports are streamed, not grouped.

    Bits rarely repeat, and where they do a table of patterns beside the stream is faster.
    """
    names: list[str] = []
    for name, mechanism in survey.mechanisms.items():
        codec = codec_of(mechanism)
        if isinstance(codec, Bits) and not (grouped_bits and narrow(codec.size)):
            names += [name, mechanism.id]
    return names


def _queries(frame: Any, numbered: bool, streamed: list[str]) -> Iterator[Any]:
    for part in (rows.unnumbered(frame), rows.once(frame)) if numbered else (frame,):
        yield rows.counted(rows.not_of(part, streamed))
        if streamed:
            yield rows.single(rows.of(part, streamed))


def _total(table: Table, frame: Any) -> int:
    """Count all rows."""
    answers = table.batches(frame.select(nw.len().alias(rows.COUNT)))
    return sum(int(number) for batch in answers for number in batch.column(0).to_pylist())


def _run(table: Table, query: Any, tally: Tally, show: Show | None) -> None:
    """Count the answer of a query; the caller's thread shows progress meanwhile."""

    def work() -> None:
        for batch in table.batches(query):
            tally.add(batch)

    if show is None or table.progress is None:
        work()
        return
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        try:
            while wait([running], timeout=_POLL_SECONDS).not_done:
                show(table.progress())
        except KeyboardInterrupt:
            if table.interrupt is not None:
                table.interrupt()
            raise
        running.result()


def _part_of(show: Show | None, number: int, of: int) -> Show | None:
    return None if show is None else lambda share: show((number + min(share, 1.0)) / of)
