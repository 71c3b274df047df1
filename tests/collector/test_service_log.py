"""The public log of a collector: written with what it tells, served to all, verified by anyone."""

import copy
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tools.javascript import MODULE

import freewill as fw
from cli_cases import refused, run, run_json
from freewill.collector import store as stores
from freewill.collector.rounds import log_end, log_entries
from freewill.collector.store import open_store
from freewill.domain.survey_log import devices_hash
from postgres_cases import needs_postgres, server, url
from service_cases import SHY, SURVEY, needs_serve, served

__all__ = ["server", "url"]
LINE = fw.Linear(0, 9)
MANY = [fw.Survey(LINE, {"all": fw.KRR(LINE, 1 + place / 8)}) for place in range(12)]


def log(store):
    with store.view() as view:
        entries, (number, head) = log_entries(view, 1, 1000), log_end(view)
    assert len(fw.verify_log(entries, head)) == number == len(entries)
    return entries


def test_each_survey_stands_there_once_and_its_closing_too(tmp_path, monkeypatch):
    path = str(tmp_path / "store.db")
    for _ in range(2):  # the second time nothing is new
        store = open_store(path)
        for survey in (SURVEY, SHY):
            store.add(survey)
        store.close_survey(SURVEY.id, "2026-01-02")
        found = [(one["what"], one["survey"]) for one in log(store)]
        assert found == [("served", SURVEY.id), ("served", SHY.id), ("closed", SURVEY.id)]
        heads = fw.verify_log(log(store))
        assert [store.logged[one.id] for one in (SURVEY, SHY)] == [(1, heads[0]), (2, heads[1])]
        store.close()
    # What another release gives devices is told.
    monkeypatch.setattr(stores, "devices_hash", lambda spec: devices_hash(spec)[::-1])
    store = open_store(path)
    store.add(SHY)
    assert log(store)[3]["devices"] == devices_hash(SHY.for_devices())[::-1]
    assert store.logged[SHY.id].number == 4
    store.close()


def test_a_survey_is_stored_with_its_entry_or_not_at_all(tmp_path, monkeypatch):
    store = open_store(str(tmp_path / "store.db"))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(stores, "served", killed)
    with pytest.raises(KeyboardInterrupt):
        store.add(SURVEY)
    assert log(store) == list(store._database.rows("SELECT id FROM surveys")) == []
    store.close()


def added_at_once(where):
    """Surveys that three collectors of one store add and close at the same time."""
    opened = [open_store(where) for _ in range(3)]

    def add(store, place):
        for survey in MANY[place:] + MANY[:place]:
            store.add(survey)
            store.close_survey(survey.id, "2026-01-02")

    threads = [threading.Thread(target=add, args=(one, 4 * i)) for i, one in enumerate(opened)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = log(opened[0])
    for store in opened:
        store.close()
    told = {(one["what"], one["survey"]) for one in found}
    assert len(told) == len(found) == 2 * len(MANY)


@pytest.mark.later
def test_collectors_of_one_file_make_one_chain(tmp_path):
    added_at_once(str(tmp_path / "store.db"))


@needs_postgres
def test_collectors_of_one_database_make_one_chain(url):
    added_at_once(url)


@needs_serve
def test_everyone_may_read_it(tmp_path):
    async def work(client):
        whole = (await client.get("/v1/log")).json
        rest = (await client.get("/v1/log?from=2")).json
        wrong = [(await client.get(f"/v1/log?from={given}")).status for given in ("0", "x", "-1")]
        await client.ask("POST", f"/v1/surveys/{SHY.id}/close", admin=True)
        answers = [(await client.get(f"/v1/surveys/{one.id}")).json for one in (SURVEY, SHY)]
        return whole, rest, wrong, answers, (await client.get("/v1/log")).json

    whole, rest, wrong, answers, last = served(work, tmp_path / "store.db", SURVEY, SHY)
    heads = fw.verify_log(whole["entries"], whole["head"])
    assert (whole["number"], rest["entries"]) == (2, whole["entries"][1:])
    assert wrong == [422] * 3
    for number, answer in enumerate(answers, 1):
        assert answer["log"] == {"number": number, "head": heads[number - 1]}
        assert whole["entries"][number - 1]["devices"] == devices_hash(answer["survey"])
    assert last["entries"][2]["what"] == "closed"
    assert fw.verify_log(last["entries"], last["head"])[:2] == heads


@needs_serve
def test_the_page_finds_the_survey_in_the_answer_whatever_questions_are_called(tmp_path):
    asked = fw.Questionnaire({"survey": SHY, "log": SURVEY})
    script = MODULE / "collector.js"
    mark = re.search(r"const SURVEY = '(.*)';", script.read_text(encoding="utf-8"))[1]

    async def work(client):
        return (await client.get(f"/v1/surveys/{client.survey}")).body.decode()

    text = served(work, tmp_path / "store.db", asked)
    own = text[text.index(mark) + len(mark) - 1 : text.rindex("}")]
    assert json.loads(own) == asked.for_devices()


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """All that a collector answers of its surveys, by address."""

    async def work(client):
        await client.ask("POST", f"/v1/surveys/{SHY.id}/close", admin=True)
        paths = ["/v1/surveys", "/v1/log?from=1", *(f"/v1/surveys/{one.id}" for one in MENU)]
        return {path: (await client.get(path)).json for path in paths}

    return served(work, tmp_path_factory.mktemp("log") / "store.db", *MENU)


MENU = (SURVEY, SHY)


@contextmanager
def answering(answers):
    """A server on the loopback that answers so, and its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = answers.get(self.path)
            self.send_response(200 if content is not None else 404)
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    own = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=own.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{own.server_port}"
    finally:
        own.shutdown()
        own.server_close()


@needs_serve
def test_a_collector_is_verified_and_what_it_rewrites_is_found(honest, tmp_path):
    seen, file = tmp_path / "seen.json", tmp_path / "survey.json"
    SURVEY.save(file)
    answers = copy.deepcopy(honest)
    entries, head = (answers["/v1/log?from=1"][name] for name in ("entries", "head"))
    with answering(answers) as at:
        # The first time, an hour later, and with a page's address.
        given = ("--seen", seen, "--survey", file, "--head", entries[1]["previous"])
        for address in (at, f"{at}/", f"{at}/surveys/{SURVEY.id}"):
            found = run_json("verify", address, *given)
            assert (found["holds"], found["faults"]) == (True, [])
        assert found["log"] == {"number": 3, "head": head}
        assert found["notes"] == ["the head that was given is that of entry 1."]
        assert json.loads(seen.read_text()) == {"collector": at, "number": 3, "head": head}
        assert "verified: whoever sees the same head" in run("verify", at).stdout
        answers[f"/v1/surveys/{SHY.id}"]["closed"] = None
        assert run_json("verify", at)["notes"] == [
            f"{SHY.id} is closed by the log, and was served as open. Ask again."
        ]
        # A log that was shortened, or written anew.
        for entry in (entries[:2], [{**entries[0], "day": "2020-01-01"}]):
            heads = fw.verify_log(entry)
            last = {"entries": entry, "number": len(entry), "head": heads[-1]}
            answers["/v1/log?from=1"] = last
            told = run("verify", at, "--seen", seen, code=1).stdout
            assert "does not go on from what was seen before, 3 entries" in told
            assert json.loads(seen.read_text())["number"] == 3
        # What is said elsewhere.
        answers["/v1/log?from=1"] = honest["/v1/log?from=1"]
        assert "is none of this log" in run("verify", at, "--head", "1" * 64, code=1).stdout
        MANY[0].save(file)
        assert MANY[0].id in run("verify", at, "--survey", file, code=1).stdout


def _survey(change):
    def changed(answers):
        change(answers[f"/v1/surveys/{SURVEY.id}"])

    return changed


def _other(answer):
    answer["survey"] = MANY[7].for_devices()


FORGED = {
    "another survey": (_survey(_other), f"another survey is served, {MANY[7].id}"),
    "no survey": (_survey(lambda one: one["survey"].pop("alphabet")), "no device takes it"),
    "another entry": (_survey(lambda one: one["log"].update(number=2)), "has no such entry"),
    "no entry": (_survey(lambda one: one.update(log={})), "has no such entry"),
    "a closing that nobody wrote": (
        _survey(lambda one: one.update(closed="2026-01-01")),
        "the log does not say so",
    ),
    "a day that was changed": (
        lambda answers: answers["/v1/log?from=1"]["entries"][0].update(day="2020-01-01"),
        "follows another than entry 1",
    ),
    "another head": (lambda answers: answers["/v1/log?from=1"].update(head="1"), "ends with"),
}
NO_COLLECTOR = {
    "a page": (b"<html>", "what is no JSON"),
    "twice": (b'{"surveys": [], "surveys": []}', "named twice"),
    "a list": (b"[]", "without its 'surveys'"),
    "no ids": (b'{"surveys": [{}]}', "surveys without an id"),
    "nothing": (None, "the status 404"),
}


@needs_serve
def test_what_does_not_fit_together_is_told_with_its_reason(honest, tmp_path):
    for name, (change, words) in FORGED.items():
        answers = copy.deepcopy(honest)
        change(answers)
        with answering(answers) as at:
            found = run_json("verify", at, "--seen", tmp_path / "seen.json", code=1)
        faults = [*found["faults"], *(one["fault"] or "" for one in found["surveys"])]
        assert any(words in fault for fault in faults), (name, faults)
        assert not (tmp_path / "seen.json").exists()


def test_what_is_no_collector_is_an_error(tmp_path):
    for content, words in NO_COLLECTOR.values():
        with answering({"/v1/surveys": content} if content else {}) as at:
            assert words in refused("verify", at)
    assert "cannot be read: connection refused" in refused("verify", at)
    for address in ("file:///etc/passwd", "example.org", "http://", "http://[::1", ""):
        assert "expected the address of a collector" in refused("verify", address)
    wrong = tmp_path / "seen.json"
    wrong.write_text('{"collector": "http://elsewhere", "number": 1, "head": "x"}')
    assert "is about 'http://elsewhere'" in refused("verify", at, "--seen", wrong)
    wrong.write_text("{}")
    assert "does not say where a log was seen to end" in refused("verify", at, "--seen", wrong)
