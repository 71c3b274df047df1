"""Logarithms of whole numbers to as many digits as an exact audit needs, and exact distances."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.draws.exponential import Dyadic

_DIGITS = 110
"""More than the slack of a sampler needs: 2^-190 of epsilon, beside logarithms up to 10^6."""
_GUARD = 10
"""Digits given up to the rounding of every operation."""


class Logarithms:
    """ln of whole numbers, each taken once; correctly rounded, as `decimal` promises."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self._known: dict[int, Decimal] = {}

    def of(self, number: int) -> Decimal:
        """Return ln of a number > 0."""
        if number not in self._known:
            self._known[number] = Decimal(number).ln()
        return self._known[number]

    def of_dyadic(self, number: Dyadic) -> Decimal:
        """Return ln of a dyadic > 0."""
        return self.of(number.numerator) - number.shift * self.of(2)

    @property
    def spare(self) -> Decimal:
        """A factor just above 1, for the rounding of a quotient and of a distance."""
        return 1 + Decimal(10) ** (_GUARD - self.digits)

    def rounding(self, largest: Decimal) -> Decimal:
        """Bound the error of a difference of logarithms up to `largest`."""
        return (1 + abs(largest)).scaleb(_GUARD - self.digits)


@contextmanager
def logarithms(epsilon: float, alphabet: Alphabet) -> Iterator[Logarithms]:
    """Compute with enough digits for an epsilon at the least distance of an alphabet."""
    digits = _DIGITS
    for scale in (epsilon, _least_distance(alphabet)):
        if 0 < scale < math.inf:
            # Twice, as chances keep twice as many bits (`draws.precision`).
            digits += 2 * max(0, -math.floor(math.log10(scale)))
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        yield Logarithms(digits)


def _least_distance(alphabet: Alphabet) -> float:
    return min(alphabet.cell) if isinstance(alphabet, Grid) else 1.0


def exact_distance(alphabet: Alphabet, first: int, second: int) -> Decimal:
    """Return the distance of two values to all digits, not rounded to a double."""
    if isinstance(alphabet, Linear):
        return Decimal(alphabet.step * abs(first - second))
    if isinstance(alphabet, Grid):
        (row, column), (down, aside) = (divmod(v, alphabet.columns) for v in (first, second))
        return cell_distance(alphabet.cell, column - aside, row - down)
    return Decimal(float(alphabet.distance(first, second)))


def cell_distance(cell: tuple[float, float], columns: int, rows: int) -> Decimal:
    """Return how far cells are apart that are this many columns and rows apart."""
    return ((columns * Decimal(cell[0])) ** 2 + (rows * Decimal(cell[1])) ** 2).sqrt()
