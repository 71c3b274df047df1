"""freewill.js in Node: the same bytes give the same reports as in Python, to the last bit."""

import itertools
import json
import re

import numpy as np
import pytest
from tools.javascript import in_node, node
from tools.javascript.cases import at_offset, surveys, tied_cases

import freewill as fw
from device_cases import (
    COUNT,
    LAWFUL,
    VECTORS,
    assert_same_draws,
    assert_vectors,
    p_values,
    skipped,
)
from freewill.domain.alphabets.base import texts
from freewill.domain.draws.sources import GivenBytes
from freewill.domain.programs import drawable
from freewill.io.reading import read

pytestmark = skipped(node(), "Node 18 or newer")


@pytest.mark.slow
def test_the_same_bytes_give_the_same_reports_of_every_mechanism():
    stream = np.random.default_rng(14).bytes(1 << 21)
    assert assert_same_draws(in_node, surveys(), stream, COUNT) >= 100_000


@pytest.mark.slow
def test_chances_are_equal_to_the_last_bit():
    """Streams that follow every chance to its last digit, and decide there."""
    offered = surveys()
    cases = tied_cases(offered, 3)
    told = in_node("streams", {"surveys": [one.for_devices() for one in offered], "cases": cases})
    for case, (report, used) in zip(cases, told, strict=True):
        assert (report, used) == (case["report"], case["used"]), (case["name"], case["index"])
    assert len(cases) > 200


@pytest.mark.parametrize("cell", [0.5, (0.3, 0.7)])
def test_offsets_are_accepted_alike(cell):
    """Along the diagonal of square cells, too, where G is 0 or a unit of the last place."""
    city = fw.Grid(24, 16, cell=cell)
    mechanism = fw.PlanarGeometric(city, 1.0)
    survey, cases = fw.Survey(city, {"p": mechanism}), []
    for i, j, accepted in itertools.product(range(16), range(16), (True, False)):
        stream = at_offset(mechanism, i, j, accepted)
        source = GivenBytes(stream)
        report = mechanism.draw(0, source)
        assert report == (city.columns * min(j, 15) + i if accepted or i == j == 0 else report)
        cases.append({"survey": 0, "name": "p", "index": 0, "bytes": stream.hex()})
        cases[-1] |= {"report": report, "used": source.used}
    told = in_node("streams", {"surveys": [survey.for_devices()], "cases": cases})
    assert told == [[case["report"], case["used"]] for case in cases]


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 7, 8, 9, 127, 128, 129, 300])
def test_rows_that_sum_to_one_nearly_are_divided_alike(width):
    rng = np.random.default_rng(width)
    law = rng.dirichlet(np.ones(width), size=20)
    law *= 1 + rng.choice([0, 2.0**-49, 1e-15, 1e-14, -1e-12, 9e-10], 20)[:, None]
    spec = {
        "freewill survey": 1,
        "alphabet": {"kind": "linear", "first": 0, "last": 19},
        "mechanisms": {"m": {"mechanism": "matrix", "law": law.tolist()}},
    }
    mechanism = fw.Survey.from_spec(spec).mechanisms["m"]
    assert not np.array_equal(mechanism.law(), law)
    assert in_node("ids", {"surveys": [spec]}) == [[["m", mechanism.id, str(mechanism)]]]


def test_node_reproduces_the_vectors():
    assert_vectors(in_node)


@pytest.mark.later
def test_what_is_drawn_follows_the_law():
    stream = np.random.default_rng(7).bytes(1 << 23)
    found = p_values(in_node, 10_000, stream)
    assert len(found) == len(LAWFUL)
    assert min(found.values()) > 1e-6, found


def test_names_are_the_same():
    offered = [*surveys(), _labelled(), _united()]
    told = in_node("ids", {"surveys": [one.for_devices() for one in offered]})
    for survey, rows in zip(offered, told, strict=True):
        ours = [[name, one.id, str(one)] for name, one in survey.mechanisms.items()]
        assert rows == ours


def _labelled() -> fw.Survey:
    menu = fw.Categorical(["ü", "\U0001f600", 'a "quoted" \\ one', "tab\t", "\x7f"])
    odd = fw.Matrix(menu, np.full((5, 2), 0.5), fw.Linear(-5, 5, step=10))
    return fw.Survey(menu, {"\U0001f600": fw.KRR(menu, 1e-5), "odd": odd})


def _united() -> fw.Survey:
    line = fw.alphabet_from_spec({"kind": "linear", "first": 0, "last": 9})
    return fw.Survey(line, {"wide": fw.Geometric(line, 123456789012345680.0)})


def test_a_list_without_names_is_named_by_ids():
    spec = {
        "freewill survey": 1,
        "alphabet": {"kind": "linear", "first": 0, "last": 9},
        "mechanisms": [
            {"mechanism": "k-rr", "epsilon": 1},
            {"name": "far", "mechanism": "geometric", "epsilon": 0.1, "version": 1},
        ],
    }
    ours = [[name, one.id, str(one)] for name, one in fw.Survey.from_spec(spec).mechanisms.items()]
    assert in_node("ids", {"surveys": [spec]}) == [ours]


@pytest.mark.later
def test_every_survey_of_the_docs_is_read():
    page = (VECTORS.parent.parent / "docs" / "surveys.md").read_text()
    given = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    told = in_node("surveys", {"given": given})
    for text, answer in zip(given, told, strict=True):
        survey = fw.Survey.from_spec(json.loads(text))
        if isinstance(survey, fw.Questionnaire):
            assert answer == len(survey.questions)
            continue
        if hasattr(survey.alphabet, "attributes"):  # records by one mechanism: Python's alone
            assert "alphabet kind 'product'" in answer["error"]
            continue
        offered = survey.mechanisms
        drawn = {name: one for name, one in offered.items() if drawable(one)}
        lacking = any(one.name == "shokri" or one.program() for one in drawn.values())
        if lacking or len(drawn) < len(offered):
            assert "Survey.save" in answer["error"]
            whole = fw.Survey(survey.alphabet, drawn).for_devices()
            assert in_node("surveys", {"given": [whole]}) == [len(drawn)]
        else:
            assert answer == len(drawn)
    assert len(given) >= 5


@pytest.mark.later
def test_rows_are_read_by_the_collector():
    """Labels of digits are no index, and hexadecimal digits no label."""
    menu = fw.Categorical(["1", "0", "value:0", "ü"])
    city = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
    line = fw.Linear(1900, 2000, step=10)
    for alphabet, values in (
        (menu, ["1", "0", "value:0", "ü"]),
        (line, [1900, 1950, 2000]),
        (city, [(37.76, -122.42), (37.7228, -122.3789)]),
    ):
        offered = {"k": fw.KRR(alphabet, 1.0), "b": fw.RAPPOR(alphabet, 3.0)}
        survey = fw.Survey(alphabet, {**offered, "open": fw.Identity(alphabet)})
        asked = [[name, value] for name in survey.mechanisms for value in values]
        rows = in_node("rows", {"survey": survey.for_devices(), "asked": asked})
        assert all(set(row) == {"mechanism", "value", "report_id"} for row in rows)
        assert len({row["report_id"] for row in rows}) == len(rows)
        assert all(re.fullmatch("[0-9a-f]{32}", row["report_id"]) for row in rows)
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        result = read(_table(columns), survey, strict=True)
        assert result.evidence.people == len(rows)
        told = [row["value"] for row in rows if row["mechanism"] == "open"]
        assert told == texts(alphabet, alphabet.encode(values))


def _table(columns):
    import pyarrow as pa  # noqa: PLC0415

    return pa.table(columns)
