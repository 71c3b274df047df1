"""Draws with a chance a row: exactly the decisions of whole numbers, from the same digits."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from contract import g_test
from freewill.domain.draws import chance as chances
from freewill.domain.draws import noise
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.sources import GivenBytes

LINE, CITY = fw.Linear(0, 9), fw.Grid(4, 3, cell=(0.7, 0.4))
FAMILIES = {
    "k-rr": fw.Family(fw.KRR, LINE, (0.05, 6), step=0.001),
    "geometric": fw.Family(fw.Geometric, LINE, (0.05, 6), step=0.001),
    "geometric by 3": fw.Family(fw.Geometric, fw.Linear(0, 27, step=3), (0.01, 2), step=0.001),
    "rappor": fw.Family(fw.RAPPOR, fw.Linear(0, 4), (0.05, 6), step=0.001),
    "oue": fw.Family(fw.OUE, fw.Linear(0, 4), (0.05, 6), step=0.001),
    "hadamard": fw.Family(fw.HadamardResponse, LINE, (0.05, 6), step=0.001),
    "planar-geometric": fw.Family(fw.PlanarGeometric, CITY, (0.05, 6), step=0.001),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


def chances_of(name, epsilon):
    """All chances of a member, in doubles as the bulk draws have them and exactly."""
    member = FAMILIES[name].kind(FAMILIES[name].alphabet, epsilon)
    if name == "k-rr":
        rare = np.exp(-epsilon)
        yield 10 * rare / (1 + 9 * rare), member.replaced
    elif name == "hadamard":
        yield 1 / (1 + np.exp(-epsilon)), member.own
    elif name in ("rappor", "oue"):
        logs = type(member).logs_of(epsilon)
        yield np.exp(logs.own), member.own
        yield np.exp(logs.other), member.other
    else:
        if name == "planar-geometric":
            sides = np.outer(CITY.cell, [epsilon])[:, 0] * np.sqrt(0.5)
            axes = list(zip(member.noise.steps, sides, strict=True))
        else:
            axes = [(member.steps, epsilon * LINE.step)]
        for steps, exponent in axes:
            odds = np.exp(-exponent)
            yield 2 * odds / (1 + odds), steps.move
            yield np.exp(-np.ldexp(exponent, len(steps.digits))), steps.beyond
            for place, digit in enumerate(steps.digits):
                odds = np.exp(-np.ldexp(exponent, place))
                yield odds / (1 + odds), digit


powers = st.floats(-9, math.log10(300)).map(lambda power: 10.0**power)


@pytest.mark.parametrize(
    "name", ["k-rr", "geometric", "rappor", "oue", "hadamard", "planar-geometric"]
)
@given(epsilon=powers)
@example(epsilon=1e-9)
@example(epsilon=300.0)
@example(epsilon=math.log(3))
def test_doubles_are_as_close_to_chances_as_doubts_assume(name, epsilon):
    """The bound that `DOUBT` rests on, with some room: 2^-44 where 2^-41 would do."""
    for double, exact in chances_of(name, epsilon):
        difference = (int(double * 2.0**200) << max(0, exact.shift - 200)) - (
            exact.numerator << max(0, 200 - exact.shift)
        )
        assert abs(difference) < 1 << (max(exact.shift, 200) - 44)


class Words:
    """A generator whose words are given; further bytes are those of another."""

    def __init__(self, words, rest):
        self.words, self.rest = words, np.random.default_rng(rest)

    def integers(self, low, high=None, size=None, dtype=np.int64):
        if dtype is np.uint64:
            assert self.words.size == size
            return self.words
        return self.rest.integers(low, high, size=size, dtype=dtype)


@given(
    numerator=st.integers(1, (1 << 96) - 1),
    off=st.integers(-40, 40),
    seed=st.integers(0, 99),
)
def test_digits_next_to_a_chance_decide_as_the_exact_coin_does(numerator, off, seed):
    chance = Chance(numerator, 96)
    first = min(max((numerator >> 32) + off, 0), 2**64 - 1)
    words = np.array([first], dtype=np.uint64)
    found = chances.coins(np.array([numerator / 2.0**96]), lambda row: chance, Words(words, seed))
    drawn = np.random.default_rng(seed)
    rest = bytes(int(drawn.integers(0, 256, dtype=np.uint8)) for _ in range(4))
    source = GivenBytes(first.to_bytes(8, "big") + rest)
    assert found[0] == chance.coin(source)


@every_family
def test_doubts_change_no_decision(name, monkeypatch):
    """Were every word in doubt, whole numbers would decide as doubles did, word for word."""
    mine = FAMILIES[name]
    rng = np.random.default_rng(4)
    values = rng.integers(mine.alphabet.size, size=40)
    epsilons = rng.uniform(*mine.epsilon, 40)
    by_doubles = mine.obfuscate(values, np.random.default_rng(8), epsilon=epsilons)
    asked = []
    coin = Chance.coin

    def counted(self, source):
        asked.append(self)
        return coin(self, source)

    monkeypatch.setattr(Chance, "coin", counted)
    monkeypatch.setattr(chances, "DOUBT", 2.0)
    monkeypatch.setattr(noise, "DOUBT", 2.0)
    exactly = mine.obfuscate(values, np.random.default_rng(8), epsilon=epsilons)
    assert len(asked) >= 40
    np.testing.assert_array_equal(by_doubles, exactly)


@every_family
def test_bulk_draws_follow_the_law_of_each_epsilon(name):
    """Two epsilons among thousands: what those who chose them report is their member's law."""
    mine = FAMILIES[name]
    rng = np.random.default_rng(11)
    people, value = 60_000, mine.alphabet.size // 2
    levels = np.concatenate([np.full(people, 900), np.arange(200)])
    epsilons = mine.levels[levels]
    reports = mine.obfuscate(np.full(levels.size, value), rng, epsilon=epsilons)
    member = mine.member(900)
    inner = mine.output_space.split(reports)[1][:people]
    counts = np.bincount(member.output_space.numbers(inner), minlength=member.output_space.places)
    law = member.law()[value]
    assert g_test(counts, law) > 1e-4


def test_an_exponent_at_a_power_of_two_has_the_digits_of_whole_numbers():
    cell = (2.0, 2.0)
    for epsilon in (1 / math.sqrt(2), math.sqrt(2) / 4, 0.7):
        member = noise.LatticeNoise.of(epsilon, cell)
        exponents = np.array([epsilon * 2.0 * math.sqrt(0.5)])
        found = noise._lengths(exponents, lambda row, m=member: m.steps[0])
        assert found.tolist() == [len(member.steps[0].digits)]


def test_tiny_epsilons_are_drawn_one_by_one():
    grid = fw.Grid(3, 2, cell=1.0)
    mine = fw.Family(fw.PlanarGeometric, grid, (1e-14, 5e-13), step=1e-15)
    reports = mine.obfuscate(np.zeros(50, int), np.random.default_rng(1))
    assert mine.output_space.checked(reports, "family").shape == (50, 3)


def test_offsets_are_left_to_doubles_only_where_these_cannot_err(monkeypatch):
    """The exponents add up to `linear`: what doubles may be off by grows with it."""
    real, doubts = chances.decided, []

    def decided(words, chances, doubt, exact, rng):
        if isinstance(doubt, np.ndarray):
            doubts.extend(doubt.tolist())
        return real(words, chances, doubt, exact, rng)

    monkeypatch.setattr(noise, "decided", decided)
    law = noise.LatticeNoise.of(0.3, (1.0, 1.0))
    noise.offsets(np.full(50, 0.3), (1.0, 1.0), (9, 9), lambda row: law, np.random.default_rng(1))
    assert min(doubts) >= noise.DOUBT
    assert max(doubts) > 1.5 * noise.DOUBT
