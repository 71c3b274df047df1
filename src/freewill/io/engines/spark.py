"""Spark: the same queries on one machine or on a cluster, where wide reports stay.

A pass over these is one job, which sends work out and brings one sum back. Only frames are used, no
RDD and nothing of the JVM's, so that it runs over Spark Connect too.
"""

import io
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from freewill.core.types import FloatArray, slices
from freewill.errors import first_line
from freewill.io import rows
from freewill.io.decoding import DecodedBlocks, Decoder
from freewill.io.engines.base import Table, engine_for, is_dataset, wide_rows
from freewill.io.engines.spark_session import (
    blamed_on_spark,
    explained_on_spark,
    partition_number,
    quiet,
    spark_failures,
    spark_session,
)
from freewill.io.files import is_remote
from freewill.io.layout import Part
from freewill.io.rows import LONGEST_ID
from freewill.stats.groups import Block, Work

_KINDS = {
    "string": "string",
    "large_string": "string",
    "binary": "binary",
    "large_binary": "binary",
    "dictionary<values=string, indices=int32, ordered=0>": "string",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20, 0)",
    "float": "float",
    "double": "double",
}
"""What Spark calls the types of columns in Parquet."""
_LONG = ("string", "binary")
_ID = (
    f"CASE WHEN octet_length(report_id) > {LONGEST_ID} THEN raise_error(concat('a report_id of ', "
    f"octet_length(report_id), ' bytes: ids have at most {LONGEST_ID}')) ELSE report_id END "
    f"AS report_id"
)
_SHOWN = 60
_TEXTLESS = r"""regexp_replace(regexp_replace(value, '\\\\.', ''), '"[^"]*+"', '"')"""
"""A line without what its texts say. Patterns have no groups that repeat, for which Java takes
memory each time."""
_FLAT = f"length({_TEXTLESS}) - length(replace({_TEXTLESS}, '{{', '')) = 1"
_HALF_A_CHARACTER = (
    r"regexp_replace(value, '\\\\\\\\', '') RLIKE "
    r"'\\\\u[dD][89abAB]..(?!\\\\u[dD][c-fC-F])|(?<!\\\\u[dD][89abAB]..)\\\\u[dD][c-fC-F]'"
)
_ONE_OBJECT = (
    r"value RLIKE '^\\s*\\{'",
    r"value RLIKE '\\}\\s*$'",
    # Behind an object inside, a list or an object goes on.
    rf"NOT {_TEXTLESS} RLIKE '\\}}\\s*[^\\s,\\]}}]'",
    rf"({_TEXTLESS} LIKE '%[%' OR NOT {_TEXTLESS} RLIKE '\\}}\\s*,\\s*\\{{')",
    f"NOT {_HALF_A_CHARACTER}",
)
_MAGIC = str.maketrans({sign: f"\\{sign}" for sign in "\\*?[]{}"})
_PARCEL = "part int, parcel binary"
_ADDERS = 8
"""Workers that add up results of all partitions that are large, before one adds up theirs."""
_LARGE_BYTES = 1 << 20
PIECE_BYTES = 1 << 26
"""Bytes of reports that come to the driver at a time."""
_BLOCK_BYTES = 1 << 20
_LEAST = 64
"""Rows of a symmetric matrix from which half of it is worth the trouble."""


@dataclass(frozen=True)
class Joined:
    """A session of Spark."""

    spark: Any
    groups_bits: ClassVar[bool] = True

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What Spark raises where a source is at fault, or it is itself."""
        return spark_failures()

    def blamed(self, error: BaseException) -> tuple[str, str]:
        """Return what happened and, where no source is at fault, what helps."""
        return blamed_on_spark(error)

    def owns(self, source: Any) -> bool:
        """Say whether a source is a frame of Spark."""
        return _is_frame(source)

    def keep(self, source: Any, table: Table, decoder: Decoder) -> "SparkSource":
        """Return the rows as a frame that Spark holds between passes."""
        frame = nw.concat(wide_rows(table, decoder)).to_native()
        return SparkSource(frame.persist(), decoder, table.what)

    def scan(self, part: Part, kind: str) -> Any:
        """Return the rows of files that are alike."""
        paths = part.paths
        if kind == "csv":
            return self.table(_read_csv(part), part.wanted)
        # Spark takes every path for a pattern.
        listed = [path if is_remote(path) else path.translate(_MAGIC) for path in paths]
        if kind == "parquet":
            # Told which columns there are, Spark minds no others.
            typed = all(column in _KINDS for _, column in part.columns)
            wanted = ", ".join(f"{_quoted(n)} {_KINDS[own]}" for n, own in part.columns if typed)
            return (self.spark.read.schema(wanted) if wanted else self.spark.read).parquet(*listed)
        return _lines_of_json(self.spark, listed, part.wanted)

    def table(self, arrow: Any, wanted: Sequence[str]) -> Any:
        """Send an Arrow table to Spark."""
        with quiet():
            whole = arrow.to_table() if is_dataset(arrow) else arrow
            return self.spark.createDataFrame(_known_types(whole, wanted))

    def renamed(self, frame: Any, names: Mapping[str, str]) -> Any:
        """Return some columns of a frame under other names."""
        return frame.selectExpr(*(f"{_quoted(n)} AS {_quoted(new)}" for n, new in names.items()))

    def bounded(self, frame: Any, limits: Mapping[str, int]) -> Any:
        """Return a frame in which no text is longer than any can be."""
        kinds = dict(frame.dtypes)
        texts = [name for name in limits if kinds.get(name) in _LONG]
        if texts:
            longest = [f"max(octet_length({name})) AS {name}" for name in texts]
            with quiet():
                (lengths,) = frame.selectExpr(*longest).collect()
            long = {name: limits[name] + 1 for name in texts if (lengths[name] or 0) > limits[name]}
            frame = _cut(frame, long)
        if kinds.get(rows.REPORT_ID) != "string":
            return frame
        return frame.selectExpr(*(_ID if name == rows.REPORT_ID else f"`{name}`" for name in kinds))

    def as_bytes(self, frame: Any) -> Any:
        """Return a frame whose reports are the bytes of their texts."""
        bytes_of = f"CAST({rows.REPORT} AS BINARY) AS {rows.REPORT}"
        return frame.selectExpr(
            *(bytes_of if name == rows.REPORT else name for name in frame.columns)
        )

    def peek(self, path: str) -> Any:
        """Return the Arrow schema of a Parquet file that lies elsewhere."""
        with quiet():
            return self.spark.read.parquet(path).limit(0).toArrow().schema

    def batches(self, query: Any, longest: int) -> Iterator[Any]:
        """Run a query and yield its rows, of reports no more at a time than the driver can take."""
        answer = query.to_native()
        with quiet():
            if not longest:
                yield from answer.toArrow().to_batches()
                return
            cut = _cut(answer, {rows.REPORT: longest + 1}).persist()
            try:
                pieces = pieces_of(cut, rows.MECHANISM, rows.REPORT)
                for number in range(pieces):
                    some = f"pmod(xxhash64({rows.MECHANISM}, {rows.REPORT}), {pieces}) = {number}"
                    yield from (cut.filter(some) if pieces > 1 else cut).toArrow().to_batches()
            finally:
                cut.unpersist()

    def progress(self) -> float:
        """Nobody knows."""
        return 0.0

    def interrupt(self) -> None:
        """Stop all that this session runs."""
        self.spark.interruptAll()


def _read_csv(part: Part) -> Any:
    """Read CSV files on the driver by DuckDB, so that a CSV is the same to both engines."""
    with engine_for("duckdb", None)(None, False) as duckdb:
        try:
            scanned = duckdb.scan(part, "csv")
            sent = _columns_to_send(scanned.columns, part.wanted)
            return duckdb.renamed(scanned, dict(zip(sent, sent, strict=True))).to_arrow_table()
        except duckdb.failures as error:
            raise pa.ArrowInvalid(first_line(error)) from None


def _lines_of_json(spark: Any, paths: list[str], keys: Sequence[str]) -> Any:
    """Return the keys that count of one object a line, as texts.

    Spark's reader takes the first object of a line and leaves out the rest (as when two files were
    joined of which the first had no line end), takes the last of two values of one key, and reads
    halves of characters as question marks. So each line is looked at before it is read.
    """
    lines = spark.read.text(paths, lineSep="\n").filter(r"value RLIKE '\\S'")
    once = [rf"NOT ({_FLAT} AND regexp_count(value, '{_pattern(key)}\\s*:') > 1)" for key in keys]
    # A comma behind the last key is forgiven.
    good = rf"""CASE
        WHEN value RLIKE '^\\s*null\\s*$' THEN '{{}}'
        WHEN {" AND ".join([*_ONE_OBJECT, *once])}
            THEN regexp_replace(value, ',\\s*\\}}\\s*$', '}}')
        ELSE raise_error(concat('Malformed JSON, not one object a line: ', left(value, {_SHOWN})))
    END"""
    schema = _escaped(", ".join(f"{_quoted(key)} STRING" for key in keys))
    strict = "map('mode', 'FAILFAST', 'allowSingleQuotes', 'false')"
    # What is no number stands without quotes, as a number does.
    columns = [
        rf"""regexp_replace(row.{_quoted(key)}, '^"(NaN|-?Infinity)"$', '$1') AS {_quoted(key)}"""
        for key in keys
    ]
    return lines.selectExpr(f"from_json({good}, '{schema}', {strict}) AS row").selectExpr(*columns)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _pattern(key: str) -> str:
    """Return the pattern of a key of JSON, for a text in a query."""
    return _escaped(re.escape(json.dumps(key, ensure_ascii=False)))


def _escaped(text: str) -> str:
    """Return what stands for a text between single quotes in a query."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _known_types(table: Any, wanted: Sequence[str]) -> Any:
    """Return the columns that count, in types that Spark has."""
    table = table.select(_columns_to_send(table.column_names, wanted))
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_unsigned_integer(kind):
            kind = pa.decimal128(20) if kind == pa.uint64() else pa.int64()
        table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _columns_to_send(names: list[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns that count; where folders give all of them, any one, for its rows."""
    return [name for name in names if name in wanted] or names[:1]


def _cut(frame: Any, lengths: Mapping[str, int]) -> Any:
    """Cut texts and bytes off behind so many letters or bytes."""
    short = {
        name: f"substring({name}, 1, {lengths[name]}) AS {name}"
        for name, kind in frame.dtypes
        if name in lengths and kind in _LONG
    }
    return frame.selectExpr(*(short.get(name, f"`{name}`") for name in frame.columns))


@contextmanager
def session(source: Any = None, streaming: bool = False) -> Iterator[Joined]:
    """Join the session that a frame has or that runs, or start one."""
    yield Joined(source.sparkSession if _is_frame(source) else spark_session())


def _is_frame(source: Any) -> bool:
    dependencies = nw.dependencies
    return bool(
        dependencies.is_pyspark_dataframe(source)
        or dependencies.is_pyspark_connect_dataframe(source)
    )


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
