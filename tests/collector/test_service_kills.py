"""The server as a process: killed while reports come in, told to end, and refused a port."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from cli_cases import refused, run
from freewill.io.evidence_file import load_evidence
from service_cases import PATIENCE, SURVEY, needs_serve, people

KILLS = 2 * int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How often the server is killed on each way of writing: `FREEWILL_FUZZ=50` makes it 100."""


@pytest.mark.slow
@needs_serve
@pytest.mark.skipif(not hasattr(os, "fork"), reason="servers are forked")
@pytest.mark.parametrize("way", ["rows", "runs", "buckets"])
def test_kills_lose_nothing_acknowledged_and_count_nothing_twice(tmp_path, way):
    script = Path(__file__).parents[1].joinpath("service_kills.py")
    command = [sys.executable, str(script), str(tmp_path / "store.db"), str(KILLS), way]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(f"{KILLS} kills")


@pytest.fixture
def survey(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    return tmp_path / "survey.json"


@pytest.mark.slow
@needs_serve
def test_the_command_shows_its_token_once_serves_and_ends_in_order(tmp_path, survey):
    store = tmp_path / "people.db"
    rows = people(SURVEY, 240, np.random.default_rng(0))
    tokens = []
    for start in (0, 120):
        command = [sys.executable, "-m", "freewill", "serve", str(survey), "--port", "0"]
        command += ["--store", str(store)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            page = process.stdout.readline().split(": ", 1)[1].strip()
            address = page.replace("/surveys/", "/v1/surveys/")
            if not tokens:
                tokens.append(process.stdout.readline().split()[-1])
            for one in (rows[start : start + 119], rows[start + 119]):
                request = urllib.request.Request(
                    f"{address}/reports",
                    json.dumps(one).encode(),
                    {"content-type": "application/json", "user-agent": "someone's own"},
                )
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                    assert json.load(answer)["known"] == 0
            headers = {"authorization": f"Bearer {tokens[0]}"}
            request = urllib.request.Request(f"{address}/estimate", headers=headers)
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                assert json.load(answer)["people"] == start + 120
            process.send_signal(signal.SIGTERM if start else signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            assert "acknowledged" in out
            assert tokens[0] not in out
            assert err == ""
        assert not store.with_name("people.db-wal").exists()
        raw = store.read_bytes()
        assert b"someone's own" not in raw
        assert b"127.0.0.1" not in raw
        assert tokens[0].encode() not in raw
    out = tmp_path / "evidence.parquet"
    run("collect", store, "-s", survey, "-o", out)
    assert load_evidence(out).people == 240


@pytest.mark.later
@needs_serve
def test_a_signal_that_comes_as_soon_as_the_address_is_told_ends_the_server(tmp_path, survey):
    """It was lost, between the server's handlers and ours, and the server ran on."""
    script = (
        "import os, signal\n"
        "from freewill.collector.serving import serve\n"
        "from freewill.domain.survey import Survey\n"
        f"store = {str(tmp_path / 'store.db')!r}\n"
        f"survey = Survey.load({str(survey)!r})\n"
        "end = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "serve({'survey': survey}, end, port=0, store=store)\n"
        "print('in order')\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "in order\n"), done.stderr


@needs_serve
def test_a_port_in_use_and_other_faults_are_told_at_the_start(tmp_path, survey):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        store = tmp_path / "store.db"
        told = refused("serve", survey, "--port", port, "--store", store)
        assert "already in use" in told
        assert "another port" in told
        assert not store.exists()
    assert "65535" in refused("serve", survey, "--port", 70000)
    assert "--host" in refused("serve", survey, "--host", "nowhere.invalid", "--store", store)
    twice = tmp_path / "twice.json"
    twice.write_bytes(survey.read_bytes())
    assert "one survey" in refused("serve", survey, twice, "--port", 0, "--store", store)
    store.write_bytes(b"not a store, but long enough to be one" * 100)
    assert "damaged" in refused("serve", survey, "--port", 0, "--store", store)


def test_a_store_is_collected_by_itself(tmp_path, survey):
    none = tmp_path / "none.db"
    assert "no such store" in refused("collect", none, "-s", survey, "-o", tmp_path / "e.parquet")
    both = ("collect", none, "a.csv", "-s", survey, "-o", tmp_path / "e.parquet")
    assert "by itself" in refused(*both)


@pytest.mark.later
def test_without_the_extra_the_command_says_what_to_install(tmp_path, survey):
    script = (
        "import sys\n"
        "sys.modules['uvicorn'] = None\n"
        f"sys.argv = ['freewill', 'serve', {str(survey)!r}, '--port', '0']\n"
        "from freewill.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "pip install 'freewill[serve]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
