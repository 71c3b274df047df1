"""What Spark's workers do with their rows: batches of Arrow in, a few rows of sums out."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from freewill.operators.kernel import Sums, kernel
from freewill.reports.tally import Refusals
from freewill.reports.wire import Bits, Reason
from freewill.types import FloatArray, PackedBits

_BLOCK_ROWS = 1 << 16
SUMS = "value double, slope binary, hessian binary"
SUMMARY = "mechanism string, rows long, ones binary, log_scale double, refused string"
Codecs: TypeAlias = Mapping[str, Bits]
"""How the bits of each mechanism travel, by name and id."""
Work: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]


def make_pass(
    codecs: Codecs,
    laws: Mapping[str, tuple[float, float]],
    theta: FloatArray,
    stride: int,
    weight: float,
) -> Work:
    """Return what a worker does with its rows: the sums of all, in one row."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        sums = Sums.nothing(theta.size, stride)
        for name, packed in _blocks(batches, codecs, Refusals()):
            weights = np.full(len(packed), weight)
            sums = sums + kernel(packed, weights, theta, *laws[name], stride)
        yield _as_row(sums)

    return work


def add_up(size: int) -> Work:
    """Return what a worker does with sums of others: add them up."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        yield _as_row(total(batches, size))

    return work


def _as_row(sums: Sums) -> Any:
    hessian = None if sums.hessian is None else sums.hessian.tobytes()
    columns = {"value": [sums.value], "slope": [sums.slope.tobytes()], "hessian": [hessian]}
    kinds = [("value", pa.float64()), ("slope", pa.binary()), ("hessian", pa.binary())]
    return pa.RecordBatch.from_pydict(columns, schema=pa.schema(kinds))


def total(batches: Iterable[Any], size: int) -> Sums:
    """Add up rows of sums."""
    value, slope = 0.0, np.zeros(size)
    hessian: FloatArray | None = None
    for batch in batches:
        for row in batch.to_pylist():
            value, slope = value + row["value"], slope + np.frombuffer(row["slope"])
            if row["hessian"] is not None:
                some = np.frombuffer(row["hessian"]).reshape(size, size)
                hessian = some if hessian is None else hessian + some
    return Sums(value, slope, hessian)


def look(codecs: Codecs) -> Work:
    """Return what a worker does for a summary: a row for each block, one for what is invalid."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        refusals = Refusals()
        columns: dict[str, list[Any]] = {name.split()[0]: [] for name in SUMMARY.split(", ")}
        for name, packed in _blocks(batches, codecs, refusals):
            operator: Any = codecs[name].mechanism.operator(packed)
            ones = operator.by_bit(np.ones(len(packed)))
            row = (name, len(packed), ones.tobytes(), float(operator.log_scale.sum()), None)
            for column, entry in zip(columns.values(), row, strict=True):
                column.append(entry)
        for column, entry in zip(
            columns.values(), (None, 0, None, 0.0, json.dumps(refusals.parts())), strict=True
        ):
            column.append(entry)
        kinds = [pa.string(), pa.int64(), pa.binary(), pa.float64(), pa.string()]
        arrays = [pa.array(v, kind) for v, kind in zip(columns.values(), kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    return work


def _blocks(
    batches: Iterable[Any], codecs: Codecs, refusals: Refusals
) -> Iterator[tuple[str, PackedBits]]:
    """Yield the valid reports of each mechanism in blocks worth a call of the kernel."""
    waiting: dict[str, list[PackedBits]] = {}
    for batch in batches:
        names = batch.column("mechanism").dictionary_encode()
        codes = names.indices.to_numpy(zero_copy_only=False)
        for code, name in enumerate(names.dictionary.to_pylist()):
            column = batch.column("report").filter(pa.array(codes == code))
            if column.null_count:
                missing = column.is_null().to_numpy(zero_copy_only=False)
                refusals.add(Reason.NO_REPORT, name, column, None, missing)
                column = column.drop_null()
            packed, _, bad = codecs[name].decode(column)
            for reason, wrong in bad.items():
                refusals.add(reason, name, column, None, wrong)
            some = waiting.setdefault(name, [])
            # Copied, for Spark may use the memory of a batch again.
            some.append(np.array(packed, dtype=np.uint8))
            if sum(map(len, some)) >= _BLOCK_ROWS:
                yield name, np.concatenate(waiting.pop(name))
    for name, some in waiting.items():
        yield name, np.concatenate(some)
