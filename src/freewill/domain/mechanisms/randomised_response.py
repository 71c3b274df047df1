"""Randomised response: of the value itself (k-RR), or of a bit for every value (RAPPOR)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance, Dyadic, coins, rare
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy, Rows
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_chance
from freewill.domain.mechanisms.unary import BitLogs, UnaryEncoding, checked_advantage
from freewill.errors import ParameterError, shown
from freewill.numeric.operators.support import SymbolOperator


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
