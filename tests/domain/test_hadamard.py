"""Hadamard response in one block and in several: what only it does."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import count_reports, g_test
from freewill.domain.mechanisms.base import stacked_operators
from freewill.errors import ParameterError
from freewill.numeric.operators.base import dot_test
from freewill.numeric.operators.hadamard import HadamardOperator, transformed
from naive_laws import hadamard_law


@pytest.mark.parametrize("bits", [0, 1, 4, 5, 6, 11])
def test_transforms_are_products_with_the_matrix(bits):
    size = 1 << bits
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    vector = np.random.default_rng(bits).standard_normal(size)
    np.testing.assert_allclose(transformed(vector), matrix @ vector, atol=1e-11)


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_orders_are_the_next_power_of_two(size):
    mechanism = fw.HadamardResponse(fw.Linear(0, size - 1), 1.0)
    assert mechanism.order == 2 ** math.ceil(math.log2(size + 1))
    np.testing.assert_allclose(mechanism.inverse(mechanism.law()[1]), np.eye(size)[1], atol=1e-12)


def test_next_to_nothing_is_summed_directly():
    """At large epsilons transforms lose what little probability is left."""
    mechanism = fw.HadamardResponse(fw.Linear(0, 5), 60.0)
    law = mechanism.operator(np.array([1, 2, 5]))
    assert isinstance(law, HadamardOperator)
    assert not law.exact
    theta = np.array([1.0, 0, 0, 0, 0, 0])
    expected = law.dense() @ theta
    np.testing.assert_allclose(law.forward_within(theta, 1e-9), expected, rtol=1e-9)
    assert expected.min() < 1e-25


def test_many_values_are_solved_by_products():
    line, rng = fw.Linear(0, 4000), np.random.default_rng(0)
    mechanism, theta = fw.HadamardResponse(line, 2.0), 1 / np.arange(1.0, 4002)
    values = rng.choice(4001, 50_000, p=theta / theta.sum())
    found = fw.gibu(fw.collect([(mechanism, mechanism.obfuscate(values, rng))]))
    assert (str(found.status), found.solver) == ("certified", "conjugate")
    assert found.steps < 20


@st.composite
def in_blocks(draw, most=40):
    """A mechanism of any number of values, blocks and epsilon."""
    size = draw(st.integers(2, most))
    blocks = draw(st.integers(1, size))
    epsilon = draw(st.floats(1e-6, 30.0))
    return fw.HadamardResponse(fw.Linear(0, size - 1), epsilon, blocks)


@given(in_blocks())
def test_the_law_and_its_inverse_are_those_of_the_paper(mechanism):
    law, size = hadamard_law(mechanism), mechanism.alphabet.size
    np.testing.assert_allclose(mechanism.law(), law, rtol=1e-12)
    assert mechanism.order == 2 ** math.ceil(math.log2(size / mechanism.blocks + 1))
    for row, own in zip(law, np.eye(size), strict=True):
        np.testing.assert_allclose(
            mechanism.inverse(row), own, atol=1e-14 * (1 + 1 / np.tanh(mechanism.epsilon))
        )


@given(in_blocks(), st.integers(0, 2**32))
def test_products_are_those_of_the_rows(mechanism, seed):
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, mechanism.order * mechanism.blocks, 30)
    operator = mechanism.operator(symbols)
    rows = hadamard_law(mechanism).T[symbols] / np.exp(operator.log_scale)[:, None]
    theta, weights = rng.random(rows.shape[1]), rng.random(30)
    some = np.flatnonzero(rng.random(30) < 0.5)
    for found, expected in (
        (operator.dense(), rows),
        (operator.dense(np.array([0])), rows[:, :1]),
        (operator.subset(some).dense(), rows[some]),
        (operator.forward(theta), rows @ theta),
        (operator.forward_within(theta, 1e-9), rows @ theta),
        (operator.adjoint(weights), rows.T @ weights),
        (operator.gram(weights), (rows.T * weights) @ rows),
        (operator.gram_diagonal(weights), weights @ rows**2),
        (operator.gram_map(weights)(theta), rows.T @ (weights * (rows @ theta))),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert dot_test(operator, rng) < 1e-12


@given(st.lists(st.tuples(st.floats(1e-3, 30.0), st.integers(1, 12)), min_size=1, max_size=8))
def test_mixtures_share_an_operator_where_blocks_are_as_many(pairs):
    line, rng = fw.Linear(0, 11), np.random.default_rng(0)
    mechanisms = [fw.HadamardResponse(line, *pair) for pair in pairs]
    outputs = [one.obfuscate(rng.integers(12, size=9), rng) for one in mechanisms]
    parts = stacked_operators(mechanisms, outputs)
    rows = [one.operator(some).dense() for one, some in zip(mechanisms, outputs, strict=True)]
    np.testing.assert_allclose(np.vstack([part.dense() for part in parts]), np.vstack(rows))
    changes = sum(one[1] != other[1] for one, other in pairwise(pairs))
    assert len(parts) == 1 + changes


@given(in_blocks(12), st.integers(0, 2**32))
def test_moments_are_those_of_the_law(mechanism, seed):
    theta = np.random.default_rng(seed).dirichlet(np.ones(mechanism.alphabet.size))
    law = hadamard_law(mechanism)
    scores = law / (theta @ law) - 1
    expected = (scores * (theta @ law)) @ scores.T
    moments = mechanism.moments(theta)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(moments.information(), expected, rtol=1e-8, atol=1e-8 * scale)
    direction = theta - np.roll(theta, 1)
    np.testing.assert_allclose(
        moments.product(direction), expected @ direction, atol=1e-13 + 1e-8 * scale
    )


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
@pytest.mark.parametrize("value", [0, 3, 6])
def test_both_samplers_follow_the_law(blocks, value):
    mechanism, rng = (
        fw.HadamardResponse(fw.Linear(0, 6), 2.0, blocks),
        np.random.default_rng(blocks),
    )
    law = hadamard_law(mechanism)[value]
    many = mechanism.obfuscate(np.full(40_000, value), rng)
    one_by_one = np.array([mechanism.draw(value) for _ in range(4_000)])
    for reports in (many, one_by_one):
        counts = count_reports(mechanism, reports)
        assert g_test(counts, law) > 1e-6
        # The judge is not blind: another value's reports are told from these.
        assert g_test(counts, hadamard_law(mechanism)[(value + 1) % 7]) < 1e-6


@given(st.integers(2, 300), st.floats(1e-3, 12.0))
def test_best_has_the_least_variance_of_all_numbers_of_blocks(size, epsilon):
    best = fw.HadamardResponse.best(fw.Linear(0, size - 1), epsilon)
    gain = math.expm1(epsilon)

    def variance(blocks):
        return (gain + 2 * blocks) ** 2 / blocks / gain**2

    least = min(map(variance, range(1, size + 1)))
    assert variance(best.blocks) <= least * (1 + 1e-9)


def test_that_variance_is_what_inversion_has():
    """Of a value that nobody has, in the first of 10 blocks, which each have as many people."""
    mechanism, gain = fw.HadamardResponse(fw.Linear(0, 59), 3.0, 10), math.expm1(3.0)
    law = mechanism.law()
    weights = np.array([mechanism.inverse(one)[0] for one in np.eye(law.shape[1])])
    theta = np.full(60, 1 / 60)
    theta[[0, 10]] = 0, 1 / 30
    assert theta @ law @ weights == pytest.approx(0, abs=1e-12)
    assert theta @ law @ weights**2 == pytest.approx((gain + 20) ** 2 / 10 / gain**2, rel=1e-12)


def test_most_is_told_by_best_of_a_line():
    """What intervals and plans see: the sum of variances of all shares, by the information."""

    def spread(mechanism):
        theta = np.full(60, 1 / 60)
        information = mechanism.moments(theta).information() + 1
        return np.trace(np.linalg.inv(information))

    line = fw.Linear(0, 59)
    best = spread(fw.HadamardResponse.best(line, 3.0))
    assert best < 0.4 * spread(fw.HadamardResponse(line, 3.0))
    assert best < 1.1 * min(spread(fw.HadamardResponse(line, 3.0, b)) for b in range(1, 61))


def test_one_block_is_what_it_was_before_there_were_several():
    line = fw.Linear(0, 9)
    old = {"mechanism": "hadamard-response", "version": 1, "alphabet": line.spec(), "epsilon": 3.0}
    mechanism = fw.from_spec(old)
    assert mechanism == fw.HadamardResponse(line, 3.0, blocks=1)
    assert (mechanism.blocks, mechanism.spec(), str(mechanism)) == (
        1,
        old,
        "hadamard-response(0..9, epsilon=3)",
    )
    reports = mechanism.obfuscate([0, 4, 9, 9, 2, 7], np.random.default_rng(26))
    assert reports.tolist() == [14, 10, 11, 1, 15, 4]
    assert "blocks" not in mechanism.program()
    several = fw.HadamardResponse.best(line, 3.0)
    assert fw.from_spec(several.spec()) == several
    assert several.spec()["blocks"] == several.blocks == 10


@pytest.mark.parametrize("blocks", [0, 11, 2.5, "2", None, True])
def test_blocks_are_a_number_of_them(blocks):
    with pytest.raises(ParameterError, match="blocks="):
        fw.HadamardResponse(fw.Linear(0, 9), 1.0, blocks)


def test_many_values_in_blocks_are_solved_by_products():
    line, rng = fw.Linear(0, 4000), np.random.default_rng(0)
    theta = 1 / np.arange(1.0, 4002)
    values = rng.choice(4001, 50_000, p=theta / theta.sum())
    people = np.array_split(values, 4)
    offered = [fw.HadamardResponse.best(line, epsilon) for epsilon in (0.5, 1.5, 2.5, 4.0)]
    pairs = zip(offered, people, strict=True)
    found = fw.gibu(fw.collect([(one, one.obfuscate(some, rng)) for one, some in pairs]))
    assert (str(found.status), found.solver) == ("certified", "conjugate")
    assert found.steps < 25
