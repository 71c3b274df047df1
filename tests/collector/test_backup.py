"""Copies of stores: whole, of one moment, the owner's own, and good to go on from."""

import os
import re
import sqlite3
import stat
import subprocess
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_cases import refused, run
from freewill.collector import reading as module
from freewill.collector.database import StoreError
from freewill.collector.reading import backup, read_store
from freewill.collector.store import open_store
from freewill.collector.surveys import Stored, Upload, to_bytes
from hostile_stores import ID, PEOPLE, REFUSED, SURVEY, aged, honest

_OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
GUIDE = re.findall(r"```\n(.*?)```", _OPERATIONS.read_text(), re.DOTALL)


def read(path):
    with ExitStack() as stack:
        return read_store(path, SURVEY, stack)


def test_a_copy_has_all_and_is_its_owners_alone(tmp_path):
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    honest(path)
    before = os.umask(0)
    try:
        said = run("backup", path, copy)
    finally:
        os.umask(before)
    assert "90 answers to 1 survey" in " ".join(said.output.split())
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert read(copy) == read(path)
    assert [one.name for one in tmp_path.iterdir() if "copy" in one.name] == ["copy.db"]


def test_a_copy_goes_on_where_it_was_made(tmp_path):
    """Ids are known again by the same key, and the token is the same."""
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    honest(path)
    store = open_store(str(path))
    store.new_token()
    number = store.add(SURVEY)[SURVEY.mechanisms["coin"].id]
    (output,) = to_bytes(np.array([7]))
    upload = Upload(ID, [(number, output, bytes(16))])
    assert store.write([upload], "2026-01-03")[0].stored == 1
    assert backup(str(path), copy) == {ID: PEOPLE + 1}
    hashes = store.token_hashes()
    store.close()
    again = open_store(str(copy))
    again.add(SURVEY)
    assert again.write([upload], "2026-01-04")[0].known == 1
    assert again.token_hashes() == hashes
    again.close()


def test_an_upgrade_is_undone_by_its_copy(tmp_path):
    """As docs/operations.md says: the copy takes the place of the store and what is beside it."""
    path = tmp_path / "c.db"
    aged(path)
    before = read(path)
    store = open_store(str(path))
    number = store.add(SURVEY)[SURVEY.mechanisms["coin"].id]
    (output,) = to_bytes(np.array([7]))
    upload = Upload(ID, [(number, output, bytes(16))])
    assert store.write([upload], "2026-01-03")[0].stored == 1
    store.close()
    (copy,) = tmp_path.glob("c.db.version-*")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    copy.rename(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert read(path) == before
    # What came after the upgrade is gone, and counts once more when it is sent again.
    store = open_store(str(path))
    store.add(SURVEY)
    assert store.write([upload, upload], "2026-01-04") == [Stored(1, 0), Stored(0, 1)]
    assert store.evidence(ID).people == PEOPLE + 1
    store.close()


@pytest.mark.later
def test_a_copy_is_of_one_moment_while_somebody_writes(tmp_path):
    path = tmp_path / "c.db"
    honest(path)
    store = open_store(str(path))
    number = store.add(SURVEY)[SURVEY.mechanisms["coin"].id]
    (output,) = to_bytes(np.array([7]))
    ended, written = threading.Event(), [PEOPLE]

    def write():
        while not ended.is_set():
            rows = [(number, output, os.urandom(16)) for _ in range(50)]
            store.write([Upload(ID, rows)], "2026-01-03")
            written[0] += 50

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for place in range(5):
            before = written[0]
            (many,) = backup(str(path), tmp_path / f"{place}.db").values()
            # What was acknowledged before it is in it, and counts agree with days.
            assert before <= many <= written[0] + 50
            assert read(tmp_path / f"{place}.db").people == many
    finally:
        ended.set()
        thread.join()
        store.close()


@pytest.mark.parametrize("name", ["fifo", "text", "one more", "a tree that leads round"])
def test_a_damaged_store_is_refused_and_the_last_copy_stays(tmp_path, name):
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    REFUSED[name][0](path)
    copy.write_text("the last one")
    with pytest.raises(StoreError):
        backup(str(path), copy)
    assert copy.read_text() == "the last one"
    assert {one.name for one in tmp_path.iterdir()} <= {"c.db", "copy.db", "c.db-shm", "c.db-wal"}


def test_a_copy_that_is_damaged_while_it_is_written_is_not_kept(tmp_path, monkeypatch):
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    honest(path)
    written = module._copied

    def damaged(source, part):
        written(source, part)
        content = bytearray(part.read_bytes())
        content[4096:8192] = bytes(4096)
        part.write_bytes(content)

    monkeypatch.setattr(module, "_copied", damaged)
    with pytest.raises(StoreError, match="no copy of"):
        backup(str(path), copy)
    assert not copy.exists()

    def older(source, part):
        written(source, part)
        with sqlite3.connect(part) as connection:
            connection.execute("DELETE FROM counts")
            connection.execute("DELETE FROM days")
            connection.execute("DELETE FROM pages")

    monkeypatch.setattr(module, "_copied", older)
    with pytest.raises(StoreError, match="fewer people in the copy"):
        backup(str(path), copy)
    assert not copy.exists()


def test_what_cannot_be_copied_so_is_refused_with_what_to_do(tmp_path):
    honest(tmp_path / "c.db")
    for end in ("", "-wal", "-shm", "-journal"):
        assert "the store itself" in refused("backup", tmp_path / "c.db", tmp_path / f"c.db{end}")
    for name in ("", "-", tmp_path):
        assert "the name of a file for the copy" in refused("backup", tmp_path / "c.db", name)
    assert "no such store" in refused("backup", tmp_path / "none.db", tmp_path / "copy.db")
    message = refused("backup", "postgresql://me:secret@host/people", tmp_path / "copy.db")
    assert "pg_dump" in message
    assert "secret" not in message


def test_a_store_where_nobody_can_write_is_read_and_copied(tmp_path, monkeypatch):
    """SQLite would make files beside it: of a disk that is read-only it is told so."""
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    honest(path)
    disk = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    folder = [*tmp_path.iterdir()]
    with ExitStack() as stack:
        assert read_store(path, SURVEY, stack).people == PEOPLE
        assert [*tmp_path.iterdir()] == folder
    monkeypatch.undo()
    assert backup(str(path), copy) == {ID: PEOPLE}


def test_a_journal_that_cannot_be_opened_is_told_with_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "c.db"
    honest(path)
    fault = sqlite3.OperationalError("unable to open database file")
    fault.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN

    def failing(*_, **__):
        raise fault

    monkeypatch.setattr(sqlite3, "connect", failing)
    with pytest.raises(StoreError, match=r"cannot be opened.*write into its folder"):
        read(path)


@pytest.mark.parametrize(
    ("moved", "placed"),
    [("damaged.db", "backups/collector.db"), ("newer.db", "collector.db.version-N")],
)
def test_the_steps_of_the_guide_lose_nothing_of_a_server_that_was_killed(tmp_path, moved, placed):
    """Then much lies in the journal beside the file, and has to go with it."""
    (steps,) = [one for one in GUIDE if moved in one]
    steps = "\n".join(line for line in steps.splitlines() if "psql" not in line)
    (tmp_path / "backups").mkdir()
    honest(tmp_path / placed)
    store = open_store(str(tmp_path / "collector.db"))
    number = store.add(SURVEY)[SURVEY.mechanisms["coin"].id]
    rows = [(number, one, os.urandom(16)) for one in to_bytes(np.arange(7))]
    store.write([Upload(ID, rows)], "2026-01-03")
    # Of a process that is killed the files stay as they are, and nothing is written at an end.
    killed = {path.name: path.read_bytes() for path in tmp_path.glob("collector.db*")}
    store.close()
    for name, content in killed.items():
        (tmp_path / name).write_bytes(content)
    subprocess.run(["sh", "-ec", steps], cwd=tmp_path, check=True)
    assert read(tmp_path / moved).people == 7
    assert read(tmp_path / "collector.db").people == PEOPLE
