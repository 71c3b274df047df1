"""Randomised response: of the value itself (k-RR), or of a bit for every value (unary)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports, Spec, checked_number
from freewill.domain.alphabets.base import Alphabet, checked_alphabet
from freewill.domain.draws.chance import (
    HALF,
    Chance,
    Dyadic,
    bits,
    coins,
    difference,
    exponential,
    log_odds_ratio,
    precision,
    rare,
)
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy, Rows, checked_chance
from freewill.domain.packed_outputs import Bits
from freewill.errors import IdentifiabilityError, ParameterError, shown
from freewill.numeric.operators.moments import BitMoments, SetChances
from freewill.numeric.operators.support import BitOperator, SymbolOperator, bit_counts

_BLIND = 1e-15
"""An advantage of the truth that is lost in the rounding of probabilities."""
_SURE, _TELLS_ALL = 75.0, 150.0
"""Logarithms of odds at which a bit is next to sure, and of their ratio at which it tells all."""
_LARGEST = 700.0
"""Epsilon up to which its odds are a double."""


@dataclass(frozen=True)
class KRR(Noisy):
    """Report the true value most of the time, any other value otherwise (k-RR, eq. 1).

    P(z | x) = (e^epsilon if z = x else 1) / (k - 1 + e^epsilon).
    Promises epsilon-LDP, tightly. Products cost O(k + outputs).

    >>> import freewill as fw, numpy as np
    >>> menu = fw.KRR(fw.Categorical(["a", "b"]), epsilon=np.log(3))
    >>> menu.law().round(12)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "k-rr"
    full_rank: ClassVar[bool] = True

    @classmethod
    def of_probability(cls, alphabet: Alphabet, probability: float) -> "KRR":
        """Return the k-RR that reports the true value with a probability, above 1 / k.

        >>> import freewill as fw
        >>> round(fw.KRR.of_probability(fw.Categorical(["yes", "no"]), 0.75).epsilon, 12)  # log 3
        1.098612288668
        """
        checked_alphabet(alphabet, Alphabet, cls.name)
        chance = checked_chance(probability, "probability", cls.name)
        if chance * alphabet.size <= 1:
            raise ParameterError(
                f"probability={shown(probability)} for {cls.name} on {alphabet}: must be above "
                f"1 / {alphabet.size}, at which a report would tell nothing."
            )
        return cls(alphabet, float(np.log(chance) - np.log1p(-chance) + np.log(alphabet.size - 1)))

    @cached_property
    def replaced(self) -> Chance:
        """The chance r = k / (k - 1 + e^epsilon) of a blind answer, rounded up, to privacy."""
        return blind_answer(self.epsilon, self.alphabet.size)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Keep each value, or replace it by one drawn from the whole alphabet."""
        blind = rng.integers(0, self.alphabet.size, size=truth.shape)
        replaced = drawn(self.replaced, truth.size, rng).reshape(truth.shape)
        return np.where(replaced, blind, truth)

    @classmethod
    def reports_of_rows(cls, rows: Rows, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Do the same with an epsilon a row."""
        size, other = rows.alphabet.size, np.exp(-rows.each)
        blind = rng.integers(0, size, size=truth.size)
        chances = size * other / (1 + (size - 1) * other)
        return np.where(coins(chances, lambda row: rows.of(row).replaced, rng), blind, truth)

    def _report(self, value: int, source: Source) -> int:
        """Toss the coin; replaced, the report is any value."""
        return below(self.alphabet.size, source) if self.replaced.coin(source) else value

    def weights(self) -> list[list[int]]:
        """Return r / k where z is not x, 1 - r + r / k where it is, over k 2^shift."""
        blind, truthful = self.replaced.weights
        places = range(self.alphabet.size)
        return [[blind + len(places) * truthful * (z == x) for z in places] for x in places]

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> SymbolOperator:
        """Return the law of outputs with an epsilon a row."""
        size, epsilon = rows.alphabet.size, rows.epsilon
        other = np.exp(-epsilon)
        log_scale = np.broadcast_to(rows.log_share - np.log1p((size - 1) * other), outputs.shape)
        return SymbolOperator(outputs, size, other, -np.expm1(-epsilon), log_scale)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return -epsilon where z is not x."""
        values = np.arange(self.alphabet.size)
        return -self.epsilon * np.not_equal.outer(outputs, values)

    def witnesses(self) -> IntArray:
        """One output: renaming the values carries it into any other."""
        return np.zeros(1, dtype=np.int64)

    def average(self, others: "Sequence[KRR]", shares: FloatArray) -> "KRR":
        """Return the k-RR of eq. 8, whose law is exactly the average."""
        epsilons = np.array([other.epsilon for other in others])
        return KRR(self.alphabet, average_epsilon(epsilons, shares, self.alphabet.size))

    def inverse(self, shares: FloatArray) -> FloatArray:
        """Return ((e^epsilon - 1 + k) q - 1) / (e^epsilon - 1) (eq. 9)."""
        advantage = checked_advantage(float(np.expm1(self.epsilon)), self)
        return np.asarray(((advantage + shares.size) * shares - 1) / advantage)

    @property
    def other(self) -> float:
        """Probability of any one other value, 1 / (k - 1 + e^epsilon)."""
        rare = np.exp(-self.epsilon)
        return float(rare / (1 + (self.alphabet.size - 1) * rare))

    def truths(self) -> FloatArray:
        """1 / (1 + (k - 1) e^-epsilon)."""
        size = self.alphabet.size
        return np.full(size, 1 / (1 + (size - 1) * np.exp(-self.epsilon)))

    def losses(self) -> FloatArray:
        """Each other value is reported with the same probability."""
        return np.asarray(self.other * self.alphabet.total_distance())


@dataclass(frozen=True)
class Identity(Mechanism):
    """Report the true value. Promises nothing: epsilon is infinite.

    Products cost O(k).

    >>> import freewill as fw
    >>> fw.Identity(fw.Linear(0, 9)).obfuscate([3, 1])
    array([3, 1])
    """

    alphabet: Alphabet
    name: ClassVar[str] = "identity"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name, least=1)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Return the values."""
        return truth.copy()

    def _report(self, value: int, source: Source) -> int:
        """Return the index; nothing is read."""
        return value

    def weights(self) -> list[list[int]]:
        """1 where z = x."""
        places = range(self.alphabet.size)
        return [[int(z == x) for z in places] for x in places]

    def operator(self, outputs: Reports) -> SymbolOperator:
        """Return the law of these outputs: 1 where z = x."""
        symbols = self.output_space.checked(outputs, self.name)
        return SymbolOperator(symbols, self.alphabet.size, 0.0, 1.0, np.zeros(symbols.size))

    def witnesses(self) -> IntArray:
        """One output: renaming the values carries it into any other."""
        return np.zeros(1, dtype=np.int64)

    def guarantee(self) -> Guarantee:
        """No guarantee."""
        return Guarantee("ldp", np.inf)

    def truths(self) -> FloatArray:
        """One."""
        return np.ones(self.alphabet.size)

    def losses(self) -> FloatArray:
        """Zero."""
        return np.zeros(self.alphabet.size)


class BitLogs(NamedTuple):
    """log p(1-q) / (q(1-p)), log p, log q and log (1 - q): of one law, or one a row."""

    epsilon: Any
    own: Any
    other: Any
    rest: Any


class UnaryEncoding(Mechanism, Protocol):
    """Bits that are set independently: the own by the chance `own` = p, any other by `other` = q.

    P(v | x) = c_v (1 + (e^epsilon - 1) v_x) with e^epsilon = p (1 - q) / (q (1 - p)). A kind says
    what its two chances are; all else follows from these numbers, to the last digit.

    >>> import freewill as fw
    >>> bits = fw.OUE(fw.Linear(0, 3), epsilon=1.0)
    >>> fw.UnaryEncoding in type(bits).__mro__, bits.own.nearest, round(bits.other.nearest, 3)
    (True, 0.5, 0.269)
    """

    full_rank: ClassVar[bool] = True

    @property
    def own(self) -> Chance:
        """The chance p of the own bit."""

    @property
    def other(self) -> Chance:
        """The chance q of any other bit."""

    @cached_property
    def logs(self) -> BitLogs:
        """Logarithms of the chances, each to its last digits."""
        chances = (self.own, self.other, self.other.complement)
        epsilon = log_odds_ratio(self.own, self.other)
        return BitLogs(epsilon, *(chance.logarithm for chance in chances))

    @classmethod
    def logs_of(cls, epsilon: Any) -> BitLogs | None:
        """Return the same of many epsilons by a formula, each to 2^-46, where the kind has one."""
        return None

    @property
    def output_space(self) -> Bits:
        """A bit for each value, packed."""
        return Bits(self.alphabet.size)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw all bits as those of others, then the own ones anew."""
        truth, space = truth.ravel(), self.output_space
        packed = self.other.bits(truth.size * space.width, rng).reshape(truth.size, space.width)
        packed[:, -1] &= space.last_byte
        rows, bits = np.arange(truth.size), np.left_shift(1, truth % 8).astype(np.uint8)
        packed[rows, truth // 8] &= ~bits
        packed[rows, truth // 8] |= bits * drawn(self.own, truth.size, rng)
        return packed

    def _report(self, value: int, source: Source) -> PackedBits:
        """Toss a coin for each bit, in the order of the values."""
        chances = (self.own if v == value else self.other for v in range(self.alphabet.size))
        return np.packbits([chance.coin(source) for chance in chances], bitorder="little")

    def weights(self) -> list[list[int]]:
        """Multiply the chances of all bits."""
        (own, other), size = (self.own.weights[::-1], self.other.weights[::-1]), self.alphabet.size
        powers = [other[1] ** set_ * other[0] ** (size - 1 - set_) for set_ in range(size)]
        patterns = self.output_space.numbers(self.outputs()).tolist()
        return [
            [own[v >> x & 1] * powers[(v & ~(1 << x)).bit_count()] for v in patterns]
            for x in range(size)
        ]

    def program(self) -> Spec | None:
        """Return the two chances."""
        promise: Any = self.guarantee()
        chances = {"own": self.own.written, "other": self.other.written}
        return {"draw": "unary", **chances, "promise": promise.describe()}

    @classmethod
    def stacked(cls, mechanisms: Sequence[Any], outputs: Sequence[Reports]) -> BitOperator:
        """Return the law of these reports, scaled so that P(v | x) is 1 where v_x is set."""
        first, size = mechanisms[0], mechanisms[0].alphabet.size
        logs: Any = first.logs
        rows: Any = outputs[0]
        if len(mechanisms) > 1:
            rows = np.concatenate(outputs)
            each = np.array([mechanism.logs for mechanism in mechanisms])
            logs = BitLogs(*np.repeat(each, list(map(len, outputs)), axis=0).T)
        return _law(logs, first.output_space.checked(rows, first.name), size)

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> BitOperator | None:
        """Return the law of reports with an epsilon a row, where the kind has formulas."""
        logs = cls.logs_of(rows.epsilon)
        return None if logs is None else _law(logs, outputs, rows.alphabet.size, rows.log_share)

    @classmethod
    def reports_of_rows(
        cls, rows: Rows, truth: IntArray, rng: np.random.Generator
    ) -> PackedBits | None:
        """Toss all coins with an epsilon a row, where the kind has formulas."""
        logs = cls.logs_of(rows.each)
        if logs is None:
            return None

        def exact(row: int, own: bool) -> Chance:
            member: Any = rows.of(row)
            return member.own if own else member.other  # type: ignore[no-any-return]

        own, other = (np.broadcast_to(np.exp(log), truth.shape) for log in (logs.own, logs.other))
        return bits(truth, rows.alphabet.size, own, other, exact, rng)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the bit is set."""
        packed = self.output_space.checked(outputs, self.name)
        bits = np.unpackbits(packed, axis=1, count=self.alphabet.size, bitorder="little")
        return np.asarray(self.logs.epsilon * bits.astype(np.float64))

    def set_chances(self) -> SetChances:
        """Return p and q; bits are set independently."""
        return SetChances.independent(self.own.nearest, self.other.nearest)

    def moments(self, theta: FloatArray) -> BitMoments:
        """Return what a report tells at theta, exactly, though its outputs cannot be listed."""
        epsilon, stray = self.logs.epsilon, self.other.nearest
        odds = self.logs.own - self.own.complement.logarithm
        if odds > _SURE or epsilon > _TELLS_ALL:
            # Bits that lie are so rare that nothing changes but numbers that overflow.
            epsilon = min(epsilon, _TELLS_ALL)
            stray = float(1 / (1 + np.exp(epsilon - min(odds, _SURE))))
        return BitMoments(theta, stray, float(np.expm1(epsilon)))

    def witnesses(self) -> PackedBits:
        """One report for each number of set bits: renaming the values gives all the others."""
        size = self.alphabet.size
        bits = np.arange(size)[None, :] < np.arange(size + 1)[:, None]
        return np.packbits(bits, axis=1, bitorder="little")

    def pair_witnesses(self) -> PackedBits:
        """One bit set: it is that of the first of two values, and not of the second."""
        return np.packbits(np.eye(self.alphabet.size, dtype=np.bool_), axis=1, bitorder="little")

    def debiased(self, shares: FloatArray) -> FloatArray:
        """Return (s - q) / (p - q) (Wang et al. 2017, eq. 2)."""
        apart = checked_advantage(difference(self.own, self.other), self)
        return np.asarray((shares - self.other.nearest) / apart)

    def truths(self) -> FloatArray:
        """Return the chance that the own bit is set and no other."""
        size, logs = self.alphabet.size, self.logs
        return np.full(size, np.exp(logs.own + (size - 1) * logs.rest))


@dataclass(frozen=True)
class RAPPOR(Noisy, UnaryEncoding):  # type: ignore[misc]
    """Send one bit a value, the own bit set, each flipped with probability 1/(1 + e^(epsilon/2)).

    The symmetric, one-time form of eq. 12, which the field knows as symmetric unary encoding
    (SUE). For a report v, P(v | x) = c_v (1 + (e^epsilon - 1) v_x). Promises epsilon-LDP, tightly.
    Reports are packed, eight bits a byte: bit x of a report is bit x % 8 of its byte x // 8.
    Products cost O(reports * k / 8).

    >>> import freewill as fw
    >>> bits = fw.RAPPOR(fw.Linear(0, 19), epsilon=1.0)
    >>> bits.obfuscate([3, 7]).shape
    (2, 3)
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "rappor"

    @classmethod
    def of_flip(cls, alphabet: Alphabet, flip: float) -> "RAPPOR":
        """Return the RAPPOR that flips each bit with a probability, below 1 / 2.

        google/rappor's f is twice that: a bit is replaced by a coin with probability f.

        >>> import freewill as fw
        >>> round(fw.RAPPOR.of_flip(fw.Linear(0, 19), 0.25).epsilon, 12)  # 2 log 3
        2.197224577336
        """
        chance = checked_chance(flip, "flip", cls.name)
        if chance >= 0.5:
            raise ParameterError(
                f"flip={shown(flip)} for {cls.name}: must be below 1/2, at which a bit would tell "
                f"nothing."
            )
        return cls(alphabet, 2 * float(np.log1p(-chance) - np.log(chance)))

    @property
    def flip(self) -> float:
        """Probability that a bit is flipped."""
        return float(np.exp(-self.epsilon / 2 - np.log1p(np.exp(-self.epsilon / 2))))

    @cached_property
    def flipped(self) -> Chance:
        """The chance f = 1 / (1 + e^(epsilon/2)) of a flip, rounded up, to privacy."""
        return rare(Dyadic.of(self.epsilon).doubled(-1))

    @classmethod
    def logs_of(cls, epsilon: Any) -> BitLogs:
        """Return the logarithms of 1 - f and f."""
        rest = -np.log1p(np.exp(-epsilon / 2))
        return BitLogs(epsilon, rest, rest - epsilon / 2, rest)

    @property
    def own(self) -> Chance:
        """The chance 1 - f of the own bit."""
        return self.flipped.complement

    @property
    def other(self) -> Chance:
        """The chance f of any other bit."""
        return self.flipped

    def program(self) -> None:
        """Return nothing: browsers know RAPPOR by its name, and toss its coins in another way."""

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw the flips, then flip the own bit once more."""
        truth, space = truth.ravel(), self.output_space
        packed = self.flipped.bits(truth.size * space.width, rng)
        packed = packed.reshape(truth.size, space.width)
        packed[:, -1] &= space.last_byte
        packed[np.arange(truth.size), truth // 8] ^= np.left_shift(1, truth % 8).astype(np.uint8)
        return packed

    def _report(self, value: int, source: Source) -> PackedBits:
        """Toss a coin for each bit."""
        bits = [(v == value) ^ self.flipped.coin(source) for v in range(self.alphabet.size)]
        return np.packbits(bits, bitorder="little")

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> BitOperator:
        """Return the law of reports with an epsilon a row, to the last digit of epsilon."""
        size, epsilon, ones = rows.alphabet.size, rows.epsilon, bit_counts(outputs)
        own_bits = rows.log_share - size * np.log1p(np.exp(-epsilon / 2))
        log_factor = own_bits - epsilon / 2 * (ones - 1)
        return BitOperator(outputs, size, -epsilon, -np.expm1(-epsilon), log_factor)

    def average(self, others: "Sequence[RAPPOR]", shares: FloatArray) -> "RAPPOR":
        """Average each bit's law, as [RAP]M asks (eq. 13), and not the law of whole reports."""
        epsilons = np.array([other.epsilon for other in others])
        # The least of all doubles has no half.
        mean = max(2 * average_epsilon(epsilons / 2, shares, 2), float(epsilons.min()))
        return RAPPOR(self.alphabet, mean)

    def debiased(self, shares: FloatArray) -> FloatArray:
        """Return ((e^(epsilon/2) + 1) s - 1) / (e^(epsilon/2) - 1) (eq. 14)."""
        advantage = checked_advantage(float(np.expm1(self.epsilon / 2)), self)
        return np.asarray(((advantage + 2) * shares - 1) / advantage)


@dataclass(frozen=True)
class Unary(UnaryEncoding):
    """Send one bit a value: the own set with probability p, each other with probability q.

    P(v | x) = c_v (1 + (e^epsilon - 1) v_x), e^epsilon = p (1 - q) / (q (1 - p)), which is
    promised. p and q are doubles, taken literally. p = 1 - q is RAPPOR (SUE), p = 1/2 OUE.
    Products cost O(reports * k / 8). Wang, Blocki, Li and Jha, "Locally differentially private
    protocols for frequency estimation" (2017), section 4.3.

    >>> import freewill as fw
    >>> bits = fw.Unary(fw.Linear(0, 19), p=0.75, q=0.25)
    >>> str(bits.guarantee()), bits.obfuscate([3, 7]).shape
    ('2.198-LDP', (2, 3))
    """

    alphabet: Alphabet
    p: float
    q: float
    name: ClassVar[str] = "unary"

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name)
        for what in ("p", "q"):
            chance = checked_chance(getattr(self, what), what, self.name)
            object.__setattr__(self, what, chance)
        if self.p <= self.q:
            raise ParameterError(
                f"p={self.p:g} and q={self.q:g} for {self.name}: p, the chance of a yes to the own "
                f"value, must be larger than q, that of a yes to another; else a report tells "
                f"nothing, or the opposite."
            )
        odds = np.log(self.p) - np.log1p(-self.p) - np.log(self.q) + np.log1p(-self.q)
        if odds > _LARGEST:
            raise ParameterError(
                f"p={self.p:g} and q={self.q:g} for {self.name} have an epsilon of {odds:.4g}, "
                f"more than {_LARGEST:g}: the promise is empty. For no privacy, use Identity."
            )

    @property
    def own(self) -> Chance:
        """The chance p, a double taken literally."""
        return Chance(*Dyadic.of(self.p))

    @property
    def other(self) -> Chance:
        """The chance q, likewise."""
        return Chance(*Dyadic.of(self.q))

    @property
    def epsilon(self) -> float:
        """Return log p (1 - q) / (q (1 - p))."""
        return float(self.logs.epsilon)

    def guarantee(self) -> Guarantee:
        """Return that epsilon, its rounding covered."""
        return Guarantee.never_understated("ldp", self.epsilon)


@dataclass(frozen=True)
class OUE(UnaryEncoding, Noisy):
    """Send one bit a value: the own set with probability 1/2, each other with 1/(e^epsilon + 1).

    Optimised unary encoding: of all (p, q) of one epsilon this has the least variance for rare
    values, 4 e^epsilon / (e^epsilon - 1)^2 a person (Wang, Blocki, Li and Jha 2017, section 4.3).
    Promises epsilon-LDP, tightly. Products cost O(reports * k / 8).

    >>> import freewill as fw, numpy as np
    >>> fw.OUE(fw.Linear(0, 1), epsilon=np.log(3)).law().round(12)
    array([[0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.375, 0.125]])
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "oue"
    own: ClassVar[Chance] = HALF

    @classmethod
    def logs_of(cls, epsilon: Any) -> BitLogs:
        """Return the logarithms of 1/2 and q."""
        rest = -np.log1p(np.exp(-epsilon))
        return BitLogs(epsilon, -np.log(2.0), rest - epsilon, rest)

    @cached_property
    def other(self) -> Chance:
        """The chance q = 1 / (1 + e^epsilon), rounded up, to privacy."""
        return rare(Dyadic.of(self.epsilon))


@dataclass(frozen=True)
class THE(UnaryEncoding, Noisy):
    """Add Laplace noise of scale 2 / epsilon to each bit, and send which exceed a threshold t.

    Thresholded histogram encoding: a unary encoding with p = 1 - e^(epsilon (t - 1) / 2) / 2 and
    q = e^(-epsilon t / 2) / 2 for 0 <= t <= 1. Promises epsilon-LDP, that of the noise; what is
    left after the threshold is a little less (`logs.epsilon`, as `audit` finds). Without a
    threshold it becomes the one, among the multiples of 1/256, with the least variance
    q (1 - q) / (p - q)^2 for rare values. Products cost O(reports * k / 8). Wang, Blocki, Li and
    Jha 2017, section 4.2.

    >>> import freewill as fw
    >>> noise = fw.THE(fw.Linear(0, 19), epsilon=2.0)
    >>> noise.threshold, round(fw.audit(noise).epsilon, 3)
    (0.7109375, 1.635)
    """

    alphabet: Alphabet
    epsilon: float
    threshold: float = None  # type: ignore[assignment]
    name: ClassVar[str] = "the"

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = best_threshold(self.epsilon) if self.threshold is None else self.threshold
        wanted = "a number from 0 to 1, between the two values of a bit, or None for the best one."
        cut = checked_number(given, "threshold", self.name, lambda cut: 0 <= cut <= 1, wanted)
        object.__setattr__(self, "threshold", cut)

    @cached_property
    def own(self) -> Chance:
        """The chance p = 1 - e^(epsilon (t - 1) / 2) / 2, rounded down, to privacy."""
        return self._beyond(1 - self.threshold).complement

    @cached_property
    def other(self) -> Chance:
        """The chance q = e^(-epsilon t / 2) / 2, rounded up, to privacy."""
        return self._beyond(self.threshold)

    def _beyond(self, distance: float) -> Chance:
        """Return the chance that the noise exceeds a distance, e^(-epsilon distance / 2) / 2."""
        half = Dyadic.of(self.epsilon).doubled(-1)
        if not distance:
            return HALF
        exponent, bits = half.times(Dyadic.of(distance)), precision(half)
        total, working, halvings = exponential(exponent, bits)
        return Chance.up(total, working + halvings + 1, bits)


def blind_answer(epsilon: float, size: int) -> Chance:
    """Return the chance k / (k - 1 + e^epsilon) of an answer drawn from all k, rounded up."""
    return rare(Dyadic.of(epsilon), size, size - 1, more=size.bit_length())


def average_epsilon(epsilons: FloatArray, weights: FloatArray, size: int) -> float:
    """Return epsilon[n] with 1/(k-1+e^epsilon[n]) = the mean of 1/(k-1+e^epsilon_i) (eq. 8).

    With size 2 and halved epsilons it is eq. 13. Written with the mean m of 1/(k-1+e^epsilon)
    and the mean t of (e^epsilon - 1)/(k-1+e^epsilon), e^epsilon[n] - 1 = t / m: nothing cancels
    for small epsilons and nothing overflows for large ones.

    >>> average_epsilon(np.array([2.0, 2.0]), np.array([0.5, 0.5]), 10)
    2.0
    """
    rare = np.exp(-epsilons)
    other = rare / (1 + (size - 1) * rare)
    # In units of the largest, so that epsilons near the least of all doubles keep their digits.
    unit = float(epsilons.max()) or 1.0
    advantage = -np.expm1(-epsilons) / unit / (1 + (size - 1) * rare)
    mean = np.log1p(unit * ((weights @ advantage) / (weights @ other)))
    # Rounding may lead past the least and the largest, which no mean does.
    return float(np.clip(mean, epsilons.min(), epsilons.max()))


def checked_advantage(advantage: float, mechanism: object) -> float:
    """Return by how much the truth is likelier, unless doubles show no trace of it."""
    if advantage < _BLIND:
        raise IdentifiabilityError(
            f"{mechanism} cannot be inverted: the truth is likelier than the rest by "
            f"{advantage:.3g} only, less than the rounding of shares. Use gibu, or a larger "
            f"epsilon."
        )
    return advantage


def _law(logs: BitLogs, packed: PackedBits, size: int, log_share: float = 0.0) -> BitOperator:
    ones, epsilon = bit_counts(packed), logs.epsilon
    log_factor = log_share + logs.own + (ones - 1) * logs.other + (size - ones) * logs.rest
    stray = np.exp(logs.other)
    return BitOperator(packed, size, -epsilon, -np.expm1(-epsilon), log_factor, stray)


def best_threshold(epsilon: float) -> float:
    """Return the threshold of THE with the least q (1 - q) / (p - q)^2, of multiples of 1/256.

    Multiples, so that all machines agree; where epsilon is next to 0 it is 1/2, up to epsilon / 8.

    >>> best_threshold(1e-9), best_threshold(1.0), best_threshold(8.0)
    (0.5, 0.6171875, 0.8984375)
    """
    half = epsilon / 2
    if half < 1 / 128:
        return 0.5
    cuts = np.arange(128, 257) / 256
    lies, strays = np.exp(-half * (1 - cuts)) / 2, np.exp(-half * cuts) / 2
    variances = strays * (1 - strays) / (1 - lies - strays) ** 2
    return float(cuts[np.argmin(variances)])
