"""Assumptions are judged in one place: dashboard, `freewill check` and notes say the same."""

import asyncio
import json
import os

import numpy as np
import pytest

import freewill as fw
from cli_cases import run, run_json
from freewill.collector import estimates
from freewill.collector.estimates import uncertainty_of
from freewill.core.presented import json_bytes
from freewill.domain.survey import Survey
from freewill.io.evidence_file import save_evidence
from freewill.stats.fit import CHECKS, check_assumptions
from freewill.stats.information import FEW
from service_cases import PATIENCE, needs_serve, served

AGES = fw.Linear(0, 17)
SHY, BOLD, BITS = fw.Geometric(AGES, 0.15), fw.KRR(AGES, 4.0), fw.RAPPOR(AGES, 3.0)
MENU = fw.Categorical([f"dish {number}" for number in range(6)])


def chosen(mechanisms, people, seed, strength, used=None):
    """Draw people who take the first mechanism the more often the larger their value is."""
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    values = rng.binomial(size - 1, rng.choice([0.3, 0.7], people))
    first = rng.random(people) < 0.5 + strength * (2 * values / size - 1)
    who = np.where(first, 0, rng.integers(1, len(mechanisms), people))
    senders = [(used or {}).get(place, one) for place, one in enumerate(mechanisms)]
    return [sender.obfuscate(values[who == place], rng) for place, sender in enumerate(senders)]


CASES = {
    "free": ((SHY, BOLD), 3000, 0.0, None),
    "by the value": ((SHY, BOLD), 5000, 0.4, None),
    "by the value, of three": ((SHY, BOLD, BITS), 3000, 0.4, None),
    "another epsilon": ((SHY, BOLD, BITS), 3000, 0.0, {1: fw.KRR(AGES, 3.0)}),
    "both": ((BITS, BOLD), 3000, 0.3, {0: fw.RAPPOR(AGES, 2.0)}),
    "labels": ((fw.KRR(MENU, 1.0), fw.KRR(MENU, 3.0)), 3000, 0.4, None),
    "one mechanism": ((BOLD, BOLD), 1000, 0.0, None),
    "few": ((SHY, BOLD), 50, 0.0, None),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [*((name, 0) for name in CASES), ("by the value", 1)])
def test_the_dashboard_says_what_the_command_line_says(name, seed, tmp_path):
    mechanisms, people, strength, used = CASES[name]
    reports = chosen(mechanisms, people, seed, strength, used)
    evidence = fw.collect(list(zip(mechanisms, reports, strict=True)))
    path = tmp_path / "evidence.parquet"
    save_evidence(evidence, path)
    told = json.loads(json_bytes(uncertainty_of(fw.fit(evidence))))["checks"]
    fails = people < FEW or any(one["holds"] is False for one in told.values())
    shown = run_json("check", path, code=int(fails))["checks"]
    assert told["free_choice"] == shown["free_choice"]
    assert told["laws"] == shown["laws"]
    assert list(shown) == [one.replace(" ", "_") for one in CHECKS]
    # The note of an estimate is of the same test; it fits no choice law to say what that tells.
    note = " ".join(run("estimate", path).stderr.split())
    rejected = told["free_choice"]["holds"] is False
    verdict, *_ = told["free_choice"]["verdict"].split("; who chooses")
    assert (verdict in note) == rejected


def random_survey(rng):
    """Draw evidence over a random alphabet: free choices or not, right epsilons or a wrong one."""
    size = int(rng.integers(3, 16))
    alphabet = (
        fw.Linear(0, size - 1),
        fw.Categorical([f"label {number}" for number in range(min(size, 8))]),
        fw.Grid(int(rng.integers(2, 5)), int(rng.integers(2, 4)), cell=0.5),
    )[rng.integers(3)]
    near = {1: fw.Geometric, 2: fw.PlanarGeometric}.get(len(alphabet.extent), fw.KRR)
    kinds = rng.permutation(np.array([fw.KRR, fw.RAPPOR, near]))[: rng.integers(1, 4)]
    mechanisms = [kind(alphabet, float(rng.uniform(0.8, 4))) for kind in kinds]
    mechanisms = list(dict.fromkeys(mechanisms))
    if len(mechanisms) == 1:
        mechanisms.append(fw.KRR(alphabet, 5.0))
    wrong = {0: type(mechanisms[0])(alphabet, 0.5)} if rng.random() < 0.3 else None
    strength = float(rng.choice([0.0, 0.0, 0.4]))
    people = int(rng.choice([60, 400, 2000]))
    reports = chosen(mechanisms, people, int(rng.integers(2**32)), strength, wrong)
    parts = [part for part in zip(mechanisms, reports, strict=True) if len(part[1])]
    return fw.collect(parts)


@pytest.mark.slow
def test_dashboard_command_and_library_agree_on_random_surveys(tmp_path):
    """The same verdict, words and p-value, whoever is asked: FREEWILL_FUZZ=14 asks 210 times."""
    surveys = 15 * int(os.environ.get("FREEWILL_FUZZ", "1"))
    rng, path, seen = np.random.default_rng(24), tmp_path / "evidence.parquet", []
    for _ in range(surveys):
        evidence = random_survey(rng)
        save_evidence(evidence, path)
        library = fw.fit(evidence).checks()
        command = run_json("check", path, code=int(not library.hold))["checks"]
        dashboard = json.loads(json_bytes(uncertainty_of(fw.fit(evidence))))["checks"]
        assert command == library.to_dict()["checks"]
        assert dashboard == {name: command[name] for name in ("free_choice", "laws")}
        seen.append((library["free choice"].holds, library["laws"].holds))
    assert len(seen) == surveys
    for verdicts in zip(*seen, strict=True):
        assert {True, False} <= set(verdicts), "every verdict is among them"


@pytest.mark.later
def test_no_honest_client_is_blamed_for_a_choice_by_the_value():
    for seed in range(3):
        reports = chosen((SHY, BOLD), 5000, seed, 0.4)
        evidence = fw.collect([(SHY, reports[0]), (BOLD, reports[1])])
        assert not fw.check_fit(evidence).holds
        laws = uncertainty_of(fw.fit(evidence))["checks"]["laws"]
        assert (laws["holds"], laws["given_choice"], laws["blamed"]) == (True, True, [])
        assert "given who chooses what" in laws["verdict"]


def test_levels_are_checked_before_all_else():
    evidence = fw.collect([(BOLD, [3] * 400)])
    with pytest.raises(fw.ParameterError, match="level"):
        check_assumptions(evidence, 95)
    with pytest.raises(fw.EvidenceError, match="needs two"):
        check_assumptions(fw.collect([(BOLD, [3])]))


def test_laws_beside_a_choice_over_many_values_are_left_to_the_command_line(monkeypatch):
    reports = chosen((SHY, BOLD), 5000, 1, 0.4)
    evidence = fw.collect([(SHY, reports[0]), (BOLD, reports[1])])
    monkeypatch.setattr(estimates, "_MOST_BESIDE", 17)
    told = uncertainty_of(fw.fit(evidence))["checks"]
    assert told["free_choice"]["holds"] is False
    assert told["laws"] == {"holds": None, "verdict": estimates.CHOICE_BEYOND, "advice": ""}
    free = chosen((SHY, BOLD), 3000, 1, 0.0)
    evidence = fw.collect([(SHY, free[0]), (BOLD, free[1])])
    assert uncertainty_of(fw.fit(evidence))["checks"]["laws"]["holds"] is True


@pytest.mark.slow
@needs_serve
@pytest.mark.parametrize(("strength", "follows"), [(0.0, False), (0.4, True)])
def test_what_takes_long_follows_only_where_the_choice_is_not_free(
    strength, follows, tmp_path, monkeypatch
):
    monkeypatch.setattr(estimates, "_BESIDE_AT_ONCE", 35)
    survey = Survey(AGES, {"shy": SHY, "bold": BOLD})
    reports = chosen((SHY, BOLD), 5000, 2, strength)
    rows = [
        {"mechanism": name, "report": int(one), "report_id": f"{name}-{number:032x}"[-32:]}
        for name, some in zip(("shy", "bold"), reports, strict=True)
        for number, one in enumerate(some, start=len(name) << 32)
    ]

    async def work(client):
        for first in range(0, len(rows), 1000):
            await client.post(rows[first : first + 1000])
        address = f"/v1/surveys/{client.survey}/estimate"
        told = (await client.get(address, admin=True)).json
        assert told["uncertainty"]["pending"] is follows
        async with asyncio.timeout(PATIENCE):
            while told["uncertainty"]["pending"]:
                await asyncio.sleep(0.02)
                told = (await client.get(address, admin=True)).json
        expected = check_assumptions(client.made.store.evidence(client.survey)).to_dict()
        for name, check in told["checks"].items():
            assert check == expected["checks"][name]
        assert told["intervals"] is not None

    served(work, tmp_path / "store.db", survey)
