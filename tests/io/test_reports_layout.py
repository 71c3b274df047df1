"""Files of reports sorted into parts that are alike, and refused where they do not fit together."""

import gzip
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import freewill as fw
from freewill.errors import ReportError
from freewill.io.engines import duckdb
from freewill.io.evidence_file import save_evidence
from freewill.io.files import Files, files_of
from freewill.io.layout import Part, parts_of
from freewill.io.reading import read_reports
from freewill.io.writing import write_reports

LINE = fw.Linear(0, 9)
SURVEY = fw.Survey(LINE, {"a": fw.KRR(LINE, 1.0)})


def elsewhere(path):
    raise AssertionError(f"{path} is here")


def parts(*paths, peek=elsewhere):
    """Return how files are laid out; how many rows they hold is tested elsewhere."""
    found = parts_of(files_of([str(path) for path in paths]), peek)
    assert all(part.rows is not None for part in found)
    return [replace(part, rows=None) for part in found]


def texts(*names):
    return tuple((name, "string") for name in names)


def stored(folder, name, **columns):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    return str(path)


def text(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_with_the_same_columns_that_count_are_one_part(tmp_path, suffix):
    one = stored(tmp_path, f"1.{suffix}", mechanism=["a"], report=[1])
    two = stored(tmp_path, f"2.{suffix}", report=[2], extra=[0.5], mechanism=["a"])
    numbered = stored(tmp_path, f"3.{suffix}", mechanism=["a"], report=[3], report_id=["x"])
    small = stored(
        tmp_path, f"4.{suffix}", mechanism=["a"], report=pa.array([4], pa.int8()), report_id=["y"]
    )
    plain = (("mechanism", "string"), ("report", "int64"))
    narrow = (("mechanism", "string"), ("report", "int8"), ("report_id", "string"))
    assert parts(one, two, numbered, small) == [
        Part((one, two), {}, plain),
        Part((numbered,), {}, (*plain, ("report_id", "string"))),
        Part((small,), {}, narrow),
    ]
    found = read_reports([one, two, numbered, small], SURVEY)
    assert found == fw.collect([(SURVEY.find("a"), [1, 2, 3, 4])])


def test_the_order_of_columns_matters_in_csv_alone(tmp_path):
    one = text(tmp_path, "1.csv", "mechanism,report\na,1\n")
    two = text(tmp_path, "2.csv", "report,mechanism\n2,a\n")
    more = text(tmp_path, "3.csv", "mechanism,report,extra\na,3,\n")
    marked = text(tmp_path, "4.csv", b"\xef\xbb\xbfmechanism,report\r\na,4\r\n")
    packed = text(tmp_path, "5.csv.gz", gzip.compress(b"mechanism,report\na,5\n"))
    assert parts(one, two, more, marked, packed) == [
        Part((one, marked, packed), {}, texts("mechanism", "report")),
        Part((two,), {}, texts("report", "mechanism")),
        Part((more,), {}, texts("mechanism", "report", "extra")),
    ]
    found = read_reports([one, two, more, marked, packed], SURVEY)
    assert found == fw.collect([(SURVEY.find("a"), [1, 2, 3, 4, 5])])


def test_names_of_a_csv_may_be_long_and_of_several_lines(tmp_path):
    for header, name in (('"a\nnote"', "a\nnote"), ("x" * 60_000, "x" * 60_000)):
        path = text(tmp_path, "r.csv", f"{header},mechanism,report\nx,a,1\nx,a,2\n")
        assert parts(path) == [Part((path,), {}, texts(name, "mechanism", "report"))]
        assert read_reports(path, SURVEY) == fw.collect([(SURVEY.find("a"), [1, 2])])


def test_folders_give_columns(tmp_path):
    one = stored(tmp_path, "mechanism=a/day=1/1.parquet", report=[1])
    two = stored(tmp_path, "mechanism=a/day=2/2.parquet", report=[2])
    other = stored(tmp_path, "mechanism=b=c/3.parquet", report=[3])
    line = text(tmp_path, "mechanism=a/1.ndjson", '{"report": 1}\n')
    plain = text(tmp_path, "report=1.ndjson", '{"mechanism": "a", "report": 2}\n')
    number = (("report", "int64"),)
    assert parts(one, two, other) == [
        Part((one, two), {"mechanism": "a"}, number),
        Part((other,), {"mechanism": "b=c"}, number),
    ]
    # The name of the file itself gives nothing; lines of NDJSON are looked at later.
    assert parts(line, plain) == [Part((line,), {"mechanism": "a"}), Part((plain,), {})]
    assert read_reports([line, plain], SURVEY) == fw.collect([(SURVEY.find("a"), [1, 2])])
    reports = stored(tmp_path, "report=7/1.parquet", mechanism=["a"])
    assert parts(reports) == [Part((reports,), {"report": "7"}, texts("mechanism"))]


def test_a_column_is_in_the_file_or_in_the_folder(tmp_path):
    twice = stored(tmp_path, "mechanism=a/1.parquet", mechanism=["a"], report=[1])
    with pytest.raises(ReportError, match="has a column 'mechanism' and so has the name of its"):
        parts(twice)
    lacking = stored(tmp_path, "mechanism=a/2.parquet", other=[1])
    with pytest.raises(ReportError, match=r"no column 'report': it has other, mechanism"):
        parts(lacking)
    nothing = text(tmp_path, "1.csv", "\n")
    with pytest.raises(ReportError, match="no column 'mechanism': its first line is none"):
        parts(nothing)


KINDS = {
    "integers": [pa.int64(), pa.uint8()],
    "texts": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "bytes": [pa.binary(), pa.large_binary()],
    "double": [pa.float64()],
}


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_reports_of_one_kind_stand_together(tmp_path, one, other):
    values = {"integers": [1], "texts": ["1"], "bytes": [b"1"], "double": [1.0]}
    paths = []
    for name in (one, other):
        for kind in KINDS[name]:
            report = (
                pa.array(values[name], kind)
                if "dict" not in str(kind)
                else pa.array(values[name]).dictionary_encode()
            )
            file = f"{len(paths)}.parquet"
            paths.append(stored(tmp_path, file, mechanism=["a"], report=report))
    if one == other:
        assert sorted(path for part in parts(*paths) for path in part.paths) == sorted(paths)
        return
    with pytest.raises(ReportError, match="mixed types") as caught:
        parts(*paths)
    first, second = paths[0], paths[len(KINDS[one])]
    assert f"are {one} in {first} and {other} in {second}." in str(caught.value)


def test_files_elsewhere_are_peeked_at():
    files = Files(("s3://there/mechanism=a/1.parquet",), "parquet")
    found = parts_of(files, lambda _: pa.schema([("report", pa.int64())]))
    assert found == [Part(files.paths, {"mechanism": "a"}, (("report", "int64"),))]

    def fail(path):
        raise OSError("no route\nat all")

    with pytest.raises(ReportError, match=r"^s3://there/.* cannot be read: no route\. Is it dam"):
        parts_of(files, fail)


def test_files_that_cannot_be_read_say_so(tmp_path):
    for suffix, advice in (("arrow", "Feather version 2"), ("parquet", "Is it damaged")):
        path = text(tmp_path, f"r.{suffix}", "hello")
        with pytest.raises(ReportError, match=f"r.{suffix} cannot be read: .*{advice}"):
            parts(path)
    path = text(tmp_path, "r.csv.gz", b"\x1f\x8bhello")
    with pytest.raises(ReportError, match=r"cannot be unpacked to its end: .*write it again"):
        parts(path)
    long = text(tmp_path, "long.csv", '"' + "x" * 200_000)
    with pytest.raises(ReportError, match="no column 'mechanism'"):
        parts(long)
    save_evidence(fw.collect([(SURVEY.find("a"), [1])]), tmp_path / "e.parquet")
    with pytest.raises(ReportError, match="holds evidence, not reports"):
        parts(tmp_path / "e.parquet")


def test_texts_name_their_column_by_what_stands_in_it(tmp_path):
    """Values where a survey says which they are; numbers of outputs, which need none, elsewhere."""
    line = fw.Linear(10, 12)
    survey = fw.Survey(line, {"a": fw.KRR(line, 1.0)})
    for given, lines in ((None, ["report", "2"]), (survey, ["value", "12"])):
        write_reports(tmp_path / "r.csv", [("a", [2])], survey=given)
        rows = (tmp_path / "r.csv").read_text().replace('"', "").splitlines()
        assert [row.split(",")[1] for row in rows] == lines


def test_names_of_columns_are_quoted_for_duckdb():
    assert duckdb._as_texts(["it's", "b"]) == "{'it''s': VARCHAR, 'b': VARCHAR}"


@pytest.mark.parametrize(("told", "share"), [(-1.0, 0.0), (0.0, 0.0), (25.0, 0.25), (100.0, 1.0)])
def test_duckdb_tells_percent_and_nothing_before_it_begins(told, share):
    running = SimpleNamespace(connection=SimpleNamespace(query_progress=lambda: told))
    assert duckdb.Running.progress(running) == share


def test_of_a_report_and_a_value_each_line_has_one(tmp_path):
    report, value = '{"mechanism": "a", "report": 1}', '{"mechanism": "a", "value": "2"}'
    mixed = text(tmp_path, "mixed.ndjson", f"{report}\n{value}\n")
    assert read_reports(mixed, SURVEY) == fw.collect([(SURVEY.find("a"), [1, 2])])
    both = text(tmp_path, "both.ndjson", f'{report}\n{report[:-1]}, "value": "2"}}\n')
    with pytest.raises(ReportError, match="'report' and 'value'"):
        read_reports(both, SURVEY)
