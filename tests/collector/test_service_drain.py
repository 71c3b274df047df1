"""A collector as its operator runs it: a real process with a log, under load and on bad disks."""

import http.client
import json
import re
import resource
import signal
import threading
import time
from contextlib import closing, suppress
from itertools import islice

import numpy as np
import pytest

from freewill.collector.store import open_store
from live_cases import ask, asked, running
from service_cases import ID, PATIENCE, SURVEY, needs_serve, people

pytestmark = [needs_serve, pytest.mark.slow]
LOADERS = 8


def lines_of(err):
    """Read the log; every line of it is JSON, and has no moment but a minute."""
    lines = [json.loads(line) for line in err.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", line["time"]) for line in lines)
    return lines


def test_a_drain_tells_first_goes_on_and_loses_nothing(tmp_path):
    """Load goes on through the whole end; whoever got 200 is in the store."""
    acknowledged, refused, health = [], [], []
    with running(tmp_path, SURVEY, "--drain-seconds", "2") as (process, address):
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
    with running(tmp_path, SURVEY) as (process, address):
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
