"""A cluster at its end: the cause is told, workers are lost, limits are kept, Connect is enough."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driver_limit
import freewill as fw
from freewill.errors import ReportError
from freewill.io.engines import spark as cluster
from freewill.io.engines import spark_session as sessions
from freewill.io.engines.base import engine_for, explained
from freewill.io.engines.spark import packed, unpacked
from freewill.io.engines.spark_session import blamed_on_spark
from freewill.io.evidence_file import save_evidence
from freewill.io.reading import read
from report_cases import drawn, expected, faulty_table, menu_survey, spark_missing, wide_survey

needs_spark = pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing()))
needs_connect = pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio, not installed"
)
PATIENCE = 1800
TIMES = int(os.environ.get("FREEWILL_FUZZ", "1"))
"""More than 1 for a long night."""


def said(script: str, folder: Path, *more: str) -> str:
    """Run a script in a process of its own, for a process has one session, and return its words."""
    command = [sys.executable, str(Path(__file__).parents[1].joinpath(script)), str(folder), *more]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout


TRACE = """An error occurred while calling o62.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 \
failed 4 times, most recent failure: Lost task 1.3 in stage 2.0 (TID 3) (10.0.0.2 executor 1): {}
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 28 more

Driver stacktrace:"""
PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/worker.py", line 1920, in read_udfs
    raise RuntimeError("the worker has crashed, gateway, Java heap space")
{}"""
CLUSTER = [
    (PYTHON, "ModuleNotFoundError: No module named 'freewill'", "PYSPARK_PYTHON"),
    (PYTHON, "AttributeError: Can't get attribute 'summing' on <module>", "same Python and"),
    (PYTHON, "MemoryError: Unable to allocate 30.5 MiB", "spark.executor.memory"),
    (TRACE, 'java.io.IOException: Cannot run program "/nowhere/python": error=2', "every worker"),
    (TRACE, "Total size of serialized results of 40 tasks (1.2 GiB) is bigger than "
     "spark.driver.maxResultSize (1024.0 MiB)", "raise spark.driver.maxResultSize"),
    (TRACE, "java.lang.OutOfMemoryError: Java heap space", "spark.executor.memory"),
    (TRACE, "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: "
     "Container killed by YARN for exceeding physical memory limits", "spark.executor.memory"),
    (TRACE, "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: "
     "worker lost", "spark.task.maxFailures"),
    (TRACE, "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
     "spark.task.maxFailures"),
    (TRACE, "java.io.IOException: No space left on device", "disk is full"),
    ("{}", "Job 5 cancelled because SparkContext was shut down", "start it again"),
    ("{}", "[Errno 111] Connection refused", "start it again"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "words", "advice"), CLUSTER)
def test_what_befalls_a_cluster_is_told_by_its_cause(frame, words, advice):
    cause, told = blamed_on_spark(ValueError(frame.format(words)))
    assert cause in words
    assert cause
    assert advice in told


@pytest.mark.parametrize(
    "words",
    [
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/x. SQLSTATE: KD001\n"
        "Caused by: java.io.EOFException: Reached the end of stream",
        "[MALFORMED_RECORD_IN_PARSING] Malformed records are detected in record parsing: [a]",
        "[PATH_NOT_FOUND] Path does not exist: file:/crashed/gateway. SQLSTATE: 42K03",
    ],
)
def test_a_file_at_fault_is_not_blamed_on_the_cluster(words):
    cause, told = blamed_on_spark(ValueError(TRACE.format(words)))
    assert told == ""
    assert "awaitResult" not in cause


@needs_spark
def test_workers_without_freewill_are_told_as_that(tmp_path):
    own, counted, refused = said("other_python.py", tmp_path).splitlines()
    assert own == "True", "the interpreter that PYSPARK_PYTHON names runs the workers"
    assert counted == "counted: True", "what Spark counts by itself needs no Python there"
    assert "No module named" in refused
    assert "PYSPARK_PYTHON" in refused
    assert "damaged" not in refused


@needs_spark
def test_the_driver_receives_one_result_whatever_the_partitions(spark, tmp_path):
    # Half of 600 x 600 numbers is 1.4 MB; 16 of them are too many. In a long night, 2,000 x 2,000.
    if TIMES == 1:
        limit, much, (result, refused) = 16, "1,44", driver_limit.passed(spark, tmp_path, 600, 16)
    else:
        limit, much = 64, "16,0"
        more = ("2000", f"{limit}m", "40")
        result, refused = said("driver_limit.py", tmp_path, *more).splitlines()
    assert result.startswith(f"1 result of {much}")
    assert f"bigger than spark.driver.maxResultSize ({limit}.0 MiB)" in refused
    assert "raise spark.driver.maxResultSize" in refused


@needs_spark
def test_a_worker_killed_in_mid_pass_changes_nothing(tmp_path):
    found = said("lost_worker.py", tmp_path)
    assert found.startswith("killed: True, evidence the same: True, estimate the same: True")


@needs_spark
@needs_connect
def test_spark_connect_gives_the_same(tmp_path):
    assert "the same over Connect, certified" in said("connected.py", tmp_path)


def test_no_rdd_and_no_java_in_the_code():
    room = Path(cluster.__file__).parents[1]
    for path in room.rglob("*.py"):
        assert not {".rdd", "._jdf", "._jvm", "._jsc", ".sparkContext"} & {
            word for word in (".rdd", "._jdf", "._jvm", "._jsc", ".sparkContext")
            if word in path.read_text(encoding="utf-8")
        }, path  # fmt: skip


@pytest.mark.parametrize(
    ("option", "variable", "expected_python"),
    [(None, None, sys.executable), (None, "/a", "/a"), ("/b", None, "/b"), ("/b", "/a", "/b")],
)
def test_the_workers_python_is_the_user_s_unless_nobody_says(
    option, variable, expected_python, monkeypatch
):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if variable:
        monkeypatch.setenv("PYSPARK_PYTHON", variable)
    with sessions._workers_python(option) as python:
        assert python == os.environ["PYSPARK_PYTHON"] == expected_python
    assert os.environ.get("PYSPARK_PYTHON") == variable


@needs_spark
def test_a_session_that_has_ended_is_told_as_that():
    with (
        pytest.raises(ReportError, match="start it again"),
        sessions.explained_on_spark("the reports"),
    ):
        raise pytest.importorskip("py4j.protocol").Py4JNetworkError(
            "Answer from Java side is empty"
        )
    with pytest.raises(AttributeError), sessions.explained_on_spark("the reports"):
        _ = "a mistake of ours".nowhere


@given(st.integers(0, 90), st.integers(0, 2**32), st.sampled_from(["symmetric", "any", "signs"]))
def test_parcels_are_what_was_packed_to_the_last_bit(size, seed, kind):
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    if kind == "symmetric":
        matrix = matrix + matrix.T
    if kind == "signs" and size > 1:
        matrix = np.zeros((size, size))
        matrix[0, 1] = -0.0
    found = unpacked(packed({"H": matrix, "more": [1, None]}))
    assert found["H"].tobytes() == matrix.tobytes()
    assert found["more"] == [1, None]
    if kind == "symmetric" and size >= 64:
        assert len(packed(matrix)) < 0.6 * matrix.nbytes


@needs_spark
def test_reports_come_to_the_driver_piece_by_piece(spark, tmp_path, monkeypatch):
    survey, path = wide_survey(), f"{tmp_path}/r.parquet"
    parts = drawn(survey, 3000)
    fw.write_reports(path, parts)
    whole = read(faulty_table(), menu_survey(), engine="spark")
    monkeypatch.setattr(cluster, "PIECE_BYTES", 10_000)
    counted = read(faulty_table(), menu_survey(), engine="spark")
    assert (counted.evidence, counted.invalid) == (whole.evidence, whole.invalid)
    frame = spark.read.parquet(path).repartition(3)
    assert cluster.pieces_of(frame, "mechanism", "report") > 5
    with fw.read_reports(frame, survey, hold=0) as evidence:
        save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == expected(survey, parts)
    # And what is counted, in pieces too.
    assert read(frame, survey).evidence == expected(survey, parts)


def test_memory_of_duckdb_is_told_by_its_cause():
    engine = engine_for("duckdb", "r.csv")
    with engine(None, False) as running:
        running.connection.execute("SET memory_limit = '1MB'; SET temp_directory = ''")
        with (
            pytest.raises(
                ReportError, match=r"(?i)out of memory.*2GB that DuckDB may take"
            ) as told,
            explained("r.parquet", "Is it damaged?", running),
        ):
            running.connection.sql(
                "SELECT range AS a FROM range(10000000) ORDER BY hash(a)"
            ).fetchall()
        assert "damaged" not in str(told.value)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(24, "Too many open files"), "ulimit"),
        (PermissionError(13, "Permission denied"), "may not read it"),
        (OSError(28, "No space left on device"), "disk is full"),
        (pa.ArrowMemoryError("malloc of size 99 failed"), "memory does not suffice"),
        (MemoryError("malloc of size 5"), "memory does not suffice"),
        (duckdb.IOException("IO Error: Could not write: No space left on device"), "disk is full"),
        (duckdb.InvalidInputException("Error in line 5"), "Is it damaged?"),
    ],
)
def test_what_befalls_a_machine_is_told_by_its_cause(error, advice):
    engine = engine_for("duckdb", "r.csv")
    with (
        engine(None, False) as running,
        pytest.raises(ReportError) as told,
        explained("r.parquet", "Is it damaged?", running),
    ):
        raise error
    assert advice in str(told.value)
    assert ("damaged" in str(told.value)) == (advice == "Is it damaged?")
