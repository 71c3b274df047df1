"""The interface: what is taken, what is refused and how, and what everyone may see."""

import asyncio
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import freewill as fw
from freewill.domain.outputs import Reason
from freewill.io.decoding import SentReader, longest_report, unmarked
from service_cases import ID, MENU, SHY, SURVEY, needs_serve, sent, served, stored

pytestmark = needs_serve


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def test_a_report_is_stored_once_however_often_and_in_whatever_form_it_comes(path):
    async def work(client):
        one = sent("relaxed", 41)
        assert (await client.post(one)).json == {"stored": 1, "known": 0}
        assert (await client.post(one)).json == {"stored": 0, "known": 1}
        spelt = [
            {**one, "report": "41"},
            {**one, "report": "value:41"},
            {**one, "report": "41.0"},
            {**one, "mechanism": SURVEY.mechanisms["relaxed"].id},
            {**one, "report_id": one["report_id"].upper()},
        ]
        for other in spelt:
            assert (await client.post(other)).json == {"stored": 0, "known": 1}
        assert (await client.post([one, one, *spelt])).json == {"stored": 0, "known": 7}
        lines = "\n".join(json.dumps(other) for other in [one, sent("careful", 3)]).encode()
        answer = await client.post(lines, kind="application/x-ndjson")
        assert answer.json == {"stored": 1, "known": 1}
        new = sent("bits", "00" * 12 + "0F")
        assert (await client.post([new, {**new, "report": "00" * 12 + "0f"}])).json == {
            "stored": 1,
            "known": 1,
        }
        assert stored(client) == 3

    served(work, path)


def test_an_id_that_came_is_known_whatever_comes_with_it(path):
    """No probe tells which report came with an id: the answers to all of them are the same."""

    async def work(client):
        one = sent("relaxed", 41)
        await client.post(one)
        probes = [
            {**one, "mechanism": m, "report": r} for m in ("relaxed", "careful") for r in range(100)
        ]
        told = [await client.post(probe) for probe in probes]
        assert {answer.status for answer in told} == {200}
        assert {answer.body for answer in told} == {b'{"stored":0,"known":1}'}
        assert (await client.post([sent("careful", 7), probes[0]])).json == {
            "stored": 1,
            "known": 1,
        }
        await client.ask("POST", f"/v1/surveys/{client.survey}/close", admin=True)
        told = [await client.post(probe) for probe in probes]
        assert {answer.body for answer in told} == {b'{"stored":0,"known":1}'}
        assert stored(client) == 2

    served(work, path)


def test_two_reports_with_one_id_in_one_upload_are_refused_with_all_that_came_with_them(path):
    async def work(client):
        new, twice = sent("careful", 7), sent("relaxed", 1)
        both = [new, twice, {**twice, "report": 2}]
        for _ in range(2):  # whether or not the id is known tells nothing more
            answer = await client.post(both)
            assert answer.status == 422
            assert answer.json["faults"] == [
                {"at": 2, "error": "another report in this upload has its report_id"}
            ]
            await client.post(twice)
        assert stored(client) == 1
        assert (await client.post([new, twice])).json == {"stored": 1, "known": 1}

    served(work, path)


LABELS = fw.Categorical(["0", "1", "value:0", "07", ""])
PLACES = fw.Grid(4, 3, bounds=(37.7, 37.8, -122.5, -122.4))
OTHERS = [
    SURVEY,
    SHY,
    fw.Survey(LABELS, {"k": fw.KRR(LABELS, 1.0), "bits": fw.RAPPOR(LABELS, 1.0)}),
    fw.Survey(fw.Linear(1900, 2000, step=10), {"k": fw.KRR(fw.Linear(1900, 2000, step=10), 1.0)}),
    fw.Survey(PLACES, {"p": fw.PlanarGeometric(PLACES, 1.0), "bits": fw.RAPPOR(PLACES, 3.0)}),
    fw.Survey(MENU, {"two signs": fw.Matrix(MENU, [[1, 0], [0.5, 0.5], [0, 1]])}),
]


@pytest.mark.parametrize("survey", OTHERS, ids=str)
def test_the_row_of_a_device_is_taken_as_it_is(path, survey):
    rows = [
        fw.Device(survey).row(value, choice)
        for choice in survey.mechanisms
        for value in survey.alphabet.decode(np.arange(min(survey.alphabet.size, 5))).tolist()
    ]
    spaces = {name: m.output_space for name, m in survey.mechanisms.items()}
    expected = fw.collect(
        [
            (survey.mechanisms[name], decoded_values(spaces[name], of(rows, name)))
            for name in survey.mechanisms
        ]
    )

    async def work(client):
        first, *rest = ({**row} for row in rows)
        assert (await client.post(first)).json == {"stored": 1, "known": 0}
        lines = "\n".join(map(json.dumps, [first, *rest])).encode()
        told = (await client.post(lines, kind="application/x-ndjson")).json
        assert told == {"stored": len(rest), "known": 1}
        # Beside reports, and as reports themselves: the same.
        marked = [
            {
                "mechanism": r["mechanism"],
                "report": f"value:{r['value']}",
                "report_id": r["report_id"],
            }
            for r in rows
        ]
        assert (await client.post([*rest, *marked, first])).json["known"] == 2 * len(rows)
        assert client.made.store.evidence(client.survey) == expected

    served(work, path, survey)


def of(rows, name):
    return [row["value"] for row in rows if row["mechanism"] == name]


def decoded_values(space, texts):
    found = space.decode(unmarked(space, pa.array([f"value:{text}" for text in texts])))
    assert not found.bad
    return found.outputs


def row(mechanism, value, **more):
    return {"mechanism": mechanism, "value": value, "report_id": "0" * 32, **more}


WRONG = [
    (row("relaxed", "100"), Reason.NO_VALUE),
    (row("relaxed", "value:7"), Reason.NO_VALUE),
    (row("relaxed", ""), Reason.NO_VALUE),
    (row("bits", "value:" + "00" * 13), Reason.WRONG_LENGTH),
    (row("bits", "00" * 12), Reason.WRONG_LENGTH),
    (row("relaxed", 7), "value"),
    (row("relaxed", None), "value"),
    (row("relaxed", "7", report=7), "both `report` and `value`"),
    ({"mechanism": "relaxed", "report_id": "0" * 32}, "neither `report` nor `value`"),
    (sent("relaxed", 100), Reason.OUT_OF_RANGE),
    (sent("relaxed", -1), Reason.OUT_OF_RANGE),
    (sent("relaxed", 2**63), Reason.OUT_OF_RANGE),
    (sent("relaxed", -(2**70)), Reason.OUT_OF_RANGE),
    (sent("relaxed", "041"), Reason.NO_SYMBOL),
    (sent("relaxed", "value:100"), Reason.NO_VALUE),
    (sent("relaxed", "x" * 5000), Reason.NO_SYMBOL),
    (sent("relaxed", "ü" * 60), Reason.NO_SYMBOL),
    (sent("relaxed", ""), Reason.NO_SYMBOL),
    (sent("bits", 7), Reason.NO_BITS),
    (sent("bits", "zz" * 13), Reason.NO_BITS),
    (sent("bits", "0 " * 13), Reason.NO_BITS),
    (sent("bits", "00" * 12), Reason.WRONG_LENGTH),
    (sent("bits", "f" * 4000), Reason.NO_BITS),
    (sent("bits", "ff" * 13), Reason.STRAY_BITS),
    (sent("nobody", 7), Reason.UNKNOWN_MECHANISM),
    (sent("", 7), Reason.UNKNOWN_MECHANISM),
    (sent("relaxed", 7, "0" * 31), "report_id"),
    (sent("relaxed", 7, "0" * 31 + "g"), "report_id"),
    (sent("relaxed", 7, " " * 32), "report_id"),
    (sent("relaxed", 7, "0 " * 16), "report_id"),
    (sent("relaxed", 7, "\u0660" * 32), "report_id"),
    ({"mechanism": "relaxed", "report": 7}, "missing required field `report_id`"),
    ({**sent("relaxed", 7), "time": 7}, "unknown field"),
    ({**sent("relaxed", 7), "report": 7.0}, "float"),
    ({**sent("relaxed", 7), "report": None}, "null"),
    ({**sent("relaxed", 7), "report": True}, "bool"),
    ({**sent("relaxed", 7), "report": [7]}, "array"),
    ([], "without reports"),
    ([[sent("relaxed", 7)]], "array"),
    (7, "int"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "told"), WRONG)
def test_what_is_no_report_is_refused_by_its_reason_and_nothing_is_stored(path, wrong, told):
    async def work(client):
        answers = [await client.post(wrong)]
        if isinstance(wrong, dict):
            answers.append(await client.post([sent("relaxed", 1), wrong, sent("careful", 2)]))
        for answer in answers:
            assert answer.status == 422
            assert set(answer.json) <= {"error", "what to do", "faults"}
            assert told in answer.json["error"]
        assert stored(client) == 0

    served(work, path)


def test_bodies_that_are_no_json(path):
    async def work(client):
        bodies = [b"", b"{", b"\xff", b"nan", b"[" * 100_000, b'{"mechanism": "\\ud800"}', b"{}x"]
        bodies.append(b'{"mechanism": "relaxed", "report": 1%s, "report_id": ""}' % (b"0" * 9999))
        for body in bodies:
            for kind in ("application/json", "application/x-ndjson"):
                answer = await client.post(body, kind=kind)
                assert answer.status in (400, 422), body[:9]
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            assert (await client.post(sent("relaxed", 1), kind=kind)).status == 415
        assert (await client.ask("POST", f"/v1/surveys/{ID}/reports", b"{}")).status == 415
        charset = "Application/JSON; charset=utf-8"
        assert (await client.post(sent("relaxed", 1), kind=charset)).status == 200

    served(work, path)


def test_long_bodies_and_batches_are_refused_before_they_are_in_memory(path, monkeypatch):
    async def work(client):
        client.made.uploads.most = 1000
        long, headers = b"x" * 1001, {"content-type": "application/json"}
        address = f"/v1/surveys/{ID}/reports"
        told = await client.ask("POST", address, b"", {**headers, "content-length": "1001"})
        whole = await client.post(long)
        sent_so_far = []

        def endless():
            for _ in range(100):
                sent_so_far.append(1)
                yield b"x" * 300

        pieces = list(endless())
        sent_so_far.clear()
        chunked = await client.ask("POST", address, headers=headers, chunks=pieces)
        assert [one.status for one in (told, whole, chunked)] == [413, 413, 413]
        assert client.made.uploads.held == 0
        good = json.dumps(sent("relaxed", 1)).encode()
        split = await client.ask("POST", address, headers=headers, chunks=[good[:9], good[9:]])
        assert split.json == {"stored": 1, "known": 0}
        client.made.uploads.most = 10**6
        monkeypatch.setattr("freewill.collector.bodies.MOST_REPORTS", 3)
        many = [sent("relaxed", 1) for _ in range(4)]
        assert (await client.post(many)).status == 413
        assert (await client.post(many[:3])).status == 200

    served(work, path)


def test_bodies_wait_in_bounded_memory_and_bounded_time(path, monkeypatch):
    async def work(client):
        client.made.uploads.most_at_once = 500
        address, headers = f"/v1/surveys/{ID}/reports", {"content-type": "application/json"}
        full = await client.ask("POST", address, headers=headers, chunks=[b"[", b" " * 600, b"]"])
        assert full.status == 503
        assert full.headers["retry-after"] == "1"
        monkeypatch.setattr("freewill.collector.intake._SECONDS", 0.05)

        async def slow():
            if not started:
                started.append(1)
                return {"type": "http.request", "body": b"[", "more_body": True}
            return await asyncio.Event().wait()

        started, messages = [], []

        async def send(message):
            messages.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": address,
            "headers": [(b"content-type", b"application/json")],
        }
        await client.app(scope, slow, send)
        assert messages[0]["status"] == 408
        # Who hangs up in the middle of a body gets no answer, and nothing stays behind.
        messages.clear()

        async def gone():
            return {"type": "http.disconnect"}

        await client.app(scope, gone, send)
        assert messages == []
        assert client.made.uploads.held == 0
        assert stored(client) == 0

    served(work, path)


def test_several_surveys_under_one_server_keep_apart(path):
    async def work(client):
        shy = SHY.id
        one = sent("coin", "no")
        assert (await client.post(one, survey=shy)).json == {"stored": 1, "known": 0}
        assert (await client.post({**one, "report": 1}, survey=shy)).json["known"] == 1
        # Of probability 0, whatever the value; and an id is one of its survey.
        never = await client.post(sent("never the last", 2), survey=shy)
        assert never.status == 422
        assert Reason.IMPOSSIBLE in never.json["error"]
        other = await client.post(sent("relaxed", 1, one["report_id"]))
        assert other.json == {"stored": 1, "known": 0}
        for bad in (ID[:-1], "0" * 32, "..", shy.upper()):
            answer = await client.post(one, survey=bad)
            assert answer.status == 404
            assert "/v1/surveys" in answer.json["what to do"]
        listed = (await client.get("/v1/surveys")).json["surveys"]
        assert {told["id"] for told in listed} == {ID, shy}
        got = (await client.get(f"/v1/surveys/{shy}")).json
        assert fw.Survey.from_spec(got["survey"]) == SHY
        assert got["explained"] == fw.explain(SHY).for_devices()
        assert fw.Survey.from_spec(got["survey"]).id == shy
        assert got["closed"] is None
        store = client.made.store
        assert (store.evidence(shy).people, store.evidence(ID).people) == (1, 1)

    served(work, path, SURVEY, SHY)


def test_reports_are_read_as_files_of_reports_are():
    """One rule for both: the library's reader of tables says what the server says."""
    longest = longest_report(SHY)
    texts = ["0", "1", "2", "3", "yes", "no", "won't say", "value:no", "maybe", "", "07", "5.0"]
    for name, mechanism in SHY.mechanisms.items():
        for given in (texts, [0, 1, 2, 3, -1], ["00", "07", "ff", "0", "value:05"]):
            outputs, places, wrong = SentReader(mechanism, longest).read(given)
            rows = pa.table({"mechanism": [name] * len(given), "report": given})
            read = fw.reports.read(rows, SHY)
            assert read.evidence.people == len(outputs) == len(places)
            assert {one.reason: one.count for one in read.invalid} == {
                str(reason): list(wrong.values()).count(reason) for reason in wrong.values()
            }
            assert sorted([*places.tolist(), *wrong]) == list(range(len(given)))
            if read.evidence.people:
                assert fw.collect([(mechanism, outputs)]) == read.evidence


def test_every_answer_has_safe_headers_and_every_refusal_says_what_to_do(path):
    async def work(client):
        asked = [
            await client.get("/v1/surveys"),
            await client.get("/nowhere"),
            await client.get(f"/v1/surveys/{ID}/reports"),
            await client.get(f"/v1/surveys/{ID}/"),
            await client.ask("DELETE", "/v1/surveys"),
            await client.get("/v1/metrics"),
            await client.post(sent("relaxed", 1)),
            await client.post(b"{"),
        ]
        for answer in asked:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe-inline" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cache-control"] == "no-store"
            assert not any(name.startswith("access-control") for name in answer.headers)
            if answer.status != 200:
                assert {"error", "what to do"} <= set(answer.json)
        assert [answer.status for answer in asked] == [200, 404, 405, 404, 405, 401, 200, 400]
        assert asked[2].headers["allow"] == "POST"

    served(work, path)


def test_a_fault_of_our_own_is_told_as_json(path, monkeypatch):
    async def work(client):
        def broken():
            raise ZeroDivisionError("with a secret in it")

        monkeypatch.setattr(client.made.store, "view", broken)
        with pytest.raises(ZeroDivisionError):  # goes on to the log after the answer
            await client.get("/v1/surveys")
        store = client.made.store
        monkeypatch.setattr(store, "write", lambda *_: broken())
        answer = await client.post(sent("relaxed", 1))
        assert answer.status == 500
        assert "secret" not in answer.body.decode()

    served(work, path)


def test_lines_that_are_no_reports_take_no_memory_of_their_own():
    """A list of all lines would take forty times the body."""
    bodies = pytest.importorskip("freewill.collector.bodies")
    refusals = pytest.importorskip("freewill.collector.answers")
    for lines in (b"11\n" * (1 << 20), b"\n" * (1 << 20)):
        tracemalloc.start()
        try:
            with pytest.raises(refusals.RefusedError):
                bodies.decoded(lines, lines=True)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1 << 20
