"""Biased bits against their definition: a uniform number beside the probability, by digits."""

from fractions import Fraction

import numpy as np
import pytest

from freewill.sampling import bernoulli_bits

_WORD = 64


def _digits(words: list[int], bit: int) -> Fraction:
    """Read the number that one bit of each drawn word spells, the first digit first."""
    return sum(
        (Fraction(word >> bit & 1, 2 ** (place + 1)) for place, word in enumerate(words)),
        Fraction(0),
    )


@pytest.mark.parametrize("probability", [0.5, 0.25, 0.75, 0.3, 1 / 3, 0.9, 2.0**-10, 1 - 2.0**-40])
def test_a_bit_is_one_where_the_drawn_number_is_smaller(probability):
    bits = bernoulli_bits(probability, 8, np.random.default_rng(5))
    twin = np.random.default_rng(5)
    words = [int(twin.integers(0, 2**_WORD, dtype=np.uint64)) for _ in range(200)]
    expected = [_digits(words, bit) < Fraction(probability) for bit in range(_WORD)]
    np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little"), expected)


@pytest.mark.parametrize(
    ("probability", "count", "words"),
    [(0.5, 8, 1), (0.25, 8, 2), (0.75, 8, 2), (0.5, 16, 2), (0.5, 9, 2), (0.5, 1, 1), (0.0, 8, 0)],
)
def test_no_more_is_drawn_than_the_digits_need(probability, count, words):
    rng, twin = np.random.default_rng(6), np.random.default_rng(6)
    assert bernoulli_bits(probability, count, rng).size == count
    twin.integers(0, 2**_WORD, size=words, dtype=np.uint64)
    assert rng.bit_generator.state == twin.bit_generator.state


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_certainties_fill_every_byte_of_every_block(probability):
    count = 8 * (1 << 17) + 5
    drawn = bernoulli_bits(probability, count, np.random.default_rng(7))
    assert set(np.unique(drawn).tolist()) == {round(255 * probability)}
    assert drawn.size == count


def test_blocks_are_drawn_independently():
    drawn = bernoulli_bits(0.5, 8 * (1 << 17), np.random.default_rng(8)).view(np.uint64)
    assert np.unique(drawn).size == drawn.size
