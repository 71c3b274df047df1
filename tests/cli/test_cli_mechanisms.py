"""`freewill menu` and `freewill compare-mechanisms`."""

import freewill as fw
from cli_cases import run, run_json


def test_a_menu_of_kinds():
    text = run("menu", "0..9", "-l", 1, "-k", "k-rr", "-k", "rappor", "--of", "mean").stdout
    assert "epsilon of local differential privacy" in text
    offers = run_json("menu", "0..9", "-l", 1, "-k", "k-rr", "--of", "mean")["offers"]
    assert [offer["best"] for offer in offers] == [True]
    assert offers[0]["spec"]["mechanism"] == "k-rr"
    assert "no-such" in run("menu", "0..9", "-l", 1, "-k", "no-such", code=2).stderr


def test_mechanisms_at_one_level(tmp_path):
    given = ("--people", 200, "--runs", 2)
    text = run("compare-mechanisms", "a,b,c", "-l", 1, "-k", "k-rr", "-k", "rappor", *given).stdout
    assert "k-rr(epsilon=1)" in text
    assert "rappor(epsilon=1)" in text
    every = run_json("compare-mechanisms", "a,b,c", "-l", 1, *given)
    assert every["schema"] == "freewill/mechanisms"
    assert len(every["mechanisms"]) >= 2


def test_mechanisms_of_a_survey(tmp_path):
    line = fw.Linear(0, 4)
    path = tmp_path / "survey.json"
    fw.Survey(line, {"shy": fw.KRR(line, 1.0), "bold": fw.KRR(line, 3.0)}).save(path)
    found = run_json("compare-mechanisms", path, "--people", 200, "--runs", 2, "--mixture")
    names = {row["mechanism"] for row in found["mechanisms"]}
    assert names == {"shy", "bold", "all of them"}


def test_a_level_is_asked_for():
    assert "no --level" in run("compare-mechanisms", "0..9", code=2).stderr
