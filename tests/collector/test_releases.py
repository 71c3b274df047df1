"""Releases: when one is made, of whom, what it shows, and that it stands still until the next."""

import asyncio
import json
import re

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused
from freewill.collector.database import StoreError
from freewill.collector.releases import ReleaseRule, Releases, releasing
from freewill.collector.store import open_store
from freewill.collector.surveys import evidence_of
from freewill.domain.survey import Survey
from freewill.errors import ParameterError
from question_cases import PAIR, answers
from service_cases import collecting, needs_serve, people, served

pytestmark = needs_serve
HOUR = 3600
LINE = fw.Linear(0, 39)
SURVEY = Survey(LINE, {"careful": fw.Geometric(LINE, 0.1), "bits": fw.RAPPOR(LINE, 2.0)})
LABELS = fw.Categorical(["red", "green", "blue"])
NARROW = Survey(LABELS, {"open": fw.Identity(LABELS), "shy": fw.KRR(LABELS, 1.0)})
PUBLIC = ("people", "estimate", "table", "plan?target=0.1")
LIVE_COUNT = re.compile(r"(?<![\d.,])([\d,]+) (?:people|person|reports?)\b")


def at(client, hours):
    """Set the clock, and let what is due be released."""
    client.made.releases.clock = lambda: 1000 * HOUR * hours + 7
    client.made.releases.tick()
    assert client.made.releases.failures == 0


async def everything(client, **more):
    """Return what everyone is shown."""
    root = f"/v1/surveys/{client.survey}"
    shown = [await client.get(f"{root}/{what}", **more) for what in PUBLIC]
    shown.append(await client.get(root))
    return [(answer.status, answer.body) for answer in shown]


def released(client):
    """Return the evidence of the last release, in memory."""
    source = client.made.releases
    with source.store.view() as view:
        return evidence_of(view, source.survey(view, client.survey), 1 << 40)


def test_a_release_takes_people_and_a_whole_period_and_stands_still(tmp_path):
    async def work(client):
        rng, store = np.random.default_rng(1), client.made.store
        await client.post(people(SURVEY, 99, rng))
        at(client, 1)
        assert [status for status, _ in await everything(client)] == [200, 409, 409, 409, 200]
        await client.post(people(SURVEY, 6, rng))
        client.made.releases.tick()  # this hour was judged
        assert client.made.releases.made == 0
        at(client, 2)
        first, before = store.evidence(client.survey), await everything(client)
        assert released(client) == first
        for many in (1, 50, 48):
            await client.post(people(SURVEY, many, rng))
            at(client, 2 + many)
            assert await everything(client) == before
        store.tidy()
        assert await everything(client) == before
        assert released(client) == first
        await client.ask("POST", f"/v1/surveys/{client.survey}/close", admin=True)
        assert (await client.post(people(SURVEY, 2, rng))).status == 410
        at(client, 60)
        assert client.made.releases.made == 1  # 99 new ones do not make a last one
        assert released(client) == first

    served(work, tmp_path / "store.db", SURVEY, public=True)


def test_after_the_end_what_is_left_is_released_if_it_is_enough(tmp_path):
    async def work(client):
        await client.post(people(SURVEY, 300, np.random.default_rng(1)))
        await client.ask("POST", f"/v1/surveys/{client.survey}/close", admin=True)
        at(client, 1)
        assert released(client) == client.made.store.evidence(client.survey)

    served(work, tmp_path / "store.db", SURVEY, public=True)


@pytest.mark.later
def test_releases_outlive_the_server_and_two_servers_have_one(tmp_path):
    path, rng = tmp_path / "store.db", np.random.default_rng(2)

    async def both():
        first, second = (collecting(path, SURVEY, public=True) for _ in range(2))
        async with first as one, second as other:
            await one.post(people(SURVEY, 200, rng))
            for client in (one, other):
                at(client, 1)
            assert (one.made.releases.made, other.made.releases.made) == (1, 0)
            await other.post(people(SURVEY, 150, rng))
            at(other, 2)
            assert released(one) == released(other)
            return await everything(other)

    before = asyncio.run(both())

    async def again(client):
        statuses = [status for status, _ in before]
        later = await everything(client)
        assert [status for status, _ in later] == statuses
        assert later[0] == before[0]

    served(again, path, SURVEY, public=True)


@pytest.mark.parametrize("survey", [SURVEY, pytest.param(PAIR, marks=pytest.mark.later)])
def test_everyone_is_told_rounded_numbers_and_the_administrator_live_ones(tmp_path, survey):
    async def work(client):
        rng, query = np.random.default_rng(3), "?of=age" if survey is PAIR else ""
        rows = answers(PAIR, 217, rng)[0] if survey is PAIR else people(SURVEY, 217, rng)
        await client.post(rows)
        at(client, 1)
        root = f"/v1/surveys/{client.survey}"
        for what in ("people", f"estimate{query}"):
            ours = (await client.get(f"{root}/{what}")).json
            live = (await client.get(f"{root}/{what}", admin=True)).json
            assert (ours["live"], live["live"]) == (False, True)
            assert ours["release"] == {"number": 1, "made": "1970-02-11T16:00:00Z"}
            assert "days" not in ours
            exact = list(numbers_of_people(live))
            shown = list(numbers_of_people(ours))
            assert any(number % 10 for number in exact)
            assert shown
            assert not any(number % 10 for number in shown)
        tables = [await client.get(f"{root}/table{query}", admin=own) for own in (False, True)]
        named = ["-live.csv" in one.headers["content-disposition"] for one in tables]
        assert named == [False, True]
        plan = await client.get(f"{root}/plan?target=0.1")
        if plan.status == 200:
            assert (plan.json["people"], plan.json["needed"] - plan.json["more"]) == (210, 210)
        wrong = await client.get(f"{root}/people", headers={"authorization": "Bearer no"})
        assert wrong.status == 401

    served(work, tmp_path / "store.db", survey, public=True)


def numbers_of_people(content, counted=False):
    """Yield every number of people of a document, in figures and in words."""
    if isinstance(content, dict):
        for name, one in content.items():
            if name not in ("min_people", "rule", "values", "alphabet"):
                yield from numbers_of_people(
                    one, counted or name in ("people", "mechanisms", "questions", "reports")
                )
    elif isinstance(content, list):
        for one in content:
            yield from numbers_of_people(one, counted)
    elif isinstance(content, str):
        yield from (int(found.replace(",", "")) for found in LIVE_COUNT.findall(content))
    elif counted and isinstance(content, int):
        yield content


def test_noisy_releases_count_everybody_once(tmp_path, monkeypatch):
    drawn = []

    def silent(_, count, rng):
        drawn.append(count)
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr("freewill.domain.draws.noise.CountNoise.many", silent)

    async def work(client):
        rng = np.random.default_rng(4)
        for hour in range(1, 5):
            await client.post(people(NARROW, 120, rng))
            at(client, hour)
        exact, noisy = client.made.store.evidence(client.survey), released(client)
        assert drawn == [6] * 4  # fresh noise for every cell of every release
        assert noisy.variance == pytest.approx(4 * ReleaseRule(epsilon=1.0).noise.variance)
        assert noisy.clipped == exact

    served(work, tmp_path / "store.db", NARROW, public=True, rule=ReleaseRule(epsilon=1.0))


def test_noisy_releases_tell_of_exact_counts_nothing_but_with_noise(tmp_path, monkeypatch):
    rng = np.random.default_rng(9)
    monkeypatch.setattr("freewill.collector.releases.SystemGenerator", lambda: rng)

    async def work(client):
        await client.post(people(NARROW, 2000, np.random.default_rng(5)))
        at(client, 1)
        before, noisy = await everything(client), released(client)
        document = json.loads(before[1][1])
        assert document["people"] == noisy.people
        assert document["mechanisms"] == {group.name: group.people for group in noisy.groups}
        assert document["checks"]["laws"]["holds"] is None
        assert document["band"] is None
        usual = (await client.get(f"/v1/surveys/{client.survey}/estimate", admin=True)).json
        ours, other = (one["intervals"]["standard_error"] for one in (document, usual))
        assert min(np.array(ours) / other) > 1
        assert before[3][0] == 409  # plans do not allow for noise
        await client.post(people(NARROW, 50, np.random.default_rng(6)))
        assert (await everything(client))[:4] == before[:4]

    served(work, tmp_path / "store.db", NARROW, public=True, rule=ReleaseRule(epsilon=0.1))


def test_budgets_do_not_change_and_only_what_can_be_listed_has_one(tmp_path):
    rule = ReleaseRule(people=10, epsilon=1.0)

    async def work(client):
        await client.post(people(NARROW, 200, np.random.default_rng(7)))
        at(client, 1)

    served(work, tmp_path / "store.db", NARROW, public=True, rule=rule)
    store = open_store(str(tmp_path / "store.db"))
    try:
        store.add(NARROW)
        for other in (ReleaseRule(), ReleaseRule(epsilon=2.0)):
            with pytest.raises(StoreError, match=r"1 release of --release-epsilon 1\.0"):
                Releases(store, [NARROW], other)
        with pytest.raises(ParameterError, match=r"bits .*has more\. Offer"):
            Releases(store, [SURVEY], rule)
        with pytest.raises(ParameterError, match="asks several at once"):
            Releases(store, [fw.Questionnaire({"color": NARROW})], rule)
        with store.changing() as database:
            database.run("UPDATE releases SET cells = ?", [(b"short",)])
        with pytest.raises(StoreError, match="damaged in what it has of releases"):
            Releases(store, [NARROW], rule)
    finally:
        store.close()


def test_the_clock_decides_when_and_not_who_asks(tmp_path, monkeypatch):
    """Every whole period is judged once, soon after it began, however early or late one wakes."""
    now, judged = [HOUR * 5.5], []

    async def sleep(seconds):
        now[0] += seconds * (0.5 if len(judged) % 2 else 1.0)
        if len(judged) == 4:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    store = open_store(str(tmp_path / "store.db"))
    releases = Releases(store, [], ReleaseRule(every=HOUR), clock=lambda: now[0])
    releases.tick = lambda: judged.append(now[0])
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(releasing(releases))
    store.close()
    assert judged == pytest.approx([HOUR * hour for hour in (6, 7, 8, 9)], abs=60)


def test_only_what_changed_is_written(tmp_path):
    """Full pages of wide reports stay: a release of many costs what is new."""

    async def work(client):
        rng = np.random.default_rng(8)
        own = SURVEY.id
        (period,) = client.made.store.survey(client.made.store._database, own).periods
        wide = -period.numbers[SURVEY.mechanisms["bits"].id]

        def pages():
            with client.made.store.view() as view:
                rows = view.rows("SELECT page, content FROM pages WHERE mechanism = ?", (wide,))
                return dict(rows)

        await client.post([row for row in people(SURVEY, 18000, rng) if row["mechanism"] == "bits"])
        at(client, 1)
        before = pages()
        await client.post(people(SURVEY, 600, rng))
        at(client, 2)
        after = pages()
        assert len(before) > 2
        assert {*before} <= {*after}
        assert released(client) == client.made.store.evidence(own)

    served(work, tmp_path / "store.db", SURVEY, public=True)


def test_what_is_said_of_releases_where_nothing_is_published_is_refused(tmp_path):
    NARROW.save(tmp_path / "survey.json")
    given = ("serve", tmp_path / "survey.json", "--port", 0, "--store", tmp_path / "store.db")
    assert "Add --public" in refused(*given, "--release-epsilon", 1)
    assert "expected a period" in refused(*given, "--public", "--release-every", "1w")
    assert not (tmp_path / "store.db").exists()
