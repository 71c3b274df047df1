"""Estimates of a store: the library's own, from the last one on, and of no few people."""

import asyncio

import numpy as np
import pytest

import freewill as fw
from freewill.service.surveys import survey_id
from freewill.survey import Survey
from service_cases import LINE, SHY, SURVEY, needs_serve, people, sent, served

pytestmark = needs_serve


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def asked(client, **more):
    return await client.get(f"/v1/surveys/{client.survey}/estimate", **{"admin": True, **more})


def test_the_estimate_is_the_librarys_with_intervals_and_checks(path):
    async def work(client):
        await client.post(people(SURVEY, 1500, np.random.default_rng(0)))
        told = (await asked(client)).json
        evidence = client.made.store.evidence(client.survey)
        expected = fw.gibu(evidence)
        assert told["people"] == 1500
        assert told["status"] == "certified"
        assert told["gap"] <= 0.01 / 1500
        assert np.allclose(told["shares"]["share"], expected.theta, atol=2e-3)
        assert told["shares"]["value"] == list(range(100))
        sure = fw.intervals(evidence)
        for name in ("point", "low", "high", "standard_error"):
            assert np.allclose(told["intervals"][name], sure.columns()[name], atol=2e-3)
        checks = told["checks"]
        assert checks["free choice"]["holds"] == fw.check_choice(evidence).holds
        assert checks["laws"]["holds"] == fw.check_fit(evidence).holds
        assert told["mechanisms"] == dict.fromkeys(SURVEY.mechanisms, 500)
        assert fw.alphabet_from_spec(told["alphabet"]) == LINE

    served(work, path)


def test_each_estimate_starts_from_the_last_one_and_is_made_once(path, monkeypatch):
    starts = []

    def watched(evidence, start=None):
        starts.append(start)
        return fw.gibu(evidence, start=start)

    monkeypatch.setattr("freewill.service.estimates.gibu", watched)

    async def work(client):
        rng = np.random.default_rng(1)
        await client.post(people(SURVEY, 900, rng))
        same = await asyncio.gather(*(asked(client) for _ in range(5)))
        assert len({answer.body for answer in same}) == 1
        assert (await asked(client)).body == same[0].body
        assert starts == [None]
        await client.post(people(SURVEY, 90, rng))
        later = (await asked(client)).json
        assert later["people"] == 990
        assert np.allclose(starts[1].theta, same[0].json["shares"]["share"])
        assert starts[1].evidence is None  # reports are not kept in memory between estimates
        assert len(starts) == 2

    served(work, path)


def test_no_estimate_of_few_people(path):
    async def work(client):
        rows = people(SURVEY, 120, np.random.default_rng(2))
        await client.post(rows[:99])
        for more in ([], rows[:50]):  # sent again, they are no more people
            if more:
                await client.post(more)
            answer = await asked(client)
            assert answer.status == 409
            assert "100" in answer.json["error"]
            assert "99 people" in answer.json["error"]
        await client.post(rows[99:100])
        assert (await asked(client)).status == 200

    served(work, path)


def test_an_open_estimate_is_for_everyone(path):
    async def work(client):
        await client.post(people(SURVEY, 30, np.random.default_rng(3)))
        assert (await asked(client, admin=False)).status == 200
        address = f"/v1/surveys/{client.survey}/people"
        assert (await client.get(address)).json["people"] == 30
        assert (await client.get(f"/v1/surveys/{client.survey}/evidence")).status == 401

    served(work, path, min_people=20, public=True)


def test_what_cannot_be_tested_says_why(path):
    alone = Survey(SHY.alphabet, {"coin": SHY.mechanisms["coin"]})

    async def work(client):
        await client.post([sent("coin", place % 3) for place in range(120)])
        told = (await asked(client)).json
        assert told["checks"]["free choice"]["holds"] is None
        assert "no choice" in told["checks"]["free choice"]["verdict"]
        assert told["shares"]["value"] == list(SHY.alphabet.labels)

    served(work, path, alone)


def test_a_large_alphabet_has_an_estimate_alone(path):
    wide = fw.Linear(0, 1999)
    survey = Survey(wide, {"k": fw.KRR(wide, 8.0)})

    async def work(client):
        await client.post([sent("k", place) for place in range(300)])
        told = (await asked(client)).json
        assert told["intervals"] is None
        assert {one["holds"] for one in told["checks"].values()} == {None}
        assert len(told["shares"]["share"]) == 2000

    served(work, path, survey)
    assert survey_id(survey)
