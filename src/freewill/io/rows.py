"""The rows of reports as expressions, the same for every engine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw

from freewill.domain.outputs.base import VALUE as PREFIX
from freewill.errors import ReportError

MECHANISM, REPORT, VALUE, REPORT_ID = NAMES = ("mechanism", "report", "value", "report_id")
"""The columns that count: `value` is for people what `report` is for machines."""
COUNT = "count"
_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
SEPARATED = " Columns of a CSV are separated by commas, semicolons or tabs."
_EXACT = 2.0**53
"""Up to here, every whole number is a float."""
_SHOWN_NAMES, _LONGEST_NAME = 8, 40
_TEXTS = (nw.String, nw.Categorical, nw.Enum)


def check_names(names: Iterable[str], what: str) -> None:
    """Refuse a table or a file without the columns that reports need."""
    given = list(names)
    for name in NAMES:
        alike = [other for other in given if other.lower() == name]
        if len(alike) > 1:
            # Engines do not tell capitals apart: which of the columns they took would be chance.
            raise ReportError(
                f"{what} has the columns {' and '.join(map(repr, alike))}: expected one. Rename or "
                f"leave out the other."
            )
    if REPORT in given and VALUE in given:
        raise ReportError(
            f"{what} has the columns 'report' and 'value': expected one of them, the report as an "
            f"index or as a value. Leave out or rename the other."
        )
    for name in (MECHANISM, REPORT):
        if name not in given and not (name == REPORT and VALUE in given):
            hint = SEPARATED if len(given) == 1 else ""
            raise ReportError(
                f"{what} has no column {name!r}: it has {in_a_few_letters(given)}. Expected "
                f"mechanism and report (or value) and, if you like, report_id.{hint}"
            )


def in_a_few_letters(names: Sequence[str]) -> str:
    r"""Show the names of a few columns in a few letters, whatever signs are in them.

    >>> in_a_few_letters(["who", "what\\x1b[2J"])
    'who, what\\\\x1b[2J'
    """
    some = [repr(name[:_LONGEST_NAME])[1:-1] for name in names[:_SHOWN_NAMES]]
    return ", ".join([*some, *(["..."] if len(names) > _SHOWN_NAMES else [])]) or "none"


def checked_columns(frame: Any, what: str, folders: Mapping[str, str] | None = None) -> Any:
    """Keep the columns that count, in few types: texts, and 64-bit integers, texts or bytes.

    Integers that may not fit 64 bits and numbers with a fraction are read as texts. Values become
    reports by `value:` before them. `folders` are columns that the names of folders give.
    """
    if folders:
        frame = frame.with_columns(*(nw.lit(v).alias(name) for name, v in folders.items()))
    schema = frame.collect_schema()
    check_names(schema, what)
    name = _as_text(MECHANISM, schema[MECHANISM], what)
    if VALUE in schema:
        columns = [name, _as_value(schema[VALUE], what)]
    else:
        columns = [name, _as_report(schema[REPORT], what)]
    if REPORT_ID in schema:
        number = _as_text(REPORT_ID, schema[REPORT_ID], what)
        # Many writers cannot tell an empty text from nothing: as an id, it is nothing.
        columns.append(nw.when(number != "").then(number).alias(REPORT_ID))
    return frame.select(*columns)


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


def _as_text(name: str, kind: Any, what: str) -> Any:
    if kind == nw.String:
        return nw.col(name)
    whole = kind.is_integer() or (kind == nw.Decimal and kind.scale == 0)
    if kind in _TEXTS or whole:
        return nw.col(name).cast(nw.String)
    raise ReportError(f"column {name!r} of {what} is of type {kind}: expected texts.")


def _as_report(kind: Any, what: str) -> Any:
    column = nw.col(REPORT)
    if kind in _INTEGERS:
        return column.cast(nw.Int64)
    if kind in (nw.String, nw.Binary, nw.Struct):
        return column
    if kind in _TEXTS or kind.is_numeric():
        return _written(column, kind).alias(REPORT)
    raise ReportError(
        f"column 'report' of {what} is of type {kind}: expected integers (indices), texts "
        f"(indices, labels, hexadecimal bits) or bytes (packed bits). See docs/reports.md."
    )


def _as_value(kind: Any, what: str) -> Any:
    if not (kind in _TEXTS or kind.is_numeric()):
        raise ReportError(
            f"column 'value' of {what} is of type {kind}: expected texts or numbers, values of the "
            f"survey's alphabet as people write them. See docs/reports.md."
        )
    return valued(_written(nw.col(VALUE), kind))


def _written(column: Any, kind: Any) -> Any:
    """Return labels and numbers as texts, whole ones without the exponent that some engines add."""
    text = column.cast(nw.String)
    if not kind.is_float():
        return text
    # Not every float fits an integer: the condition is looked at first.
    whole = (column.abs() < _EXACT) & (column % 1 == 0)
    return nw.when(whole).then(column.cast(nw.Int64).cast(nw.String)).otherwise(text)


def valued(text: Any) -> Any:
    """Return texts of values as texts of reports."""
    return nw.concat_str(nw.lit(PREFIX), text).alias(REPORT)


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
