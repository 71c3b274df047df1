"""A coin of any dyadic probability, decided by comparing random digits with its own."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import PackedBits
from freewill.domain.draws.exponential import Dyadic, Exponential
from freewill.domain.draws.sources import Source
from freewill.errors import LawError

_WORD = 64
# Small enough to stay in the processor's cache through all digits.
_BLOCK = 1 << 16
_LISTED = 1 << 20
"""Binary digits of a chance up to which its numbers are written out."""
_BUSY = 6
"""Digits before which hardly a word of 64 comparisons is decided."""
_SPARSE = 0.7
"""Share of words with an open comparison below which only those go on."""


@dataclass(frozen=True)
class Chance:
    """The probability numerator / 2^shift, at most 1; the shift may be a vast number.

    A uniform number U is drawn one digit at a time and compared with the digits of the probability:
    the first that differs decides whether U < probability. So e^-27000 costs a byte, is never
    rounded to 0, and no floating point decides anything.

    >>> from freewill.domain.draws.sources import GivenBytes
    >>> half = Chance(1, 1)
    >>> half.coin(GivenBytes([127])), half.coin(GivenBytes([128]))
    (True, False)
    """

    numerator: int
    shift: int

    @classmethod
    def down(cls, numerator: int, shift: int, bits: int) -> "Chance":
        """Keep the leading bits of a probability, rounded down."""
        excess = max(0, numerator.bit_length() - bits)
        return cls(numerator >> excess, shift - excess)

    @classmethod
    def up(cls, numerator: int, shift: int, bits: int) -> "Chance":
        """Keep the leading bits plus two units: certainly above, errors being less than one."""
        kept = cls.down(numerator, shift, bits)
        return cls(kept.numerator + 2, kept.shift)

    @property
    def dyadic(self) -> Dyadic:
        """The number itself."""
        return Dyadic(self.numerator, self.shift)

    @property
    def weights(self) -> tuple[int, int]:
        """Whole numbers in the proportion of yes and no, where they are not too long to be listed.

        >>> Chance(3, 3).weights
        (3, 5)
        """
        if self.shift > _LISTED:
            raise LawError(
                f"a chance of more than {_LISTED:,} binary digits is too long to be listed, though "
                f"it is drawn all the same. Take a smaller epsilon, or a smaller alphabet."
            )
        return self.numerator, (1 << self.shift) - self.numerator

    @property
    def sure(self) -> bool:
        """Whether it is 1."""
        # The shift of a tiny probability is too large for a power of two.
        return self.numerator.bit_length() == self.shift + 1

    @cached_property
    def digits(self) -> tuple[int, bytes]:
        """How many zeros follow the point in base 256, and the digits after them, to the last."""
        padding = -self.shift % 8
        places = (self.shift + padding) // 8
        padded = self.numerator << padding
        length = -(-padded.bit_length() // 8)
        return places - length, padded.to_bytes(length, "big").rstrip(b"\0")

    def coin(self, source: Source) -> bool:
        """Draw one decision: true with exactly this probability.

        Nothing is read where it is 0 or 1, nor once all digits were equal to the last one.
        """
        if not self.numerator or self.sure:
            return self.sure
        zeros, digits = self.digits
        for _ in range(zeros):
            if source.byte():
                return False
        for digit in digits:
            drawn = source.byte()
            if drawn != digit:
                return drawn < digit
        return False

    def bits(self, count: int, rng: np.random.Generator) -> PackedBits:
        """Draw 8 * `count` independent decisions, as bits of bytes.

        64 comparisons run in one machine word, by binary digits, and only words with an open
        comparison draw on: a decision costs about an eighth of a random word.

        >>> rng = np.random.default_rng(1)
        >>> int(np.bitwise_count(Chance(1, 2).bits(100_000, rng)).sum())
        200734
        """
        words = -(-count * 8 // _WORD)
        result = np.empty(words, dtype=np.uint64)
        for start in range(0, words, _BLOCK):
            block = result[start : start + _BLOCK]
            self._fill(block, rng)
        return result.view(np.uint8)[:count]

    def _fill(self, result: NDArray[np.uint64], rng: np.random.Generator) -> None:
        if self.sure:
            result[:] = np.iinfo(np.uint64).max
            return
        result[:] = 0
        active: NDArray[np.int64] | slice = slice(None)
        undecided = np.full(result.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        place, left = self.shift, self.numerator
        # `left` is what remains of the numerator below the digit at `place`.
        while left and undecided.size:
            place -= 1
            digit = left.bit_length() > place
            if digit:
                left -= 1 << place
            drawn = rng.integers(0, 2**_WORD, size=undecided.size, dtype=np.uint64)
            if digit:
                # The probability has a 1 here: a drawn 0 makes U smaller, which decides for 1.
                result[active] |= undecided & ~drawn
                undecided &= drawn
            else:
                # The probability has a 0 here: a drawn 1 makes U larger, which decides for 0.
                undecided &= ~drawn
            if self.shift - place < _BUSY:
                continue
            kept = np.flatnonzero(undecided)
            if kept.size < _SPARSE * undecided.size:
                active = kept if isinstance(active, slice) else active[kept]
                undecided = undecided[kept]


HALF = Chance(1, 1)


def share(a: Exponential, times: int = 1, others: int = 1) -> tuple[int, int]:
    """Return times a / (1 + others a) as numerator and shift, by one division that rounds down.

    1 + others a is held to `working` bits after the point.
    """
    below_one = (others * a.total) >> a.halvings
    quotient = ((times * a.total) << a.working) // ((1 << a.working) + below_one)
    return quotient, a.working + a.halvings
