"""Sessions of Spark: joined or started, kept quiet, and what they raise."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freewill.errors import ReportError
from freewill.io.faults import blamed_on_spark

_OPTIONS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_PYTHON, _PYTHON_OPTION = "PYSPARK_PYTHON", "spark.pyspark.python"
_REMOTE, _REMOTE_OPTION = "SPARK_REMOTE", "spark.remote"


def spark_session(options: Mapping[str, str] | None = None) -> Any:
    """Return the active Spark session, or start one.

    `options` are Spark's own, such as {"spark.master": "local[2]"}, for a session that starts, or
    {"spark.remote": "sc://host"} for Spark Connect. Its workers run the Python that the option
    `spark.pyspark.python` or the variable PYSPARK_PYTHON names and, if neither does, this one.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError:
        raise ReportError(
            "engine='spark' needs PySpark, which is not installed: install freewill[spark], or "
            "use engine='duckdb'."
        ) from None
    wanted = dict(options or {})
    if not _is_remote(wanted):
        wanted = {**_OPTIONS, **wanted}
    try:
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        check_java(wanted.get(_REMOTE_OPTION))
        with quiet(), _workers_python(wanted.get(_PYTHON_OPTION)) as python:
            builder: Any = SparkSession.builder.appName("freewill")
            if not _is_remote(wanted):
                # Over Connect, Python is the server's affair.
                wanted.setdefault(_PYTHON_OPTION, python)
            for name, value in wanted.items():
                builder = builder.config(name, value)
            return builder.getOrCreate()
    except spark_failures() as error:
        cause, advice = blamed_on_spark(error)
        raise ReportError(
            f"Spark cannot be started: {cause}. "
            f"{advice or 'Does `spark-shell` start on this machine?'}"
        ) from None


def _is_remote(options: Mapping[str, str]) -> bool:
    return _REMOTE_OPTION in options or _REMOTE in os.environ


@contextmanager
def _workers_python(told_by_option: str | None) -> Iterator[str]:
    """Set the workers' Python while Spark starts, which reads the variable then and only then."""
    before = os.environ.get(_PYTHON)
    # Unless told, Spark would take python3 from the PATH; of the option it hears too late.
    python = told_by_option or before or sys.executable
    os.environ[_PYTHON] = python
    try:
        yield python
    finally:
        if before is None:
            del os.environ[_PYTHON]
        else:
            os.environ[_PYTHON] = before


def check_java(remote: str | None = None) -> None:
    """Refuse to start Spark without Java, of which it would only say that a gateway exited."""
    address = remote or os.environ.get(_REMOTE, "local")
    if not address.startswith("local"):
        return
    home = os.environ.get("JAVA_HOME")
    has_java = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not has_java:
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
def explained_on_spark(what: str) -> Iterator[None]:
    """Turn what Spark says of reports that it holds into an error that names them."""
    try:
        with quiet():
            yield
    except _broken() as error:
        if not _is_spark_s(error):
            raise
        cause, advice = blamed_on_spark(error)
        advice = advice or "Were the files moved or written anew? Read the reports again."
        raise ReportError(f"{what} cannot be read on Spark: {cause}. {advice}") from None


def partition_number() -> int:
    """Return, on a worker, the number of the partition that it works on."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def spark_failures() -> tuple[type[Exception], ...]:
    """Return what Spark raises, of the parts of it that are installed."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    # A client of Spark Connect has no py4j, and any other one no grpc.
    loaded = [("py4j.protocol", "Py4JError"), ("grpc", "RpcError")]
    more: list[type[Exception]] = [
        getattr(sys.modules[module], name) for module, name in loaded if module in sys.modules
    ]
    return PySparkException, *more


def _broken() -> tuple[type[Exception], ...]:
    """Return what comes of a session that breaks off, too."""
    return *spark_failures(), OSError, EOFError, AttributeError


def _is_spark_s(error: Exception) -> bool:
    """Say whether Spark stumbled: of a session that was stopped, it looks into what is no more."""
    if not isinstance(error, AttributeError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith("pyspark")
