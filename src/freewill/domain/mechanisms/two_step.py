"""Reports in two steps: a noisy answer that a device keeps, and fresh noise each time it reports.

The first step draws the *permanent answer*, once; the second a report from it, as often as asked.
Whoever sees all reports of a lifetime learns no more than the permanent answer tells.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports
from freewill.domain.draws.chance import Chance, aligned, difference
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.blocks import ReportRows, rows_of
from freewill.numeric.operators.moments import CountMoments, Moments
from freewill.numeric.operators.support import unpacked

_CLOSE = 0.5
"""Ratios further from 1 than that are better taken as two logarithms."""


_TELLS_ALL = 150.0
"""Epsilon of a record beyond which its moments are taken from drawn ones: numbers overflow."""


class TwoStep(Mechanism, Protocol):
    """A mechanism whose reports are drawn from a permanent answer, which a device keeps.

    An answer looks like a report. `record_...` speak of a *record*: several reports of one person,
    given period by period, drawn from one and the same answer.
    """

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> Reports:
        """Take both steps."""
        return self.fresh_reports(self.answers(truth, rng), rng)

    def _report(self, value: int, source: Source) -> Any:
        """Take both steps."""
        return self.fresh_report(self.answer(value, source), source)

    def answers(self, truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw a permanent answer for each index."""

    def answer(self, value: int, source: Source) -> Any:
        """Draw the permanent answer of one index from random bytes."""

    def fresh_reports(self, answers: Reports, rng: np.random.Generator) -> Reports:
        """Draw a report from each permanent answer."""

    def fresh_report(self, answer: Any, source: Source) -> Any:
        """Draw a report from a permanent answer, from random bytes."""

    def lifetime(self) -> Guarantee:
        """Return what all reports of a lifetime together promise, however many they are."""

    def epsilon_of(self, times: int) -> float:
        """Return the epsilon of a record of so many reports: it rises to that of the lifetime."""

    def record_operator(self, parts: Sequence[Reports]) -> Operator:
        """Return the law of records."""

    def record_log_ratios(self, parts: Sequence[Reports]) -> FloatArray:
        """Return log P(record | x) up to a constant of each record."""

    def record_weights(self, parts: Sequence[Reports]) -> list[list[int]]:
        """Return the sampler's own numbers, [value][record]."""

    def record_moments(self, theta: FloatArray, times: int) -> Moments | None:
        """Return what a record of so many reports tells at theta, where a formula can."""
        return None


def through(first: Chance, yes: Chance, no: Chance) -> Chance:
    """Return the chance of a yes after two coins, `yes` where the first says so and else `no`.

    >>> through(Chance(3, 2), Chance(3, 2), Chance(1, 1))         # 3/4 3/4 + 1/4 1/2
    Chance(numerator=11, shift=4)
    """
    (often, seldom), ((one, _), (other, _)) = first.weights, aligned(yes, no)
    total, shift = often * one + seldom * other, first.shift + max(yes.shift, no.shift)
    spare = min((total & -total).bit_length() - 1, shift)
    return Chance(total >> spare, shift - spare)


class BitSteps(NamedTuple):
    """The four chances of a bit.

    `own` and `other` that the permanent bit is set, where it is one of the value's own or is not;
    `yes` and `no` that it is reported as set, where the permanent one is or is not.
    """

    own: Chance
    other: Chance
    yes: Chance
    no: Chance

    @property
    def once(self) -> tuple[Chance, Chance]:
        """The chances that an own bit is reported as set, and another, in a single report."""
        return through(self.own, *self[2:]), through(self.other, *self[2:])

    def logs(self, times: int) -> tuple[FloatArray, FloatArray]:
        """Return log f1(c) / f0(c) and log f0(c) for c = 0 .. T yeses among T reports of a bit.

        f1(c) = a p^c (1-p)^(T-c) + (1-a) q^c (1-q)^(T-c), a = own, p = yes, q = no; f0 likewise
        with other. Digits are kept where f1 and f0 are next to equal.
        """
        count: FloatArray = np.arange(times + 1.0)
        a, b = self.own.nearest, self.other.nearest
        not_a, not_b = self.own.complement.nearest, self.other.complement.nearest
        set_, unset = (
            count * chance.logarithm + (times - count) * chance.complement.logarithm
            for chance in (self.yes, self.no)
        )
        stray = np.logaddexp(np.log(b) + set_, np.log(not_b) + unset)
        # log of both permanent bits' ratio, in which nothing cancels where they tell little.
        tilt = count * _log_ratio(self.yes, self.no)
        tilt -= (times - count) * _log_ratio(self.no.complement, self.yes.complement)
        # In units of the likelier of both.
        one, none = np.exp(np.minimum(tilt, 0)), np.exp(np.minimum(-tilt, 0))
        excess = difference(self.own, self.other) * _signed(tilt) / (b * one + not_b * none)
        plain = np.log(a * one + not_a * none) - np.log(b * one + not_b * none)
        near = np.abs(excess) < _CLOSE
        return np.where(near, np.log1p(np.where(near, excess, 0.0)), plain), stray

    def epsilon_of(self, times: int) -> float:
        """Return l(T) - l(0), what T reports of the bits of two values tell at most.

        Of a value's own bit all reports may say yes, and of another value's all may say no.
        """
        ratios, _ = self.logs(times)
        return float(ratios[-1] - ratios[0])

    def lifetime(self) -> float:
        """Return the same of the permanent bits, log a (1-b) / (b (1-a))."""
        return log_odds_ratio(self.own, self.other)

    def weights(self, times: int) -> tuple[list[int], list[int]]:
        """Return f1(c) and f0(c) as whole numbers, over one power of two."""
        own, other = aligned(self.own, self.other)
        powers = [
            [yes**c * no ** (times - c) for c in range(times + 1)]
            for yes, no in aligned(self.yes, self.no)
        ]
        first, second = (
            [yes * a + no * b for a, b in zip(*powers, strict=True)] for yes, no in (own, other)
        )
        return first, second


def log_odds_ratio(first: Chance, second: Chance) -> float:
    """Return log p (1 - q) / (q (1 - p)) from whole numbers: nothing cancels where it is near 0.

    >>> round(log_odds_ratio(Chance(3, 2), Chance(1, 2)), 12)     # log 9
    2.197224577336
    """
    (yes, no), (stray, rest) = first.weights, second.weights
    return _log_quotient(yes * rest, stray * no)


def _log_ratio(first: Chance, second: Chance) -> float:
    """Return log p / q likewise."""
    (yes, _), (stray, _) = aligned(first, second)
    return _log_quotient(yes, stray)


def _log_quotient(more: int, less: int) -> float:
    if more > 2 * less:
        return math.log(more) - math.log(less)
    return math.log1p((more - less) / less)


def _signed(exponent: FloatArray) -> FloatArray:
    """Return (e^d - 1) / max(e^d, 1), to the last digits."""
    return np.asarray(np.sign(exponent) * -np.expm1(-np.abs(exponent)))


class TwoStepBits(TwoStep, Protocol):
    """Two steps of bits: a value has some bits of its own in each of several cohorts.

    P(v | x) is a product over the bits, for each step tosses a coin a bit. `members[c, x]` are the
    bits of the value x in the cohort c, `hashes` of them; one that stands twice is replaced by
    `bits`, which is none.
    """

    @property
    def steps(self) -> BitSteps:
        """The four chances."""

    @cached_property
    def members(self) -> IntArray:
        """The own bits, [cohort, value, hash]: one for each value, unless a kind has others."""
        return np.arange(self.alphabet.size)[None, :, None]

    def split_parts(self, reports: Reports) -> tuple[IntArray, PackedBits]:
        """Return cohorts and packed bits of checked reports, which are bits of one cohort."""
        packed = np.asarray(reports, np.uint8)
        return np.zeros(len(packed), dtype=np.int64), packed

    def join_parts(self, cohorts: IntArray, packed: PackedBits) -> Reports:
        """Return reports from cohorts and packed bits."""
        return packed

    @property
    def bit_count(self) -> int:
        """How many bits a report has."""
        return int(self.alphabet.size)

    @property
    def hashes(self) -> int:
        """How many bits a value has at most."""
        return 1

    def answers(self, truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw cohorts; toss a coin for each bit, `own` for those of the value, else `other`."""
        values = truth.ravel()
        cohorts = rng.integers(0, len(self.members), size=values.size)
        packed = self.own_bits(cohorts, values)
        return self.join_parts(cohorts, self._switched(packed, *self.steps[:2], rng))

    def own_bits(self, cohorts: IntArray, values: IntArray) -> PackedBits:
        """Return the bits of values in cohorts, packed."""
        packed = np.zeros((values.size, self.bit_count // 8 + 1), dtype=np.uint8)
        for bits in self.members[cohorts, values].T:
            packed[np.arange(values.size), bits >> 3] |= np.left_shift(1, bits & 7).astype(np.uint8)
        return self._without_stray(packed[:, : -(-self.bit_count // 8)])

    def _without_stray(self, packed: PackedBits) -> PackedBits:
        """Clear what stands beyond the last bit."""
        packed[:, -1] &= np.uint8(0xFF >> (-self.bit_count % 8))
        return packed

    def fresh_reports(self, answers: Reports, rng: np.random.Generator) -> Reports:
        """Toss a coin for each bit, `yes` where the permanent one is set, else `no`."""
        cohorts, packed = self.split_parts(answers)
        return self.join_parts(cohorts, self._switched(packed, *self.steps[2:], rng))

    def _switched(
        self, packed: PackedBits, yes: Chance, no: Chance, rng: np.random.Generator
    ) -> PackedBits:
        """Toss `yes` for the bits that are set and `no` for the others."""
        kept, stray = (chance.bits(packed.size, rng).reshape(packed.shape) for chance in (yes, no))
        return self._without_stray((kept & packed) | (stray & ~packed))

    def answer(self, value: int, source: Source) -> Any:
        """Draw a cohort, then toss a coin for each bit, in their order."""
        return self.drawn_bits(value, *self.steps[:2], source)

    def drawn_bits(self, value: int, yes: Chance, no: Chance, source: Source) -> Any:
        """Draw a cohort, then toss `yes` for the value's own bits and `no` for others."""
        cohort = below(len(self.members), source)
        own = set(self.members[cohort, value].tolist())
        return self._tossed(cohort, [b in own for b in range(self.bit_count)], yes, no, source)

    def fresh_report(self, answer: Any, source: Source) -> Any:
        """Toss a coin for each bit of the permanent answer, in their order."""
        cohorts, packed = self.split_parts(np.asarray(answer)[None])
        bits = unpacked(packed, self.bit_count)[0].tolist()
        return self._tossed(int(cohorts[0]), bits, *self.steps[2:], source)

    def _tossed(
        self, cohort: int, bits: Sequence[int], yes: Chance, no: Chance, source: Source
    ) -> Any:
        tossed = [(yes if bit else no).coin(source) for bit in bits]
        packed = np.packbits(tossed, bitorder="little")[None]
        return self.join_parts(np.array([cohort]), packed)[0]

    def epsilon_of(self, times: int) -> float:
        """Return h times that of a bit: all of a value's own bits may differ from another's."""
        return float(self.hashes * self.steps.epsilon_of(times))

    def lifetime(self) -> Guarantee:
        """Return h times what the permanent bits tell."""
        return Guarantee.never_understated("ldp", self.hashes * self.steps.lifetime())

    def _counts(self, parts: Sequence[Reports]) -> tuple[IntArray, IntArray]:
        """Return the cohort of each record, -1 where it changes, and how often each bit is set."""
        split = [self.split_parts(part) for part in parts]
        first = split[0][0]
        same = np.all([cohorts == first for cohorts, _ in split], axis=0)
        counts: Any = np.zeros((len(first), self.bit_count), dtype=np.uint16)
        for _, packed in split:
            counts += unpacked(packed, self.bit_count)
        return np.where(same, first, -1), counts

    def record_operator(self, parts: Sequence[Reports]) -> Operator:
        """Return the law of records, P = 1/C prod_b f0(c_b) prod_(b own) f1(c_b) / f0(c_b).

        A look-up for each bit and a product over the value's own: O(records (T m + h k)) a product,
        made block by block.
        """
        ratios, stray = self.steps.logs(len(parts))
        members, size = self.members, self.alphabet.size
        share = -np.log(len(members))

        def make(some: Any) -> ReportRows:
            cohorts, counts = self._counts([part[some] for part in parts])
            levels = np.zeros((len(counts), self.bit_count + 1))
            ratios.take(counts, out=levels[:, :-1])
            most = levels.max(axis=1)
            factors = np.exp(levels - most[:, None])
            rows = np.zeros((len(counts), size))
            for cohort in np.unique(cohorts[cohorts >= 0]).tolist():
                here = np.flatnonzero(cohorts == cohort)
                own, product = factors[here], None
                for bits in members[cohort].T:
                    taken = own.take(bits, axis=1)
                    product = taken if product is None else np.multiply(product, taken, out=product)
                rows[here] = product
            scale = stray.take(counts).sum(axis=1) + members.shape[2] * most + share
            return ReportRows(rows, scale)

        return rows_of(make, len(parts[0]), size, self.bit_count)

    def record_log_ratios(self, parts: Sequence[Reports]) -> FloatArray:
        """Return the sum of log f1(c) / f0(c) over the own bits."""
        cohorts, counts = self._counts(parts)
        levels = np.zeros((len(counts), self.bit_count + 1))
        levels[:, :-1] = self.steps.logs(len(parts))[0][counts]
        own = self.members[np.maximum(cohorts, 0)].reshape(len(counts), -1)
        logs = np.take_along_axis(levels, own, axis=1).reshape(len(counts), *self.members.shape[1:])
        return np.where(cohorts[:, None] < 0, -np.inf, logs.sum(axis=2))

    def record_moments(self, theta: FloatArray, times: int) -> Moments | None:
        """Return those of counts of bits, where each value has one bit of its own."""
        ratios, stray = self.steps.logs(times)
        if self.members.shape != (1, self.bit_count, 1) or ratios[-1] - ratios[0] > _TELLS_ALL:
            return None
        if not np.array_equal(self.members[0, :, 0], np.arange(self.bit_count)):
            return None
        ways = np.array([math.lgamma(c + 1) + math.lgamma(times - c + 1) for c in range(times + 1)])
        chances = np.exp(stray + math.lgamma(times + 1) - ways)
        return CountMoments(theta, chances, np.expm1(ratios - ratios[0]), math.exp(ratios[0]))

    def record_weights(self, parts: Sequence[Reports]) -> list[list[int]]:
        """Multiply the whole numbers of all bits."""
        cohorts, counts = self._counts(parts)
        own, other = self.steps.weights(len(parts))
        records = list(zip(cohorts.tolist(), counts.tolist(), strict=True))
        rows = []
        for value in range(self.alphabet.size):
            sets = [set(bits.tolist()) for bits in self.members[:, value]]
            rows.append([_weight(sets[c], count, own, other) * (c >= 0) for c, count in records])
        return rows


def _weight(mine: set[int], counts: list[int], own: list[int], other: list[int]) -> int:
    product = 1
    for bit, count in enumerate(counts):
        product *= own[count] if bit in mine else other[count]
    return product
