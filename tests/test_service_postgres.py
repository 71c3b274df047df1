"""The store in PostgreSQL: the same counts, from several collectors at once."""

import contextlib
import importlib.util
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused
from freewill.errors import ParameterError
from freewill.service.connections import MOST_READERS, shown_url
from freewill.service.kept import evidence_of
from freewill.service.refusals import StoreBusyError, StoreError
from freewill.service.store import Stored, Upload
from freewill.service.stores import open_store, read_store
from freewill.service.surveys import to_bytes
from service_cases import ID, SHY, SURVEY, needs_serve, sent, served


def binaries():
    """Return the folder of PostgreSQL's programs, or nothing."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def missing():
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'freewill[postgres]'"
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        return "libpq is not installed"
    if binaries() is None:
        return "PostgreSQL is not installed"
    return "" if os.name == "posix" else "PostgreSQL is started by POSIX means"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def server():
    """Start a server of its own, on a socket in a folder, and end it."""
    folder = tempfile.mkdtemp(prefix="freewill-postgres-")
    root = os.geteuid() == 0  # PostgreSQL refuses to run as root
    who: Any = {"user": "postgres"} if root else {}
    try:
        if root:
            shutil.chown(folder, "postgres")

        def run(program, *what):
            command = [binaries() / program, "-D", f"{folder}/data", *what]
            subprocess.run(command, check=True, capture_output=True, cwd="/", **who)

        run("initdb", "-A", "trust", "-U", "freewill", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        start = ("-l", f"{folder}/log", "-o", options, "-w", "start")
        stop = ("-m", "immediate", "stop")
        run("pg_ctl", *start)
        try:
            yield folder, lambda what: run("pg_ctl", *(start if what == "start" else stop))
        finally:
            run("pg_ctl", *stop)
    except (LookupError, PermissionError, subprocess.CalledProcessError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server, request):
    """Make a database for one test."""
    import psycopg  # noqa: PLC0415

    root = f"postgresql://freewill:secret@/{{}}?host={server[0]}"
    name = f"t{abs(hash(request.node.name))}"
    with psycopg.connect(root.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return root.format(name)


def rows_of(store, many, rng):
    numbers = store.add(SURVEY)
    rows, parts = [], []
    for mechanism in SURVEY.mechanisms.values():
        outputs = mechanism.obfuscate(rng.integers(100, size=many), rng)
        parts.append((mechanism, outputs))
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    return [rows[place] for place in rng.permutation(len(rows))], fw.collect(parts)


def sql(url, statement):
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


CARELESS = {"default_transaction_isolation": "serializable", "synchronous_commit": "off"}
"""What a server may be set to, with which turns would not see each other, nor commits last."""


@pytest.mark.parametrize("settings", [{}, CARELESS])
def test_several_collectors_count_each_report_once(url, settings):
    """Three of them take the same uploads at the same time, in different orders."""
    for name, value in settings.items():
        sql(url, f"ALTER ROLE freewill SET {name} TO '{value}'")
    stores = [open_store(url) for _ in range(3)]
    for name in settings:
        sql(url, f"ALTER ROLE freewill RESET {name}")
    rows, expected = rows_of(stores[0], 1000, np.random.default_rng(0))
    uploads = [Upload(ID, rows[start : start + 60]) for start in range(0, len(rows), 60)]
    found = []

    def feed(store, order):
        store.add(SURVEY)
        for place in order:
            found.extend(store.write([uploads[place]], "2026-01-01"))

    orders = [np.random.default_rng(seed).permutation(len(uploads)) for seed in range(3)]
    threads = [
        threading.Thread(target=feed, args=pair) for pair in zip(stores, orders, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.stored for one in found) == len(rows)
    assert sum(one.known for one in found) == 2 * len(rows)
    assert list(stores[0]._database.rows("SHOW synchronous_commit")) == [("on",)]
    for store in stores:
        assert store.evidence(ID) == expected
        store.close()
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected


GROWING = ("reports", "counts", "days", "pages")


def test_the_last_collector_leaves_no_trace_of_when_reports_came(url):
    """Neither where rows lie nor the transactions that made them tell; others are not held up."""
    stores = [open_store(url) for _ in range(2)]
    rows, expected = rows_of(stores[0], 1500, np.random.default_rng(5))
    stores[1].add(SURVEY)
    for start in range(0, len(rows), 300):
        stores[start // 300 % 2].write([Upload(ID, rows[start : start + 300])], "2026-01-01")
    assert len(sql(url, "SELECT DISTINCT xmin FROM reports")) == len(rows) // 300
    stores[0].tidy()  # the other one is at work
    assert len(sql(url, "SELECT DISTINCT xmin FROM reports")) == len(rows) // 300
    stores[0].close()
    stores[1].tidy()
    for table, key in zip(GROWING, ("id", "output", "day", "page"), strict=True):
        first = "" if table == "reports" else "mechanism, "
        found = sql(url, f"SELECT {first}{key} FROM {table} ORDER BY ctid")
        assert found == sql(url, f"SELECT {first}{key} FROM {table} ORDER BY {first}{key}")
    made = " UNION ".join(f"SELECT xmin::text FROM {table}" for table in GROWING)
    assert len(sql(url, made)) == 1
    assert stores[1].evidence(ID) == expected
    stores[1].close()


def test_views_are_few_stay_as_they_are_and_hold_queries_at_once(url):
    store = open_store(url)
    rows, expected = rows_of(store, 3000, np.random.default_rng(6))
    store.write([Upload(ID, rows[:-1])], "2026-01-01")
    with store.view() as view:
        store.write([Upload(ID, rows[-1:])], "2026-01-01")
        assert evidence_of(view, store.kept(view, ID), hold=0).people == len(rows) - 1
        pairs = [view.rows("SELECT id FROM reports ORDER BY id") for _ in range(2)]
        assert all(one == other for one, other in zip(*pairs, strict=True))
        next(view.rows("SELECT id FROM reports"))  # left unread
    with store.view() as view:
        assert evidence_of(view, store.kept(view, ID), hold=0).people == len(rows)
    together = threading.Barrier(MOST_READERS)
    counted = []

    def look(_):
        with store.view() as view:
            together.wait(30)
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            counted.extend(view.rows(query))

    threads = [threading.Thread(target=look, args=(n,)) for n in range(3 * MOST_READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(counted) == {(MOST_READERS + 1,)}
    assert store.evidence(ID) == expected
    store.close()


class Line:
    """A line to the server that breaks at a commit, before it arrives or before its answer does."""

    def __init__(self, server, folder):
        self.server, self.cut = f"{server}/.s.PGSQL.5432", None
        self.ear = socket.socket(socket.AF_UNIX)
        self.ear.bind(f"{folder}/.s.PGSQL.5432")
        self.ear.listen()
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.ear.accept()
                self.threads.append(threading.Thread(target=self._relay, args=(client,)))
                self.threads[-1].start()

    def _relay(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server)
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(1 << 16)
                    commit = b"COMMIT\0" in data and one is client
                    if not data or (commit and self.cut == "commit"):
                        return
                    (server if one is client else client).sendall(data)
                    if commit and self.cut == "answer":
                        server.recv(1 << 16)
                        return

    def close(self):
        self.ear.shutdown(socket.SHUT_RDWR)
        self.ear.close()
        for thread in self.threads:
            thread.join()


@contextmanager
def line(server):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Line(server, folder)) as made:
        yield made, folder


@pytest.mark.parametrize(("cut", "kept"), [("commit", 0), ("answer", 9)])
def test_a_commit_of_unknown_outcome_is_neither_lost_nor_counted_twice(url, server, cut, kept):
    with line(server[0]) as (broken, folder):
        store = open_store(url.replace(server[0], folder))
        rows, _ = rows_of(store, 4, np.random.default_rng(1))
        store.write([Upload(ID, rows[:3])], "2026-01-01")
        broken.cut = cut
        with pytest.raises(StoreBusyError):
            store.write([Upload(ID, rows[3:])], "2026-01-01")
        broken.cut = None
        again = store.write([Upload(ID, rows[3:])], "2026-01-01")
        assert again == [Stored(9 - kept, kept)]
        assert store.evidence(ID).people == len(rows)
        assert sql(url, "SELECT count(*) FROM reports") == [(len(rows),)]
        store.close()


def test_who_holds_the_turn_too_long_is_not_waited_for(url):
    import psycopg  # noqa: PLC0415

    store = open_store(url)
    rows, _ = rows_of(store, 2, np.random.default_rng(1))
    assert list(store._database.rows("SHOW lock_timeout")) == [("10s",)]
    assert list(store._database.rows("SHOW idle_in_transaction_session_timeout")) == [("1min",)]
    store._database._connection.execute("SET lock_timeout TO '50ms'")
    other = open_store(url)
    with other._writing(), pytest.raises(StoreBusyError, match="held by another"):
        store.write([Upload(ID, rows)], "2026-01-01")
    assert store.write([Upload(ID, rows)], "2026-01-01") == [Stored(len(rows), 0)]
    with psycopg.connect(url) as reader:
        reader.execute("SELECT * FROM days")
        other.close()
        with pytest.raises(StoreBusyError, match="held by another"):
            store.tidy()
    store.close()


@needs_serve
@pytest.mark.skipif(not hasattr(os, "fork"), reason="servers are forked")
def test_kills_of_collectors_and_restarts_of_the_database_lose_nothing(url, server):
    script = Path(__file__).with_name("service_kills.py")
    kills, draw = 2 * int(os.environ.get("FREEWILL_FUZZ", "1")), random.Random(0)
    command = [sys.executable, str(script), url, str(kills)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(kills):
            time.sleep(1 + draw.random())
            if process.poll() is None:
                server[1]("stop")
                server[1]("start")
        out, err = process.communicate(timeout=3000)
    assert process.returncode == 0, err[-2000:]
    assert out.startswith(f"{kills} kills")


def test_conflicts_closed_surveys_and_newer_stores(url):
    store = open_store(url)
    rows, _ = rows_of(store, 4, np.random.default_rng(1))
    assert store.write([Upload(ID, rows[:9])], "2026-01-01") == [Stored(9, 0)]
    other = (rows[0][0], b"something else", rows[0][2])
    conflict, fine = store.write([Upload(ID, [rows[10], other]), Upload(ID, rows[8:10])], "d")
    assert conflict.status == 409
    assert fine == Stored(1, 1)
    store.close_survey(ID, "2026-01-02")
    late, again = store.write([Upload(ID, rows[10:]), Upload(ID, rows[:2])], "2026-01-03")
    assert (late.status, again) == (410, Stored(0, 2))
    assert store.evidence(ID).people == 10
    with pytest.raises(StoreError, match="not in the store"), ExitStack() as stack:
        read_store(url, SHY, stack)
    with store._writing():
        store._database.run("UPDATE facts SET fact = ? WHERE name = 'version'", [(b"9",)])
    store.close()
    with pytest.raises(StoreError, match="version 9") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


@needs_serve
def test_the_server_goes_on_when_the_database_comes_back(url, server):
    async def work(client):
        one = sent("relaxed", 7)
        assert (await client.post(one)).json == {"stored": 1, "known": 0}
        assert (await client.get("/v1/health")).status == 200
        server[1]("stop")
        answer = await client.post(sent("relaxed", 8))
        assert answer.status == 503
        assert "secret" not in answer.body.decode()
        assert (await client.get("/v1/health")).status == 503
        server[1]("start")
        assert (await client.post([one, sent("relaxed", 9)])).json == {"stored": 1, "known": 1}
        assert client.made.store.evidence(client.survey).people == 2
        # Between two commits a restart is not even noticed.
        server[1]("stop")
        server[1]("start")
        assert (await client.post([one, sent("relaxed", 4)])).json == {"stored": 1, "known": 1}
        assert (await client.get("/v1/health")).status == 200

    served(work, url)


WRONG = [
    "postgresql://me:secret@[::1/people",
    "postgresql://me:p%zzsecret@host/people",
    "postgresql://me:p@secret@host/people",
    "postgresql://me:secret@host/people?nothing=secret",
    "postgresql://me:secret@host:port/people",
]


@pytest.mark.parametrize("address", WRONG)
def test_wrong_addresses_are_told_without_the_password(address, tmp_path):
    with pytest.raises((ParameterError, StoreBusyError)) as told:
        open_store(address)
    assert "secret" not in str(told.value)
    SURVEY.save(tmp_path / "survey.json")
    out = ("-s", tmp_path / "survey.json", "-o", tmp_path / "evidence.parquet")
    assert "secret" not in refused("collect", address, *out)
    assert "secret" not in refused("collect", address, "more.csv", *out)


def test_what_cannot_be_reached_says_so_without_the_password():
    with pytest.raises(StoreBusyError, match="cannot be reached") as told:
        open_store("postgresql://me:secret@127.0.0.1:1/people")
    assert "secret" not in str(told.value)
    assert shown_url("postgres://a:b@c:5/d") == "postgresql://c/d"


def test_a_database_of_somebody_else_is_left_alone(url):
    with pytest.raises(StoreError, match="no store yet"), ExitStack() as stack:
        read_store(url, SURVEY, stack)
    sql(url, "CREATE TABLE facts (name TEXT, fact BYTEA)")
    with pytest.raises(StoreError, match="none of ours"):
        open_store(url)
    assert sql(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(1,)]
