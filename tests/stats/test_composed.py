"""Estimates from composed mechanisms: certified, with the errors of dense covariances."""

import numpy as np
import pytest

import freewill as fw
from composed_cases import composed_law
from freewill.domain.alphabets.groups import coarser
from freewill.numeric.operators import around, blocks
from freewill.numeric.operators.sampled import SampledMoments

AGES = fw.Linear(0, 39)


def truth(size: int) -> np.ndarray:
    bumps = 1.5 + np.sin(np.arange(size) / 4)
    return bumps / bumps.sum()


def dense_errors(law: np.ndarray, theta: np.ndarray, people: int) -> np.ndarray:
    """Square roots of the diagonal of (J^-1 - theta theta') / n, J = sum of a a' / p."""
    information = (law / (theta @ law)) @ law.T
    covariance = np.linalg.inv(information) - np.outer(theta, theta)
    return np.sqrt(np.diag(covariance) / people)


def test_both_of_a_hundred_thousand_people_is_certified_with_its_standard_errors():
    rng, people = np.random.default_rng(3), 100_000
    both = fw.Both(fw.KRR(AGES, 2.0), fw.Geometric(AGES, 0.4))
    values = rng.choice(AGES.size, people, p=truth(AGES.size))
    evidence = fw.collect([(both, both.obfuscate(values, rng))])
    estimate = fw.gibu(evidence)
    assert str(estimate.status) == "certified"
    law, theta = composed_law(both), truth(AGES.size)
    wanted = dense_errors(law, theta, people)
    found = fw.information(evidence, theta).standard_error()
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    # Off by what chance allows, and less than either report alone would be.
    off = (estimate.theta - theta) / wanted
    assert np.abs(off).max() < 4.5
    for part in both.parts:
        assert np.all(wanted < dense_errors(part.law(), theta, people))


@pytest.mark.parametrize("chance", [1e-6, 0.3, 1.0])
@pytest.mark.parametrize(
    "inner",
    [
        fw.KRR(AGES, 1.0),
        fw.Geometric(AGES, 0.2),
        fw.RAPPOR(AGES, 1.0),
        fw.SubsetSelection(AGES, 1.0),
        fw.Both(fw.KRR(AGES, 1.0), fw.Geometric(AGES, 0.2)),
    ],
    ids=str,
)
def test_information_of_perhaps_is_the_chance_times_the_inner_one(inner, chance):
    theta = truth(AGES.size)
    shy, told = fw.Perhaps(inner, chance).moments(theta), inner.moments(theta)
    way = np.random.default_rng(0).standard_normal((3, AGES.size))
    way -= way.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(shy.information(), chance * told.information(), rtol=1e-12)
    np.testing.assert_allclose(shy.diagonal(), chance * told.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(shy.product(way[0]), chance * told.product(way[0]), rtol=1e-12)
    for ours, theirs in zip(shy.powers(way), told.powers(way), strict=True):
        np.testing.assert_allclose(ours, chance * theirs, rtol=1e-12)


def test_information_of_perhaps_is_that_of_its_law():
    """By the law with silence in it, which knows nothing of the rule."""
    theta, inner = truth(12), fw.Geometric(fw.Linear(0, 11), 0.3)
    shy = fw.Perhaps(inner, 0.3)
    listed = fw.Mechanism.moments(shy, theta)
    np.testing.assert_allclose(
        shy.moments(theta).information(), listed.information(), rtol=1e-10, atol=1e-12
    )
    system = shy.moments(theta).system()
    rows = system.operator.dense()
    whole = (rows.T * system.weights) @ rows + np.diag(system.diagonal)
    np.testing.assert_allclose(whole, listed.information() + 1, rtol=1e-10)


def test_errors_of_drawn_moments_are_told_of_perhaps_too():
    line = fw.Linear(0, 9)
    wide = fw.Both(fw.LocalHashing(line, 2.0), fw.LocalHashing(line, 2.0))
    assert isinstance(wide.moments(truth(10)), SampledMoments)
    rng, shy = np.random.default_rng(1), fw.Perhaps(wide, 0.5)
    found = fw.intervals(fw.collect([(shy, shy.obfuscate(rng.integers(0, 10, 400), rng))]))
    assert "found from some that were drawn" in found.advice


def some_operators():
    """Composed laws of raw reports, unordered and with repeats."""
    rng, line = np.random.default_rng(2), fw.Linear(0, 6)
    city = fw.Grid(4, 3, cell=1.0)
    made = [
        fw.Both(fw.KRR(line, 1.0), fw.Geometric(line, 0.5)),
        fw.Both(fw.RAPPOR(line, 1.0), fw.LocalHashing(line, 1.0)),
        fw.Both(fw.PlanarGeometric(city, 0.5), fw.KRR(city, 1.0)),
        fw.Geometric(line, 0.5).then(coarser(line, 2)),
        fw.PlanarGeometric(city, 0.5).then(rng.dirichlet(np.ones(5), 12)),
        fw.Perhaps(fw.PlanarGeometric(city, 0.5), 0.4),
        fw.Perhaps(fw.OUE(line, 1.0), 0.4),
    ]
    for mechanism in made:
        values = rng.integers(0, mechanism.alphabet.size, 40)
        yield mechanism.operator(mechanism.obfuscate(values, rng))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("operator", list(some_operators()), ids=lambda law: type(law).__name__)
def test_products_are_those_of_rows_in_blocks_and_of_some_outputs(operator, held, monkeypatch):
    if not held:
        monkeypatch.setattr(blocks, "_HELD_PRODUCTS", 1)
        monkeypatch.setattr(blocks, "_BLOCK_NUMBERS", 30)
        monkeypatch.setattr(around, "_BLOCK", 30)
    rng = np.random.default_rng(4)
    places = np.array([0, 3, 4, 11, 39])
    for law, rows in (
        (operator.subset(np.arange(40)), operator.dense()),
        (operator.subset(places), operator.dense()[places]),
        (operator.subset(places[:0]), operator.dense()[:0]),
    ):
        theta, weights = rng.dirichlet(np.ones(rows.shape[1])), rng.random(len(rows))
        np.testing.assert_allclose(law.dense(), rows, rtol=1e-12)
        np.testing.assert_allclose(law.dense(np.array([2, 0])), rows[:, [2, 0]], rtol=1e-12)
        np.testing.assert_allclose(law.forward_within(theta, 1e-13), rows @ theta, rtol=1e-12)
        adjoint = law.adjoint_within(weights, 1e-14)
        np.testing.assert_allclose(adjoint, weights @ rows, rtol=1e-12, atol=1e-13)
        gram = (rows.T * weights) @ rows
        np.testing.assert_allclose(law.gram(weights), gram, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(
            law.gram_diagonal(weights), np.diag(gram), rtol=1e-11, atol=1e-13
        )
        np.testing.assert_allclose(law.gram_map(weights)(theta), gram @ theta, rtol=1e-6, atol=1e-9)
        if len(rows):
            sums = law.sums(theta, weights, 1)
            fitted = rows @ theta
            assert sums.value == pytest.approx(float(weights @ np.log(fitted)), rel=1e-10)
            np.testing.assert_allclose(sums.slope, (weights / fitted) @ rows, rtol=1e-10)


def test_silence_that_cannot_be_has_no_likelihood():
    sure = fw.Perhaps(fw.KRR(AGES, 1.0), 1.0)
    law = sure.operator(sure.outputs()[:2])
    theta = truth(AGES.size)
    assert law.forward(theta)[0] == 0
    assert law.sums(theta, np.ones(2)).value == -np.inf
    assert np.all(np.isneginf(law.log_dense()[0]))


def test_silence_tells_nothing_and_the_rest_is_estimated_as_without():
    rng = np.random.default_rng(8)
    inner = fw.KRR(AGES, 2.0)
    shy = fw.Perhaps(inner, 0.5)
    reports = shy.obfuscate(rng.choice(AGES.size, 20_000, p=truth(AGES.size)), rng)
    told, some = shy.output_space.sent(reports)
    assert 0.48 < told.mean() < 0.52
    ours = fw.gibu(fw.collect([(shy, reports)]), tol=1e-12).theta
    theirs = fw.gibu(fw.collect([(inner, some)]), tol=1e-12).theta
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_composed_mechanisms_mix_with_others():
    rng, line = np.random.default_rng(9), fw.Linear(0, 19)
    theta = truth(20)
    mechanisms = [
        fw.Both(fw.KRR(line, 1.0), fw.OUE(line, 1.0)),
        fw.Perhaps(fw.Geometric(line, 0.5), 0.6),
        fw.Geometric(line, 0.5).then(coarser(line, 4)),
        fw.KRR(line, 1.5),
    ]
    parts = [(m, m.obfuscate(rng.choice(20, 4000, p=theta), rng)) for m in mechanisms]
    evidence = fw.collect(parts)
    assert str(fw.gibu(evidence).status) == "certified"
    check = fw.check_choice(evidence)
    assert check.p_value > 1e-3
    assert evidence == fw.collect(parts[2:]) + fw.collect(parts[:2])


def test_what_a_map_loses_is_counted():
    line = fw.Linear(0, 5)
    halves = fw.KRR(line, 1.0).then([0, 0, 0, 1, 1, 1])
    assert fw.gibu(fw.collect([(halves, [0, 1, 1])])).unresolved == 4


def test_parts_of_full_rank_tell_all_distributions_apart():
    class Blurred(fw.KRR):
        def operator(self, outputs):
            return fw.Matrix(self.alphabet, np.full((6, 6), 1 / 6)).operator(outputs)

    line = fw.Linear(0, 5)
    blind, clear = fw.Matrix(line, np.full((6, 6), 1 / 6)), fw.Geometric(line, 1.0)
    assert fw.Both(blind, clear).full_rank
    assert fw.Perhaps(fw.Both(clear, blind), 0.1).full_rank
    assert not fw.Both(blind, blind).full_rank
    assert not fw.Perhaps(Blurred(line, 1.0), 0.5).full_rank
    blurred = fw.Both(blind, blind)
    assert fw.gibu(fw.collect([(blurred, blurred.outputs()[:3])])).unresolved == 5
