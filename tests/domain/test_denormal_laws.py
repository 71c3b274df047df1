"""Laws at the end of what doubles can say: scaled where tiny, and a stall, never a hang."""

import importlib
import warnings
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.stress.laws import Part
from tools.stress.oracle import Oracle

import freewill as fw
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.likelihood import Iterate

TWO, LINE = fw.Categorical(["a", "b"]), fw.Linear(0, 3)
TINY = [5e-324, 1e-323, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-200, 1e-78, 1e-76]


def law_with(column: list[float]) -> np.ndarray:
    """Return a law whose second output has these probabilities, and a third the same for all."""
    rare = np.array(column)
    return np.column_stack([np.full(rare.size, 0.5), rare, 0.5 - rare])


entries = st.sampled_from([0.0, *TINY, 1e-10, 0.25])


@given(
    st.lists(entries, min_size=4, max_size=4).filter(any),
    st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)),
)
def test_any_entries_are_certified_and_the_oracle_agrees(column, counts) -> None:
    law = law_with(column)
    evidence = fw.collect([(fw.Matrix(LINE, law), [0, 1], counts)])
    oracle = Oracle.of([Part("matrix", np.array([0, 1]), np.array(counts), 4, matrix=law)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, walked = fw.gibu(evidence), fw.em(evidence, delta=1e-6)
    assert found.status == fw.Status.CERTIFIED
    assert walked.status == fw.Status.CONVERGED
    for estimate in (found, walked):
        truth = oracle.truth(estimate.theta)
        assert truth.gap <= estimate.gap + truth.gap_error
        assert abs(truth.value - estimate.log_likelihood) <= truth.value_error


@pytest.mark.parametrize("small", TINY)
def test_scaling_changes_no_digit(small) -> None:
    # All entries are small multiples of the smallest double: ratios must be exact.
    column = [small, 3 * small, 0.0, 2 * small]
    mechanism = fw.Matrix(LINE, law_with(column))
    operator = mechanism.operator(np.array([1, 0, 1]))
    rows = operator.dense()
    largest = max(column)
    for row in rows[[0, 2]]:
        assert [Fraction(x) / Fraction(row.max()) for x in row.tolist()] == [
            Fraction(x) / Fraction(largest) for x in column
        ]
    assert np.array_equal(rows[1], [0.5] * 4)
    assert operator.log_scale[1] == 0
    assert rows[0].max() >= 2.0**-256
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(operator.log_dense()[0], np.log(column), rtol=1e-14)
    np.testing.assert_array_equal(mechanism.law()[:, 1], column)


def test_ordinary_laws_are_left_as_they_are() -> None:
    law = np.random.default_rng(1).dirichlet(np.ones(3), size=4)
    operator = fw.Matrix(LINE, law).operator(np.array([2, 0]))
    assert np.array_equal(operator.dense(), law.T[[2, 0]])
    assert not operator.log_scale.any()


def test_impossible_outputs_are_refused_and_denormal_ones_are_not() -> None:
    never, hardly = law_with([0.0] * 4), law_with([0.0, 5e-324, 0.0, 0.0])
    with pytest.raises(fw.EvidenceError, match="probability 0"):
        fw.collect([(fw.Matrix(LINE, never), [1])])
    found = fw.gibu(fw.collect([(fw.Matrix(LINE, hardly), [1])]))
    assert found.theta[1] > 0.98
    assert found.log_likelihood == pytest.approx(np.log(5e-324) + np.log(found.theta[1]))


def overflowing(good: int):
    """Return steps of EM that are right for so many, and then overflow."""
    law = np.array([[0.75, 0.25], [0.25, 0.75]])

    def steps(operator, weights, theta):
        assert isinstance(operator, DenseOperator)
        for number in range(10**9):
            assert number < good + 2, "it runs on"
            fitted = law @ theta
            slope = law.T @ (weights / fitted)
            broken = np.full(2, np.nan) if number >= good else slope
            yield Iterate(theta, fitted, broken)
            theta = theta * slope

    return steps


@pytest.mark.parametrize("good", [0, 1, 4])
def test_what_is_not_finite_ends_em_with_the_last_theta_that_was(good, monkeypatch) -> None:
    coin = fw.Matrix(TWO, [[0.75, 0.25], [0.25, 0.75]])
    evidence = fw.collect([(coin, [0, 1], [70, 30])])
    weights, start = np.array([0.7, 0.3]), np.full(2, 0.5)
    steps = overflowing(99)(DenseOperator(np.eye(2)), weights, start)
    path = [here.theta for here in islice(steps, 5)]
    room = importlib.import_module("freewill.stats.estimators.em")
    monkeypatch.setattr(room, "em_steps", overflowing(good))
    found = fw.em(evidence, delta=1e-12)
    assert found.status == fw.Status.STALLED
    np.testing.assert_allclose(found.theta, path[max(good - 1, 0)], rtol=1e-12)
    assert found.steps == max(good - 1, 0) == len(found.trace)
    assert np.isfinite(found.gap)


def test_a_certificate_that_overflows_is_no_bound() -> None:
    # No mechanism gives such rows; it is one way to overflow.
    evidence = fw.collect([(fw.Matrix(TWO, [[0.5, 0.5], [0.25, 0.75]]), [0, 1])])
    object.__setattr__(evidence, "operator", DenseOperator(np.full((2, 2), 1e-310)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fw.em(evidence)
    assert (found.status, found.gap, found.steps) == (fw.Status.STALLED, np.inf, 0)
    assert np.array_equal(found.theta, [0.5, 0.5])
    assert np.isfinite(found.log_likelihood)


BAD = [np.nan, np.inf, -np.inf, 0, -1e-9, "abc", "1e-6", True, np.True_, None, [1e-6], 10**400, 1j]


@pytest.mark.parametrize("delta", BAD)
def test_a_delta_that_is_no_number_is_refused(delta) -> None:
    evidence = fw.collect([(fw.KRR(TWO, 1.0), [0, 1])])
    with pytest.raises(fw.ParameterError, match="delta="):
        fw.em(evidence, delta=delta)
    if delta is not None:
        with pytest.raises(fw.ParameterError, match="delta="):
            fw.ibu(evidence, delta=delta)


@pytest.mark.parametrize("steps", [0, -1, 1.5, 2.0, np.nan, np.inf, "3", True, None, [3]])
def test_steps_that_are_no_number_are_refused(steps) -> None:
    with pytest.raises(fw.ParameterError, match="max_steps="):
        fw.em(fw.collect([(fw.KRR(TWO, 1.0), [0, 1])]), max_steps=steps)


def test_numbers_of_all_kinds_are_taken() -> None:
    evidence = fw.collect([(fw.KRR(TWO, 1.0), [0, 1], [3, 4])])
    wanted = fw.em(evidence, delta=0.25, max_steps=2).theta
    for delta in (np.float32(0.25), np.float64(0.25), Fraction(1, 4)):
        found = fw.em(evidence, delta=delta, max_steps=np.int8(2))
        assert np.array_equal(found.theta, wanted)
