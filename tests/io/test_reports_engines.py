"""The same evidence from every format and every engine, and the same complaints."""

import os
import sys

import numpy as np
import pytest

import freewill as fw
from freewill.domain.outputs import Reason
from freewill.io.engines.spark_session import check_java
from freewill.io.reading import read
from report_cases import (
    REASONS,
    composed_survey,
    drawn,
    expected,
    faulty_table,
    good_evidence,
    menu_survey,
    spark_missing,
    stored,
    table_of,
    wide_survey,
)

KINDS = ["parquet", "csv", "ndjson", "arrow", "pandas", "polars", "lazy polars", "pyarrow"]
needs_spark = pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing()))
SOURCES = [
    *(pytest.param("duckdb", kind, id=f"duckdb-{kind}") for kind in [*KINDS, "duckdb"]),
    *(
        pytest.param("spark", kind, id=f"spark-{kind}", marks=needs_spark)
        for kind in ["parquet", "csv", "ndjson", "arrow", "pandas"]
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "kind"), SOURCES)
def test_faults_are_counted_and_duplicates_once(engine, kind, started, tmp_path):
    source = stored(faulty_table(), kind, tmp_path)
    reading = read(source, menu_survey(), engine=started(engine))
    assert {part.reason: part.count for part in reading.invalid} == REASONS
    assert reading.evidence == good_evidence()
    assert reading.duplicates == 2
    assert reading.rows == reading.evidence.people + reading.duplicates + reading.refused
    assert reading.rows == faulty_table().num_rows
    # Every engine shows the same examples.
    assert reading.invalid == read(faulty_table(), menu_survey()).invalid


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "kind"), SOURCES)
def test_every_engine_gives_the_evidence_of_collect(engine, kind, started, tmp_path):
    for survey in (menu_survey(), wide_survey(), composed_survey()):
        parts = drawn(survey, 3000)
        table = table_of(parts, "text" if kind in ("csv", "ndjson") else "bytes")
        reading = read(stored(table, kind, tmp_path), survey, engine=started(engine))
        assert reading.evidence == expected(survey, parts)
        assert reading.invalid == ()
        assert reading.duplicates == 0
        assert reading.rows == 3000


@needs_spark
def test_a_spark_frame_stays_on_spark(spark, tmp_path):
    survey, path = wide_survey(), f"{tmp_path}/reports.parquet"
    parts = drawn(survey, 500)
    fw.write_reports(path, parts)
    assert read(spark.read.parquet(path), survey).evidence == expected(survey, parts)


@needs_spark
def test_passes_on_spark_certify_the_estimate_of_one_machine(spark, tmp_path):
    survey, path = wide_survey(), f"{tmp_path}/reports.parquet"
    parts = drawn(survey, 20_000)
    fw.write_reports(path, [*parts, ("bits", np.full((2, 4), 255, dtype=np.uint8))])
    here = fw.gibu(expected(survey, parts), tol=1e-8, solver="passes")
    found = read(path, survey, engine="spark", hold=0)
    with found.evidence as evidence:
        there = fw.gibu(evidence, tol=1e-8)
        assert evidence.people == 20_000
        assert not evidence.held
        (stray,) = found.invalid
    assert (stray.reason, stray.count) == (str(Reason.STRAY_BITS), 2)
    assert str(there.status) == "certified"
    assert abs(there.log_likelihood - here.log_likelihood) <= 1e-8 + 1e-12
    assert there.steps <= 15


@needs_spark
def test_passes_on_spark_refuse_reports_that_changed(spark, tmp_path):
    survey, path = wide_survey(), f"{tmp_path}/reports.parquet"
    fw.write_reports(path, drawn(survey, 900))
    evidence = fw.read_reports(path, survey, engine="spark", hold=0)
    assert fw.gibu(evidence, tol=1e-3).people == 900
    # Spark loses what it held, as when a worker dies, and reads the file again.
    evidence.close()
    fw.write_reports(path, drawn(survey, 900, seed=1))
    spark.catalog.refreshByPath(path)
    with pytest.raises(fw.FreewillError, match=r"changed since|cannot be read on Spark"):
        fw.gibu(evidence, tol=1e-3)


@needs_spark
def test_results_of_many_partitions_are_added_up_by_workers(spark, tmp_path):
    survey, path = wide_survey(), f"{tmp_path}/reports.parquet"
    parts = drawn(survey, 2000)
    fw.write_reports(path, parts)
    frame = spark.read.parquet(path).repartition(70)
    with fw.read_reports(frame, survey, hold=0) as evidence:
        assert not evidence.held
        assert evidence == expected(survey, parts)


@needs_spark
def test_workers_run_this_python_unless_told(spark):
    assert spark.sparkContext.pythonExec == os.environ.get("PYSPARK_PYTHON", sys.executable)


@needs_spark
def test_without_java_the_message_says_what_to_do(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(fw.FreewillError, match=r"Java 17 or newer.*engine='duckdb'"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(fw.FreewillError, match="/nowhere has no bin/java"):
        check_java()
