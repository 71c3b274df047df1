"""From reports to evidence, of one question or several, whatever the format and the engine."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, TypeAlias

from freewill.core.types import Counter, checked_hold
from freewill.domain.outputs import Reason
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ReportError, several, shown
from freewill.io import rows
from freewill.io.answers import AnswerCounting
from freewill.io.copies import parts_in
from freewill.io.decoding import Decoder, Invalid, Refusals
from freewill.io.engines.base import Kept, Table, engine_for, opened
from freewill.stats import groups
from freewill.stats.evidence import Evidence, assemble, own_part


def counting_of(
    survey: Survey, hold: int, of: str | Sequence[str] | None
) -> "SurveyCounting | AnswerCounting":
    """Return what the rows of a survey are read by."""
    if isinstance(survey, Questionnaire):
        return AnswerCounting(survey, of)
    if of is not None:
        raise ReportError(
            f"of={shown(of)}: the survey has one question, without attributes to choose from. "
            f"Leave it out."
        )
    return SurveyCounting(survey, hold)


class SurveyCounting:
    """Reports on one question, of which those that do not repeat may stay where they lie."""

    def __init__(self, survey: Survey, hold: int) -> None:
        self._survey, self._hold = survey, hold
        self._narrow, self._wide = (Decoder.of(survey, repeats=one) for one in (True, False))
        self.columns, self.spelling = self._wide.columns, self._wide.spelling
        self.refusals = Refusals()
        self._counters: dict[str, Counter] = {}
        self._wide_groups: list[groups.Group] = []

    def works(self, table: Table, source: Any) -> list[Callable[[], Any]]:
        """Count what repeats, and look at the rest once."""
        queries = self._queries(table)
        counted = [partial(table.tell, query, self.add, self._wide.longest) for query in queries]
        if not self._wide.by_id:
            return [*counted]
        kept = table.session.keep(source, table, self._wide)
        return [*counted, partial(self._look, kept)]

    def add(self, batch: Any) -> None:
        """Count a batch; without a column `count`, each row counts once."""
        for block in self._narrow.blocks([batch], self.refusals):
            if block.mechanism not in self._counters:
                space = self._survey.find(block.mechanism).output_space
                self._counters[block.mechanism] = space.counter()
            self._counters[block.mechanism].add(block.outputs, block.counts)

    def _queries(self, table: Table) -> Iterator[Any]:
        """Yield the queries for what is counted, which also find what names no mechanism.

        Rows of bits are read as they are and counted beside the stream, unless the engine is better
        at that.
        """
        narrow = [
            name
            for name in self._survey.names
            if self._survey.find(name).output_space.packed and name not in self._wide.mechanisms
        ]
        singly = [] if table.session.groups_bits else narrow
        for frame in rows.distinct(table.frame, self.spelling):
            yield rows.counted(rows.not_naming(frame, [*self._wide.mechanisms, *singly]))
            if singly:
                yield rows.naming(frame, singly)

    def _look(self, source: Kept) -> None:
        """Look at the reports that do not repeat; bring few ones here, leave many there."""
        wide = self._wide
        summary: groups.Summaries = reduce(
            add, source.map(groups.summarising(wide.by_id)), groups.Summaries({})
        )
        self.refusals.merge(summary.refused)
        summaries = summary.summaries
        if sum(part.bytes for part in summaries.values()) > self._hold:
            sources: dict[str, groups.Source] = dict.fromkeys(summaries, source.at_rest())
        else:
            # At rest it is read in order, so that estimates are the same to the last digit.
            blocks: dict[str, list[groups.Block]] = {}
            for block in source.at_rest().blocks():
                blocks.setdefault(block.mechanism, []).append(block)
            sources = {key: groups.Held(tuple(own)) for key, own in blocks.items()}
            source.close()
        for key, part in summaries.items():
            stream = groups.Stream(sources[key], wide.by_id[key], part.seen.people, part.rows, part)
            self._wide_groups.append(
                groups.Group(wide.by_id[key], None, (stream,), self._survey.names[key])
            )

    def evidence(self) -> tuple[Evidence, int]:
        """Return the evidence of all mechanisms, without reports that no value can lead to."""
        every = []
        for key, counter in self._counters.items():
            mechanism, name = self._survey.find(key), self._survey.names[key]
            group = groups.Group(mechanism, counter.result(), name=name)
            fine = group.possible
            if group.table is not None and not fine.all():
                outputs, counts = group.table
                column = mechanism.output_space.encode(outputs)
                self.refusals.add(Reason.IMPOSSIBLE, name, column, counts, ~fine)
                group = groups.Group(mechanism, (outputs[fine], counts[fine]), name=name)
            every.append(group)
        return assemble(self._survey.alphabet, [*every, *self._wide_groups]), 0


Show: TypeAlias = Callable[[float], None]
_POLL_SECONDS = 0.1


class InvalidReports(UserWarning):
    """Some rows were invalid and were left out of the evidence.

    >>> import warnings, freewill as fw, pyarrow as pa
    >>> survey = fw.Survey(fw.Linear(0, 9), {"mine": fw.KRR(fw.Linear(0, 9), epsilon=1.0)})
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     rows = pa.table({"mechanism": ["mine", "mine"], "report": [7, 12]})
    ...     evidence = fw.read_reports(rows, survey)
    >>> evidence.people, caught[0].category.__name__
    (1, 'InvalidReports')
    """


@dataclass(frozen=True)
class Reading:
    """What was read: rows = people in the evidence + duplicates + invalid rows.

    Of a part of a questionnaire, `silent` people are not in the evidence, and counted beside it.
    """

    evidence: Evidence
    rows: int
    duplicates: int
    invalid: tuple[Invalid, ...]
    silent: int = 0

    @property
    def refused(self) -> int:
        """How many rows were invalid."""
        return sum(part.count for part in self.invalid)

    def __str__(self) -> str:
        many = several(self.rows, "row"), several(self.duplicates, "duplicate")
        silent = f", {self.silent:,} silent" if self.silent else ""
        lines = [f"{', '.join(many)}, {self.refused:,} invalid{silent}"]
        return "\n".join([*lines, *(f"  {part}" for part in self.invalid), str(self.evidence)])


def read(
    source: Any,
    survey: Survey | str | Path,
    *,
    engine: str = "duckdb",
    strict: bool = False,
    show: Show | None = None,
    hold: int = groups.HELD_BYTES,
    of: str | Sequence[str] | None = None,
) -> Reading:
    """Read reports into evidence, and tell how many rows were duplicates or invalid.

    `source` is a path, a glob, a folder (also partitioned) or a list of those: Parquet, CSV,
    NDJSON or Arrow files; or a frame of pandas, Polars, PyArrow, DuckDB or Spark. Rows that are
    invalid are counted by reason; with `strict` they are an error. Rows with the same `report_id`
    count once if they are the same, and are invalid if they differ. `show` is called with the
    share done, 0 to 1. Counting is left to the engine; memory grows with the distinct outputs, not
    with the rows. Reports that do not repeat (wide bits) are brought into memory up to `hold`
    bytes; more stay where they lie, and each pass of a solver reads them there.

    Rows of a questionnaire have the columns of each question (docs/reports.md), and the evidence
    a group for every combination of mechanisms that was chosen. `of` names the questions to keep,
    as `evidence.marginal` does: what rows say of the others is checked and forgotten as it comes.

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
    counting = counting_of(survey, hold, of)
    with opened(engine_for(engine, source), source, counting.columns) as table:
        works = counting.works(table, source)
        if rows.is_numbered(table.frame):
            works.append(partial(_count_duplicates, table, counting))
        answers = _watched(table, works, show)
        files, duplicates = parts_in(table.paths), sum(filter(None, answers))
        evidence, silent = counting.evidence()
    evidence = replace(evidence, parts=own_part(evidence) | files)
    if show is not None:
        show(1.0)
    invalid = counting.refusals.invalid()
    total = evidence.people + silent + duplicates + sum(part.count for part in invalid)
    _refuse_lost_rows(table, total)
    reading = Reading(evidence, total, duplicates, invalid, silent)
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
    hold: int = groups.HELD_BYTES,
    of: str | Sequence[str] | None = None,
) -> Evidence:
    """Read reports into evidence, as `read` does; warn if rows were invalid.

    O(rows), in one pass of the engine; two where reports do not repeat.

    >>> import freewill as fw, pyarrow as pa
    >>> survey = fw.Survey(fw.Linear(0, 9), {"mine": fw.KRR(fw.Linear(0, 9), epsilon=1.0)})
    >>> print(fw.read_reports(pa.table({"mechanism": ["mine"] * 3, "report": [7, 7, 2]}), survey))
    3 people, 1 mechanism, alphabet 0..9
                 3 people           2 distinct outputs  mine: k-rr(0..9, epsilon=1)
    """
    reading = read(source, survey, engine=engine, strict=strict, show=show, hold=hold, of=of)
    if reading.invalid:
        what = source if isinstance(source, str | Path) else "the reports"
        warnings.warn(_complaint(reading, str(what)), InvalidReports, stacklevel=2)
    return reading.evidence


def _complaint(reading: Reading, what: str) -> str:
    reasons = "; ".join(map(str, reading.invalid))
    verb = "is" if reading.refused == 1 else "are"
    many = several(reading.rows, "row")
    return f"{reading.refused:,} of {many} of {what} {verb} invalid: {reasons}."


def _count_duplicates(table: Table, counting: SurveyCounting | AnswerCounting) -> int:
    """Count rows that were sent before; refuse those that share a report_id and differ."""
    (totals,) = _answer(table, rows.totals(table.frame, counting.spelling))
    differing = int(totals[rows.CONFLICTS] or 0)
    if differing:
        examples = [
            (row[rows.REPORT_ID], 0, counting.columns.conflict_example(row))
            for row in _answer(table, rows.conflicts(table.frame, counting.spelling))
        ]
        counting.refusals.merge([((Reason.CONFLICT, ""), differing, examples)])
    return int(totals[rows.DUPLICATES] or 0)


def _answer(table: Table, query: Any) -> list[dict[str, Any]]:
    return [row for batch in table.batches(query) for row in batch.to_pylist()]


def _refuse_lost_rows(table: Table, total: int) -> None:
    """Hold the rows that an engine has read against those that the source says it holds."""
    if table.rows is not None and table.rows != total:
        raise ReportError(
            f"{table.what} holds {several(table.rows, 'row')} by its own account, and {total:,} "
            f"were read. Is a line too long, does a quote stand alone, or is the end of a file "
            f"missing or overwritten? Write it again."
        )


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
