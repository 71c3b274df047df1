"""Reports on Spark: the same expressions as for DuckDB, on one machine or on a cluster."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyarrow import dataset

from freewill.errors import ReportError
from freewill.reports.embedded import (
    ADVICE,
    Table,
    as_arrow,
    check_parquet,
    explained,
    first_line,
    is_frame,
)
from freewill.reports.sources import Files, files_of

_OPTIONS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


@contextmanager
def on_spark(source: Any) -> Iterator[Table]:
    """Open files, or a frame, as a table of Spark."""
    if nw.dependencies.is_pyspark_dataframe(source):
        with plain_errors("the Spark frame", "Does its query run by itself?"):
            yield Table(nw.from_native(source), "the Spark frame", _batches, True)
        return
    spark = session()
    if is_frame(source):
        rows = as_arrow(source)
        rows = rows.to_table() if isinstance(rows, dataset.Dataset) else rows
        what = f"the {type(source).__module__.split('.')[0]} {type(source).__name__}"
        with plain_errors(what, "Does it have the columns mechanism and report?"):
            yield Table(nw.from_native(_from_arrow(spark, rows)), what, _batches, True)
        return
    files = files_of(source)
    with plain_errors(str(files), ADVICE[files.format]), files.unchanged():
        with _plain_partitions(spark):
            frame = _frame(spark, files)
        yield Table(nw.from_native(frame), str(files), _batches, True)


def session(options: Mapping[str, str] | None = None) -> Any:
    """Return the active Spark session, or start one whose workers run this Python.

    `options` are Spark's own, such as {"spark.master": "local[2]"}, for a session that starts.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError:
        raise ReportError(
            "engine='spark' needs PySpark, which is not installed: install freewill[spark], or "
            "use engine='duckdb'."
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    before = os.environ.get("PYSPARK_PYTHON")
    # Spark starts its workers with python3 from the PATH unless told, and reads this only once.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        with quiet(), plain_errors("Spark", "Does `spark-shell` start on this machine?"):
            builder: Any = SparkSession.builder.appName("freewill")
            for name, value in {**_OPTIONS, **(options or {})}.items():
                builder = builder.config(name, value)
            return builder.config("spark.pyspark.python", sys.executable).getOrCreate()
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]
        else:
            os.environ["PYSPARK_PYTHON"] = before


def check_java() -> None:
    """Refuse to start Spark without Java, of which it would only say that a gateway exited."""
    if "SPARK_REMOTE" in os.environ:
        return
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no java on the PATH"
        raise ReportError(
            f"Spark needs Java 17 or newer: {where}. Install a Java runtime or set JAVA_HOME, or "
            f"use engine='duckdb', which needs none."
        )


def _frame(spark: Any, files: Files) -> Any:
    """Return the rows of files, with every type as docs/reports.md has it."""
    if files.format == "arrow":
        return _from_arrow(spark, dataset.dataset(list(files.paths), format="ipc").to_table())
    reader = spark.read if files.root is None else spark.read.option("basePath", files.root)
    paths = list(files.paths)
    if files.format == "parquet":
        check_parquet(files)
        return reader.parquet(*paths)
    reader = reader.option("mode", "FAILFAST")
    if files.format == "csv":
        dialect = {"header": True, "quote": '"', "escape": '"', "enforceSchema": False}
        return reader.options(**dialect).csv(paths)
    from pyspark.sql import functions  # noqa: PLC0415

    names = ("mechanism", "report", "report_id")
    frame = reader.schema(", ".join(f"{name} string" for name in names)).json(paths)
    # A key that is in no row is left out, to be missed like a column of any other file.
    present = frame.select(*(functions.count(name).alias(name) for name in names)).first()
    return frame.drop(*(name for name in names if not present[name]))


def _from_arrow(spark: Any, rows: pa.Table) -> Any:
    with quiet():
        return spark.createDataFrame(rows)


@contextmanager
def _plain_partitions(spark: Any) -> Iterator[None]:
    """Read names of folders as texts: mechanism=01 is not mechanism 1."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        spark.conf.set(_INFERENCE, before)


def _batches(query: Any) -> Iterator[Any]:
    """Run a query and yield its rows, a batch at a time."""
    with quiet():
        answer = query.to_native().toArrow()
    yield from answer.to_batches()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence PySpark's remark that it has not been tried with a pandas that it does not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


@contextmanager
def plain_errors(what: str, advice: str) -> Iterator[None]:
    """Turn what Spark says of a source into an error that says what to do."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        with explained(what, advice):
            yield
    except (PySparkException, Py4JError) as error:
        raise ReportError(f"{what} cannot be read: {first_line(error)}. {advice}") from None
