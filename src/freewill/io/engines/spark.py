"""Spark: the same queries on one machine or on a cluster, where wide reports stay."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from freewill.errors import first_line
from freewill.io import rows
from freewill.io.decoding import Decoder
from freewill.io.engines.base import Table, engine_for, is_dataset, wide_rows
from freewill.io.engines.spark_session import blamed_on_spark, quiet, spark_failures, spark_session
from freewill.io.engines.spark_source import SparkSource, pieces_of
from freewill.io.files import is_remote
from freewill.io.layout import Part
from freewill.io.rows import LONGEST_ID

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

    def keep(self, source: Any, table: Table, decoder: Decoder) -> SparkSource:
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
