"""Operators at larger sizes, against dense rows and brute force."""

import tracemalloc

import numpy as np
import pytest

import freewill as fw
from contract import planar_law
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import DenseOperator, StackOperator, probabilities
from freewill.numeric.operators.convolution import ConvolutionOperator
from freewill.numeric.operators.geometric import GeometricOperator
from freewill.numeric.operators.support import BitOperator, SymbolOperator
from freewill.numeric.solvers.likelihood import ScaledLikelihood

CITY = fw.Grid(columns=24, rows=16, cell=0.5)


def geometric(outputs, size, decays):
    which = np.arange(len(outputs)) * len(decays) // len(outputs)
    scale = -np.random.default_rng(5).random(len(outputs))
    return GeometricOperator(outputs, size, np.array(decays), which, scale)


def large_operators():
    rng = np.random.default_rng(11)
    symbols = rng.integers(0, 700, 900)
    packed = rng.integers(0, 256, (300, 26), dtype=np.uint8)
    packed[:, -1] &= 0b111
    return {
        "dense": DenseOperator(rng.random((150, 200))),
        "dense, scaled": DenseOperator(rng.random((150, 200)), -rng.random(150)),
        "symbols": SymbolOperator(symbols, 700, 0.2, 0.7, rng.random(900)),
        "bits": BitOperator(packed, 203, np.log(0.2), 0.7, rng.random(300)),
        "symbols, several": SymbolOperator(symbols, 700, *rng.random((3, 900))),
        "bits, several": BitOperator(
            packed, 203, *np.log(rng.random((1, 300))), *rng.random((2, 300))
        ),
        "geometric": geometric(symbols, 700, [0.03]),
        "geometric, steep": geometric(symbols, 700, [4.0]),
        "geometric, several": geometric(symbols, 700, [1e-9, 0.001, 0.2, 4.0, 50.0]),
        "geometric, as many as rows": geometric(symbols[:40], 700, np.geomspace(0.01, 3, 40)),
        "convolution": fw.PlanarGeometric(CITY, 0.19).operator(rng.integers(0, 384, 500)),
        "convolution, steep": fw.PlanarGeometric(CITY, 20.0).operator(rng.integers(0, 384, 500)),
        "convolution, 2 x 9": fw.PlanarGeometric(fw.Grid(2, 9, cell=(0.3, 1.1)), 0.8).operator(
            rng.integers(0, 18, 30)
        ),
    }


LARGE = large_operators()
KINDS: dict[str, type] = {
    "dense": DenseOperator,
    "symbols": SymbolOperator,
    "bits": BitOperator,
    "geometric": GeometricOperator,
    "convolution": ConvolutionOperator,
}


@pytest.mark.parametrize("name", LARGE)
def test_products_equal_the_dense_ones(name):
    operator = LARGE[name]
    assert isinstance(operator, KINDS[name.split(",")[0]])
    check_products(operator)


@pytest.mark.parametrize("name", LARGE)
def test_columns_with_factors_are_columns_times_factors(name):
    inner = LARGE[name]
    rng = np.random.default_rng(13)
    factors = rng.random(inner.shape[1]) * (rng.random(inner.shape[1]) < 0.9)
    theta, weights = rng.dirichlet(np.ones(factors.size)), rng.random(inner.shape[0])
    likelihood = ScaledLikelihood(inner, weights, factors)
    rows = inner.dense() * factors
    fitted = rows @ theta
    sums = likelihood.sums(theta, 1)
    assert sums.value == pytest.approx(weights @ np.log(fitted))
    np.testing.assert_allclose(sums.slope, rows.T @ (weights / fitted), rtol=1e-9, atol=1e-9)
    hessian = (rows.T * (weights / fitted**2)) @ rows
    np.testing.assert_allclose(sums.hessian, hessian, rtol=1e-4, atol=1e-5 * hessian.max())
    assert likelihood.sums(theta, 0).hessian is None
    assert not list(likelihood.guesses())


@pytest.mark.slow
@pytest.mark.parametrize("height", [1.0, 0.6])
@pytest.mark.parametrize("name", LARGE)
def test_atoms_are_columns_with_one_entry(name, height):
    inner = LARGE[name]
    rng = np.random.default_rng(17)
    outputs, size = inner.shape
    factors = rng.random(outputs) + 0.1
    places = rng.permutation(outputs)[:12]
    operator = AtomOperator(inner, np.log(factors), places, height)
    expected = np.hstack([factors[:, None] * probabilities(inner), np.zeros((outputs, 12))])
    expected[places, size + np.arange(12)] = height
    np.testing.assert_allclose(probabilities(operator), expected, rtol=1e-12, atol=1e-300)
    check_products(operator)
    rows, weights = operator.dense(), rng.random(outputs)
    diagonal = (rows**2).T @ weights
    np.testing.assert_allclose(operator.gram_diagonal(weights), diagonal, rtol=1e-9, atol=1e-12)
    theta = rng.dirichlet(np.ones(size + 12))
    np.testing.assert_allclose(operator.forward_within(theta, 1e-9), rows @ theta, rtol=1e-8)
    np.testing.assert_allclose(
        operator.adjoint_within(weights, 1e-9), rows.T @ weights, rtol=1e-9, atol=1e-8
    )
    some = np.sort(places)[3:9]
    np.testing.assert_allclose(operator.subset(some).dense(), rows[some])


def check_products(operator):
    rng = np.random.default_rng(12)
    rows = operator.dense()
    theta, weights = rng.random(rows.shape[1]), rng.random(rows.shape[0])
    signed = rng.standard_normal(rows.shape[0])
    columns = rng.integers(0, rows.shape[1], 20)
    assert operator.shape == rows.shape
    for found, expected in (
        (operator.forward(theta), rows @ theta),
        (operator.adjoint(weights), rows.T @ weights),
        (operator.adjoint(signed), rows.T @ signed),
        (operator.gram(weights), (rows.T * weights) @ rows),
        (operator.dense(columns), rows[:, columns]),
        (np.exp(operator.log_dense()), np.exp(operator.log_scale)[:, None] * rows),
    ):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * largest)
    assert fw.dot_test(operator, rng) < 1e-12


def test_stack_is_its_parts_one_above_the_other():
    line = fw.Linear(0, 49)
    parts = [
        fw.KRR(line, 2.0).operator(np.arange(50)),
        fw.Geometric(line, 0.1).operator(np.array([3, 3, 49])),
        fw.RAPPOR(line, 1.0).operator(np.arange(21, dtype=np.uint8).reshape(3, 7) & 3),
        fw.Identity(line).operator(np.array([], dtype=np.int64)),
    ]
    stack = StackOperator(parts)
    assert stack.shape == (56, 50)
    np.testing.assert_array_equal(stack.dense(), np.vstack([part.dense() for part in parts]))
    np.testing.assert_array_equal(
        stack.log_scale, np.concatenate([part.log_scale for part in parts])
    )
    assert [piece.size for piece in stack.split(np.zeros(56))] == [50, 3, 3, 0]
    check_products(stack)


def test_stack_refuses_different_alphabets():
    first = fw.KRR(fw.Linear(0, 4), 1.0).operator(np.arange(5))
    second = fw.KRR(fw.Linear(0, 5), 1.0).operator(np.arange(6))
    with pytest.raises(fw.AlphabetError, match=r"sizes \[5, 6\].*share one alphabet"):
        StackOperator([first, second])
    with pytest.raises(fw.AlphabetError, match="at least one"):
        StackOperator([])


class Mirrored(DenseOperator):
    """A wrong operator: its adjoint reads the outputs backwards."""

    def adjoint(self, weights):
        return super().adjoint(weights[::-1])


class Undefined(DenseOperator):
    """A wrong operator: its product is not a number."""

    def forward(self, theta):
        return super().forward(theta) * np.nan


@pytest.mark.parametrize("wrong", [Mirrored, Undefined])
def test_dot_test_sees_a_wrong_operator(wrong):
    rows = np.random.default_rng(0).random((5, 4))
    assert fw.dot_test(DenseOperator(rows), np.random.default_rng(1)) < 1e-14
    with pytest.raises(fw.LawError, match=f"{wrong.__name__}: forward and adjoint disagree"):
        fw.dot_test(wrong(rows), np.random.default_rng(1))


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 10.0, 50.0])
def test_five_thousand_bits_do_not_underflow(epsilon):
    """P(v | x) itself is far below the smallest double here; its row and its logarithm are not."""
    mechanism = fw.RAPPOR(fw.Linear(0, 4999), epsilon)
    rng = np.random.default_rng(0)
    reports = mechanism.obfuscate(rng.integers(0, 5000, 40), rng)
    operator = mechanism.operator(reports)
    forward = operator.forward(np.full(5000, 1 / 5000))
    assert np.all(np.isfinite(forward))
    assert np.all(forward > 0)
    assert np.all(np.isfinite(operator.log_scale))
    assert np.all(np.isfinite(operator.log_dense()))

    flip = 1 / (1 + np.exp(epsilon / 2))
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    flips = bits.sum(axis=1, dtype=np.int64) - 2 * bits[:, 17] + 1
    expected = flips * np.log(flip) + (5000 - flips) * np.log1p(-flip)
    np.testing.assert_allclose(operator.log_dense()[:, 17], expected, rtol=1e-12)


def test_planar_law_is_the_sum_over_a_wide_window():
    mechanism = fw.PlanarGeometric(CITY, 0.19)
    np.testing.assert_allclose(mechanism.law(), planar_law(mechanism), rtol=0, atol=1e-10)
    np.testing.assert_allclose(mechanism.law(), planar_law(mechanism), rtol=1e-10, atol=0)


@pytest.mark.parametrize(("epsilon", "cell"), [(1e-3, 0.5), (1e-3, 0.05), (0.01, 1.0), (0.1, 0.1)])
def test_planar_law_at_small_epsilons(epsilon, cell):
    """The noise's total is known in closed form where no window is wide enough.

    By Poisson's summation formula, with a = epsilon * cell, the sum of e^(-a |n|) over Z x Z is
    2 pi / a^2 + 2 pi a * sum over m != 0 of (a^2 + 4 pi^2 |m|^2)^(-3/2), and the sum of |m|^-3
    and |m|^-5 over m != 0 are 4 zeta(s) beta(s) at s = 3/2 and 5/2.
    """
    cube, fifth = 9.033621683100950, 5.090258161408
    decay = epsilon * cell
    turn = 2 * np.pi
    correction = cube / turn**3 - 1.5 * decay**2 * fifth / turn**5
    total = turn / decay**2 + turn * decay * correction
    law = fw.PlanarGeometric(fw.Grid(5, 5, cell=cell), epsilon).law()
    assert law[12, 12] == pytest.approx(1 / total, rel=1e-12)
    # Of the noise from the middle, a quarter falls into each quarter-plane, almost: the share of
    # the strips between them is of the order of the decay.
    assert law[12, [0, 4, 20, 24]].sum() == pytest.approx(1, abs=5 * decay)


def test_large_city_never_becomes_a_matrix():
    """38,400 cells: the matrix would take 11.8 GB."""
    tracemalloc.start()
    try:
        city = fw.Grid(columns=240, rows=160, cell=0.05)
        mechanism = fw.PlanarGeometric(city, 0.8)
        rng = np.random.default_rng(0)
        everything = mechanism.operator(np.arange(city.size))
        theta, weights = rng.dirichlet(np.ones(city.size)), rng.random(city.size)
        forward, adjoint = everything.forward(theta), everything.adjoint(weights)
        factors = np.exp(everything.log_scale)
        column_sums = everything.adjoint(factors)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500e6
    np.testing.assert_allclose(column_sums, 1, rtol=0, atol=1e-12)
    assert factors @ forward == pytest.approx(1, abs=1e-12)

    corners = [0, 239, 38_160, 38_399]
    edges = [7, 240 * 80, 240 * 81 - 1, 38_200]
    sample = np.concatenate([corners, edges, rng.integers(0, city.size, 40)])
    rows = mechanism.operator(sample).dense()
    np.testing.assert_allclose(forward[sample], rows @ theta, rtol=1e-10)

    columns = everything.dense(sample[:12])
    np.testing.assert_allclose(adjoint[sample[:12]], weights @ columns, rtol=1e-10)


def test_probabilities_put_the_factor_back():
    operator = fw.KRR(fw.Linear(0, 4), 1.0).operator(np.array([2, 0]))
    np.testing.assert_allclose(probabilities(operator), fw.KRR(fw.Linear(0, 4), 1.0).law()[[2, 0]])
