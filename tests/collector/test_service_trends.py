"""Trends of a collector: what the library says of its periods, for roles alone."""

import json

import freewill as fw
from freewill.collector import trends
from freewill.collector.surveys import evidence_of
from freewill.core.presented import portable
from service_cases import needs_serve, served
from trend_cases import LABELS, LINE, MONDAYS, filled, week_of


@needs_serve
def test_viewers_are_told_what_the_library_says_and_nobody_else(tmp_path):
    async def work(client):
        filled(client.made.store, LINE)
        address = f"/v1/surveys/{LINE.id}/trend"
        assert (await client.get(address)).status == 409
        wrong = {"?of=variance": 422, "?of=mean&of=mean": 422, "?value=3": 422, "?question=a": 422}
        for query, status in wrong.items():
            assert (await client.get(address + query, admin=True)).status == status
        answers = [
            (await client.get(f"{address}?of={of}", admin=True)).json
            for of in ("mean", "median", "shares")
        ]
        assert answers[0] == (await client.get(address, admin=True)).json
        assert answers[0] == (await client.get("/v1/surveys/ages/trend", admin=True)).json
        with client.made.store.view() as view:
            return answers, evidence_of(view, client.made.store.survey(view, LINE.id))

    answers, evidence = served(work, tmp_path / "store.db", LINE, public=True)
    assert [len(one.evidence.people and str(one.start)) for one in evidence.periods] == [10] * 4
    kept = evidence.between(last="2026-11-08")
    for answer, of in zip(answers, ("mean", "median", fw.functionals.bins(3)), strict=True):
        expected = json.loads(json.dumps(portable(fw.trend(kept, of).to_dict())))
        advice = answer.pop("advice")
        assert advice.startswith("1 period of fewer than 100 people left out.")
        assert answer.pop("survey") == LINE.id
        expected.pop("advice")
        assert answer == expected
    assert answers[0]["changes"]


@needs_serve
def test_one_period_is_no_trend_and_labels_have_no_mean(tmp_path):
    async def work(client):
        week_of(client.made.store, LABELS, MONDAYS[0], 300, 0.5, 1)
        few = await client.get(f"/v1/surveys/{LABELS.id}/trend", admin=True)
        mean = await client.get(f"/v1/surveys/{LABELS.id}/trend?of=mean", admin=True)
        stranger = await client.get(f"/v1/surveys/{LABELS.id}/trend")
        return few, mean, stranger

    few, mean, stranger = served(work, tmp_path / "store.db", LABELS)
    assert (few.status, mean.status, stranger.status) == (409, 422, 401)
    assert "1 period with 100 people at least" in few.json["error"]
    assert mean.json["what to do"] == "Ask for ?of= one of shares."


@needs_serve
def test_of_many_values_the_latest_periods_are_shown(tmp_path, monkeypatch):
    """As on maps: a thousand cells, whose trend of half a year would take minutes."""
    monkeypatch.setattr(trends, "_MOST_WORK", 2 * LINE.alphabet.size**2)

    async def work(client):
        filled(client.made.store, LINE)
        address = f"/v1/surveys/{LINE.id}/trend"
        some = await client.get(address, admin=True)
        monkeypatch.setattr(trends, "_MOST_WORK", LINE.alphabet.size**2)
        return some.json, await client.get(f"{address}?of=median", admin=True)

    some, none = served(work, tmp_path / "store.db", LINE)
    assert [one["name"] for one in some["periods"]] == list(MONDAYS[1:3])
    assert "The latest 2 of 3 periods: of so many values, more take too long" in some["advice"]
    assert none.status == 409
    assert "a trend of 30 values takes too long for a server" in none.json["error"]


@needs_serve
def test_of_many_labels_the_commonest_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(trends, "_MOST_SHARES", 2)

    async def work(client):
        filled(client.made.store, LABELS)
        return (await client.get(f"/v1/surveys/{LABELS.id}/trend", admin=True)).json

    told = served(work, tmp_path / "store.db", LABELS)
    # Values lie about the middle one, and below it.
    assert [one["of"] for one in told["functionals"]] == ["car", "bus"]
    assert "The 2 commonest of 3 labels." in told["advice"]
    assert told["shares"]
