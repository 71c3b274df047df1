"""A store of an older version: read as it is, and made anew by whoever opens it to write."""

import os
import signal
import sqlite3
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from freewill.collector import database, sqlite
from freewill.collector.database import StoreError
from freewill.collector.ids import Ids
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store, open_store
from freewill.collector.surveys import Stored, Upload
from hostile_stores import ID, OLD_ID, SURVEY, aged
from service_cases import small_places, stored_ids


def everything(connection):
    """Return all that a store has, but for its ids."""
    tables = ("facts", "surveys", "mechanisms", "counts", "pages", "days")
    return [connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables]


@pytest.mark.parametrize("version", [2, 3])
@small_places()
def test_an_old_store_is_made_anew_and_knows_all_that_it_knew(version, tmp_path):
    path, copy = tmp_path / "store.db", tmp_path / f"store.db.version-{version}"
    store, rng = Store(Sqlite(path)), np.random.default_rng(0)
    store.add(SURVEY)
    with store.changing() as made:  # as the keys of older versions were
        made.run("UPDATE surveys SET head = ?", [(OLD_ID,)])
    number = store.add(SURVEY)[SURVEY.mechanisms["coin"].id]
    rows = [(number, bytes([7, *bytes(7)]), rng.bytes(16)) for _ in range(40)]
    for size in (20, 5, 3, 1):  # in buckets, in a run, one by one
        store.write([Upload(ID, rows[-size:])], "2026-01-01")
        rows, done = rows[:-size], rows[-size:]
    with store.view() as view:
        keys = stored_ids(view)
        assert all(list(view.rows(f"SELECT * FROM {name}")) for name in ("reports", "settled"))
    store.close()
    aged(path, version=version)
    with closing(sqlite3.connect(path)) as connection:
        before = everything(connection)
    store = open_store(str(path))
    assert f"was of version {version}, and is of 4" in store.renewal
    assert str(copy) in store.renewal
    store.add(SURVEY)
    with store.view() as view:
        assert sorted(stored_ids(view)) == sorted(keys)
        assert [period.start for period in store.survey(view, ID).periods] == ["2026-01-01"]
    assert store.write([Upload(ID, [*done, rows[0]])], "2026-01-02") == [Stored(1, 1)]
    store.close()
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert everything(connection) == before
    again = open_store(str(path))
    assert again.renewal == ""
    again.close()


def test_tables_that_are_new_are_made_whatever_they_are(tmp_path, monkeypatch):
    aged(tmp_path / "store.db")
    more = ";\nCREATE TABLE more (name {integer} PRIMARY KEY, content {bytes}){keyed}\n"
    monkeypatch.setattr(database, "TABLES", database.TABLES.rstrip() + more)
    sqlite._ours.cache_clear()
    try:
        store = open_store(str(tmp_path / "store.db"))
        with store.view() as view:
            assert list(view.rows("SELECT * FROM more")) == []
        store.close()
    finally:
        sqlite._ours.cache_clear()


def test_where_there_is_no_room_an_old_store_stays_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    aged(path)
    before = path.read_bytes()

    def full(self, version):
        self.execute("DROP TABLE counts")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Sqlite, "_create_tables", full)
    with pytest.raises(StoreError, match="disk is full"):
        Sqlite(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    path.with_name("store.db.version-2").unlink()
    os.mkdir(path.with_name("store.db.version-2"))  # no copy can be made
    with pytest.raises(StoreError, match="is a directory"):
        Sqlite(path)
    assert path.read_bytes() == before


RENEWED = ("reports", "surveys", "mechanisms")


def state(path):
    """Return the version of a store and its keys; whatever is between two versions fails."""
    with closing(sqlite3.connect(path)) as connection:
        ((version,),) = connection.execute("PRAGMA user_version")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        counts = [len(connection.execute(f"SELECT * FROM {name}").description) for name in RENEWED]
        assert counts == {2: [2, 3, 3], 4: [1, 6, 4]}[version]
        width = {2: 12, 4: 8}[version]
        query = "SELECT content FROM runs UNION ALL SELECT content FROM settled"
        contents = [content for (content,) in connection.execute(query)]
        sizes = [len(content) // width for content in contents]
        assert all(len(content) % width == 0 for content in contents)
        keys = [content[: 8 * many] for content, many in zip(contents, sizes, strict=True)]
        return version, sorted(np.frombuffer(b"".join(keys), dtype="<i8").tolist())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills by POSIX means")
def test_who_is_killed_while_a_store_is_made_anew_leaves_the_old_or_the_new_one(tmp_path):
    path, rng = tmp_path / "store.db", np.random.default_rng(1)
    made = Sqlite(path)
    Store(made)
    ids = Ids(made)
    for _ in range(3):
        with made.writing():
            ids.refresh()
            ids.add(rng.integers(-(2**63), 2**63, 200_000))
    made.close()
    aged(path)
    old, (_, keys) = path.read_bytes(), state(path)
    seconds = time.perf_counter()
    Sqlite(path).close()
    seconds = time.perf_counter() - seconds
    versions = []
    for moment in np.linspace(0, seconds, 12):
        path.write_bytes(old)
        process = os.fork()
        if process == 0:
            try:
                Sqlite(path).close()
            finally:
                os._exit(0)
        time.sleep(moment)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        version, found = state(path)
        versions.append(version)
        assert found == keys
    assert 2 in versions  # killed before the end, at least once
    Sqlite(path).close()
    assert state(path) == (4, keys)
    assert {file.name for file in tmp_path.iterdir()} == {"store.db", "store.db.version-2"}
