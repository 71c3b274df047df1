"""Columns of tables, of every type that Arrow has, filled with what is right or not."""

import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tools.fuzz.case import Case
from tools.fuzz.hostile import text

_DAY = datetime.datetime(2020, 2, 29, 12)
_TYPES: tuple[Callable[[], Any], ...] = (
    pa.int64, pa.int64, pa.int8, pa.uint8, pa.int32, pa.uint64, pa.float64, pa.float32, pa.float16,
    pa.string, pa.string, pa.large_string, pa.binary, pa.large_binary, pa.bool_, pa.null,
    lambda: pa.binary(2), lambda: pa.decimal128(10, 2), lambda: pa.decimal256(60, 0),
    lambda: pa.timestamp("ns", "UTC"), lambda: pa.timestamp("s"), pa.date32, pa.date64,
    lambda: pa.time64("us"), lambda: pa.duration("ms"), pa.month_day_nano_interval,
    lambda: pa.list_(pa.int64()), lambda: pa.large_list(pa.string()),
    lambda: pa.list_(pa.int8(), 2),
    lambda: pa.struct([("a", pa.int64()), ("mechanism", pa.string())]),
    lambda: pa.map_(pa.string(), pa.int64()), lambda: pa.list_(pa.list_(pa.null())),
    pa.string_view, pa.binary_view,
)  # fmt: skip


def column(case: Case, rows: int, wanted: Sequence[Any]) -> Any:
    """Return a column of some type; what fits of the wanted values is in it."""
    kind = case.pick(_TYPES)()
    values = [_value(case, case.pick(wanted)) for _ in range(rows)]
    try:
        found = pa.array([_fitting(value, kind) for value in values], kind)
    except (pa.ArrowException, TypeError, ValueError):  # each fits, and not beside each other
        found = pa.nulls(rows, kind)
    if case.often(0.2) and not pa.types.is_nested(kind) and not pa.types.is_null(kind):
        try:
            return found.dictionary_encode()
        except pa.ArrowException:
            return found
    return found


def _value(case: Case, wanted: Any) -> Any:
    if case.often(0.85):
        return wanted
    return case.pick([None, -1, 2**40, 0.5, float("nan"), text(case), b"\xff\0", 10**15, "value:1"])


def _fitting(value: Any, kind: Any) -> Any:
    """Return the value if the type takes it, or what is nearest."""
    for attempt in (value, *_nearest(value)):
        try:
            pa.array([attempt], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        return attempt
    return None


def _nearest(value: Any) -> list[Any]:
    written = str(value).encode("utf-8", "replace").decode()
    number = len(written)
    return [
        written, written.encode(), (written.encode() + b"00")[:2], number, decimal.Decimal(number),
        _DAY, _DAY.date(), _DAY.time(), datetime.timedelta(number), [number], [written], [1, 2],
        {"a": number}, [(written, number)], number % 2 == 0,
    ]  # fmt: skip
