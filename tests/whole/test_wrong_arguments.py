"""Surveys, paths and reports of the wrong kind: one error of our own, whatever came."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import freewill as fw
from freewill.cli.values import encode, read_columns
from freewill.domain.packed_outputs import Bits
from freewill.errors import FreewillError
from freewill.io.decoding import Invalid
from freewill.io.reading import Reading, read

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
    from_frame = read(pa.table(rows), survey)
    for told in (str(from_frame), str(from_frame.evidence), str(from_frame.evidence.groups[0])):
        assert "\x1b" not in told
        assert "x\\x1b[2J\\n: k-rr" in told


def test_one_is_told_in_the_singular():
    evidence = fw.collect([(K, np.array([1]))])
    reading = Reading(evidence, 1, 1, (Invalid("why", 1, ("x",)),))
    assert str(reading).splitlines()[:2] == ["1 row, 1 duplicate, 1 invalid", "  1 row: why (x)"]
    assert ", 1 mechanism, " in str(reading)


EVIDENCE = fw.collect([(K, [1, 2])])
WRONG = [None, 5, "x", [], [1, 2], {}, K, LINE, np.array([1.0, 2.0]), fw.Evidence]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize(
    "work",
    [
        fw.gibu,
        fw.em,
        fw.ibu,
        fw.inversion,
        fw.debias,
        fw.unresolved_directions,
        fw.merge,
        lambda wrong: fw.merge([EVIDENCE, wrong]),
        lambda wrong: EVIDENCE + wrong,
        lambda wrong: fw.combine_results(wrong, fw.ibu),
        lambda wrong: fw.combine_mechanisms(wrong, fw.ibu),
        lambda wrong: fw.save_evidence(wrong, "x.parquet"),
    ],
)
def test_what_is_no_evidence_is_named(work, wrong):
    with pytest.raises(fw.EvidenceError, match="evidence"):
        work(wrong)


@pytest.mark.parametrize("wrong", [5, "s.json", {}, LINE, fw.Survey], ids=repr)
def test_reports_are_written_by_a_survey_or_without(wrong, tmp_path):
    with pytest.raises(fw.ReportError, match=r"survey=.*expected a Survey"):
        fw.write_reports(tmp_path / "r.csv", [("a", [1])], survey=wrong)


@pytest.mark.parametrize("part", [(K,), (K, [1], [1], [1]), (5, [1]), (fw.KRR, [1]), 5, "ab", None])
def test_a_part_is_a_mechanism_and_its_reports(part):
    with pytest.raises(fw.EvidenceError, match=r"expected \(mechanism, reports\)"):
        fw.collect([part])
    with pytest.raises(fw.EvidenceError, match="expected pairs"):
        fw.collect(5)


@pytest.mark.parametrize("name", ["\ud83d", "a\udcff", "", 5, None, b"k"])
def test_a_name_is_a_text_of_whole_characters(name, tmp_path):
    with pytest.raises(fw.SurveyError, match="name"):
        fw.Survey(LINE, {name: K})
    entry = {"mechanism": "k-rr", "epsilon": 1.0, "name": name}
    spec = {"freewill survey": 1, "alphabet": LINE.spec(), "mechanisms": [entry]}
    if name:  # without one, the id is the name
        with pytest.raises(fw.SurveyError, match="name"):
            fw.Survey.from_spec(spec)
        for kind in ("csv", "parquet", "ndjson"):
            with pytest.raises(fw.ReportError):
                fw.write_reports(tmp_path / f"r.{kind}", [(name, [1])])


def test_names_of_files_are_utf_8(tmp_path):
    wild = tmp_path / "\udcff.csv"
    wild.write_text("mechanism,report\na,1\n")
    for work in (
        lambda: fw.read_reports(wild, SURVEY),
        lambda: fw.read_reports(tmp_path, SURVEY),
        lambda: fw.load_evidence(wild),
    ):
        with pytest.raises(FreewillError, match="rename the file"):
            work()


@pytest.mark.parametrize("wrong", [5, "x", [], lambda *_, **__: None, lambda *_, **__: 5])
def test_an_estimator_is_a_function_that_estimates(wrong):
    for combine in (fw.combine_results, fw.combine_mechanisms):
        with pytest.raises(fw.ParameterError, match="estimator="):
            combine(EVIDENCE, wrong)


@pytest.mark.parametrize("wrong", ["", "nothing", 5, [], np.array(["columns", "passes"])], ids=repr)
def test_solvers_go_by_their_names(wrong):
    with pytest.raises(fw.ParameterError, match="solver="):
        fw.gibu(EVIDENCE, solver=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1", None])
def test_what_is_held_is_a_number_of_bytes(wrong, tmp_path):
    fw.save_evidence(EVIDENCE, tmp_path / "e.parquet")
    with pytest.raises(fw.EvidenceError, match="hold="):
        fw.load_evidence(tmp_path / "e.parquet", hold=wrong)
    with pytest.raises(fw.ReportError, match="hold="):
        fw.read_reports(pa.table({"mechanism": ["a"], "report": [1]}), SURVEY, hold=wrong)


def test_a_class_is_none_of_its_objects():
    for work in (
        lambda: fw.KRR(fw.Linear, 1.0),
        lambda: fw.Identity(fw.Categorical),
        lambda: fw.Matrix(LINE, np.eye(10), fw.Linear),
        lambda: fw.Survey(fw.Grid, {"a": K}),
        lambda: fw.distances(fw.Linear),
        lambda: fw.emd([1.0], [1.0], fw.Linear),
    ):
        with pytest.raises(FreewillError, match="expected"):
            work()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\xff\xfe"] * 2),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}] * 2),
        pa.array([10**15] * 2, pa.time64("us")),
        pa.array([2**62] * 2, pa.timestamp("us")),
        pa.array([2**62] * 2, pa.date64()),
        pa.array(["x\x1b[2J"] * 2).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("alphabet", [LINE, fw.Categorical(["a", "b"])], ids=str)
def test_true_values_of_any_type_are_encoded_or_refused(column, alphabet, tmp_path):
    path = tmp_path / "values.parquet"
    parquet.write_table(pa.table({"v": column}), path)
    with pytest.raises(FreewillError) as caught:
        encode(alphabet, read_columns(path, ["v"]), ["v"], drop_outside=False)
    assert "\x1b" not in str(caught.value)
