"""Estimators, comparisons and plans of records: those of a table of numbers, or a refusal."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.information import information_of
from record_cases import AGES, PEOPLE, VOTES, answers, some_truth, three_ways, twin


@pytest.fixture(scope="module")
def evidence():
    return answers(three_ways(), 2000, seed=3)


@pytest.mark.parametrize(
    "estimate",
    [
        lambda some: fw.gibu(some, tol=1e-11),
        lambda some: fw.em(some, delta=1e-7),
        fw.one_step,
        fw.shrink,
        lambda some: fw.combine_results(some, fw.ibu),
        lambda some: fw.ibu(fw.Evidence(some.alphabet, some.groups[:1])),
    ],
    ids=["gibu", "em", "one_step", "shrink", "combine_results", "ibu"],
)
def test_estimates_are_those_of_tables_of_numbers(evidence, estimate):
    mine, dense = estimate(evidence), estimate(twin(evidence))
    np.testing.assert_allclose(mine.theta, dense.theta, atol=1e-9)
    assert mine.log_likelihood == pytest.approx(dense.log_likelihood, abs=1e-9)


def test_inversion_is_that_of_the_table():
    both = answers(three_ways()[:1], 2000, seed=4)
    for post in ("project", "normalise", "none"):
        found = fw.inversion(both, post=post).theta
        np.testing.assert_allclose(found, fw.inversion(twin(both), post=post).theta, atol=1e-10)
    quiet = answers(three_ways()[1:2], 500, seed=4)
    with pytest.raises(fw.IdentifiabilityError, match="hold no trace of 10 of 15 directions"):
        fw.inversion(quiet)


def test_what_records_have_not_is_refused(evidence):
    with pytest.raises(fw.FreewillError, match="only if all report values of one alphabet"):
        fw.combine_mechanisms(evidence, fw.ibu)
    with pytest.raises(fw.ParameterError, match="debias takes reports of bits"):
        fw.debias(fw.Evidence(evidence.alphabet, evidence.groups[:1]))


def test_two_bodies_are_compared_without_a_distance(evidence):
    other = answers(three_ways(), 1500, seed=9)
    found, dense = fw.compare(evidence, other), fw.compare(twin(evidence), twin(other))
    for column in ("difference", "low", "high"):
        np.testing.assert_allclose(getattr(found, column), getattr(dense, column), atol=1e-9)
    assert np.isnan(found.emd)
    assert "records have none without weights" in str(found)
    # Permutations are drawn with another seed, for the mechanisms have other names.
    assert found.p_value == pytest.approx(dense.p_value, abs=0.05)
    weighted = fw.Product(age=AGES, vote=VOTES, weights={"age": 1.0, "vote": 2.0})
    each = fw.Each(weighted, age=fw.KRR(AGES, 2.0), vote=fw.KRR(VOTES, 2.0))
    one, two = (
        answers([each], 3000, seed=1, truth=truth)
        for truth in (some_truth(), np.eye(15)[7] * 0.5 + some_truth() / 2)
    )
    far = fw.compare(one, two)
    assert far.differ
    assert 0 <= far.emd_low < far.emd < far.emd_high
    assert far.unit == "weighted distance"


def test_a_table_is_planned_for():
    survey = fw.Survey(PEOPLE, dict(zip("abc", three_ways(), strict=True)))
    with pytest.raises(fw.ParameterError, match="Say of='shares' for the cells"):
        fw.plan(survey)
    found = fw.plan(survey, {"a": 0.5, "b": 0.25, "c": 0.25}, some_truth(), 10_000, of="shares")
    dense = answers(three_ways(), 1, seed=0)
    parts = [(one, share, "") for one, share in zip(three_ways(), (0.5, 0.25, 0.25), strict=True)]
    expected = information_of(PEOPLE, parts, some_truth(), 10_000).standard_error()
    np.testing.assert_allclose(found.standard_error[0], expected, rtol=1e-5)
    assert len(found.of) == 15 == dense.alphabet.size
    assert np.isnan(found.emd).all()


def test_marginals_and_small_tables_are_planned_for():
    survey = fw.Survey(PEOPLE, dict(zip("abc", three_ways(), strict=True)))
    truth = some_truth()
    ages = fw.plan(survey, None, truth, 10_000, of="age", target=0.02)
    cells = fw.plan(survey, None, truth, 10_000, of=("vote", "age"))
    assert ages.of == tuple(f"age {n}" for n in range(5))
    assert len(cells.of) == 15
    rows = np.kron(np.eye(5), np.ones(3))
    same = fw.plan(survey, None, truth, 10_000, of=rows, target=0.02)
    np.testing.assert_allclose(ages.standard_error, same.standard_error, rtol=1e-12)
    assert ages.needed == same.needed


def test_without_a_truth_the_worst_of_a_few_is_planned_for():
    survey = fw.Survey(PEOPLE, dict(zip("abc", three_ways(), strict=True)))
    found = fw.plan(survey, people=1000, of="vote")
    assert set(found.screened) == {"uniform", "independent attributes", "one record"}
