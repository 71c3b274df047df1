"""Variances over large alphabets: as the dense matrix says, wider and said so, or none."""

from typing import Any

import numpy as np
import pytest
from tools.stress.families import mixture

import freewill as fw
from freewill.stats import covariance
from freewill.stats.covariance import SolvedCovariance, UnboundedErrors
from freewill.stats.information import (
    DENSE,
    PULL,
    Information,
    fit_of,
    information_of,
    inverse_on_simplex,
)
from freewill.stats.intervals import _FAINT


def random_mixture(seed, largest):
    """Return an alphabet, weighted moments of up to four mechanisms, theta and functionals."""
    rng = np.random.default_rng(seed)
    size = int(np.exp(rng.uniform(np.log(2), np.log(largest))))
    side = max(2, int(np.sqrt(size)))
    alphabet = [
        fw.Linear(0, size - 1),
        fw.Grid(max(2, size // side), side, cell=1.0),
        fw.Categorical([f"v{number}" for number in range(size)]),
    ][rng.integers(3)]
    size = alphabet.size

    def law(outputs):
        weights = rng.gamma(rng.choice([0.2, 1, 5]), size=(size, outputs)) + 1e-6
        return weights / weights.sum(axis=1, keepdims=True)

    kinds = {
        "k-rr": lambda: fw.KRR(alphabet, np.exp(rng.uniform(-7, 3))),
        "bits": lambda: fw.RAPPOR(alphabet, np.exp(rng.uniform(-7, 3))),
        "identity": lambda: fw.Identity(alphabet),
        "law": lambda: fw.Matrix(alphabet, law(rng.integers(2, 2 * size + 2))),
        "geometric": lambda: fw.Geometric(alphabet, np.exp(rng.uniform(-7, 1.5))),
        "planar": lambda: fw.PlanarGeometric(alphabet, np.exp(rng.uniform(-4, 1.5))),
    }
    own = {fw.Linear: "geometric", fw.Grid: "planar"}.get(type(alphabet), "k-rr")
    names = rng.choice(["k-rr", "bits", "identity", "law", own, own, own], size=rng.integers(1, 5))
    theta = rng.gamma(rng.choice([0.1, 1, 10]), size=size) + 1e-4
    theta /= theta.sum()
    shares = rng.dirichlet(np.full(names.size, rng.choice([0.3, 3])))
    parts = [
        (share, kinds[name]().moments(theta)) for share, name in zip(shares, names, strict=True)
    ]
    place = np.arange(size)
    rows = np.array([place, place < size / 3, place == size // 2, rng.standard_normal(size)])
    return alphabet, parts, theta, np.asarray(rows, dtype=float)


def dense_variances(parts, theta, rows):
    """Return h'C h from the matrix written out, infinite for what the reports do not tell."""
    information = sum(share * moments.information() for share, moments in parts)
    inverse, lost = inverse_on_simplex(information, theta)
    variances = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    if lost is not None:
        variances[np.abs(rows @ lost.T).max(axis=1) > 1e-9 * np.abs(rows).max(axis=1)] = np.inf
    return variances


def both(seed, largest):
    """Return the variances of a random mixture by solves and by the matrix, and the solver."""
    alphabet, parts, theta, rows = random_mixture(seed, largest)
    solver = SolvedCovariance(parts, theta, alphabet.plane)
    solved = Information.variances_of(rows, solver.influences(rows))
    return solved, dense_variances(parts, theta, rows), solver


@pytest.mark.parametrize("seed", range(60))
def test_variances_are_those_of_the_dense_matrix(seed):
    solved, dense, solver = both(seed, 400)
    if solver.inverse.smallest:
        assert solved == pytest.approx(dense, rel=0.01)
    else:
        assert np.isinf(dense).any(), "no direction is lost"


@pytest.mark.filterwarnings("ignore::freewill.stats.covariance.UnboundedErrors")
@pytest.mark.parametrize("seed", range(60))
def test_by_products_variances_are_never_too_small(seed, monkeypatch):
    """Where neither structure nor a matrix helps: within 1 %, wider by what may miss, or none."""
    monkeypatch.setattr(covariance, "_structured_inverse", lambda *_: None)
    monkeypatch.setattr(covariance, "FACTORED", 1)
    monkeypatch.setattr(covariance, "_MOST_STEPS", 300)
    solved, dense, _ = both(1000 + seed, 150)
    assert np.all(solved >= 0.99 * dense)


def test_where_a_direction_is_lost_products_tell_no_error_and_say_so(monkeypatch):
    """Two of three values have one law."""
    monkeypatch.setattr(covariance, "FACTORED", 1)
    law = fw.Matrix(fw.Categorical(["a", "b", "c"]), [[0.8, 0.2], [0.3, 0.7], [0.3, 0.7]])
    theta = np.array([0.5, 0.25, 0.25])
    solved = SolvedCovariance([(1.0, law.moments(theta))], theta)
    with pytest.warns(UnboundedErrors, match="over 3 values .* merge values into bins"):
        assert np.isinf(solved.influences(np.eye(3)[1:2])).all()


def krr_variance(mechanism, theta, row):
    """Return the variance of h'theta for one report of k-RR: p'u^2 - (p'u)^2 for u = A^-1 h."""
    size, odds = theta.size, np.exp(mechanism.epsilon)
    lie, gain = 1 / (odds + size - 1), (odds - 1) / (odds + size - 1)
    fitted = lie + gain * theta
    naive = (row - lie * row.sum()) / gain
    return fitted @ naive**2 - (fitted @ naive) ** 2


@pytest.mark.parametrize("size", [1_024, 1_025, 5_000, 100_000])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_k_rr_has_the_variance_of_its_closed_form(size, epsilon):
    """At 1,025 values and epsilon 1 the error of the mean came out 7.4 instead of 55."""
    line, place = fw.Linear(0, size - 1), np.arange(float(size))
    theta = np.random.default_rng(size).dirichlet(np.full(size, 0.3)) + 0.01 / size
    theta /= theta.sum()
    mechanism = fw.KRR(line, epsilon)
    information = information_of(line, [(mechanism, 1.0, "")], theta, 1)
    for row in (place, (place < size / 3).astype(float)):
        variance = krr_variance(mechanism, theta, row)
        assert information.standard_error(row) ** 2 == pytest.approx(variance, rel=1e-6)


def test_mixtures_on_long_lines_are_solved_at_once():
    size = 1_100
    line, place = fw.Linear(0, size - 1), np.arange(float(size))
    theta = np.random.default_rng(size).dirichlet(np.full(size, 0.3)) + 0.01 / size
    theta /= theta.sum()
    mechanisms = [fw.Geometric(line, 0.003), fw.RAPPOR(line, 0.2), fw.KRR(line, 3.0)]
    parts = [(1 / 3, mechanism.moments(theta)) for mechanism in mechanisms]
    rows = np.array([place, place < size / 3])
    products: list[int] = []

    class Counted(SolvedCovariance):
        def product(self, direction):
            products.append(1)
            return super().product(direction)

    solved = Counted(parts, theta).influences(rows)
    dense = dense_variances(parts, theta, rows)
    assert np.einsum("ij,ij->i", rows, solved) == pytest.approx(dense, rel=1e-6)
    assert len(products) <= 4 * len(rows)


def test_one_step_leaves_what_the_reports_do_not_tell():
    """It put everybody on the first value, and said nothing."""
    law = fw.Matrix(fw.Linear(0, 2), [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    estimate = fw.one_step(fw.collect([(law, [0, 1], [6_000_000, 4_000_000])]))
    assert estimate.theta @ law.law() == pytest.approx([0.6, 0.4], abs=1e-3)
    assert estimate.gap < 1e-6
    assert estimate.unresolved


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, DENSE + 1])
@pytest.mark.parametrize("first", [1900, 10**9, 10**12])
def test_where_a_line_begins_changes_no_error(size, first):
    """Seconds since 1970 are large beside their range; C 1 = 0 takes that off, not rounding."""
    rng = np.random.default_rng(size)
    counts = rng.integers(1, 500, size)
    answers: list[list[Any]] = []
    for begin in (0, first):
        line = fw.Linear(begin, begin + size - 1)
        noisy = fw.KRR(line, 2.0)
        fit = fw.fit(fw.collect([(noisy, np.arange(size), counts)]))
        mean, itself = fw.intervals(fit, "mean"), fw.compare(fit, fit, "mean", equal=True)
        together = fw.intervals(fit, np.stack([np.arange(size) + begin, np.ones(size)]), joint=True)
        answers.append(
            [mean.low - begin, mean.high - begin, mean.standard_error, itself.standard_error,
             fit.information.standard_error("mean"), together.critical]
        )  # fmt: skip
    # The ends themselves have no more digits than the values.
    one, other = answers
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=4 * np.spacing(float(first)))


def test_what_is_constant_has_no_error():
    city = fw.Grid(6, 1, cell=(0.3, 7.0))
    noisy = fw.RAPPOR(city, 0.1)
    reports = noisy.obfuscate([0, 1, 2, 3, 4, 5, 5, 5], np.random.default_rng(0))
    east, north = fw.intervals(fw.collect([(noisy, reports)]), "mean").standard_error
    assert east > 0.1
    assert north == 0


@pytest.mark.parametrize("size", [2, 11, 100])
def test_a_step_where_nothing_is_told_stays_where_it_is(size: int) -> None:
    """Of one output K is the square of its rounding, and a step by its inverse led far away."""
    blind = fw.Matrix(fw.Linear(0, size - 1), np.ones((size, 1)))
    evidence = fw.collect([(blind, [0], [10**6])])
    np.testing.assert_allclose(fw.one_step(evidence).theta, fw.gibu(evidence).theta, atol=1e-9)
    assert np.all(np.isinf(fw.information(evidence).standard_error()))


def test_a_step_sums_to_nothing_where_outputs_came_that_hardly_can() -> None:
    """What they say is not in the range of the information, which does not know them."""
    law = np.array([[0.987, 1e-320, 4e-312, 0.013]])
    rest = [[1.0, scale * 1e-320, scale * 1e-310, 2e-310] for scale in (1.0, 3.0, 2.0, 0.7)]
    mechanism = fw.Matrix(fw.Linear(0, 4), np.vstack([law, rest]))
    evidence = fw.collect([(mechanism, [0, 1, 2], [10**6, 10**4, 10**5])])
    information = fw.information(evidence)
    move = information.moved(np.array([3.0, -2.0, 5.0, 0.1, 7.0]))
    assert abs(move.sum()) < 1e-9 * np.abs(move).max()


def test_bands_hold_where_directions_are_lost_near_the_bound_alone() -> None:
    """In this one everything is told at theta_w, and something not at a theta hardly pulled."""
    evidence = mixture(1, 4108).evidence()
    inside, near = (fit_of(evidence, None).information_at(pull) for pull in (PULL, _FAINT))
    every = np.eye(evidence.alphabet.size)
    assert np.isfinite(inside.influences(every)).all()
    assert not np.isfinite(near.influences(every)).all()
    bands = fw.intervals(evidence, joint=True)
    assert np.all((bands.low <= bands.point) & (bands.point <= bands.high))
