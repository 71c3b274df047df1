"""Coins: by bytes, every string of them tried; and 64 at a time, against their definition."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

import freewill as fw
from draw_cases import decided, fraction, measures
from freewill.domain.draws.chance import HALF, Chance, Dyadic
from freewill.domain.draws.sources import GivenBytes, below

_WORD = 64
BYTES = 250_000
SURE, NEVER = Chance(1, 0), Chance(0, 7)


def of(probability):
    return Chance(*Dyadic.of(probability))


# By bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("numerator", [1, 2, 77, 128, 255, 256, 257, 1000, 32768, 65535])
def test_every_string_of_bytes_gives_the_right_measure(numerator):
    chance = Chance(numerator, 16)
    found = measures(chance.coin, longest=2)
    assert found[True] == Fraction(numerator, 65536)
    assert found[True] + found[False] == 1


@pytest.mark.parametrize(
    ("numerator", "shift"), [(1, 9), (3, 11), (2047, 11), (1000, 12), (4095, 13), (77, 14), (5, 15)]
)
def test_shifts_that_are_no_whole_bytes(numerator, shift):
    found = measures(Chance(numerator, shift).coin, longest=2)
    assert found[True] == Fraction(numerator, 2**shift)
    assert "open" not in found


@pytest.mark.parametrize(
    ("chance", "outcome"), [(SURE, True), (NEVER, False), (Chance(8, 3), True)]
)
def test_certainties_read_nothing(chance, outcome):
    assert chance.coin(GivenBytes([])) is outcome


def test_digits_that_were_all_equal_read_no_further():
    source = GivenBytes([0x12, 0x34, 0xFF])
    assert not Chance(0x1234, 16).coin(source)
    assert source.used == 2
    assert not HALF.coin(GivenBytes([0x80]))


def test_a_vanishing_chance_is_drawn_all_the_same():
    """2^-(8 * 10^9) has a billion zeros; the first byte that is not 0 decides."""
    chance = Chance(1, 8 * 10**9)
    assert chance.digits == (10**9 - 1, b"\x01")
    source = GivenBytes([0, 0, 0, 5])
    assert not chance.coin(source)
    assert source.used == 4
    vast = Chance(3, 10**290)
    assert not vast.coin(GivenBytes([1]))
    assert not vast.bits(1000, np.random.default_rng(0)).any()


@pytest.mark.parametrize("chance", [Chance(3, 60), Chance(2**60 - 1, 60), Chance(1, 100), HALF])
@pytest.mark.parametrize("outcome", [True, False])
def test_streams_made_to_measure_decide_as_they_should(chance, outcome):
    stream = decided(chance, outcome)
    source = GivenBytes(stream)
    assert chance.coin(source) is outcome
    assert source.used == len(stream)


@pytest.mark.parametrize("count", [1, 2, 3, 100, 255, 256])
def test_below_is_even(count):
    found = measures(lambda source: below(count, source), longest=2)
    left = found.pop("open", Fraction(0))
    assert sorted(found) == list(range(count))
    assert len(set(found.values())) == 1
    assert sum(found.values()) + left == 1
    assert left < Fraction(1, 2) ** 2 or count == 1


def test_below_reads_as_many_bytes_as_the_number_has():
    source = GivenBytes([0xFE, 0x03, 0xE7, 0xFF])
    assert below(1000, source) == 0x203
    assert source.used == 2
    assert below(1, GivenBytes([])) == 0
    # 0x3E8 is 1000, one too many.
    assert below(1000, GivenBytes([0x03, 0xE8, 0x03, 0xE7])) == 999
    assert below(2**54, GivenBytes([255] * 7)) == 2**54 - 1


def test_given_bytes_run_out():
    with pytest.raises(fw.ParameterError, match="more bytes than it was given"):
        below(1000, GivenBytes([0]))


@pytest.mark.parametrize("wrong", [7, b"bytes", np.random.default_rng(0), GivenBytes])
def test_what_is_no_source_of_bytes(wrong):
    with pytest.raises(fw.ParameterError, match="expected random bytes"):
        fw.KRR(fw.Linear(0, 9), 1.0).draw(3, wrong)


def test_an_enumeration_of_vast_numbers_is_refused():
    with pytest.raises(fw.LawError, match="too long to be listed"):
        _ = Chance(1, 2**20 + 1).weights
    assert Chance(1, 2**20).weights[0] == 1


# 64 at a time ----------------------------------------------------------------------------------


def drawn_bits(probability, seed=0, count=BYTES):
    packed = of(probability).bits(count, np.random.default_rng(seed))
    assert packed.dtype == np.uint8
    assert packed.shape == (count,)
    return np.unpackbits(packed, bitorder="little")


def _digits(words, bit):
    """Read the number that one bit of each drawn word spells, the first digit first."""
    places = enumerate(words, start=1)
    return sum((Fraction(word >> bit & 1, 2**place) for place, word in places), Fraction(0))


@pytest.mark.parametrize(
    "chance",
    [of(p) for p in (0.5, 0.25, 0.75, 0.3, 1 / 3, 0.9, 2.0**-10, 1 - 2.0**-40)]
    + [Chance(3**50, 80), Chance(3**50, 85), Chance(2**90 - 1, 90), Chance(12, 5)],
    ids=str,
)
def test_a_bit_is_one_where_the_drawn_number_is_smaller(chance):
    bits = chance.bits(8, np.random.default_rng(5))
    twin = np.random.default_rng(5)
    words = [int(twin.integers(0, 2**_WORD, dtype=np.uint64)) for _ in range(200)]
    expected = [_digits(words, bit) < fraction(chance) for bit in range(_WORD)]
    np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little"), expected)


@pytest.mark.parametrize(
    ("probability", "count", "words"),
    [(0.5, 8, 1), (0.25, 8, 2), (0.75, 8, 2), (0.5, 16, 2), (0.5, 9, 2), (0.5, 1, 1), (0.0, 8, 0)],
)
def test_no_more_is_drawn_than_the_digits_need(probability, count, words):
    rng, twin = np.random.default_rng(6), np.random.default_rng(6)
    assert of(probability).bits(count, rng).size == count
    twin.integers(0, 2**_WORD, size=words, dtype=np.uint64)
    assert rng.bit_generator.state == twin.bit_generator.state


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_certainties_fill_every_byte_of_every_block(probability):
    count = 8 * (1 << 17) + 5
    drawn = of(probability).bits(count, np.random.default_rng(7))
    assert set(np.unique(drawn).tolist()) == {round(255 * probability)}
    assert drawn.size == count


@pytest.mark.parametrize("probability", [0.5, 0.25, 0.3, 1 / 3, 0.9, 1e-4, 1e-6])
def test_bits_are_set_with_the_given_probability(probability):
    ones = int(drawn_bits(probability).sum())
    both_sides = binom.cdf(ones, 8 * BYTES, probability), binom.sf(ones - 1, 8 * BYTES, probability)
    assert min(both_sides) > 1e-4


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
    monkeypatch.setattr("freewill.domain.draws.chance._BLOCK", 1000)
    bits = drawn_bits(0.3)
    words = np.packbits(bits).view(np.uint64)
    assert len(np.unique(words)) == words.size
    assert 1e-4 < binom.cdf(int(bits.sum()), bits.size, 0.3) < 1 - 1e-4
