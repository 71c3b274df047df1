"""Addresses that last: by name and by an old id, over rounds; and what came when, over HTTP."""

import gzip
import io
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest

import freewill as fw
from freewill.collector import surveys as periods
from freewill.io.evidence_file import load_evidence
from service_cases import LINE, needs_serve, people, served

pytestmark = needs_serve

FIRST = fw.Survey(
    LINE, {"careful": fw.Geometric(LINE, 0.1)}, question="How old are you?", name="ages"
)
SECOND = fw.Survey(
    LINE,
    {"careful": fw.Geometric(LINE, 0.2), "bits": fw.RAPPOR(LINE, 2.0)},
    question="How old are you?",
    name="ages",
)
WEEKS = ("2026-11-04", "2026-11-10", "2026-11-17")


def on(client, day):
    """Let it be a day."""
    client.made.writer.day = lambda: day


def saved(answer, tmp_path):
    assert answer.status == 200, answer.body
    path = tmp_path / "evidence.parquet"
    path.write_bytes(answer.body)
    return load_evidence(path)


TYPED = {
    "/s/ages/": "../ages",
    "/s/Ages": "ages",
    "/s/AGES/dashboard": "../ages/dashboard",
    f"/surveys/{FIRST.id}/": f"../{FIRST.id}",
}


def test_an_address_as_people_type_it_leads_to_the_page(tmp_path):
    """With capital letters or a slash at the end; below a folder, too."""

    async def work(client):
        for address, target in TYPED.items():
            answer = await client.get(address)
            assert (answer.status, answer.headers["location"]) == (307, target)
            assert (await client.get(urljoin(address, target))).status == 200
        assert (await client.get("/s/Ages2")).status == 404
        assert (await client.get("/s/ages//")).status == 404

    served(work, tmp_path / "store.db", FIRST)


def test_a_name_is_the_round_that_is_served_and_all_that_came(tmp_path):
    path, rng = tmp_path / "store.db", np.random.default_rng(0)
    rows = people(FIRST, 120, rng)
    drawn = people(FIRST, 1, rng)

    async def first(client):
        assert (await client.post(rows, "ages")).json == {"stored": 120, "known": 0}
        assert (await client.get("/v1/surveys/ages")).json["id"] == FIRST.id
        (listed,) = (await client.get("/v1/surveys")).json["surveys"]
        assert listed["name"] == "ages"
        assert (await client.get("/s/ages")).status == 200
        assert (await client.get("/s/ages/dashboard")).status == 200
        assert (await client.get("/s/age")).status == 404
        assert (await client.get("/v1/surveys/age")).status == 404

    async def second(client):
        assert (await client.get("/v1/surveys/ages")).json["id"] == SECOND.id
        await client.post(people(SECOND, 200, rng), "ages")
        # Reports that were drawn before: known again, or new, for the round that they are of.
        assert (await client.post(rows[:3], FIRST.id)).json == {"stored": 0, "known": 3}
        assert (await client.post(drawn, FIRST.id)).json == {"stored": 1, "known": 0}
        by_name = (await client.get("/v1/surveys/ages/people", admin=True)).json
        assert by_name["people"] == 321
        assert by_name["mechanisms"] == {"careful": 100, "bits": 100, "careful (round 1)": 121}
        by_id = (await client.get(f"/v1/surveys/{SECOND.id}/people", admin=True)).json
        assert by_id["people"] == 200
        estimate = (await client.get("/v1/surveys/ages/estimate", admin=True)).json
        assert (estimate["people"], estimate["survey"]) == (321, SECOND.id)
        plan = await client.get("/v1/surveys/ages/plan?target=0.01", admin=True)
        assert plan.json["people"] == 321
        assert set(plan.json["worth"]) == {"careful", "bits"}
        evidence = await client.get("/v1/surveys/ages/evidence", admin=True)
        assert saved(evidence, tmp_path).people == 321
        earlier = (await client.get(f"/v1/surveys/{FIRST.id}/people", admin=True)).json
        assert (earlier["id"], earlier["people"]) == (FIRST.id, 121)
        evidence = await client.get(f"/v1/surveys/{FIRST.id}/evidence", admin=True)
        assert saved(evidence, tmp_path).people == 121
        asked = await client.get(f"/v1/surveys/{FIRST.id}")
        assert (asked.status, "GET /v1/surveys/ages" in asked.json["what to do"]) == (404, True)
        moved = await client.get(f"/surveys/{FIRST.id}")
        assert (moved.status, moved.headers["location"]) == (307, "../s/ages")
        moved = await client.get(f"/surveys/{FIRST.id}/dashboard")
        assert moved.headers["location"] == "../../s/ages/dashboard"
        closed = await client.ask("POST", "/v1/surveys/ages/close", admin=True)
        assert closed.json["closed"] is not None

    served(first, path, FIRST)
    served(second, path, SECOND)


def test_an_id_of_an_older_release_leads_to_the_survey(tmp_path):
    path, old = tmp_path / "store.db", "d3835b088243f7e144aa10597ea1d7c5"
    path.write_bytes(
        gzip.decompress(Path(__file__).with_name("store-version-3.db.gz").read_bytes())
    )
    menu = {"coin": fw.KRR(LINE, 1.0), "noise": fw.Geometric(LINE, 0.1), "bits": fw.RAPPOR(LINE, 2)}
    survey = fw.Survey(LINE, menu, question="How old are you?")

    async def work(client):
        assert client.survey != old
        assert (await client.get(f"/v1/surveys/{old}")).json["id"] == survey.id
        sent = people(survey, 3, np.random.default_rng(1))
        assert (await client.post(sent, old)).json == {"stored": 3, "known": 0}
        assert (await client.post(sent)).json == {"stored": 0, "known": 3}
        counted = (await client.get(f"/v1/surveys/{old}/people", admin=True)).json
        assert counted["people"] == 63
        moved = await client.get(f"/surveys/{old}")
        assert moved.headers["location"] == f"../surveys/{survey.id}"

    served(work, path, survey)


@pytest.fixture
def by_week(tmp_path, monkeypatch):
    """Serve a survey that people answered in three weeks."""
    monkeypatch.setattr(periods, "FEWEST", 100)

    def run(work, **settings):
        async def weeks(client):
            rng = np.random.default_rng(2)
            for day in WEEKS:
                on(client, day)
                await client.post(people(FIRST, 150, rng))
            return await work(client)

        return served(weeks, tmp_path / "store.db", FIRST, **settings)

    return run


def test_what_came_in_some_weeks_is_told_apart(by_week, tmp_path):
    async def work(client):
        root = "/v1/surveys/ages"
        listed = (await client.get(f"{root}/periods", admin=True)).json
        assert (listed["id"], listed["every"]) == (FIRST.id, "week")
        starts = ["2026-11-02", "2026-11-09", "2026-11-16"]
        assert [one["start"] for one in listed["periods"]] == starts
        assert [one["end"] for one in listed["periods"]] == [*starts[1:], None]
        assert [one["people"] for one in listed["periods"]] == [150] * 3
        two = "from=2026-11-02&to=2026-11-15"
        estimate = (await client.get(f"{root}/estimate?{two}", admin=True)).json
        assert (estimate["people"], estimate["days"]["to"]) == (300, "2026-11-15")
        last = (await client.get(f"{root}/estimate?from=2026-11-16", admin=True)).json
        assert last["days"] == {"from": "2026-11-16", "to": None}
        assert last["theta"] != estimate["theta"]
        assert "days" not in (await client.get(f"{root}/estimate", admin=True)).json
        evidence = await client.get(f"{root}/evidence?{two}", admin=True)
        assert "ages-2026-11-02-2026-11-15.parquet" in evidence.headers["content-disposition"]
        assert saved(evidence, tmp_path).people == 300
        whole = saved(await client.get(f"{root}/evidence", admin=True), tmp_path)
        assert [period.evidence.people for period in whole.periods] == [150] * 3
        assert whole.between("2026-11-02", "2026-11-15").people == 300
        table = await client.get(f"{root}/table?{two}", admin=True)
        assert 'filename="ages-2026-11-02-2026-11-15-live.csv"' in str(table.headers)
        assert len(io.StringIO(table.body.decode()).readlines()) == LINE.size + 1

    by_week(work)


def test_days_that_cut_a_week_or_are_none_are_refused_with_those_there_are(by_week):
    async def work(client):
        for query, words in {
            "from=2026-11-03": "within a period",
            "to=2026-11-03": "within a period",
            "to=2026-11-01": "nobody",
            "from=yesterday": "from='yesterday'",
            "from=2026-11-02&from=2026-11-09": "'from' was given twice",
            "until=2026-11-08": "'until'",
        }.items():
            for what in ("estimate", "table", "evidence"):
                answer = await client.get(f"/v1/surveys/ages/{what}?{query}", admin=True)
                assert answer.status == 422, answer.body
                assert words in answer.json["error"]
        cut = await client.get("/v1/surveys/ages/estimate?from=2026-11-03", admin=True)
        assert "2026-11-02..2026-11-08, 2026-11-09..2026-11-15, 2026-11-16.." in cut.json["error"]

    by_week(work)


def test_what_came_in_a_week_is_not_published(by_week):
    """From one release to the next a week may gain a single person, whose report would show."""

    async def work(client):
        client.made.releases.tick()
        assert (await client.get("/v1/surveys/ages/estimate")).status == 200
        for what in ("periods", "estimate?from=2026-11-16", "table?from=2026-11-16"):
            assert (await client.get(f"/v1/surveys/ages/{what}")).status == 409
            assert (await client.get(f"/v1/surveys/ages/{what}", admin=True)).status == 200

    by_week(work, public=True)


def test_releases_are_of_the_round_that_is_served(tmp_path):
    rng = np.random.default_rng(3)

    async def first(client):
        await client.post(people(FIRST, 150, rng))
        client.made.releases.tick()
        assert (await client.get("/v1/surveys/ages/people")).json["people"] == 150

    async def second(client):
        assert (await client.get("/v1/surveys/ages/people")).json["people"] == 0
        assert (await client.get("/v1/surveys/ages/estimate")).status == 409
        await client.post(people(SECOND, 200, rng))
        client.made.releases.clock = lambda: 4e9
        client.made.releases.tick()
        shown = (await client.get("/v1/surveys/ages/people")).json
        assert shown["mechanisms"] == {"careful": 100, "bits": 100}

    served(first, tmp_path / "store.db", FIRST, public=True)
    served(second, tmp_path / "store.db", SECOND, public=True)


def test_a_release_has_all_periods_and_says_the_same_as_what_is_stored(by_week):
    async def work(client):
        client.made.releases.tick()
        public = (await client.get("/v1/surveys/ages/estimate")).json
        own = (await client.get("/v1/surveys/ages/estimate", admin=True)).json
        assert np.allclose(public["theta"], own["theta"], atol=1e-3)
        assert public["people"] == own["people"] == 450

    by_week(work, public=True)


def test_a_mended_text_is_served_at_the_same_address(tmp_path):
    mended = replace(FIRST, question="How old are you today?", title="Our town")

    async def work(client):
        answer = (await client.get("/v1/surveys/ages")).json
        log = (await client.get("/v1/log")).json
        return answer["id"], answer["survey"]["question"], len(log["entries"])

    one = served(work, tmp_path / "store.db", FIRST)
    other = served(work, tmp_path / "store.db", mended)
    assert one == (FIRST.id, "How old are you?", 1)
    assert other == (FIRST.id, "How old are you today?", 2)
