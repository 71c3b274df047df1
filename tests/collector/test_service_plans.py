"""Plans and tables from an estimate: those of the library, strict in what they are asked."""

import asyncio
import csv
import io
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import freewill as fw
from freewill.cli.application import app
from freewill.collector import estimates, planning
from freewill.collector.answers import RefusedError
from freewill.collector.planning import question_of
from freewill.collector.questions import Subject
from freewill.domain.survey import Survey
from freewill.stats.planning.design import MOST_PEOPLE, needed_for_interval
from service_cases import MENU, PATIENCE, SURVEY, needs_serve, people, sent, served

pytestmark = needs_serve
CITY = fw.Grid.box(37.70, 37.82, -122.52, -122.36, 4, 3)
MAP = Survey(CITY, {"near": fw.PlanarGeometric(CITY, 2.0), "any": fw.KRR(CITY, 3.0)})
LABELS = Survey(MENU, {"coin": fw.KRR(MENU, 1.1), "narrow": fw.RAPPOR(MENU, 2.0)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def planned(client, query, **more):
    return await client.get(f"/v1/surveys/{client.survey}/plan?{query}", **{"admin": True, **more})


async def tabled(client, **more):
    return await client.get(f"/v1/surveys/{client.survey}/table", **{"admin": True, **more})


@pytest.mark.slow
@pytest.mark.parametrize("survey", [SURVEY, LABELS, MAP])
@pytest.mark.parametrize("of", ["shares", "mean"])
@pytest.mark.usefixtures("rough_plans")
def test_a_plan_is_the_librarys_at_the_estimate_and_the_shares_of_now(path, survey, of):
    async def work(client):
        rows = people(survey, 1200, np.random.default_rng(0))
        await client.post(rows[:-90])  # mechanisms are chosen unequally
        answer = await planned(client, f"target=0.02&of={of}")
        if survey is LABELS and of == "mean":
            assert answer.status == 422
            assert "mean" in answer.json["error"]
            return
        found = answer.json
        evidence = client.made.store.evidence(client.survey)
        counts = dict.fromkeys(survey.mechanisms, 0)
        counts |= {group.name: group.people for group in evidence.groups}
        shares = {name: many / evidence.people for name, many in counts.items()}
        theta = client.made.estimates.latest(Subject(client.survey)).estimate
        assert np.abs(theta.theta - fw.gibu(evidence).theta).max() < 1e-2
        expected = fw.plan(
            survey,
            shares,
            theta,
            people=evidence.people,
            target=0.02,
            of=of,
        )
        assert found["needed"] == expected.needed
        assert found["more"] == max(0, expected.needed - evidence.people)
        assert found["now"] == pytest.approx(expected.half_width[0], rel=1e-9)
        assert found["widest"] in expected.of
        assert found["worth"] == pytest.approx(expected.worth, rel=1e-6)
        assert (found["people"], found["of"]) == (evidence.people, of)
        # What is needed for what there is now is what there is now.
        again = await planned(client, f"target={found['now']!r}&of={of}")
        assert abs(again.json["needed"] - evidence.people) <= 1
        assert again.json["more"] <= 1

    served(work, path, survey)


def test_a_plan_follows_the_estimate(path):
    async def work(client):
        await client.post(people(SURVEY, 600, np.random.default_rng(1)))
        first = (await planned(client, "target=0.01")).json
        await client.post(people(SURVEY, 600, np.random.default_rng(2)))
        second = (await planned(client, "target=0.01")).json
        assert (first["people"], second["people"]) == (600, 1200)
        assert second["now"] < first["now"]

    served(work, path)


def test_a_plan_for_many_values_is_made_from_their_intervals(path, monkeypatch):
    async def work(client):
        await client.post(people(SURVEY, 1500, np.random.default_rng(5)))
        near = (await planned(client, "target=0.01")).json
        next(iter(client.made.estimates._latest.values())).errors.clear()
        monkeypatch.setattr(planning, "DENSE", 99)
        far = (await planned(client, "target=0.01")).json
        told = (await client.get(f"/v1/surveys/{client.survey}/estimate", admin=True)).json
        largest = max(told["intervals"]["standard_error"])
        assert far["now"] == pytest.approx(1.959964 * largest, rel=1e-6)
        assert far["needed"] == pytest.approx(1500 * (far["now"] / 0.01) ** 2, rel=1e-3)
        # Errors at the estimate, pulled inside by half a person a value or not.
        assert far["needed"] == pytest.approx(near["needed"], rel=0.1)

    served(work, path)


def test_a_plan_waits_for_intervals_that_are_being_made(path, monkeypatch):
    monkeypatch.setattr(planning, "DENSE", 99)
    monkeypatch.setattr(estimates, "AT_ONCE", 99)
    ready = threading.Event()

    def slow(fit, on_step=None):
        assert ready.wait(PATIENCE)
        return estimates.uncertainty_of(fit, on_step)

    async def work(client):
        client.made.estimates._later.compute = slow
        await client.post(people(SURVEY, 300, np.random.default_rng(6)))
        answer = await planned(client, "target=0.01")
        assert answer.status == 409
        assert "being computed" in answer.json["error"]
        assert (await planned(client, "target=0.5&of=mean")).status == 200
        assert b"standard_error" not in (await tabled(client)).body
        ready.set()
        async with asyncio.timeout(PATIENCE):
            while (answer := await planned(client, "target=0.01")).status != 200:
                await asyncio.sleep(0.02)
        assert answer.json["people"] == 300
        assert b"standard_error" in (await tabled(client)).body

    served(work, path)


WRONG = [
    "",
    "target=",
    "target=0",
    "target=-0.0",
    "target=-1",
    "target=nan",
    "target=inf",
    "target=1e999",
    "target=1_0",
    "target=%201",
    "target=٣",
    "target=0x10",
    "target=0.01&target=0.02",
    "target=0.01&of=",
    "target=0.01&of=median",
    "target=0.01&of=mean&of=mean",
    "target=0.01&more=1",
    "target=0.01&=",
    "Target=0.01",
    "target=" + "9" * 5000,
]


@pytest.mark.parametrize("query", WRONG)
def test_what_a_plan_cannot_be_asked_is_refused(path, query):
    async def work(client):
        await client.post([sent("relaxed", place % 100) for place in range(120)])
        answer = await planned(client, query)
        assert answer.status == 422
        assert set(answer.json) == {"error", "what to do"}
        assert "target" in answer.json["what to do"]

    served(work, path)


@given(st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False))
def test_any_target_is_taken_and_answered(target):
    assert question_of([("target", repr(target))]) == (target, "shares")
    for variance in (0.0, 5e-324, 0.25, 1e300, np.inf):
        needed = needed_for_interval(np.array([variance]), target)
        if variance == 0:
            assert needed == 2
        elif needed is None:
            # A naive reading of the formula, by logarithms, which cannot overflow.
            log = np.log(variance) + 2 * (np.log(1.959963984540054) - np.log(target))
            assert log > np.log(MOST_PEOPLE) - 1e-9
        else:
            assert 2 <= needed <= MOST_PEOPLE + 1


def test_a_plan_refuses_without_a_reader(path):
    with pytest.raises(RefusedError, match="given twice"):
        question_of([("of", "mean"), ("of", "mean")])

    async def work(client):
        for address in ("plan?target=0.1", "table"):
            path = f"/v1/surveys/{client.survey}/{address}"
            assert (await client.get(path)).status == 401
            assert (await client.get(path, admin=True)).status == 409  # nobody answered
            other = f"/v1/surveys/{'0' * 32}/{address}"
            assert (await client.get(other, admin=True)).status == 404
            assert (await client.ask("POST", path, admin=True)).status == 405

    served(work, path)


def test_plans_and_tables_are_for_everyone_where_estimates_are(path):
    async def work(client):
        await client.post(people(SURVEY, 150, np.random.default_rng(3)))
        client.made.releases.tick()
        assert (await planned(client, "target=0.5", admin=False)).status == 200
        assert (await tabled(client, admin=False)).status == 200

    served(work, path, public=True)


def test_what_no_people_can_tell_is_out_of_reach(path):
    blind = fw.Matrix(MENU, [[0.5, 0.5]] * 3)
    survey = Survey(MENU, {"blind": blind})

    async def work(client):
        await client.post([sent("blind", place % 2) for place in range(150)])
        found = (await planned(client, "target=0.1")).json
        assert (found["needed"], found["more"], found["now"]) == (None, None, None)
        assert "cannot be told apart" in found["advice"]

    served(work, path, survey)


@pytest.mark.parametrize("survey", [SURVEY, LABELS, MAP])
def test_a_table_is_what_the_command_line_writes(path, tmp_path, survey):
    async def work(client):
        await client.post(people(survey, 900, np.random.default_rng(4)))
        told = (await client.get(f"/v1/surveys/{client.survey}/estimate", admin=True)).json
        answer = await tabled(client)
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
        for name in ("point", "low", "high", "standard_error"):
            assert [float(row[name]) for row in rows] == told["intervals"][name]
        assert [float(row["share"]) for row in rows] == told["theta"]
        evidence = await client.get(f"/v1/surveys/{client.survey}/evidence", admin=True)
        return evidence.body, rows

    evidence, rows = served(work, path, survey)
    file = tmp_path / "evidence.parquet"
    file.write_bytes(evidence)
    done = CliRunner().invoke(app, ["estimate", str(file), "--intervals", "--csv"])
    assert done.exit_code == 0, done.output
    theirs = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(theirs[0]) == list(rows[0])
    for name in theirs[0]:
        ours, other = ([row[name] for row in some] for some in (rows, theirs))
        if name in survey.alphabet.axes:
            assert ours == other
        else:
            assert np.allclose(np.array(ours, float), np.array(other, float), atol=5e-3)


def test_people_says_what_is_the_least_and_whether_it_is_over(path):
    async def work(client):
        address = f"/v1/surveys/{client.survey}/people"
        await client.post([sent("relaxed", 1)])
        found = (await client.get(address, admin=True)).json
        assert (found["people"], found["min_people"], found["closed"]) == (1, 100, None)
        await client.ask("POST", f"/v1/surveys/{client.survey}/close", admin=True)
        assert (await client.get(address, admin=True)).json["closed"] is not None
        assert json.dumps(found["days"])

    served(work, path)
