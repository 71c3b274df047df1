"""Whose fault it is: what helps where not the reports but an engine or its machine gives out."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from freewill.errors import first_line


class Fault(NamedTuple):
    """Something that may happen to any reports, however good: how it is known, and what helps."""

    signs: str
    """A pattern of what is said when it happens."""
    advice: str


LONG_ID = Fault(
    r"a report_id of \d+ bytes",
    "Is something else in the column report_id? Rename the column, or leave it out.",
)
MACHINE = (
    Fault(
        r"(?i)no space left on device|disk quota exceeded|errno 28\b",
        "The disk is full: make room, or set TMPDIR to a folder on a larger one.",
    ),
    Fault(
        r"(?i)too many open files",
        "Raise the limit of open files (ulimit -n), or read fewer files at once and merge their "
        "evidence with +.",
    ),
    Fault(
        r"(?i)permission denied|access denied|accesscontrolexception|operation not permitted",
        "Whoever runs this may not read it: change its permissions, or read a copy.",
    ),
    Fault(
        r"(?i)cannot allocate memory|malloc of size|realloc of size|memoryerror|bad_alloc",
        "This machine's memory does not suffice: read fewer files at once and merge their "
        "evidence with +, or write Parquet in smaller row groups.",
    ),
)
"""What any engine may meet."""


def blamed(error: BaseException, lines: Sequence[str], faults: Iterable[Fault]) -> tuple[str, str]:
    """Return what happened and what helps, from all that an error says; no advice if unknown.

    >>> lines = ["Could not write", "No space left on device"]
    >>> blamed(OSError(), lines, MACHINE)[0]
    'No space left on device'
    >>> blamed(ValueError("strange"), ["strange"], MACHINE)
    ('strange', '')
    """
    for fault in faults:
        for line in lines:
            if re.search(fault.signs, line):
                return line, fault.advice
    return (lines[0] if lines else first_line(error)), ""


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

SPARK = (
    Fault(
        r"No module named|Can't get attribute|PYTHON_VERSION_MISMATCH|different version",
        "The workers need what the driver has: the same Python and freewill, installed for the "
        "interpreter that PYSPARK_PYTHON or the option spark.pyspark.python names.",
    ),
    Fault(
        r"Cannot run program",
        "The workers' Python is not where PYSPARK_PYTHON or the option spark.pyspark.python says: "
        "give a path that every worker has.",
    ),
    Fault(
        r"maxResultSize",
        "The reports are fine; what is to come to the driver exceeds Spark's limit: raise "
        "spark.driver.maxResultSize when the session starts.",
    ),
    Fault(
        r"RESOURCE_EXHAUSTED|larger than max",
        "The reports are fine; an answer exceeds the limit of Spark Connect: raise "
        "spark.connect.grpc.maxInboundMessageSize on the server.",
    ),
    Fault(
        r"OutOfMemory|Java heap space|GC overhead|MemoryError|UNABLE_TO_ACQUIRE_MEMORY"
        r"|exceeding (physical |virtual )?memory|OOMKilled|exit(ed)? (code|status)?:? ?137"
        r"|Not enough memory",
        "The reports are fine; Spark's memory does not suffice: raise spark.executor.memory and "
        "spark.executor.memoryOverhead (in local mode spark.driver.memory) when the session "
        "starts, or split the reports into more partitions.",
    ),
    Fault(
        r"ExecutorLostFailure|worker exited unexpectedly|[Ww]orker lost|Executor heartbeat"
        r"|FetchFailed|exited caused by|Remote RPC client disassociated|EOFException"
        r"|Connection reset|crashed",
        "The reports are fine; workers were lost more often than Spark tries again. See why they "
        "ended (memory, a machine that was taken away) and read again; spark.task.maxFailures says "
        "how often it tries.",
    ),
    Fault(
        r"SparkContext (was|has been) (shut ?down|stopped)|stopped SparkContext|gateway"
        r"|Connection refused|NoneType' object|UNAVAILABLE|failed to connect|INVALID_HANDLE"
        r"|Answer from Java side is empty|Error while (sending|obtaining)|All masters are unresp",
        "The Spark session has ended or cannot be reached: start it again and read the reports "
        "again.",
    ),
    Fault(
        r"JOB_CANCELLED|OPERATION_CANCEL|[Cc]ancelled",
        "Someone has stopped the job: read again.",
    ),
)
"""What befalls a cluster, and no fault of the reports."""
_SOURCE = re.compile(r"FAILED_READ_FILE|MALFORMED|PATH_NOT_FOUND")
"""What is said where a file is at fault: what went wrong with it is a detail, such as its end."""


def blamed_on_spark(error: BaseException) -> tuple[str, str]:
    """Return what happened and what helps; no advice where a file is at fault, or nobody knows.

    >>> blamed_on_spark(ValueError("ModuleNotFoundError: No module named 'freewill'"))[1][:43]
    'The workers need what the driver has: the s'
    """
    faults = MACHINE if _SOURCE.search(str(error)) else (*SPARK, *MACHINE)
    faults = (LONG_ID, *faults)
    return blamed(error, lines_of(error), faults)


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
