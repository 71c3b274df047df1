"""Rows that are made block by block have the products of the same rows as an array."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators import blocks
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.blocks import ReportRows, RowBlocks, rows_of

ROWS, SIZE = 1000, 7


@pytest.fixture
def made(monkeypatch):
    """Rows in blocks of 18, and the same as an array."""
    monkeypatch.setattr(blocks, "HELD_NUMBERS", 100)
    monkeypatch.setattr(blocks, "_BLOCK_NUMBERS", 128)
    rng = np.random.default_rng(0)
    rows, scale = rng.random((ROWS, SIZE)) ** 4, rng.random(ROWS)
    asked = []

    def make(some):
        asked.append(len(rows[some]))
        return ReportRows(rows[some], scale[some])

    law = rows_of(make, ROWS, SIZE)
    assert isinstance(law, RowBlocks)
    yield law, DenseOperator(rows, scale)
    assert max(asked) <= 18


def test_products_are_those_of_the_array(made):
    law, dense = made
    rng = np.random.default_rng(1)
    theta, weights = rng.dirichlet(np.ones(SIZE)), rng.random(ROWS)
    assert law.shape == dense.shape
    assert law.structure == "bits"
    np.testing.assert_array_equal(law.log_scale, dense.log_scale)
    for name, vector in (
        ("forward", theta),
        ("adjoint", weights),
        ("gram", weights),
        ("gram_diagonal", weights),
    ):
        np.testing.assert_allclose(getattr(law, name)(vector), getattr(dense, name)(vector))
    np.testing.assert_allclose(law.gram_map(weights)(theta), dense.gram_map(weights)(theta))
    assert fw.dot_test(law, rng) < 1e-12
    places = np.sort(rng.choice(ROWS, 400, replace=False))
    some = law.subset(places)
    np.testing.assert_allclose(some.forward(theta), dense.subset(places).forward(theta))
    assert law.by_bit(weights) is None
    assert law.guess(weights) is None


@pytest.mark.parametrize("stride", [0, 1, 4])
def test_sums_are_those_of_the_array_and_a_sample_is_near(made, stride):
    law, dense = made
    rng = np.random.default_rng(2)
    theta, weights = rng.dirichlet(np.ones(SIZE)), rng.random(ROWS) / ROWS
    ours, theirs = law.sums(theta, weights, stride), dense.sums(theta, weights, 1)
    assert ours.value == pytest.approx(theirs.value)
    np.testing.assert_allclose(ours.slope, theirs.slope)
    if stride == 0:
        assert ours.hessian is None
        return
    assert ours.hessian is not None
    assert theirs.hessian is not None
    # Of each block of 18 rows the sample takes a few: its trace is that of all, but for chance.
    rtol = 1e-12 if stride == 1 else 0.15
    np.testing.assert_allclose(np.trace(ours.hessian), np.trace(theirs.hessian), rtol=rtol)
    if stride == 1:
        np.testing.assert_allclose(ours.hessian, theirs.hessian)


def test_impossible_reports_have_no_likelihood(made):
    law, _ = made
    assert np.isinf(law.sums(np.zeros(SIZE), np.ones(ROWS)).value)


def test_bloom_estimates_do_not_depend_on_blocks(monkeypatch):
    line, rng = fw.Linear(0, 11), np.random.default_rng(3)
    bloom = fw.BloomRAPPOR(line, bits=24, hashes=3, cohorts=5, f=0.2, p=0.2, q=0.8)
    truth = np.arange(1, 13) / 78
    reports = bloom.obfuscate(rng.choice(12, 4000, p=truth), rng)
    whole = fw.gibu(fw.collect([(bloom, reports)]))
    monkeypatch.setattr(blocks, "HELD_NUMBERS", 100)
    monkeypatch.setattr(blocks, "_BLOCK_NUMBERS", 9000)
    pieces = fw.gibu(fw.collect([(bloom, reports)]))
    assert str(whole.status) == str(pieces.status) == "certified"
    np.testing.assert_allclose(whole.theta, pieces.theta, atol=1e-3)
    assert whole.log_likelihood == pytest.approx(pieces.log_likelihood, abs=2e-6)
