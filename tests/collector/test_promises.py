"""Promises that would break silently, each with a test that fails when it is broken."""

import asyncio
import threading

import numpy as np
import pytest

import freewill as fw
from freewill.collector import writer as writing
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from freewill.collector.surveys import Stored, Upload, to_bytes
from freewill.collector.tokens import token_digest
from freewill.collector.writer import Writer
from freewill.core.files import LOCKS
from freewill.device.memory import Content
from service_cases import ID, PATIENCE, SURVEY, needs_serve, new_id, sent, served, stored_ids, until

HEX = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def store(tmp_path):
    made = Store(Sqlite(tmp_path / "store.db"))
    yield made
    made.close()


def equal_reports(store, people, rng):
    """Return rows of people who all report the same."""
    number = store.add(SURVEY)[SURVEY.mechanisms["relaxed"].id]
    (output,) = to_bytes(np.array([7]))
    return [(number, output, rng.bytes(16)) for _ in range(people)]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("synchronous", 2),  # FULL: the journal is on the disk before a commit is acknowledged
        ("secure_delete", 2),  # FAST: what is deleted is overwritten
        ("journal_mode", "wal"),
        ("wal_autocheckpoint", 1 << 13),
    ],
)
def test_the_writing_connection_keeps_its_settings(store, setting, value):
    assert list(store._database.rows(f"PRAGMA {setting}")) == [(value,)]


def test_what_is_deleted_is_not_in_the_file(store, tmp_path):
    """Ids that moved on from `reports` would tell, by where they lay, which came together."""
    rows = equal_reports(store, 40, np.random.default_rng(1))
    store.write([Upload(ID, rows)], "2026-01-01")
    with store.view() as view:
        keys = [key.to_bytes(8, "big", signed=True) for key in stored_ids(view)]
    first = token_digest(store.new_token())
    store.new_token()
    database = store._database
    with database.writing():
        database.run("DELETE FROM reports", [()])
    list(database.rows("PRAGMA wal_checkpoint(TRUNCATE)"))
    content = (tmp_path / "store.db").read_bytes()
    assert first not in content
    assert not any(key in content for key in keys)


def test_ids_tell_nothing_of_what_came_with_them(tmp_path):
    """Two stores of the same ids with other reports have the same tables of ids."""
    kept = []
    for report in (7, 8):
        store = Store(Sqlite(tmp_path / f"{report}.db"))
        store._secret = bytes(32)
        number = store.add(SURVEY)[SURVEY.mechanisms["relaxed"].id]
        (output,) = to_bytes(np.array([report]))
        rows = [(number, output, bytes([own]) * 16) for own in range(20)]
        store.write([Upload(ID, rows)], "2026-01-01")
        with store.view() as view:
            kept.append(list(view.rows("SELECT * FROM reports ORDER BY id")))
        store.close()
    assert kept[0] == kept[1]
    assert len(kept[0]) == 20


class Held:
    """A store whose commits wait until they are let, and that says how many reports each had."""

    def __init__(self):
        self.let, self.commits = threading.Event(), []

    def write(self, uploads, day):
        self.commits.append(sum(len(upload.rows) for upload in uploads))
        self.let.wait(PATIENCE)
        return [Stored(len(upload.rows), 0) for upload in uploads]


@pytest.mark.parametrize(("most", "commits"), [(8, [1, 8, 8, 4]), (9, [1, 12, 8])])
def test_a_commit_ends_with_the_upload_that_fills_it(monkeypatch, most, commits):
    monkeypatch.setattr(writing, "_GROUP_ROWS", most)

    async def work():
        store = Held()
        writer = Writer(store)
        tasks = [asyncio.create_task(writer.write(Upload("survey", [("row",)])))]
        await until(lambda: store.commits)
        tasks += [
            asyncio.create_task(writer.write(Upload("survey", [("row",)] * 4))) for _ in range(5)
        ]
        await until(lambda: writer.waiting == 21)
        store.let.set()
        await asyncio.gather(*tasks)
        writer.stop()
        assert store.commits == commits

    asyncio.run(work())


def test_a_commit_and_the_queue_before_it_stay_bounded():
    """100,000 reports a commit, and four times as many that wait: what memory and a stop allow."""
    assert writing._GROUP_ROWS == 100_000
    assert writing.MOST_WAITING == 400_000


@needs_serve
@pytest.mark.parametrize(
    "wrong", [HEX + "0", HEX + "\n", HEX[:-1], " " + HEX[1:], HEX[:-2] + "  ", HEX[:-1] + "g", ""]
)
def test_a_report_id_is_32_hexadecimal_digits_and_nothing_else(tmp_path, wrong):
    async def work(client):
        report = sent("relaxed", 7, new_id())
        answer = await client.post([report, {**report, "report_id": wrong}])
        assert answer.status == 422
        assert "report 1 of 2: report_id" in answer.json["error"]

    served(work, tmp_path / "store.db")


@pytest.mark.parametrize("wrong", [HEX + "0", HEX + "\n", "0" + HEX, HEX[:-1], HEX.upper()])
def test_a_remembered_report_id_is_32_hexadecimal_digits_and_nothing_else(wrong):
    words = ("mechanism", "words", "value")
    report = {**dict.fromkeys(words, "a"), "report_id": HEX, "epsilon": "1"}
    assert Content.read({"sent": {"q": report}, "spent": "1"}).sent["q"].report_id == HEX
    with pytest.raises(ValueError, match="no report_id"):
        Content.read({"sent": {"q": {**report, "report_id": wrong}}, "spent": "1"})


@pytest.mark.skipif(not LOCKS, reason="no locks that end with a process")
def test_a_lock_that_was_removed_while_it_was_waited_for_lets_nobody_in(tmp_path, monkeypatch):
    """Another process may have locked a new file by then: two would draw two reports."""
    import fcntl  # noqa: PLC0415

    flock, others = fcntl.flock, []
    released = threading.Event()

    def release():
        released.set()
        others.pop().close()

    def racing(file, how):
        if not others and not released.is_set():
            (beside,) = tmp_path.glob(".*.lock")
            beside.unlink()
            others.append(beside.open("w"))
            flock(others[0], fcntl.LOCK_EX)
            threading.Timer(0.1, release).start()
        return flock(file, how)

    monkeypatch.setattr(fcntl, "flock", racing)
    coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    fw.Device(coin, fw.Memory(tmp_path / "memory"), question="smokes-2026").report("yes")
    assert released.is_set()
