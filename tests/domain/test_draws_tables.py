"""Tables of whole-number weights: every string of bytes tried, ties refined, laws met."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import g_test
from draw_cases import measures
from freewill.domain.draws.sources import GivenBytes
from freewill.domain.draws.tables import Table, whole_weights

some_weights = st.lists(st.integers(0, 400), min_size=1, max_size=6).filter(any)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights",
    [
        [1, 1],
        [3, 0, 2],
        [1] * 7,
        [255, 1],
        [128, 128],
        [1, 256],
        [113, 400],
        [7, 0, 2041, 1],
    ],
    ids=str,
)
def test_every_string_of_bytes_gives_the_right_measure(weights):
    """V has b bits: an index has w / 2^b in one attempt, and what an attempt anew adds."""
    table, total = Table.of(weights), sum(weights)
    one, two = (measures(table.draw, longest) for longest in (1, 2))
    bits = (total - 1).bit_length()
    first = (bits - 1) % 8 + 1
    anew = sum(Fraction(value << (bits - first) >= total, 2**first) for value in range(2**first))
    for index, weight in enumerate(weights):
        assert two.get(index, 0) == Fraction(weight, 2**bits) + anew * one.get(index, 0)


@pytest.mark.parametrize(
    ("weights", "stream", "index"),
    [
        ([1, 1], [0], 0),
        ([1, 1], [1], 1),
        ([1, 1], [0xFE], 0),  # the low bit alone
        ([1, 1, 1], [3, 2], 2),  # 3 is beyond the sum: anew
        ([300, 212], [0], 0),  # 0 to 255 all belong to the first
        ([300, 212], [1, 43], 0),
        ([300, 212], [1, 44], 1),
        ([300, 212], [0xFF, 44], 1),  # nine bits: one of the first byte
        ([0, 5, 0], [], 1),
        ([1], [], 0),
        ([0, 0, 2**2000], [], 2),
        ([2**2000, 1], [0], 0),  # the first byte holds the top bit alone
        ([1, 2**1074], [0] * 135, 0),
        ([1, 2**1074], [0] * 134 + [1], 1),
    ],
)
def test_draws_by_hand(weights, stream, index):
    source = GivenBytes(stream)
    assert Table.of(weights).draw(source) == index
    assert source.used == len(stream)


@given(row=st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=8).filter(any))
def test_doubles_become_whole_numbers_in_the_same_proportions(row):
    weights = whole_weights(np.array(row))
    total, exact = sum(weights), sum(map(Fraction, row))
    for weight, number in zip(weights, row, strict=True):
        assert Fraction(weight, total) == Fraction(number) / exact
    assert any(weight % 2 for weight in weights)


class Words:
    """A generator that draws these words, and then these bytes."""

    def __init__(self, words, then=()):
        self.words, self.bytes = words, iter(then)

    def integers(self, low, high, size=None, dtype=None):
        if high == 256:
            return next(self.bytes)
        return np.array(self.words, dtype=np.uint64)


def thresholds(weights):
    """The first 64 bits of the cumulative shares below 1."""
    total = sum(weights)
    sums = [sum(weights[: z + 1]) for z in range(len(weights))]
    return [(one << 64) // total for one in sums if one < total]


@given(
    weights=some_weights,
    place=st.integers(0, 4),
    near=st.sampled_from([-1, 0, 1]),
    then=st.lists(st.integers(0, 255), min_size=40, max_size=40),
)
def test_words_at_a_threshold_are_refined(weights, place, near, then):
    """Against the definition: U = 0.word bytes ..., and the index whose share it lies in."""
    own = thresholds(weights) or [0]
    word = min(max(own[place % len(own)] + near, 0), 2**64 - 1)
    found = Table.of(weights).many(1, Words([word], then))
    digits = word << 320 | int.from_bytes(bytes(then), "big")
    uniform = Fraction(digits, 2**384) * sum(weights)
    sums = [sum(weights[: z + 1]) for z in range(len(weights))]
    assert found.tolist() == [next(z for z, one in enumerate(sums) if uniform < one)]


def test_a_tie_is_decided_by_the_bytes_behind_the_word():
    """The threshold of 1/3 is 0x5555...: what follows decides, and equal bytes decide nothing."""
    table = Table.of([1, 2])
    word = 0x5555555555555555
    assert table.many(1, Words([word], [0x54])).tolist() == [0]
    assert table.many(1, Words([word], [0x56])).tolist() == [1]
    assert table.many(1, Words([word], [0x55, 0x55, 0x56])).tolist() == [1]
    assert table.many(1, Words([word - 1])).tolist() == [0]
    assert table.many(1, Words([word + 1])).tolist() == [1]


def test_weights_too_small_for_a_word_are_reached():
    """A weight of 2^-1074 hides behind one word, and is found by the bytes behind it."""
    table = Table.of(whole_weights(np.array([1.0, 5e-324])))
    top = 2**64 - 1
    assert table.many(1, Words([top], [0xFF] * 125 + [0xFE])).tolist() == [0]
    assert table.many(1, Words([top], [0xFF] * 200)).tolist() == [1]


@pytest.mark.parametrize(
    "weights", [[0, 5000, 1, 2000, 0, 3000], [1] * 7, [3**300, 3**299, 2, 3**298]], ids=len
)
def test_both_ways_follow_the_weights(weights):
    table, rng = Table.of(weights), np.random.default_rng(4)
    shares = np.array([weight / sum(weights) for weight in weights])
    counts = np.bincount(table.many(200_000, rng), minlength=len(weights))
    assert not counts[shares == 0].any()
    assert g_test(counts, shares) > 1e-4
    source = GivenBytes(rng.bytes(2_000_000))
    one_by_one = [table.draw(source) for _ in range(20_000)]
    assert g_test(np.bincount(one_by_one, minlength=len(weights)), shares) > 1e-4


def test_a_certainty_needs_no_threshold():
    assert Table.of([0, 4, 0]).many(1000, np.random.default_rng(0)).tolist() == [1] * 1000
    assert Table.of([7]).many(2, Words([2**64 - 1, 0])).tolist() == [0, 0]
