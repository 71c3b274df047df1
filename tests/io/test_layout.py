"""The same evidence, or the same refusal, from the same folder, whatever engine reads it."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

import freewill as fw
from freewill.io.reading import read
from report_cases import spark_missing

LINE = fw.Linear(0, 9)
A, B = fw.KRR(LINE, 1.0), fw.KRR(LINE, 2.0)
SURVEY = fw.Survey(LINE, {"a": A, "b": B})
needs_spark = pytest.mark.skipif(spark_missing() is not None, reason=str(spark_missing()))
engines = pytest.mark.parametrize(
    "engine", ["duckdb", pytest.param("spark", marks=needs_spark)], ids=["duckdb", "spark"]
)


def rows(names="aab", reports=(1, 2, 3), **columns):
    return {"mechanism": list(names), "report": list(reports), **columns}


def put(folder, name, columns, *kinds):
    """Write a file of the format of its suffix, its columns in this order and of these kinds."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    for column, kind in kinds:
        place = table.column_names.index(column)
        table = table.set_column(place, column, table.column(column).cast(kind))
    write = {
        ".parquet": parquet.write_table,
        ".csv": arrow_csv.write_csv,
        ".arrow": feather.write_feather,
    }
    if path.suffix == ".ndjson":
        path.write_text(table.to_pandas().to_json(orient="records", lines=True))
    else:
        write[path.suffix](table, path)
    return path


def column_order(folder):
    for suffix in ("csv",):
        put(folder, f"1.{suffix}", rows())
        columns = rows()
        put(folder, f"2.{suffix}", {name: columns[name] for name in ("report", "mechanism")})
    return folder, [(A, [1, 2, 1, 2]), (B, [3, 3])]


def parquet_order_and_more_columns(folder):
    put(folder, "1.parquet", rows(extra=["x", "y", "z"]))
    columns = rows()
    put(folder, "2.parquet", {name: columns[name] for name in ("report", "mechanism")})
    return folder, [(A, [1, 2, 1, 2]), (B, [3, 3])]


def ids_in_some_files(folder):
    put(folder, "1.parquet", rows(report_id=["x", "x", "y"], reports=(1, 1, 3)))
    put(folder, "2.parquet", rows())
    return folder, [(A, [1, 1, 2]), (B, [3, 3])]


def ids_in_some_csv(folder):
    put(folder, "1.csv", rows(report_id=["x", "x", "y"], reports=(1, 1, 3)))
    put(folder, "2.csv", rows())
    return folder, [(A, [1, 1, 2]), (B, [3, 3])]


def integers_of_any_width(folder):
    for number, kind in enumerate((pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64())):
        put(folder, f"{number}.parquet", rows(), ("report", kind))
    return folder, [(A, [1, 2] * 5), (B, [3] * 5)]


def partitions(folder):
    put(folder, "mechanism=a/day=1/x.parquet", {"report": [1, 2]})
    put(folder, "mechanism=b/day=2/x.parquet", {"report": [3]})
    return folder, [(A, [1, 2]), (B, [3])]


def partition_pattern(folder):
    partitions(folder)
    return f"{folder}/mechanism=*/*/*.parquet", [(A, [1, 2]), (B, [3])]


def list_of_partitions(folder):
    partitions(folder)
    return [folder / "mechanism=a", folder / "mechanism=b"], [(A, [1, 2]), (B, [3])]


def partitions_of_csv(folder):
    put(folder, "mechanism=a/x.csv", {"report": [1, 2]})
    put(folder, "mechanism=b/x.csv", {"report": [3]})
    return folder, [(A, [1, 2]), (B, [3])]


def partitions_of_ndjson(folder):
    put(folder, "mechanism=a/x.ndjson", {"report": [1, 2]})
    put(folder, "mechanism=b/x.ndjson", {"report": [3]})
    return folder, [(A, [1, 2]), (B, [3])]


def partitions_of_arrow(folder):
    put(folder, "mechanism=a/x.arrow", {"report": [1, 2]})
    return folder, [(A, [1, 2])]


def an_address(folder):
    return put(folder, "x.parquet", rows()).as_uri(), [(A, [1, 2]), (B, [3])]


def names_with_signs(folder):
    path = put(folder, "it's {a} [1] 50%.parquet", rows())
    return path, [(A, [1, 2]), (B, [3])]


def names_that_differ_in_capitals(folder):
    put(folder, "1.parquet", rows(note=["x", "y", "z"], NOTE=["x", "y", "z"]))
    put(folder, "2.parquet", rows(report_id=[1, 2, 3]), ("report_id", pa.uint64()))
    put(folder, "3.parquet", rows(report_id=["4", "5", "6"]))
    return folder, [(A, [1, 2] * 3), (B, [3] * 3)]


def integers_of_any_width_in_arrow(folder):
    for number, kind in enumerate((pa.uint8(), pa.uint32(), pa.uint64(), pa.int8())):
        put(folder, f"{number}.arrow", rows(), ("report", kind))
    return folder, [(A, [1, 2] * 4), (B, [3] * 4)]


def empty_lines(folder):
    (folder / "1.csv").write_text("mechanism,report\na,1\n\na,2\n\n\n")
    put(folder, "mechanism=b/2.csv", {"report": ["3"]})
    (folder / "mechanism=b/3.csv").write_text("report\n3\n\n3\n")
    return folder, [(A, [1, 2]), (B, [3, 3, 3])]


def folders_that_give_all(suffix):
    def layout(folder):
        put(folder, f"mechanism=a/report=1/1.{suffix}", {"note": ["x", "y"]})
        put(folder, f"mechanism=b/report=3/1.{suffix}", {"note": ["z"]})
        return folder, [(A, [1, 1]), (B, [3])]

    layout.__name__ = f"folders_that_give_all_of_{suffix}"
    return layout


def many_files(folder):
    for number in range(200):
        put(folder, f"{number:04}.parquet", rows("ab", (number % 10, 0)))
    return folder, [(A, np.arange(200) % 10), (B, np.zeros(200, dtype=int))]


GOOD = [
    column_order,
    parquet_order_and_more_columns,
    ids_in_some_files,
    ids_in_some_csv,
    integers_of_any_width,
    partitions,
    partition_pattern,
    list_of_partitions,
    partitions_of_csv,
    partitions_of_ndjson,
    partitions_of_arrow,
    an_address,
    names_with_signs,
    names_that_differ_in_capitals,
    integers_of_any_width_in_arrow,
    empty_lines,
    many_files,
    *map(folders_that_give_all, ("csv", "ndjson", "parquet", "arrow")),
]


@pytest.mark.slow
@engines
@pytest.mark.parametrize("layout", GOOD, ids=lambda layout: layout.__name__)
def test_every_engine_reads_the_same(layout, engine, started, tmp_path):
    source, parts = layout(tmp_path)
    reading = read(source, SURVEY, engine=started(engine))
    assert reading.evidence == fw.collect(parts)
    assert reading.invalid == ()


def a_column_missing(folder):
    put(folder, "1.parquet", rows())
    put(folder, "2.parquet", {"mechanism": ["a"], "answer": [1]})
    return folder, r"2\.parquet has no column 'report': it has mechanism, answer"


def a_header_missing(folder):
    put(folder, "1.csv", rows())
    (folder / "2.csv").write_text("a,1\nb,2\n")
    return (
        folder,
        r"2\.csv has no column 'mechanism': its first line is a, 1\. Expected a header there",
    )


def texts_and_integers(folder):
    put(folder, "1.parquet", rows())
    put(folder, "2.parquet", rows(reports="123"))
    return folder, r"mixed types: .*integers in .*1\.parquet and texts in .*2\.parquet"


def fractions_and_integers(folder):
    put(folder, "1.parquet", rows())
    return [folder / "1.parquet", put(folder, "2.parquet", rows(reports=(2.7, 1.0, 1.0)))], "mixed"


def csv(words):
    """Return a layout of one CSV that is malformed in some way."""

    def layout(folder):
        (folder / "1.csv").write_bytes(b"mechanism,report\n" + words)
        return folder, r"1\.csv cannot be read: .* Expected UTF-8, one row a line"

    layout.__name__ = f"csv {words!r}"
    return layout


def ndjson(words):
    """Return a layout of one NDJSON file that is malformed in some way."""

    def layout(folder):
        (folder / "1.ndjson").write_bytes(b'{"mechanism":"a","report":1}\n' + words)
        return folder, r"1\.ndjson cannot be read: .* Expected UTF-8 and one JSON object a line"

    layout.__name__ = f"ndjson {words!r}"
    return layout


def a_folder_and_a_column(folder):
    put(folder, "mechanism=a/x.parquet", rows())
    return folder, r"x\.parquet has a column 'mechanism' and so has the name of its folder"


def a_folder_of_reports(folder):
    put(folder, "report=5/x.parquet", rows())
    return folder, "has a column 'report' and so has the name of its folder"


def a_folder_and_a_key(folder):
    put(folder, "mechanism=a/x.ndjson", rows())
    return folder, "lines have a key 'mechanism' and so has their folder"


BAD = [
    a_column_missing,
    a_header_missing,
    texts_and_integers,
    fractions_and_integers,
    a_folder_and_a_column,
    a_folder_of_reports,
    a_folder_and_a_key,
    csv(b'a,"1"x\n'),
    csv(b'a,"open\nb,2\n'),
    csv(b"a,\xff\n"),
    csv(b"a\n"),
    csv(b"a,1,2\n"),
    csv(b"a,1\r\nb,2\n"),
    csv(b'a,""1\n'),
    csv(b" \n"),
    ndjson(b'{"mechanism":"a","report":1}{"mechanism":"a","report":2}'),
    ndjson(b'{"mechanism":"a","report":1},{"mechanism":"a","report":2}'),
    ndjson(b'{"mechanism":"a","report":1,"report":2}'),
    ndjson(b'{"mechanism":"a","report":"\\ud800"}'),
    ndjson(b"{'mechanism':'a','report':1}"),
    ndjson(b"[1]"),
]


@engines
@pytest.mark.parametrize("layout", BAD, ids=lambda layout: layout.__name__)
def test_every_engine_refuses_the_same(layout, engine, started, tmp_path):
    source, words = layout(tmp_path)
    with pytest.raises(fw.ReportError, match=words):
        read(source, SURVEY, engine=started(engine))


@engines
def test_numbers_with_a_fraction_are_no_reports_at_any_address(engine, started, tmp_path):
    path = put(tmp_path, "x.parquet", rows(reports=(2.7, 1.0, 3.0)))
    for source in (path, path.as_uri()):
        reading = read(source, SURVEY, engine=started(engine))
        assert [(part.reason, part.count) for part in reading.invalid] == [
            ("neither an index nor a label", 1)
        ]
        assert reading.evidence == fw.collect([(A, [1]), (B, [3])])


def test_many_unknown_names_are_counted_together_and_a_few_shown(tmp_path):
    names = [f"nobody {number}" for number in range(50_000)]
    table = pa.table({"mechanism": ["a", *names], "report": [1] * 50_001})
    reading = read(table, SURVEY)
    (unknown,) = reading.invalid
    assert (unknown.count, reading.evidence.people) == (50_000, 1)
    assert unknown.examples[0] == "mechanism 'nobody 0', report 1"
