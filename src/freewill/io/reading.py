"""From reports to evidence: one call, whatever the format and the engine."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, TypeAlias

from freewill.core.types import checked_hold
from freewill.domain.outputs import Reason
from freewill.domain.survey import Survey
from freewill.errors import ReportError, several, shown
from freewill.io import rows
from freewill.io.copies import parts_in
from freewill.io.decoding import Decoder, Invalid, Tally
from freewill.io.engines.base import Kept, Table, engine_for, opened
from freewill.stats.evidence import Evidence, assemble
from freewill.stats.groups import Group
from freewill.stats.provenance import own_part
from freewill.stats.streams import HELD_BYTES, Block, Held, Source, Stream, Summaries, summarising

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
        many = several(self.rows, "row"), several(self.duplicates, "duplicate")
        lines = [f"{', '.join(many)}, {self.refused:,} invalid"]
        return "\n".join([*lines, *(f"  {part}" for part in self.invalid), str(self.evidence)])


def read(
    source: Any,
    survey: Survey | str | Path,
    *,
    engine: str = "duckdb",
    strict: bool = False,
    show: Show | None = None,
    hold: int = HELD_BYTES,
) -> Reading:
    """Read reports into evidence, and tell how many rows were duplicates or invalid.

    `source` is a path, a glob, a folder (also partitioned) or a list of those: Parquet, CSV,
    NDJSON or Arrow files; or a frame of pandas, Polars, PyArrow, DuckDB or Spark. Rows that are
    invalid are counted by reason; with `strict` they are an error. Rows with the same `report_id`
    count once if they are the same, and are invalid if they differ. `show` is called with the
    share done, 0 to 1. Counting is left to the engine; memory grows with the distinct outputs, not
    with the rows. Reports that do not repeat (wide bits) are brought into memory up to `hold`
    bytes; more stay where they lie, and each pass of a solver reads them there.

    >>> import freewill as fw, pyarrow as pa
    >>> ages = fw.Linear(0, 99)
    >>> survey = fw.Survey(ages, {"careful": fw.KRR(ages, 1.0)})
    >>> rows = pa.table({"mechanism": ["careful", "careful", "other"], "report": [7, 120, 7]})
    >>> for left_out in read(rows, survey).invalid:
    ...     print(left_out)
    1 row: unknown mechanism (mechanism 'other', report 7)
    1 row: report out of range (mechanism 'careful', report 120)
    """
    survey = survey if isinstance(survey, Survey) else Survey.load(survey)
    if show is not None and not callable(show):
        raise ReportError(f"show={shown(show)}: expected a function of the share done.")
    if not isinstance(strict, bool):
        raise ReportError(f"strict={shown(strict)}: expected True or False.")
    checked_hold(hold, ReportError)
    tally, wide = Tally(survey), Decoder.of(survey, repeats=False)
    with opened(engine_for(engine, source), source, wide.limits) as table:
        works: list[Callable[[], Any]] = [
            partial(_count, table, query, tally, wide.longest)
            for query in _queries(table, survey, wide)
        ]
        if rows.is_numbered(table.frame):
            works.append(partial(_count_duplicates, table, wide.spelling, tally))
        if wide.by_id:
            stream = table.session.keep(source, table, wide)
            passes = stream.map(summarising(wide.by_id))
            works.append(lambda: reduce(add, passes, Summaries({})))
        answers = _watched(table, works, show)
        groups = list(tally.groups())
        if wide.by_id:
            summary: Summaries = answers.pop()
            tally.refusals.merge(summary.refused)
            groups += _streamed(stream, summary, wide, survey, hold)
        files, duplicates = parts_in(table.paths), sum(answers)
    evidence = assemble(survey.alphabet, groups)
    evidence = replace(evidence, parts=own_part(evidence) | files)
    if show is not None:
        show(1.0)
    invalid = tally.refusals.invalid()
    total = evidence.people + duplicates + sum(part.count for part in invalid)
    _refuse_lost_rows(table, total)
    reading = Reading(evidence, total, duplicates, invalid)
    if strict and reading.invalid:
        raise ReportError(_complaint(reading, table.what))
    return reading


def read_reports(
    source: Any,
    survey: Survey | str | Path,
    *,
    engine: str = "duckdb",
    strict: bool = False,
    show: Show | None = None,
    hold: int = HELD_BYTES,
) -> Evidence:
    """Read reports into evidence, as `read` does; warn if rows were invalid.

    >>> import freewill as fw, pyarrow as pa
    >>> survey = fw.Survey(fw.Linear(0, 9), {"mine": fw.KRR(fw.Linear(0, 9), epsilon=1.0)})
    >>> print(fw.read_reports(pa.table({"mechanism": ["mine"] * 3, "report": [7, 7, 2]}), survey))
    3 people, 1 mechanism, alphabet 0..9
                 3 people           2 distinct outputs  mine: k-rr(0..9, epsilon=1)
    """
    reading = read(source, survey, engine=engine, strict=strict, show=show, hold=hold)
    if reading.invalid:
        what = source if isinstance(source, str | Path) else "the reports"
        warnings.warn(_complaint(reading, str(what)), InvalidReports, stacklevel=2)
    return reading.evidence


def _complaint(reading: Reading, what: str) -> str:
    reasons = "; ".join(map(str, reading.invalid))
    verb = "is" if reading.refused == 1 else "are"
    many = several(reading.rows, "row")
    return f"{reading.refused:,} of {many} of {what} {verb} invalid: {reasons}."


def _queries(table: Table, survey: Survey, wide: Decoder) -> Iterator[Any]:
    """Yield the queries for what is counted, which also find what names no mechanism.

    Rows of bits are read as they are and counted beside the stream, unless the engine is better
    at that.
    """
    narrow = [
        name
        for name in survey.names
        if survey.find(name).output_space.packed and name not in wide.mechanisms
    ]
    singly = [] if table.session.groups_bits else narrow
    for frame in rows.distinct(table.frame, wide.spelling):
        yield rows.counted(rows.not_naming(frame, [*wide.mechanisms, *singly]))
        if singly:
            yield rows.naming(frame, singly)


def _count(table: Table, query: Any, tally: Tally, longest: int) -> int:
    """Count reports, each once: there are no duplicates among them."""
    for batch in table.batches(query, longest=longest):
        tally.add(batch)
    return 0


def _count_duplicates(table: Table, spelling: rows.Spelling, tally: Tally) -> int:
    """Count rows that were sent before; refuse those that share a report_id and differ."""
    (totals,) = _answer(table, rows.totals(table.frame, spelling))
    differing = int(totals[rows.CONFLICTS] or 0)
    if differing:
        examples = [
            (row[rows.REPORT_ID], 0, rows.conflict_example(row))
            for row in _answer(table, rows.conflicts(table.frame, spelling))
        ]
        tally.refusals.merge([(Reason.CONFLICT, differing, examples)])
    return int(totals[rows.DUPLICATES] or 0)


def _refuse_lost_rows(table: Table, total: int) -> None:
    """Hold the rows that an engine has read against those that the source says it holds."""
    if table.rows is not None and table.rows != total:
        raise ReportError(
            f"{table.what} holds {several(table.rows, 'row')} by its own account, and {total:,} "
            f"were read. Is a line too long, does a quote stand alone, or is the end of a file "
            f"missing or overwritten? Write it again."
        )


def _answer(table: Table, query: Any) -> list[dict[str, Any]]:
    return [row for batch in table.batches(query) for row in batch.to_pylist()]


def _streamed(
    source: Kept, summary: Summaries, wide: Decoder, survey: Survey, hold: int
) -> Iterator[Group]:
    """Yield the groups of reports that do not repeat; bring few ones here, leave many there."""
    summaries = summary.summaries
    if sum(part.bytes for part in summaries.values()) > hold:
        sources: dict[str, Source] = dict.fromkeys(summaries, source.at_rest())
    else:
        # At rest it is read in order, so that estimates are the same to the last digit every time.
        blocks: dict[str, list[Block]] = {}
        for block in source.at_rest().blocks():
            blocks.setdefault(block.mechanism, []).append(block)
        sources = {key: Held(tuple(own)) for key, own in blocks.items()}
        source.close()
    for key, part in summaries.items():
        stream = Stream(sources[key], wide.by_id[key], part.seen.people, part.rows, part)
        yield Group(wide.by_id[key], None, (stream,), survey.names[key])


def _watched(table: Table, works: list[Callable[[], Any]], show: Show | None) -> list[Any]:
    """Do work on a table; the caller's thread shows how far it got meanwhile."""
    if show is None:
        return [work() for work in works]
    answers = []
    with ThreadPoolExecutor(1) as pool:
        try:
            for number, work in enumerate(works):
                running = pool.submit(work)
                while wait([running], timeout=_POLL_SECONDS).not_done:
                    show((number + min(table.session.progress(), 1.0)) / len(works))
                answers.append(running.result())
        except KeyboardInterrupt:
            table.session.interrupt()
            raise
    return answers
