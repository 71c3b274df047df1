"""What is shared by many geometric mechanisms or planar ones: tables of powers, and polynomials."""

import numpy as np
import pytest

from freewill.numeric.operators.convolution import _barycentric, _interpolated
from freewill.numeric.operators.geometric import GeometricOperator

SIZE, MANY = 9, 12


@pytest.mark.parametrize("spread", [0.0, 30.0])
def test_the_gram_of_many_decays_is_that_of_their_rows(spread):
    """One table for all decays; differences of sums would lose small weights beside large ones."""
    rng = np.random.default_rng(7)
    outputs, which = np.tile(np.arange(SIZE), MANY), np.repeat(np.arange(MANY), SIZE)
    decays = np.geomspace(1e-3, 5.0, MANY)
    law = GeometricOperator(outputs, SIZE, decays, which, np.zeros(outputs.size))
    weights = np.exp(rng.uniform(-spread, 0.0, outputs.size)) * (rng.random(outputs.size) < 0.8)
    rows = np.exp(-decays[which, None] * np.abs(outputs[:, None] - np.arange(SIZE)))
    expected = (rows.T * weights) @ rows
    np.testing.assert_allclose(law.gram(weights), expected, rtol=1e-11)


def test_polynomials_through_chebyshevs_points_are_met_everywhere():
    angles = (2 * np.arange(32) + 1) * np.pi / 64
    places = np.array([-1.0, -0.3, 0.0, np.cos(angles[4]), 0.77, 1.0])
    weights = _barycentric(places, angles)
    for power in (0, 1, 6, 31):
        assert weights @ np.cos(angles) ** power == pytest.approx(places**power, abs=1e-13)


@pytest.mark.parametrize("epsilons", [[0.2], [0.5, 0.5], [0.1, 0.7, 3.0]])
def test_smooth_functions_of_epsilon_are_told_from_a_few(epsilons):
    def law(epsilon):
        return np.array([np.exp(-epsilon), epsilon**2])

    weights, points = _interpolated(law, np.array(epsilons))
    np.testing.assert_allclose(weights @ points, [law(e) for e in epsilons], atol=1e-11)
