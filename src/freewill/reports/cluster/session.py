"""Sessions of Spark: joined or started, kept quiet, and what they raise."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freewill.errors import ReportError, first_line

_OPTIONS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


def spark_session(options: Mapping[str, str] | None = None) -> Any:
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
        with quiet():
            builder: Any = SparkSession.builder.appName("freewill")
            for name, value in {**_OPTIONS, **(options or {})}.items():
                builder = builder.config(name, value)
            return builder.config("spark.pyspark.python", sys.executable).getOrCreate()
    except spark_failures() as error:
        raise ReportError(
            f"Spark cannot be started: {first_line(error)}. Does `spark-shell` start on this "
            f"machine?"
        ) from None
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


@contextmanager
def quiet() -> Iterator[None]:
    """Silence PySpark's remark that it has not been tried with a pandas that it does not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn what Spark says of reports that it holds into an error that names them."""
    try:
        with quiet():
            yield
    except spark_failures() as error:
        raise ReportError(
            f"{what} cannot be read on Spark: {_cause(error)}. Were the files moved or written "
            f"anew, or do the workers lack freewill? Read the reports again."
        ) from None


def _cause(error: Exception) -> str:
    """Return what an error says first or, where a worker's traceback follows, last."""
    text = first_line(error)
    return str(error).strip().splitlines()[-1].rstrip(".") if text.endswith(":") else text


def spark_failures() -> tuple[type[Exception], ...]:
    """Return what Spark raises."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    return PySparkException, Py4JError
