"""Kronecker products of laws, against products of dense rows, over shapes and kinds of factors."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from freewill.errors import LawError
from freewill.numeric.operators import kronecker
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.kronecker import KroneckerOperator


def dense_oracle(operator: KroneckerOperator) -> np.ndarray:
    """Row j as np.kron of the factors' true rows, one after the other."""
    laws = [np.exp(factor.log_dense()) for factor in operator.factors]
    rows = []
    for places in zip(*operator.which, strict=True):
        row = np.ones(1)
        for law, place in zip(laws, places, strict=True):
            row = np.kron(row, law[place])
        rows.append(row)
    return np.array(rows).reshape(len(rows), operator.shape[1])


def factor(kind: int, size: int, epsilon: float):
    line = fw.Linear(0, size - 1)
    made = [
        fw.KRR(line, epsilon),
        fw.Geometric(line, epsilon),
        fw.SubsetSelection(line, epsilon, 1),
        fw.Matrix(line, np.random.default_rng(size).dirichlet(np.ones(size + 2), size)),
    ][kind]
    return made.operator(made.outputs())


factors = st.builds(factor, st.integers(0, 3), st.integers(2, 6), st.floats(-20, 6.5).map(math.exp))


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Entry by entry, but for the smallest doubles, which have fewer digits."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-295)


def check(operator: KroneckerOperator, rng: np.random.Generator) -> None:
    rows = dense_oracle(operator)
    scale = np.exp(operator.log_scale)
    theta, weights = rng.dirichlet(np.ones(rows.shape[1])), rng.random(len(rows))
    columns = rng.integers(0, rows.shape[1], 3)
    assert operator.shape == rows.shape
    close(scale[:, None] * operator.dense(), rows)
    close(scale[:, None] * operator.dense(columns), rows[:, columns])
    close(scale * operator.forward(theta), rows @ theta)
    close(operator.adjoint(scale * weights), weights @ rows)
    gram = (rows.T * weights) @ rows
    close(operator.gram(scale**2 * weights), gram)
    diagonal = operator.gram_diagonal(scale**2 * weights)
    close(diagonal, np.diag(gram))
    close(np.exp(operator.log_dense()), rows)
    assert fw.dot_test(operator, rng, 1e-12) <= 1e-12


@pytest.mark.parametrize("way", ["whole", "sparse", "apart", "pieces"])
@given(parts=st.lists(factors, min_size=1, max_size=3), outputs=st.integers(0, 40))
@example(parts=[factor(1, 6, 100.0), factor(0, 6, 600.0)], outputs=40)
@example(parts=[factor(0, 2, 1e-9), factor(1, 2, 1e-9)], outputs=40)
def test_products_are_those_of_dense_rows(way, parts, outputs):
    rng = np.random.default_rng(outputs)
    which = [rng.integers(0, part.shape[0], outputs) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        limits = {"sparse": {"_SPARSE": 0}, "apart": {"_ROWS": 0}, "pieces": {"_TABLE": 3}}
        for limit, value in limits.get(way, {}).items():
            patch.setattr(kronecker, limit, value)
        operator = KroneckerOperator(parts, which)
        check(operator, rng)
        check(operator.subset(np.arange(0, outputs, 3)), rng)


def test_far_tails_do_not_underflow_in_logarithms():
    sharp = factor(1, 6, 200.0)
    both = KroneckerOperator((sharp, sharp), (np.array([0]), np.array([0])))
    assert both.log_dense()[0, -1] == pytest.approx(2 * sharp.log_dense()[0, -1])
    assert both.log_dense()[0, -1] < -1900


def test_many_values_take_products_alone():
    """100 x 100 values: an array of the rows would have 10^8 entries."""
    line, rng = fw.Linear(0, 99), np.random.default_rng(4)
    first, second = fw.KRR(line, 3.0), fw.Geometric(line, 0.3)
    every = np.arange(100)
    which = [rng.integers(0, 100, 50_000) for _ in range(2)]
    law = KroneckerOperator((first.operator(every), second.operator(every)), which)
    theta = rng.dirichlet(np.ones(10_000))
    table = theta.reshape(100, 100)
    expected = (first.law().T @ table @ second.law())[tuple(which)]
    close(np.exp(law.log_scale) * law.forward(theta), expected)
    assert fw.dot_test(law, rng, 1e-12) <= 1e-12


@pytest.mark.parametrize("kept", [0, 1 << 23])
def test_gram_matrices_follow_one_another(kept, monkeypatch):
    monkeypatch.setattr(kronecker, "_KEPT", kept)
    rng = np.random.default_rng(2)
    parts = [factor(kind, 4, 1.0) for kind in (0, 1, 3)]
    law = KroneckerOperator(parts, [rng.integers(0, part.shape[0], 60) for part in parts])
    rows = law.dense()
    for _ in range(2):
        weights = rng.random(60)
        close(law.gram(weights), rows.T @ (weights[:, None] * rows))
    assert ("_pairs" in vars(law)) == bool(kept)


def test_work_is_counted_by_prefixes():
    """Two attributes of 40 and 30 values, all outputs seen, then one in 50 of them."""
    parts = [factor(0, size, 1.0) for size in (40, 30)]
    all_of = [each.ravel() for each in np.meshgrid(np.arange(40), np.arange(30), indexing="ij")]
    whole = KroneckerOperator(parts, all_of)
    calls = kronecker._CALLS
    assert whole.work() == calls  # less than the calls take
    assert whole.work(pairs=True) == calls + 40 * 30 * 30**2 + 40 * 40**2 * 30**2
    few = KroneckerOperator(parts, [own[::50] for own in all_of])
    first = np.unique(all_of[0][::50]).size
    places = kronecker._SCATTERED * 24 * 30**2 + 40 * 40**2 * 30**2
    assert first * 40 > kronecker._SPARSE * 24
    assert few.work(pairs=True) == calls + places


def test_laws_and_rows_must_belong_together():
    coin = DenseOperator(np.full((2, 2), 0.5))
    with pytest.raises(LawError, match="a product of 2 laws with rows of 1"):
        KroneckerOperator((coin, coin), (np.zeros(3, np.int64),))
    with pytest.raises(LawError, match="at least one law"):
        KroneckerOperator((), ())
