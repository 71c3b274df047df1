"""The shared sampler of bits: its law is exact and its bits are independent."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from freewill.sampling import bernoulli_bits

BYTES = 250_000


def drawn_bits(probability, seed=0, count=BYTES):
    packed = bernoulli_bits(probability, count, np.random.default_rng(seed))
    assert packed.dtype == np.uint8
    assert packed.shape == (count,)
    return np.unpackbits(packed, bitorder="little")


@pytest.mark.parametrize("probability", [0.5, 0.25, 0.3, 1 / 3, 0.9, 1e-4, 1e-6])
def test_bits_are_set_with_the_given_probability(probability):
    ones = int(drawn_bits(probability).sum())
    both_sides = binom.cdf(ones, 8 * BYTES, probability), binom.sf(ones - 1, 8 * BYTES, probability)
    assert min(both_sides) > 1e-4


@pytest.mark.parametrize(("probability", "bit"), [(0.0, 0), (1.0, 1)])
def test_certain_bits(probability, bit):
    assert np.all(drawn_bits(probability, count=1000) == bit)


def test_a_probability_off_by_one_percent_is_seen():
    """The judge is not blind."""
    ones = int(drawn_bits(0.25).sum())
    assert binom.sf(ones - 1, 8 * BYTES, 0.2475) < 1e-4


@pytest.mark.parametrize("probability", [0.5, 0.25, 0.3, 0.01])
@pytest.mark.parametrize("gap", [1, 8, 63, 64, 65])
def test_neighbouring_bits_are_independent(probability, gap):
    """The four joint counts of bits a gap apart, disjoint pairs, against the product law."""
    bits = drawn_bits(probability, seed=gap)
    pairs = bits[: bits.size // (2 * gap) * 2 * gap].reshape(-1, 2, gap).astype(np.int64)
    joint = np.bincount((2 * pairs[:, 0] + pairs[:, 1]).ravel(), minlength=4)
    chances = np.array([1 - probability, probability])
    expected = joint.sum() * np.outer(chances, chances).ravel()
    assert chi2.sf(float(((joint - expected) ** 2 / expected).sum()), 3) > 1e-4


def test_every_place_in_a_word_has_the_same_law():
    bits = drawn_bits(0.3).reshape(-1, 64)
    expected = len(bits) * 0.3
    statistic = ((bits.sum(axis=0) - expected) ** 2 / (expected * 0.7)).sum()
    assert chi2.sf(float(statistic), 64) > 1e-4
    assert chi2.cdf(float(statistic), 64) > 1e-4


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1001])
def test_any_number_of_bytes(count):
    assert drawn_bits(0.3, count=count).size == 8 * count


def test_blocks_are_drawn_anew(monkeypatch):
    """Draws that span several blocks do not repeat, and keep their law."""
    monkeypatch.setattr("freewill.sampling._BLOCK", 1000)
    bits = drawn_bits(0.3)
    words = np.packbits(bits).view(np.uint64)
    assert len(np.unique(words)) == words.size
    assert 1e-4 < binom.cdf(int(bits.sum()), bits.size, 0.3) < 1 - 1e-4
