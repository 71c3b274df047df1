"""`freewill plan`: tables, JSON, pictures and what it refuses."""

import json

import numpy as np
import pytest

import freewill as fw
from cli_cases import MENU, refused, run, run_json
from freewill.present import plots

LINE = fw.Linear(0, 19)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "survey.json"
    offered = {"careful": fw.Geometric(LINE, 0.3), "relaxed": fw.KRR(LINE, 3.0)}
    fw.Survey(LINE, offered).save(path)
    (path.parent / "theta.json").write_text(json.dumps({"theta": [0.05] * 20}))
    return path


def known(survey, *more):
    """Return the arguments of a plan that takes no time: the truth known, and people many."""
    return ["plan", survey, "--theta", survey.parent / "theta.json", "--people", 100_000, *more]


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_json_is_what_the_library_says(survey):
    shares = ["--share", "careful=0.25", "--share", "relaxed=0.75"]
    told = run_json(*known(survey, *shares, "--of", "mean", "--target", 0.1))
    plan = fw.plan(fw.Survey.load(survey), [0.25, 0.75], np.full(20, 0.05), 100_000, 0.1, of="mean")
    assert told["needed"] == plan.needed
    assert told["target_of"] == "half_width"
    assert told["expected"][0]["emd"] == plan.emd[0]
    assert told["expected"][0]["standard_error"] == plan.standard_error[0].tolist()
    assert told["mechanisms"]["careful"]["worth"] == plan.worth["careful"]


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_the_table_has_people_errors_and_mechanisms(survey):
    text = run(*known(survey, "--people", 200_000, "--target", 0.05)).stdout
    assert "100,000" in text
    assert "200,000" in text
    assert "one more person of a mechanism" in text
    assert "for an EMD of 0.05: " in text
    bins = run_json(*known(survey, "--bins", 5))
    assert bins["of"] == ["0..4", "5..9", "10..14", "15..19"]


@pytest.mark.usefixtures("rough_plans")
def test_equal_shares_and_the_worst_truth_by_default(survey):
    told = run_json("plan", survey, "--people", 100_000)
    assert told["mechanisms"]["careful"]["share"] == 0.5
    assert "the worst of 5 truths" in told["truth"]


@pytest.mark.usefixtures("rough_plans")
def test_a_target_out_of_reach_is_exit_code_1(survey, tmp_path):
    told = run_json(*known(survey, "--target", "1e-9"), code=1)
    assert told["needed"] is None
    blind = tmp_path / "blind.json"
    fw.Survey(MENU, {"blind": fw.Matrix(MENU, np.full((3, 2), 0.5))}).save(blind)
    told = run_json("plan", blind, "--people", 100, "--target", 0.1, code=1)
    assert told["expected"][0]["emd"] is None
    assert "cannot be told apart" in told["advice"]


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_pictures(survey, tmp_path):
    for name, more in (("a.png", []), ("b.svg", ["--of", "mean"]), ("c.pdf", ["--target", "1e-9"])):
        code = 1 if "1e-9" in more else 0
        run(*known(survey, *more, "--plot", tmp_path / name), code=code)
        assert (tmp_path / name).stat().st_size > 2000
    blank = fw.plan(
        fw.Survey(LINE, {"open": fw.Identity(LINE)}), theta=np.eye(20)[2], people=[50, 100_000]
    )
    plots.planned(blank, path=tmp_path / "zero.png")
    assert (tmp_path / "zero.png").exists()
    with pytest.raises(fw.ParameterError, match=r"fw\.plan"):
        plots.planned("plan", path=tmp_path / "none.png")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--share", "carful=1"], "Did you mean 'careful'"),
        (["--share", "careful=0.4"], "sum to 0.4"),
        (["--share", "careful"], "careful=0.3"),
        (["--share", "=1"], "careful=0.3"),
        (["--share", "careful=0.5", "--share", "careful=0.5"], "twice"),
        (["--share", "careful=-1", "--share", "relaxed=2"], "-1"),
        (["--target", "0"], "target=0"),
        (["--of", "mode"], "mode"),
        (["--of", "mean", "--bins", "5"], "take one"),
        (["--plot", "-"], "into a file"),
        (["--plot", "plan.txt"], ".png"),
    ],
)
def test_bad_options_are_refused(survey, options, message):
    assert message in refused(*known(survey, *options))


def test_bad_files_are_refused(survey, tmp_path):
    assert "no such survey" in refused("plan", tmp_path / "none.json")
    (tmp_path / "short.json").write_text("[1.0]")
    assert "20 values" in refused("plan", survey, "--theta", tmp_path / "short.json")
    own = survey.with_name("own.png")
    survey.rename(own)
    try:
        assert "--plot" in refused("plan", own, "--plot", own)
    finally:
        own.rename(survey)
    menu = tmp_path / "menu.json"
    fw.Survey(MENU, {"all": fw.KRR(MENU, 1.0)}).save(menu)
    assert "have none" in refused("plan", menu, "--bins", 2)
