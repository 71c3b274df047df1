"""Tables that agree: beside a solver that is written out, and on all pairs of many questions."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import freewill as fw
from attribute_cases import evidence_of


def published(rng, names, sizes, noise):
    """Return every two-way table of a joint distribution, each with errors of its own."""
    joint = rng.dirichlet(np.full(np.prod(sizes), 0.5)).reshape(sizes)
    tables = {}
    for pair in itertools.combinations(range(len(sizes)), 2):
        rest = tuple(axis for axis in range(len(sizes)) if axis not in pair)
        table = joint.sum(axis=rest)
        errors = noise * rng.uniform(0.5, 2, size=table.shape)
        tables[tuple(names[n] for n in pair)] = (
            table + errors * rng.normal(size=table.shape),
            errors,
        )
    return tables


def margins_agree(agreed):
    margins = {}
    for names, table in agreed.tables.items():
        for axis, name in enumerate(names):
            margin = table.sum(axis=tuple(set(range(table.ndim)) - {axis}))
            margins.setdefault(name, []).append(margin)
    return max(np.ptp(np.stack(own), axis=0).max() for own in margins.values())


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([1e-4, 0.02, 0.3]))
def test_margins_agree_and_shares_are_shares(seed, noise):
    tables = published(np.random.default_rng(seed), "abc", (2, 3, 4), noise)
    agreed = fw.consistent(tables)
    assert margins_agree(agreed) < 1e-10
    assert agreed.residual < 1e-10
    for table in agreed.tables.values():
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1, abs=1e-12)
    assert agreed.gap <= 1e-6 * max(agreed.change, 1)


def test_they_are_the_nearest():
    tables = published(np.random.default_rng(1), "abc", (2, 2, 3), 0.1)
    agreed = fw.consistent(tables)
    targets = np.concatenate([own.ravel() for own, _ in tables.values()])
    errors = np.concatenate([own.ravel() for _, own in tables.values()])
    ab, ac, bc = (own.shape for own, _ in tables.values())

    def parts(x):
        a, b, c = np.split(x, [4, 10])
        return a.reshape(ab), b.reshape(ac), c.reshape(bc)

    def unlike(x):
        a, b, c = parts(x)
        # The first of each margin follows from the sums.
        margins = a.sum(1) - b.sum(1), a.sum(0) - c.sum(1), b.sum(0) - c.sum(0)
        sums = [a.sum() - 1, b.sum() - 1, c.sum() - 1]
        return np.concatenate([*(own[1:] for own in margins), sums])

    start = np.concatenate([np.full(own.size, 1 / own.size) for own, _ in tables.values()])
    oracle: Any = minimize
    found = oracle(lambda x: np.sum(np.square((x - targets) / errors)), start, method="SLSQP",
                     bounds=[(0, 1)] * 16, constraints={"type": "eq", "fun": unlike},
                     options={"maxiter": 500, "ftol": 1e-14})  # fmt: skip
    assert agreed.change == pytest.approx(found.fun, rel=1e-6)
    mine = np.concatenate([own.ravel() for own in agreed.tables.values()])
    assert mine == pytest.approx(found.x, abs=1e-5)


def test_fits_of_marginals_become_consistent():
    votes = fw.Categorical(["yes", "no"])
    people = fw.Product(a=votes, b=fw.Linear(0, 2), c=votes)
    some = [
        fw.Each(people, {name: fw.KRR(own, level) for name, own in people.attributes.items()})
        for level in (1.0, 2.0)
    ]
    rng = np.random.default_rng(4)
    evidence = fw.collect([(one, one.obfuscate(rng.integers(12, size=800), rng)) for one in some])
    fits = [fw.fit(evidence.marginal(*pair)) for pair in itertools.combinations("abc", 2)]
    agreed = fw.consistent(fits)
    assert margins_agree(agreed) < 1e-12 < agreed.disagreement
    assert agreed["a", "b"].shape == (2, 3)
    named = fw.consistent({("a", "b"): fits[0], "a": fw.fit(evidence.marginal("a"))})
    assert named["a"] == pytest.approx(named["a", "b"].sum(axis=1), abs=1e-12)
    json.dumps(agreed.to_dict(), allow_nan=False)
    assert "3 tables" in str(agreed)
    assert "<pre>" in agreed._repr_html_()


def test_what_agrees_already_stays_as_it_is():
    fit = fw.fit(evidence_of(count=100_000))
    agreed = fw.consistent([fit])
    assert agreed["age", "commute"].ravel() == pytest.approx(fit.theta, abs=1e-9)


def test_a_covariance_is_taken_as_it_is():
    shares, errors = np.array([0.2, 0.3, 0.6]), np.array([0.1, 0.2, 0.1])
    one = fw.consistent({"a": (shares, errors)})
    other = fw.consistent({"a": (shares, np.diag(errors**2))})
    assert one["a"] == pytest.approx(other["a"], abs=1e-9)
    # 0.1 too much, in proportion to the variances.
    assert one["a"] == pytest.approx(shares - 0.1 * errors**2 / np.sum(errors**2), abs=1e-9)


GOOD = (np.full(2, 0.5), np.full(2, 0.1))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([], "expected fits over several attributes"),
        (3, "expected fits over several attributes"),
        ([GOOD], "expected a fit"),
        ({"a": 3}, "expected a fit"),
        ({3: GOOD}, "expected the name of"),
        ({"a": (np.full((2, 2), 0.25), np.full((2, 2), 0.1))}, "an axis an attribute"),
        ({"a": (np.full(2, 0.5), np.zeros(2))}, "numbers > 0"),
        ({"a": (np.full(2, 0.5), np.zeros(3))}, "errors of the table of a have shape"),
        ({"a": (np.full(2, 0.5), -np.eye(2))}, "negative eigenvalues"),
        ({"a": (np.array([0.5, np.nan]), np.full(2, 0.1))}, "finite shares"),
        ({("a", "b"): (np.full((2, 2), 0.2), np.full((2, 2), 0.1)), ("b", "a"): GOOD}, "axis"),
        ({("a", "b"): (np.full((2, 2), 0.2), np.full((2, 2), 0.1)),
          ("b", "c"): (np.full((3, 2), 0.2), np.full((3, 2), 0.1))}, "values in one"),
        ({("a", "a"): (np.full((2, 2), 0.2), np.full((2, 2), 0.1))}, "comes twice"),
        ({("a", "b"): fw.collect([(fw.KRR(fw.Linear(0, 3), 1.0), [0, 1])])}, "of one question"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_in_words(tables, words):
    with pytest.raises(fw.ParameterError, match=words):
        fw.consistent(tables)


def test_a_table_that_is_not_there_is_asked_for():
    with pytest.raises(fw.ParameterError, match="no table of"):
        fw.consistent({"a": GOOD})["b"]


@pytest.mark.slow
def test_all_pairs_of_ten_questions_agree():
    names = [f"q{number}" for number in range(10)]
    rng = np.random.default_rng(2)
    tables = {
        pair: (0.04 + rng.normal(scale=0.01, size=(5, 5)), np.full((5, 5), 0.01))
        for pair in itertools.combinations(names, 2)
    }
    agreed = fw.consistent(tables)
    assert margins_agree(agreed) < 1e-12
    assert agreed.gap < 1e-6
