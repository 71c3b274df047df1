"""Surveys, reports and evidence in files: written, read back, merged, damaged."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.errors import EvidenceError, ReportError, SurveyError
from freewill.reports import (
    is_evidence,
    load_evidence,
    read,
    read_reports,
    save_evidence,
    write_reports,
)
from report_cases import drawn, expected, menu_survey, wide_survey

LINE = fw.Linear(0, 9)
HEAD = '"freewill survey": 1, "alphabet": {"kind": "linear", "first": 0, "last": 9, "step": 1}'
ONE = '{"mechanism": "k-rr", "epsilon": 1.0}'
TWO = '{"mechanism": "k-rr", "epsilon": 2.0}'
TOML = """
"freewill survey" = 1
alphabet = {kind = "linear", first = 0, last = 9}
[mechanisms.careful]
mechanism = "k-rr"
epsilon = 1.0
"""


def test_surveys_are_written_and_read_back(tmp_path):
    for survey in (menu_survey(), wide_survey()):
        survey.save(tmp_path / "survey.json")
        again = fw.Survey.load(tmp_path / "survey.json")
        assert again == survey
        assert hash(again) == hash(survey)
        assert list(again.mechanisms) == list(survey.mechanisms)


def test_surveys_in_toml_and_without_names(tmp_path):
    (tmp_path / "s.toml").write_text(TOML)
    survey = fw.Survey.load(tmp_path / "s.toml")
    assert survey == fw.Survey(LINE, {"careful": fw.KRR(LINE, 1.0)})
    (tmp_path / "s.json").write_text(f'{{{HEAD}, "mechanisms": [{ONE}]}}')
    listed = fw.Survey.load(tmp_path / "s.json")
    assert list(listed.mechanisms) == [fw.KRR(LINE, 1.0).id]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("{", "not valid JSON"),
        ("[]", "a survey of type list"),
        (f"{{{HEAD}}}", "no field 'mechanisms'"),
        (f'{{{HEAD}, "mechanisms": {{}}}}', "at least one mechanism"),
        (f'{{{HEAD}, "mechanisms": 3}}', "mechanisms"),
        (f'{{{HEAD}, "mechanisms": {{"a": {ONE}, "a": {TWO}}}}}', "'a' is named twice"),
        (f'{{{HEAD}, "mechanisms": {{"a": {ONE}, "b": {ONE}}}}}', "name the same mechanism"),
        (f'{{{HEAD}, "mechanisms": [{ONE}, {ONE}]}}', "is named twice"),
        (f'{{{HEAD}, "mechanisms": {{"a": {{"mechanism": "x"}}}}}}', "mechanism 'a'"),
        (f'{{{HEAD}, "mechanisms": {{"a": {ONE}}}, "extra": 1}}', "extra"),
        (f'{{{HEAD.replace("1", "9", 1)}, "mechanisms": {{"a": {ONE}}}}}', "version 9"),
        (f'{{{HEAD.replace("linear", "round")}, "mechanisms": {{"a": {ONE}}}}}', "round"),
    ],
)
def test_damaged_surveys(tmp_path, text, words):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SurveyError, match=r"s\.json") as caught:
        fw.Survey.load(tmp_path / "s.json")
    assert words in str(caught.value)


def test_surveys_that_are_not_there_or_of_another_suffix(tmp_path):
    with pytest.raises(SurveyError, match="no such survey file"):
        fw.Survey.load(tmp_path / "s.json")
    (tmp_path / "s.yaml").write_text("a: 1")
    with pytest.raises(SurveyError, match=r"expected \.json or \.toml"):
        fw.Survey.load(tmp_path / "s.yaml")
    (tmp_path / "s.toml").write_text(TOML + TOML)
    with pytest.raises(SurveyError, match="not valid TOML"):
        fw.Survey.load(tmp_path / "s.toml")
    with pytest.raises(SurveyError, match=r"written as \.json"):
        menu_survey().save(tmp_path / "s.toml")


def test_a_survey_has_one_alphabet_and_clear_names():
    with pytest.raises(SurveyError, match="one survey has one alphabet"):
        fw.Survey(LINE, {"a": fw.KRR(fw.Linear(0, 8), 1.0)})
    first = fw.KRR(LINE, 1.0)
    with pytest.raises(SurveyError, match="the id of another"):
        fw.Survey(LINE, {"a": first, first.id: fw.KRR(LINE, 2.0)})
    with pytest.raises(SurveyError, match="not on offer: expected one of 'k', 'true'"):
        menu_survey().find("other")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson"])
@pytest.mark.parametrize("survey", [menu_survey(), wide_survey()], ids=["menu", "wide"])
def test_reports_are_written_and_read_back(tmp_path, suffix, survey):
    path, parts = tmp_path / f"r.{suffix}", drawn(survey, 2000)
    write_reports(path, parts)
    reading = read(path, survey, strict=True)
    assert (reading.evidence, reading.rows) == (expected(survey, parts), 2000)
    write_reports(path, iter(parts), survey=survey)
    assert read_reports(path, survey) == expected(survey, parts)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_reports_of_one_kind_keep_their_type(tmp_path):
    for reports, kind in (([1, 2], pa.int64()), (np.zeros((2, 2), np.uint8), pa.binary())):
        write_reports(tmp_path / "r.parquet", [("a", reports)])
        assert parquet.read_schema(tmp_path / "r.parquet").field("report").type == kind


def test_reports_that_cannot_be_written(tmp_path):
    with pytest.raises(ReportError, match=r"suffix"):
        write_reports(tmp_path / "r.txt", [("k", [1])])
    with pytest.raises(ReportError, match="cannot be written"):
        write_reports(tmp_path / "nowhere" / "r.csv", [("k", [1])])
    with pytest.raises(ReportError, match="reports of k-rr"):
        write_reports(tmp_path / "r.csv", [("k", [5])], survey=menu_survey())
    with pytest.raises(SurveyError, match="not on offer"):
        write_reports(tmp_path / "r.csv", [("x", [1])], survey=menu_survey())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("survey", [menu_survey(), wide_survey()], ids=["menu", "wide"])
def test_evidence_of_days_merges_to_that_of_all_rows(tmp_path, survey):
    days = [drawn(survey, 2000, seed) for seed in range(3)]
    for number, parts in enumerate(days):
        write_reports(tmp_path / f"{number}.parquet", parts)
        save_evidence(
            read_reports(tmp_path / f"{number}.parquet", survey), tmp_path / f"{number}.e"
        )
    first, second, third = (load_evidence(tmp_path / f"{number}.e") for number in range(3))
    whole = read_reports(tmp_path / "*.parquet", survey)
    assert third + first + second == whole
    merged, direct = fw.gibu(third + first + second), fw.gibu(whole)
    # Wide bits stand in another order, in which sums round otherwise.
    np.testing.assert_allclose(merged.theta, direct.theta, rtol=0, atol=1e-9)
    assert merged.log_likelihood == pytest.approx(direct.log_likelihood, rel=1e-13)


def test_evidence_of_nobody(tmp_path):
    nobody = fw.Evidence(LINE, ())
    save_evidence(nobody, tmp_path / "e.parquet")
    assert load_evidence(tmp_path / "e.parquet") == nobody
    assert is_evidence(tmp_path / "e.parquet")


def test_damaged_evidence(tmp_path):
    path = tmp_path / "e.parquet"
    save_evidence(expected(wide_survey(), drawn(wide_survey(), 3000)), path)
    content = path.read_bytes()
    for damaged in (b"", content[:50], content[:-9], b"PAR1" + bytes(300) + content[304:]):
        path.write_bytes(damaged)
        with pytest.raises(EvidenceError, match="damaged"):
            load_evidence(path)
    with pytest.raises(EvidenceError, match="no such file"):
        load_evidence(tmp_path / "nowhere.parquet")


def test_evidence_that_was_tampered_with(tmp_path):
    path = tmp_path / "e.parquet"
    save_evidence(fw.collect([(fw.KRR(LINE, 1.0), [1, 1, 2])]), path)
    table = parquet.read_table(path)
    parquet.write_table(table.slice(1), path)
    with pytest.raises(EvidenceError, match="damaged"):
        load_evidence(path)
    head = json.loads(table.schema.metadata[b"freewill evidence"]) | {"version": 7}
    meta = {b"freewill evidence": json.dumps(head).encode()}
    parquet.write_table(table.replace_schema_metadata(meta), path)
    with pytest.raises(EvidenceError, match="version 7"):
        load_evidence(path)
    write_reports(path, [("a", [1])])
    assert not is_evidence(path)
    with pytest.raises(EvidenceError, match="not evidence: it has the columns mechanism, report"):
        load_evidence(path)
