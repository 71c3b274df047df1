"""What Python verifies of a survey, freewill.js verifies: both take it, or both refuse it."""

import json
import re

import numpy as np
import pytest
from tools.javascript import evaluated, in_node, node
from tools.javascript.verdicts import AGREED, python_says, verdicts

import freewill as fw
from device_cases import skipped

pytestmark = skipped(node(), "Node 18 or newer")

YEARS = fw.Linear(0, 99, unit="year")
CAREFUL = fw.Shokri(YEARS, 20.0)
SQUARES = (np.arange(100)[:, None] - np.arange(100)) ** 2.0
OWN = fw.Shokri(fw.Linear(0, 9), 1.5, guess_loss=SQUARES[:10, :10])
TAKEN, REFUSED, UNSOLVED, TWO_LOSSES = AGREED


@pytest.mark.slow
def test_hostile_surveys_are_judged_alike():
    found = verdicts(480, seed=3)
    assert [one for one in found if not one.agreed] == []
    for kind in {one.kind for one in found}:
        outcomes = [one.outcome for one in found if one.kind == kind]
        assert min(outcomes.count(TAKEN), outcomes.count(REFUSED)) > 15, kind
    assert sum(one.outcome == TWO_LOSSES for one in found) < 10


def survey_with(mechanism, table, **fields):
    """A survey of one Shokri mechanism with a table, and some fields of its own."""
    spec = fw.Survey(mechanism.alphabet, {"s": mechanism}).for_devices()
    spec["mechanisms"]["s"] |= fields
    spec["tables"]["s"] = np.asarray(table).tolist()
    return spec


def both(*specs):
    """What Python and freewill.js say of surveys, in pairs."""
    given = list(map(json.dumps, specs))
    return zip(map(python_says, given), in_node("verdicts", {"given": given}), strict=True)


EYE = np.eye(100)
FALSE_CLAIMS = {
    "the truth": survey_with(CAREFUL, EYE),
    "a permutation": survey_with(CAREFUL, np.roll(EYE, 41, axis=1)),
    "the far end": survey_with(CAREFUL, EYE[::-1]),
    "1 % too much": survey_with(CAREFUL, CAREFUL.law(), quality_loss=20.2),
    "1 % too little": survey_with(CAREFUL, CAREFUL.law(), quality_loss=19.8),
    "a millionth too much": survey_with(CAREFUL, CAREFUL.law(), quality_loss=20 * (1 + 1e-6)),
    "a little truth": survey_with(CAREFUL, 0.999 * CAREFUL.law() + 0.001 * EYE),
    "columns renamed": survey_with(CAREFUL, CAREFUL.law()[:, ::-1]),
    "another prior": survey_with(CAREFUL, CAREFUL.law(), prior=[0.5, *[0.5 / 99] * 99]),
    "another loss": survey_with(
        CAREFUL, CAREFUL.law(), report_loss=SQUARES.tolist(), guess_loss=SQUARES.tolist()
    ),
    "truth that costs": survey_with(
        CAREFUL,
        CAREFUL.law(),
        report_loss=(SQUARES + 1).tolist(),
        guess_loss=(SQUARES + 1).tolist(),
    ),
    "nothing to guess": survey_with(CAREFUL, CAREFUL.law(), prior=[1.0, *[0.0] * 99]),
}


@pytest.mark.later
def test_a_table_that_does_not_keep_its_claim_is_refused_in_the_same_words():
    for name, said in zip(FALSE_CLAIMS, both(*FALSE_CLAIMS.values()), strict=True):
        # Where nothing is lost at all, each rounds that nothing otherwise.
        python, javascript = (re.sub(r"[0-9.]+e-[0-9]+", "0", one["error"]) for one in said)
        assert python == javascript, name


def test_with_two_losses_a_table_must_keep_q_and_be_as_good_as_a_coin():
    tables = [np.eye(10), np.roll(np.eye(10), 3, axis=1), np.full((10, 10), 0.1)]
    for said in both(*(survey_with(OWN, table) for table in tables)):
        assert all("is no such law" in one["error"] for one in said)


def test_with_two_losses_the_loss_that_is_told_is_that_of_the_table():
    """Only Python solves for the optimum; a device tells what the table in its hands gives."""
    worse = 0.995 * OWN.law() + 0.005 * np.eye(10)
    spec = survey_with(OWN, worse)
    ((python, javascript),) = both(spec)
    assert "error" in python
    assert "menu" in javascript
    body = "(given) => survey.Survey.parse(given).menu().map(({ mechanism }) => mechanism.loss)"
    (told,) = evaluated(body, spec)
    assert told == pytest.approx(OWN.problem.adversary_loss(worse), rel=1e-12)
    assert told < OWN.guarantee().adversary_loss


def test_distances_that_are_given_are_the_one_loss_that_they_are():
    city = fw.Grid(5, 4, cell=(0.3, 0.7))
    apart = fw.distances(city)
    offered = {
        "a": fw.Shokri(city, 0.5, selection="vertex"),
        "b": fw.Shokri(city, 0.5, report_loss=apart, selection="vertex"),
    }
    (rows,) = in_node("ids", {"surveys": [fw.Survey(city, offered).for_devices()]})
    assert rows == [[name, one.id, str(one)] for name, one in offered.items()]


def test_a_line_that_no_table_is_solved_for_is_refused():
    spec = {
        "freewill survey": 1,
        "alphabet": {"kind": "linear", "first": 0, "last": 2048},
        "mechanisms": {"s": {"mechanism": "shokri", "quality_loss": 1}},
    }
    ((python, javascript),) = both(spec)
    assert python["error"] == javascript["error"]
    assert "for at most 2048 values" in python["error"]


LINE = {"kind": "linear", "first": 0, "last": 9}
ONE = {
    "freewill survey": 1,
    "alphabet": LINE,
    "mechanisms": {"k": {"mechanism": "k-rr", "epsilon": 1}},
}


def test_fields_that_were_judged_apart():
    cases = [
        ({**ONE, "freewill survey": 1.0}, True),
        ({**ONE, "mechanisms": {"k": {"mechanism": "k-rr", "epsilon": 1, "version": True}}}, False),
        ({**ONE, "mechanisms": [{"mechanism": "k-rr", "epsilon": 1, "name": []}]}, False),
        ({**ONE, "mechanisms": [{"mechanism": "k-rr", "epsilon": 1, "name": 0}]}, False),
        ({**ONE, "mechanisms": [{"mechanism": "k-rr", "epsilon": 1, "name": ""}]}, True),
        ({**ONE, "mechanisms": {"m": {"mechanism": "matrix", "law": [[True, 0.0]] * 10}}}, False),
        ({**ONE, "alphabet": {"kind": "linear", "first": 2**53, "last": 2**53 + 1}}, False),
        ({**ONE, "alphabet": {"kind": "linear", "first": -(2**53) - 1, "last": -(2**53)}}, False),
        ({**ONE, "alphabet": {"kind": "linear", "first": 2**53 - 1, "last": 2**53}}, True),
        ({**ONE, "alphabet": {**LINE, "unit": "a\u3000b"}}, False),
        ({**ONE, "alphabet": {**LINE, "unit": "\u2163 x"}}, False),
        ({**ONE, "alphabet": {**LINE, "unit": "年"}}, True),
    ]
    found = both(*(given for given, _ in cases))
    for (given, taken), (python, javascript) in zip(cases, found, strict=True):
        assert ("menu" in python, "menu" in javascript) == (taken, taken), given
        assert python.get("menu") == javascript.get("menu")


def test_zeros_with_a_sign_change_no_id():
    pair = fw.Categorical(["a", "b"])
    mechanism = fw.Shokri(pair, 0.25, prior=[1.0, -0.0], guess_loss=[[-0.0, 1], [1, -0.0]])
    spec = fw.Survey(pair, {"s": mechanism}).for_devices()
    spec["mechanisms"]["s"] |= {"prior": [1.0, -0.0], "guess_loss": [[-0.0, 1], [1, -0.0]]}
    box = fw.Grid.box(0, 1, 0, 1, columns=2, rows=2)
    grid = {**box.spec(), "bounds": [-0.0, 1, -0.0, 1]}
    plain = {**ONE, "alphabet": grid}
    (shy, theirs), (flat, other) = both(spec, plain)
    assert shy == theirs == {"menu": [["s", mechanism.id]]}
    assert flat == other == {"menu": [["k", fw.KRR(box, 1.0).id]]}
