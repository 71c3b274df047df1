"""Rows of questionnaires: a column for what was chosen and one for what was reported, a question.

All answers of a row become one text, so that rows of several questions are counted, told apart by
their ids and refused by the same queries as those of one: for each question the name of the
mechanism, a unit separator and the report, and a record separator between questions. These texts
are read into records, which are counted as they come.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freewill.core.types import BoolArray, IntArray, PackedBits, Reports, people_in
from freewill.domain.alphabets.product import Product
from freewill.domain.mechanisms.asked import JOINED, Asked
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import Silent
from freewill.domain.outputs import Reason
from freewill.domain.packed_outputs import Either
from freewill.domain.survey import ANSWERS, Questionnaire, Survey
from freewill.errors import ReportError, closest, raised_as, several
from freewill.io import rows
from freewill.io.decoding import Refusals, SentReader, counts_in, longest_report, unmarked
from freewill.io.engines.base import Table
from freewill.io.rows import LONGEST_SHOWN, MECHANISM, REPORT, REPORT_ID, VALUE, Columns
from freewill.stats.evidence import Evidence, assemble
from freewill.stats.groups import grouped

INDEX, MISSING, RECORD, UNIT = "\x1c", "\x1d", "\x1e", "\x1f"
"""Before an integer, for a field that is missing, between questions, between name and report."""
POINT = "."
"""Between the kind of a column and the question that it is of."""
_REASONS = tuple(Reason)
_FINE = -1
_PENDING_BYTES = 1 << 25
"""Bytes of records that wait to be counted."""


@dataclass(frozen=True)
class AnswerColumns(Columns):
    """The columns of a questionnaire: `mechanism.age`, `report.age` or `value.age`, and so on.

    A column `mechanism` holds for the questions that have none of their own.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> vote = fw.Survey(votes, {"careful": fw.KRR(votes, 1.0)})
    >>> AnswerColumns.of(fw.Questionnaire({"vote": vote})).names
    ('mechanism', 'report_id', 'mechanism.vote', 'report.vote', 'value.vote')
    """

    questions: Mapping[str, Survey] = field(default_factory=dict)

    @classmethod
    def of(cls, questionnaire: Questionnaire) -> "AnswerColumns":
        """Return the columns of a questionnaire, with the longest texts that can be right."""
        questions = questionnaire.questions
        _refuse_alike(questions)
        names = max(_longest_name(own) for own in questions.values())
        limits = {MECHANISM: names}
        for place, own in enumerate(questions.values()):
            limits[f"{MECHANISM}_{place}"] = _longest_name(own)
            limits[f"{REPORT}_{place}"] = longest_report(own)
            limits[f"{VALUE}_{place}"] = longest_report(own)
        return cls(limits, questions)

    @cached_property
    def fields(self) -> Sequence[Sequence[str]]:  # type: ignore[override]
        """The columns of each question."""
        kinds = (MECHANISM, REPORT, VALUE)
        return [[f"{kind}{POINT}{question}" for kind in kinds] for question in self.questions]

    @cached_property
    def inner(self) -> Mapping[str, str]:  # type: ignore[override]
        """By the name of each column in files, its name in queries, which has no point."""
        own = {name: name for name in (MECHANISM, REPORT_ID)}
        for place, names in enumerate(self.fields):
            own |= {name: f"{name.partition(POINT)[0]}_{place}" for name in names}
        return own

    @property
    def longest(self) -> int:
        """Bytes of the longest text of all answers that can be right."""
        own = (_longest_name(one) + longest_report(one) + 3 for one in self.questions.values())
        return sum(own)

    @property
    def expected(self) -> str:
        """What a table has, in words."""
        first = next(iter(self.questions))
        return (
            f"mechanism{POINT}{first} and report{POINT}{first} (or value{POINT}{first}), the same "
            f"for {', '.join(map(repr, [*self.questions][1:])) or 'each question'} and, if you "
            f"like, report_id"
        )

    def hint(self, there: Sequence[str]) -> str:
        """Return what questions have columns."""
        return " A question that stays unanswered has its columns too, with a silent mechanism."

    def check(self, given: Iterable[str], what: str) -> None:
        """Refuse a table without the columns of each question, or with those of another one."""
        there = list(given)
        for name in there:
            kind, _, question = name.partition(POINT)
            if kind in (MECHANISM, REPORT, VALUE) and question and question not in self.questions:
                raise ReportError(
                    f"{what} has a column {name!r}, and no question of the survey is called "
                    f"{question!r}: expected {', '.join(self.questions)}. Is it the right survey? "
                    f"If it is, rename or leave out the column.{closest(question, self.questions)}"
                )
        super().check(there, what)

    def read(self, frame: Any, what: str, folders: Mapping[str, str] | None = None) -> Any:
        """Return rows whose report is the text of all answers."""
        if folders:
            given = (nw.lit(own).alias(self.inner[name]) for name, own in folders.items())
            frame = frame.with_columns(*given)
        schema = frame.collect_schema()
        numbered = rows.id_column(schema, what)
        texts: list[Any] = []
        columns: list[Any] = []
        for place, (question, own) in enumerate(self.questions.items()):
            named, reported = f"name{place}", f"text{place}"
            columns += [
                self._name(schema, place, question, what).alias(named),
                self._report(schema, place, question, what).alias(reported),
            ]
            texts += [nw.lit(RECORD)] if place else []
            texts += [_filled(nw.col(named)), nw.lit(UNIT), _said(own, named, reported)]
        frame = frame.select(*columns, *numbered)
        if numbered:
            for place, own in enumerate(self.questions.values()):
                frame = rows.Spelling.of(own).spelt(frame, f"name{place}", f"text{place}")
        ids = [nw.col(REPORT_ID)] if numbered else []
        answers = nw.lit(ANSWERS).alias(MECHANISM)
        return frame.select(answers, nw.concat_str(*texts).alias(REPORT), *ids)

    def _name(self, schema: Any, place: int, question: str, what: str) -> Any:
        own = f"{MECHANISM}_{place}"
        name = own if own in schema else MECHANISM
        called = f"{MECHANISM}{POINT}{question}" if name == own else MECHANISM
        return rows.as_text(name, schema[name], what, called)

    def _report(self, schema: Any, place: int, question: str, what: str) -> Any:
        value, report = f"{VALUE}_{place}", f"{REPORT}_{place}"
        if value in schema:
            return rows.as_value(value, schema[value], what, f"{VALUE}{POINT}{question}")
        kind = schema[report]
        if not rows.is_written(kind):
            raise ReportError(
                f"column 'report{POINT}{question}' of {what} is of type {kind}: expected integers "
                f"(indices) or texts (indices, labels, bits as hexadecimal digits). See "
                f"docs/reports.md."
            )
        text = rows.written(nw.col(report), kind)
        marked = kind.is_integer() and _has_digits(self.questions[question])
        return nw.concat_str(nw.lit(INDEX), text) if marked else text

    def shown(self, text: str) -> list[tuple[str, str]]:
        """Return what a row says of each question, in a few letters."""
        shown = []
        for question, part in zip(self.questions, text.split(RECORD), strict=False):
            name, _, report = part.partition(UNIT)
            words = (rows.shortened(_plain(word)) for word in (name, report))
            shown.append((question, " ".join(words)))
        return shown

    def conflict_example(self, row: Mapping[str, Any]) -> str:
        """Show an id and what its rows say, of the questions in which they differ."""
        both = zip(*(self.shown(row[f"{REPORT}_{end}"]) for end in ("low", "high")), strict=False)
        differences = [
            f"{question} {one} or {other}" for (question, one), (_, other) in both if one != other
        ]
        many = several(row[rows.COUNT], "row")
        return f"report_id {rows.shortened(row[REPORT_ID])}, {many}: {', '.join(differences)}"


@dataclass(frozen=True)
class AnswerSpelling(rows.Spelling):
    """Rows of questionnaires, which were spelt alike question by question when they were joined."""

    def plain(self, frame: Any) -> Any:
        """Return the rows."""
        return frame

    def incomplete(self) -> Any:
        """Rows that share nothing: without a report_id, or without an answer the id is for."""
        missing = nw.col(REPORT).str.contains(MISSING, literal=True)
        return nw.col(REPORT_ID).is_null() | missing


class _Read(NamedTuple):
    """What distinct texts of one question say: their bytes, and the number of a reason if bad."""

    rows: PackedBits
    faults: IntArray
    names: Any
    reports: Any


class QuestionReader:
    """Reads texts of one question: the name of a mechanism, and its report."""

    def __init__(self, own: Survey, space: Either) -> None:
        self._space = space
        order = sorted(own.mechanisms)
        self._numbers = {key: order.index(name) for key, name in own.names.items()}
        longest = longest_report(own)
        self._readers = [SentReader(own.mechanisms[name], longest) for name in order]

    def read(self, texts: Any) -> _Read:
        """Read distinct texts; what is wrong with one is a number of `Reason`."""
        whole = np.asarray(pc.count_substring(texts, UNIT)) == 1
        # What has no two parts is shown as it is, and read as nothing.
        halves = pc.if_else(pa.array(whole), texts, pc.binary_join_element_wise("", texts, UNIT))
        parts = pc.split_pattern(halves, UNIT, max_splits=1)
        names, reports = (_without(MISSING, pc.list_element(parts, end)) for end in (0, 1))
        encoded = names.dictionary_encode(null_encoding="encode")
        present, codes = encoded.dictionary.to_pylist(), np.asarray(encoded.indices)
        faults = np.full(len(texts), _FINE)
        faults[~whole] = _REASONS.index(Reason.NO_SYMBOL)
        rows = np.zeros((len(texts), self._space.width), dtype=np.uint8)
        missing = reports.is_null().to_numpy(zero_copy_only=False)
        for code, name in enumerate(present):
            here = (codes == code) & whole
            if name not in self._numbers:
                unknown = Reason.NO_MECHANISM if name is None else Reason.UNKNOWN_MECHANISM
                faults[here] = _REASONS.index(unknown)
                continue
            faults[here & missing] = _REASONS.index(Reason.NO_REPORT)
            self._decode(self._numbers[name], reports, here & ~missing, rows, faults)
        return _Read(rows, faults, names, reports)

    def _decode(
        self, number: int, reports: Any, here: BoolArray, rows: PackedBits, faults: IntArray
    ) -> None:
        """Read the reports of one mechanism, those that are integers by their type apart."""
        reader, space = self._readers[number], self._space.parts[number]
        marked = np.asarray(pc.fill_null(pc.starts_with(reports, INDEX), False))
        for some, index in ((here & ~marked, False), (here & marked, True)):
            places = np.flatnonzero(some)
            if not len(places):
                continue
            column = reports.take(pa.array(places))
            if index:
                column = pc.utf8_slice_codeunits(column, len(INDEX)).cast(pa.int64())
            outputs, good, bad = space.decode(unmarked(space, column))
            for reason, wrong in bad.items():
                faults[places[wrong]] = _REASONS.index(reason)
            fine = reader.possible(outputs)
            good_places = places[good]
            faults[good_places[~fine]] = _REASONS.index(Reason.IMPOSSIBLE)
            own = np.asarray(space.to_bytes(outputs[fine]))
            rows[good_places[fine], 0] = number
            rows[good_places[fine], 1 : 1 + space.width] = own


def _without(mark: str, column: Any) -> Any:
    return pc.if_else(pc.equal(column, mark), pa.scalar(None, column.type), column)


class DistinctRecords:
    """Distinct rows of bytes and how often each came: memory grows with these, not with people."""

    def __init__(self, width: int) -> None:
        self._width, self._waiting = width, 0
        self._tables: list[Any] = []

    def add(self, rows: PackedBits, counts: IntArray | None) -> None:
        """Count rows, once each unless counts are given."""
        times = np.ones(len(rows), dtype=np.int64) if counts is None else counts
        content = pa.py_buffer(np.ascontiguousarray(rows))
        column = pa.Array.from_buffers(pa.binary(self._width), len(rows), [None, content])
        self._tables.append(pa.table({"row": column, "times": times}))
        self._waiting += rows.nbytes
        # What waits may be as much as what is counted: each row is counted anew a few times.
        if self._waiting > max(_PENDING_BYTES, self._tables[0].num_rows * self._width):
            self._counted()

    def _counted(self) -> Any:
        table = pa.concat_tables(self._tables)
        counted = table.group_by("row").aggregate([("times", "sum")])
        self._tables = [counted.rename_columns({"row": "row", "times_sum": "times"})]
        self._waiting = 0
        return self._tables[0]

    def result(self) -> tuple[PackedBits, IntArray]:
        """Return the distinct rows, in a fixed order, and their counts."""
        if not self._tables:
            return np.empty((0, self._width), dtype=np.uint8), np.empty(0, dtype=np.int64)
        table = self._counted().sort_by("row")
        column, times = table.column("row").combine_chunks(), np.asarray(table.column("times"))
        packed = np.frombuffer(column.buffers()[1], np.uint8).reshape(-1, self._width)
        return packed[column.offset : column.offset + len(column)], times


class AnswerCounting:
    """Answers to several questions, counted as one kind of report and then unfolded.

    `of` are the questions that are kept; the others are checked and forgotten.
    """

    def __init__(self, questionnaire: Questionnaire, of: str | Sequence[str] | None) -> None:
        self._asked = questionnaire.asked
        every = tuple(self._asked.by_name)
        self._part = of is not None
        wanted = every if of is None else (of,) if isinstance(of, str) else tuple(of)
        with raised_as(ReportError, "of: "):
            self._kept = tuple(every[place] for place in self._asked.alphabet.places(wanted))
        self.columns = AnswerColumns.of(questionnaire)
        self.spelling, self.refusals = AnswerSpelling({}, (), ()), Refusals()
        spaces = dict(zip(every, self._asked.output_space.parts, strict=True))
        self._readers = {
            name: QuestionReader(own, spaces[name]) for name, own in questionnaire.questions.items()
        }
        self._records = DistinctRecords(sum(spaces[name].width for name in self._kept))

    def works(self, table: Table, source: Any) -> list[Callable[[], Any]]:
        """Count all rows: of few questions most are alike, of many hardly any."""
        queries = rows.distinct(table.frame, self.spelling)
        if table.session.groups_bits:
            queries = [rows.counted(query) for query in queries]
        else:
            queries = [query.select(MECHANISM, REPORT) for query in queries]
        return [partial(table.tell, query, self.add, self.columns.longest) for query in queries]

    def add(self, batch: Any) -> None:
        """Count a batch of (report[, count]) that `AnswerColumns` made."""
        texts, many, counts = batch.column(REPORT), len(self._readers), counts_in(batch)
        good = np.asarray(pc.count_substring(texts, RECORD)) == many - 1
        if not good.all():
            self.refusals.add(Reason.NO_SYMBOL, None, texts, counts, ~good)
            texts = texts.filter(pa.array(good))
            counts = None if counts is None else counts[good]
        if not len(texts):
            return
        answers = pc.split_pattern(texts, RECORD).flatten()
        fine, columns = np.ones(len(texts), dtype=np.bool_), []
        for place, (name, reader) in enumerate(self._readers.items()):
            own = answers.take(pa.array(np.arange(place, len(answers), many)))
            encoded = own.dictionary_encode()
            which = np.asarray(encoded.indices)
            read = reader.read(encoded.dictionary)
            self._refuse(name, read, which, fine, counts)
            if name in self._kept:
                columns.append(read.rows[which])
        self._records.add(
            np.concatenate([column[fine] for column in columns], axis=1),
            None if counts is None else counts[fine],
        )

    def _refuse(
        self, name: str, read: _Read, which: IntArray, fine: BoolArray, counts: IntArray | None
    ) -> None:
        """Refuse rows for the first question that they are wrong in."""
        if (read.faults == _FINE).all():
            return
        faults = np.where(fine, read.faults[which], _FINE)
        for number in np.unique(faults[faults != _FINE]).tolist():
            rows = np.flatnonzero(faults == number)
            texts = which[rows]
            names, reports = (each.take(pa.array(texts)) for each in (read.names, read.reports))
            times = None if counts is None else counts[rows]
            shown = pc.replace_substring(reports, INDEX, "")
            every = np.ones(len(rows), dtype=np.bool_)
            self.refusals.add(_REASONS[number], names, shown, times, every, name)
        fine &= faults == _FINE

    def evidence(self) -> tuple[Evidence, int]:
        """Return a group for every combination that people chose, and how many are all silent."""
        asked = kept_part(self._asked, self._kept)
        records, counts = self._records.result()
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


def kept_part(asked: Asked, attributes: tuple[str, ...]) -> Asked:
    """Return the mechanism of the answers to some of the questions.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> offers = {"careful": fw.KRR(votes, 0.5), "open": fw.KRR(votes, 2.0)}
    >>> print(kept_part(fw.Asked(vote=offers, member=offers), ("member",)))
    asked(member careful or open)
    """
    if len(attributes) == len(asked.by_name):
        return asked
    product: Any = asked.alphabet.only(*attributes)
    if len(attributes) == 1:
        product = Product({attributes[0]: product})
    return Asked(product, {name: asked.by_name[name] for name in product.attributes})


def _said(own: Survey, named: str, reported: str) -> Any:
    """Return a report as a text; who chose to be silent has said so by the mechanism."""
    silent = [key for key in own.names if isinstance(own.find(key), Silent)]
    report = nw.col(reported)
    text = _filled(report)
    if not silent:
        return text
    return nw.when(report.is_null() & nw.col(named).is_in(silent)).then(nw.lit("0")).otherwise(text)


def _filled(column: Any) -> Any:
    return nw.when(column.is_null()).then(nw.lit(MISSING)).otherwise(column)


def _plain(word: str) -> str | None:
    return None if word == MISSING else word.removeprefix(INDEX)


def _has_digits(own: Survey) -> bool:
    """Say whether a label may be taken for an index, so that integers are marked as such."""
    spaces = (mechanism.output_space for mechanism in own.mechanisms.values())
    alphabets = {space.alphabet for space in spaces if space.alphabet is not None}
    return any(label[:1].isdigit() for alphabet in alphabets for label in alphabet.labels)


def _longest_name(own: Survey) -> int:
    return max(LONGEST_SHOWN, *(len(name.encode()) for name in own.names))


def _refuse_alike(questions: Mapping[str, Survey]) -> None:
    """Refuse questions whose columns no engine would tell apart, or whose labels have our signs."""
    lower: dict[str, str] = {}
    for question, own in questions.items():
        other = lower.setdefault(question.lower(), question)
        if other != question:
            raise ReportError(
                f"questions {other!r} and {question!r} differ in capitals alone, by which no "
                f"engine tells columns apart. Rename one."
            )
        spaces = (mechanism.output_space for mechanism in own.mechanisms.values())
        alphabets = [space.alphabet for space in spaces if space.alphabet is not None]
        texts = [*own.mechanisms, *(label for each in alphabets for label in each.labels)]
        wrong = [text for text in texts if {*text} & {INDEX, MISSING, RECORD, UNIT}]
        if wrong:
            raise ReportError(
                f"question {question!r}: {wrong[0]!r} has a sign of U+001C to U+001F, which "
                f"separate the answers of a row. Rename it."
            )
