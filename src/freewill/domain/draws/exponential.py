"""e^-x in whole numbers: the same digits on every machine and in every language.

No floating point enters: a double is m / 2^s, taken literally, and everything else is made from
whole numbers by shifts, products and divisions that round down. `docs/devices.md` has the procedure
as a contract, which the JavaScript client follows to the last bit.
"""

from functools import lru_cache
from typing import NamedTuple

_SPARE = 64
"""Bits beyond those wanted: 32 are lost to the squarings, few to all else."""
_SQUARINGS = 32
_LN2_SPARE = 32
_LN2_TERMS = ((18, 26), (-2, 4801), (8, 8749))
"""ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
_LEAST_BITS = 192


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
