"""What decides by rounded numbers is on the safe side: exact audits, and draws by doubles."""

import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import freewill as fw
from freewill.domain.draws.noise import LatticeNoise
from freewill.domain.guarantees.exact import _Table
from freewill.domain.guarantees.logarithms import log_up, logarithms, widest

CLOSE = Decimal("1e-60")


@pytest.fixture(autouse=True)
def _many_digits():
    with localcontext(Context(prec=200)):
        yield


def apart(weights, output, first, second):
    """Return |log P(y | x) - log P(y | x')| to 200 digits."""
    left, right = (
        Decimal(weights[value][output]).ln() - Decimal(sum(weights[value])).ln()
        for value in (first, second)
    )
    return abs(left - right)


def test_differences_of_logarithms_are_never_rounded_down():
    rng = random.Random(7)
    for bits in (8, 64, 300) * 20:
        weights = [[rng.getrandbits(bits) + 1 for _ in range(3)] for _ in range(2)]
        with logarithms(1.0, fw.Linear(0, 1)) as exact:
            given = _Table.of(weights, exact).apart(0, 0, 1)
        truth = apart(weights, 0, 0, 1)
        assert truth <= given <= truth + CLOSE


@pytest.mark.parametrize("step", [1, 3, 7])
def test_an_epsilon_per_unit_is_never_rounded_down(step):
    line = fw.Linear(0, 6 * step, step=step)
    for epsilon in np.geomspace(0.003, 30, 12):
        mechanism = fw.Geometric(line, float(epsilon))
        weights = mechanism.weights()
        outputs, pairs = range(len(weights[0])), [(x, x + 1) for x in range(6)]
        truth = max(apart(weights, y, *pair) for y in outputs for pair in pairs)
        realised = fw.audit(mechanism, exact=True).realised
        # Multiplied, for a quotient would be rounded again.
        assert truth <= realised * step <= truth + CLOSE


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 20.0])
def test_a_logarithm_a_hair_above_a_double_becomes_the_next(epsilon):
    ratio = Fraction(Decimal(epsilon).exp()) * (1 + Fraction(1, 10**150))
    assert log_up(ratio) == np.nextafter(epsilon, np.inf)


def test_maps_are_never_rounded_down():
    city, side = fw.Grid(3, 2, cell=0.75), Decimal("0.75")
    for epsilon in (0.2, 1.0, 3.0):
        mechanism = fw.PlanarGeometric(city, epsilon)
        logs = {
            (column, row): Decimal(weight.numerator).ln() - weight.shift * Decimal(2).ln()
            for row, weights in enumerate(mechanism.lattice(3, 2))
            for column, weight in enumerate(weights)
        }
        truth = max(
            abs(logs[one] - logs[other]) / (side**2 * (across**2 + along**2)).sqrt()
            for one in logs
            for other in logs
            if (across := one[0] - other[0], along := one[1] - other[1]) != (0, 0)
        )
        realised = fw.audit(mechanism, exact=True).realised
        assert truth <= realised <= truth + CLOSE


def test_labels_too_many_to_compare_are_at_most_twice_as_far_as_from_the_first(monkeypatch):
    labels = fw.Categorical(list("abcd"))
    assert widest(labels) == 1
    monkeypatch.setitem(widest.__globals__, "_COMPARED", 3)
    assert widest(labels) == 2


class Words:
    """A generator that draws these 64-bit words first."""

    def __init__(self, words):
        self.words, self.rng = words, np.random.default_rng(5)

    def integers(self, low, high, size=None, dtype=np.int64):
        if high == 2**64 and self.words is not None:
            words, self.words = self.words, None
            return words
        return self.rng.integers(low, high, size=size, dtype=dtype)


@pytest.mark.parametrize(("away", "exactly"), [(0.0, 1.0), (1e-12, 1.0), (5e-10, 1.0), (1e-3, 0.0)])
def test_doubles_never_decide_what_is_close(away, exactly, monkeypatch):
    noise, count, decided = LatticeNoise.of(0.4, (1.0, 1.0)), 400, []
    rng = np.random.default_rng(1)
    steps = tuple(axis.many(count, rng, 0) for axis in noise.steps)
    _, chances = noise._in_doubles(*(moves.away(0) for moves in steps))
    words = (np.clip(chances + away, 0, 1 - 2**-53) * 2.0**64).astype(np.uint64)
    acceptance = LatticeNoise.acceptance

    def counted(self, *offsets):
        decided.append(offsets)
        return acceptance(self, *offsets)

    monkeypatch.setattr(LatticeNoise, "acceptance", counted)
    noise._judged(steps, (50, 50), Words(words))
    # Of chances next to 1, words next to 1 are close whatever is added.
    usual = int(np.sum(chances < 1 - 2 * away)) if away else count
    assert len(decided) >= usual * exactly
    assert exactly or len(decided) <= count - usual
