"""Surveys, paths and reports of the wrong kind: one error of our own, whatever came."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.errors import FreewillError
from freewill.outputs import Bits
from freewill.reports.reading import Reading, read
from freewill.reports.refusals import Invalid

LINE = fw.Linear(0, 9)
K = fw.KRR(LINE, 1.0)
SURVEY = fw.Survey(LINE, {"a": K})
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=2), some),
    max_leaves=5,
)


@given(anything)
def test_no_survey_is_made_of_anything(wrong):
    with pytest.raises(fw.SurveyError):
        fw.Survey(LINE, wrong)
    with pytest.raises(fw.SurveyError):
        fw.Survey(LINE, {"a": wrong})
    with pytest.raises(fw.SurveyError):
        fw.Survey(wrong, {"a": K})
    if wrong != "a":
        with pytest.raises(fw.SurveyError):
            SURVEY.find(wrong)


PATHS = [None, 5, 2.5, b"x.json", "", [], ["a"], "a\0b.json", "\ud800.json", "no/such/x.json"]


@pytest.mark.parametrize("path", PATHS, ids=repr)
def test_no_path_leaks_an_error_of_the_system(path):
    evidence = fw.collect([(K, [1])])
    for work in (
        lambda: fw.Survey.load(path),
        lambda: SURVEY.save(path),
        lambda: fw.write_reports(path, [("a", [1])], survey=SURVEY),
        lambda: fw.save_evidence(evidence, path),
        lambda: fw.load_evidence(path),
    ):
        with pytest.raises(FreewillError):
            work()


@pytest.mark.parametrize("path", ["a\0b.csv", "\ud800.csv", None, 5, b"x.csv", [None], [5]])
def test_no_source_leaks_an_error_of_the_system(path):
    with pytest.raises(fw.ReportError):
        fw.read_reports(path, SURVEY)


@pytest.mark.parametrize("rows", [[[1], [1, 2]], [[[1], [2, 3]]], None, "ab", 5, [[1, 2]]])
def test_packed_bits_are_rows_of_bytes(rows):
    with pytest.raises(fw.AlphabetError, match=r"expected uint8, \(n, 2\)"):
        Bits(10).checked(rows, "m")


@pytest.mark.parametrize("survey", [SURVEY, None], ids=["survey", "none"])
@pytest.mark.parametrize(
    "parts",
    [None, 5, [5], [("a",)], [(5, [1])], [("a", [[1], [1, 2]])], [("a", "x")], [("a", [0.5])]],
    ids=repr,
)
def test_only_what_obfuscate_gives_is_written(parts, survey, tmp_path):
    for kind in ("csv", "parquet", "ndjson"):
        with pytest.raises(fw.ReportError):
            fw.write_reports(tmp_path / f"r.{kind}", parts, survey=survey)
    assert [*tmp_path.iterdir()] == []


def test_names_are_shown_and_do_nothing_else():
    survey = fw.Survey(LINE, {"x\x1b[2J\n": K})
    rows = {"mechanism": ["x\x1b[2J\n", "\x1b[2J"], "report": [1, 1]}
    from_frame = read(pd.DataFrame(rows), survey)
    for told in (str(from_frame), str(from_frame.evidence), str(from_frame.evidence.groups[0])):
        assert "\x1b" not in told
        assert "x\\x1b[2J\\n: k-rr" in told


def test_one_is_told_in_the_singular():
    evidence = fw.collect([(K, np.array([1]))])
    reading = Reading(evidence, 1, 1, (Invalid("why", 1, ("x",)),))
    assert str(reading).splitlines()[:2] == ["1 row, 1 duplicate, 1 invalid", "  1 row: why (x)"]
    assert ", 1 mechanism, " in str(reading)
