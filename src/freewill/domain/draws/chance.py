"""Coins of any dyadic probability, and e^-x in whole numbers: the same digits on every machine.

No floating point enters: a double is m / 2^s, taken literally, and everything else is made from
whole numbers by shifts, products and divisions that round down. docs/reference/draws.md has the
procedure as a contract, which the JavaScript client follows to the last bit.
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, PackedBits, slices
from freewill.domain.draws.sources import GeneratorBytes, Source
from freewill.errors import LawError

_SPARE = 64
"""Bits beyond those wanted: 32 are lost to the squarings, few to all else."""
_SQUARINGS = 32
_LN2_SPARE = 32
_LN2_TERMS = ((18, 26), (-2, 4801), (8, 8749))
"""ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
_LEAST_BITS = 192
_WORD = 64
# Small enough to stay in the processor's cache through all digits.
_BLOCK = 1 << 16
_LISTED = 1 << 20
"""Binary digits of a chance up to which its numbers are written out."""
_BUSY = 6
"""Digits before which hardly a word of 64 comparisons is decided."""
_SPARSE = 0.7
"""Share of words with an open comparison below which only those go on."""

DOUBT = 2.0**-40
"""How close a word and a chance may come for doubles to be trusted no longer.

A word rounded to a double is off by 2^-53, what it leaves open by 2^-64. A chance made of an
exponential, a logarithm and five more operations is off by some 2^-47 at most, for what an
exponent's rounding does to e^-x is x e^-x < 1 such rounding."""
_BITS = 1 << 18
"""Bits of reports that are drawn in one go, and stay in the processor's cache."""


class Dyadic(NamedTuple):
    """The number numerator / 2^shift, of whole numbers >= 0."""

    numerator: int
    shift: int

    @classmethod
    def of(cls, number: float) -> "Dyadic":
        """Take a double, or a whole number, literally.

        >>> Dyadic.of(0.75), Dyadic.of(5e-324).shift
        (Dyadic(numerator=3, shift=2), 1074)
        """
        numerator, denominator = number.as_integer_ratio()
        return cls(numerator, denominator.bit_length() - 1)

    def times(self, other: "Dyadic") -> "Dyadic":
        """Return the product, exactly."""
        return Dyadic(self.numerator * other.numerator, self.shift + other.shift)

    def doubled(self, times: int) -> "Dyadic":
        """Return 2^times this number; halved for a negative `times`."""
        shift = self.shift - times
        return Dyadic(self.numerator, shift) if shift >= 0 else Dyadic(self.numerator << -shift, 0)

    @property
    def log2(self) -> int:
        """The whole part of the logarithm, floor(log2)."""
        return self.numerator.bit_length() - self.shift - 1


class Exponential(NamedTuple):
    """e^-x = total / 2^(working + halvings), total having about `working` bits."""

    total: int
    working: int
    halvings: int


def precision(smallest: Dyadic, extra: int = 0) -> int:
    """Return how many bits P chances are kept to, lambda being the smallest exponent that occurs.

    P = 192 + 2 max(0, -floor(log2 lambda)) + extra: 1 - e^-lambda, about lambda, loses as many bits
    once, and what it is off by must be little beside lambda, the logarithm of a ratio, once more.

    >>> precision(Dyadic.of(1.0)), precision(Dyadic.of(0.3))
    (192, 196)
    """
    return _LEAST_BITS + 2 * max(0, -smallest.log2) + extra


def exponential(x: Dyadic, bits: int) -> Exponential:
    """Return e^-x with a relative error below 2^-(bits + 24).

    x = halvings ln 2 + r; e^-(r / 2^32) by Taylor's series, squared 32 times. Its cost is that of
    some bits / 40 products of numbers of bits + log2(x) + 64 bits.

    >>> total, working, halvings = exponential(Dyadic.of(1.0), 64)
    >>> total / 2 ** (working + halvings)
    0.36787944117144233
    """
    whole = max(0, x.numerator.bit_length() - x.shift)
    working = bits + whole + _SPARE
    fixed = (x.numerator << working) >> x.shift
    unit = ln2(working)
    halvings, rest = divmod(fixed, unit)
    rest >>= _SQUARINGS
    total = term = 1 << working
    sign, place = -1, 1
    while term:
        term = ((term * rest) >> working) // place
        total += sign * term
        sign, place = -sign, place + 1
    for _ in range(_SQUARINGS):
        total = (total * total) >> working
    return Exponential(total, working, halvings)


@lru_cache(maxsize=64)
def ln2(bits: int) -> int:
    """Return floor-like 2^bits ln 2, less than one unit off.

    >>> ln2(53) / 2**53
    0.6931471805599453
    """
    scale = 1 << (bits + _LN2_SPARE)
    return sum(times * _inverse_tangent(of, scale) for times, of in _LN2_TERMS) >> _LN2_SPARE


def _inverse_tangent(of: int, scale: int) -> int:
    """Return scale atanh(1 / of) = scale (1 / of + 1 / (3 of^3) + ...), each term rounded down."""
    term = scale // of
    total, square, odd = term, of * of, 1
    while term:
        term //= square
        odd += 2
        total += term // odd
    return total


class Chance(Dyadic):
    """The probability numerator / 2^shift, at most 1; the shift may be a vast number.

    A uniform number U is drawn one digit at a time and compared with the digits of the probability:
    the first that differs decides whether U < probability. So e^-27000 costs a byte, is never
    rounded to 0, and no floating point decides anything.

    >>> from freewill.domain.draws.sources import GivenBytes
    >>> half = Chance(1, 1)
    >>> half.coin(GivenBytes([127])), half.coin(GivenBytes([128]))
    (True, False)
    """

    @classmethod
    def down(cls, numerator: int, shift: int, bits: int) -> "Chance":
        """Keep the leading bits of a probability, rounded down."""
        excess = max(0, numerator.bit_length() - bits)
        return cls(numerator >> excess, shift - excess)

    @classmethod
    def up(cls, numerator: int, shift: int, bits: int) -> "Chance":
        """Keep the leading bits plus two units: certainly above, errors being less than one."""
        rounded = cls.down(numerator, shift, bits)
        return cls(rounded.numerator + 2, rounded.shift)

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
    def complement(self) -> "Chance":
        """The probability of no."""
        return Chance(self.weights[1], self.shift)

    @property
    def nearest(self) -> float:
        """The nearest double.

        >>> Chance(3, 3).nearest, Chance(3, 3).complement.nearest
        (0.375, 0.625)
        """
        return self.numerator / (1 << self.shift)

    @property
    def logarithm(self) -> float:
        """The logarithm, to the last digits also where the probability is close to 1."""
        often = 2 * self.numerator > 1 << self.shift
        return math.log1p(-self.complement.nearest) if often else math.log(self.nearest)

    @property
    def written(self) -> list[Any]:
        """Hexadecimal numerator and shift, as programs hold it (docs/reference/draws.md)."""
        return [f"{self.numerator:x}", self.shift]

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
            still_open = np.flatnonzero(undecided)
            if still_open.size < _SPARSE * undecided.size:
                active = still_open if isinstance(active, slice) else active[still_open]
                undecided = undecided[still_open]


HALF = Chance(1, 1)


def rare(x: Dyadic, times: int = 1, others: int = 1, whole: int = 1, more: int = 0) -> Chance:
    """Return times a / (whole + others a), a = e^-x, rounded up, to privacy.

    >>> round(rare(Dyadic.of(1.0)).nearest, 6)          # 1 / (1 + e)
    0.268941
    """
    bits = precision(x, more)
    return Chance.up(*share(exponential(x, bits), times, others, whole), bits)


def share(a: Exponential, times: int = 1, others: int = 1, whole: int = 1) -> tuple[int, int]:
    """Return times a / (whole + others a), numerator and shift, by one division that rounds down.

    whole + others a is held to `working` bits after the point.
    """
    below_one = (others * a.total) >> a.halvings
    quotient = ((times * a.total) << a.working) // ((whole << a.working) + below_one)
    return quotient, a.working + a.halvings


def aligned(*chances: Chance) -> list[tuple[int, int]]:
    """Return whole numbers in the proportions of yes and no, all over the same power of two."""
    scale = max(chance.shift for chance in chances)
    yes = [chance.numerator << scale - chance.shift for chance in chances]
    return [(one, (1 << scale) - one) for one in yes]


def log_odds_ratio(first: Chance, second: Chance) -> float:
    """Return log p (1 - q) / (q (1 - p)) from whole numbers: nothing cancels where it is near 0.

    >>> round(log_odds_ratio(Chance(3, 2), Chance(1, 2)), 12)     # log 9
    2.197224577336
    """
    (yes, no), (stray, rest) = first.weights, second.weights
    return _log_quotient(yes * rest, stray * no)


def log_ratio(first: Chance, second: Chance) -> float:
    """Return log p / q likewise."""
    (yes, _), (stray, _) = aligned(first, second)
    return _log_quotient(yes, stray)


def _log_quotient(more: int, less: int) -> float:
    try:
        return math.log1p((more - less) / less)  # whole numbers are divided with one rounding
    except OverflowError:
        return math.log(more) - math.log(less)


def difference(first: Chance, second: Chance) -> float:
    """Return the difference of two chances, rounded once."""
    (one, rest), (other, _) = aligned(first, second)
    return (one - other) / (one + rest)


Exact = Callable[[int], Chance]
"""The chance of a row, in whole numbers."""


def coins(chances: FloatArray, exact: Exact, rng: np.random.Generator) -> BoolArray:
    """Toss a coin for each row, of a chance that is known as a double and, if need be, exactly.

    A coin compares the binary digits of a uniform number U with those of its chance. The first 64
    digits of U are drawn as a word, and the chance is known as a double; unless both are next to
    each other, the word decides. Where they are, the chance is computed in whole numbers, and the
    digits that were drawn are compared with its digits, further ones as needed: the law is that of
    `Chance.coin`, to the last digit, and hardly any chance is ever written out.

    >>> several = coins(np.array([0.0, 0.25, 1.0]), lambda row: Chance(row**2, 2),
    ...                 np.random.default_rng(5))
    >>> several.tolist()
    [False, False, True]
    """
    words = rng.integers(0, 2**64, size=chances.size, dtype=np.uint64)
    return decided(words, chances, DOUBT, exact, rng)


def decided(
    words: NDArray[np.uint64],
    chances: FloatArray,
    doubt: float | FloatArray,
    exact: Exact,
    rng: np.random.Generator,
) -> BoolArray:
    """Say of each row whether U is below its chance, the first 64 binary digits of U given."""
    with np.errstate(invalid="ignore"):
        margin = words * 2.0**-64 - chances
        result = margin < 0
        doubtful = ~(np.abs(margin) > doubt)
    for row in np.flatnonzero(doubtful).tolist():
        source = GeneratorBytes(rng, int(words[row]).to_bytes(8, "big"))
        result[row] = exact(row).coin(source)
    return np.asarray(result)


def bits(
    truth: IntArray,
    size: int,
    own: FloatArray,
    other: FloatArray,
    exact: Callable[[int, bool], Chance],
    rng: np.random.Generator,
) -> PackedBits:
    """Draw a bit for every value of each row: the own by one chance of the row, all others by one.

    `exact` gives the chance of a row's own bit, or of its others.
    """
    packed = np.empty((truth.size, -(-size // 8)), dtype=np.uint8)
    for rows in slices(truth.size, max(1, _BITS // size)):
        values = truth[rows]
        chances = np.repeat(other[rows, None], size, axis=1)
        chances[np.arange(values.size), values] = own[rows]

        def chance(place: int, start: int = rows.start, values: IntArray = values) -> Chance:
            row, value = divmod(place, size)
            return exact(start + row, bool(values[row] == value))

        drawn = coins(chances.ravel(), chance, rng).reshape(chances.shape)
        packed[rows] = np.packbits(drawn, axis=1, bitorder="little")
    return packed
