"""Files that are written whole: what killed writers left goes, and what living ones write stays."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli_cases import run
from freewill.core import files
from freewill.core.files import held, sweep, whole_file

pytestmark = pytest.mark.skipif(not files.LOCKS, reason="no locks that end with a process")
WRITING = """
import sys, time
from freewill.core.files import whole_file
with whole_file(sys.argv[1]) as part:
    part.write_text("half of it")
    print(part, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer():
    """Return a function that starts a process which writes to a path and does not end."""
    running = []

    def start(path):
        line = [sys.executable, "-c", WRITING, str(path)]
        running.append(subprocess.Popen(line, stdout=subprocess.PIPE, text=True))
        return running[-1], Path(running[-1].stdout.readline().strip())

    yield start
    for process in running:
        process.kill()
        process.communicate()


def write(path, text="all of it"):
    with whole_file(path) as part:
        part.write_text(text)
    return path.read_text()


def test_the_part_of_a_living_writer_stays_and_that_of_a_killed_one_goes(tmp_path, writer):
    out = tmp_path / "out.csv"
    alive, other = writer(out), writer(tmp_path / "other.csv")
    for _ in range(3):
        assert write(out) == "all of it"
        assert alive[1].read_text() == other[1].read_text() == "half of it"
    for process, _ in (alive, other):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    write(out)
    assert not alive[1].exists()
    assert other[1].exists()  # of another output, which is written to another time
    write(tmp_path / "other.csv")
    assert sorted(os.listdir(tmp_path)) == ["other.csv", "out.csv"]


def test_many_at_once_never_sweep_each_other(tmp_path):
    out = tmp_path / "out.csv"

    def one(number):
        return write(out, f"{number:05}" * 50)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(400)))
    assert all(text in {f"{number:05}" * 50 for number in range(400)} for text in found)
    assert os.listdir(tmp_path) == ["out.csv"]


def test_what_is_swept_between_its_making_and_its_lock_is_made_anew(tmp_path):
    made = []

    def make():
        made.append(tmp_path / f"part-{len(made)}")
        made[-1].touch()
        if len(made) < 3:
            made[-1].unlink()  # as a sweeper would
        return made[-1]

    with held(make) as path:
        assert path == made[2]
        assert path.exists()


def test_only_names_of_this_output_are_looked_at(tmp_path):
    strange = (".out.csv.part", ".out.csv.0123.part", "out.csv.0123456789abcdef.part", ".out_csv.x")
    others = [*strange, ".out.csvx.0123456789abcdef.part", ".my.out.csv.0123456789abcdef.part"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".out.csv.00000000000000ab.part").touch()
    (tmp_path / "kept").write_text("mine")
    (tmp_path / ".out.csv.00000000000000cd.part").symlink_to(tmp_path / "kept")
    write(tmp_path / "out.csv")
    left = {*others, "out.csv", "kept", ".out.csv.00000000000000cd.part"}
    assert {*os.listdir(tmp_path)} == left  # links are not ours
    assert (tmp_path / "kept").read_text() == "mine"


def test_without_locks_nothing_is_swept_and_all_is_written(tmp_path, monkeypatch):
    left = tmp_path / ".out.csv.00000000000000ab.part"
    left.touch()
    monkeypatch.setattr(files, "LOCKS", False)
    assert write(tmp_path / "out.csv") == "all of it"
    assert left.exists()


def test_a_folder_that_cannot_be_listed_is_left_alone(tmp_path):
    sweep(tmp_path / "none", ".*")
    (tmp_path / "file").touch()
    sweep(tmp_path / "file", ".*")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.slow
def test_true_values_of_a_killed_pipe_are_removed_by_the_next(tmp_path, monkeypatch, folder):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    line = [sys.executable, "-m", "freewill", "obfuscate", "-", "-c", "age", "-o", "r.csv"]
    line += ["-s", str(folder / "survey.json")]
    waiting = subprocess.Popen(line, stdin=subprocess.PIPE, cwd=tmp_path)
    try:
        waiting.stdin.write(b"age\n41\n" * 3000)
        waiting.stdin.flush()
        until = time.monotonic() + 300
        while not list(tmp_path.glob("*/standard-input.csv")) and time.monotonic() < until:
            time.sleep(0.05)
        assert len(list(tmp_path.glob("*/standard-input.csv"))) == 1
        files.sweep(tmp_path, re.escape(next(tmp_path.glob("freewill-*")).name))
        assert len(list(tmp_path.glob("*/standard-input.csv"))) == 1  # it lives
    finally:
        waiting.kill()
        waiting.communicate()
    assert len(list(tmp_path.glob("freewill-*"))) == 1
    run("merge", folder / "monday.parquet", "-o", "-")
    assert not list(tmp_path.glob("freewill-*"))
