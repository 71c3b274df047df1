"""Solved laws travel with surveys, whole, and are then the law of collector and device."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.draws.sources import GivenBytes
from freewill.errors import LawError, SurveyError
from profiles import examples

LINE = fw.Linear(0, 5)
SHOKRI = fw.Shokri(LINE, 1.0)


def survey(**mechanisms):
    return fw.Survey(LINE, mechanisms)


def spec(table, name="shy", **fields):
    given_ = survey(shy=SHOKRI, k=fw.KRR(LINE, 1.0)).for_devices()
    return {**given_, "tables": {name: table}, **fields}


def test_a_saved_survey_brings_the_law_to_the_last_digit(tmp_path):
    path = tmp_path / "survey.json"
    survey(shy=SHOKRI, k=fw.KRR(LINE, 1.0)).save(path)
    held = json.loads(path.read_text())
    assert held["freewill survey"] == 2
    assert held["tables"] == {"shy": SHOKRI.matrix.tolist()}
    found = fw.Survey.load(path)
    assert found == survey(shy=SHOKRI, k=fw.KRR(LINE, 1.0))
    assert np.array_equal(found.mechanisms["shy"].law(), SHOKRI.law())


def test_surveys_without_such_mechanisms_stay_as_they_were():
    plain = survey(k=fw.KRR(LINE, 1.0), law=fw.Matrix(LINE, np.eye(6)))
    assert plain.for_devices() == plain.spec()
    assert plain.spec()["freewill survey"] == 1


def test_the_table_is_the_law_even_where_another_would_be_solved_for(monkeypatch):
    """Of many optimal laws: the sampler, the operator and the estimate take the one that came."""
    other = fw.Shokri(LINE, 1.0, selection="vertex").law()
    assert not np.allclose(other, SHOKRI.law())
    monkeypatch.setattr(fw.Shokri, "_solve", lambda self: pytest.fail("solved"))
    shy = fw.Survey.from_spec(spec(other.tolist())).mechanisms["shy"]
    assert shy == SHOKRI
    assert np.array_equal(shy.law(), other)
    assert np.array_equal(shy.operator(np.arange(6)).dense().T, other)
    stream = np.random.default_rng(1).bytes(1000)
    drawn = [shy.draw(2, GivenBytes(stream[i:])) for i in range(300)]
    assert set(drawn) == set(np.flatnonzero(other[2]))


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (np.eye(6).tolist(), "is no such law"),
        (np.full((6, 6), 1 / 6).tolist(), "is no such law"),
        ([[1.0] * 6] * 6, "row 0 of the law sums to 6"),
        ([[1.0]], "law of shape"),
        ([[0.5, 0.5]] * 6, "2 columns and the output alphabet 6 values"),
        ("no", "expected a matrix of numbers"),
        (None, "law of shape|expected a matrix"),
        ([[-1.0, 2.0, 0, 0, 0, 0]] * 6, "must be finite and >= 0"),
    ],
)
def test_a_table_that_is_no_optimal_law_is_refused(table, wanted):
    with pytest.raises(SurveyError, match=f"mechanism 'shy': .*({wanted})"):
        fw.Survey.from_spec(spec(table))
    with pytest.raises(LawError):
        SHOKRI.with_law(table)


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        (spec([[1.0]], name="k"), "a table for 'k': expected the name of a Shokri mechanism"),
        (spec([[1.0]], name="other"), "a table for 'other'"),
        (spec([], tables=[]), r"tables \[\]: expected"),
        (spec(SHOKRI.law().tolist(), **{"freewill survey": 1}), "'tables', a field of"),
    ],
)
def test_tables_that_stand_in_the_wrong_place_are_refused(given_, wanted):
    with pytest.raises(SurveyError, match=wanted):
        fw.Survey.from_spec(given_)


def test_two_losses_are_solved_for_to_prove_the_table():
    guess = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) ** 2.0
    own = fw.Shokri(LINE, 1.0, guess_loss=guess)
    found = fw.Survey.from_spec(survey(own=own).for_devices()).mechanisms["own"]
    assert np.array_equal(found.law(), own.law())
    assert found.guarantee() == own.guarantee()
    with pytest.raises(LawError, match="is no such law"):
        own.with_law(np.eye(6))


STEEP = 10.0 ** -np.linspace(0, 12, 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        fw.Shokri(fw.Linear(0, 1), 1e-12, selection="vertex"),
        fw.Shokri(fw.Linear(0, 9), 1e-250, selection="vertex"),
        fw.Shokri(fw.Linear(0, 1), 1e-24, prior=[1 - 1e-12, 1e-12], selection="vertex"),
        fw.Shokri(fw.Linear(0, 9), 5e-8, prior=STEEP / STEEP.sum(), selection="vertex"),
        fw.Shokri(fw.Grid(3, 2, cell=(0.5, 0.7)), 0.25 * (1 - 1e-9), prior=[0.5, 0.5, 0, 0, 0, 0]),
    ],
    ids=str,
)
def test_a_law_that_a_solver_left_short_is_led_to_its_optimum(mechanism):
    """So that no promise, which is told by the formula, is more than the law keeps."""
    law, problem = mechanism.law(), mechanism.problem
    assert problem.user_loss(law) <= mechanism.quality_loss_limit * (1 + 1e-12)
    assert problem.adversary_loss(law) >= mechanism.optimum * (1 - 1e-7)
    told = fw.Survey(mechanism.alphabet, {"s": mechanism}).for_devices()
    assert np.array_equal(fw.Survey.from_spec(told).mechanisms["s"].law(), law)


def test_a_table_of_one_loss_is_judged_without_solving(monkeypatch):
    monkeypatch.setattr(fw.Shokri, "_solve", lambda self: pytest.fail("solved"))
    fresh = fw.Shokri(LINE, 1.0)
    for table in (np.eye(6), np.roll(np.eye(6), 1, axis=1), SHOKRI.law()[::-1]):
        with pytest.raises(LawError, match="is no such law"):
            fresh.with_law(table)


@given(
    st.integers(2, 8),
    st.floats(1e-2, 20),
    st.sampled_from(["max-entropy", "vertex"]),
    st.lists(st.sampled_from([0.0, 0.01, 1.0, 3.0]), min_size=8, max_size=8),
)
@examples(60)
def test_every_law_that_is_solved_for_is_taken_back(size, limit, selection, weights):
    prior = np.array(weights[:size])
    prior = prior / prior.sum() if prior.sum() else None
    line = fw.Linear(0, size - 1)
    mechanism = fw.Shokri(line, limit, prior=prior, selection=selection)
    told = json.loads(json.dumps(fw.Survey(line, {"s": mechanism}).for_devices()))
    again = fw.Survey.from_spec(told).mechanisms["s"]
    assert np.array_equal(again.law(), mechanism.law())
