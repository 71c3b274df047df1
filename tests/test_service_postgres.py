"""The store in PostgreSQL: the same counts, from several collectors at once."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freewill as fw
from freewill.service.postgres import Postgres, shown_url
from freewill.service.refusals import StoreBusyError, StoreError
from freewill.service.store import Store, Stored, Upload
from freewill.service.stores import open_store, read_store
from freewill.service.surveys import to_bytes
from service_cases import ID, SHY, SURVEY, needs_serve, sent, served, small_places, stored_ids


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


@small_places(scale=40)
def test_several_collectors_count_each_report_once(url):
    """Three of them take the same uploads at the same time, in different orders."""
    stores = [open_store(url) for _ in range(3)]
    rows, expected = rows_of(stores[0], 1500, np.random.default_rng(0))
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
    assert stores[1].evidence(ID) == expected
    stores[2].tidy()
    assert stores[0].evidence(ID) == expected
    with stores[0].view() as view:
        buckets = [row[0] for row in view.rows("SELECT bucket FROM settled ORDER BY ctid")]
        ids = stored_ids(view)
    assert buckets == sorted(buckets)  # as they lie on the disk: by their keys, not as they came
    assert len(buckets) > 1
    assert len(ids) == len(rows)
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected
    for store in stores:
        store.close()


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
        server[1]("stop")
        answer = await client.post(sent("relaxed", 8))
        assert answer.status == 503
        assert "secret" not in answer.body.decode()
        assert (await client.get("/v1/health")).status == 503
        server[1]("start")
        assert (await client.post([one, sent("relaxed", 9)])).json == {"stored": 1, "known": 1}
        assert client.made.store.evidence(client.survey).people == 2

    served(work, url)


def test_what_cannot_be_reached_says_so_without_the_password():
    with pytest.raises(StoreBusyError, match="cannot be reached") as refused:
        Store(Postgres("postgresql://me:secret@127.0.0.1:1/people"))
    assert "secret" not in str(refused.value)
    assert shown_url("postgres://a:b@c:5/d") == "postgresql://c/d"
