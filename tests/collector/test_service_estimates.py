"""Estimates of a store: the library's own, from the last one on, and of no few people."""

import asyncio
import functools
import threading
import time

import numpy as np
import pytest

import freewill as fw
from freewill.collector import estimates
from freewill.collector.estimates import WAITING
from freewill.domain.survey import Survey
from service_cases import LINE, PATIENCE, SHY, SURVEY, needs_serve, people, sent, served

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
        assert np.allclose(told["theta"], expected.theta, atol=2e-3)
        assert told["values"] == list(range(100))
        sure = fw.intervals(evidence)
        for name in ("point", "low", "high", "standard_error"):
            assert np.allclose(told["intervals"][name], sure.columns()[name], atol=2e-3)
        band = fw.intervals(evidence, joint=True)
        assert np.allclose(told["band"]["low"], band.low, atol=4e-3)
        assert told["band"]["critical"] > 1.96
        assert told["uncertainty"]["people"] == 1500
        checks = told["checks"]
        assert checks["free_choice"]["holds"] == fw.check_choice(evidence).holds
        assert checks["laws"]["holds"] == fw.check_fit(evidence).holds
        assert told["mechanisms"] == dict.fromkeys(SURVEY.mechanisms, 500)
        assert fw.alphabet_from_spec(told["alphabet"]) == LINE

    served(work, path)


def test_each_estimate_starts_from_the_last_one_and_is_made_once(path, monkeypatch):
    starts = []

    def watched(evidence, start=None):
        starts.append(start)
        return fw.fit(evidence, start=start)

    monkeypatch.setattr("freewill.collector.estimates.fit", watched)

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
        assert np.allclose(starts[1].theta, same[0].json["theta"])
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
        await client.post(people(SURVEY, 105, np.random.default_rng(3)))
        assert (await asked(client, admin=False)).status == 409
        client.made.releases.tick()
        assert (await asked(client, admin=False)).status == 200
        address = f"/v1/surveys/{client.survey}/people"
        assert (await client.get(address)).json["people"] == 100
        assert (await client.get(f"/v1/surveys/{client.survey}/evidence")).status == 401

    served(work, path, min_people=20, public=True)


def test_what_cannot_be_tested_says_why(path):
    alone = Survey(SHY.alphabet, {"coin": SHY.mechanisms["coin"]})

    async def work(client):
        await client.post([sent("coin", place % 3) for place in range(120)])
        told = (await asked(client)).json
        assert told["checks"]["free_choice"]["holds"] is None
        assert "no choice" in told["checks"]["free_choice"]["verdict"]
        assert told["values"] == list(SHY.alphabet.labels)

    served(work, path, alone)


WIDE = fw.Linear(0, 399)
MANY = Survey(WIDE, {"k": fw.KRR(WIDE, 6.0), "near": fw.Geometric(WIDE, 0.3)})


async def followed(client):
    """Return the estimate once what follows it is there."""
    async with asyncio.timeout(PATIENCE):
        while (told := (await asked(client)).json)["uncertainty"]["pending"]:
            await asyncio.sleep(0.02)
    return told


@pytest.mark.slow
def test_of_many_values_intervals_and_checks_follow_the_estimate(path):
    async def work(client):
        await client.post(people(MANY, 900, np.random.default_rng(4)))
        first = (await asked(client)).json
        assert first["intervals"] is None
        assert first["uncertainty"] == {"people": None, "pending": True, "reason": WAITING}
        assert {one["holds"] for one in first["checks"].values()} == {None}
        assert len(first["theta"]) == 400
        told = await followed(client)
        evidence = client.made.store.evidence(client.survey)
        sure, band = fw.intervals(evidence), fw.intervals(evidence, joint=True)
        assert told["theta"] == first["theta"]
        assert told["uncertainty"]["people"] == 900
        assert np.allclose(told["intervals"]["high"], sure.high, atol=2e-3)
        assert np.allclose(told["band"]["high"], band.high, atol=4e-3)
        assert told["checks"]["free_choice"]["holds"] == fw.check_choice(evidence).holds
        # What was known of fewer people stays until it is known of all, and says of how many it is.
        await client.post(people(MANY, 60, np.random.default_rng(5)))
        newer = (await asked(client)).json
        assert newer["people"] == 960
        assert newer["uncertainty"] == {"people": 900, "pending": True, "reason": ""}
        assert newer["intervals"] == told["intervals"]
        assert (await followed(client))["uncertainty"]["people"] == 960

    served(work, path, MANY)


@pytest.mark.slow
def test_what_takes_long_stands_in_nobodys_way(path):
    started, go_on, looks = threading.Event(), threading.Event(), []

    def slow(fit, on_step=None):
        looks.append(fit.evidence.people)
        started.set()
        assert go_on.wait(PATIENCE)
        return estimates.uncertainty_of(fit, on_step)

    async def work(client):
        client.made.estimates._later.compute = slow
        other = SURVEY.id
        await client.post(people(MANY, 300, np.random.default_rng(16)))
        assert (await asked(client)).json["uncertainty"]["pending"]
        assert await asyncio.to_thread(started.wait, PATIENCE)
        for _ in range(3):  # asked for again and again, it is looked at once
            await client.post(people(MANY, 30, np.random.default_rng(7)))
            assert (await asked(client)).json["uncertainty"] == {
                "people": None,
                "pending": True,
                "reason": WAITING,
            }
        await client.post(people(SURVEY, 150, np.random.default_rng(8)), survey=other)
        answer = await client.get(f"/v1/surveys/{other}/estimate", admin=True)
        assert answer.json["uncertainty"]["people"] == 150
        assert looks == [300]
        go_on.set()
        assert (await followed(client))["uncertainty"]["people"] == 390

    served(work, path, MANY, SURVEY)


@pytest.mark.later
def test_what_cannot_be_looked_at_says_why_and_ends_nothing(path):
    def broken(fit, on_step=None):
        raise MemoryError("no room")

    async def work(client):
        client.made.estimates._later.compute = broken
        await client.post(people(MANY, 300, np.random.default_rng(9)))
        await asked(client)
        told = await followed(client)
        assert "MemoryError" in told["uncertainty"]["reason"]
        client.made.estimates._later.compute = estimates.uncertainty_of
        await client.post(people(MANY, 30, np.random.default_rng(9)))
        assert (await followed(client))["intervals"] is not None

    served(work, path, MANY)


def test_reports_that_do_not_fit_in_memory_are_left_to_the_command_line(path, monkeypatch):
    survey = Survey(WIDE, {"bits": fw.RAPPOR(WIDE, 3.0)})
    on_disk = functools.partial(estimates.evidence_of, hold=0)
    monkeypatch.setattr(estimates, "evidence_of", on_disk)

    async def work(client):
        await client.post(people(survey, 300, np.random.default_rng(13)))
        await asked(client)
        told = await followed(client)
        assert told["intervals"] is None
        assert told["checks"]["laws"]["verdict"] == estimates.STREAMED

    served(work, path, survey)


def test_an_end_does_not_wait_for_what_takes_long(path):
    started, ended = threading.Event(), threading.Event()

    def endless(fit, on_step=None):
        started.set()
        try:
            while True:
                time.sleep(0.01)
                on_step(None)
        finally:
            ended.set()

    async def work(client):
        client.made.estimates._later.compute = endless
        await client.post(people(MANY, 300, np.random.default_rng(10)))
        await asked(client)
        assert await asyncio.to_thread(started.wait, PATIENCE)

    served(work, path, MANY)
    assert ended.is_set()


def test_a_vast_alphabet_has_an_estimate_alone(path):
    wide = fw.Linear(0, estimates.MOST_VALUES)
    survey = Survey(wide, {"k": fw.KRR(wide, 8.0)})

    async def work(client):
        await client.post([sent("k", place) for place in range(300)])
        told = (await asked(client)).json
        assert told["intervals"] is None
        assert told["uncertainty"] == {
            "people": None,
            "pending": False,
            "reason": estimates.BEYOND,
        }
        assert "freewill check" in told["checks"]["laws"]["verdict"]
        assert len(told["theta"]) == wide.size

    served(work, path, survey)


def test_laws_that_fill_the_memory_are_left_to_the_command_line(path, monkeypatch):
    monkeypatch.setattr(estimates, "_LAW_BYTES", 8 * 100**2 * 3 - 1)

    async def work(client):
        await client.post(people(SURVEY, 300, np.random.default_rng(12)))
        checks = (await asked(client)).json["checks"]
        assert checks["laws"] == {"holds": None, "verdict": estimates.LAWS_BEYOND, "advice": ""}
        assert checks["free_choice"]["holds"] is not None

    served(work, path)


def test_the_estimate_says_that_its_survey_was_closed(path):
    async def work(client):
        await client.post(people(SURVEY, 300, np.random.default_rng(11)))
        assert (await asked(client)).json["closed"] is None
        await client.ask("POST", f"/v1/surveys/{client.survey}/close", admin=True)
        assert (await asked(client)).json["closed"] is not None

    served(work, path)
