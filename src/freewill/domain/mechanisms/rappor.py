"""Basic one-time RAPPOR."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share
from freewill.domain.draws.sources import Source
from freewill.domain.mechanisms.base import Noisy
from freewill.domain.mechanisms.parameters import average_epsilon, checked_advantage
from freewill.domain.outputs import Bits
from freewill.numeric.operators.moments import BitMoments
from freewill.numeric.operators.support import BitOperator

_TELLS_ALL = 150.0
"""Epsilon at which a bit lies with probability e^-75."""


@dataclass(frozen=True)
class RAPPOR(Noisy):
    """Send one bit a value, the own bit set, each flipped with probability 1/(1 + e^(epsilon/2)).

    The symmetric, one-time form of eq. 12. For a report v, P(v | x) = c_v (1 + (e^epsilon - 1)
    v_x). Promises epsilon-LDP, tightly. Reports are packed, eight bits a byte: bit x of a report
    is bit x % 8 of its byte x // 8. Products cost O(reports * k / 8).

    >>> import freewill as fw
    >>> bits = fw.RAPPOR(fw.Linear(0, 19), epsilon=1.0)
    >>> bits.obfuscate([3, 7]).shape
    (2, 3)
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "rappor"
    full_rank: ClassVar[bool] = True

    @property
    def flip(self) -> float:
        """Probability that a bit is flipped."""
        return float(np.exp(-self.epsilon / 2 - np.log1p(np.exp(-self.epsilon / 2))))

    @property
    def output_space(self) -> Bits:
        """A bit for each value, packed."""
        return Bits(self.alphabet.size)

    @cached_property
    def flipped(self) -> Chance:
        """The chance f = 1 / (1 + e^(epsilon/2)) of a flip, rounded up, to privacy."""
        exponent = Dyadic.of(self.epsilon).doubled(-1)
        bits = precision(exponent)
        return Chance.up(*share(exponential(exponent, bits)), bits)

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

    def weights(self) -> list[list[int]]:
        """Multiply f for each bit that lies, 1 - f for each that does not."""
        (lie, honest), size = self.flipped.weights, self.alphabet.size
        powers = [lie**lies * honest ** (size - lies) for lies in range(size + 1)]
        patterns = self.output_space.numbers(self.outputs()).tolist()
        return [[powers[(v ^ 1 << x).bit_count()] for v in patterns] for x in range(size)]

    def operator(self, outputs: Reports) -> BitOperator:
        """Return the law of these reports, scaled so that P(v | x) is 1 where v_x is set."""
        packed = self.output_space.checked(outputs, self.name)
        ones = np.einsum("yb->y", np.bitwise_count(packed), dtype=np.int64)  # sooner than sum(1)
        log_honest = -np.log1p(np.exp(-self.epsilon / 2))
        return BitOperator(
            packed,
            self.alphabet.size,
            log_base=-self.epsilon,
            gain=float(-np.expm1(-self.epsilon)),
            log_factor=self.alphabet.size * log_honest - self.epsilon / 2 * (ones - 1),
        )

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the bit is set."""
        packed = self.output_space.checked(outputs, self.name)
        bits = np.unpackbits(packed, axis=1, count=self.alphabet.size, bitorder="little")
        return self.epsilon * bits.astype(np.float64)

    def moments(self, theta: FloatArray) -> BitMoments:
        """Return what a report tells at theta, exactly, though its outputs cannot be listed."""
        # Beyond, bits that lie are so rare that nothing changes but numbers that overflow.
        same = RAPPOR(self.alphabet, min(self.epsilon, _TELLS_ALL))
        return BitMoments(theta, same.flip, float(np.expm1(same.epsilon)))

    def witnesses(self) -> PackedBits:
        """One report for each number of set bits: renaming the values gives all the others."""
        size = self.alphabet.size
        bits = np.arange(size)[None, :] < np.arange(size + 1)[:, None]
        return np.packbits(bits, axis=1, bitorder="little")

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

    def truths(self) -> FloatArray:
        """Return the chance that no bit is flipped, so that only the true value shows."""
        size = self.alphabet.size
        return np.full(size, np.exp(-size * np.log1p(np.exp(-self.epsilon / 2))))
