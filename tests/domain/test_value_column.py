"""Reports as values: `value:` before a text, a column `value`, and CSV that people can read."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import freewill as fw
from freewill.domain.alphabets.base import encode_texts
from freewill.domain.outputs import Reason, Symbols
from freewill.domain.packed_outputs import Bits
from freewill.errors import ReportError
from freewill.io.decoding import unmarked
from freewill.io.reading import read, read_reports
from freewill.io.writing import values, write_reports
from report_cases import ALPHABETS, spark_missing, stored

ODD = fw.Categorical(["x", "value:x", "value:", "", "0", 'a"b', "é;\t,", " x ", "'", "\\"])
"""Labels that look like the mark, like an index, and like the signs of a CSV."""
LINE = fw.Linear(1, 100)
SURVEY = fw.Survey(
    LINE, {"k": fw.KRR(LINE, 1.0), "true": fw.Identity(LINE), "bits": fw.RAPPOR(LINE, 2.0)}
)
ENGINES = [
    "duckdb",
    pytest.param("spark", marks=pytest.mark.skipif(bool(spark_missing()), reason="no Spark")),
]
labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def survey_of(alphabet):
    mechanisms: dict[str, fw.Mechanism] = {"true": fw.Identity(alphabet)}
    if alphabet.size > 1:
        mechanisms |= {"k": fw.KRR(alphabet, 1.0), "bits": fw.RAPPOR(alphabet, 1.0)}
    return fw.Survey(alphabet, mechanisms)


def check_round_trip(space, outputs):
    written = values(space, outputs)
    assert written.type == pa.string()
    column = pa.array([f"value:{text}" for text in written.to_pylist()], pa.string())
    found = space.decode(unmarked(space, column))
    assert found.bad == {}
    assert found.good.all()
    np.testing.assert_array_equal(found.outputs, outputs)


@pytest.mark.parametrize("alphabet", [*ALPHABETS, ODD], ids=str)
def test_every_value_is_read_back_as_its_report(alphabet):
    check_round_trip(Symbols(alphabet), np.arange(alphabet.size)[::-1])
    check_round_trip(Symbols(alphabet), np.empty(0, np.int64))


@given(st.integers(1, 40), st.data())
def test_every_pattern_of_bits_is_read_back(size, data):
    space = Bits(size)
    draw = st.binary(min_size=space.width, max_size=space.width)
    rows = [list(row) for row in data.draw(st.lists(draw, min_size=1, max_size=5))]
    outputs = np.array(rows, dtype=np.uint8)
    outputs[:, -1] &= space.last_byte
    check_round_trip(space, outputs)


@given(st.lists(labels | labels.map("value:{}".format), min_size=1, unique=True, max_size=6))
def test_any_labels_are_read_back_as_their_reports(some):
    check_round_trip(Symbols(fw.Categorical(some)), np.arange(len(some)))


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6), st.integers(0, 50))
def test_any_line_is_read_back_as_its_reports(first, step, more):
    check_round_trip(Symbols(fw.Linear(first, first + step * more, step)), np.arange(more + 1))


@given(
    st.sampled_from([*ALPHABETS, ODD]),
    st.lists(st.text("019.-+ e,nxvalue:", max_size=8) | st.sampled_from(ODD.labels), max_size=6),
)
def test_behind_the_mark_stands_a_value_and_nothing_else(alphabet, texts):
    """The naive oracle: one text at a time, whatever the label or the index of the whole text."""
    space = Symbols(alphabet)
    for kind in (pa.string(), pa.binary()):
        column = pa.array([f"value:{text}".encode() for text in texts], pa.binary()).cast(kind)
        found = space.decode(column)
        single = [encode_texts(alphabet, [text]) for text in texts]
        good = [bool(one.kept[0]) for one in single]
        assert found.good.tolist() == good
        assert found.outputs.tolist() == [int(one.indices[0]) for one in single if one.kept[0]]
        assert {*found.bad} <= {Reason.NO_VALUE}
        if not all(good):
            assert (~found.bad[Reason.NO_VALUE]).tolist() == good


def test_bytes_that_are_no_text_are_no_value():
    space = Symbols(fw.Categorical(["a", "\ufffd"]))
    found = space.decode(pa.array([b"value:\xff", b"value:a", "value:\ufffd".encode()]))
    assert found.good.tolist() == [False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("alphabet", [*ALPHABETS, ODD], ids=str)
def test_a_csv_of_values_is_the_evidence_it_was_written_from(alphabet, engine, started, tmp_path):
    survey, rng = survey_of(alphabet), np.random.default_rng(5)
    truth = rng.integers(0, alphabet.size, 40)
    truth[: min(40, alphabet.size)] = np.arange(alphabet.size)[:40]
    parts = [(name, m.obfuscate(truth, rng)) for name, m in survey.mechanisms.items()]
    path = tmp_path / "r.csv"
    write_reports(path, parts, survey=survey)
    assert path.read_text(encoding="utf-8").startswith('"mechanism","value"\n')
    reading = read(path, survey, engine=started(engine))
    assert reading.invalid == ()
    assert reading.evidence == fw.collect([(survey.mechanisms[n], some) for n, some in parts])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_break_in_a_label_is_read(engine, started, tmp_path):
    alphabet = fw.Categorical(["a\nb", "a\r\nb", "a", "b", "\n", 'say\n"so"', "a\rb"])
    survey = survey_of(alphabet)
    path = tmp_path / "r.csv"
    write_reports(path, [("true", list(range(7)))], survey=survey)
    found = read_reports(path, survey, engine=started(engine))
    assert found == fw.collect([(survey.mechanisms["true"], list(range(7)))])


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_values_stand_beside_reports_of_any_type(engine, started, tmp_path):
    zeros = bytes(13)
    columns = {
        "integers": pa.array([40, 3]),
        "texts": pa.array(["40", "3"]),
        "bytes": pa.array([b"40", b"3"]),
    }
    for kind, column in columns.items():
        folder = tmp_path / kind
        folder.mkdir()
        reports = pa.table({"mechanism": ["true", "true"], "report": column})
        parquet.write_table(reports, folder / "1.parquet")
        values = pa.table({"mechanism": ["true", "k", "k"], "value": ["41", "é\\x41", None]})
        parquet.write_table(values, folder / "2.parquet")
        if kind == "bytes":
            bits = pa.table({"mechanism": ["bits"], "report": [zeros]})
            parquet.write_table(bits, folder / "3.parquet")
        reading = read(folder, SURVEY, engine=started(engine))
        assert reading.evidence.only("true") == fw.collect(
            [(SURVEY.mechanisms["true"], [40, 3, 40])]
        )
        assert [(part.reason, part.count) for part in reading.invalid] == [
            ("no report", 1),
            ("no value of the alphabet", 1),
        ]
        assert reading.evidence.people == 3 + (kind == "bytes")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_large_whole_floats_are_whole_numbers(engine, started, tmp_path):
    line = fw.Linear(0, 13 * 10**6)
    survey = fw.Survey(line, {"true": fw.Geometric(line, 1.0)})
    for name in ("report", "value"):
        column = pa.array([1e7, 12_345_678.0, 2.5, 1e300, None])
        table = pa.table({"mechanism": ["true"] * 5, name: column})
        reading = read(stored(table, "parquet", tmp_path), survey, engine=started(engine))
        assert reading.evidence == fw.collect([(survey.mechanisms["true"], [10**7, 12_345_678])])
        assert reading.refused == 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson", "arrow", "pandas"])
def test_a_column_of_values_is_read_from_every_kind_of_table(kind, engine, started, tmp_path):
    table = pa.table({"mechanism": ["true"] * 3 + ["k"], "value": ["41", "41.0", "101", None]})
    reading = read(stored(table, kind, tmp_path), SURVEY, engine=started(engine))
    assert reading.evidence == fw.collect([(SURVEY.mechanisms["true"], [40, 40])])
    told = [(part.reason, part.count, part.examples) for part in reading.invalid]
    assert told == [
        ("no report", 1, ("mechanism 'k', report None",)),
        ("no value of the alphabet", 1, ("mechanism 'true', report 'value:101'",)),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_in_a_column_of_values_are_values(engine, started, tmp_path):
    kinds = [pa.int8(), pa.uint64(), pa.float64(), pa.float32(), pa.decimal128(5, 2), pa.string()]
    for number, kind in enumerate(kinds):
        column = pa.array(["7", "41"]).cast(kind)
        table = pa.table({"value": column, "mechanism": ["true", "true"]})
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    evidence = read_reports(tmp_path, SURVEY, engine=started(engine))
    expected = np.repeat([6, 40], len(kinds))
    assert evidence == fw.collect([(SURVEY.mechanisms["true"], expected)])


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_values_and_of_reports_mix(engine, started, tmp_path):
    (tmp_path / "1.csv").write_text("mechanism,value\ntrue,41\n")
    (tmp_path / "2.csv").write_text("mechanism,report\ntrue,40\ntrue,value:41\n")
    folder = tmp_path / "value=41"
    folder.mkdir()
    (folder / "3.csv").write_text("mechanism\ntrue\n")
    evidence = read_reports(tmp_path, SURVEY, engine=started(engine))
    assert evidence == fw.collect([(SURVEY.mechanisms["true"], [40] * 4)])
    lines = [{"mechanism": "true", "value": 41}, {"mechanism": "true", "report": 40}]
    path = tmp_path / "mixed.ndjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_reports(path, SURVEY, engine=engine).people == 2
    path.write_text(json.dumps(lines[0] | lines[1]))
    with pytest.raises(ReportError, match="'report' and 'value': expected one"):
        read(path, SURVEY, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_report_and_a_value_in_one_table_are_refused(engine, started, tmp_path):
    table = pa.table({"mechanism": ["true"], "value": ["41"], "report": ["40"]})
    for kind in ("csv", "parquet", "arrow", "ndjson", "pandas"):
        source = stored(table, kind, tmp_path)
        with pytest.raises(ReportError, match="'report' and 'value': expected one"):
            read(source, SURVEY, engine=started(engine))
    wrong = pa.table({"mechanism": ["true"], "value": [b"41"]})
    with pytest.raises(ReportError, match=r"column 'value' .*expected texts or numbers"):
        read(wrong, SURVEY, engine=engine)
    with pytest.raises(ReportError, match=r"no column 'report'.*report \(or value\)"):
        read(pa.table({"mechanism": ["true"], "Value": ["41"]}), SURVEY, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_cut_off_never_becomes_another_number(engine, started):
    """Zeros before, behind and between: engines may shorten what is too long to be right."""
    texts = [
        f"value:{'0' * 62}41",
        f"value:{'0' * 63}41",
        f"value:{'0' * 65}41",
        f"value:4{' ' * 63}",
        f"value:4{' ' * 64}1",
        f"value:41.{'0' * 70}1",
        f"40.{'0' * 20}",
        f"40.{'0' * 21}",
        f"40.{'0' * 90}1",
    ]
    rows = pa.table({"mechanism": ["true"] * len(texts), "report": texts})
    reading = read(rows, SURVEY, engine=started(engine))
    assert reading.evidence == fw.collect([(SURVEY.mechanisms["true"], [40, 3, 40])])
    assert reading.refused == len(texts) - 3


@pytest.mark.parametrize("engine", ENGINES)
def test_one_id_knows_a_value_in_two_spellings(engine, started):
    zeros = "00" * 13
    same = [("true", "value:41", "value:41.0"), ("bits", "value:" + zeros, zeros)]
    same += [("bits", "value:1F" + zeros[2:], "1f" + zeros[2:])]
    other = [("true", "value:41", "40"), ("bits", "VALUE:" + zeros, zeros)]
    rows = [
        (name, report, str(number))
        for number, (name, *reports) in enumerate(same + other)
        for report in reports
    ]
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(["mechanism", "report", "report_id"], columns, strict=True)))
    reading = read(table, SURVEY, engine=started(engine))
    assert (reading.evidence.people, reading.duplicates, reading.refused) == (3, 3, 4)
    assert [part.reason for part in reading.invalid] == [Reason.CONFLICT]
