"""Questionnaires: files of version 3, what was chosen, and what is refused."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw

AGES, MODES = fw.Linear(0, 9), fw.Categorical(["car", "bus", "bicycle"])
AGE = fw.Survey(
    AGES,
    {"careful": fw.Geometric(AGES, 0.5), "bits": fw.RAPPOR(AGES, 1.0), "none": fw.Silent(AGES)},
    question="How old are you?",
)
COMMUTE = fw.Survey(
    MODES,
    {"careful": fw.KRR(MODES, 1.0), "open": fw.KRR(MODES, 4.0)},
    descriptions={"open": "Nearly everything."},
)
BOTH = fw.Questionnaire({"age": AGE, "commute": COMMUTE}, title="How we travel")


def test_a_file_gives_it_back(tmp_path):
    weighted = fw.Questionnaire(dict(BOTH.questions), weights={"age": 0.1, "commute": 1.0})
    for one in (BOTH, weighted):
        one.save(tmp_path / "survey.json")
        assert fw.Survey.load(tmp_path / "survey.json") == one
        assert json.loads((tmp_path / "survey.json").read_text())["freewill survey"] == 3
        assert pickle.loads(pickle.dumps(one)) == one


def test_surveys_of_one_question_are_what_they_were():
    assert AGE.spec()["freewill survey"] == 2
    assert not isinstance(fw.Survey.from_spec(AGE.spec()), fw.Questionnaire)


@given(seed=st.integers(0, 2**32 - 1), people=st.integers(0, 50))
def test_what_was_chosen_stands_in_the_report(seed, people):
    rng, asked = np.random.default_rng(seed), BOTH.asked
    sent, expected = [], {}
    for age in AGE.mechanisms:
        for commute in COMMUTE.mechanisms:
            each = asked.at(age=age, commute=commute)
            reports = each.obfuscate(rng.integers(30, size=people), rng)
            sent.append(asked.joined({"age": age, "commute": commute}, reports))
            expected[age, commute] = each, reports
    together = np.concatenate(sent)
    space = asked.output_space
    assert not space.strays(together).any()
    assert np.array_equal(space.numbered(space.numbers(together)), together)
    for each, names, places, reports in asked.unfolded(together):
        mechanism, drawn = expected[names]
        assert each == mechanism
        assert np.array_equal(reports, drawn)
        assert len(places) == people


def test_the_law_is_that_of_what_was_chosen():
    asked, rng = BOTH.asked, np.random.default_rng(3)
    sent, rows = [], []
    for age in AGE.mechanisms:
        each = asked.at(age=age, commute="open")
        reports = each.obfuscate(rng.integers(30, size=20), rng)
        sent.append(asked.joined({"age": age, "commute": "open"}, reports))
        rows.append(np.exp(each.operator(reports).log_dense()))
    law = asked.operator(np.concatenate(sent))
    assert np.allclose(np.exp(law.log_dense()), np.concatenate(rows), rtol=1e-12)


def test_the_promise_is_that_of_the_least_private_choice():
    promise = BOTH.asked.guarantee()
    # RAPPOR's 1 is less than geometric noise of 0.5 over nine steps.
    assert promise.epsilon == pytest.approx(4.5 + 4.0)
    assert dict(promise.parts)["commute"] == fw.Guarantee("ldp", 4.0)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no questions": ({"questions": []}, "questions="),
    "an object": ({"questions": {"age": AGE.spec()}}, "questions="),
    "no name": ({"questions": [{"alphabet": AGES.spec(), "mechanisms": {}}]}, "with a name"),
    "a field": ({"questions": [{"name": "a"}], "questoin": 1}, "unknown field 'questoin'"),
    "a title in a question": (
        {"questions": [{"name": "a", "title": "x"}]},
        "'a' has 'title', which the whole",
    ),
    "an alphabet": (
        {"questions": [{"name": "a", "alphabet": 7, "mechanisms": {}}]},
        "question 'a'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_files_are_refused(case):
    fields, message = WRONG[case]
    with pytest.raises(fw.SurveyError, match=message):
        fw.Survey.from_spec({"freewill survey": 3, **fields})


def test_questions_come_once():
    question = {"name": "age", **{k: v for k, v in AGE.spec().items() if k != "freewill survey"}}
    with pytest.raises(fw.SurveyError, match="'age' comes twice"):
        fw.Survey.from_spec({"freewill survey": 3, "questions": [question, question]})


def test_names_that_would_be_taken_for_two_are_refused():
    plus = fw.Survey(AGES, {"a + b": fw.KRR(AGES, 1.0)})
    with pytest.raises(fw.SurveyError, match="Rename it"):
        fw.Questionnaire({"age": plus})


def test_choices_are_of_their_question():
    asked = BOTH.asked
    with pytest.raises(fw.ParameterError, match="for 'commute' 'bits' was chosen"):
        asked.at(age="bits", commute="bits")
    with pytest.raises(fw.ParameterError, match="no question 'comute'"):
        asked.at(age="bits", comute="open")
    with pytest.raises(fw.LawError, match=r"take at\(age=..., commute=...\) first"):
        asked.obfuscate([0])
    with pytest.raises(fw.AlphabetError, match="Does it belong to another question"):
        fw.Asked(BOTH.alphabet, {"age": {"a": fw.KRR(MODES, 1.0)}, "commute": COMMUTE.mechanisms})


@given(
    seed=st.integers(0, 2**32 - 1),
    epsilons=st.lists(st.floats(0.05, 6.0), min_size=2, max_size=3),
    hadamard=st.booleans(),
)
def test_inverses_go_attribute_by_attribute(seed, epsilons, hadamard):
    """The inverse of what is expected is the truth; of anything, the least squares of the law."""
    rng = np.random.default_rng(seed)
    parts: list[Any] = [
        fw.KRR(fw.Linear(0, size), own) for size, own in enumerate(epsilons, start=1)
    ]
    if hadamard:
        parts[0] = fw.HadamardResponse(fw.Linear(0, 2), epsilons[0])
    each = fw.Each({f"q{place}": part for place, part in enumerate(parts)})
    theta = rng.dirichlet(np.ones(each.alphabet.size))
    law = each.law()
    assert np.allclose(each.inverse(theta @ law), theta, atol=1e-9)
    if not hadamard:
        shares = rng.dirichlet(np.ones(law.shape[1]))
        raw = np.linalg.solve(law.T, shares)
        assert np.allclose(each.inverse(shares), raw, atol=1e-9 * np.abs(raw).max())
