"""k-ary randomised response."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, Noisy
from freewill.domain.mechanisms.parameters import (
    average_epsilon,
    checked_advantage,
    checked_alphabet,
)
from freewill.numeric.operators.support import SymbolOperator


@dataclass(frozen=True)
class KRR(Noisy):
    """Report the true value most of the time, any other value otherwise (k-RR, eq. 1).

    P(z | x) = (e^epsilon if z = x else 1) / (k - 1 + e^epsilon).
    Promises epsilon-LDP, tightly. Products cost O(k + outputs).

    >>> import freewill as fw
    >>> menu = fw.KRR(fw.Categorical(["a", "b"]), epsilon=np.log(3))
    >>> menu.law().round(12)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "k-rr"
    full_rank: ClassVar[bool] = True

    @cached_property
    def replaced(self) -> Chance:
        """The chance r = k / (k - 1 + e^epsilon) of a blind answer, rounded up, to privacy."""
        size, exponent = self.alphabet.size, Dyadic.of(self.epsilon)
        bits = precision(exponent, size.bit_length())
        return Chance.up(*share(exponential(exponent, bits), size, size - 1), bits)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Keep each value, or replace it by one drawn from the whole alphabet."""
        blind = rng.integers(0, self.alphabet.size, size=truth.shape)
        replaced = drawn(self.replaced, truth.size, rng).reshape(truth.shape)
        return np.where(replaced, blind, truth)

    def _report(self, value: int, source: Source) -> int:
        """Toss the coin; replaced, the report is any value."""
        return below(self.alphabet.size, source) if self.replaced.coin(source) else value

    def weights(self) -> list[list[int]]:
        """Return r / k where z is not x, 1 - r + r / k where it is, over k 2^shift."""
        blind, truthful = self.replaced.weights
        places = range(self.alphabet.size)
        return [[blind + len(places) * truthful * (z == x) for z in places] for x in places]

    def operator(self, outputs: Reports) -> SymbolOperator:
        """Return the law of these outputs, scaled so that P(x | x) is 1."""
        size = self.alphabet.size
        symbols = self.output_space.checked(outputs, self.name)
        log_scale = -np.log1p((size - 1) * np.exp(-self.epsilon))
        return SymbolOperator(
            symbols,
            size,
            base=float(np.exp(-self.epsilon)),
            gain=float(-np.expm1(-self.epsilon)),
            log_scale=np.full(symbols.size, log_scale),
        )

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

    def truths(self) -> FloatArray:
        """1 / (1 + (k - 1) e^-epsilon)."""
        size = self.alphabet.size
        return np.full(size, 1 / (1 + (size - 1) * np.exp(-self.epsilon)))

    def losses(self) -> FloatArray:
        """Each other value is reported with probability 1 / (k - 1 + e^epsilon)."""
        rare = np.exp(-self.epsilon)
        other = rare / (1 + (self.alphabet.size - 1) * rare)
        return np.asarray(other * self.alphabet.total_distance())


@dataclass(frozen=True)
class Identity(Mechanism):
    """Report the true value. Promises nothing: epsilon is infinite.

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
