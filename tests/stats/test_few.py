"""What rests on few of many people, told wherever its intervals are; nothing told elsewhere."""

import numpy as np
import pytest
from benchmarks.few import CASES, ORDINARY, drawn

import freewill as fw
from cli_cases import run, run_json
from freewill.collector.estimates import uncertainty_of
from freewill.io.evidence_file import save_evidence
from freewill.paper.mixtures import MIXTURES
from freewill.paper.settings import settings
from freewill.stats.information import FEW, SHARE, information_of

LINE = fw.Linear(0, 99)
ZIPF = 1 / np.arange(1.0, 101) / (1 / np.arange(1.0, 101)).sum()
WARNED = "so few leave it"
PLANNED = "less often than they say"


def evidence_of(name: str, seed: int = 0) -> fw.Evidence:
    return drawn(CASES[name], np.random.default_rng(seed))


@pytest.mark.parametrize("name", CASES)
def test_what_does_not_hold_the_truth_is_told(name):
    evidence, case = evidence_of(name), CASES[name]
    found = fw.intervals(evidence, case.of)
    assert WARNED in found.advice
    assert WARNED in str(found)
    few = np.atleast_1d(found.effective_people)
    assert few.min() < min(FEW, SHARE * evidence.people)
    assert f"of {evidence.people:,} people" in found.advice


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("people", [300, 1000, 10_000])
def test_ordinary_surveys_are_not_warned_of(name, people):
    setting = settings([MIXTURES[name]])[0]
    evidence, _ = setting.draw(people, seed=0)
    line = len(setting.alphabet.axes) == 1
    for of in ("mean", None, "cdf" if line else fw.functionals.districts(4)):
        assert WARNED not in fw.intervals(evidence, of).advice


@pytest.mark.parametrize("people", [2, 20, 200])
def test_few_people_in_all_are_no_few_of_many(people):
    mine = fw.Identity(LINE)
    evidence = fw.collect([(mine, np.random.default_rng(0).choice(100, people, p=ZIPF))])
    found = fw.intervals(evidence, "mean")
    assert found.effective_people == pytest.approx(people)
    assert WARNED not in found.advice


def test_effective_people_are_those_who_tell():
    """From the definition: everybody's expected square of the influence, written out."""
    mechanisms = [
        (fw.KRR(LINE, 1.0), 4000),
        (fw.Geometric(LINE, 0.1), 900),
        (fw.KRR(LINE, 6.0), 80),
    ]
    parts = [(one, many / 4980, "") for one, many in mechanisms]
    told = information_of(LINE, parts, 0.9 * ZIPF + 0.001, 4980)
    rows = np.stack([np.arange(100.0), np.eye(100)[7], np.ones(100)])
    influences = told.influences(rows)
    squares = []
    for one, many in mechanisms:
        law = one.law().T
        fitted = law @ told.theta
        squares.append(np.repeat([fitted @ (law @ influences.T / fitted[:, None]) ** 2], many, 0))
    each = np.concatenate(squares)[:, :2]
    wanted = each.sum(axis=0) ** 2 / (each**2).sum(axis=0)
    found = told.shape(rows, influences).effective_people
    assert found[:2] == pytest.approx(wanted)
    assert found[2] == 4980  # a constant rests on nobody's report


def test_one_group_that_tells_all_is_whom_it_rests_on():
    blind, sharp = fw.KRR(LINE, 1e-6), fw.Identity(LINE)
    values = np.random.default_rng(1).choice(100, 60, p=ZIPF)
    evidence = fw.collect([(blind, np.arange(100), np.full(100, 500)), (sharp, values)])
    assert fw.intervals(evidence, "mean").effective_people == pytest.approx(60, rel=1e-3)


@pytest.mark.later
def test_bits_and_forgeries_and_choice_laws_and_quantiles_and_comparisons_tell_it_too():
    rng = np.random.default_rng(2)
    bits, symbols = fw.RAPPOR(LINE, 0.05), fw.KRR(LINE, 8.0)
    values = rng.choice(100, 2040, p=ZIPF)
    parts = [
        (bits, bits.obfuscate(values[:2000], rng)),
        (symbols, symbols.obfuscate(values[2000:])),
    ]
    mixed = fw.collect(parts)
    assert WARNED in fw.intervals(mixed, "mean").advice
    evidence = evidence_of("50,000 k-RR 1, 20 k-RR 8: mean")
    for level in ("median", "quartiles"):
        assert WARNED in fw.intervals(evidence, level).advice
    assert WARNED in fw.robust(evidence).intervals("mean").advice
    calm = fw.collect([(symbols, np.arange(100), np.full(100, 100))])
    for of in ("mean", "median"):
        comparison = fw.compare(calm, evidence, of)
        assert comparison.advice.startswith("In the other: ")
        assert comparison.advice in str(comparison)
        assert not fw.compare(calm, calm, of, equal=True).advice
    alone, band = (fw.fit(evidence).intervals(joint=joint) for joint in (False, True))
    assert WARNED in alone.advice
    assert WARNED in band.advice


def test_the_command_line_tells_it_on_stderr_and_in_json(tmp_path):
    evidence = evidence_of("50,000 k-RR 1, 20 k-RR 8: mean")
    path, calm = tmp_path / "few.parquet", tmp_path / "calm.parquet"
    save_evidence(evidence, path)
    symbols = fw.KRR(LINE, 8.0)
    save_evidence(fw.collect([(symbols, np.arange(100), np.full(100, 100))]), calm)
    shown = run("estimate", path, "--intervals", "--bins", 10)
    assert WARNED in " ".join(shown.stderr.split())
    told = run_json("estimate", path, "--intervals", "--bins", 10)["intervals"]
    assert WARNED in told["advice"]
    assert min(told["effective_people"]) < FEW
    assert WARNED in run_json("compare", path, calm, "--of", "mean")["advice"]
    assert WARNED in " ".join(run("compare", path, calm, "--of", "mean").stderr.split())
    assert WARNED not in run("estimate", calm, "--intervals").stderr


def test_the_collector_and_the_notebook_tell_it():
    evidence = evidence_of("50,000 k-RR 1, 20 k-RR 8: mean")
    estimate = fw.gibu(evidence)
    assert WARNED in uncertainty_of(fw.fit(evidence))["intervals"]["advice"]
    assert WARNED in estimate._repr_html_()


@pytest.mark.slow
def test_plans_tell_below_how_many_people_errors_rest_on_few(tmp_path):
    line = fw.Linear(0, 9)
    survey = fw.Survey(line, {"private": fw.KRR(line, 0.1), "open": fw.KRR(line, 8.0)})
    shares, truth = {"private": 0.999, "open": 0.001}, ZIPF[:10] / ZIPF[:10].sum()
    plan = fw.plan(survey, shares, truth, people=50_000, of="mean")
    assert "Below some " in plan.advice
    assert PLANNED in str(plan)
    enough = fw.plan(survey, shares, truth, people=10**6, of="mean")
    assert not enough.advice
    needed = fw.plan(survey, shares, truth, people=10**6, of="mean", target=1.0)
    assert needed.needed < 50_000
    assert PLANNED in needed.advice
    equal = fw.plan(survey, None, truth, people=100, of="mean")
    assert not equal.advice
    path = tmp_path / "survey.json"
    survey.save(path)
    command = ["plan", path, "--share", "private=0.999", "--share", "open=0.001"]
    command += ["--people", 50_000, "--of", "mean"]
    assert PLANNED in run_json(*command)["advice"]
    assert PLANNED in " ".join(run(*command).stdout.split())


def test_the_collectors_plan_tells_it(tmp_path):
    pytest.importorskip("starlette")
    from service_cases import sent, served  # noqa: PLC0415

    survey = fw.Survey(LINE, {"private": fw.KRR(LINE, 0.5), "open": fw.Identity(LINE)})
    rng = np.random.default_rng(0)
    values = rng.choice(100, 3010, p=ZIPF)
    reports = survey.mechanisms["private"].obfuscate(values[:3000], rng)
    rows = [sent("private", int(one)) for one in reports]
    rows += [sent("open", int(one)) for one in values[3000:]]
    answers = {}

    async def work(client):
        await client.post(rows)
        for target in (5, 0.1):
            address = f"/v1/surveys/{client.survey}/plan?target={target}&of=mean"
            answers[target] = (await client.get(address, admin=True)).json

    served(work, tmp_path / "store.db", survey)
    assert PLANNED in answers[5]["advice"]
    assert answers[5]["needed"] < 90_000 < answers[0.1]["needed"]
    assert not answers[0.1]["advice"]
