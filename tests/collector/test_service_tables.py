"""Estimates of several questions at the collector: of one, of two and their table, refusals."""

import asyncio
import csv
import io

import numpy as np
import pytest

import freewill as fw
from freewill.collector.questions import Subject, lines_of, subject_of
from freewill.stats.marginals import unfolded
from question_cases import AGE, COMMUTE, MODES, PAIR, TRAVEL, answers
from service_cases import SURVEY, needs_serve, served

pytestmark = needs_serve


async def asked(client, what):
    return await client.get(f"/v1/surveys/{client.survey}/{what}", admin=True)


async def followed(client, what):
    """Wait for the intervals of a table, which follow it."""
    while (told := (await asked(client, what)).json)["uncertainty"]["pending"]:
        await asyncio.sleep(0.05)
    return told


@pytest.mark.later
def test_a_distribution_a_question_and_a_table_of_two(tmp_path):
    rows, records = answers(PAIR, 4000, np.random.default_rng(1))

    async def work(client):
        assert (await client.post(rows)).json["stored"] == 4000
        evidence = unfolded(client.made.store.evidence(client.survey))
        for name in PAIR.questions:
            told = (await asked(client, f"estimate?of={name}")).json
            own = fw.fit(evidence.marginal(name))
            assert (told["of"], told["people"]) == ([name], own.evidence.people)
            assert np.allclose(told["theta"], own.estimate.theta, atol=1e-4)
            assert told["checks"]["laws"]["holds"] is True
            assert {*told["mechanisms"]} == {*PAIR.questions[name].mechanisms} - {"no answer"}
        told = await followed(client, "estimate?of=commute,age")
        assert told["of"] == told["table"]["questions"] == ["age", "commute"]
        shares = np.array(told["table"]["shares"])
        assert shares.shape == (10, 4)
        assert shares.sum() == pytest.approx(1)
        # Half of all records are told of by nobody's silence: the truth is in most intervals.
        truth = np.bincount(records // 40 * 4 + records % 4, minlength=40) / records.size
        low, high = (np.array(told["intervals"][end]) for end in ("low", "high"))
        assert np.mean((low <= truth) & (truth <= high)) > 0.8
        text = (await asked(client, "table?of=age,commute")).body.decode()
        lines = list(csv.DictReader(io.StringIO(text)))
        assert (lines[0]["age"], lines[0]["commute"], len(lines)) == ("0..9", "car", 40)
        assert float(lines[5]["low"]) == pytest.approx(low[5])
        people = (await asked(client, "people")).json
        chosen = [row["mechanism"]["age"] for row in rows]
        assert people["questions"]["age"] == {name: chosen.count(name) for name in AGE.mechanisms}
        assert people["people"] == 4000

    served(work, tmp_path / "store.db", PAIR)


@pytest.mark.parametrize(
    ("what", "status", "words"),
    [
        ("estimate", 422, "which question?"),
        ("estimate?of=agee", 422, "no question 'agee'"),
        ("estimate?of=age,age", 422, "2 questions at once"),
        ("estimate?of=age&of=commute&of=home", 422, "3 questions at once"),
        ("estimate?off=age", 422, "'off' is none of what may be asked"),
        ("table", 422, "which question?"),
        ("plan?target=0.1", 409, "plans of several questions are not made here yet"),
    ],
)
def test_refusals_say_what_to_do(tmp_path, what, status, words):
    async def work(client):
        answer = await asked(client, what)
        assert (answer.status, words in answer.json["error"]) == (status, True), answer.body
        assert answer.json["what to do"]

    served(work, tmp_path / "store.db", TRAVEL)


def test_too_few_answers_and_too_many_cells_are_refused(tmp_path):
    vast = fw.Linear(0, 1999)
    far = fw.Survey(vast, {"k": fw.KRR(vast, 5.0), "no answer": fw.Silent(vast)})
    both = fw.Questionnaire({"age": AGE, "far": far, "commute": COMMUTE})
    ways = [("careful", "no answer", "open")]
    rows, _ = answers(both, 300, np.random.default_rng(2), ways)

    async def work(client):
        await client.post(rows)
        silent = await asked(client, "estimate?of=far")
        assert (silent.status, "nobody answered far" in silent.json["error"]) == (409, True)
        wide = await asked(client, "estimate?of=far,commute")
        assert (wide.status, "8,000 combinations" in wide.json["error"]) == (409, True)
        assert (await asked(client, "estimate?of=age,commute")).status == 200
        few, _ = answers(both, 5, np.random.default_rng(3), [("no answer", "k", "no answer")])
        await client.post(few)
        told = await asked(client, "estimate?of=far")
        assert (told.status, "5 people answered" in told.json["error"]) == (409, True)

    served(work, tmp_path / "store.db", both)


def test_a_survey_of_one_question_takes_no_question(tmp_path):
    async def work(client):
        answer = await asked(client, "estimate?of=age")
        assert answer.status == 422
        assert "is none of what may be asked" in answer.json["error"]

    served(work, tmp_path / "store.db", SURVEY)


@pytest.mark.later
def test_answers_are_what_the_interface_says(tmp_path):
    validator_for = pytest.importorskip("jsonschema_rs").validator_for
    rows, _ = answers(PAIR, 400, np.random.default_rng(6))

    async def work(client):
        await client.post(rows)
        described = (await client.get("/v1/openapi.json")).json
        parts = {"components": described["components"]}
        for what, name in (
            ("/estimate?of=age", "estimate"),
            ("/estimate?of=age,commute", "estimate"),
            ("/people", "People"),
            ("", "Survey"),
        ):
            answer = await client.get(f"/v1/surveys/{client.survey}{what}", admin=True)
            check = validator_for({"$ref": f"#/components/schemas/{name}", **parts})
            assert [str(error)[:300] for error in check.iter_errors(answer.json)] == []
        path = described["paths"]["/v1/surveys/{survey}/reports"]["post"]["requestBody"]
        check = validator_for({**path["content"]["application/json"]["schema"], **parts})
        assert [check.is_valid(one) for one in (rows[0], rows, [])] == [True, True, False]
        assert not check.is_valid({**rows[0], "value": 3})

    served(work, tmp_path / "store.db", PAIR)


def test_names_may_have_commas():
    own = fw.Survey(MODES, {"k": fw.KRR(MODES, 1.0)})
    odd = fw.Questionnaire({"a,b": own, "a": own, "b": own})
    assert subject_of("id", odd, [("of", "a,b")]) == Subject("id", ("a,b",))
    assert subject_of("id", odd, [("of", "b"), ("of", "a,b")]) == Subject("id", ("a,b", "b"))


def test_tables_have_few_lines():
    sizes = [lines_of(fw.Linear(0, last)).count for last in (1, 11, 12, 99, 9999)]
    assert sizes == [2, 12, 7, 10, 10]
    assert lines_of(fw.Grid(24, 16, cell=0.5)).count == 12
    assert lines_of(fw.Categorical([str(n) for n in range(30)])).count == 30
