"""Steps of EM on columns that have just come."""

import numpy as np
import pytest

from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import columns
from freewill.numeric.solvers.likelihood import Certificate, Likelihood


def refit_case():
    """Sharp rows, of which the last four values' own are hardly explained without them."""
    rows = np.eye(12) + 1e-6
    likelihood = Likelihood(DenseOperator(rows), np.full(12, 1 / 12))
    pool = columns.ColumnPool(likelihood)
    pool.add(np.arange(12))
    theta = np.append(np.full(8, 1 / 8), np.zeros(4))
    return likelihood, pool, theta, likelihood.certify(theta, pool.forward(theta))


def test_new_columns_get_their_share_at_once():
    likelihood, pool, theta, certificate = refit_case()
    found, fitted = columns._refit(pool, theta, 4, certificate)
    np.testing.assert_allclose(found, 1 / 12, rtol=1e-3)
    np.testing.assert_allclose(fitted, pool.forward(found), rtol=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    stepped, _ = columns._newton(pool, theta, pool.forward(theta), certificate.slope)
    assert likelihood.certify(stepped).value < likelihood.value(fitted)


def test_em_is_not_taken_near_the_end_nor_where_it_loses():
    _, pool, theta, certificate = refit_case()

    def refit(added, **changes):
        return columns._refit(pool, theta, added, certificate._replace(**changes))

    assert refit(0) is None
    assert refit(4, gap=0.029) is None
    assert refit(4, gap=0.031) is not None
    assert refit(4, value=0.0) is None
    pool.single = True
    assert refit(4, gap=0.29) is None
    assert refit(4, gap=0.31) is not None


def test_a_few_new_columns_call_for_em_only_where_they_alone_explain():
    rng = np.random.default_rng(3)
    likelihood = Likelihood(DenseOperator(np.eye(40) + 1e-6), rng.dirichlet(np.ones(40)))
    pool = columns.ColumnPool(likelihood)
    pool.add(np.arange(40))
    theta = np.append(np.full(39, 1 / 39), 0.0)
    certificate = likelihood.certify(theta)
    assert columns._refit(pool, theta, 1, certificate._replace(gap=0.69)) is None
    assert columns._refit(pool, theta, 1, certificate._replace(gap=0.71)) is not None


def test_em_that_underflows_is_not_taken():
    """Rows of 1e-300: w / p overflows on the way."""
    rows = np.array([[1.0, 1e-300], [1e-300, 1e-320]])
    likelihood = Likelihood(DenseOperator(rows), np.array([0.5, 0.5]))
    pool = columns.ColumnPool(likelihood)
    pool.add(np.arange(2))
    certificate = Certificate(-np.inf, np.ones(2), 1.0)
    found = columns._refit(pool, np.array([1.0, 0.0]), 1, certificate)
    assert found is None or np.all(np.isfinite(found[1]))
