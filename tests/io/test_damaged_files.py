"""Damaged files: an error of ours or a reading, never a crash; and nothing is downloaded."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, ipc

import freewill as fw
from freewill.errors import ReportError
from freewill.io.engines.duckdb import session as running
from freewill.io.reading import read

LINE = fw.Linear(0, 9)
SURVEY = fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0)})
TIMES = int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How many times as many files are damaged: for a long night."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "lz4", "parquet", "evidence", "csv"])
def test_bytes_changed_at_random_are_refused_or_read(tmp_path, kind):
    script = Path(__file__).parents[1].joinpath("damage.py")
    command = [sys.executable, str(script), str(tmp_path), kind, "0", str(25 * TIMES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # A negative code is a signal: the reader has crashed. The last line is the seed that did it.
    assert done.returncode == 0, done.stderr[-2000:]
    assert "refused" in done.stdout


def out_of_bounds() -> pa.Table:
    """Return a table whose texts reach beyond their memory, as a damaged file has them."""
    offsets = pa.py_buffer(np.array([0, 1 << 30, 2], np.int32))
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"12")])
    return pa.table({"mechanism": ["k", "k"], "report": texts})


def test_offsets_that_point_beyond_the_file_are_not_followed(tmp_path):
    table = pa.table({"mechanism": ["k", "k"], "report": ["1", "2"]})
    path = tmp_path / "r.arrow"
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    content, offsets = path.read_bytes(), np.array([0, 1, 2], np.int32).tobytes()
    place = content.rindex(offsets)
    far = np.array([0, 1, 1 << 28], np.int32).tobytes()
    path.write_bytes(content[:place] + far + content[place + len(far) :])
    for source in (path, dataset.dataset(path, format="ipc")):
        with pytest.raises(ReportError, match="cannot be read"):
            read(source, SURVEY)
    with pytest.raises(ReportError, match="cannot be read"):
        read(feather.read_table(path, memory_map=True), SURVEY)


@pytest.mark.parametrize("wrap", [lambda table: table, lambda table: table.to_batches()[0]])
def test_tables_in_memory_are_checked_in_full(wrap):
    with pytest.raises(ReportError, match=r"pyarrow .* cannot be read"):
        read(wrap(out_of_bounds()), SURVEY)


def test_names_of_columns_are_shown_in_a_few_letters():
    names = ["\x1b[2J" * 500, *(f"column {n}" for n in range(100))]
    table = pa.table({name: [1] for name in names})
    with pytest.raises(ReportError, match="no column 'mechanism'") as caught:
        read(table, SURVEY)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/r.parquet",
        "https://127.0.0.1:9/r.csv",
        "HTTP://127.0.0.1:9/r.parquet",
        "s3://bucket/r.parquet",
        "gs://bucket/r.ndjson",
        "hf://datasets/a/r.parquet",
        "az://box/r.parquet",
    ],
)
def test_nothing_is_downloaded_to_read_an_address(address, monkeypatch, tmp_path):
    # An empty home has no extension that a user may have installed.
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ReportError, match=r"never downloaded on its own.*engine='spark'"):
        read(address, SURVEY)
    assert not list(tmp_path.rglob("*.duckdb_extension*"))


def test_every_session_of_duckdb_installs_nothing():
    for streaming in (False, True):
        with running(None, streaming) as session:
            asked = "SELECT current_setting('autoinstall_known_extensions')"
            assert session.connection.sql(asked).fetchall() == [(False,)]
            with pytest.raises(duckdb.Error):
                session.connection.sql("SELECT * FROM read_xlsx('x.xlsx')")
