"""Rows of questionnaires: a column for what was chosen and one for what was reported, a question.

All answers of a row become one text, so that rows of several questions are counted, told apart by
their ids and refused by the same queries as those of one: for each question the name of the
mechanism, a unit separator and the report, and a record separator between questions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals as nw

from freewill.domain.mechanisms.each import Silent
from freewill.domain.questionnaire import ANSWERS, Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ReportError, closest, several
from freewill.io import rows
from freewill.io.decoding import longest_report
from freewill.io.rows import LONGEST_SHOWN, MECHANISM, REPORT, REPORT_ID, VALUE, Columns, Pair

INDEX, MISSING, RECORD, UNIT = "\x1c", "\x1d", "\x1e", "\x1f"
"""Before an integer, for a field that is missing, between questions, between name and report."""
POINT = "."
"""Between the kind of a column and the question that it is of."""


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
    def inner(self) -> Mapping[str, str]:  # type: ignore[override]
        """By the name of each column in files, its name in queries, which has no point."""
        own = {name: name for name in (MECHANISM, REPORT_ID)}
        for place, question in enumerate(self.questions):
            own |= {
                f"{kind}{POINT}{question}": f"{kind}_{place}" for kind in (MECHANISM, REPORT, VALUE)
            }
        return own

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:  # type: ignore[override]
        """The report and the value of each question."""
        places = range(len(self.questions))
        return tuple((f"{REPORT}_{place}", f"{VALUE}_{place}") for place in places)

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

    def check(self, given: Iterable[str], what: str) -> None:
        """Refuse a table without the columns of each question, or with those of another one."""
        there = list(given)
        for name in self.names:
            alike = [other for other in there if other.lower() == name.lower()]
            if len(alike) > 1:
                rows.refuse_alike(what, alike)
        for name in there:
            kind, _, question = name.partition(POINT)
            if kind in (MECHANISM, REPORT, VALUE) and question and question not in self.questions:
                raise ReportError(
                    f"{what} has a column {name!r}, and no question of the survey is called "
                    f"{question!r}: expected {', '.join(self.questions)}. Is it the right survey? "
                    f"If it is, rename or leave out the column.{closest(question, self.questions)}"
                )
        for question in self.questions:
            name, report, value = (f"{k}{POINT}{question}" for k in (MECHANISM, REPORT, VALUE))
            if report in there and value in there:
                rows.refuse_both(what, report, value)
            missing = [] if name in there or MECHANISM in there else [name]
            missing += [] if report in there or value in there else [report]
            if missing:
                raise ReportError(
                    f"{what} has no column {missing[0]!r}: it has {rows.in_a_few_letters(there)}. "
                    f"Expected {self.expected}. A question that stays unanswered has its columns "
                    f"too, with a silent mechanism."
                )

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
