"""Surveys, reports and evidence in files: written, read back, merged, damaged."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.errors import EvidenceError, ReportError, SurveyError
from freewill.io import evidence_file
from freewill.io.evidence_file import is_evidence, load_evidence, save_evidence
from freewill.io.reading import read, read_reports
from freewill.io.writing import write_reports
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


@pytest.mark.slow
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
    with pytest.raises(EvidenceError, match="no people"):
        save_evidence(nobody, tmp_path / "e.parquet")
    assert not any(tmp_path.iterdir())


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


def rewritten(path, table, **changes):
    """Write a table of evidence with some fields of its first mechanism's head changed."""
    head = json.loads(table.schema.metadata[b"freewill evidence"])
    head["mechanisms"][0] |= changes
    meta = {b"freewill evidence": json.dumps(head).encode()}
    parquet.write_table(table.replace_schema_metadata(meta), path)


@pytest.mark.parametrize("survey", [menu_survey(), wide_survey()], ids=["menu", "wide"])
@pytest.mark.parametrize("hold", [0, 1 << 30])
def test_people_and_outputs_must_be_as_the_head_tells(tmp_path, survey, hold):
    path = tmp_path / "e.parquet"
    save_evidence(expected(survey, drawn(survey, 1000)), path)
    table = parquet.read_table(path)
    first = load_evidence(path).groups[0]
    rewritten(path, table, people=first.people, outputs=first.rows)
    assert load_evidence(path, hold=hold).groups[0] == first
    for wrong in (
        {"people": first.people + 1},
        {"people": first.people - 1},
        {"outputs": first.rows + 1},
        {"people": 0, "outputs": 0},
    ):
        rewritten(path, table, **wrong)
        with pytest.raises(EvidenceError, match=r"damaged \(.*(it says|distinct outputs)"):
            load_evidence(path, hold=hold)
    # Counts that moved from one output to another are still as many people; a lost one is not.
    counts = table.column("count").to_pylist()
    column = pa.array([counts[0] + 1, *counts[1:]], pa.int64())
    parquet.write_table(table.set_column(table.column_names.index("count"), "count", column), path)
    with pytest.raises(EvidenceError, match="not as it says"):
        load_evidence(path, hold=hold)


def changed_rows(table):
    """Yield tables of evidence with one row that cannot be, and words of the error."""
    place = {name: table.column_names.index(name) for name in table.column_names}
    outputs = next(name for name in table.column_names if name not in ("mechanism", "count"))
    cannot, without = "an output or a count that .* cannot have", "without an output or a count"
    for name, value, words in (
        ("count", 0, cannot),
        ("count", -1, cannot),
        ("count", None, without),
        (outputs, None, without),
        (outputs, 99 if outputs == "symbol" else b"\xff\xff\xff\xff", cannot),
        (outputs, -1 if outputs == "symbol" else b"\x00", cannot),
        ("mechanism", None, "without a mechanism"),
        ("mechanism", "other", "not as it says"),
    ):
        column = table.column(name)
        rows = [value, *column.to_pylist()[1:]]
        yield table.set_column(place[name], name, pa.array(rows, column.type)), words
    # Counts of another type.
    floats = table.column("count").cast(pa.float64())
    yield table.set_column(place["count"], "count", floats), "a column 'count' of type double"
    yield table.drop_columns(["count"]), "count"


@pytest.mark.parametrize("name", ["symbols", "bits"])
def test_rows_of_evidence_that_cannot_be_are_refused(tmp_path, name):
    path, survey = tmp_path / "e.parquet", wide_survey()
    mechanism = survey.find("geo" if name == "symbols" else "bits")
    rng = np.random.default_rng(0)
    reports = mechanism.obfuscate(rng.integers(30, size=50), rng)
    save_evidence(fw.collect([(mechanism, reports)]), path)
    whole = parquet.read_table(path)
    for table, words in changed_rows(whole):
        parquet.write_table(table, path)
        for hold in (0, 1 << 30):
            with pytest.raises(EvidenceError, match=f"not evidence, or it is damaged .*{words}"):
                load_evidence(path, hold=hold)
    parquet.write_table(whole, path)
    assert load_evidence(path).people == 50


def test_evidence_of_an_output_that_cannot_be_is_refused(tmp_path):
    path = tmp_path / "e.parquet"
    never = fw.Matrix(fw.Linear(0, 1), [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    save_evidence(fw.collect([(never, [0, 1])]), path)
    table = parquet.read_table(path)
    parquet.write_table(table.set_column(1, "symbol", pa.array([0, 2])), path)
    with pytest.raises(EvidenceError, match=r"output 2 of matrix.*1 time,.*probability 0"):
        load_evidence(path)


def test_evidence_keeps_counts_names_and_wide_rows(tmp_path):
    path, survey = tmp_path / "e.parquet", wide_survey()
    parts, bits = dict(drawn(survey, 300)), survey.find("bits")
    counts = np.arange(1, 101)
    write_reports(tmp_path / "r.parquet", [("geo", parts["geo"]), ("sharp", parts["sharp"])])
    evidence = read_reports(tmp_path / "r.parquet", survey)
    evidence += fw.collect([(bits, parts["bits"], counts)])
    save_evidence(evidence, path)
    table = parquet.read_table(path)
    assert table.column_names == ["mechanism", "symbol", "bits", "count"]
    assert sum(table.column("count").to_pylist()) == 200 + counts.sum()
    for hold in (0, 1 << 30):
        again = load_evidence(path, hold=hold)
        assert again == evidence
        assert sorted(group.name for group in again.groups) == ["", "geo", "sharp"]
        assert again.held == (hold > 0)
        (group,) = again.only(bits.id).groups
        assert (group.people, group.rows) == (counts.sum(), 100)
        assert group.counts.tolist() == counts.tolist()
        np.testing.assert_array_equal(group.outputs, parts["bits"])


def twice_counted(group):
    """Return the outputs of a group that was merged with itself, each with a count of 2."""
    if group.table is not None:
        return group.table
    half = group.outputs[: group.rows // 2]
    return half, np.full(len(half), 2)


def test_rows_that_stay_in_the_file_are_looked_at_once(tmp_path, monkeypatch):
    path, survey = tmp_path / "e.parquet", wide_survey()
    save_evidence(expected(survey, drawn(survey, 300)), path)
    seen, block = [], evidence_file._block
    monkeypatch.setattr(
        evidence_file, "_block", lambda *some: seen.append(block(*some)) or seen[-1]
    )
    for hold in (0, 1 << 30):
        seen.clear()
        assert load_evidence(path, hold=hold).people == 300
        assert sum(found.people for found in seen) == 300


def test_wide_rows_stay_in_the_file_if_they_are_more_than_held(tmp_path):
    path, survey = tmp_path / "e.parquet", wide_survey()
    save_evidence(expected(survey, drawn(survey, 300)), path)
    # 200 reports of 30 bits, 4 bytes each; what is counted lies in memory anyhow.
    assert load_evidence(path, hold=800).held
    assert not load_evidence(path, hold=799).held
    there = load_evidence(path, hold=0)
    assert [group.table is None for group in there.groups] == [False, True, True]
    assert str(there.groups[1].streams[0].source) == str(path)
    twice = fw.merge([load_evidence(path)] * 2)
    pairs = [(group.mechanism, *twice_counted(group)) for group in twice.groups]
    save_evidence(fw.collect(pairs), path)
    assert load_evidence(path) == twice
    assert load_evidence(path, hold=0) == twice
    with there:
        assert there.people == 300


def test_evidence_of_many_batches_is_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_file, "_BATCH_ROWS", 7)
    monkeypatch.setattr("freewill.stats.groups._BLOCK_BYTES", 100)
    path, survey = tmp_path / "e.parquet", wide_survey()
    evidence = expected(survey, drawn(survey, 300)) + expected(survey, drawn(survey, 90, 1))
    save_evidence(evidence, path)
    for hold in (0, 1 << 30):
        assert load_evidence(path, hold=hold) == evidence
        again = tmp_path / "again.parquet"
        save_evidence(load_evidence(path, hold=hold), again)
        assert load_evidence(again) == evidence


def test_evidence_of_the_first_version_is_still_read(tmp_path):
    path, survey = tmp_path / "e.parquet", wide_survey()
    evidence = expected(survey, drawn(survey, 300))
    save_evidence(evidence, path)
    table = parquet.read_table(path)
    head = json.loads(table.schema.metadata[b"freewill evidence"])
    entries = head["mechanisms"]
    old = {
        "version": 1,
        "alphabet": head["alphabet"],
        "mechanisms": [entry["spec"] for entry in entries],
        "outputs": [entry["outputs"] for entry in entries],
        "people": [entry["people"] for entry in entries],
    }
    for wrong, words in (
        ({}, None),
        ({"people": [1, 1, 1]}, "not as it says"),
        ({"outputs": old["outputs"][:2]}, "damaged"),
        ({"version": 0}, "version 0"),
        ({"version": 5}, "version 5; this release reads versions up to 4"),
    ):
        meta = {b"freewill evidence": json.dumps(old | wrong).encode()}
        parquet.write_table(table.replace_schema_metadata(meta), path)
        if words is None:
            assert load_evidence(path) == evidence
            assert {group.name for group in load_evidence(path).groups} == {""}
            continue
        with pytest.raises(EvidenceError, match=words):
            load_evidence(path)


def test_a_flipped_bit_of_a_page_is_noticed(tmp_path):
    """Pages have checksums: content that would still decode is refused."""
    path, bits = tmp_path / "e.parquet", fw.RAPPOR(fw.Linear(0, 63), 1.0)
    rng = np.random.default_rng(0)
    save_evidence(fw.collect([(bits, bits.obfuscate(rng.integers(64, size=2000), rng))]), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    for hold in (0, 1 << 30):
        with pytest.raises(EvidenceError, match=r"damaged.*(CRC|checksum|corrupt)"):
            load_evidence(path, hold=hold)


def test_evidence_that_cannot_be_written_leaves_nothing(tmp_path):
    evidence = fw.collect([(fw.KRR(LINE, 1.0), [1])])
    with pytest.raises(EvidenceError, match="cannot be written"):
        save_evidence(evidence, tmp_path / "nowhere" / "e.parquet")
    assert list(tmp_path.iterdir()) == []
    assert not is_evidence(tmp_path / "nowhere.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    assert not is_evidence(tmp_path / "text.parquet")
