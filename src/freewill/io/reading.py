"""From reports to evidence, of one question or several, whatever the format and the engine."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from freewill.core.types import Reports, checked_hold, people_in
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import Reason
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ReportError, raised_as, several, shown
from freewill.io import rows
from freewill.io.answers import AnswerSpelling
from freewill.io.answers_decoding import AnswerTally, kept_part
from freewill.io.copies import parts_in
from freewill.io.decoding import Decoder, Invalid, Refusals, Tally
from freewill.io.engines.base import Kept, Table, engine_for, opened
from freewill.io.rows import Columns
from freewill.stats.evidence import Evidence, assemble, own_part
from freewill.stats.groups import (
    HELD_BYTES,
    Block,
    Group,
    Held,
    Source,
    Stream,
    Summaries,
    grouped,
    summarising,
)

Work: TypeAlias = Callable[[], int]
"""A part of the reading, which returns how many rows were duplicates."""


class Counting(Protocol):
    """What rows of a survey are read by: their columns, the work on them, and what comes of it."""

    @property
    def columns(self) -> Columns:
        """The columns that count."""

    @property
    def spelling(self) -> rows.Spelling:
        """What is the same in two spellings."""

    @property
    def refusals(self) -> Refusals:
        """What was refused."""

    def works(self, table: Table, source: Any) -> list[Work]:
        """Return the work to be done while the table is open."""

    def evidence(self) -> tuple[Evidence, int]:
        """Return what was counted, and how many people say nothing of what was asked."""


def counting_of(survey: Survey, hold: int, of: str | Sequence[str] | None) -> Counting:
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
        self._tally, self._wide = Tally(survey), Decoder.of(survey, repeats=False)
        self.columns, self.spelling = self._wide.columns, self._wide.spelling
        self.refusals = self._tally.refusals
        self._groups: list[Group] = []

    def works(self, table: Table, source: Any) -> list[Work]:
        """Count what repeats, and look at the rest once."""
        counted = [
            partial(_count, table, query, self._tally.add, self._wide.longest)
            for query in self._queries(table)
        ]
        if not self._wide.by_id:
            return [*counted]
        kept = table.session.keep(source, table, self._wide)
        return [*counted, partial(self._look, kept)]

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

    def _look(self, source: Kept) -> int:
        """Look at the reports that do not repeat; bring few ones here, leave many there."""
        wide = self._wide
        summary: Summaries = reduce(add, source.map(summarising(wide.by_id)), Summaries({}))
        self.refusals.merge(summary.refused)
        summaries = summary.summaries
        if sum(part.bytes for part in summaries.values()) > self._hold:
            sources: dict[str, Source] = dict.fromkeys(summaries, source.at_rest())
        else:
            # At rest it is read in order, so that estimates are the same to the last digit.
            blocks: dict[str, list[Block]] = {}
            for block in source.at_rest().blocks():
                blocks.setdefault(block.mechanism, []).append(block)
            sources = {key: Held(tuple(own)) for key, own in blocks.items()}
            source.close()
        for key, part in summaries.items():
            stream = Stream(sources[key], wide.by_id[key], part.seen.people, part.rows, part)
            self._groups.append(Group(wide.by_id[key], None, (stream,), self._survey.names[key]))
        return 0

    def evidence(self) -> tuple[Evidence, int]:
        """Return the evidence of all mechanisms."""
        groups = [*self._tally.groups(), *self._groups]
        return assemble(self._survey.alphabet, groups), 0


class AnswerCounting:
    """Answers to several questions, counted as one kind of report and then unfolded."""

    def __init__(self, questionnaire: Questionnaire, of: str | Sequence[str] | None) -> None:
        self._asked = questionnaire.asked
        every = tuple(self._asked.by_name)
        self._part = of is not None
        wanted = every if of is None else (of,) if isinstance(of, str) else tuple(of)
        with raised_as(ReportError, "of: "):
            kept = [every[place] for place in self._asked.alphabet.places(wanted)]
        self._kept = tuple(kept)
        self._tally = AnswerTally(questionnaire, self._kept)
        self.columns, self.spelling = self._tally.columns, AnswerSpelling({}, (), ())
        self.refusals = self._tally.refusals

    def works(self, table: Table, source: Any) -> list[Work]:
        """Count all rows: of few questions most are alike, of many hardly any."""
        queries = rows.distinct(table.frame, self.spelling)
        if table.session.groups_bits:
            queries = [rows.counted(query) for query in queries]
        else:
            queries = [query.select(rows.MECHANISM, rows.REPORT) for query in queries]
        longest = self.columns.longest
        return [partial(_count, table, query, self._tally.add, longest) for query in queries]

    def evidence(self) -> tuple[Evidence, int]:
        """Return a group for every combination that people chose, and how many are all silent."""
        asked = kept_part(self._asked, self._kept)
        records, counts = self._tally.records.result()
        groups, silent = [], 0
        for each, names, places, reports in asked.unfolded(records):
            if self._part and not each.answered:
                silent += people_in(counts[places])
                continue
            mechanism: Mechanism = each
            outputs: Reports = reports
            if self._part and len(self._kept) == 1:  # as if it were the only question
                (mechanism,), (outputs,) = each.parts, each.output_space.split(reports)
            groups.append(grouped(mechanism, [(outputs, counts[places])], JOINED.join(names)))
        alphabet = asked.alphabet.only(*self._kept) if self._part else asked.alphabet
        return assemble(alphabet, groups), silent


def _count(table: Table, query: Any, tell: Callable[[Any], None], longest: int) -> int:
    """Count reports, each once: there are no duplicates among them."""
    for batch in table.batches(query, longest=longest):
        tell(batch)
    return 0


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
    hold: int = HELD_BYTES,
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
        files, duplicates = parts_in(table.paths), sum(answers)
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
    hold: int = HELD_BYTES,
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


def _count_duplicates(table: Table, counting: Counting) -> int:
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
