"""Sums to infinity in a few hundred terms, against term by term."""

import math

import numpy as np
import pytest

from freewill.domain.mechanisms.planar_geometric import _counting_gauss, tail_rule


@pytest.mark.parametrize("rate", [1e-4, 3e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("offset", [0.0, 0.7, 40.0, 3000.0])
@pytest.mark.parametrize("start", [1.0, 24.0, 500.0])
def test_tail_rule_equals_the_direct_sum(rate, offset, start):
    """f(t) = exp(-rate (hypot(start + t, offset) - hypot(start, offset))), so that f(0) = 1."""
    radius = 50 / rate
    reach = math.sqrt(radius**2 + 2 * radius * math.hypot(start, offset))
    nodes, weights = tail_rule(reach)

    def terms(t):
        return np.exp(-rate * (np.hypot(start + t, offset) - math.hypot(start, offset)))

    direct = math.fsum(terms(np.arange(math.ceil(reach) + 1.0)))
    assert float(weights @ terms(nodes)) == pytest.approx(direct, rel=1e-12)
    assert nodes.size < 400


@pytest.mark.parametrize("rate", [1e-4, 1e-2, 1.0, 5.0])
def test_tail_rule_equals_the_geometric_series(rate):
    nodes, weights = tail_rule(50 / rate)
    series = 1 / -math.expm1(-rate)
    assert float(weights @ np.exp(-rate * nodes)) == pytest.approx(series, rel=1e-13)


def test_tail_rule_has_positive_weights_and_counts_every_integer():
    nodes, weights = tail_rule(1e6)
    assert np.all(weights > 0)
    assert np.all(np.diff(nodes) > 0)
    np.testing.assert_array_equal(nodes[:64], np.arange(64))
    # The blocks 0..63, 64..127, 128..255, ... add up to a power of two.
    assert weights.sum() == pytest.approx(2**20, rel=1e-13)


@pytest.mark.parametrize("length", [64, 128, 1024])
def test_counting_gauss_is_exact_up_to_degree_39(length):
    """On Legendre polynomials over the range, which stay of the order of 1."""
    nodes, weights = _counting_gauss(length)
    everywhere = np.linspace(-1, 1, length)
    for degree in range(40):
        polynomial = np.polynomial.legendre.Legendre.basis(degree)
        found = float(weights @ polynomial(2 * nodes / (length - 1) - 1))
        assert found == pytest.approx(polynomial(everywhere).sum(), abs=1e-11 * length)
    polynomial = np.polynomial.legendre.Legendre.basis(40)
    found = float(weights @ polynomial(2 * nodes / (length - 1) - 1))
    assert abs(found - polynomial(everywhere).sum()) > 1e-6 * length
