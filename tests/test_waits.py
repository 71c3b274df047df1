"""Waits and choices: exponential numbers with digits at both ends, weights of any size."""

import numpy as np
import pytest
from scipy.stats import kstest

from contract import g_test
from freewill.sampling import Urn, waits


class Scripted:
    """Returns these waits and uniform numbers, one call after the other."""

    def __init__(self, exponential=(), uniform=()):
        self.exponential, self.uniform = iter(exponential), iter(uniform)

    def standard_exponential(self, size):
        return np.full(size, next(self.exponential))

    def random(self, size):
        return np.full(size, next(self.uniform))


def test_waits_are_exponential():
    assert kstest(waits(200_000, np.random.default_rng(0)), "expon").pvalue > 1e-3
    assert waits((3, 2), np.random.default_rng(0)).shape == (3, 2)
    assert waits((), np.random.default_rng(0)).shape == ()


def test_a_long_wait_goes_on():
    assert waits(1, Scripted([24.5, 24.5, 3.0])) == pytest.approx(24 + 24 + 3.0)
    assert waits(1, Scripted([23.9])) == 23.9


def test_a_short_wait_is_drawn_among_short_ones():
    found = waits(1, Scripted([1e-9], [0.5]))
    assert found == pytest.approx(2.0**-25, rel=1e-6)
    tiny = waits(1, Scripted([0.0], [2.0**-40, 2.0**-40, 0.25]))
    assert tiny == pytest.approx(2.0**-74, rel=1e-6)


def test_short_and_long_waits_have_their_law(monkeypatch):
    """With the ends moved inwards, most waits are drawn anew: the law must stay."""
    monkeypatch.setattr("freewill.sampling._LONG", 0.7)
    assert kstest(waits(100_000, np.random.default_rng(1)), "expon").pvalue > 1e-3
    monkeypatch.setattr("freewill.sampling._SHORT", 0.4)
    assert kstest(waits(100_000, np.random.default_rng(2)), "expon").pvalue > 1e-3


def test_zeros_end():
    """A generator that is stuck at 0 gives a wait of 0, not a loop without end."""
    stuck = Scripted([0.0], [0.0] * 100)
    assert waits(1, stuck) == 0


def test_choices_follow_their_weights():
    weights = np.array([0.0, 5.0, 1e-3, 2.0, 0.0, 3.0])
    counts = np.bincount(Urn.of(weights).draw(200_000, np.random.default_rng(4)), minlength=6)
    assert counts[[0, 4]].tolist() == [0, 0]
    assert g_test(counts, weights / weights.sum()) > 1e-4


def test_the_rarest_choice_has_its_probability():
    """e^-T below 1e-100 is a wait beyond 230: there, and nowhere else, the weight of 1e-100."""
    weights = np.array([1.0, 1e-100])
    before, after = [24.1] * 9 + [13.9], [24.1] * 9 + [14.5]
    assert Urn.of(weights).draw(1, Scripted(before)).tolist() == [0]
    assert Urn.of(weights).draw(1, Scripted(after)).tolist() == [1]
