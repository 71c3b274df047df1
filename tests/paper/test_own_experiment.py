"""Experiments of one's own: what a file may say, what is run, kept and reported."""

import csv
import json

import numpy as np
import pytest

import freewill as fw
from cli_cases import run
from freewill.paper.experiment import Experiment, run_experiment

pytest.importorskip("matplotlib", reason="reports have pictures")

LINE = {"kind": "linear", "first": 0, "last": 9, "step": 1}
HEAD = """
people = [300, 60]
seeds = 2
methods = ["gibu", "inversion-m", "one-step"]
"""
STRICT = """
[surveys.strict]
"freewill survey" = 1
alphabet = {kind = "linear", first = 0, last = 9, step = 1}
mechanisms = {a = {mechanism = "k-rr", epsilon = 1.0}, b = {mechanism = "geometric", epsilon = 0.5}}
"""


def written(tmp_path, text, name="own.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_says_what_is_run(tmp_path):
    mild = fw.Survey(fw.Linear(0, 9), {"open": fw.Identity(fw.Linear(0, 9))})
    mild.save(tmp_path / "mild.json")
    text = HEAD + 'title = "Two"\n' + STRICT.replace("[surveys.strict]", "[surveys.strict]", 1)
    text = text.replace("[surveys.strict]", '[surveys]\nmild = "mild.json"\n[surveys.strict]', 1)
    path = written(
        tmp_path, text.replace('"one-step"', '"em"') + "[shares.strict]\na = 0.25\nb = 0.75\n"
    )
    own = Experiment.load(path)
    assert (own.title, own.people, own.seeds) == ("Two", (60, 300), 2)
    assert [one.name for one in own.settings] == ["mild", "strict"]
    assert own.settings[0].survey == mild
    assert own.settings[1].shares == (0.25, 0.75)
    evidence, values = own.settings[1].draw(4000, 0)
    assert evidence.people == values.size == 4000
    many = {name: group.people for name, group in zip("ab", evidence.groups, strict=True)}
    assert sorted(many.values())[0] == pytest.approx(1000, abs=120)
    again, _ = own.settings[1].draw(4000, 0)
    assert [g.counts.tolist() for g in again.groups] == [g.counts.tolist() for g in evidence.groups]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", "0\n0\n1\n3\n"),
        ("w.csv", "age\n0\n0\n1\n3\n"),
        ("w.csv", "age,count\n0,2\n1,1\n3,1\n"),
        ("w.json", json.dumps({"theta": [0.5, 0.25, 0, 0.25, 0, 0, 0, 0, 0, 0]})),
    ],
)
def test_a_truth_comes_from_a_file(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    own = Experiment.load(written(tmp_path, f'truth = "{name}"\n' + STRICT))
    np.testing.assert_allclose(own.settings[0].truth, [0.5, 0.25, 0, 0.25, *[0] * 6])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("people = [1]", "people=.*from 2 to"),
        ("seeds = 0", "seeds=.*from 1 to"),
        ('seeds = "many"', "seeds=.*whole numbers"),
        ("methods = []", "methods=.*expected a list"),
        ('methods = ["gibbu"]', "method gibbu: expected gibu"),
        ('truth = "one peek"', "truth='one peek': expected one of uniform, one peak"),
        ('truth = "none.csv"', "there is no file"),
        ("truth = [1, 2]", "truth"),
        ("title = 3", "title=3: expected a text"),
        ("peple = 3", "unknown field 'peple'.*Did you mean 'people'"),
        ("[shares.strickt]\na = 1.0", "shares of 'strickt'"),
        ("[shares.strict]\na = 0.5", "shares sum to 0.5"),
        ('[surveys."../up"]\n"freewill survey" = 1', "expected a name of letters"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    survey_last = text.startswith("[")
    whole = STRICT + text if survey_last else text + "\n" + STRICT
    with pytest.raises(fw.ParameterError, match=message):
        Experiment.load(written(tmp_path, whole))


def test_no_surveys_and_no_toml_are_refused(tmp_path):
    with pytest.raises(fw.ParameterError, match="expected a table of survey files"):
        Experiment.load(written(tmp_path, "seeds = 3"))
    with pytest.raises(fw.ParameterError, match="not valid TOML"):
        Experiment.load(written(tmp_path, "seeds = = 3"))


def test_rows_outside_the_alphabet_are_refused(tmp_path):
    (tmp_path / "w.csv").write_text("age\n3\n77\n")
    with pytest.raises(fw.ParameterError, match=r"1 row of .* no value of 0\.\.9"):
        Experiment.load(written(tmp_path, 'truth = "w.csv"\n' + STRICT))


@pytest.mark.later
def test_a_run_is_reported_and_resumed(tmp_path):
    path, out = written(tmp_path, HEAD + STRICT), tmp_path / "out"
    assert f"report: {out / 'report.html'}" in run("experiment", path, "--out", out).stdout
    page = (out / "report.html").read_text()
    for text in ("strict", "60 people", "GIBU", "[INV]M", "one-step", "k-rr(epsilon=1)", "1-LDP"):
        assert text in page
    assert 'src="data:image/svg' in page
    assert "http" not in page.replace("http://www.w3.org", "")
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 3
    kept = next((out / "rows").iterdir())
    before = kept.read_text()
    run("experiment", path, "--out", out)
    assert kept.read_text() == before


def test_rows_are_those_of_the_methods_on_the_same_draw(tmp_path):
    own = Experiment.load(written(tmp_path, HEAD.replace(', "one-step"', "") + STRICT))
    run_experiment(own, tmp_path / "out")
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = {(r["method"], int(r["people"]), int(r["seed"])): r for r in csv.DictReader(file)}
    setting = own.settings[0]
    for people, seed in ((60, 0), (300, 1)):
        theta = fw.gibu(setting.draw(people, seed)[0]).theta
        expected = fw.emd(theta, setting.truth, setting.alphabet)
        assert float(rows["gibu", people, seed]["emd"]) == pytest.approx(expected, rel=1e-3)
