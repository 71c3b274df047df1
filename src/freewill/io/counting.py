"""How rows are counted once they are open: those of one question, and those of several."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, TypeAlias

from freewill.core.types import Reports, people_in
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ReportError, raised_as, shown
from freewill.io import rows
from freewill.io.answers import AnswerSpelling
from freewill.io.answers_decoding import AnswerTally, kept_part
from freewill.io.columns import Columns
from freewill.io.decoding import Decoder, Refusals, Tally
from freewill.io.engines.base import Kept, Table
from freewill.stats.evidence import Evidence, assemble
from freewill.stats.groups import Group, grouped
from freewill.stats.streams import Block, Held, Source, Stream, Summaries, summarising

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
