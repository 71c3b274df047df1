"""Answers to several questions at the collector: checked part by part, stored as one record."""

import json
import random
import re

import numpy as np
import pytest

import freewill as fw
from freewill.io.decoding import SentReader, longest_report
from freewill.stats.marginals import unfolded
from hostile_bodies import damaged, mutated
from question_cases import PAIR, TRAVEL
from service_cases import needs_serve, new_id, served

pytestmark = needs_serve
RECORD = {"age": 41, "commute": "bus"}


def row(age="careful", commute="open", record=RECORD):
    return fw.Device(PAIR).row(record, {"age": age, "commute": commute})


def with_report(given, **reports):
    """The row with reports in place of values, as files have them."""
    values = {name: f"value:{text}" for name, text in given["value"].items()}
    return {
        "mechanism": given["mechanism"],
        "report": {**values, **reports},
        "report_id": given["report_id"],
    }


def evidence_of(rows):
    """What rows amount to, by the library's own mechanisms."""
    asked = PAIR.asked
    parts = []
    for given in rows:
        each = asked.at(given["mechanism"])
        values = {
            name: int(text) if name == "age" and text.isdigit() and len(text) < 4 else text
            for name, text in given["value"].items()
        }
        parts.append(asked.joined(given["mechanism"], each.received([values])))
    return fw.collect([(asked, np.concatenate(parts))])


def test_what_devices_send_is_stored_as_one_record_each(tmp_path):
    ways = [("careful", "open"), ("bits", "sets"), ("no answer", "careful"), ("open", "no answer")]
    rows = [row(*ways[n % 4]) for n in range(80)]

    async def work(client):
        assert (await client.post(rows[0])).json == {"stored": 1, "known": 0}
        lines = "\n".join(map(json.dumps, rows[1:40])).encode()
        answer = await client.post(lines, kind="application/x-ndjson")
        assert answer.json == {"stored": 39, "known": 0}
        reports = [with_report(one) for one in rows[30:]]
        assert (await client.post(reports)).json == {"stored": 40, "known": 10}
        stored = client.made.store.evidence(client.survey)
        assert unfolded(stored) == unfolded(evidence_of(rows))
        assert stored.marginal("age").people == 60
        changed = {**rows[0], "value": {**rows[0]["value"], "commute": "car"}}
        if changed != rows[0]:
            assert (await client.post(changed)).json == {"stored": 0, "known": 1}

    served(work, tmp_path / "store.db", PAIR)


def broken(work):
    given = row()
    work(given)
    return given


WRONG = {
    "an unknown choice": (
        lambda one: one["mechanism"].update(age="relaxed"),
        "age: unknown mechanism 'relaxed': expected one of",
    ),
    "another question's": (
        lambda one: one["mechanism"].update(commute="bits"),
        "commute: unknown mechanism 'bits'",
    ),
    "another question's report": (
        lambda one: one["value"].update(commute="41"),
        "commute: .*report 'value:41' of 'open'",
    ),
    "out of range": (lambda one: one["value"].update(age="100"), "age: .*report 'value:100'"),
    "no question": (
        lambda one: one["value"].update(agee="7"),
        "report of 'agee': no such question, expected age, commute. Did you mean 'age'",
    ),
    "a question left out": (
        lambda one: one["value"].pop("age"),
        "report of 'age' is missing: expected one, and silence",
    ),
    "a choice left out": (lambda one: one["mechanism"].pop("age"), "mechanism of 'age' is missing"),
    "silence that speaks": (lambda one: one["mechanism"].update(age="no answer"), "age: "),
    "no id": (lambda one: one.update(report_id="12"), "report_id '12': expected 128 random bits"),
    "a single name": (lambda one: one.update(mechanism="careful"), "not a report: Expected `obje"),
    "a list": (lambda one: one.update(value=["41", "bus"]), "not a report: Expected `object`"),
    "a number": (lambda one: one["value"].update(age=41), "not a report: Expected `str`"),
    "both": (lambda one: one.update(report=one["value"]), "both `report` and `value`"),
    "more": (lambda one: one.update(note="x"), "unknown field `note`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_names_its_question_and_nothing_is_stored(tmp_path, name):
    change, words = WRONG[name]

    async def work(client):
        alone = await client.post(broken(change))
        assert alone.status == 422
        many = await client.post([row(), broken(change), row()])
        assert many.status == 422
        assert client.made.store.evidence(client.survey).people == 0
        return alone.json["error"]

    error = served(work, tmp_path / "store.db", PAIR)
    assert re.search(words, error), error


def test_a_name_that_stands_twice_is_refused(tmp_path):
    text = json.dumps(row())
    twice = text.replace('"age": ', '"age": "bits", "age": ', 1)

    async def work(client):
        answer = await client.post(twice.encode())
        assert (answer.status, "named twice" in answer.json["error"]) == (400, True)
        assert client.made.store.evidence(client.survey).people == 0

    served(work, tmp_path / "store.db", PAIR)


def test_questions_may_have_any_name(tmp_path):
    votes = fw.Categorical(["yes", "no"])
    own = fw.Survey(votes, {"k": fw.KRR(votes, 1.0), "report_id": fw.KRR(votes, 2.0)})
    names = ["mechanism", "report", '"', "é, a", "1"]
    odd = fw.Questionnaire(dict.fromkeys(names, own))

    async def work(client):
        rows = [fw.Device(odd).row(dict.fromkeys(names, "yes"), "report_id") for _ in range(9)]
        assert (await client.post(rows)).json["stored"] == 9
        assert client.made.store.evidence(client.survey).people == 9

    served(work, tmp_path / "store.db", odd)


def is_right(body, kind):
    """Say whether bytes are answers to both questions, by parsing them and the library's reader."""
    try:
        lines = body.decode().split("\n") if kind.endswith("ndjson") else [body.decode()]
        parsed = [json.loads(line) for line in lines if line.strip(" \t\r\v\f")]
    except (ValueError, RecursionError):
        return False
    if not kind.endswith("ndjson") and parsed and isinstance(parsed[0], list):
        parsed = parsed[0]
    return bool(parsed) and all(map(_is_row, parsed))


def _is_row(one):
    if not isinstance(one, dict) or {*one} not in (
        {"mechanism", "value", "report_id"},
        {"mechanism", "report", "report_id"},
    ):
        return False
    said = one.get("value", one.get("report"))
    parts = [one["mechanism"], said]
    if not all(isinstance(part, dict) and {*part} == {*RECORD} for part in parts):
        return False
    digits = one["report_id"]
    if (
        not isinstance(digits, str)
        or len(digits) != 32
        or {*digits.lower()} - {*"0123456789abcdef"}
    ):
        return False
    return all(_is_answer(name, one, said[name]) for name in RECORD)


def _is_answer(name, one, said):
    choice = one["mechanism"][name]
    if "value" in one:
        said = f"value:{said}" if isinstance(said, str) else None
    if not isinstance(choice, str) or choice not in PAIR.questions[name].names:
        return False
    if isinstance(said, bool) or not isinstance(said, int | str):
        return False
    own = PAIR.questions[name]
    return not SentReader(own.find(choice), longest_report(own)).read([said])[2]


ANSWERS = ["careful", "open", "41", "bus", "nothing", 3, 100, None, True, [], "0" * 26]


@pytest.mark.slow
def test_hostile_rows_are_never_stored(tmp_path):
    draw = random.Random(11)
    ways = [("careful", "open"), ("bits", "sets"), ("no answer", "careful"), ("open", "no answer")]
    rows = [row(*draw.choice(ways)) for _ in range(100)]
    rows += [with_report(one, age=7) for one in rows if one["mechanism"]["age"] == "careful"]

    async def work(client):
        stored, right, wrong = 0, 0, 0
        for number in range(1500):
            valid = {**json.loads(json.dumps(draw.choice(rows))), "report_id": new_id()}
            if draw.random() < 0.6:
                body, kind = mutated(draw, valid)
            else:
                field = draw.choice(["mechanism", "report", "value"])
                if isinstance(valid.get(field), dict):
                    (part,) = [valid[field]]
                    part[draw.choice(["age", "commute", "x"])] = draw.choice(
                        [
                            "careful",
                            "open",
                            "41",
                            "bus",
                            "nothing",
                            3,
                            100,
                            None,
                            True,
                            [],
                            "0" * 26,
                        ]
                    )
                body, kind = json.dumps([valid]).encode(), "application/json"
                body = damaged(draw, bytearray(body)) if draw.random() < 0.3 else body
            answer = await client.post(body, kind=kind)
            fine = is_right(body, kind)
            assert answer.status in ((200,) if fine else (400, 422)), (number, kind, body)
            stored += answer.json["stored"] if answer.status == 200 else 0
            right, wrong = right + fine, wrong + (not fine)
        assert min(right, wrong) > 100
        evidence = client.made.store.evidence(client.survey)
        assert evidence.people == stored
        assert sum(group.people for group in unfolded(evidence).groups) == stored

    served(work, tmp_path / "store.db", PAIR)


def test_the_interface_describes_both_kinds_of_rows(tmp_path):
    async def work(client):
        return (await client.get("/v1/openapi.json")).json, (
            await client.get(f"/v1/surveys/{client.survey}")
        ).json

    described, survey = served(work, tmp_path / "store.db", TRAVEL)
    path = described["paths"]["/v1/surveys/{survey}/reports"]["post"]["requestBody"]["content"]
    assert len(path["application/json"]["schema"]["anyOf"]) == 2
    assert {"Sent", "SentAnswers"} <= {*described["components"]["schemas"]}
    assert [*survey["explained"]] == ["age", "commute", "home"]
    assert survey["survey"]["freewill survey"] == 3
