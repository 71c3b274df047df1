"""The command that serves: its limits, its settings, its start and its end, without a network."""

import gc
import json
import signal
import socket
import sys
from itertools import combinations_with_replacement
from types import SimpleNamespace

import pytest

import freewill as fw
from cli_cases import run
from freewill.collector import serving
from freewill.collector.database import StoreError
from freewill.collector.store import open_store
from freewill.errors import ParameterError
from service_cases import ID, SURVEY, needs_serve

INFINITE = -1
NEEDED = 2048 + 256
"""Connections, and files beside them."""


LIMITS = (100, 1024, NEEDED - 1, NEEDED, 100_000)


@needs_serve
@pytest.mark.parametrize(
    ("soft", "hard"),
    [
        *combinations_with_replacement(LIMITS, 2),
        *((soft, INFINITE) for soft in (*LIMITS, INFINITE)),
    ],
)
def test_as_many_files_are_opened_as_connections_need_and_the_system_grants(
    monkeypatch, soft, hard
):
    limits = {"now": (soft, hard)}
    fake = SimpleNamespace(
        RLIM_INFINITY=INFINITE,
        RLIMIT_NOFILE="files",
        getrlimit=lambda what: limits["now"] if what == "files" else None,
        setrlimit=lambda what, pair: limits.update({"now": pair} if what == "files" else {}),
    )
    monkeypatch.setitem(sys.modules, "resource", fake)
    connections = serving.most_connections()
    unlimited = 10**9
    granted = unlimited if hard == INFINITE else hard
    files = unlimited if soft == INFINITE else max(soft, min(NEEDED, granted))
    assert limits["now"] == (INFINITE if soft == INFINITE else files, hard)
    # Half of the files at least, and all but 256 where there are more.
    assert connections == min(2048, max(files // 2, files - 256))


@needs_serve
def test_where_the_system_has_no_limit_there_are_as_many_as_may_be(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert serving.most_connections() == 2048


@pytest.fixture
def calm():
    """Put back what a server changes of its process."""
    before = gc.get_threshold(), sys.getswitchinterval()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield handlers
    gc.unfreeze()
    gc.set_threshold(*before[0])
    sys.setswitchinterval(before[1])


@needs_serve
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_server_tells_nobody_what_it_is_and_logs_nobody(tmp_path, monkeypatch, calm, host):
    if host == "::1":
        try:
            socket.create_server((host, 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("no IPv6 here")
    seen = {}

    def run(server, sockets):
        signal.raise_signal(signal.SIGTERM)
        seen.update(server=server, sockets=sockets, frozen=gc.get_freeze_count())
        seen["at"] = sockets[0].getsockname()
        seen["switch"], seen["garbage"] = sys.getswitchinterval(), gc.get_threshold()

    def tidied(store):
        seen["tidied"] = True
        assert "at" in seen
        return tidy(store)

    kind = type(open_store(str(tmp_path / "people.db")))
    tidy = kind.tidy
    monkeypatch.setattr(kind, "tidy", tidied)
    monkeypatch.setattr("freewill.collector.server.Server.run", run)
    told = []
    path = str(tmp_path / "people.db")
    thresholds = gc.get_threshold()
    before = gc.get_freeze_count()
    for new in (False, False, True):
        serving.serve(
            {"a.json": SURVEY}, lambda *given: told.append(given), host, 0, path, new_token=new
        )
    config = seen["server"].config
    assert (config.access_log, config.log_level, config.server_header) == (False, "error", False)
    assert (config.proxy_headers, config.ws, config.lifespan) == (False, "none", "on")
    assert config.timeout_graceful_shutdown == 20
    assert config.backlog == 2048
    address = f"[{host}]" if ":" in host else host
    assert told[-1][0] == {"a.json": f"http://{address}:{seen['at'][1]}/surveys/{ID}"}
    # The token is shown when it is made: at first, and when a new one is asked for.
    first, again, renewed = (token for _, token in told)
    assert first
    assert again is None
    assert renewed not in (None, first)
    assert seen["tidied"]
    assert seen["frozen"] > before
    assert seen["garbage"] == (50_000, *thresholds[1:])
    assert seen["switch"] == pytest.approx(0.001)
    # The signal was noted for the server instead of ending the process, and handlers are back.
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == calm


def test_signals_are_noted_in_their_order(calm):
    with serving._noted_signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert signals == [signal.SIGTERM, signal.SIGINT]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == calm


# Where a port is too large, Python leaves the socket to the collector of garbage.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_port_in_use_and_a_host_that_is_none_are_told():
    with serving.listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ParameterError, match=f"--port {port}: .*in use.* Choose another port"):
            serving.listening("127.0.0.1", port)
    for host, number in (("127.0.0.1", 70_000), ("no such host", 0), ("x" * 300, 0)):
        with pytest.raises(ParameterError, match=f"--host {host} --port {number}"):
            serving.listening(host, number)


def test_one_survey_under_two_names_is_refused():
    other = fw.Survey(fw.Linear(0, 3), {"a": fw.KRR(fw.Linear(0, 3), 1.0)})
    serving._check_distinct({"a": SURVEY, "b": other})
    with pytest.raises(StoreError, match=r"^a and c are one survey"):
        serving._check_distinct({"a": SURVEY, "b": other, "c": SURVEY})


def test_what_serving_needs_is_named_where_it_is_not_there(monkeypatch):
    present = {"httptools", "msgspec", "plotly", "starlette", "uvicorn"}
    find = "freewill.collector.serving.find_spec"
    monkeypatch.setattr(find, lambda name: name in present or None)
    serving.require_serve()
    for missing in sorted(present):
        monkeypatch.setattr(find, lambda name, gone=missing: name != gone or None)
        with pytest.raises(ParameterError, match=f"^{missing} is not installed.*freewill"):
            serving.require_serve()


@needs_serve
def test_with_a_log_in_json_every_line_is_json_whatever_fails(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    (tmp_path / "none.db").write_text("no store")
    for given in (["missing.json"], ["survey.json", "--store", tmp_path / "none.db"]):
        file, *rest = given
        failed = run("serve", tmp_path / file, *rest, "--log", "json", "--port", 0, code=2)
        (line,) = map(json.loads, failed.stderr.splitlines())
        assert (line["event"], str(tmp_path) in line["why"]) == ("failed", True)
