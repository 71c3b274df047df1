"""Products that certify: accurate entry by entry, where an FFT is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.numeric.operators.base import DenseOperator, StackOperator, parts_of
from freewill.numeric.operators.convolution import ConvolutionOperator
from freewill.stats.estimators.estimate import certified_estimate, likelihood_of, passes_of
from problems import random_truth
from profiles import examples

GRID = fw.Grid(9, 7, cell=1.0)
PLACES = np.arange(GRID.size)


def exact_rows(operator) -> np.ndarray:
    """The stored rows in long double, from logarithms and not from the tables of products."""
    logs = operator.log_dense().astype(np.longdouble)
    return np.exp(logs - operator.log_scale[:, None])


def sparse(seed: int, size: int) -> np.ndarray:
    """A distribution whose entries range over a hundred decades, many of them 0."""
    rng = np.random.default_rng(seed)
    theta = np.exp(rng.uniform(-230, 0, size)) * (rng.random(size) < 0.5)
    theta[rng.integers(size)] = 1.0
    return theta / theta.sum()


@examples(60)
@given(
    epsilon=st.floats(1e-3, 700),
    error=st.floats(1e-13, 1e-6),
    seed=st.integers(0, 10_000),
)
def test_products_within_an_error_are_within_it(epsilon, error, seed):
    operator = fw.PlanarGeometric(GRID, epsilon).operator(PLACES)
    rows = exact_rows(operator)
    theta = sparse(seed, GRID.size)
    fitted = (rows * theta).sum(axis=1)
    possible = fitted > 1e-290
    found = operator.forward_within(theta, error)
    # Entries of the tables carry a few units of rounding of their own.
    allowed = error + 1e-13
    assert np.all(np.abs(found - fitted)[possible] <= allowed * fitted[possible])
    # Weights as large as those of outputs that theta calls next to impossible.
    weights = sparse(seed + 1, GRID.size) * 1e6
    found = operator.adjoint_within(weights, error)
    expected = (rows * weights[:, None]).sum(axis=0)
    assert np.all(np.abs(found - expected) <= error + 1e-13 * expected)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("plane", [(9, 7), (24, 16), (100, 80)])
def test_the_error_of_an_fft_is_less_than_its_bound(epsilon, plane):
    """By a factor of 3 at least, for vectors of one number and of many."""
    grid = fw.Grid(*plane, cell=1.0)
    rng = np.random.default_rng(3)
    outputs = rng.choice(grid.size, min(grid.size, 300), replace=False)
    operator = fw.PlanarGeometric(grid, epsilon).operator(np.sort(outputs))
    rows, noise = operator.dense(), operator.kernels[0].transforms.noise
    for vector in (np.eye(1, grid.size, 7)[0], rng.random(grid.size), sparse(5, grid.size)):
        error = np.abs(operator.forward(vector) - rows @ vector).max()
        assert error <= noise * np.linalg.norm(vector) / 3
    for weights in (np.eye(1, rows.shape[0], 7)[0], rng.random(rows.shape[0])):
        error = np.abs(operator.adjoint(weights) - weights @ rows).max()
        assert error <= noise * np.linalg.norm(weights) / 3


def far_outputs(people: int = 10**9):
    """Sharp planar noise with many people, and bits that speak of other places."""
    grid = fw.Grid(8, 8, cell=1.0)
    rng = np.random.default_rng(7)
    planar, bits = fw.PlanarGeometric(grid, 10.0), fw.RAPPOR(grid, 1.0)
    truth = np.zeros(64)
    truth[[9, 10, 40]] = 0.5, 0.3, 0.2
    counts = rng.multinomial(people, truth @ planar.law())
    seen = np.flatnonzero(counts)
    values = rng.integers(64, size=1500)
    return fw.collect([(planar, seen, counts[seen]), (bits, bits.obfuscate(values, rng))])


@pytest.mark.parametrize("solver", [None, "interior", "conjugate", "columns", "passes"])
def test_tails_of_planar_noise_are_certified_from_exact_entries(solver):
    evidence = far_outputs()
    estimate = fw.gibu(evidence, tol=1e-11, solver=solver)
    rows = np.vstack([exact_rows(part) for part in parts_of(evidence.operator)])
    fitted = rows @ estimate.theta.astype(np.longdouble)
    slope = (evidence.weights / fitted) @ rows
    true_gap = float(np.log(slope.max()))
    assert true_gap <= estimate.gap + 1e-14
    if estimate.status == fw.Status.CERTIFIED:
        assert true_gap <= 1e-11
    if solver is None:
        assert estimate.status == fw.Status.CERTIFIED


def test_other_estimators_are_certified_from_exact_entries_too():
    evidence = far_outputs()
    rows = np.vstack([exact_rows(part) for part in parts_of(evidence.operator)])
    for theta in (fw.gibu(evidence).theta, random_truth(64, 1)):
        estimate = certified_estimate(evidence, theta, "told", fw.Status.DIRECT, 0.0)
        slope = (evidence.weights / (rows @ theta)) @ rows
        true_gap = float(np.log(slope.max()))
        assert true_gap - 1e-14 <= estimate.gap <= true_gap + 0.002 / evidence.people


def test_passes_over_planar_reports_are_exact():
    evidence = far_outputs()
    theta = fw.gibu(evidence).theta
    one = passes_of(evidence).certify(theta)
    rows = np.vstack([exact_rows(part) for part in parts_of(evidence.operator)])
    slope = (evidence.weights / (rows @ theta)) @ rows
    np.testing.assert_allclose(one.slope, slope.astype(float), rtol=1e-12)


def test_the_bound_on_the_error_is_in_the_gap():
    evidence = far_outputs(10**6)
    likelihood = likelihood_of(evidence)
    theta = fw.gibu(evidence, tol=1e-9).theta
    rough, fine = likelihood.certify(theta, 1e-4), likelihood.certify(theta, 1e-12)
    assert fine.gap <= rough.gap <= fine.gap + 1.2e-5
    dense = DenseOperator(likelihood.operator.dense(), likelihood.operator.log_scale)
    assert dense.exact
    assert not likelihood.operator.exact


@pytest.mark.parametrize("kind", ["planar", "bits", "symbols", "geometric", "dense", "all"])
def test_a_subset_is_the_law_of_some_outputs(kind):
    grid, line, rng = fw.Grid(5, 4, cell=1.0), fw.Linear(0, 19), np.random.default_rng(1)
    bits = fw.RAPPOR(line, 2.0)
    packed = bits.obfuscate(rng.integers(20, size=30), rng)
    packed[3] = 0
    made = {
        "planar": fw.PlanarGeometric(grid, 0.7).operator(np.arange(20)),
        "bits": bits.operator(packed),
        "symbols": fw.KRR(line, 1.0).operator(np.arange(20)),
        "geometric": fw.Geometric(line, 0.3).operator(np.arange(20)),
        "dense": DenseOperator(rng.random((6, 20)), rng.random(6)),
    }
    operator = StackOperator(list(made.values())) if kind == "all" else made[kind]
    outputs = operator.shape[0]
    for places in (np.array([0, 3, outputs - 1]), np.arange(outputs), np.array([], dtype=int)):
        some = operator.subset(places)
        assert some.shape == (places.size, 20)
        np.testing.assert_array_equal(some.dense(), operator.dense()[places])
        np.testing.assert_array_equal(some.log_scale, operator.log_scale[places])
    weights = rng.random(outputs)
    gram = operator.dense().T @ (weights[:, None] * operator.dense())
    np.testing.assert_allclose(operator.gram_diagonal(weights), gram.diagonal(), rtol=1e-12)
    vector = rng.standard_normal(20)
    scale = np.abs(gram).max()
    np.testing.assert_allclose(operator.gram_map(weights)(vector), gram @ vector, atol=1e-5 * scale)


@pytest.mark.parametrize("plane", [(2, 2), (2, 9), (13, 5), (30, 21)])
def test_planar_products_share_their_transforms(plane):
    """Several laws at once, borders and corners included, against dense rows."""
    grid, rng = fw.Grid(*plane, cell=(1.0, 0.8)), np.random.default_rng(2)
    parts = []
    for epsilon in (0.05, 0.6, 4.0):
        outputs = np.flatnonzero(rng.random(grid.size) < 0.7)
        parts.append(fw.PlanarGeometric(grid, epsilon).operator(outputs))
    operator = StackOperator(parts)
    assert all(isinstance(part, ConvolutionOperator) for part in parts)
    weights = rng.random(operator.shape[0])
    gram = operator.dense().T @ (weights[:, None] * operator.dense())
    product = operator.gram_map(weights)
    for vector in (rng.standard_normal(grid.size), np.eye(1, grid.size, 1)[0]):
        expected = gram @ vector
        np.testing.assert_allclose(product(vector), expected, atol=3e-6 * np.abs(expected).max())
