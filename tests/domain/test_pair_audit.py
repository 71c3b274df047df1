"""The pair of a choice and its report, against a dense oracle; what is no choice is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import ENTRIES, naive_epsilon
from profiles import examples

AGES = fw.Linear(0, 99, unit="year")
OLD = np.where(np.arange(100) > 60, 0.9, 0.1)
SURVEY = fw.Survey(AGES, {"shy": fw.Geometric(AGES, 0.05), "bold": fw.KRR(AGES, 5.0)})


def kind_of(mechanism):
    return getattr(mechanism.guarantee(), "kind", "ldp")


@examples(60)
@given(st.sampled_from(ENTRIES), st.integers(2, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_the_pair_is_that_of_the_dense_law(entry, size, seed, zeros):
    mechanism = entry.build(size, 0.8)
    alphabet, rng = mechanism.alphabet, np.random.default_rng(seed)
    chosen = rng.random(alphabet.size)
    if zeros:
        chosen[rng.integers(alphabet.size)] = 0.0
    survey = fw.Survey(alphabet, {"it": mechanism, "other": fw.KRR(alphabet, 0.01)})
    found = fw.audit(survey, choice=np.column_stack([chosen, 1 - chosen]))
    law = entry.oracle(mechanism) * chosen[:, None]
    expected = naive_epsilon(law, alphabet, kind_of(mechanism))
    assert found["it"].epsilon == pytest.approx(expected, rel=1e-9, abs=1e-9)
    # The named values and report show it.
    two = alphabet.encode([found["it"].first, found["it"].second])
    outputs = [output.tolist() for output in mechanism.outputs()]
    column = law[:, outputs.index(found["it"].output)]
    assert column[two[0]] > 0
    with np.errstate(divide="ignore"):
        odds = float(np.log(column[two[0]]) - np.log(column[two[1]]))
    assert odds == pytest.approx(found["it"].log_odds, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", [fw.BLH, fw.RAPPOR, fw.SubsetSelection, fw.LocalHashing, fw.KRR])
def test_symmetric_mechanisms_add_the_largest_odds_of_the_choice(kind):
    names = fw.Categorical([f"{place}" for place in range(300)])
    mechanism, chosen = kind(names, 1.5), np.random.default_rng(3).uniform(0.1, 0.9, 300)
    survey = fw.Survey(names, {"it": mechanism, "all": fw.Identity(names)})
    told = fw.audit(survey, choice={"it": chosen, "all": 1 - chosen})
    odds = math.log(chosen.max() / chosen.min())
    assert told["it"].epsilon == pytest.approx(mechanism.guarantee().epsilon + odds, rel=1e-9)
    assert (told["it"].first, told["it"].second) == (str(chosen.argmax()), str(chosen.argmin()))
    assert math.isinf(told["all"].epsilon)
    assert str(told["all"]).endswith("for sure; promised: nothing")
    assert told.worst == "all"


def test_the_example_of_a_dependent_choice():
    found = fw.audit(SURVEY, choice=np.column_stack([OLD, 1 - OLD]))
    assert str(found["shy"]) == "61 seems 9.46 times as likely as 60; promised: 1.05 times"
    assert found["shy"].epsilon == pytest.approx(math.log(9) + 0.05)
    assert not found.holds
    assert found == fw.audit(SURVEY, choice={"bold": 1 - OLD, "shy": OLD})


def test_a_free_choice_adds_nothing_and_nobody_tells_nothing():
    loss = fw.Shokri(fw.Linear(0, 4), 1.0)
    offered = {
        "it": loss,
        "near": fw.Geometric(loss.alphabet, 0.3),
        "none": fw.KRR(loss.alphabet, 1),
    }
    survey = fw.Survey(loss.alphabet, offered)
    free = fw.audit(survey, choice=np.tile([0.3, 0.7, 0.0], (5, 1)))
    assert free.holds
    assert free["near"].epsilon == pytest.approx(0.3)
    assert free["none"].epsilon is None
    assert str(free["none"]) == "nobody chooses it"
    law = np.array([[0.3, 0.7, 0.0]] * 4 + [[0.4, 0.6, 0.0]])
    by_value = fw.audit(survey, choice=law)
    assert not by_value["it"].holds
    assert not by_value["near"].holds


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (None, "is audited with a choice law alone"),
        ([[0.5, 0.5]], r"shape \(1, 2\): expected \(100, 2\)"),
        (np.column_stack([OLD, OLD]), "choice at 0: 0.1, 0.1, of the sum 0.2"),
        (np.column_stack([OLD - 1, 2 - OLD]), "choice at 0: -0.9, 1.9"),
        (np.full((100, 2), np.nan), "expected chances"),
        ({"shy": OLD}, "expected one list of 100 numbers for each of 'shy', 'bold'"),
        ({"shy": OLD[:9], "bold": OLD[:9]}, r"'shy' of the shape \(9,\): expected 100 numbers"),
        ("half", "expected numbers"),
    ],
)
def test_what_is_no_choice_law_is_refused(choice, said):
    with pytest.raises(fw.ParameterError, match=said):
        fw.audit(SURVEY, choice=choice)


def test_only_surveys_of_one_question_have_a_choice():
    with pytest.raises(fw.ParameterError, match=r"Give a fw\.Survey"):
        fw.audit(SURVEY.mechanisms["shy"], choice=[[1.0]])
    several = fw.Questionnaire({"age": SURVEY})
    with pytest.raises(fw.ParameterError, match="one by one"):
        fw.audit(several, choice=[[1.0]])
    with pytest.raises(fw.ParameterError, match="by itself"):
        fw.audit(SURVEY, fw.Guarantee("ldp", 1.0))
