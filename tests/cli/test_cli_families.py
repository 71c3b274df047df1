"""Surveys with families on the command line: everyone's own epsilon, in a column."""

import json

import numpy as np
import pytest

import freewill as fw
from cli_cases import run

AGES = fw.Linear(0, 29, unit="year")
YOURS = fw.Family(fw.KRR, AGES, (0.5, 5.0))


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(11)
    survey = fw.Survey(AGES, {"yours": YOURS, "plain": fw.KRR(AGES, 2.0)}, question="How old?")
    survey.save(tmp_path / "s.json")
    ages, wishes = rng.binomial(29, 0.4, 900), rng.uniform(0.5, 5, 900)
    names = np.where(rng.random(900) < 0.8, "yours", "plain")
    rows = (f"{age},{wish:.4f},{name}" for age, wish, name in zip(ages, wishes, names, strict=True))
    (tmp_path / "v.csv").write_text("\n".join(["age,wish,name", *rows]) + "\n")
    return tmp_path, wishes[names == "yours"]


def obfuscated(folder, *more, code=0):
    given = ["obfuscate", folder / "v.csv", "-s", folder / "s.json", "-c", "age", "--seed", 5]
    return run(*given, "-o", folder / "r.csv", *more, code=code)


def test_reports_are_drawn_at_the_epsilons_of_a_column(files):
    folder, wishes = files
    obfuscated(folder, "--choice", "name", "--epsilon", "wish")
    evidence = fw.read_reports(folder / "r.csv", folder / "s.json")
    group = evidence.only("yours").groups[0]
    expected = np.bincount(YOURS.level(np.round(wishes, 4)), minlength=10)
    np.testing.assert_array_equal(group.public, expected)
    said = json.loads(run("estimate", folder / "r.csv", "-s", folder / "s.json", "--json").stdout)
    assert said["status"] == "certified"
    told = run("check", folder / "r.csv", "-s", folder / "s.json").output
    assert "yours, " in told


def test_without_a_column_levels_are_drawn_evenly(files):
    folder, _ = files
    obfuscated(folder)
    group = fw.read_reports(folder / "r.csv", folder / "s.json").only("yours").groups[0]
    assert np.all(group.public > 0)
    assert group.public.sum() == group.people


def test_epsilons_out_of_range_are_named(files):
    folder, _ = files
    text = (folder / "v.csv").read_text().splitlines()
    text[1] = "3,7.5,yours"
    (folder / "v.csv").write_text("\n".join(text) + "\n")
    told = obfuscated(folder, "--choice", "name", "--epsilon", "wish", code=2)
    assert "7.5" in told.output
    assert "from 0.5 to 5" in " ".join(told.output.split())


def test_a_column_of_epsilons_needs_somebody_to_use_it(files):
    folder, _ = files
    fw.Survey(AGES, {"plain": fw.KRR(AGES, 2.0)}).save(folder / "s.json")
    told = obfuscated(folder, "--epsilon", "wish", code=2)
    assert "lets people choose" in " ".join(told.output.split())


@pytest.mark.slow
def test_other_commands_take_surveys_with_families(files):
    folder, _ = files
    survey = folder / "s.json"
    assert "5-LDP" in run("audit", survey).output
    assert "Your own epsilon is what counts" in " ".join(run("explain", survey).output.split())
    assert "yours" in run("plan", survey, "--people", 1000).output
    obfuscated(folder)
    run("collect", folder / "r.csv", "-s", survey, "-o", folder / "e.parquet")
    assert fw.load_evidence(folder / "e.parquet").people == 900


def test_a_survey_with_a_range_is_made(tmp_path):
    out = tmp_path / "new.json"
    given = ["init", out, "-a", "yes,no", "--epsilon", "-q", "Do you?"]
    run(*given, "-l", "yours=0.5..4", "-l", "fixed=1")
    made = fw.Survey.load(out).mechanisms
    assert made["yours"] == fw.Family(fw.KRR, fw.Categorical(["yes", "no"]), (0.5, 4.0))
    assert made["fixed"].epsilon == 1.0
    told = run("init", tmp_path / "a.json", "-a", "0..9", "-q", "?", "-l", "yours=1..4", code=2)
    assert "Give --epsilon" in " ".join(told.output.split())
    told = run(*given[:1], tmp_path / "b.json", *given[2:], "-l", "yours=4..0.5", code=2)
    assert "lowest <= largest" in " ".join(told.output.split())
