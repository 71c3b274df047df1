"""The choice as a part of the report: its likelihood, gradient and score beside naive ones."""

from typing import Any

import numpy as np
import pytest

from choice_cases import (
    BITS,
    FIVE,
    LINE,
    MIXED,
    chosen,
    exact,
    naive_law,
    naive_maximum,
    naive_value,
    random_choice,
    slope_of,
)
from freewill.stats.choice import model as choice_model
from freewill.stats.choice.bases import basis_of, ladder
from freewill.stats.choice.model import ChoiceModel, inverse_of


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_given_a_choice_is_certified_and_the_naive_one(
    mechanisms: list[Any], seed: int
) -> None:
    size = mechanisms[0].alphabet.size
    truth = np.random.default_rng(seed).dirichlet(np.ones(size))
    evidence = chosen(mechanisms, truth, slope_of(size, 3), 3000, seed)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[2]
    choice = model.choice(basis, random_choice(model, basis, seed))
    solution = model.solve(choice, np.full(size, 1 / size))
    assert solution.certificate.gap <= 1e-9
    assert solution.theta.sum() == pytest.approx(1)
    told = naive_value(evidence, choice, solution.theta)
    assert solution.certificate.value == pytest.approx(told, abs=1e-10)
    assert told == pytest.approx(naive_maximum(evidence, choice), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_bits_that_are_passed_over_give_the_same_theta(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    truth = np.random.default_rng(seed).dirichlet(np.ones(5))
    evidence = chosen(BITS, truth, slope_of(5, 3), 3000, seed)
    basis = ladder(FIVE)[1]
    theta = np.full(5, 0.2)
    dense = ChoiceModel(evidence, 1e-10, 100)
    choice = dense.choice(basis, random_choice(dense, basis, seed))
    there = dense.solve(choice, theta)
    monkeypatch.setattr(choice_model, "_DENSE", 0)
    passed = ChoiceModel(evidence, 1e-10, 100)
    found = passed.solve(choice, theta)
    np.testing.assert_allclose(found.theta, there.theta, atol=1e-5)
    assert found.certificate.gap <= 1e-10
    assert found.certificate.value == pytest.approx(there.certificate.value, abs=1e-9)


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("rung", [1, 2, 3])
def test_the_gradient_of_the_profile_is_that_of_finite_differences(
    mechanisms: list[Any], rung: int
) -> None:
    size = mechanisms[0].alphabet.size
    truth = np.random.default_rng(5).dirichlet(np.ones(size))
    evidence = chosen(mechanisms, truth, slope_of(size, 3), 2000, rung)
    model = ChoiceModel(evidence, 1e-13, 200)
    basis = ladder(evidence.alphabet)[rung]
    coefficients = random_choice(model, basis, rung)

    def profile(at: np.ndarray) -> Any:
        return model.solve(model.choice(basis, at), np.full(size, 1 / size))

    choice = model.choice(basis, coefficients)
    gradient = model.gradient(basis, profile(coefficients).theta, choice)
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-4
        values = [
            naive_value(evidence, model.choice(basis, at), profile(at).theta)
            for at in (coefficients + step, coefficients - step)
        ]
        slope = evidence.people * (values[0] - values[1]) / 2e-4
        assert gradient[place] == pytest.approx(slope, abs=2e-3 * (1 + abs(slope)))


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["symbols", "bits"])
@pytest.mark.parametrize("rung", [1, 3])
def test_the_score_is_that_of_all_pairs_listed(mechanisms: list[Any], rung: int) -> None:
    """U and I from numerical derivatives of the naive law, theta projected out by least squares."""
    size = mechanisms[0].alphabet.size
    rng = np.random.default_rng(rung)
    evidence = chosen(mechanisms, rng.dirichlet(np.ones(size)), slope_of(size, 3), 2000, 7)
    model = ChoiceModel(evidence, 1e-9, 100)
    basis = ladder(evidence.alphabet)[rung]
    coefficients = random_choice(model, basis, rung)
    theta = rng.dirichlet(np.ones(size))
    inside = (2000 * theta + 0.5) / (2000 + 0.5 * size)

    def fitted(at: np.ndarray) -> np.ndarray:
        return inside @ naive_law(evidence, model.choice(basis, at))[0]

    law, weights = naive_law(evidence, model.choice(basis, coefficients))
    p = fitted(coefficients)
    columns = []
    for place in np.ndindex(coefficients.shape):
        step = np.zeros_like(coefficients)
        step[place] = 1e-5
        columns.append((fitted(coefficients + step) - fitted(coefficients - step)) / 2e-5)
    moves = np.stack(columns, axis=1)
    root = np.sqrt(p)[:, None]
    scaled, nuisance = moves / root, law.T / root
    left = scaled - nuisance @ np.linalg.lstsq(nuisance, scaled, rcond=None)[0]
    found = model.score(basis, theta, model.choice(basis, coefficients))
    np.testing.assert_allclose(found.curvature, 2000 * left.T @ left, atol=1e-4)
    np.testing.assert_allclose(found.theta_known, 2000 * scaled.T @ scaled, atol=1e-4)
    slope = 2000 * left.T @ (weights / root[:, 0])
    np.testing.assert_allclose(found.slope.ravel(), slope, atol=1e-3)


def test_the_score_has_mean_nothing_wherever_theta_is() -> None:
    """At the true choice law, with expected counts, whatever theta it is taken at."""
    truth = np.random.default_rng(1).dirichlet(np.ones(12))
    model = ChoiceModel(exact(MIXED, truth, slope_of(12, 3), 10**12), 1e-9, 100)
    basis = basis_of("linear", LINE)
    order = [MIXED.index(one) for one in model.evidence.mechanisms]
    choice = slope_of(12, 3)[:, order]
    for seed in range(5):
        theta = np.random.default_rng(seed).dirichlet(np.full(12, 0.3))
        score = model.score(basis, theta, choice)
        errors = np.sqrt(np.diag(score.curvature))
        # 1e12 people: a bias of a millionth of a standard error a person would be a whole one.
        assert np.all(np.abs(score.slope.ravel()) < 1e-4 * errors)
        assert np.abs(model.gradient(basis, theta, choice)).max() > 10 * errors.max()


def test_what_nothing_is_known_of_is_left_out_of_an_inverse():
    found = inverse_of(np.diag([4.0, 0.0, 1e-12]))(np.array([[4.0], [0.0], [1e-12]]))
    np.testing.assert_allclose(found, [[1.0], [0.0], [1.0]], rtol=1e-6, atol=1e-12)
