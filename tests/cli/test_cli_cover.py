"""A cover on the command line: made, verified, told of and drawn by."""

import json

import pytest

import freewill as fw
from cli_cases import refused, run, run_json


def test_a_covered_survey_from_its_making_to_its_reports(tmp_path):
    path, values, out = (tmp_path / name for name in ("s.json", "v.csv", "r.csv"))
    given = ["-a", "0..9", "--epsilon", "-l", "shy=0.5", "-l", "open=2", "--cover", "1"]
    assert "cover(epsilon=1)" in run("init", path, *given).stdout
    survey = fw.Survey.load(path)
    assert survey.cover == fw.Cover(dict(survey.mechanisms), 1.0)
    audits = run_json("audit", path)["audits"]
    assert audits["cover(epsilon=1)"]["claim"]["epsilon"] == 3.0
    assert audits["cover(epsilon=1)"]["tight"]
    assert "drawn, too" in run("explain", path).stdout
    values.write_text("n\n" + "3\n" * 4000)
    drawn = run_json(
        "obfuscate", values, "-s", path, "-c", "n", "--mechanism", "shy", "--seed", 1, "-o", out
    )
    # 4000 / (1 + e) is 1076, with a standard deviation of 28.
    assert drawn["people"]["open"] == pytest.approx(1076, abs=110)


def test_several_questions_are_covered_each(tmp_path):
    path = tmp_path / "s.json"
    given = ["--ask", "a=0..9", "--ask", "b=x,y", "--epsilon", "-l", "shy=1", "-l", "open=3"]
    run("init", path, *given, "--cover", "1.5,protection")
    questions = json.loads(path.read_text())["questions"]
    assert [one["cover"] for one in questions] == [{"epsilon": 1.5, "towards": "protection"}] * 2
    values, out = tmp_path / "v.csv", tmp_path / "r.csv"
    values.write_text("a,b\n" + "3,x\n" * 200)
    drawn = run_json("obfuscate", values, "-s", path, "--mechanism", "open", "-o", out)
    assert 0 < drawn["people"]["a"]["shy"] < 100


def test_what_is_no_cover_is_refused(tmp_path):
    given = ["init", tmp_path / "s.json", "-a", "0..9", "--epsilon", "-l", "shy=0.5"]
    assert "from 2 to 256" in refused(*given, "--cover", "1")
    assert "towards='up'" in refused(*given, "-l", "open=2", "--cover", "1,up")
    assert "not a number" in run(*given, "-l", "open=2", "--cover", "much", code=2).stderr
