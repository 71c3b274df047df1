"""From any vector to a distribution, against the definition of each way."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

import freewill as fw

vectors = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30).map(np.array)


@given(vectors)
@example(np.array([5.0]))
@example(np.zeros(7))
@example(np.array([-1.0, -2.0]))
def test_projection_is_the_nearest_distribution(vector):
    """v is optimal if and only if v = max(vector - t, 0) for the t that makes it sum to 1."""
    found = fw.project(vector)

    def excess(threshold):
        return np.maximum(vector - threshold, 0).sum() - 1

    threshold = brentq(excess, vector.min() - 2, vector.max(), xtol=1e-13)
    np.testing.assert_allclose(found, np.maximum(vector - threshold, 0), rtol=0, atol=1e-9)
    assert np.all(found >= 0)
    assert found.sum() == pytest.approx(1, abs=1e-14)


@given(vectors, st.integers(0, 2**32 - 1))
def test_no_other_distribution_is_nearer(vector, seed):
    found = fw.project(vector)
    others = np.random.default_rng(seed).dirichlet(np.ones(vector.size), 20)
    best = np.sum((vector - found) ** 2)
    assert np.all(np.sum((vector - others) ** 2, axis=1) >= best * (1 - 1e-12) - 1e-9)


@pytest.mark.parametrize("way", [fw.project, fw.normalise])
def test_distributions_stay(way):
    theta = np.random.default_rng(0).dirichlet(np.ones(50))
    # A projection subtracts a threshold: it is accurate in terms of the largest component.
    np.testing.assert_allclose(way(theta), theta, rtol=0, atol=1e-15)
    kept = theta.copy()
    way(theta - 0.01)
    np.testing.assert_array_equal(theta, kept)


@pytest.mark.parametrize("size", [1e10, 1e17, 1e200])
def test_projection_of_large_vectors(size):
    """Inverting a nearly singular law gives such vectors."""
    np.testing.assert_allclose(fw.project([size, 0.0, -size]), [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(fw.project([size, size, 0.0]), [0.5, 0.5, 0], atol=1e-6)


@given(vectors.filter(lambda vector: vector.max() > 0))
def test_normalise_clips_and_rescales(vector):
    total = sum(value for value in vector if value > 0)
    expected = [value / total if value > 0 else 0.0 for value in vector]
    # The smallest numbers there are have no digits to agree in.
    np.testing.assert_allclose(fw.normalise(vector), expected, rtol=1e-12, atol=1e-300)
