"""Geometric steps and planar noise: their chances, exactly, and both ways of drawing them."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import g_test
from draw_cases import fraction, stepped
from freewill.domain.draws import noise as planar_draws
from freewill.domain.draws.chance import Chance, Dyadic, precision
from freewill.domain.draws.noise import LatticeNoise, TwoSided, shortened
from freewill.domain.draws.sources import GeneratorBytes, GivenBytes

exponents = st.floats(min_value=-9, max_value=3).map(lambda power: 10.0**power)


def endless(exponent):
    return TwoSided.of(Dyadic.of(exponent), precision(Dyadic.of(exponent)))


def naive_step(steps, numbers):
    """A step from uniform numbers in [0, 1), one a coin, as docs/reference/draws.md says it."""
    numbers = iter(numbers)

    def coin(chance):
        return next(numbers) < fraction(chance)

    if not coin(steps.move):
        return 0
    upward, block, t = coin(Chance(1, 1)), 2 ** len(steps.digits), 0
    if steps.endless:
        while coin(steps.beyond):
            t += block
    elif steps.beyond is not None and coin(steps.beyond):
        return 1 + block if upward else -1 - block
    for place, digit in enumerate(steps.digits):
        t += 2**place * coin(digit)
    return 1 + t if upward else -1 - t


class Kept:
    """A source that remembers what was read."""

    def __init__(self, seed):
        self.rng, self.drawn = np.random.default_rng(seed), []

    def byte(self):
        self.drawn.append(int(self.rng.integers(0, 256)))
        return self.drawn[-1]


@pytest.mark.parametrize(
    "steps",
    [TwoSided.of(Dyadic.of(0.3), 194, size) for size in (2, 3, 10, 100)]
    + [endless(exponent) for exponent in (0.02, 1.0, 9.0)],
    ids=lambda steps: f"{len(steps.digits)} digits",
)
def test_steps_follow_the_procedure(steps, monkeypatch):
    """The bytes that each coin read, as numbers, lead the naive reading to the same step."""
    coin, source, numbers = Chance.coin, Kept(3), []

    def noted(chance, source):
        before = len(source.drawn)
        outcome = coin(chance, source)
        used = bytes(source.drawn[before:])
        numbers.append(Fraction(int.from_bytes(used, "big"), 256 ** len(used)))
        return outcome

    monkeypatch.setattr(Chance, "coin", noted)
    for _ in range(300):
        numbers.clear()
        found = steps.step(source)
        assert naive_step(steps, numbers) == found


def quotient(above, below):
    """Return a quotient of whole numbers to 400 bits: Decimal is slow at writing them out."""
    shift = below.bit_length() - above.bit_length() + 400
    return Decimal((above << shift) // below) / Decimal(2) ** shift


@given(exponent=exponents, size=st.integers(3, 70))
def test_clipped_steps_have_their_law(exponent, size):
    """Weights against (1 - a) a^t / (1 + a), and their sum."""
    steps = TwoSided.of(Dyadic.of(exponent), precision(Dyadic.of(exponent)), size)
    still, away = steps.table()
    total = still + 2 * sum(away)
    with localcontext(prec=120):
        a = (-Decimal(exponent)).exp()
        law = [(1 - a) / (1 + a)] + [(1 - a) * a**t / (1 + a) for t in range(1, len(away))]
        for weight, exact in zip([still, *away[:-1]], law, strict=True):
            assert abs(quotient(weight, total) / exact - 1) < Decimal("1e-50")
        beyond = quotient(away[-1], total)
        assert abs(beyond - a ** len(away) / (1 + a)) <= Decimal("1e-50") * beyond
    assert len(away) - 1 >= size - 1


def test_on_two_places_a_step_is_a_step():
    steps = TwoSided.of(Dyadic.of(1.0), 192, size=2)
    assert (steps.beyond, steps.digits) == (None, ())
    still, away = steps.table()
    a = np.exp(-1.0)
    assert sum(away) / (still + 2 * sum(away)) == pytest.approx(a / (1 + a), rel=1e-15)


@given(exponent=exponents)
def test_endless_steps_sum_to_one(exponent):
    """Exactly: all steps of the first block, both sides, and the chance to pass it."""
    steps = endless(exponent)
    if len(steps.digits) > 8:
        return
    block = 1 << len(steps.digits)
    first = sum(fraction(steps.chance(step)) for step in range(1, block + 1))
    second = sum(fraction(steps.chance(-step)) for step in range(block + 1, 2 * block + 1))
    assert second == first * fraction(steps.beyond)
    assert 2 * first == fraction(steps.move) * (1 - fraction(steps.beyond))
    assert fraction(steps.chance(0)) == 1 - fraction(steps.move)


def test_a_block_is_8_to_16_long_in_units_of_the_noise():
    for exponent in (1e-9, 0.3, 1.0, 7.9, 8.0, 1e5):
        length = len(endless(exponent).digits)
        assert 8 <= exponent * 2**length < 16 or (length == 0 and exponent >= 8)


@pytest.mark.parametrize("exponent", [0.02, 0.4, 3.0, 12.0])
def test_both_ways_follow_the_chances(exponent):
    steps, rng = endless(exponent), np.random.default_rng(7)
    reach = int(20 / exponent) + 1
    law = np.array(
        [steps.chance(step)[0] / 2 ** steps.chance(step)[1] for step in range(reach + 1)]
    )
    law = np.concatenate([law[:0:-1], law])
    law[[0, -1]] += (1 - law.sum()) / 2
    for drawn in (
        steps.many(100_000, rng).signed,
        np.array([steps.step(GeneratorBytes(rng)) for _ in range(4_000)]),
    ):
        counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=law.size)
        assert g_test(counts, law) > 1e-4


@pytest.mark.parametrize("step", [0, 1, -1, 2, 63, -64, 65, 1000, -12345])
def test_streams_made_to_measure_lead_to_a_step(step):
    steps = endless(0.3)
    stream = stepped(steps, step)
    source = GivenBytes(stream)
    assert steps.step(source) == step
    assert source.used == len(stream)


def test_epsilon_is_shortened_by_less_than_doubles_show():
    exact = fraction(shortened(0.1))
    assert float(exact) == 0.1
    assert 0 < 1 - exact / Fraction(0.1) == Fraction(1, 2**64)


# The plane -------------------------------------------------------------------------------------


@given(
    epsilon=st.floats(min_value=-8, max_value=4).map(lambda power: 10.0**power),
    width=st.floats(min_value=0.01, max_value=100),
    height=st.floats(min_value=0.01, max_value=100),
    columns=st.integers(0, 10**6),
    rows=st.integers(0, 10**6),
)
def test_proposal_times_acceptance_is_the_noise(epsilon, width, height, columns, rows):
    """-log of e^-(i lambda_w + j lambda_h) A is epsilon' times the distance."""
    noise = LatticeNoise.of(epsilon, (width, height))
    accepted = noise.acceptance(columns, rows)
    with localcontext(prec=200):
        short = Decimal(epsilon) * (1 - Decimal(2) ** -64)
        far = short * ((columns * Decimal(width)) ** 2 + (rows * Decimal(height)) ** 2).sqrt()
        linear = (columns * Decimal(noise.slopes[0]) + rows * Decimal(noise.slopes[1])) / (
            Decimal(2) ** noise.places
        )
        half = Decimal(2).sqrt()
        for slope, side in zip(noise.slopes, (width, height), strict=True):
            exact = short * Decimal(side) / half * Decimal(2) ** noise.places
            assert 0 <= exact - slope < 1 + Decimal("1e-50")
        log = Decimal(accepted.numerator).ln() - accepted.shift * Decimal(2).ln()
        assert abs(linear - log - far) < Decimal(2) ** -(noise.bits - 8)
    assert accepted.numerator > 0


def test_along_a_diagonal_everything_is_accepted():
    noise = LatticeNoise.of(0.7, (0.5, 0.5))
    assert noise.acceptance(0, 0).sure
    assert noise.acceptance(3, 3).coin(GivenBytes([255] * 20 + [0]))


@pytest.mark.parametrize("epsilon", [0.01, 0.8, 5.0, 300.0])
def test_doubles_decide_as_whole_numbers_do(epsilon, monkeypatch):
    """The same words, once decided by doubles and once, all of them in doubt, exactly."""
    noise = LatticeNoise.of(epsilon, (0.5, 0.3))
    quick = noise.many(3_000, (9, 7), np.random.default_rng(5))
    monkeypatch.setattr(planar_draws, "DOUBT", np.inf)
    exact = noise.many(3_000, (9, 7), np.random.default_rng(5))
    np.testing.assert_array_equal(quick, exact)
    assert np.abs(quick).max(axis=1).tolist() <= [9, 7]


@pytest.mark.slow
def test_digits_left_open_are_drawn_where_they_matter(monkeypatch):
    """With two digits drawn in bulk and the rest left open, all is decided exactly: same law."""
    monkeypatch.setattr(planar_draws, "_KEPT_DIGITS", 2)
    monkeypatch.setattr(planar_draws, "DOUBT", np.inf)
    mechanism = fw.PlanarGeometric(fw.Grid(4, 3, cell=0.5), 0.8)
    reports = mechanism.obfuscate(np.full(20_000, 5), np.random.default_rng(8))
    assert g_test(np.bincount(reports, minlength=12), mechanism.law()[5]) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-12, 1e-15, 1e-20, 1e-100, 1e-280])
def test_noise_that_reaches_beyond_all_integers(epsilon):
    """Only the corners remain, in equal shares: in bulk, and one at a time."""
    mechanism = fw.PlanarGeometric(fw.Grid(4, 3, cell=0.5), epsilon)
    law = mechanism.law()[5]
    reports = mechanism.obfuscate(np.full(20_000, 5), np.random.default_rng(9))
    assert g_test(np.bincount(reports, minlength=12), law) > 1e-4
    source = GeneratorBytes(np.random.default_rng(10))
    alone = [mechanism.draw(5, source) for _ in range(40)]
    assert set(alone) == {0, 3, 8, 11}


@pytest.mark.parametrize("epsilon", [50.0, 1e6, 1e150, 1e280])
def test_noise_that_never_moves(epsilon):
    mechanism = fw.PlanarGeometric(fw.Grid(4, 3, cell=0.5), epsilon)
    values = np.arange(12).repeat(100)
    np.testing.assert_array_equal(mechanism.obfuscate(values, np.random.default_rng(1)), values)
    source = GeneratorBytes(np.random.default_rng(10))
    assert [mechanism.draw(v, source) for v in range(12)] == list(range(12))
