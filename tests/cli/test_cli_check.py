"""`freewill check`: one verdict a line, an exit code for scripts, and JSON."""

import numpy as np
import pytest

import freewill as fw
from cli_cases import AGES, MENU, refused, run, run_json
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.stats import fit as module
from freewill.stats import misfit

NAMES = ["people", "identified", "free choice", "laws", "information"]
SHY, BOLD = fw.Geometric(AGES, 0.1), fw.KRR(AGES, 5.0)


def saved(path, parts, seed=0):
    """Save the evidence of people with these values, a list for each mechanism."""
    rng = np.random.default_rng(seed)
    evidence = fw.collect([(one, one.obfuscate(np.asarray(some), rng)) for one, some in parts])
    save_evidence(evidence, path)
    return path


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    """Evidence: a free choice, one by the value, one mechanism, few people, and what is blind."""
    folder = tmp_path_factory.mktemp("check")
    rng = np.random.default_rng(4)
    ages = np.clip(rng.normal(45, 15, 4000), 0, 99).astype(int)
    old = rng.random(4000) < np.where(ages > 50, 0.9, 0.1)
    parts = {
        "free": [(SHY, ages[:2000]), (BOLD, ages[2000:])],
        "step": [(SHY, ages[old]), (BOLD, ages[~old])],
        "one": [(BOLD, ages)],
        "few": [(SHY, ages[:20]), (BOLD, ages[20:60])],
        "two people": [(SHY, ages[:1]), (BOLD, ages[1:2])],
        "alone": [(BOLD, ages[:1])],
        "blind": [(fw.Matrix(AGES, np.repeat(np.eye(50), 2, axis=0)), ages)],
        "dark": [(fw.Matrix(AGES, np.full((100, 2), 0.5)), ages)],
        "single": [(fw.Identity(fw.Linear(7, 7)), [0] * 400)],
        "wide": [(fw.RAPPOR(AGES, 4.0), ages[:1000]), (BOLD, ages[1000:])],
        "large": [(fw.KRR(fw.Linear(0, 1999), 8.0), ages), (fw.KRR(fw.Linear(0, 1999), 7.0), ages)],
        "menu": [(fw.KRR(MENU, 1.0), [0] * 4000 + [1] * 1000), (fw.KRR(MENU, 3.0), [1, 2] * 3000)],
    }
    return {name: saved(folder / f"{name}.parquet", some) for name, some in parts.items()}


def lines(result):
    """The verdicts by their names: a word, and what is said."""
    rows = [line.split("  ") for line in result.stdout.splitlines()]
    found = {row[0]: [part.strip() for part in row[1:] if part.strip()] for row in rows}
    assert list(found) == NAMES
    return found


def test_all_is_well_where_the_choice_is_free(bodies):
    found = lines(run("check", bodies["free"]))
    assert [found[name][0] for name in NAMES] == ["holds", "holds", "holds", "holds", "-"]
    assert "4,000 people" in found["people"][1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["free", "step"])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_json_has_what_the_library_says(bodies, name, level):
    evidence = load_evidence(bodies[name])
    expected = fw.check_choice(evidence, level)
    shown = run_json("check", bodies[name], "--level", level, code=0 if expected.holds else 1)
    choice = shown["checks"]["free_choice"]
    assert (shown["holds"], shown["level"]) == (expected.holds, level)
    assert choice["holds"] is expected.holds
    assert choice["p_value"] == pytest.approx(expected.p_value, rel=1e-4, abs=1e-12)
    assert [one["name"] for one in choice["groups"]] == [one.name for one in expected.groups]
    told, groups = fw.information(evidence), shown["checks"]["information"]["groups"]
    for one, group in zip(groups, evidence.groups, strict=True):
        assert one["share"] == pytest.approx(told.share(group.mechanism), rel=1e-3)


@pytest.mark.slow
def test_a_choice_by_the_value_fails_and_is_told(bodies):
    result = run("check", bodies["step"], code=1)
    found = lines(result)
    word, told = found["free choice"]
    assert word == "FAILS"
    assert "geometric(0..99, epsilon=0.1) is chosen more from" in told
    assert run_json("check", bodies["menu"], code=1)["checks"]["free_choice"]["holds"] is False


def test_one_mechanism_has_no_choice_and_does_not_fail(bodies):
    found = lines(run("check", bodies["one"]))
    word, told = found["free choice"]
    assert word == "-"
    assert "no choice to test" in told
    assert "nothing else would contradict it" in found["information"][1]
    shown = run_json("check", bodies["step"], "--only", "k-rr")
    assert shown["holds"] is True
    assert shown["checks"]["free_choice"]["holds"] is None


def test_few_people_fail(bodies):
    found = lines(run("check", bodies["few"], code=1))
    assert found["people"][0] == "FAILS"
    assert "60 people: below 300" in found["people"][1]
    assert (
        "not tested: geometric(0..99, epsilon=0.1) (of 20 people, and 30" in found["free choice"][1]
    )
    shown = run_json("check", bodies["few"], code=1)["checks"]["free_choice"]
    assert list(shown["left_out"]) == ["geometric(0..99, epsilon=0.1)"]
    found = lines(run("check", bodies["two people"], code=1))
    assert found["free choice"][0] == "-"
    assert "no group can be tested" in found["free choice"][1]
    assert "of 1 person: freewill check needs two" in refused("check", bodies["alone"])


def test_what_cannot_be_told_apart_fails(bodies):
    found = lines(run("check", bodies["blind"], code=1))
    assert found["identified"][0] == "FAILS"
    assert "50 directions" in found["identified"][1]
    expected = fw.gibu(load_evidence(bodies["blind"])).unresolved
    assert (
        run_json("check", bodies["blind"], code=1)["checks"]["identified"]["unresolved"] == expected
    )
    assert lines(run("check", bodies["dark"], code=1))["identified"][0] == "FAILS"


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["single", "wide", "large"])
def test_evidence_of_every_size_and_kind(bodies, name):
    found = lines(run("check", bodies[name]))
    assert found["information"][0] == "-"


@pytest.mark.later
def test_reports_are_read_by_their_survey(folder):
    shown = run(
        "check",
        folder / "monday.reports.parquet",
        "-s",
        folder / "survey.json",
        "--level",
        0.99,
        "--json",
    )
    again = run("check", folder / "monday.parquet", "--level", 0.99, "--json")
    assert shown.exit_code == again.exit_code
    assert '"free_choice"' in shown.stdout
    assert "--survey" in refused("check", folder / "monday.reports.parquet")


@pytest.mark.parametrize("level", ["0", "1", "-1", "95"])
def test_levels_that_are_none(bodies, level):
    assert "between 0 and 1" in refused("check", bodies["free"], "--level", level)


def test_another_check_is_one_line(bodies, monkeypatch):
    left = {f"left {n}": "too small" for n in range(7)}
    broken = module.Verdict(False, "the client is broken", {"p_value": 0.01, "left_out": left})
    monkeypatch.setitem(module.CHECKS, "moods", lambda fit, level: broken)
    result = run("check", bodies["free"], code=1)
    last = result.stdout.splitlines()[-1]
    assert last.startswith(
        "moods        FAILS  the client is broken; not tested: left 0 (too small),"
    )
    assert last.endswith("left 4 (too small) and 2 more.")
    shown = run_json("check", bodies["free"], code=1)["checks"]["moods"]
    assert shown == {
        "holds": False,
        "verdict": "the client is broken",
        "advice": "",
        "p_value": 0.01,
        "left_out": left,
    }


@pytest.mark.slow
def test_nobody_is_blamed_for_a_choice_by_the_value(bodies):
    found = lines(run("check", bodies["step"], code=1))
    word, told = found["laws"]
    assert word == "holds"
    assert "given who chooses what" in told
    assert "reports too" not in told
    shown = run_json("check", bodies["step"], code=1)["checks"]["laws"]
    assert (shown["holds"], shown["given_choice"]) == (True, True)
    assert not any(one["wrong_epsilon"] or one["sticking_out"] for one in shown["groups"])


@pytest.mark.later
def test_laws_are_not_told_apart_where_the_choice_law_is_too_large(bodies, monkeypatch):
    def refuse(*_, **__):
        raise fw.ParameterError("too large.")

    monkeypatch.setattr(misfit, "fit_beside_choice", refuse)
    word, told = lines(run("check", bodies["step"], code=1))["laws"]
    assert word == "-"
    assert "cannot be told apart from a choice that depends on the value: too large" in told
