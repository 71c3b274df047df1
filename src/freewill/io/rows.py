"""Rows of reports: their columns, and the queries on them, the same for every engine.

A row that was sent twice is recognised by its report_id. Two rows of one id that differ cannot both
be what the person sent: one may be forged, or drawn anew on a second try. Whichever of them were
taken by a rule, a forger could follow the rule, and the smallest of several draws would bias every
mean. So rows of one id count once if they are equal, and none of them counts if they differ.

Which columns of a table of reports count, what they are called in queries, and what they become.

An engine reads the columns that a `Columns` names, under names without points or quotes, and hands
the frame back to it: whatever the table looked like, rows of mechanism, report and, if they have
one, report_id come out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw

from freewill.domain.outputs import VALUE as PREFIX
from freewill.domain.survey import Survey
from freewill.errors import ReportError, several

MECHANISM, REPORT, VALUE, REPORT_ID = NAMES = ("mechanism", "report", "value", "report_id")
"""The columns that count: `value` is for people what `report` is for machines."""
COUNT, DUPLICATES, CONFLICTS = "count", "duplicates", "conflicts"
_LOW, _HIGH = ("mechanism_low", "report_low"), ("mechanism_high", "report_high")
LONGEST_ID = 256
"""Bytes that a report_id may have: twice a hash of 512 bits in hexadecimal digits."""
EXAMPLES, LONGEST_SHOWN = 5, 60
"""How many invalid rows of a kind are shown, and the letters of a value in them."""
SEPARATED = " Columns of a CSV are separated by commas, semicolons or tabs."
_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_EXACT = 2.0**53
"""Up to here, every whole number is a float."""
_WHOLE = rf"^({PREFIX}-?)?[0-9]+\.0{{1,20}}$"
"""A whole number as a table of floats writes it."""
_SHOWN_NAMES, _LONGEST_NAME = 8, 40


def refuse_both(what: str, report: str, value: str) -> None:
    """Refuse a table whose rows have a report and a value: nobody can tell which counts."""
    raise ReportError(
        f"{what} has the columns {report!r} and {value!r}: expected one of them, the report as an "
        f"index or as a value. Leave out or rename the other."
    )


def in_a_few_letters(names: Sequence[str]) -> str:
    r"""Show the names of a few columns in a few letters, whatever signs are in them.

    >>> in_a_few_letters(["who", "what\\x1b[2J"])
    'who, what\\\\x1b[2J'
    """
    some = [repr(name[:_LONGEST_NAME])[1:-1] for name in names[:_SHOWN_NAMES]]
    return ", ".join([*some, *(["..."] if len(names) > _SHOWN_NAMES else [])]) or "none"


def id_column(schema: Any, what: str) -> list[Any]:
    """Return the column of ids, where a table has one."""
    if REPORT_ID not in schema:
        return []
    number = as_text(REPORT_ID, schema[REPORT_ID], what)
    # Many writers cannot tell an empty text from nothing: as an id, it is nothing.
    return [nw.when(number != "").then(number).alias(REPORT_ID)]


def united(frames: Sequence[Any], as_bytes: Callable[[Any], Any]) -> Any:
    """Return the rows of all frames; a frame without report_id has none, rather than no rows.

    `as_bytes` returns a frame of the engine's own whose reports are bytes instead of texts.
    """
    if len(frames) == 1:
        return frames[0]
    schemas = [frame.collect_schema() for frame in frames]
    kinds = {schema[REPORT] for schema in schemas}
    numbered = any(REPORT_ID in schema for schema in schemas)
    alike = []
    for given, schema in zip(frames, schemas, strict=True):
        frame = given
        report = nw.col(REPORT)
        if nw.Binary in kinds and schema[REPORT] == nw.String:
            # Bytes may be no text, but any text is bytes.
            frame = nw.from_native(as_bytes(frame.to_native()))
        elif len(kinds) > 1 and nw.Binary not in kinds:
            report = report.cast(nw.String)
        columns = [nw.col(MECHANISM), report]
        if numbered:
            no_id = nw.lit(None, nw.String).alias(REPORT_ID)
            columns.append(nw.col(REPORT_ID) if REPORT_ID in schema else no_id)
        alike.append(frame.select(*columns))
    return nw.concat(alike)


def as_text(name: str, kind: Any, what: str, called: str = "") -> Any:
    """Return a column, in a table `called` so if not by its own name, as texts."""
    if kind == nw.String:
        return nw.col(name)
    whole = kind.is_integer() or (kind == nw.Decimal and kind.scale == 0)
    if kind in _TEXTS or whole:
        return nw.col(name).cast(nw.String)
    raise ReportError(f"column {(called or name)!r} of {what} is of type {kind}: expected texts.")


def _as_report(kind: Any, what: str) -> Any:
    column = nw.col(REPORT)
    if kind in _INTEGERS:
        return column.cast(nw.Int64)
    if kind in (nw.String, nw.Binary, nw.Struct):
        return column
    if kind in _TEXTS or kind.is_numeric():
        return written(column, kind).alias(REPORT)
    raise ReportError(
        f"column 'report' of {what} is of type {kind}: expected integers (indices), texts "
        f"(indices, labels, hexadecimal bits) or bytes (packed bits). See docs/reports.md."
    )


def as_value(name: str, kind: Any, what: str, called: str = VALUE) -> Any:
    """Return a column of values, in a table `called` so, as texts of reports."""
    if not is_written(kind):
        raise ReportError(
            f"column {called!r} of {what} is of type {kind}: expected texts or numbers, values of "
            f"the survey's alphabet as people write them. See docs/reports.md."
        )
    return valued(written(nw.col(name), kind))


def is_written(kind: Any) -> bool:
    """Say whether a column of this type can be written as texts."""
    return kind in _TEXTS or kind.is_numeric()


def written(column: Any, kind: Any) -> Any:
    """Return labels and numbers as texts, whole ones without the exponent that some engines add."""
    text = column.cast(nw.String)
    if not kind.is_float():
        return text
    # Not every float fits an integer: the condition is looked at first.
    whole = (column.abs() < _EXACT) & (column % 1 == 0)
    return nw.when(whole).then(column.cast(nw.Int64).cast(nw.String)).otherwise(text)


def valued(text: Any) -> Any:
    """Return texts of values as texts of reports."""
    return nw.concat_str(nw.lit(PREFIX), text)


def counted(frame: Any) -> Any:
    """Return one row for each mechanism and report, with its count."""
    return frame.group_by(MECHANISM, REPORT).agg(nw.len().alias(COUNT))


def naming(frame: Any, names: Sequence[str]) -> Any:
    """Return mechanism and report of the rows that name one of these mechanisms."""
    return frame.filter(nw.col(MECHANISM).is_in(names)).select(MECHANISM, REPORT)


def not_naming(frame: Any, names: Sequence[str]) -> Any:
    """Return the rows of all other mechanisms, and of none."""
    name = nw.col(MECHANISM)
    return frame.filter(name.is_null() | ~name.is_in(names)) if names else frame


@dataclass(frozen=True)
class Spelling:
    """What is one and the same in two spellings: a name and an id, 1F and 1f, 5.0 and 5."""

    names: Mapping[str, str]
    """The name of a mechanism by its id."""
    bits: tuple[str, ...]
    """Mechanisms whose reports are hexadecimal digits in a text."""
    numbers: tuple[str, ...]
    """Mechanisms whose reports are indices and never labels."""

    @classmethod
    def of(cls, survey: Survey) -> "Spelling":
        """Return how the reports of a survey may be spelt."""
        spaces = {name: m.output_space for name, m in survey.mechanisms.items()}
        return cls(
            {key: name for key, name in survey.names.items() if key != name},
            tuple(name for name, space in spaces.items() if space.packed),
            tuple(n for n, s in spaces.items() if s.alphabet is not None and not s.alphabet.labels),
        )

    def plain(self, frame: Any) -> Any:
        """Return rows in one spelling."""
        text = frame.collect_schema()[REPORT] == nw.String
        return self.spelt(frame, MECHANISM, REPORT if text else None)

    def spelt(self, frame: Any, named: str, reported: str | None) -> Any:
        """Return rows with a column of names and one of reports, if these are texts, spelt so."""
        name = nw.col(named)
        if self.names:
            # Side by side and not one in the other: a survey may offer hundreds of mechanisms.
            called = [nw.when(name == key).then(nw.lit(own)) for key, own in self.names.items()]
            frame = frame.with_columns(nw.coalesce(*called, name).alias(named))
        if reported is None:
            return frame
        report = nw.col(reported)
        digits = name.is_in(self.numbers) & report.str.contains(_WHOLE)
        hexadecimal = report.str.replace_all(f"^{PREFIX}", "")
        bits = name.is_in(self.bits) & ~hexadecimal.str.contains(":", literal=True)
        for rows, spelt in (
            (bits, hexadecimal.str.to_lowercase()),
            (digits, report.str.replace_all(r"\.0+$", "")),
        ):
            frame = frame.with_columns(nw.when(rows).then(spelt).otherwise(report).alias(reported))
        return frame

    def incomplete(self) -> Any:
        """Rows that share nothing: without a report_id, or without what the id is for."""
        return nw.col(REPORT_ID).is_null() | nw.col(MECHANISM).is_null() | nw.col(REPORT).is_null()


def is_numbered(frame: Any) -> bool:
    """Say whether rows may have a report_id."""
    return REPORT_ID in frame.collect_schema()


def distinct(frame: Any, spelling: Spelling) -> list[Any]:
    """Return frames of mechanism and report that together hold each report once."""
    if not is_numbered(frame):
        return [frame]
    first = [nw.col(low).alias(name) for low, name in zip(_LOW, (MECHANISM, REPORT), strict=True)]
    alone = frame.filter(spelling.incomplete()).select(MECHANISM, REPORT)
    return [alone, _by_id(frame, spelling).filter(~_differing()).select(*first)]


def totals(frame: Any, spelling: Spelling) -> Any:
    """Return the query for how many rows are duplicates, and how many share an id and differ."""
    differing = _differing()
    return _by_id(frame, spelling).select(
        nw.when(~differing).then(nw.col(COUNT) - 1).sum().alias(DUPLICATES),
        nw.when(differing).then(nw.col(COUNT)).sum().alias(CONFLICTS),
    )


def conflicts(frame: Any, spelling: Spelling) -> Any:
    """Return the query for the first few ids whose rows differ."""
    return _by_id(frame, spelling).filter(_differing()).sort(REPORT_ID).head(EXAMPLES)


def _by_id(frame: Any, spelling: Spelling) -> Any:
    """Return one row for each id: how many rows it has, and the least and the largest of each."""
    plain = spelling.plain(frame.filter(~spelling.incomplete()))
    ends = [
        end.alias(f"{name}_{word}")
        for name in (MECHANISM, REPORT)
        for end, word in ((nw.col(name).min(), "low"), (nw.col(name).max(), "high"))
    ]
    return plain.group_by(REPORT_ID).agg(nw.len().alias(COUNT), *ends)


def _differing() -> Any:
    (name, report), (other_name, other_report) = _LOW, _HIGH
    return (nw.col(name) != nw.col(other_name)) | (nw.col(report) != nw.col(other_report))


def shortened(value: Any) -> str:
    """Show a value of a row in a few letters.

    >>> shortened(b"17"), shortened(bytes([7, 255]))
    ("'17'", '07ff')
    """
    shown = repr(value)
    if isinstance(value, bytes):
        text = value.decode("ascii", "replace")
        shown = repr(text) if value.isascii() and text.isprintable() else value.hex()
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 3]}..."


@dataclass(frozen=True)
class Columns:
    """The columns of reports on one question."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """By column, the bytes of the longest text that can be right."""
    inner: ClassVar[Mapping[str, str]] = {name: name for name in NAMES}
    """By the name of each column in files, its name in queries."""
    fields: ClassVar[Sequence[Sequence[str]]] = ((MECHANISM, REPORT, VALUE),)
    """Columns of a mechanism and of what it reports: a report, or the same as a value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in files."""
        return tuple(self.inner)

    @property
    def expected(self) -> str:
        """What a table has, in words."""
        return "mechanism and report (or value) and, if you like, report_id"

    def hint(self, there: Sequence[str]) -> str:
        """Return what may be the matter where a column is missing."""
        return SEPARATED if len(there) == 1 else ""

    def check(self, given: Iterable[str], what: str) -> None:
        """Refuse a table or a file without the columns that reports need."""
        there = list(given)
        for name in self.names:
            alike = [other for other in there if other.lower() == name.lower()]
            if len(alike) > 1:
                # Engines do not tell capitals apart: which they took would be chance.
                raise ReportError(
                    f"{what} has the columns {' and '.join(map(repr, alike))}: expected one. "
                    f"Rename or leave out the other."
                )
        for name, report, value in self.fields:
            if report in there and value in there:
                refuse_both(what, report, value)
            missing = [] if name in there or MECHANISM in there else [name]
            missing += [] if report in there or value in there else [report]
            if missing:
                raise ReportError(
                    f"{what} has no column {missing[0]!r}: it has {in_a_few_letters(there)}. "
                    f"Expected {self.expected}.{self.hint(there)}"
                )

    def read(self, frame: Any, what: str, folders: Mapping[str, str] | None = None) -> Any:
        """Keep the columns that count, in few types: texts, and 64-bit integers, texts or bytes.

        Integers that may not fit 64 bits and numbers with a fraction are read as texts. Values
        become reports by `value:` before them. `folders` are columns that the names of folders
        give.
        """
        if folders:
            frame = frame.with_columns(*(nw.lit(v).alias(name) for name, v in folders.items()))
        schema = frame.collect_schema()
        self.check(schema, what)
        name = as_text(MECHANISM, schema[MECHANISM], what)
        if VALUE in schema:
            columns = [name, as_value(VALUE, schema[VALUE], what).alias(REPORT)]
        else:
            columns = [name, _as_report(schema[REPORT], what)]
        return frame.select(*columns, *id_column(schema, what))

    def conflict_example(self, row: Mapping[str, Any]) -> str:
        """Show an answer to `conflicts`: an id and what its rows say."""
        parts = []
        for name, low, high in zip((MECHANISM, REPORT), _LOW, _HIGH, strict=True):
            values = [shortened(value) for value in dict.fromkeys((row[low], row[high]))]
            parts.append(f"{name} {' or '.join(values)}")
        many = several(row[COUNT], "row")
        return f"report_id {shortened(row[REPORT_ID])}, {many}: {', '.join(parts)}"
