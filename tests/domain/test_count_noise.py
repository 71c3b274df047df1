"""Noise for published counts: its exact law, its budget to the last digit, and its draws."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from freewill.domain.draws.noise import CountNoise
from freewill.errors import ParameterError


def chances(noise, reach):
    """Return the exact law of one cell for -reach .. reach."""
    found = [noise.steps.chance(step) for step in range(-reach, reach + 1)]
    return [Fraction(one.numerator, 1 << one.shift) for one in found]


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_a_replaced_answer_changes_odds_by_epsilon_and_no_more(epsilon):
    """Somebody's cell has one less and another one more: all pairs of what is published."""
    law = chances(CountNoise(epsilon), 12)
    up = [later / before for before, later in pairwise(law)]
    most = max(*up, 1 / min(up)) ** 2
    # Tight; and what is given away is far more than the chances are rounded by.
    assert math.log(most) == pytest.approx(epsilon, rel=1e-12)
    assert most < Fraction(naive_exponential(Fraction(epsilon)))


def naive_exponential(x, terms=60):
    """Return less than e^x, by so little that no budget is of that precision."""
    total, term = Fraction(0), Fraction(1)
    for number in range(1, terms):
        total, term = total + term, term * x / number
    return total


def test_draws_follow_the_law():
    noise, many = CountNoise(1.0), 100_000
    drawn = noise.many(many, np.random.default_rng(7))
    law = np.array([float(one) for one in chances(noise, 6)])
    seen = np.array([(drawn == step).sum() for step in range(-6, 7)] + [(abs(drawn) > 6).sum()])
    expected = many * np.append(law, 1 - law.sum())
    assert chisquare(seen, expected).pvalue > 1e-6
    assert drawn.var() == pytest.approx(noise.variance, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-9, math.inf, math.nan])
def test_a_budget_that_is_none_is_refused(epsilon):
    with pytest.raises(ParameterError, match=r"expected 0\.001 to 100"):
        CountNoise(epsilon)
