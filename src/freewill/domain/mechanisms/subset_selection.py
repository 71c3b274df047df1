"""Subset selection: a report is a set of values, and the true one is likelier in it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from freewill.core.types import (
    FloatArray,
    IntArray,
    PackedBits,
    Reports,
    Spec,
    checked_whole,
    slices,
)
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance, Dyadic, rare
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.mechanisms.base import Noisy
from freewill.domain.mechanisms.randomised_response import checked_advantage
from freewill.domain.packed_outputs import Subsets
from freewill.numeric.operators.moments import Moments, SetChances
from freewill.numeric.operators.support import BitOperator

_TELLS_ALL = 150.0
"""Epsilon beyond which nothing changes but numbers that overflow."""
_BLOCK = 1 << 18
"""Bytes of a block of reports that is drawn in one go, and stays in the processor's cache."""
_LONG = 2000
"""Values from which on binomial coefficients are taken from their logarithms."""


@dataclass(frozen=True)
class SubsetSelection(Noisy):
    """Report d of the k values: the true one among them with probability p, others at random.

    P(S | x) = (e^epsilon if x in S else 1) / (C(k-1, d-1) e^epsilon + C(k-1, d)), hence
    p = d e^epsilon / (d e^epsilon + k - d). Without a `length` d it becomes
    round(k / (e^epsilon + 1)), at least 1, which tells most of all mechanisms of one epsilon where
    it is small (Ye and Barg, "Optimal schemes for discrete distribution estimation under locally
    differential privacy", 2018, eq. 3; Wang et al. 2016). At d = 1 it is k-RR. Promises
    epsilon-LDP, tightly. Reports are packed bits, as those of RAPPOR. Products cost
    O(reports * k / 8).

    >>> import freewill as fw, numpy as np
    >>> some = fw.SubsetSelection(fw.Linear(0, 19), epsilon=1.0)
    >>> some.length, np.bitwise_count(some.obfuscate([3, 7])).sum(axis=1)
    (5, array([5, 5], dtype=uint64))
    """

    alphabet: Alphabet
    epsilon: float
    length: int = None  # type: ignore[assignment]
    name: ClassVar[str] = "subset-selection"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        size, given = self.alphabet.size, cast(Any, self.length)
        if given is None:
            given = max(1, round(size / (math.exp(self.epsilon) + 1)))
        why = "The set of all values, as the empty one, tells nothing."
        length = checked_whole(given, "length", self.name, 1, size - 1, why)
        object.__setattr__(self, "length", length)

    @property
    def output_space(self) -> Subsets:
        """Sets of so many values, a bit for each value."""
        return Subsets(self.alphabet.size, self.length)

    @cached_property
    def own(self) -> Chance:
        """The chance p that the true value is in the set, rounded down, to privacy."""
        size, others = self.alphabet.size, self.alphabet.size - self.length
        exponent = Dyadic.of(self.epsilon)
        return rare(exponent, others, others, self.length, size.bit_length()).complement

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw who names the own value, then the other values of each set."""
        values, width = truth.ravel(), self.output_space.width
        named, packed = drawn(self.own, values.size, rng), np.zeros((values.size, width), np.uint8)
        for in_set in (False, True):
            mine = np.flatnonzero(named == in_set)
            for some in slices(mine.size, max(1, _BLOCK // width)):
                rows = mine[some]
                block = np.zeros((rows.size, width), np.uint8)
                _add_others(block, values[rows], self.alphabet.size, self.length - in_set, rng)
                if in_set:
                    _set_bits(block, values[rows])
                packed[rows] = block
        return packed

    def _report(self, value: int, source: Source) -> PackedBits:
        """Toss the coin, then choose the others by Floyd's algorithm, numbered without the own."""
        chosen = {value} if self.own.coin(source) else set()
        others, rest = self.alphabet.size - 1, self.length - len(chosen)
        for last in range(others - rest, others):
            place = below(last + 1, source)
            other = place + (place >= value)
            chosen.add(last + (last >= value) if other in chosen else other)
        return np.packbits([v in chosen for v in range(others + 1)], bitorder="little")

    def weights(self) -> list[list[int]]:
        """Return p / C(k-1, d-1) where x is in the set, (1 - p) / C(k-1, d) where it is not."""
        (own, out), size = self.own.weights, self.alphabet.size
        within, beside = (math.comb(size - 1, self.length - one) for one in (1, 0))
        patterns = self.output_space.numbers(self.outputs()).tolist()
        return [
            [own * beside if v >> x & 1 else out * within for v in patterns] for x in range(size)
        ]

    def program(self) -> Spec:
        """Return the length and the chance of the own value."""
        draw = {"draw": "subset", "length": self.length, "own": self.own.written}
        return {**draw, "promise": self.guarantee().describe()}

    def operator(self, outputs: Reports) -> BitOperator:
        """Return the law of these reports, scaled so that it is 1 where x is in the set."""
        packed = self.output_space.checked(outputs, self.name)
        size, epsilon = self.alphabet.size, self.epsilon
        # p over the number of sets with the own value.
        log_factor = np.full(len(packed), self.own.logarithm - log_ways(size - 1, self.length - 1))
        stray = self.set_chances().other
        return BitOperator(packed, size, -epsilon, -np.expm1(-epsilon), log_factor, stray)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the value is in the set."""
        packed = self.output_space.checked(outputs, self.name)
        bits = np.unpackbits(packed, axis=1, count=self.alphabet.size, bitorder="little")
        return self.epsilon * bits.astype(np.float64)

    def witnesses(self) -> PackedBits:
        """One set: renaming the values carries it into any other."""
        bits = np.arange(self.alphabet.size)[None, :] < self.length
        return np.packbits(bits, axis=1, bitorder="little")

    def pair_witnesses(self) -> PackedBits:
        """Neighbours in a ring: of those that begin at one value or end before another, one does.

        It has the first of two values and not the second.
        """
        values = np.arange(self.alphabet.size)
        bits = (values[None, :] - values[:, None]) % values.size < self.length
        return np.packbits(bits, axis=1, bitorder="little")

    def set_chances(self) -> SetChances:
        """Return how likely values are in the set; of others all subsets are equally likely."""
        own, others, length = self.own.nearest, self.alphabet.size - 1, self.length
        twice = max(1, others * (others - 1))
        both = (length - 1) * (own * (length - 2) + (1 - own) * length) / twice
        pair = own * (length - 1) / others
        return SetChances(own, (length - own) / others, pair, both, varies=False)

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a report tells at theta, exactly, though its outputs cannot be listed."""
        # Not for devices: it needs SciPy.
        from freewill.numeric.operators.subset_moments import SubsetMoments  # noqa: PLC0415

        gain = float(np.expm1(min(self.epsilon, _TELLS_ALL)))
        return SubsetMoments(theta, self.length, gain)

    def debiased(self, shares: FloatArray) -> FloatArray:
        """Return (s - q) / (p - q) from the share s of sets that each value is in."""
        chances, size = self.set_chances(), self.alphabet.size
        # p - q = (k p - d) / (k - 1), in which digits cancel where epsilon is small.
        odds = -math.expm1(-self.epsilon) * (size - self.length) / (size - 1) * chances.own
        return np.asarray((shares - chances.other) / checked_advantage(odds, self))

    def truths(self) -> FloatArray | None:
        """Return p where the set is a single value; longer ones are never the true value alone."""
        return np.full(self.alphabet.size, self.own.nearest) if self.length == 1 else None


def log_ways(size: int, chosen: int) -> float:
    """Return the logarithm of the number of subsets.

    >>> round(math.exp(log_ways(5, 2)), 9)
    10.0
    """
    if size <= _LONG:
        return math.log(math.comb(size, chosen))
    return math.lgamma(size + 1) - math.lgamma(chosen + 1) - math.lgamma(size - chosen + 1)


def _add_others(
    packed: PackedBits, values: IntArray, size: int, many: int, rng: np.random.Generator
) -> None:
    """Add a uniform subset of so many values other than the own to each row (Floyd)."""
    rows = np.arange(len(packed))
    for last in range(size - 1 - many, size - 1):
        places: Any = rng.integers(0, last + 1, size=values.size)
        places += places >= values
        taken = packed[rows, places >> 3] >> (places & 7).astype(np.uint8) & 1
        _set_bits(packed, np.where(taken, last + (last >= values), places))


def _set_bits(packed: PackedBits, values: IntArray) -> None:
    """Set a bit of each row."""
    packed[np.arange(len(packed)), values >> 3] |= np.left_shift(1, values & 7).astype(np.uint8)
