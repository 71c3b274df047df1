"""The rows of reports as expressions, the same for DuckDB and for Spark."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from freewill.errors import ReportError

MECHANISM, REPORT, REPORT_ID, COUNT = "mechanism", "report", "report_id", "count"
_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
_TEXTS = (nw.String, nw.Categorical, nw.Enum)


def checked_columns(frame: Any, what: str) -> Any:
    """Keep the columns that count, in few types: texts, and integers, texts or bytes.

    Integers that may not fit 64 bits and numbers with a fraction are read as texts.
    """
    schema = frame.collect_schema()
    for name in (MECHANISM, REPORT):
        if name not in schema:
            hint = "" if len(schema) != 1 else " Columns of a CSV are separated by commas."
            raise ReportError(
                f"{what} has no column {name!r}: it has {', '.join(schema) or 'none'}. Expected "
                f"mechanism and report and, if you like, report_id.{hint}"
            )
    columns = [_as_text(MECHANISM, schema[MECHANISM], what), _as_report(schema[REPORT], what)]
    if REPORT_ID in schema:
        columns.append(_as_text(REPORT_ID, schema[REPORT_ID], what))
    return frame.select(*columns)


def _as_text(name: str, kind: Any, what: str) -> Any:
    if kind == nw.String:
        return nw.col(name)
    if kind in _TEXTS or kind.is_integer():
        return nw.col(name).cast(nw.String)
    raise ReportError(f"column {name!r} of {what} is of type {kind}: expected texts.")


def _as_report(kind: Any, what: str) -> Any:
    column = nw.col(REPORT)
    if kind in (nw.String, nw.Binary, *_INTEGERS):
        return column
    if kind in _TEXTS or kind.is_numeric():
        return column.cast(nw.String)
    raise ReportError(
        f"column 'report' of {what} is of type {kind}: expected integers (indices), texts "
        f"(indices, labels, hexadecimal bits) or bytes (packed bits). See docs/reports.md."
    )


def counted(frame: Any) -> Any:
    """Return one row for each mechanism and report, with its count."""
    return frame.group_by(MECHANISM, REPORT).agg(nw.len().alias(COUNT))


def single(frame: Any) -> Any:
    """Return the rows as they are, uncounted: for reports that do not repeat."""
    return frame.select(MECHANISM, REPORT)


def of(frame: Any, names: Sequence[str]) -> Any:
    """Return the rows of these mechanisms."""
    return frame.filter(nw.col(MECHANISM).is_in(names))


def not_of(frame: Any, names: Sequence[str]) -> Any:
    """Return the rows of all other mechanisms, and of none."""
    name = nw.col(MECHANISM)
    return frame.filter(name.is_null() | ~name.is_in(names)) if names else frame


def unnumbered(frame: Any) -> Any:
    """Return the rows that cannot be duplicates: without report_id, or invalid anyhow."""
    return frame.filter(
        nw.col(REPORT_ID).is_null() | nw.col(MECHANISM).is_null() | nw.col(REPORT).is_null()
    )


def once(frame: Any) -> Any:
    """Return one row for each report_id: of several, the first by mechanism and report."""
    whole = frame.filter(
        ~nw.col(REPORT_ID).is_null() & ~nw.col(MECHANISM).is_null() & ~nw.col(REPORT).is_null()
    )
    row = nw.struct(MECHANISM, REPORT).alias("row")
    first = whole.select(REPORT_ID, row).group_by(REPORT_ID).agg(nw.col("row").min())
    fields = [nw.col("row").struct.field(name).alias(name) for name in (MECHANISM, REPORT)]
    return first.select(*fields)
