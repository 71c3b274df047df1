"""`freewill audit --choice`: who chooses what, from a file, audited with the reports."""

import numpy as np
import pytest

import freewill as fw
from cli_cases import AGES, refused, run, run_json


@pytest.fixture
def survey(tmp_path):
    offered = {"shy": fw.Geometric(AGES, 0.05), "bold": fw.KRR(AGES, 5.0)}
    fw.Survey(AGES, offered).save(tmp_path / "survey.json")
    return tmp_path / "survey.json"


def written(survey, shy, values=None):
    path = survey.with_name("who.csv")
    values = np.arange(AGES.size) if values is None else values
    rows = [f"{value},{1 - shy[value]:.3f},{shy[value]:.3f}" for value in values]
    path.write_text("\n".join(["value,bold,shy", *rows, ""]))
    return path


def test_the_choice_is_audited_with_the_report(survey):
    old = np.where(np.arange(AGES.size) > 60, 0.9, 0.1)
    path = written(survey, old, np.arange(AGES.size)[::-1])
    shown = run("audit", survey, "--choice", path, code=1).stdout
    assert "61 seems 9.46 times as likely as 60; promised: 1.05 times" in shown
    assert shown.count("TELLS MORE") == 2
    ours = fw.audit(fw.Survey.load(survey), choice={"shy": old, "bold": np.round(1 - old, 3)})
    assert run_json("audit", survey, "--choice", path, code=1) == ours.to_dict()
    free = written(survey, np.full(AGES.size, 0.3))
    assert "TELLS MORE" not in run("audit", survey, "--choice", free).stdout


def test_what_is_no_choice_is_refused(survey):
    free = np.full(AGES.size, 0.3)
    half = written(survey, free, range(50))
    assert "has 50 rows of 50 values: expected" in refused("audit", survey, "--choice", half)
    twice = written(survey, free, [*range(99), 98])
    assert "has 100 rows of 99 values: expected" in refused("audit", survey, "--choice", twice)
    path = written(survey, free)
    assert "which are about the report" in refused("audit", survey, "--choice", path, "--exact")
    path.write_text("value,shy\n0,1\n")
    assert "has no column 'bold'" in refused("audit", survey, "--choice", path)
