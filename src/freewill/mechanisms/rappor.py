"""Basic one-time RAPPOR."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet, checked_indices
from freewill.errors import AlphabetError, LawError
from freewill.guarantees import Guarantee
from freewill.mechanisms.base import (
    LARGEST_LDP_EPSILON,
    Mechanism,
    checked_alphabet,
    checked_epsilon,
)
from freewill.operators import BitOperator
from freewill.sampling import bernoulli_bits
from freewill.types import FloatArray, PackedBits, Reports, Spec

_LISTED_BITS = 16


@dataclass(frozen=True)
class RAPPOR(Mechanism):
    """Send one bit a value, the own bit set, each flipped with probability 1/(1 + e^(epsilon/2)).

    The symmetric, one-time form of eq. 12. For a report v, P(v | x) = c_v (1 + (e^epsilon - 1)
    v_x). Promises epsilon-LDP, tightly. Reports are packed, eight bits a byte: bit x of a report
    is bit x % 8 of its byte x // 8. Products cost O(reports * k / 8).

    >>> import freewill as fw
    >>> bits = fw.RAPPOR(fw.Linear(0, 19), epsilon=1.0)
    >>> bits.obfuscate([3, 7], np.random.default_rng(0)).shape
    (2, 3)
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "rappor"

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name)
        epsilon = checked_epsilon(self.epsilon, self.name, LARGEST_LDP_EPSILON)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def flip(self) -> float:
        """Probability that a bit is flipped."""
        return float(np.exp(-self.epsilon / 2 - np.log1p(np.exp(-self.epsilon / 2))))

    @property
    def width(self) -> int:
        """Bytes a report."""
        return -(-self.alphabet.size // 8)

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator) -> PackedBits:
        """Draw the flips, then flip the own bit once more."""
        truth = checked_indices(values, self.alphabet.size, "value").ravel()
        packed = bernoulli_bits(self.flip, truth.size * self.width, rng)
        packed = packed.reshape(truth.size, self.width)
        packed[:, -1] &= self._last_byte
        packed[np.arange(truth.size), truth // 8] ^= np.left_shift(1, truth % 8).astype(np.uint8)
        return packed

    @property
    def _last_byte(self) -> np.uint8:
        return np.uint8(0xFF >> (8 * self.width - self.alphabet.size))

    def operator(self, outputs: Reports) -> BitOperator:
        """Return the law of these reports, scaled so that P(v | x) is 1 where v_x is set."""
        packed = self._checked_bits(outputs)
        ones = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        kept = -np.log1p(np.exp(-self.epsilon / 2))
        return BitOperator(
            packed,
            self.alphabet.size,
            base=float(np.exp(-self.epsilon)),
            gain=float(-np.expm1(-self.epsilon)),
            log_scale=self.alphabet.size * kept - self.epsilon / 2 * (ones - 1),
        )

    def _checked_bits(self, outputs: Reports) -> PackedBits:
        packed = np.asarray(outputs)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != self.width:
            raise AlphabetError(
                f"reports of {self.name} have type {packed.dtype} and shape {packed.shape}; "
                f"expected uint8, (n, {self.width}): {self.alphabet.size} bits, eight a byte."
            )
        if np.any(packed[:, -1] > self._last_byte):
            row = int(np.argmax(packed[:, -1] > self._last_byte))
            raise AlphabetError(
                f"report {row} of {self.name} has bits beyond the {self.alphabet.size} of the "
                f"alphabet. Does it belong to another alphabet?"
            )
        return packed.astype(np.uint8, copy=False)

    def outputs(self) -> PackedBits:
        """All 2^k reports, for alphabets of up to 16 values."""
        if self.alphabet.size > _LISTED_BITS:
            raise LawError(
                f"{self.name} has 2^{self.alphabet.size} outputs, which cannot be listed. "
                f"Use operator(reports) with the reports that were observed."
            )
        numbers = np.arange(1 << self.alphabet.size, dtype="<u2")
        return numbers.view(np.uint8).reshape(-1, 2)[:, : self.width].copy()

    def witnesses(self) -> PackedBits:
        """One report for each number of set bits: renaming the values gives all the others."""
        size = self.alphabet.size
        bits = np.arange(size)[None, :] < np.arange(size + 1)[:, None]
        return np.packbits(bits, axis=1, bitorder="little")

    def guarantee(self) -> Guarantee:
        """epsilon-LDP."""
        return Guarantee.never_understated("ldp", self.epsilon)

    def debiased(self, shares: FloatArray) -> FloatArray:
        """Return theta by eq. 14."""
        advantage = np.expm1(self.epsilon / 2)
        return np.asarray(((advantage + 2) * shares - 1) / advantage)

    def losses(self) -> FloatArray:
        """Refuse: a report of bits is no value, so it has no distance from one."""
        raise LawError(
            f"{self.name} reports bits, not values: it has no quality loss. "
            f"Compare it with others by its guarantee, or by the error of an estimate."
        )

    def parameters(self) -> Spec:
        """Epsilon."""
        return {"epsilon": self.epsilon}
