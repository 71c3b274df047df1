"""Sessions of Spark: joined or started, kept quiet, what they raise, and whose fault it is."""

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freewill.errors import ReportError, first_line
from freewill.io.engines.base import LONG_ID, MACHINE, blamed

_OPTIONS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_PYTHON, _PYTHON_OPTION = "PYSPARK_PYTHON", "spark.pyspark.python"
_REMOTE, _REMOTE_OPTION = "SPARK_REMOTE", "spark.remote"
_FRAME = re.compile(
    r"""^(at\s|\.\.\.\s\d+\s(more|common)|File\s"|Traceback\s|Driver\sstacktrace|JVM\sstacktrace
    |An\serror\soccurred\swhile\scalling|\^+$|~+|[*=]{3,}|SQLSTATE|<_?MultiThreadedRendezvous)""",
    re.VERBOSE,
)
_WRAPPED = re.compile(
    r"""^(:\s|Caused\sby:\s|Suppressed:\s
    |(java|javax|org|com|io|scala)(\.[\w$]+)+(Exception|Error|Failure):\s
    |pyspark(\.\w+)+:\s
    |Job\saborted\sdue\sto\sstage\sfailure:\s
    |Task\s\d+\sin\sstage\s[\d.]+\sfailed\s\d+\stimes,\smost\srecent\sfailure:\s
    |Lost\stask\s[\d.]+\sin\sstage\s[\d.]+\s\(TID\s\d+\)\s(\([^)]*\))?:?\s*)""",
    re.VERBOSE,
)
_EMPTY = (
    "Exception thrown in awaitResult",
    "An exception was thrown from the Python worker",
    "Job aborted",
    "Encountered error while reading file",
)
"""Ways of saying that something happened, and not what."""

SPARK = {
    r"No module named|Can't get attribute|PYTHON_VERSION_MISMATCH|different version": "The "
    "workers need what the driver has: the same Python and freewill, installed for the "
    "interpreter that PYSPARK_PYTHON or the option spark.pyspark.python names.",
    r"Cannot run program": "The workers' Python is not where PYSPARK_PYTHON or the option "
    "spark.pyspark.python says: give a path that every worker has.",
    r"maxResultSize": "The reports are fine; what is to come to the driver exceeds Spark's limit: "
    "raise spark.driver.maxResultSize when the session starts.",
    r"RESOURCE_EXHAUSTED|larger than max": "The reports are fine; an answer exceeds the limit of "
    "Spark Connect: raise spark.connect.grpc.maxInboundMessageSize on the server.",
    r"OutOfMemory|Java heap space|GC overhead|MemoryError|UNABLE_TO_ACQUIRE_MEMORY"
    r"|exceeding (physical |virtual )?memory|OOMKilled|exit(ed)? (code|status)?:? ?137"
    r"|Not enough memory": "The reports are fine; Spark's memory does not suffice: raise "
    "spark.executor.memory and spark.executor.memoryOverhead (in local mode spark.driver.memory) "
    "when the session starts, or split the reports into more partitions.",
    r"ExecutorLostFailure|worker exited unexpectedly|[Ww]orker lost|Executor heartbeat"
    r"|FetchFailed|exited caused by|Remote RPC client disassociated|EOFException"
    r"|Connection reset|crashed": "The reports are fine; workers were lost more often than Spark "
    "tries again. See why they ended (memory, a machine that was taken away) and read again; "
    "spark.task.maxFailures says how often it tries.",
    r"SparkContext (was|has been) (shut ?down|stopped)|stopped SparkContext|gateway"
    r"|Connection refused|NoneType' object|UNAVAILABLE|failed to connect|INVALID_HANDLE"
    r"|Answer from Java side is empty|Error while (sending|obtaining)"
    r"|All masters are unresp": "The Spark session has ended or cannot be reached: start it again "
    "and read the reports again.",
    r"JOB_CANCELLED|OPERATION_CANCEL|[Cc]ancelled": "Someone has stopped the job: read again.",
}
"""What befalls a cluster, and no fault of the reports."""
_SOURCE = re.compile(r"FAILED_READ_FILE|MALFORMED|PATH_NOT_FOUND")
"""What is said where a file is at fault: what went wrong with it is a detail, such as its end."""


def spark_session(options: Mapping[str, str] | None = None) -> Any:
    """Return the active Spark session, or start one.

    `options` are Spark's own, such as {"spark.master": "local[2]"}, for a session that starts, or
    {"spark.remote": "sc://host"} for Spark Connect. Its workers run the Python that the option
    `spark.pyspark.python` or the variable PYSPARK_PYTHON names and, if neither does, this one.

    The cost of a start is some seconds.

    >>> import freewill as fw
    >>> session = fw.spark_session({"spark.master": "local[2]"})  # doctest: +SKIP
    >>> fw.read_reports("reports.parquet", "survey.json", engine="spark")  # doctest: +SKIP
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


def blamed_on_spark(error: BaseException) -> tuple[str, str]:
    """Return what happened and what helps; no advice where a file is at fault, or nobody knows.

    >>> blamed_on_spark(ValueError("ModuleNotFoundError: No module named 'freewill'"))[1][:43]
    'The workers need what the driver has: the s'
    """
    faults = MACHINE if _SOURCE.search(str(error)) else SPARK | MACHINE
    return blamed(error, lines_of(error), LONG_ID | faults)


def lines_of(error: BaseException) -> list[str]:
    """Return what an error of Spark tells, line by line: the causes without the frames.

    >>> print(lines_of(ValueError('''An error occurred while calling o5.getResult.
    ... : org.apache.spark.SparkException: Exception thrown in awaitResult:
    ...     at org.apache.spark.util.ThreadUtils.parasitic(ThreadUtils.scala:42)
    ... Caused by: java.io.IOException: Cannot run program "/python": error=2''')))
    ['Cannot run program "/python": error=2']
    """
    messages: list[str] = []
    code = False
    for raw in str(error).splitlines():
        line = raw.strip()
        if not line or code or _FRAME.match(line):
            # Below the place in a file stands the code there.
            code = line.startswith('File "')
            continue
        while (wrapped := _WRAPPED.match(line)) and wrapped.end():
            line = line[wrapped.end() :].strip()
        line = re.sub(r"\s*SQLSTATE: \w+;?$", "", line).rstrip(".: ")
        if line and line not in messages:
            messages.append(line)
    telling = [line for line in messages if not any(empty in line for empty in _EMPTY)]
    rest = [line for line in messages if line not in telling and "awaitResult" not in line]
    return telling + rest or [first_line(error)]
