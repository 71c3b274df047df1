"""What an operator sees of a collector: health, metrics, the log; and a store that fails."""

import asyncio
import json
import logging
import re
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from freewill.collector import answers
from freewill.collector.answers import RefusedError
from freewill.collector.database import StoreBusyError, StoreFullError
from freewill.collector.journal import Journal, Watch, _Faults
from service_cases import ID, needs_serve, sent, served

pytestmark = needs_serve


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def told(client, path="/v1/health"):
    answer = await client.get(path)
    return answer.status, answer.json


def impatient(client):
    """Let the store be tried each time that somebody asks."""
    client.made.writer.stored_at = float("-inf")


def test_a_store_that_can_be_written_to_is_well_and_tried_once_a_second(path, monkeypatch):
    async def work(client):
        store = client.made.store
        other = sqlite3.connect(path)
        ((before,),) = other.execute("PRAGMA data_version")
        tries = []
        trial = store.try_writing
        monkeypatch.setattr(store, "try_writing", lambda: tries.append(trial()))
        answers = await asyncio.gather(*(told(client) for _ in range(50)))
        assert answers == [(200, {"status": "ok", "surveys": 1})] * 50
        assert len(tries) == 1
        # It was written, and not only said to be.
        assert list(other.execute("PRAGMA data_version")) != [(before,)]
        assert not list(other.execute("SELECT * FROM facts WHERE name = 'tried'"))
        other.close()
        # A commit since is as good as a trial.
        impatient(client)
        assert (await client.post(sent("relaxed", 7))).status == 200
        assert (await told(client))[0] == 200
        assert len(tries) == 1
        impatient(client)
        assert (await told(client))[0] == 200
        assert len(tries) == 2

    served(work, path)


def test_a_store_that_fails_is_told_without_its_name_and_recovers_without_reports(
    path, monkeypatch
):
    async def work(client):
        store = client.made.store
        write, trial = store.write, store.try_writing

        def fails(*_):
            raise StoreFullError(f"{path} cannot be written to")

        monkeypatch.setattr(store, "write", fails)
        monkeypatch.setattr(store, "try_writing", fails)
        assert (await client.post(sent("relaxed", 7))).status == 507
        status, answer = await told(client)
        assert status == 503
        assert "cannot be written to" in answer["error"]
        assert str(path) not in json.dumps(answer)
        assert (await told(client, "/v1/alive"))[0] == 200
        # Whoever sends people elsewhere meanwhile must learn that all is well again.
        monkeypatch.setattr(store, "try_writing", trial)
        assert (await told(client))[0] == 200
        monkeypatch.setattr(store, "write", write)
        assert (await client.post(sent("relaxed", 7))).status == 200

    served(work, path)


def test_only_who_has_a_token_is_told_where_a_store_lies_that_cannot_be_read(path):
    async def work(client):
        assert (await client.post(sent("relaxed", 7))).status == 200
        path.rename(path.with_name("aside.db"))
        for address in ("/v1/surveys", f"/v1/surveys/{ID}", "/v1/log"):
            status, answer = await told(client, address)
            assert status == 503
            assert path.name not in json.dumps(answer)
        answer = await client.get(f"/v1/surveys/{ID}/people", admin=True)
        assert (answer.status, path.name in answer.json["error"]) == (503, True)
        path.with_name("aside.db").rename(path)

    served(work, path)


def test_a_commit_that_fails_by_a_fault_of_ours_is_told_once(path, monkeypatch, caplog):
    """The health check would not notice: it writes something else."""

    async def work(client):
        def fails(*_):
            raise TypeError("with what was sent")

        monkeypatch.setattr(client.made.store, "write", fails)
        for _ in range(3):
            assert (await client.post(sent("relaxed", 7))).status == 500

    # Whatever a server that was started before made of this logger.
    logger, lines = logging.getLogger("uvicorn.error"), []
    monkeypatch.setattr(logger, "handlers", [_Faults(Journal(lines.append, lambda: 0.0))])
    monkeypatch.setattr(logger, "propagate", False)
    caplog.set_level(logging.ERROR, "uvicorn.error")
    served(work, path)
    assert json.loads(*lines)["kind"] == "TypeError"
    assert "sent" not in lines[0]


@pytest.mark.parametrize("moved", [True, False])
def test_a_file_that_is_gone_or_another_takes_nothing_more(path, moved):
    async def work(client):
        assert (await client.post(sent("relaxed", 7))).status == 200
        aside = path.with_name("aside.db")
        path.rename(aside)
        if not moved:
            path.write_bytes(aside.read_bytes())
        impatient(client)
        assert (await told(client))[0] == 503
        assert (await client.post(sent("relaxed", 7))).status == 507
        aside.rename(path)
        assert (await told(client))[0] == 200
        assert (await client.post(sent("relaxed", 7))).json == {"stored": 1, "known": 0}

    served(work, path)


def test_a_held_store_is_busy_and_a_server_that_ends_says_so_first(path, monkeypatch):
    async def work(client):
        def held():
            raise StoreBusyError("held")

        monkeypatch.setattr(client.made.store, "try_writing", held)
        answer = await client.get("/v1/health")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "held by another process" in answer.json["error"]
        client.made.writer.draining = True
        assert "stopping" in (await told(client))[1]["error"]
        # Reports are still taken.
        assert (await client.post(sent("relaxed", 7))).status == 200

    served(work, path)


SAMPLE = re.compile(r'freewill_([a-z_]+)(?:\{status="(\d{3})",reason="([a-z-]+)"\})? (\S+)')


def samples(text):
    """Read what Prometheus would; each name has its help and its type before it."""
    found, typed = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            typed[name.removeprefix("freewill_")] = kind
        elif not line.startswith("# HELP "):
            name, status, reason, number = SAMPLE.fullmatch(line).groups()
            assert typed[name] == ("counter" if name.endswith("_total") else "gauge")
            found[(name, int(status), reason) if status else name] = float(number)
    return found


def test_metrics_count_refusals_by_reason(path):
    async def work(client):
        wrong = (b"{", [], sent("nobody's", 7), sent("relaxed", 700))
        statuses = [(await client.post(body)).status for body in wrong]
        assert statuses == [400, 422, 422, 422]
        assert (await client.post(b"{}", kind="text/plain")).status == 415
        assert (await client.get("/nowhere")).status == 404
        assert (await client.get("/v1/surveys/other")).status == 404
        assert (await client.get("/v1/metrics")).status == 401
        answer = await client.get("/v1/metrics", admin=True)
        found = samples(answer.body.decode())
        refused = {key[1:]: number for key, number in found.items() if isinstance(key, tuple)}
        assert refused == {
            (400, "not-json"): 1,
            (401, "no-token"): 1,
            (404, "unknown"): 2,
            (415, "media-type"): 1,
            (422, "invalid"): 3,
        }
        assert found["reports_stored_total"] == found["connections"] == 0

    served(work, path)


def test_the_guide_names_all_reasons_and_no_other():
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    (table,) = re.findall(r"^\| reason \|.*?\n\n", guide, re.M | re.DOTALL)
    cells = (row.split("|")[1] for row in table.strip().splitlines())
    named = re.findall(r"`([a-z-]+)`", " ".join(cells))
    sources = "".join(path.read_text() for path in Path(answers.__file__).parent.glob("*.py"))
    given = re.findall(r'reason="([a-z-]+)"|busy\([^)]*"([a-z-]+)"\)', sources)
    usual = [reason for reason, _ in answers.STATUSES.values()]
    assert sorted(named) == sorted({*usual, *map("".join, given)})


def test_the_log_tells_of_states_and_sums_and_nobody(path, monkeypatch):
    async def work(client):
        lines, minute = [], [0.0]
        journal = Journal(lambda line: lines.append(json.loads(line)), lambda: minute[0])
        watch = Watch(client.made, journal)

        async def looks(many):
            lines.clear()
            for _ in range(many):
                minute[0] += 60
                impatient(client)
                await watch.look()
            return [{key: value for key, value in line.items() if key != "time"} for line in lines]

        assert await looks(1) == []
        report = sent("nobody's", 7)
        await client.post(report)
        await client.post(report)
        assert await looks(8) == []
        assert await looks(1) == [{"event": "refused", "counts": {"422 invalid": 2}}]
        assert lines[0]["time"] == "1970-01-01T00:10Z"
        assert await looks(10) == []

        def full():
            raise StoreFullError(f"{path} cannot be written to")

        with monkeypatch.context() as patch:
            patch.setattr(client.made.store, "try_writing", full)
            (line,) = await looks(3)
            assert (line["event"], line["reason"]) == ("store fails", "disk")
            assert line["why"] == f"{path} cannot be written to"
        assert await looks(3) == [{"event": "store well again"}]
        client.made.releases.made += 2
        client.made.releases.failures += 1
        found = await looks(1)
        assert found == [
            {"event": "released", "surveys": 2},
            {"event": "release failed", "surveys": 1},
        ]
        assert report["report_id"] not in str(lines)
        assert "192.0.2.7" not in str(lines)

    served(work, path)


def test_a_fault_is_told_by_its_kind_and_place_alone():
    lines = []
    loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error")]
    before = [(logger, logger.handlers, logger.level) for logger in loggers]
    loggers[1].setLevel(logging.CRITICAL)
    try:
        Journal(lambda line: lines.append(json.loads(line)), lambda: 0.0).faults()
        try:
            raise RefusedError(500, "what somebody sent", "Tell them.")
        except RefusedError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        logging.getLogger("uvicorn.error").error("Cancel %s tasks", "what somebody sent")
    finally:
        for logger, handlers, level in before:
            logger.handlers, logger.propagate = handlers, True
            logger.setLevel(level)
    line, other = lines
    assert (line["event"], line["kind"]) == ("fault", "RefusedError")
    assert (other["kind"], other["at"]) == ("Cancel %s tasks", "")
    assert re.fullmatch(r"test_operations\.py:\d+", line["at"])


def test_a_server_goes_on_until_it_is_drained_or_told_twice():
    uvicorn = pytest.importorskip("uvicorn")
    from freewill.collector.server import Server  # noqa: PLC0415

    async def ends(drain, signals):
        drained = []
        server = Server(
            uvicorn.Config(lambda *_: None, lifespan="off"),
            drain_seconds=drain,
            draining=lambda: drained.append(True),
        )
        server.server_state = SimpleNamespace(connections=(), default_headers=[], total_requests=0)
        for tick in range(100):
            if tick in signals:
                server.handle_exit(15, None)
            if await server.on_tick(1 + tick):
                break
            await asyncio.sleep(0.01)
        assert len(drained) == 1
        return tick

    assert asyncio.run(ends(0, [2])) == 2
    assert 3 <= asyncio.run(ends(0.05, [2])) <= 7
    assert asyncio.run(ends(60, [2, 5])) == 5
