"""How the collector ends: on a full disk, before it began, and with requests under way."""

import asyncio
import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

from freewill.collector.database import StoreBusyError, StoreError, StoreFullError
from freewill.collector.serving import _put_in_order
from freewill.collector.store import open_store
from service_cases import ID, PATIENCE, SURVEY, needs_serve, people, served


def post(address, rows):
    kind = {"content-type": "application/json"}
    request = urllib.request.Request(f"{address}/reports", json.dumps(rows).encode(), kind)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture
def survey(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    return tmp_path / "survey.json"


def started(survey, store):
    command = [sys.executable, "-m", "freewill", "serve", str(survey), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--store", str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    page = process.stdout.readline().split(": ", 1)[1].strip()
    return process, page.replace("/surveys/", "/v1/surveys/")


def ended(process):
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, " ".join(err.split())


@pytest.mark.slow
@needs_serve
def test_on_a_full_disk_nothing_that_is_said_is_untrue_and_the_next_end_is_in_order(
    tmp_path, survey
):
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process cannot be set here")
    store, rows = tmp_path / "people.db", people(SURVEY, 30, np.random.default_rng(0))
    process, address = started(survey, store)
    assert post(address, rows[:20]) == (200, {"stored": 20, "known": 0})
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    status, told = post(address, rows[20:])
    assert status == 507
    assert "counts once" in told["what to do"]
    code, out, err = ended(process)
    assert code == 2
    assert "Everything that was acknowledged is in it" in err
    assert "nothing was stored" not in (out + err).lower()
    process, address = started(survey, store)
    assert post(address, rows) == (200, {"stored": 10, "known": 20})
    code, out, err = ended(process)
    assert (code, err) == (0, "")
    assert "everything that was acknowledged" in out
    kept = open_store(str(store))
    kept.add(SURVEY)
    assert kept.evidence(ID).people == 30
    kept.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreFullError("the disk is full."), "the disk is full."),
        (StoreBusyError("the database cannot be reached."), "cannot be reached."),
        (KeyboardInterrupt(), "it was interrupted."),
    ],
)
def test_a_store_that_is_not_put_in_order_is_said_to_have_what_was_acknowledged(error, reason):
    class Broken:
        def tidy(self):
            raise error

        def __str__(self):
            return "people.db"

    with pytest.raises(StoreError) as raised:
        _put_in_order(Broken())
    kind = StoreError if isinstance(error, KeyboardInterrupt) else type(error)
    assert type(raised.value) is kind  # whoever tries again after a busy store still can
    told = str(raised.value)
    assert told.startswith(f"people.db was not put in order at the end: {error or reason}")
    assert reason in told
    assert "Everything that was acknowledged is in it" in told


@pytest.mark.slow
@needs_serve
def test_a_signal_during_the_start_ends_the_server_after_its_token_was_shown(tmp_path, survey):
    """The token is in the store by then: were it not shown, nobody would ever know it."""
    script = (
        "import os, signal\n"
        "from freewill.collector import app, serving\n"
        "from freewill.domain.survey import Survey\n"
        "made = app.Collector\n"
        "def collector(*arguments):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return made(*arguments)\n"
        "app.Collector = collector\n"
        f"store = {str(tmp_path / 'store.db')!r}\n"
        f"survey = Survey.load({str(survey)!r})\n"
        "show = lambda _, token: print(len(token))\n"
        "serving.serve({'survey': survey}, show, port=0, store=store)\n"
        "print('in order')\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "43\nin order\n"), done.stderr


@needs_serve
def test_who_is_not_answered_in_time_is_told_that_the_collector_is_stopping(tmp_path):
    async def work(client):
        from freewill.collector.app import application  # noqa: PLC0415

        messages = []

        read = asyncio.Event()

        async def receive():
            read.set()
            await asyncio.Event().wait()

        async def send(message):
            messages.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/v1/surveys/{ID}/reports",
            "headers": [(b"content-type", b"application/json")],
        }
        task = asyncio.create_task(application(client.made)(scope, receive, send))
        await read.wait()
        task.cancel()
        await task
        assert messages[0]["status"] == 503
        assert b"stopping" in messages[1]["body"]
        assert b"counts once" in messages[1]["body"]

    served(work, str(tmp_path / "store.db"))
