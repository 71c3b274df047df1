"""The store in PostgreSQL when things break: lines, collectors, and the database itself."""

import contextlib
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from freewill.collector.database import StoreBusyError
from freewill.collector.store import open_store
from freewill.collector.surveys import Stored, Upload
from postgres_cases import needs_postgres, rows_of, server, sql, url
from service_cases import ID, needs_serve, sent, served

__all__ = ["server", "url"]
pytestmark = needs_postgres


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


def test_a_commit_that_the_server_undoes_is_no_commit(url):
    """Of a transaction in which something failed, PostgreSQL answers COMMIT by ROLLBACK."""
    import psycopg  # noqa: PLC0415

    store = open_store(url)
    with (
        pytest.raises(StoreBusyError, match="ROLLBACK"),
        store.changing(),
        contextlib.suppress(psycopg.Error),
    ):
        store._database._connection.execute("SELECT nothing")
    store.close()


@needs_serve
@pytest.mark.skipif(not hasattr(os, "fork"), reason="servers are forked")
def test_kills_of_collectors_and_restarts_of_the_database_lose_nothing(url, server):
    script = Path(__file__).parents[1].joinpath("service_kills.py")
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
