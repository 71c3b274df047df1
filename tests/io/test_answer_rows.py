"""Rows of questionnaires in every format, beside evidence without files and a naive reader."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, ipc, parquet

import freewill as fw
from answers_cases import (
    AGES,
    CODES,
    MODES,
    answered,
    collected,
    counts_of,
    naive,
    offers_of,
    questionnaires,
    survey_of,
    travels,
)
from freewill.errors import ReportError
from freewill.io.answers import AnswerColumns
from freewill.io.reading import InvalidReports, read
from profiles import examples
from report_cases import spark_missing

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.slow)]
FORMATS = ["parquet", "csv", "ndjson"]
ASKED = travels()


def table(**columns):
    return pa.table({name.replace("__", "."): own for name, own in columns.items()})


def rows_of(*rows):
    """Return rows (mechanism and value of age, of commute[, id]) as a table."""
    names = ["mechanism.age", "value.age", "mechanism.commute", "value.commute", "report_id"]
    width = len(rows[0])
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: pa.array(own, pa.string()) for name, own in zip(names[:width], columns, strict=True)}
    )


@given(questionnaires(), st.integers(1, 60), st.integers(0, 9), st.sampled_from(FORMATS))
def test_what_is_written_is_read_again(tmp_path_factory, survey, people, seed, kind):
    parts = answered(survey, people, seed)
    path = tmp_path_factory.mktemp("answers") / f"reports.{kind}"
    fw.write_reports(path, parts, survey=survey)
    wanted = collected(survey, parts)
    reading = read(path, survey, strict=True)
    assert reading.evidence == wanted
    assert (reading.rows, reading.duplicates) == (people, 0)
    names = {" + ".join(choices.values()) for choices, _ in parts}
    assert {group.name for group in reading.evidence.groups} == names


@given(questionnaires(), st.integers(1, 60), st.integers(0, 9), st.data())
def test_a_marginal_is_read_without_the_rest(tmp_path_factory, survey, people, seed, data):
    parts = answered(survey, people, seed)
    path = tmp_path_factory.mktemp("answers") / "reports.parquet"
    fw.write_reports(path, parts, survey=survey)
    some = st.lists(st.sampled_from([*survey.questions]), min_size=1, max_size=3, unique=True)
    names = tuple(data.draw(some))
    reading = read(path, survey, of=names)
    assert reading.rows == people == reading.evidence.people + reading.silent
    if reading.evidence.people:
        whole = collected(survey, parts)
        several = len(names) == len(survey.questions) > 1
        if not several:  # of all of them, `marginal` keeps those who say nothing too
            assert reading.evidence == whole.marginal(*names)
        assert reading.evidence.alphabet == survey.alphabet.only(*names)


TEXTS = st.sampled_from(["careful", "open", "no answer", "nobody", None])
VALUES = st.sampled_from(["18", "27", "28", "car", "bus", "nothing", "", "\x1e", "car\x1f18", None])
IDS = st.sampled_from([None, None, "", "a", "b"])


@pytest.mark.parametrize("kind", FORMATS)
@given(rows=st.lists(st.tuples(TEXTS, VALUES, TEXTS, VALUES, IDS), min_size=1, max_size=12))
@examples(25)
def test_faulty_rows_are_refused_as_a_naive_reader_refuses_them(tmp_path_factory, kind, rows):
    survey = fw.Questionnaire(
        {
            "age": fw.Survey(AGES, offers_of(AGES, wide=False)),
            "commute": fw.Survey(MODES, offers_of(MODES, wide=False)),
        }
    )
    if kind == "csv":  # an empty line is no row, and in a table an empty text is one
        rows = [row for row in rows if any(field is not None for field in row)]
    if not rows:
        return
    made = rows_of(*rows)
    path = tmp_path_factory.mktemp("answers") / f"reports.{kind}"
    _write(made, path)
    if kind == "ndjson" and any(
        all(field is None for field in own) for own in zip(*rows, strict=True)
    ):
        return  # a key that is in no line is missed as a column is
    reading = read(path, survey)
    counts, duplicates, invalid = naive(survey, made.to_pylist())
    assert counts_of(survey, reading.evidence) == counts
    assert (reading.duplicates, reading.refused) == (duplicates, invalid)
    assert reading.rows == len(rows)


def _write(made, path):
    if path.suffix == ".parquet":
        parquet.write_table(made, path)
    elif path.suffix == ".arrow":
        with ipc.new_file(path, made.schema) as file:
            file.write_table(made)
    elif path.suffix == ".csv":
        csv.write_csv(made, path, csv.WriteOptions(quoting_style="needed"))
    else:
        import json  # noqa: PLC0415

        lines = [{n: v for n, v in row.items() if v is not None} for row in made.to_pylist()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


FAULTY = [
    ("careful", "18", "open", "bus", "a"),
    ("careful", "18", "open", "bus", "a"),
    (None, "18", "open", "bus", "b"),
    ("careful", None, "open", "bus", "c"),
    ("no answer", None, "open", "car", "d"),
    ("open", "18", "open", "car", "e"),
    ("bits", "zz", "open", "car", "f"),
    ("bits", "0102", "careful", "car", "g"),
    ("careful", "99", "careful", "plane", "h"),
    ("careful", "20", "careful", "car", "i"),
    ("careful", "21", "careful", "car", "i"),
    ("careful", "22", "careful", "bus", None),
]
REASONS = {
    "no mechanism in 'age'": (1, "mechanism None, report 'value:18'"),
    "no report in 'age'": (1, "mechanism 'careful', report None"),
    "unknown mechanism in 'age'": (1, "mechanism 'open', report 'value:18'"),
    "no value of the alphabet in 'age'": (1, "mechanism 'careful', report 'value:99'"),
    "wrong number of bits in 'age'": (1, "mechanism 'bits', report 'zz'"),
    "rows of one report_id that differ": (
        2,
        "report_id 'i', 2 rows: age 'careful' 'value:20' or 'careful' 'value:21'",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "arrow", "frame"])
def test_each_fault_is_counted_by_its_question_on_both_engines(request, tmp_path, engine, kind):
    if engine == "spark":
        if spark_missing():
            pytest.skip(spark_missing())
        request.getfixturevalue("spark")
    made = rows_of(*FAULTY)
    source = made
    if kind != "frame":
        source = tmp_path / f"reports.{kind}"
        _write(made, source)
    reading = read(source, ASKED, engine=engine)
    told = {part.reason: (part.count, part.examples[0]) for part in reading.invalid}
    assert told == REASONS
    assert (reading.rows, reading.duplicates, reading.evidence.people) == (12, 1, 4)
    assert reading.rows == reading.evidence.people + reading.duplicates + reading.refused
    choices = [{"age": "careful", "commute": "open"}, {"age": "no answer", "commute": "open"}]
    assert {group.name for group in reading.evidence.groups} == {
        *(" + ".join(one.values()) for one in choices),
        "bits + careful",
        "careful + careful",
    }
    assert all(sign not in str(reading) for sign in "\x1c\x1d\x1e\x1f")


def test_one_mechanism_stands_for_all_questions(tmp_path):
    made = table(mechanism=["careful", "open"], value__age=[18, 19], report__commute=[1, 2])
    reading = read(made, ASKED)
    assert [group.name for group in reading.evidence.groups] == ["careful + careful"]
    assert [part.reason for part in reading.invalid] == ["unknown mechanism in 'age'"]
    folder = tmp_path / "mechanism=careful"
    folder.mkdir()
    parquet.write_table(made.drop_columns(["mechanism"]), folder / "r.parquet")
    assert read(tmp_path, ASKED).evidence.people == 2
    mixed = made.append_column("mechanism.commute", pa.array(["open", "open"]))
    assert [group.name for group in read(mixed, ASKED).evidence.groups] == ["careful + open"]


def test_names_and_ids_are_the_same_and_so_are_spellings():
    age, commute = ASKED.questions.values()
    made = rows_of(
        ("bits", "FF03", "open", "car", "a"),
        (age.find("bits").id, "ff03", commute.find("open").id, "car", "a"),
        ("careful", "18.0", "open", "car", "b"),
        ("careful", "18", "open", "car", "b"),
    )
    reading = read(made, ASKED)
    assert (reading.duplicates, reading.refused, reading.evidence.people) == (2, 0, 2)


def test_integers_are_indices_where_texts_would_be_labels():
    survey = fw.Questionnaire({"code": survey_of(CODES, "open"), "age": survey_of(AGES, "open")})
    base = {"mechanism": ["open"], "report.age": [0]}
    whole = read(pa.table({**base, "report.code": [1]}), survey, strict=True).evidence
    assert counts_of(survey, whole) == {(("open", 1), ("open", 0)): 1}
    text = read(pa.table({**base, "report.code": ["1"]}), survey)
    assert text.invalid[0].reason == "an index and the label of another index in 'code'"
    value = read(pa.table({**base, "value.code": ["1"]}), survey, strict=True).evidence
    assert counts_of(survey, value) == {(("open", 0), ("open", 0)): 1}


def test_parts_of_several_files_may_differ(tmp_path):
    fw.write_reports(tmp_path / "a.parquet", answered(ASKED, 30, 1), survey=ASKED)
    made = table(
        report__commute=[2],
        mechanism__commute=["open"],
        mechanism__age=["careful"],
        report__age=[1],
    )
    parquet.write_table(made, tmp_path / "b.parquet")
    assert read(tmp_path, ASKED, strict=True).rows == 31


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["mechanism.age", "report.age", "mechanism.commute"], "no column 'report.commute'"),
        (["report.age", "mechanism.commute", "report.commute"], "no column 'mechanism.age'"),
        (
            ["mechanism", "report.age", "value.age", "report.commute"],
            "has the columns 'report.age' and 'value.age'",
        ),
        (
            ["mechanism", "report.age", "report.commute", "report.income"],
            "no question of the survey is called 'income'",
        ),
        (["mechanism", "report.age", "report.comute"], "Did you mean 'commute'?"),
        (["mechanism", "report"], "no column 'report.age'"),
    ],
)
def test_columns_that_are_missing_or_too_many_are_told(tmp_path, columns, words):
    made = pa.table({name: ["x"] for name in columns})
    parquet.write_table(made, tmp_path / "r.parquet")
    csv.write_csv(made, tmp_path / "r.csv")
    for source in (made, tmp_path / "r.parquet", tmp_path / "r.csv"):
        with pytest.raises(ReportError) as caught:
            read(source, ASKED)
        assert words in str(caught.value)


def test_columns_that_differ_by_capitals_alone_are_refused():
    columns = AnswerColumns.of(ASKED)
    with pytest.raises(ReportError, match=r"^these rows .*'report\.age'.*'Report\.age'"):
        columns.check([*columns.names, "Report.age"], "these rows")


def test_names_are_read_up_to_the_longest_of_all_questions():
    coin = fw.Categorical(["yes", "no"])
    long, short = (fw.Survey(coin, {name: fw.KRR(coin, 1.0)}) for name in ("n" * 99, "n"))
    limits = AnswerColumns.of(fw.Questionnaire({"one": long, "two": short})).limits
    assert limits["mechanism"] == limits["mechanism_0"] == 99 > limits["mechanism_1"]


def test_bad_questions_are_told():
    made = rows_of(FAULTY[0])
    for of, words in (
        ("agee", "no attribute 'agee'"),
        (("age", "age"), "comes twice"),
        ((), "no attribute is named"),
    ):
        with pytest.raises(ReportError, match=words):
            read(made, ASKED, of=of)
    one = ASKED.questions["age"]
    with pytest.raises(ReportError, match="has one question"):
        read(table(mechanism=["careful"], report=[1]), one, of="age")
    alike = fw.Questionnaire({"age": one, "Age": one})
    with pytest.raises(ReportError, match="differ in capitals alone"):
        read(made, alike)
    spoilt = fw.Categorical(["a\x1f", "b"])
    with pytest.raises(ReportError, match=r"U\+001C"):
        read(made, fw.Questionnaire({"age": survey_of(spoilt, "open")}))
    bytes_of = table(mechanism=["careful"], report__age=[b"1"], report__commute=[1])
    with pytest.raises(ReportError, match=r"column 'report.age' .* expected integers"):
        read(bytes_of, ASKED)


def test_read_reports_warns_and_writing_refuses_what_was_not_chosen(tmp_path):
    with pytest.warns(InvalidReports, match="no report in 'age'"):
        assert fw.read_reports(rows_of(*FAULTY), ASKED).people == 4
    ((choices, reports), *_) = answered(ASKED, 5, 2)
    for wrong, words in (
        ({"age": "careful"}, "says nothing of 'commute'"),
        ({**choices, "income": "open"}, "no question 'income'"),
        ("careful", "expected the names of what was chosen for age, commute"),
        (7, "expected a pair"),
    ):
        with pytest.raises(ReportError, match=words):
            fw.write_reports(tmp_path / "r.csv", [(wrong, reports)], survey=ASKED)
    with pytest.raises(fw.FreewillError):
        fw.write_reports(tmp_path / "r.csv", [({**choices, "age": "open"}, reports)], survey=ASKED)
    assert not [*tmp_path.iterdir()]


@given(questionnaires(), st.integers(1, 80), st.integers(0, 9))
@examples(30)
def test_evidence_files_hold_every_combination_and_merge(tmp_path_factory, survey, people, seed):
    evidence = read_back = None
    parts = answered(survey, people, seed)
    folder = tmp_path_factory.mktemp("evidence")
    fw.write_reports(folder / "r.parquet", parts, survey=survey)
    evidence = fw.read_reports(folder / "r.parquet", survey)
    fw.save_evidence(evidence, folder / "e.parquet")
    read_back = fw.load_evidence(folder / "e.parquet")
    assert read_back == evidence
    assert [group.name for group in read_back.groups] == [group.name for group in evidence.groups]
    both = read_back + evidence
    assert both.people == 2 * people
    assert len(both.groups) == len(evidence.groups)


def test_evidence_of_one_of_several_and_of_nameless_groups_is_stored_as_it_is(tmp_path):
    people = fw.Product(age=AGES, commute=MODES)
    one = fw.OneOf(age=fw.KRR(AGES, 1.0), commute=fw.KRR(MODES, 1.0))
    each = [fw.Each(age=fw.KRR(AGES, e), commute=fw.KRR(MODES, 1.0)) for e in (1.0, 2.0)]
    some = [0, 1, 2, people.size - 1]
    evidence = fw.collect([(mechanism, mechanism.obfuscate(some)) for mechanism in (one, *each)])
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence
    metadata = parquet.read_schema(tmp_path / "e.parquet").metadata[b"freewill evidence"]
    assert b'"version": 2' in metadata


def test_a_vast_product_is_read_and_stored_and_its_joint_distribution_refused(tmp_path):
    ten = fw.Linear(0, 9)
    survey = fw.Questionnaire({f"q{n}": survey_of(ten, "open", "careful") for n in range(9)})
    evidence = fw.read_reports(
        pa.table(
            {"mechanism": ["open", "careful"] * 40}
            | {f"report.q{n}": [n, 3] * 40 for n in range(9)}
        ),
        survey,
    )
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence
    for estimate in (fw.gibu, fw.em, fw.fit):
        with pytest.raises(
            fw.EvidenceError, match=r"1,000,000,000 records.*marginal\('q0', 'q1'\)"
        ):
            estimate(evidence)
    assert fw.gibu(evidence.marginal("q0", "q1")).status == "certified"
