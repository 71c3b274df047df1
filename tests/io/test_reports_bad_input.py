"""Bad files and frames get a message that says what came, what was expected and what to do."""

import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.errors import ReportError
from freewill.io import files as listing
from freewill.io.evidence_file import save_evidence
from freewill.io.reading import InvalidReports, SurveyCounting, read, read_reports
from freewill.io.writing import write_reports
from report_cases import as_text, drawn, expected, menu_survey, wide_survey

LINE = fw.Linear(0, 9)
SURVEY = fw.Survey(LINE, {"a": fw.KRR(LINE, 1.0), "b": fw.RAPPOR(LINE, 1.0)})
ROWS = pa.table({"mechanism": ["a", "a"], "report": [1, 2]})


def refused(source, *words, survey=SURVEY, **options):
    with pytest.raises(ReportError) as caught:
        read(source, survey, **options)
    for word in words:
        assert word in str(caught.value)
    assert "Traceback" not in str(caught.value)


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("kept", [3, 60, -1, -20])
def test_truncated_parquet(tmp_path, kept):
    write_reports(tmp_path / "whole.parquet", [("a", np.arange(10))])
    content = (tmp_path / "whole.parquet").read_bytes()
    path = written(tmp_path, "cut.parquet", content[:kept])
    refused(path, "cut.parquet", "cannot be read", "not completely written")


def test_parquet_with_damaged_pages(tmp_path):
    path = tmp_path / "reports.parquet"
    parquet.write_table(pa.table({"mechanism": ["a"] * 9000, "report": np.arange(9000) % 10}), path)
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    refused(path, "cannot be read", "damaged")


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.ndjson", "r.arrow"])
def test_empty_files(tmp_path, name):
    refused(written(tmp_path, name, b""), name, "is empty", "written completely")


def test_no_rows_are_no_error(tmp_path):
    reading = read(written(tmp_path, "r.csv", "mechanism,report\n"), SURVEY)
    assert (reading.rows, reading.evidence.people, reading.invalid) == (0, 0, ())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("who,what\na,1\n", ["no column 'mechanism'", "who, what", "report_id"]),
        ("mechanism|report\na|1\n", ["no column 'mechanism'", "separated by commas"]),
        ("mechanism,report\na,1\na,1,7\n", ["cannot be read", "one row a line"]),
        ("mechanism,report\na,1\na\n", ["cannot be read", "one row a line"]),
        ("mechanism,report\n" + "a,1\n" * 50_000 + "a,1,7\n", ["cannot be read", "50002"]),
        ("mechanism,report\n" + "a,1\n" * 50_000 + "a\n", ["cannot be read", "50002"]),
        ('mechanism,report\na,1\n"a,1\n', ["cannot be read", "one row a line"]),
        (b"mechanism,report\na,\xff\xfe\n", ["cannot be read", "UTF-8"]),
    ],
)
def test_csv_of_another_shape(tmp_path, content, words):
    refused(written(tmp_path, "r.csv", content), *words)


def test_no_line_of_a_csv_is_taken_for_something_else(tmp_path):
    lines = ["mechanism,report", "#,1", "a,1", ",", "", '"a","1"', "a,", 'a,""', "  a,1", "a,2"]
    reading = read(written(tmp_path, "r.csv", "\r\n".join(lines) + "\r\n"), SURVEY)
    assert reading.evidence == fw.collect([(SURVEY.find("a"), [1, 1, 2])])
    assert {part.reason: part.count for part in reading.invalid} == {
        "no mechanism": 1,
        "no report": 1,
        "unknown mechanism": 2,
        "neither an index nor a label": 1,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"mechanism": "a", "report": 1}\n{"mechan', ["cannot be read", "one JSON object a line"]),
        ('{"who": "a", "report": 1}\n', ["no column 'mechanism'"]),
        ('{"who": "a"}\n', ["no column 'mechanism'"]),
    ],
)
def test_ndjson_of_another_shape(tmp_path, content, words):
    refused(written(tmp_path, "r.ndjson", content), *words)


def test_numbers_and_texts_of_ndjson_mean_the_same(tmp_path):
    lines = '{"mechanism": "a", "report": 1}\n{"report": "1", "mechanism": "a", "extra": {}}\n'
    evidence = read_reports(written(tmp_path, "r.ndjson", lines), SURVEY)
    assert evidence == fw.collect([(SURVEY.find("a"), [1, 1])])


@pytest.mark.parametrize(
    "names", [["report", "report"], ["Report", "report"], ["report", "REPORT"]]
)
def test_columns_of_one_name_are_not_guessed(tmp_path, names):
    columns = [pa.array(["a"]), pa.array([1]), pa.array([2])]
    table = pa.Table.from_arrays(columns, names=["mechanism", *names])
    parquet.write_table(table, tmp_path / "r.parquet")
    refused(tmp_path / "r.parquet", "r.parquet has the columns", "Rename")
    text = f"mechanism,{','.join(names)}\na,1,2\n"
    refused(written(tmp_path, "r.csv", text), "r.csv has the columns", "Rename")
    if names[0] == names[1]:
        refused(table, "two columns of one name")
        return
    # In memory, names are told apart to the letter before an engine sees them.
    own = names.index("report") + 1
    assert read_reports(table, SURVEY) == fw.collect([(SURVEY.find("a"), [own])])


@pytest.mark.parametrize("address", ["file://{}", "FILE://{}", "file:{}", "file://localhost{}"])
def test_addresses_of_local_files_are_paths(tmp_path, address):
    parquet.write_table(
        pa.table({"mechanism": ["a"] * 2, "report": [2.7, 3]}), tmp_path / "r.parquet"
    )
    reading = read(address.format(tmp_path / "r.parquet"), SURVEY)
    assert (reading.evidence.people, reading.refused) == (1, 1)


def test_mixed_types(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"mechanism": ["a", "a"], "report": [1, "x"]}, dtype=object)
    refused(frame, "pandas DataFrame", "mixed types", "all texts")
    parquet.write_table(ROWS, tmp_path / "1.parquet")
    texts = pa.table({"mechanism": ["a"], "report": ["1"]})
    parquet.write_table(texts, tmp_path / "2.parquet")
    refused(tmp_path, "mixed types", "1.parquet", "2.parquet", "merge their evidence")


@pytest.mark.parametrize("kind", [pa.bool_(), pa.list_(pa.int64()), pa.date32()])
def test_reports_of_a_strange_type(kind):
    table = pa.table({"mechanism": ["a"], "report": pa.nulls(1, kind)})
    refused(table, "column 'report'", "expected integers", "docs/reports.md")


def test_numbers_of_any_type_are_indices():
    for column in ([1.0, 2.0, None], np.array([1, 2, 0], np.uint64), np.array([1, 2, 3], np.int8)):
        table = pa.table({"mechanism": ["a"] * 3, "report": pa.array(column)})
        reading = read(table, SURVEY)
        assert reading.evidence.people + reading.refused == 3
        assert {1, 2} <= set(reading.evidence.groups[0].outputs)
    polars = pytest.importorskip("polars")
    fraction = read(polars.DataFrame({"mechanism": ["a"], "report": [1.5]}), SURVEY)
    assert [part.reason for part in fraction.invalid] == ["neither an index nor a label"]


def test_a_text_that_is_index_and_label_of_another_is_not_guessed():
    stars = fw.Categorical(["1", "2", "x"])
    survey = fw.Survey(stars, {"k": fw.KRR(stars, 1.0)})
    reading = read(pa.table({"mechanism": ["k"] * 4, "report": ["1", "0", "x", "2"]}), survey)
    assert reading.evidence == fw.collect([(survey.find("k"), [0, 2])])
    (ambiguous,) = reading.invalid
    assert (ambiguous.count, ambiguous.reason) == (2, "an index and the label of another index")
    numbers = read(pa.table({"mechanism": ["k"] * 2, "report": [1, 2]}), survey)
    assert numbers.evidence.people == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.parquet", ["nowhere.parquet", "no such file"]),
        ("nowhere*.csv", ["no file matches"]),
        ([], ["the list is empty"]),
    ],
)
def test_sources_that_are_not_there(source, words):
    refused(source, *words)


def test_folders_must_hold_reports_of_one_format(tmp_path):
    refused(tmp_path, "no files in this folder")
    written(tmp_path, "notes.txt", "hello")
    refused(tmp_path, "notes.txt", "suffix", "folder/*.parquet")
    (tmp_path / "notes.txt").unlink()
    written(tmp_path, "1.csv", "mechanism,report\na,1\n")
    parquet.write_table(ROWS, tmp_path / "2.parquet")
    refused(tmp_path, "one format at a time")
    assert read_reports(tmp_path / "*.csv", SURVEY).people == 1


def test_evidence_is_not_reports(tmp_path):
    path = tmp_path / "evidence.parquet"
    save_evidence(fw.collect([(SURVEY.find("a"), [1])]), path)
    refused(path, "holds evidence", "load_evidence")


def test_a_file_that_grows_while_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path, "r.csv", "mechanism,report\n" + "a,1\n" * 100)
    add = SurveyCounting.add

    def grow(self, batch):
        with path.open("a") as file:
            file.write("a,2\n")
        return add(self, batch)

    monkeypatch.setattr(SurveyCounting, "add", grow)
    refused(path, "changed while it was read", "417 bytes at first, 421 now", "read a copy")


def test_a_file_that_vanishes_while_it_is_read(tmp_path):
    path = written(tmp_path, "r.csv", "mechanism,report\na,1\n")
    files = listing.files_of(path)
    with pytest.raises(ReportError, match="changed while it was read"), files.unchanged():
        os.unlink(path)


def test_strict_makes_invalid_rows_an_error_and_else_they_warn():
    table = pa.table({"mechanism": ["a", "a", "c"], "report": [1, 77, 1]})
    refused(table, "2 of 3 rows", "'c'", "report 77", strict=True)
    with pytest.warns(InvalidReports, match="2 of 3 rows"):
        assert read_reports(table, SURVEY).people == 1


def test_examples_are_few_and_the_same_in_any_order():
    reports = np.arange(100, 400)
    for column in (reports, reports[::-1]):
        table = pa.table({"mechanism": ["a"] * 300, "report": column})
        (outside,) = read(table, SURVEY).invalid
        assert outside.count == 300
        assert outside.examples == tuple(f"mechanism 'a', report {n}" for n in range(100, 105))


def test_partitioned_folders_name_the_mechanism(tmp_path):
    for name, reports in (("a", [1, 2, 2]), ("01", [3])):
        folder = tmp_path / f"mechanism={name}" / "day=2024-05-01"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"report": reports}), folder / "part-0.parquet")
    written(tmp_path, "_SUCCESS", b"")
    survey = fw.Survey(LINE, {"a": fw.KRR(LINE, 1.0), "01": fw.KRR(LINE, 2.0)})
    evidence = read_reports(tmp_path, survey)
    assert evidence == fw.collect([(survey.find("a"), [1, 2, 2]), (survey.find("01"), [3])])


def test_names_with_signs_of_patterns_are_names(tmp_path):
    path = tmp_path / "it's [1].parquet"
    parquet.write_table(ROWS, path)
    assert read_reports(path, SURVEY).people == 2


def test_ids_name_mechanisms_too():
    table = pa.table({"mechanism": [SURVEY.find("a").id, "a"], "report": [1, 1]})
    assert read_reports(table, SURVEY) == fw.collect([(SURVEY.find("a"), [1, 1])])


def test_progress_is_told_on_the_callers_thread():
    told = []
    survey = wide_survey()
    parts = drawn(survey, 2000)
    table = pa.table(
        {
            "mechanism": [name for name, reports in parts for _ in reports],
            "report": [as_text(report) for _, reports in parts for report in reports],
        }
    )
    reading = read(table, survey, show=lambda s: told.append((s, threading.current_thread())))
    assert reading.evidence == expected(survey, parts)
    assert told[-1] == (1.0, threading.main_thread())
    assert all(0 <= share <= 1 for share, _ in told)


def test_an_unknown_engine():
    with pytest.raises(fw.ParameterError, match="duckdb or spark"):
        read(ROWS, menu_survey(), engine="hadoop")
