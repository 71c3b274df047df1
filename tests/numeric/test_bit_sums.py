"""L, g and H of bit reports, against dense sums; the sample of H, against the whole."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators import support
from freewill.numeric.operators.base import DenseOperator, StackOperator, Sums
from freewill.numeric.operators.support import BitOperator


def bits(size, epsilon, people, rng, values=None):
    """Return the operator of reports by people with some of the values."""
    mechanism = fw.RAPPOR(fw.Linear(0, size - 1), epsilon)
    return mechanism.operator(mechanism.obfuscate(rng.integers(values or size, size=people), rng))


def dense_sums(rows, weights, theta):
    p = rows @ theta
    hessian = rows.T @ ((weights / p**2)[:, None] * rows)
    return Sums(float(weights @ np.log(p)), rows.T @ (weights / p), hessian)


@pytest.mark.parametrize("size", [2, 7, 8, 9, 20, 100])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_sums_of_bits_are_the_dense_sums(size, epsilon, monkeypatch):
    monkeypatch.setattr(support, "_PACKED_BYTES", 100)
    monkeypatch.setattr(support, "_LEAST_ROWS", 7)
    monkeypatch.setattr(support, "_FEW_ROWS", 7)
    monkeypatch.setattr(support, "_GRAM_BYTES", 4 * 1300)
    rng = np.random.default_rng(size)
    operator = bits(size, epsilon, 301, rng)
    theta, weights = rng.dirichlet(np.ones(size)), rng.random(301)
    expected = dense_sums(operator.dense(), weights, theta)
    sums = operator.sums(theta, weights, 1)
    assert sums.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(sums.slope, expected.slope, rtol=1e-12)
    np.testing.assert_allclose(sums.hessian, expected.hessian, rtol=3e-6)
    np.testing.assert_array_equal(sums.hessian, sums.hessian.T)
    flat = operator.sums(theta, weights)
    assert flat.hessian is None
    assert flat.value == sums.value
    np.testing.assert_array_equal(flat.slope, sums.slope)


def test_theta_need_not_sum_to_one():
    rng = np.random.default_rng(0)
    operator, weights, theta = bits(9, 2.0, 50, rng), rng.random(50), 3 * rng.random(9)
    expected = dense_sums(operator.dense(), weights, theta)
    sums = operator.sums(theta, weights, 1)
    assert sums.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(sums.slope, expected.slope, rtol=1e-12)


@pytest.mark.parametrize("stride", [0, 1, 5])
def test_every_operator_answers_with_its_sums(stride):
    rng = np.random.default_rng(3)
    line = fw.Linear(0, 8)
    symbols = np.arange(9)
    parts = [
        fw.KRR(line, 1.0).operator(symbols),
        fw.Geometric(line, 0.4).operator(symbols),
        fw.PlanarGeometric(fw.Grid(3, 3, 1.0), 0.7).operator(symbols),
        DenseOperator(rng.random((9, 9))),
    ]
    theta = rng.dirichlet(np.ones(9))
    for operator in (*parts, StackOperator(parts)):
        weights = rng.random(operator.shape[0])
        expected = dense_sums(operator.dense(), weights, theta)
        sums = operator.sums(theta, weights, stride)
        assert sums.value == pytest.approx(expected.value, rel=1e-9)
        np.testing.assert_allclose(sums.slope, expected.slope, rtol=1e-9)
        if stride:
            np.testing.assert_allclose(sums.hessian, expected.hessian, rtol=1e-9)
        else:
            assert sums.hessian is None


def test_an_impossible_output_is_minus_infinity():
    nobody = np.array([0.0, 1.0])
    certain = BitOperator(np.array([[1]], dtype=np.uint8), 2, -np.inf, 1.0, np.zeros(1))
    for operator in (certain, DenseOperator(np.array([[1.0, 0.0]]))):
        sums = operator.sums(nobody, np.ones(1), 1)
        assert sums.value == -np.inf
        assert sums.hessian is None
        assert (Sums.nothing(2, 1) + sums).value == -np.inf
        assert (sums + Sums.nothing(2, 1)).hessian is None


def test_sums_of_bits_add_up_over_blocks():
    rng = np.random.default_rng(4)
    operator = bits(30, 2.0, 500, rng)
    weights, theta = np.full(500, 1 / 500), rng.dirichlet(np.ones(30))

    def sums(rows):
        return operator.subset(rows).sums(theta, weights[rows], 1)

    whole = sums(slice(None))
    both = Sums.nothing(30, 1) + sums(slice(0, 123)) + sums(slice(123, None))
    assert whole.value == pytest.approx(both.value, rel=1e-13)
    np.testing.assert_allclose(whole.slope, both.slope, rtol=1e-12)
    np.testing.assert_allclose(whole.hessian, both.hessian, rtol=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("stride", [3, 10])
def test_a_sampled_hessian_is_right_on_average(epsilon, stride):
    """Over orders of the rows, which decide who is in the sample."""
    rng = np.random.default_rng(6)
    operator = bits(6, epsilon, 400, rng, values=3)
    weights, theta = rng.random(400), rng.dirichlet(np.ones(6))
    exact = dense_sums(operator.dense(), weights, theta).hessian
    found = []
    for _ in range(400):
        order = rng.permutation(400)
        sums = operator.subset(order).sums(theta, weights[order], stride)
        found.append(sums.hessian / exact)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.std(found, axis=0).max() > 1e-3
    np.testing.assert_array_less(np.abs(np.mean(found, axis=0) - 1), 5 * error + 1e-5)


def test_a_sample_is_about_one_row_in_stride():
    rng = np.random.default_rng(9)
    operator = bits(8, 1.0, 20_000, rng)
    curvature = np.full(20_000, 1 / 20_000)
    chosen, raised = operator.sample(curvature, 20)
    assert 1000 <= chosen.size <= 1000 + 10
    assert raised.sum() == pytest.approx(curvature.sum(), rel=0.05)


def test_sampled_curvature_is_near_the_whole():
    rng = np.random.default_rng(5)
    operator = bits(10, 6.0, 20000, rng, values=3)
    weights = np.full(20000, 1 / 20000)
    theta = np.array([0.4, 0.3, 0.29] + [0.01 / 7] * 7)
    whole, part = (operator.sums(theta, weights, stride) for stride in (1, 10))
    np.testing.assert_array_equal(whole.slope, part.slope)
    spread = np.linalg.eigvals(np.linalg.solve(whole.hessian, part.hessian)).real
    assert 0.5 < spread.min() <= spread.max() < 2


def test_an_empty_block_adds_nothing():
    packed = np.zeros((0, 3), dtype=np.uint8)
    empty = BitOperator(packed, 20, np.log(0.1), 0.9, np.zeros(0))
    for stride in (0, 1, 10):
        sums = empty.sums(np.full(20, 0.05), np.zeros(0), stride)
        assert sums.value == 0
        assert not np.any(sums.slope)
        assert stride == 0 or not np.any(sums.hessian)


@pytest.mark.parametrize("place", [0, 700, 1999])
def test_a_row_that_carries_a_value_alone_is_in_every_sample(place):
    packed = np.full((2000, 1), 0b001, dtype=np.uint8)
    packed[place] = 0b100
    operator = BitOperator(packed, 3, np.log(1e-9), 1.0, np.zeros(2000))
    chosen, raised = operator.sample(np.ones(2000), 1900)
    assert raised[chosen == place] == pytest.approx(1)
    assert chosen.size < 10
