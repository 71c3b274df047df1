"""Products of packed bits: what they are, whatever the blocks, and the memory that they take."""

import tracemalloc

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators import support


def reports(people, size, seed=0):
    mechanism, rng = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=1.0), np.random.default_rng(seed)
    return mechanism.operator(mechanism.obfuscate(rng.integers(size, size=people), rng))


def peak_bytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("few_rows", [0, 1000])
@pytest.mark.parametrize("least_rows", [1, 7, 1000])
@pytest.mark.parametrize("size", [2, 8, 9, 20])
def test_products_depend_neither_on_the_blocks_nor_on_the_way(
    monkeypatch, size, least_rows, few_rows
):
    monkeypatch.setattr(support, "_FEW_ROWS", few_rows)
    monkeypatch.setattr(support, "_LEAST_ROWS", least_rows)
    monkeypatch.setattr(support, "_PACKED_BYTES", 1)
    monkeypatch.setattr(support, "_ENTRIES", 5 * size)
    monkeypatch.setattr(support, "_GRAM_BYTES", 8 * 3 * size)
    operator, rng = reports(50, size), np.random.default_rng(1)
    operator.packed[3] = 0
    theta, weights = rng.standard_normal(size), rng.standard_normal(50)
    bits = np.unpackbits(operator.packed, axis=1, count=size, bitorder="little")
    rows = np.where(bits.any(axis=1, keepdims=True), np.exp(-1) + (1 - np.exp(-1)) * bits, 1.0)
    gram = rows.T @ (weights[:, None] ** 2 * rows)
    np.testing.assert_allclose(operator.forward(theta), rows @ theta, atol=1e-13)
    np.testing.assert_allclose(operator.adjoint(weights), rows.T @ weights, atol=1e-13)
    np.testing.assert_allclose(operator.gram(weights**2), gram, atol=1e-12)
    np.testing.assert_allclose(operator.gram_map(weights**2)(theta), gram @ theta, atol=1e-4)
    columns = rng.integers(size, size=7)
    np.testing.assert_array_equal(operator.dense(columns), operator.dense()[:, columns])
    np.testing.assert_allclose(operator.dense(), rows, rtol=1e-15)


def test_no_reports_have_products_too():
    operator = reports(0, 20)
    assert operator.forward(np.ones(20)).size == 0
    for nothing in (operator.adjoint(np.ones(0)), operator.gram_map(np.ones(0))(np.ones(20))):
        np.testing.assert_array_equal(nothing, np.zeros(20))
    assert operator.dense(np.array([3])).shape == (0, 1)


def test_some_columns_take_the_memory_of_these_alone():
    """Column generation asks for a few of many thousands, again and again."""
    operator, some = reports(1000, 4000), np.arange(0, 4000, 200)
    assert peak_bytes(lambda: operator.dense(some)) < 3 * operator.dense(some).nbytes


@pytest.mark.parametrize("people", [100, 2000])
def test_products_unpack_no_more_than_a_block(people):
    """A float64 for each bit would take 64 times the reports."""
    operator = reports(people, 4000)
    theta, weights = np.full(4000, 1 / 4000), np.ones(people)
    for product in (
        lambda: operator.forward(theta),
        lambda: operator.adjoint(weights),
        lambda: operator.gram_map(weights)(theta),
    ):
        assert peak_bytes(product) < 3 << 20


def test_bits_that_do_not_depend_on_each_other_are_near_many_reports():
    """Exact on the diagonal; elsewhere as near as the sampling of 20,000 reports allows."""
    operator, weights = reports(20_000, 12), np.random.default_rng(2).random(20_000)
    near = np.transpose([operator.gram_map(weights, near=True)(row) for row in np.eye(12)])
    gram = operator.gram(weights)
    np.testing.assert_allclose(near.diagonal(), gram.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(near, gram, rtol=0.01)
    assert np.linalg.eigvalsh(near)[0] > 0
    np.testing.assert_array_equal(reports(0, 12).gram_map(np.ones(0), near=True)(np.ones(12)), 0)


@pytest.mark.parametrize("stride", [2, 5, 20])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_rows_are_sampled_by_their_leverage_and_weighed_up(stride, epsilon):
    """A row's leverage is c_i sum_x P_ix^2 / H_xx; half of the chances are even, half follow it."""
    mechanism, rng = fw.RAPPOR(fw.Linear(0, 11), epsilon), np.random.default_rng(stride)
    outputs = mechanism.obfuscate(rng.integers(12, size=600), rng)
    operator = mechanism.operator(outputs[outputs.any(axis=1)][:400])
    curvature = rng.uniform(0.1, 3.0, 400)
    squares = np.square(np.stack([operator.forward(one) for one in np.eye(12)], axis=1))
    leverage = curvature * (squares / (curvature @ squares)).sum(axis=1)
    assert leverage.sum() == pytest.approx(12)
    chance = np.minimum(1, leverage + 1 / (2 * stride) + leverage / leverage.mean() / (2 * stride))
    chosen, weights = operator.sample(curvature, stride)
    np.testing.assert_allclose(weights, curvature[chosen] / chance[chosen], rtol=1e-9)
    # Systematic: up to any row, as many as their chances add up to.
    counted = np.searchsorted(chosen, np.arange(1, 401))
    assert np.abs(counted - np.cumsum(chance)).max() <= 1
