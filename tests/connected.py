"""Reports over Spark Connect, in a process of its own: `connected.py FOLDER`.

Prints how the readings and the estimate differ from those of DuckDB: by nothing.
"""

import sys
from pathlib import Path

import numpy as np

import freewill as fw
from freewill.io.engines.base import engine_for
from freewill.io.evidence_file import save_evidence
from freewill.io.reading import read
from report_cases import drawn, expected, faulty_table, menu_survey, stored, wide_survey


def main(folder: str) -> None:
    """Start a server here, and read through it."""
    options = {"spark.remote": "local[2]", "spark.ui.enabled": "false"}
    spark = fw.spark_session({**options, "spark.sql.shuffle.partitions": "2"})
    if "connect" not in type(spark).__module__:
        raise TypeError(f"{type(spark)} is no session of Spark Connect")
    for kind in ("parquet", "ndjson", "pandas"):
        source = stored(faulty_table(), kind, Path(folder))
        here, there = (read(source, menu_survey(), engine=name) for name in ("duckdb", "spark"))
        if (here.evidence, here.invalid) != (there.evidence, there.invalid):
            raise AssertionError(f"{kind}: {here} and {there}")
    survey, path = wide_survey(), f"{folder}/wide.parquet"
    parts = drawn(survey, 5000)
    fw.write_reports(path, parts)
    frame = spark.read.parquet(path)
    with engine_for("duckdb", frame)(frame, False) as session:
        if not session.owns(frame):
            raise AssertionError("a frame of Spark Connect is taken for a stranger")
    with fw.read_reports(frame, survey, hold=0) as evidence:
        if evidence.held or evidence != expected(survey, parts):
            raise AssertionError("passes over Connect see other reports")
        found = fw.gibu(evidence, tol=1e-8)
        save_evidence(evidence, f"{folder}/saved.parquet")
    if fw.load_evidence(f"{folder}/saved.parquet") != expected(survey, parts):
        raise AssertionError("what came to the driver is not what was there")
    known = fw.gibu(expected(survey, parts), tol=1e-8)
    np.testing.assert_allclose(found.log_likelihood, known.log_likelihood, atol=2e-8)
    sys.stdout.write(f"the same over Connect, {found.status}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
