"""One survey of every kind of mechanism and rows of every kind of fault, for all engines."""

import importlib.util
import os
import shutil
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import freewill as fw
from freewill.domain.outputs import Reason

MENU = fw.Categorical(["red", "green", "blue", "3", "grey"])
"""The label "3" is also index 3, and its own: that is not ambiguous."""
WIDE = fw.Linear(0, 29)
CITY = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
ALPHABETS = (
    fw.Linear(1, 100),
    fw.Linear(-1900, 2000, step=10),
    fw.Linear(2**53 - 3, 2**53),
    fw.Categorical(["yes", "no", "won't say", "1", "0", "a,b c"]),
    fw.Grid(24, 16, cell=0.5),
    fw.Grid(7, 3, cell=(1e-9, 1e12)),
    fw.Grid(1, 5, cell=(3.0, 1e-3)),
    fw.Grid.box(37.7, 37.8, 10.0, 11.0, columns=1, rows=1),
    CITY,
)
"""Alphabets of every kind, with values that are hard to write."""


def menu_survey() -> fw.Survey:
    return fw.Survey(
        MENU,
        {
            "k": fw.KRR(MENU, 1.0),
            "true": fw.Identity(MENU),
            "bits": fw.RAPPOR(MENU, 1.0),
            "third": fw.Matrix(MENU, [[0.5, 0.5, 0.0]] * 5),
        },
    )


def wide_survey() -> fw.Survey:
    return fw.Survey(
        WIDE,
        {
            "geo": fw.Geometric(WIDE, 0.3),
            "bits": fw.RAPPOR(WIDE, 2.0),
            "sharp": fw.RAPPOR(WIDE, 5.0),
        },
    )


def composed_survey() -> fw.Survey:
    """Mechanisms made of others, whose reports repeat or do not."""
    values, noise = fw.KRR(WIDE, 1.0), fw.Geometric(WIDE, 0.3)
    wide = fw.Both(fw.OUE(WIDE, 1.0), fw.LocalHashing(WIDE, 1.0))
    return fw.Survey(
        WIDE,
        {
            "both": fw.Both(values, noise),
            "wide": wide,
            "perhaps": fw.Perhaps(values, 0.4),
            "perhaps wide": fw.Perhaps(wide, 0.4),
            "halves": noise.then(lambda value: "low" if value < 15 else "high"),
        },
    )


def drawn(survey: fw.Survey, people: int, seed: int = 0) -> list[tuple[str, np.ndarray]]:
    """Return reports of people who are spread evenly over the survey."""
    rng = np.random.default_rng(seed)
    size = survey.alphabet.size
    values = np.array_split(rng.binomial(size - 1, 0.3, people), len(survey.mechanisms))
    pairs = zip(survey.mechanisms.items(), values, strict=True)
    return [(name, mechanism.obfuscate(some, rng)) for (name, mechanism), some in pairs]


def expected(survey: fw.Survey, parts: list[tuple[str, np.ndarray]]) -> fw.Evidence:
    return fw.collect([(survey.mechanisms[name], reports) for name, reports in parts])


def as_text(report: object) -> str:
    return bytes(report).hex() if isinstance(report, np.ndarray) else str(report)


def as_bytes(report: object) -> bytes:
    return bytes(report) if isinstance(report, np.ndarray) else str(report).encode()


GOOD = [
    ("k", "1", "a1"),
    ("k", "1", "a1"),
    ("k", "1", "a2"),
    ("k", "green", None),
    ("k", "2.0", None),
    ("true", "3", "a3"),
    ("true", "grey", "a4"),
    ("bits", "1f", "a5"),
    ("bits", "1F", "a5"),
    ("bits", "00", None),
]
"""Rows as texts with a report_id: two are duplicates."""
BAD = [
    (None, "1", None, Reason.NO_MECHANISM),
    ("k", None, "b1", Reason.NO_REPORT),
    ("k", None, "b1", Reason.NO_REPORT),
    ("bits", None, None, Reason.NO_REPORT),
    ("other", "1", "b2", Reason.UNKNOWN_MECHANISM),
    ("k", "5", None, Reason.OUT_OF_RANGE),
    ("k", "-1", None, Reason.NO_SYMBOL),
    ("k", "1.5", None, Reason.NO_SYMBOL),
    ("k", "01", None, Reason.NO_SYMBOL),
    ("third", "2", None, Reason.IMPOSSIBLE),
    ("bits", "1f00", None, Reason.WRONG_LENGTH),
    ("bits", "zz", None, Reason.NO_BITS),
    ("bits", "ff", None, Reason.STRAY_BITS),
    ("bits", "20", "b3", Reason.STRAY_BITS),
]
REASONS = Counter(str(row[-1]) for row in BAD)


def faulty_table() -> pa.Table:
    rows = [row[:3] for row in [*GOOD, *BAD]]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(columns, names=["mechanism", "report", "report_id"])


def good_evidence() -> fw.Evidence:
    survey = menu_survey().mechanisms
    return fw.collect(
        [
            (survey["k"], [1, 1, 1, 2]),
            (survey["true"], [3, 4]),
            (survey["bits"], np.array([[0x1F], [0x00]], dtype=np.uint8)),
        ]
    )


def table_of(parts: list[tuple[str, np.ndarray]], kind: str) -> pa.Table:
    """Return reports as a table of texts or of bytes."""
    names = [name for name, reports in parts for _ in reports]
    write = as_text if kind == "text" else as_bytes
    column = [write(report) for _, reports in parts for report in reports]
    return pa.table({"mechanism": names, "report": pa.array(column)})


def stored(table: pa.Table, kind: str, folder: os.PathLike) -> object:
    """Return the table as a source of this kind: a file in the folder, or a frame."""
    path = f"{os.fspath(folder)}/reports.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "csv":
        csv.write_csv(table, path)
    elif kind == "ndjson":
        table.to_pandas().to_json(path, orient="records", lines=True)
    elif kind == "arrow":
        feather.write_feather(table, path)
    else:
        return as_frame(table, kind)
    return path


def as_frame(table: pa.Table, kind: str) -> object:
    if kind == "pandas":
        return table.to_pandas()
    if kind in ("polars", "lazy polars"):
        polars = pytest.importorskip("polars")
        frame = polars.from_arrow(table)
        return frame.lazy() if kind == "lazy polars" else frame
    if kind == "duckdb":
        return duckdb.connect().from_arrow(table)
    return table


QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Spark runs for seconds here: over before Java's second compiler has paid for itself."""


def spark_missing() -> str | None:
    """Say why Spark cannot run here, if it cannot."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed"
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        return "there is no Java for Spark"
    return None
