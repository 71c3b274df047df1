"""Reports that stay on Spark: a pass is one job, which sends work out and brings sums back."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

import pyarrow as pa

from freewill.reports.batches import DecodedBlocks, Decoder
from freewill.reports.cluster.session import told
from freewill.streams import Block, Work

_RESULT = "result binary"
_MANY_PARTITIONS = 64
"""Results that the driver adds up by itself; of more, workers add up some first."""
_ADDERS = 8


@dataclass(frozen=True, eq=False)
class SparkSource:
    """Rows of reports in a frame of Spark, whose workers must have freewill installed."""

    frame: Any
    decoder: Decoder
    what: str
    held: ClassVar[bool] = False

    def map(self, work: Work) -> Iterator[Any]:
        """Yield what each partition's worker makes of its rows, or sums of that."""
        with told(self.what):
            found = self.frame.mapInArrow(_on_a_worker(self.decoder, work), _RESULT)
            if found.rdd.getNumPartitions() > _MANY_PARTITIONS:
                found = found.repartition(_ADDERS).mapInArrow(_add_up, _RESULT)
            answer = found.toArrow()
        yield from _results(answer.to_batches())

    def blocks(self) -> Iterator[Block]:
        """Bring the reports to the driver."""
        with told(self.what):
            answer = self.frame.toArrow()
        yield from DecodedBlocks(self.decoder, answer.to_batches())

    def at_rest(self) -> "SparkSource":
        """Return the same: Spark holds the rows."""
        return self

    def close(self) -> None:
        """Let Spark forget the rows that it holds between passes."""
        self.frame.unpersist()

    def __str__(self) -> str:
        return self.what


def _on_a_worker(decoder: Decoder, work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what a worker does with the batches of its partition: one result, in one row."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield _row(work(DecodedBlocks(decoder, batches)))

    return run


def _add_up(batches: Iterable[Any]) -> Iterator[Any]:
    """Add up the results of other workers; a partition without any yields nothing."""
    results = list(_results(batches))
    if results:
        yield _row(reduce(add, results))


def _row(result: Any) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result)])], names=["result"])


def _results(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from map(pickle.loads, batch.column(0).to_pylist())
