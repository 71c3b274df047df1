"""Shares pulled together: the maximum that it says, as strong as the criterion says, for labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import freewill as fw
from freewill.stats.shrink import _fitted, _freedom


def labels(size):
    return fw.Categorical([f"label {number}" for number in range(size)])


def reports_of(kinds, theta, people, seed):
    """Evidence of people with this distribution, split evenly over mechanisms."""
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.choice(theta.size, people, p=theta), len(kinds))
    return fw.collect(
        [(one, one.obfuscate(some, rng)) for one, some in zip(kinds, parts, strict=True)]
    )


def mixture(size, epsilon=1.0):
    menu = labels(size)
    return [
        fw.KRR(menu, epsilon),
        fw.OUE(menu, epsilon),
        fw.HadamardResponse.best(menu, 2 * epsilon),
    ]


def naive_value(evidence, theta, strength):
    """n L + (m / k) sum log theta, from dense laws."""
    total = strength / theta.size * np.log(theta).sum()
    for group in evidence.groups:
        rows = np.exp(group.mechanism.operator(group.outputs).log_dense())
        total += group.counts @ np.log(rows @ theta)
    return float(total)


@pytest.mark.parametrize("strength", [0.05, 1.0, 30.0, 500.0])
def test_a_fit_is_the_maximum_of_reports_and_people_spread_evenly(strength):
    evidence = reports_of(mixture(4), np.array([0.6, 0.3, 0.1, 0.0]), 900, 1)
    fit = _fitted(evidence, strength, 1e-10, 100, None)

    def loss(free):
        theta = np.exp(free - free.max())
        return -naive_value(evidence, theta / theta.sum(), strength)

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    theta = fit.solution.theta
    best = naive_value(evidence, theta, strength)
    assert best >= -found.fun - 1e-6
    naive = np.exp(found.x - found.x.max())
    np.testing.assert_allclose(theta, naive / naive.sum(), atol=2e-5)


@given(st.integers(2, 8), st.integers(0, 2**32))
def test_degrees_of_freedom_are_those_of_a_basis(size, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((12, size)) * 10 ** rng.uniform(-2, 2)
    information, prior = rows.T @ rows, 10 ** rng.uniform(-3, 3, size)
    basis = np.linalg.svd(np.ones((1, size)))[2][1:].T
    inner = basis.T @ information @ basis
    naive = np.trace(np.linalg.solve(inner + basis.T @ np.diag(prior) @ basis, inner))
    assert _freedom(information, prior) == pytest.approx(naive, rel=1e-6, abs=1e-9)


def test_the_strength_has_the_best_score_of_all():
    """Of a ladder that is written down here, and its neighbours between the rungs are no better."""
    theta = 1 / np.arange(1.0, 9)
    evidence = reports_of(mixture(8, 0.7), theta / theta.sum(), 4000, 3)
    found = fw.shrink(evidence)
    ladder = [8 / 64 * 2 ** (step / 2) for step in range(2 * 15)]
    scores = [_fitted(evidence, strength, 1e-8, 100, None).score for strength in ladder]
    assert found.strength == pytest.approx(ladder[int(np.argmax(scores))])
    assert 0 < found.df < 7
    assert str(found.status) == "certified"
    assert found.gap <= 0.01 / 4000


@settings(max_examples=10)
@given(
    size=st.integers(2, 7),
    epsilon=st.floats(0.1, 5.0),
    people=st.integers(30, 3000),
    seed=st.integers(0, 2**32),
)
def test_names_do_not_matter(size, epsilon, people, seed):
    """Renamed values have the same shares: nothing here knows an order."""
    rng = np.random.default_rng(seed)
    menu, theta = labels(size), rng.dirichlet(np.ones(size))
    coin = fw.KRR(menu, epsilon)
    reports = coin.obfuscate(rng.choice(size, people, p=theta), rng)
    order = rng.permutation(size)
    first = fw.shrink(fw.collect([(coin, reports)]), tol=1e-10)
    second = fw.shrink(fw.collect([(coin, order[reports])]), tol=1e-10)
    np.testing.assert_allclose(second.theta[order], first.theta, atol=1e-5)
    assert first.theta.sum() == pytest.approx(1)
    assert first.theta.min() > 0
    assert str(first.status) == "certified"


def test_what_reports_tell_for_sure_is_hardly_pulled():
    menu, theta = labels(6), np.array([0.5, 0.2, 0.15, 0.1, 0.05, 0.0])
    evidence = reports_of([fw.KRR(menu, 12.0)], theta, 50_000, 2)
    found, exact = fw.shrink(evidence), fw.gibu(evidence)
    assert np.abs(found.theta - exact.theta).max() < 5e-4


def test_where_all_are_alike_nothing_is_left_of_the_noise():
    evidence = reports_of([fw.KRR(labels(20), 0.5)], np.full(20, 0.05), 5000, 0)
    found, exact = fw.shrink(evidence), fw.gibu(evidence)
    assert np.abs(found.theta - 0.05).max() < 0.1 * np.abs(exact.theta - 0.05).max()
    assert found.df < 2


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_hides_most_shares_is_taken_off(seed):
    theta = 1 / np.arange(1.0, 21)
    theta /= theta.sum()
    evidence = reports_of([fw.KRR(labels(20), 1.0)], theta, 20_000, seed)
    errors = [np.square(f(evidence).theta - theta).sum() for f in (fw.shrink, fw.gibu)]
    assert errors[0] < 0.9 * errors[1]


def test_an_estimate_says_what_it_is():
    evidence = reports_of(mixture(4), np.full(4, 0.25), 300, 1)
    steps = []
    found = fw.shrink(evidence, on_step=steps.append)
    assert "people more who have all values alike" in found.certificate
    assert found.method == "shrink"
    document = found.to_dict()
    assert (document["strength"], document["df"]) == (found.strength, found.df)
    assert len(steps) == len(found.trace) > 3
    assert steps[0].log_likelihood >= steps[-1].log_likelihood


def test_what_cannot_be_shrunk_is_refused():
    with pytest.raises(fw.EvidenceError, match="has no people"):
        fw.shrink(fw.collect([(fw.KRR(labels(3), 1.0), [])]))
    with pytest.raises(fw.ParameterError, match="holds a matrix that"):
        fw.shrink(fw.collect([(fw.KRR(fw.Linear(0, 5999), 1.0), [3])]))
    with pytest.raises(fw.ParameterError, match="tol="):
        fw.shrink(fw.collect([(fw.KRR(labels(3), 1.0), [1])]), tol=-1)
