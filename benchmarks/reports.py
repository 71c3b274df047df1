"""Reports into evidence: beside bare DuckDB queries, on Spark, and through to an estimate."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import freewill as fw
from benchmarks.harness import Figure, Row, best, clock, compared, isolated, limited, peak_memory
from freewill.io.reading import read
from freewill.io.writing import write_reports

_LINE = fw.Linear(0, 99)
_SIZES = (1_000_000, 10_000_000, 100_000_000)
_MANY = 10_000_000
_GROUP = "SELECT mechanism, report, count(*) FROM '{}' GROUP BY ALL"


def ten_mechanisms() -> fw.Survey:
    """Five k-RR and five geometric mechanisms on a line."""
    some: dict[str, fw.Mechanism] = {}
    for number in range(5):
        some[f"k-rr-{number}"] = fw.KRR(_LINE, 2.0 + number)
        some[f"geometric-{number}"] = fw.Geometric(_LINE, 0.05 * (number + 1))
    return fw.Survey(_LINE, some)


def write_symbols(path: str, people: int) -> None:
    """Write reports by DuckDB: ten names and two sums of hashes, the same every time."""
    names = ", ".join(f"'{name}'" for name in ten_mechanisms().mechanisms)
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(
            f"COPY (SELECT [{names}][1 + range % 10] AS mechanism, "
            f"(hash(range) % 50 + hash(range + {people}) % 51)::INTEGER AS report "
            f"FROM range({people})) TO '{path}' (FORMAT parquet)"
        )


def write_bits(path: str, size: int, people: int) -> None:
    """Write RAPPOR reports, a million at a time."""
    rng = np.random.default_rng(0)
    survey = bit_survey(size)
    mechanism = survey.find("bits")

    def drawn() -> Iterator[tuple[str, Any]]:
        for _ in range(people // 1_000_000):
            yield "bits", mechanism.obfuscate(rng.integers(size, size=1_000_000), rng)

    write_reports(path, drawn(), survey=survey)


def bit_survey(size: int) -> fw.Survey:
    """One RAPPOR mechanism."""
    line = fw.Linear(0, size - 1)
    return fw.Survey(line, {"bits": fw.RAPPOR(line, 1.0)})


def read_symbols(path: str) -> int:
    """Read the reports of ten mechanisms: all that the memory row measures."""
    return read(path, ten_mechanisms(), strict=True).evidence.people


def read_bits(path: str, size: int) -> int:
    """Read bit reports: all that the memory row measures."""
    return read(path, bit_survey(size), strict=True).evidence.people


def bare(query: str) -> Callable[[], Any]:
    """Return a call that runs a query and fetches its rows, with nothing of ours."""

    def run() -> Any:
        with duckdb.connect() as connection:
            return connection.sql(query).fetchall()

    return run


def symbols() -> Iterator[Row]:
    """Symbol reports of ten mechanisms in Parquet."""
    seconds: dict[int, Figure] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/reports.parquet"
        for people in _SIZES:
            write_symbols(path, people)
            ours, theirs = best(
                clock(lambda: read_symbols(path)), clock(bare(_GROUP.format(path))), repeats=5
            )
            seconds[people] = ours
            least = 1 / 1.5 if people == _SIZES[-1] else None
            what = f"evidence of {people:,} symbol reports"
            yield compared(what, ours, "bare DuckDB query", theirs, least)
        memory = isolated(read_symbols, path).memory
        yield limited(f"evidence of {people:,} symbol reports: peak memory", memory, 400e6)
    small, large = (Figure(seconds[people].value / people, "s") for people in _SIZES[1:])
    ratio = small.value / large.value
    what = f"time a report, {_SIZES[2]:,} symbol reports"
    yield Row(what, large, f"{_SIZES[1]:,}", small, ratio, "linear: ratio > 1/1.5", ratio > 1 / 1.5)
    first = Figure(seconds[_SIZES[0]].value / _SIZES[0], "s")
    yield Row(what, large, f"{_SIZES[0]:,}", first, first.value / large.value)


def narrow_bits() -> Iterator[Row]:
    """RAPPOR reports of 20 bits, whose patterns repeat."""
    with tempfile.TemporaryDirectory() as folder:
        path, integers = f"{folder}/reports.parquet", f"{folder}/integers.parquet"
        write_bits(path, 20, _MANY)
        write_as_integers(path, integers)
        ours, theirs = best(
            clock(lambda: read_bits(path, 20)), clock(bare_table(integers)), repeats=5
        )
        what = f"evidence of {_MANY:,} RAPPOR reports, k=20"
        yield compared(what, ours, "DuckDB on integers", theirs, 1 / 2)
        yield limited(f"{what}: peak memory", isolated(read_bits, path, 20).memory)


def write_as_integers(path: str, target: str) -> None:
    """Write packed bits of three bytes again, as integers."""
    schema = pa.schema([("mechanism", pa.string()), ("report", pa.int32())])
    with parquet.ParquetFile(path) as file, parquet.ParquetWriter(target, schema) as writer:
        for batch in file.iter_batches(1 << 20):
            packed = np.frombuffer(b"".join(batch.column("report").to_pylist()), np.uint8)
            wide = np.zeros((batch.num_rows, 4), dtype=np.uint8)
            wide[:, :3] = packed.reshape(-1, 3)
            columns = [batch.column("mechanism"), pa.array(wide.view("<i4").ravel())]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def bare_table(path: str) -> Callable[[], Any]:
    """Return a call that groups and fetches a table, for answers of a million rows."""

    def run() -> Any:
        with duckdb.connect() as connection:
            return connection.sql(_GROUP.format(path)).to_arrow_table()

    return run


def wide_bits() -> Iterator[Row]:
    """RAPPOR reports of 256 bits, which do not repeat."""
    mechanism = bit_survey(256).find("bits")
    rng = np.random.default_rng(0)
    packed = np.empty((_MANY, 32), dtype=np.uint8)
    for first in range(0, _MANY, 1_000_000):
        values = rng.integers(256, size=1_000_000)
        packed[first : first + 1_000_000] = mechanism.obfuscate(values, rng)
    law: Any = mechanism.operator(packed)
    ones = np.ones(_MANY)
    (sums,) = best(clock(lambda law=law, ones=ones: law.by_bit(ones)), repeats=3)
    yield limited(f"per-bit sums of {_MANY:,} RAPPOR reports, k=256, one core", sums, 2.5)
    del packed, law, ones
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/reports.parquet"
        write_bits(path, 256, _MANY)
        done = isolated(read_bits, path, 256)
        what = f"evidence of {_MANY:,} RAPPOR reports, k=256"
        yield limited(what, done.seconds)
        yield limited(f"{what}: peak memory", done.memory)


def estimate_symbols(path: str) -> dict[str, Any]:
    """Go from a file to a certified estimate."""
    estimate = fw.gibu(fw.read_reports(path, ten_mechanisms()))
    return {"status": str(estimate.status), "gap": estimate.gap}


def end_to_end() -> Iterator[Row]:
    """From Parquet to a certified estimate."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/reports.parquet"
        write_symbols(path, _MANY)
        done = isolated(estimate_symbols, path)
        what = f"{_MANY:,} k-RR and geometric reports to an estimate"
        yield limited(f"{what}, {done.result['status']}", done.seconds, 10)
        yield limited(f"{what}: gap", Figure(done.result["gap"], ""), 0.01 / _MANY)


def estimate_bits(path: str, size: int, held: bool) -> dict[str, Any]:
    """Go from a file of bit reports to a certified estimate, in a stream or all in memory."""
    options = {"hold": 1 << 40} if held else {}
    estimate = fw.gibu(fw.read_reports(path, bit_survey(size), **options))
    return {"status": str(estimate.status), "passes": estimate.steps, "peak": peak_memory()}


def streamed_bits() -> Iterator[Row]:
    """From a file of ten million RAPPOR reports to a certified estimate."""
    for size, limit in ((256, 0.45e9), (1000, 0.7e9)):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/reports.parquet"
            write_bits(path, size, _SIZES[0])
            small = isolated(estimate_bits, path, size, False)
            write_bits(path, size, _MANY)
            streamed = isolated(estimate_bits, path, size, False)
            held = isolated(estimate_bits, path, size, True)
        what = f"file of {_MANY:,} RAPPOR reports, k={size}, to an estimate"
        told = f"{streamed.result['status']}, {streamed.result['passes']} passes"
        ours, first, theirs = (Figure(done.result["peak"], "B") for done in (streamed, small, held))
        yield limited(f"{what}: peak memory, {told}", ours, limit)
        yield compared(f"{what}: peak memory", ours, "in memory", theirs)
        yield compared(f"{what}: time", streamed.seconds, "in memory", held.seconds, 1 / 1.1)
        ratio = first.value / ours.value
        flat = ("flat: ratio > 0.8", ratio > 0.8)
        yield Row(f"{what}: peak memory", ours, f"{_SIZES[0]:,}", first, ratio, *flat)


def many_evidence_files() -> Iterator[Row]:
    """A thousand files of evidence of 1,000 RAPPOR reports each, merged."""
    mechanism = bit_survey(256).find("bits")
    rng = np.random.default_rng(0)
    drawn = [mechanism.obfuscate(rng.integers(256, size=1000), rng) for _ in range(1000)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{number}.parquet" for number in range(1000)]
        for path, reports in zip(paths, drawn, strict=True):
            fw.save_evidence(fw.collect([(mechanism, reports)]), path)
        (merged,) = best(
            clock(lambda: fw.save_evidence(merge_all(paths), f"{folder}/all.parquet")), repeats=3
        )
    yield limited("1,000 evidence files of bits merged into one", merged, 5)


def merge_all(paths: list[str]) -> fw.Evidence:
    """Load and add up files of evidence."""
    return fw.merge(fw.load_evidence(path) for path in paths)


def front_door() -> Iterator[Row]:
    """A new process: importing, and the command's help."""
    numpy = started("import numpy")
    yield compared("import freewill", started("import freewill"), "import numpy", numpy)
    device = "import freewill as fw, numpy as np; fw.KRR(fw.Linear(0, 9), 1.0).id; fw.Survey"
    yield limited("import freewill, a mechanism and a survey", started(device), 0.35)
    command = str(Path(sys.executable).with_name("freewill"))
    yield limited("freewill --help", process([command, "--help"]), 0.5)


def started(code: str) -> Figure:
    """Return the seconds that a new process takes for some code, start of Python included."""
    return process([sys.executable, "-c", code])


def process(words: list[str]) -> Figure:
    """Return the least seconds of five runs of a command."""
    (seconds,) = best(clock(lambda: subprocess.run(words, check=True, capture_output=True)))
    return seconds


def on_spark(path: str) -> dict[str, Any]:
    """Read and solve on Spark with two threads, and on this machine alone."""
    survey = bit_survey(256)
    here = read(path, survey).evidence
    alone = fw.gibu(here)
    fw.spark_session(
        {
            "spark.master": "local[2]",
            "spark.driver.memory": "4g",
            "spark.driver.maxResultSize": "2g",
            "spark.ui.enabled": "false",
        }
    )
    with read(path, survey, engine="spark").evidence as there:
        same = there == here
        begin = time.perf_counter()
        found = fw.gibu(there)
        seconds = time.perf_counter() - begin
    return {
        "same": same,
        "gap": found.gap,
        "difference": abs(found.log_likelihood - alone.log_likelihood),
        "passes": found.steps,
        "seconds": seconds,
        "alone": alone.seconds,
        "status": str(found.status),
    }


def spark() -> Iterator[Row]:
    """RAPPOR reports of 256 bits on Spark, local[2]."""
    people = 1_000_000
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        yield Row("Spark", Figure(0, ""), "not measured: PySpark or Java is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "reports.parquet"))
        write_bits(path, 256, people)
        found = isolated(on_spark, path).result
    what = f"{people:,} RAPPOR reports, k=256, on Spark"
    yield Row(
        f"{what}: same evidence", Figure(float(found["same"]), ""), asked="= 1", met=found["same"]
    )
    tolerance = 0.01 / people
    yield limited(f"{what}: gap, {found['status']}", Figure(found["gap"], ""), tolerance)
    difference = Figure(found["difference"], "")
    yield limited(f"{what}: log-likelihood beside one machine's", difference, 2 * tolerance)
    yield limited(f"{what}: passes", Figure(found["passes"], ""), 16)
    alone = Figure(found["alone"], "s")
    yield compared(f"{what}: estimate", Figure(found["seconds"], "s"), "in memory", alone)


BENCHMARKS = (
    front_door,
    symbols,
    narrow_bits,
    wide_bits,
    streamed_bits,
    many_evidence_files,
    end_to_end,
    spark,
)
