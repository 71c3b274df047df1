"""Reports that stay on Spark: a pass is one job, which sends work out and brings one sum back.

Only frames are used, no RDD and nothing of the JVM's, so that it runs over Spark Connect too.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from freewill.core.types import FloatArray, slices
from freewill.io.decoding import DecodedBlocks, Decoder
from freewill.io.engines.spark_session import explained_on_spark, partition_number
from freewill.stats.groups import Block, Work

_PARCEL = "part int, parcel binary"
_ADDERS = 8
"""Workers that add up results of all partitions that are large, before one adds up theirs."""
_LARGE_BYTES = 1 << 20
PIECE_BYTES = 1 << 26
"""Bytes of reports that come to the driver at a time."""
_BLOCK_BYTES = 1 << 20
_LEAST = 64
"""Rows of a symmetric matrix from which half of it is worth the trouble."""


@dataclass(frozen=True, eq=False)
class SparkSource:
    """Rows of reports in a frame of Spark, whose workers must have freewill installed."""

    frame: Any
    decoder: Decoder
    what: str
    held: ClassVar[bool] = False

    def map(self, work: Work) -> Iterator[Any]:
        """Yield the sum of what the workers make of their rows, which they add up in a tree.

        The driver receives one result, whatever the number of partitions, and the sum is taken in
        the order of the partitions, so that it is the same to the last digit when a worker dies.
        """
        with explained_on_spark(self.what):
            parcels = self.frame.mapInArrow(_on_a_worker(self.decoder, work), _PARCEL)
            # What comes of no reports is about as large as what comes of many.
            nothing = len(packed(work(DecodedBlocks(self.decoder, []))))
            for adders in (_ADDERS, 1) if nothing > _LARGE_BYTES else (1,):
                parcels = parcels.repartition(adders, "part").sortWithinPartitions("part")
                parcels = parcels.mapInArrow(_add_up, _PARCEL)
            answer = parcels.toArrow()
        yield from (result for _, result in _results(answer.to_batches()))

    def blocks(self) -> Iterator[Block]:
        """Bring the reports to the driver, decoded and without their names, some at a time."""
        with explained_on_spark(self.what):
            parcels = self.frame.mapInArrow(_to_blocks(self.decoder), _PARCEL)
            pieces = pieces_of(self.frame, "report")
            if pieces == 1:
                answer = parcels.toArrow()
                yield from (block for _, block in _results(answer.to_batches()))
                return
            # A partition comes as a whole, however large: of these, none is.
            for row in parcels.repartition(pieces).toLocalIterator():
                yield unpacked(row.parcel)

    def at_rest(self) -> "SparkSource":
        """Return the same: Spark holds the rows."""
        return self

    def close(self) -> None:
        """Let Spark forget the rows that it holds between passes."""
        self.frame.unpersist()

    def __str__(self) -> str:
        return self.what


def pieces_of(frame: Any, *columns: str) -> int:
    """Return in how many pieces to bring columns of texts or bytes to the driver."""
    length = " + ".join(f"coalesce(octet_length({name}), 0) + 8" for name in columns)
    (row,) = frame.selectExpr(f"sum({length}) AS bytes").collect()
    return 1 + int(row.bytes or 0) // PIECE_BYTES


def _on_a_worker(decoder: Decoder, work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what a worker does with the batches of its partition: one result, in one row."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield _row(partition_number(), work(DecodedBlocks(decoder, batches)))

    return run


def _to_blocks(decoder: Decoder) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what a worker does to send its reports: blocks of them, in rows."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for name, outputs, counts in DecodedBlocks(decoder, batches):
            for some in slices(len(outputs), _BLOCK_BYTES // max(1, outputs[:1].nbytes)):
                own = None if counts is None else counts[some]
                yield _row(partition_number(), Block(name, outputs[some], own))

    return run


def _add_up(batches: Iterable[Any]) -> Iterator[Any]:
    """Add up the results of other workers as they come; without any, yield nothing."""
    results = _results(batches)
    first = next(results, None)
    if first is not None:
        part, start = first
        yield _row(part, reduce(add, (result for _, result in results), start))


def _row(part: int, result: Any) -> Any:
    columns = [pa.array([part], pa.int32()), pa.array([packed(result)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["part", "parcel"])


def _results(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        for part, parcel in zip(batch.column(0), batch.column(1), strict=True):
            yield part.as_py(), unpacked(parcel.as_py())


def packed(result: Any) -> bytes:
    """Return anything as bytes; a symmetric matrix in it takes k (k + 1) / 2 numbers, not k^2.

    >>> half, whole = packed(np.ones((100, 100))), packed(np.ones((99, 100)))
    >>> len(half) < 0.52 * len(whole), bool(np.all(unpacked(half) == 1))
    (True, True)
    """
    file = io.BytesIO()
    _Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(result)
    return file.getvalue()


def unpacked(parcel: bytes) -> Any:
    """Return what was packed, to the last bit."""
    return pickle.loads(parcel)


class _Packer(pickle.Pickler):
    """Pickles a symmetric matrix as its triangle, wherever in a result it stands."""

    def reducer_override(self, obj: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        if not _is_symmetric(obj):
            return NotImplemented
        return _whole, (len(obj), np.concatenate([obj[row, : row + 1] for row in range(len(obj))]))


def _is_symmetric(obj: Any) -> bool:
    return (
        type(obj) is np.ndarray
        and obj.dtype == np.float64
        and obj.ndim == 2
        and obj.shape[0] == obj.shape[1] >= _LEAST
        and np.array_equal(obj, obj.T)
        # Of 0 and -0, which are equal, both halves would be the same.
        and np.array_equal(np.signbit(obj), np.signbit(obj.T))
    )


def _whole(size: int, triangle: FloatArray) -> FloatArray:
    """Return the matrix of which this is the lower triangle, row by row."""
    matrix, end = np.empty((size, size)), 0
    for row in range(size):
        start, end = end, end + row + 1
        matrix[row, : row + 1] = matrix[: row + 1, row] = triangle[start:end]
    return matrix
