"""Reports in two steps: a noisy answer that a device keeps, and fresh noise each time it reports.

The first step draws the *permanent answer*, once; the second a report from it, as often as asked.
Whoever sees all reports of a lifetime learns no more than the permanent answer tells. Of k-RR and
unary encodings in two steps `epsilon` is what a single report promises and `epsilon_inf`, which is
larger, what all reports promise together. Arcolezi et al., "Improving the utility of locally
differentially private protocols for longitudinal and multidimensional frequency estimates" (2022).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports
from freewill.domain.draws.chance import (
    HALF,
    Chance,
    Dyadic,
    aligned,
    difference,
    exponential,
    log_odds_ratio,
    log_ratio,
    precision,
)
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy, checked_epsilon
from freewill.domain.mechanisms.randomised_response import (
    KRR,
    OUE,
    RAPPOR,
    UnaryEncoding,
    blind_answer,
)
from freewill.errors import ParameterError, none_of, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.blocks import ReportRows, rows_of
from freewill.numeric.operators.moments import CountMoments, Moments
from freewill.numeric.operators.support import unpacked

_CLOSE = 0.5
"""Ratios further from 1 than that are better taken as two logarithms."""
_TELLS_ALL = 150.0
"""Epsilon of a record beyond which its moments are taken from drawn ones: numbers overflow."""
ProtocolName = Literal["L-SUE", "L-OUE", "L-OSUE", "L-SOUE"]
_SPARE = 64
"""Binary digits of a chance beyond those that its size and its precision ask for."""


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
        tilt = count * log_ratio(self.yes, self.no)
        tilt -= (times - count) * log_ratio(self.no.complement, self.yes.complement)
        # In units of the likelier of both.
        one, none = np.exp(np.minimum(tilt, 0)), np.exp(np.minimum(-tilt, 0))
        # (e^tilt - 1) / max(e^tilt, 1), to the last digits.
        signed = np.sign(tilt) * -np.expm1(-np.abs(tilt))
        excess = difference(self.own, self.other) * signed / (b * one + not_b * none)
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
            chances = (
                math.prod((own if b in sets[c] else other)[n] for b, n in enumerate(counts))
                for c, counts in records
            )
            rows.append([one * (c >= 0) for one, (c, _) in zip(chances, records, strict=True)])
        return rows


def _checked_lifetime(mechanism: Any) -> None:
    """Check epsilon_inf, and that epsilon is below it and below what its second step can give."""
    name, epsilon = mechanism.name, mechanism.epsilon
    try:
        lifetime = checked_epsilon(mechanism.epsilon_inf, name, mechanism._largest_epsilon())
    except ParameterError as error:
        raise ParameterError(f"{error}".replace("epsilon=", "epsilon_inf=", 1)) from None
    object.__setattr__(mechanism, "epsilon_inf", lifetime)
    if epsilon >= lifetime:
        raise ParameterError(
            f"epsilon={epsilon:g} and epsilon_inf={lifetime:g} for {name}: epsilon, of a single "
            f"report, must be below epsilon_inf, of all reports together. Where both are the same "
            f"there is no second step: send the first report again."
        )


def _digits(mechanism: Any) -> int:
    """Return how many binary digits a chance of a second step has: e^-epsilon has leading zeros."""
    zeros: int = math.ceil(1.5 * mechanism.epsilon_inf)
    return precision(Dyadic.of(mechanism.epsilon).doubled(-1)) + zeros + _SPARE


@dataclass(frozen=True)
class LongitudinalKRR(KRR, TwoStep):
    """Keep a k-RR answer of the value, and report it through k-RR anew each time (L-GRR).

    Each step replaces what it is given by any value with a chance, r1 and r2. A single report is
    k-RR with 1 - r = (1 - r1) (1 - r2), of epsilon; the permanent answer is k-RR of epsilon_inf.
    With n_y the number of y in T reports, g = e^(epsilon of the second step) and S = sum_y g^n_y,

        P(record | x) = q2^T ((1 - r1) g^n_x + r1/k S).

    Promises epsilon-LDP a report and epsilon_inf-LDP of all, both tightly. Products cost O(k +
    outputs). Arcolezi et al. 2022; their package's second step is stronger than epsilon asks for
    as soon as k > 2 (docs/coming-from/multi-freq-ldpy.md).

    >>> import freewill as fw
    >>> twice = fw.LongitudinalKRR(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(twice.epsilon_of(times), 3) for times in (1, 2, 10, 100)]
    [1.0, 1.976, 3.0, 3.0]
    """

    epsilon_inf: float
    name: ClassVar[str] = "longitudinal-k-rr"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_lifetime(self)

    @cached_property
    def chances(self) -> tuple[Chance, Chance]:
        """The chances r1 and r2 of a blind answer in each step, the latter rounded up."""
        size = self.alphabet.size
        first, whole = (blind_answer(epsilon, size) for epsilon in (self.epsilon_inf, self.epsilon))
        digits = _digits(self) + size.bit_length()
        (_, kept), (_, wanted) = first.weights, whole.weights
        # (1 - r) / (1 - r1), rounded down: what is kept by both steps is kept by k-RR as well.
        share = (wanted << digits + first.shift - whole.shift) // kept
        return first, Chance(min(share, (1 << digits) - 1), digits).complement

    @cached_property
    def replaced(self) -> Chance:
        """The chance r = 1 - (1 - r1) (1 - r2) of a blind answer in one of the steps."""
        first, second = self.chances
        return through(first.complement, second.complement, Chance(0, 0)).complement

    def program(self) -> None:
        """Return nothing: a browser draws a single report as k-RR of the same epsilon."""

    def _replaced(self, values: IntArray, chance: Chance, rng: np.random.Generator) -> IntArray:
        blind = rng.integers(0, self.alphabet.size, size=values.shape)
        replaced = drawn(chance, values.size, rng).reshape(values.shape)
        return np.where(replaced, blind, values)

    def answers(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Keep each value, or replace it by any."""
        return self._replaced(truth, self.chances[0], rng)

    def fresh_reports(self, answers: Reports, rng: np.random.Generator) -> IntArray:
        """Keep each answer, or replace it by any."""
        return self._replaced(np.asarray(answers, np.int64), self.chances[1], rng)

    def answer(self, value: int, source: Source) -> int:
        """Toss the first coin; replaced, the answer is any value."""
        return below(self.alphabet.size, source) if self.chances[0].coin(source) else value

    def fresh_report(self, answer: Any, source: Source) -> int:
        """Toss the second coin; replaced, the report is any value."""
        return below(self.alphabet.size, source) if self.chances[1].coin(source) else int(answer)

    def lifetime(self) -> Guarantee:
        """Return epsilon_inf."""
        return Guarantee("ldp", self.epsilon_inf)

    @cached_property
    def _log_gain(self) -> float:
        """Return log g = log (1 + k (1 - r2) / r2)."""
        blind, kept = self.chances[1].weights
        return float(np.log1p(self.alphabet.size * kept / blind))

    def epsilon_of(self, times: int) -> float:
        """Return log P(all T reports are x | x) / P(all are x | x'), the largest there is."""
        counts = np.zeros((1, self.alphabet.size))
        counts[0, 0] = times
        return float(self._levels(counts)[0][0, 0])

    def _levels(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log ((1 - r1) g^n_x + r1/k S), less its value where n_x is 0; and that."""
        first, gain = self.chances[0], self._log_gain
        blind, kept = first.nearest / self.alphabet.size, first.complement.nearest
        most = counts.max(axis=1, initial=0)
        # In units of g^max n, which may be too large a number.
        powers = np.exp((counts - most[:, None]) * gain)
        base = kept * np.exp(-most * gain) + blind * powers.sum(axis=1)
        rise = powers * -np.expm1(-counts * gain)
        return np.log1p(kept * rise / base[:, None]), np.log(base) + most * gain

    def _counted(self, parts: Sequence[Reports]) -> FloatArray:
        """Return how often each value was reported, [record, value]."""
        records = np.arange(len(parts[0]))
        counts = np.zeros((records.size, self.alphabet.size))
        for part in parts:
            counts[records, part] += 1
        return counts

    def record_operator(self, parts: Sequence[Reports]) -> Operator:
        """Return the law of records, O(records (T + k)) a product, made block by block."""
        other = float(np.log(self.chances[1].nearest / self.alphabet.size))

        def make(some: Any) -> ReportRows:
            levels, scale = self._levels(self._counted([part[some] for part in parts]))
            most = levels.max(axis=1, initial=0)
            return ReportRows(np.exp(levels - most[:, None]), scale + most + len(parts) * other)

        return rows_of(make, len(parts[0]), self.alphabet.size)

    def record_log_ratios(self, parts: Sequence[Reports]) -> FloatArray:
        """Return the logarithm of the law, less that of a value that was never reported."""
        return self._levels(self._counted(parts))[0]

    def record_weights(self, parts: Sequence[Reports]) -> list[list[int]]:
        """Add up the whole numbers of all permanent answers."""
        (blind, kept), (stray, true) = (chance.weights for chance in self.chances)
        places = range(self.alphabet.size)
        size, rows = len(places), []
        for record in zip(*(part.tolist() for part in parts), strict=True):
            chances = [math.prod(stray + size * true * (z == y) for z in record) for y in places]
            rows.append([size * kept * own + blind * sum(chances) for own in chances])
        return [list(row) for row in zip(*rows, strict=True)]


@dataclass(frozen=True)
class LongitudinalUnary(UnaryEncoding, Noisy, TwoStepBits):
    """Keep a unary encoding of the value, and report it through another one each time.

    The `protocol` names both: the permanent bits are symmetric (SUE, RAPPOR's) or optimised (OUE,
    p = 1/2), and so is what reports them.

        L-SUE    SUE, then SUE    (RAPPOR with f, p = 1 - q)
        L-OUE    OUE, then OUE
        L-OSUE   OUE, then SUE    the least error of these, as a rule
        L-SOUE   SUE, then OUE

    The first step has epsilon_inf, and the second the least noise with which a single report has
    epsilon: its chance q2 is the smallest of as many binary digits, found in whole numbers. A
    single report is a unary encoding of p = p1 p2 + (1 - p1) q2 and q = q1 p2 + (1 - q1) q2.
    Promises epsilon-LDP a report and epsilon_inf-LDP of all, both tightly. Products cost
    O(reports * k / 8). Arcolezi et al. 2022.

    >>> import freewill as fw
    >>> twice = fw.LongitudinalUnary(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(twice.epsilon_of(times), 3) for times in (1, 2, 10, 100)]
    [1.0, 1.871, 3.0, 3.0]
    """

    alphabet: Any
    epsilon: float
    epsilon_inf: float
    protocol: ProtocolName = "L-OSUE"
    name: ClassVar[str] = "longitudinal-unary"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_lifetime(self)
        if not isinstance(self.protocol, str) or self.protocol not in get_args(ProtocolName):
            raise ParameterError(none_of("protocol", self.protocol, get_args(ProtocolName)))
        most = self._most
        if self.epsilon >= most:
            raise ParameterError(
                f"epsilon={shown(self.epsilon)} for {self.protocol} with epsilon_inf="
                f"{self.epsilon_inf:g}: must be below {most:.6g}, which is left where a set bit is "
                f"reported by a coin. Take L-OSUE or L-SUE, or a smaller epsilon."
            )

    @cached_property
    def _first(self) -> tuple[Chance, Chance]:
        """The chances of the permanent bits."""
        symmetric = self.protocol in ("L-SUE", "L-SOUE")
        kind: Any = RAPPOR if symmetric else OUE
        bits = kind(self.alphabet, self.epsilon_inf)
        return bits.own, bits.other

    @property
    def _coin(self) -> bool:
        """Whether a permanent bit that is set is reported by a coin."""
        return self.protocol in ("L-OUE", "L-SOUE")

    @property
    def _most(self) -> float:
        """Return the epsilon of a single report without any noise on bits that are not set."""
        if not self._coin:
            return self.epsilon_inf
        return log_odds_ratio(*(through(first, HALF, Chance(0, 0)) for first in self._first))

    @cached_property
    def steps(self) -> BitSteps:
        """The four chances, of which the last is the least that keeps epsilon, by bisection.

        In whole numbers: p (1 - q) e^-epsilon <= q (1 - p), with e^-epsilon rounded up.
        """
        digits = _digits(self)
        total, working, halvings = exponential(Dyadic.of(self.epsilon), digits)
        rare, shift = total + (total >> digits) + 1, working + halvings

        def steps(numerator: int) -> BitSteps:
            no = Chance(numerator, digits)
            return BitSteps(*self._first, HALF if self._coin else no.complement, no)

        low, high = 0, 1 << digits - 1
        while high - low > 1:
            middle = (low + high) // 2
            (yes, seldom), (stray, rest) = (chance.weights for chance in steps(middle).once)
            kept = yes * rest * rare <= stray * seldom << shift
            low, high = (low, middle) if kept else (middle, high)
        return steps(high)

    @cached_property
    def own(self) -> Chance:
        """The chance p of the own bit in a single report."""
        return self.steps.once[0]

    @cached_property
    def other(self) -> Chance:
        """The chance q of any other bit in a single report."""
        return self.steps.once[1]

    def lifetime(self) -> Guarantee:
        """Return epsilon_inf."""
        return Guarantee("ldp", self.epsilon_inf)
