"""A collector as its operator runs it: a real process with a log, under load and on bad disks."""

import http.client
import json
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from itertools import islice
from urllib.parse import urlsplit

import numpy as np
import pytest

from freewill.collector.store import open_store
from service_cases import ID, PATIENCE, SURVEY, needs_serve, people

pytestmark = [needs_serve, pytest.mark.slow]
LOADERS = 8


@contextmanager
def running(folder, *options):
    """Serve in a process of its own; yield it and where it listens."""
    SURVEY.save(folder / "survey.json")
    command = [sys.executable, "-m", "freewill", "serve", folder / "survey.json", "--port", "0"]
    process = subprocess.Popen(
        [*map(str, command), "--store", str(folder / "people.db"), "--log", "json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        page = process.stdout.readline().split(": ", 1)[1].strip()
        yield process, urlsplit(page).netloc
    finally:
        process.kill()
        process.communicate()


def asked(address, path, body=None):
    with closing(http.client.HTTPConnection(address, timeout=PATIENCE)) as connection:
        return ask(connection, path, body)


def ask(connection, path, body=None):
    kind = {"content-type": "application/json"}
    connection.request("GET" if body is None else "POST", path, body, kind)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def lines_of(err):
    """Read the log; every line of it is JSON, and has no moment but a minute."""
    lines = [json.loads(line) for line in err.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", line["time"]) for line in lines)
    return lines


def test_a_drain_tells_first_goes_on_and_loses_nothing(tmp_path):
    """Load goes on through the whole end; whoever got 200 is in the store."""
    acknowledged, refused, health = [], [], []
    with running(tmp_path, "--drain-seconds", "2") as (process, address):
        batches = iter(people(SURVEY, 40_000, np.random.default_rng(1)))
        turn = threading.Lock()

        def load():
            path = f"/v1/surveys/{ID}/reports"
            connection = http.client.HTTPConnection(address, timeout=PATIENCE)
            with closing(connection), suppress(OSError, http.client.HTTPException):
                while True:
                    with turn:
                        rows = list(islice(batches, 5))
                    status, _ = ask(connection, path, json.dumps(rows))
                    (acknowledged if status == 200 else refused).append(len(rows))

        threads = [threading.Thread(target=load) for _ in range(LOADERS)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        assert asked(address, "/v1/health")[0] == 200
        process.send_signal(signal.SIGTERM)
        begun, before = time.monotonic(), sum(acknowledged)
        while time.monotonic() - begun < 1.5:
            time.sleep(0.25)
            health.append(asked(address, "/v1/health")[0])
            assert asked(address, "/v1/alive")[0] == 200
        # From the next tick on it says that it ends, and still takes what comes.
        assert set(health[1:]) == {503}
        assert sum(acknowledged) > before
        for thread in threads:
            thread.join(PATIENCE)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert time.monotonic() - begun >= 2
    events = [line["event"] for line in lines_of(err)]
    assert [one for one in events if one != "refused"] == ["started", "stopping", "stopped"]
    store = open_store(str(tmp_path / "people.db"))
    store.add(SURVEY)
    found = store.evidence(ID).people
    store.close()
    # What was under way at the very end may be stored without its answer, never the reverse.
    assert sum(acknowledged) <= found <= sum(acknowledged) + sum(refused) + 5 * LOADERS
    assert sum(acknowledged) > 1000


def test_a_full_disk_is_seen_by_the_health_check_before_anybody_reports(tmp_path):
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process cannot be set here")
    with running(tmp_path) as (process, address):
        assert asked(address, "/v1/health") == (200, {"status": "ok", "surveys": 1})
        limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        time.sleep(1.1)
        status, answer = asked(address, "/v1/health")
        assert status == 503
        assert "disk is full" in answer["error"]
        assert str(tmp_path) not in json.dumps(answer)
        assert asked(address, "/v1/alive")[0] == 200
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
        assert asked(address, "/v1/health")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
