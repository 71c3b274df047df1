"""Gaps where doubles end: what is stated is true, and nobody is asked for more than can be told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.numeric.operators.base import DenseOperator, Operator
from freewill.numeric.solvers.likelihood import Likelihood, attainable_gap, rounding_of
from freewill.stats.estimators.estimate import default_tolerance, likelihood_of
from profiles import examples

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="the oracle needs numbers of 64 bits"
)
LINE, CITY, FEW = fw.Linear(0, 23), fw.Grid(5, 4, 1.0), fw.Linear(0, 6)
TABLE = np.random.default_rng(5).gamma(0.4, size=(24, 31)) + 1e-6
MIXTURES = (
    (fw.KRR(LINE, 0.4), fw.KRR(LINE, 3.0)),
    (fw.Geometric(LINE, 0.02), fw.Geometric(LINE, 0.9), fw.Identity(LINE)),
    (fw.Matrix(LINE, TABLE / TABLE.sum(axis=1, keepdims=True)),),
    (fw.Shokri(LINE, 2.0), fw.Geometric(LINE, 0.3)),
    (fw.PlanarGeometric(CITY, 0.5), fw.PlanarGeometric(CITY, 4.0), fw.KRR(CITY, 1.0)),
    (fw.RAPPOR(FEW, 0.7), fw.RAPPOR(FEW, 3.0)),
)


def slope(operator, weights, theta):
    """Return g and p from the entries of the law, in 64 bits."""
    rows, exact = operator.dense().astype(np.longdouble), theta.astype(np.longdouble)
    fitted = rows @ exact
    return rows.T @ (weights / fitted)


def counted(mechanisms, people, seed):
    """All outputs of all mechanisms as often as so many people would report them."""
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    theta, parts = rng.dirichlet(np.full(size, 10 ** rng.uniform(-1, 1))), []
    for mechanism in mechanisms:
        outputs = mechanism.outputs()
        operator = mechanism.operator(outputs)
        chances = np.exp(operator.log_scale) * (operator.dense() @ theta)
        counts = rng.multinomial(people // len(mechanisms), chances / chances.sum())
        parts.append((mechanism, outputs[counts > 0], counts[counts > 0]))
    return fw.collect(parts)


@examples(40)
@given(
    st.sampled_from(MIXTURES),
    st.floats(9, 15.9).map(lambda exponent: int(10**exponent)),
    st.integers(0, 10**6),
)
def test_a_stated_gap_is_true_up_to_the_most_people(mechanisms, people, seed):
    evidence = counted(mechanisms, people, seed)
    estimate = fw.gibu(evidence)
    counts = np.concatenate([group.counts for group in evidence.groups])
    weights = counts.astype(np.longdouble) / evidence.people
    gradient = slope(evidence.operator, weights, estimate.theta)
    true = np.log(gradient.max() * estimate.theta.astype(np.longdouble).sum())
    assert estimate.status == "certified"
    assert true <= estimate.gap <= default_tolerance(evidence)
    assert estimate.steps <= 40


def test_the_tolerance_is_a_hundredth_a_person_until_rounding_is_larger():
    for people in (10, 10**6, 10**10):
        evidence = counted(MIXTURES[0], people, 1)
        assert default_tolerance(evidence) == 0.01 / evidence.people
    evidence = counted(MIXTURES[0], 10**14, 1)
    assert default_tolerance(evidence) == attainable_gap(48, 24)
    assert attainable_gap(48, 24) == 4 * rounding_of(48, 24)
    assert rounding_of(48, 24) == 2.0**-54 * (16 + 24 + 2 * np.sqrt(48))


def laws() -> dict[str, Operator]:
    """Return laws whose sums are long: many values, many outputs, recursions that hardly fall."""
    rng, long = np.random.default_rng(0), fw.Linear(0, 799)
    reports = fw.RAPPOR(fw.Linear(0, 39), 1.0)
    return {
        "wide": fw.Geometric(long, 1e-6).operator(np.arange(800)),
        "sharp": fw.Geometric(long, 1.0).operator(np.arange(800)),
        "k-RR": fw.KRR(long, 2.0).operator(np.arange(800)),
        "many values": DenseOperator(rng.random((300, 800))),
        "many outputs": DenseOperator(rng.random((100_000, 3))),
        "bits": reports.operator(reports.obfuscate(rng.integers(0, 40, 3000), rng)),
    }


@pytest.mark.parametrize("name", laws())
def test_rounding_is_within_its_bound(name):
    operator, rng = laws()[name], np.random.default_rng(1)
    outputs, size = operator.shape
    for concentration in (0.02, 1.0):
        theta = rng.dirichlet(np.full(size, concentration))
        weights = rng.dirichlet(np.ones(outputs))
        found = Likelihood(operator, weights).certify(theta).slope
        exact = slope(operator, weights.astype(np.longdouble), theta)
        off = float(np.max(np.abs(found - exact) / np.maximum(exact, 1)))
        assert off <= 2 * rounding_of(outputs, size)


@pytest.mark.parametrize("mechanisms", MIXTURES)
def test_a_gap_contains_its_rounding(mechanisms):
    """Also that of an estimate that is exact: nothing below it can be told."""
    evidence = counted(mechanisms, 10**6, 2)
    likelihood = likelihood_of(evidence)
    assert fw.gibu(evidence).gap >= 2 * rounding_of(*likelihood.operator.shape)
