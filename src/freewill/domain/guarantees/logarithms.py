"""Logarithms of whole numbers to as many digits as an exact audit needs, and exact distances."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, Linear, distances, is_line
from freewill.domain.alphabets.grid import Grid
from freewill.domain.draws.chance import Dyadic

_DIGITS = 110
"""More than the slack of a sampler needs: 2^-190 of epsilon, beside logarithms up to 10^6."""
_COMPARED = 2048
"""Values up to which all pairs are compared, where no plane says which are furthest apart."""
_GUARD = 10
"""Digits given up to the rounding of every operation."""


class Logarithms:
    """ln of whole numbers, each taken once; correctly rounded, as `decimal` promises."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.of = cache(lambda number: Decimal(number).ln())
        """Return ln of a number > 0."""

    def of_dyadic(self, number: Dyadic) -> Decimal:
        """Return ln of a dyadic > 0."""
        return self.of(number.numerator) - number.shift * self.of(2)

    def rounding(self, largest: Decimal) -> Decimal:
        """Bound the error of a difference of logarithms up to `largest`, and of its quotient.

        Logarithms, differences, roots and quotients are each rounded in the last of all digits: a
        few units of 10^-digits times 2 largest, far below ten digits more.
        """
        return (1 + abs(largest)).scaleb(_GUARD - self.digits)


@contextmanager
def logarithms(epsilon: float, alphabet: Alphabet) -> Iterator[Logarithms]:
    """Compute with enough digits for an epsilon at the least distance of an alphabet."""
    digits = _DIGITS
    for scale in (epsilon, min(alphabet.cell) if isinstance(alphabet, Grid) else 1.0):
        if 0 < scale < math.inf:
            # Twice, as chances keep twice as many bits (`draws.precision`).
            digits += 2 * max(0, -math.floor(math.log10(scale)))
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        yield Logarithms(digits)


def exact_distance(alphabet: Alphabet, first: int, second: int) -> Decimal:
    """Return the distance of two values to all digits, not rounded to a double."""
    if isinstance(alphabet, Linear):
        return Decimal(alphabet.step * abs(first - second))
    if isinstance(alphabet, Grid):
        cells = (int(alphabet.within(value)) for value in (first, second))
        (row, column), (down, aside) = (divmod(cell, alphabet.columns) for cell in cells)
        return cell_distance(alphabet.cell, column - aside, row - down)
    return Decimal(float(alphabet.distance(first, second)))


def widest(alphabet: Alphabet) -> float:
    """Return a distance that no two values exceed: that of the furthest two, or twice as much.

    >>> import freewill as fw
    >>> widest(fw.Linear(0, 99)), widest(fw.Grid(5, 4, cell=1.0))
    (99.0, 5.0)
    """
    if isinstance(alphabet, Grid) and alphabet.mask is not None:
        return math.nextafter(alphabet.apart[1], math.inf)
    if alphabet.plane is not None:
        return float_up(exact_distance(alphabet, 0, alphabet.size - 1))
    if alphabet.size <= _COMPARED:
        return float(distances(alphabet).max())
    # By the triangle inequality, by way of the first value.
    return 2 * float(alphabet.distance(0, np.arange(alphabet.size)).max())


def cell_distance(cell: tuple[float, float], columns: int, rows: int) -> Decimal:
    """Return how far cells are apart that are this many columns and rows apart."""
    return ((columns * Decimal(cell[0])) ** 2 + (rows * Decimal(cell[1])) ** 2).sqrt()


_CLOSE = 1e-12
"""Logarithms of doubles this close may stand in another order than what they are logarithms of."""
_LITERAL_DIGITS = 60


def literal_epsilon(matrix: FloatArray) -> float:
    """Return max log((p_xz / s_x) / (p_x'z / s_x')), s being the exact sums of the rows.

    Logarithms in doubles find the few entries that may decide; fractions decide among them.
    O(k * outputs) and a few fractions.

    >>> literal_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])), math.log(3)
    (1.0986122886681098, 1.0986122886681098)
    """
    rows = np.unique(matrix, axis=0)
    if np.any((rows > 0).any(axis=0) & (rows == 0).any(axis=0)):
        return math.inf
    rows = np.ascontiguousarray(rows[:, (rows > 0).any(axis=0)])
    logs = np.log(rows) - np.log([math.fsum(row) for row in rows.tolist()])[:, None]
    highest, lowest = logs.max(axis=0), logs.min(axis=0)
    ranges = highest - lowest
    sums = [exact_sum(row) for row in rows.tolist()]
    # Rows of equal sums are told by a number, for fractions are slow to hash.
    numbered = {total: number for number, total in enumerate(sums)}
    kinds = np.array([numbered[total] for total in sums])
    largest = Fraction(1)
    for column in np.flatnonzero(ranges >= ranges.max() - 2 * _CLOSE).tolist():
        own = logs[:, column]
        high, low = (
            [
                Fraction(number) / sums[kind]
                for number, kind in set(
                    zip(rows[near, column].tolist(), kinds[near].tolist(), strict=True)
                )
            ]
            for near in (own >= highest[column] - _CLOSE, own <= lowest[column] + _CLOSE)
        )
        largest = max(largest, max(high) / min(low))
    return log_up(largest)


def literal_geo_epsilon(matrix: FloatArray, alphabet: Alphabet) -> float:
    """Return max log((p_xz / s_x) / (p_x'z / s_x')) / d(x, x'), not less than it is.

    Logarithms in doubles, each pair with a bound on their rounding. Neighbours suffice on a line;
    elsewhere O(k^2 * outputs).

    >>> import freewill as fw
    >>> law = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> round(literal_geo_epsilon(law, fw.Linear(0, 2, step=2)), 9)
    0.549306144
    """
    rows = matrix[:, (matrix > 0).any(axis=0)]
    if not np.all(rows > 0):
        return math.inf
    logs = np.log(rows) - np.log([math.fsum(row) for row in rows.tolist()])[:, None]
    rounding = 2.0**-50 * (1 + float(np.abs(logs).max()))
    values, worst = np.arange(len(rows)), 0.0
    for value in values[:-1]:
        others = values[value + 1 : value + 2] if is_line(alphabet) else values[value + 1 :]
        apart = np.abs(logs[others] - logs[value]).max(axis=1)
        # Rows that are equal to the last digit tell nothing, and rounding adds nothing to that.
        padded = np.where((rows[others] == rows[value]).all(axis=1), 0.0, apart + rounding)
        worst = max(worst, float((padded / alphabet.distance(value, others)).max()))
    return worst * (1 + 2.0**-50)


def exact_sum(numbers: list[float]) -> Fraction:
    """Return the sum of doubles without rounding: rounded, then what rounding left, until nothing.

    >>> exact_sum([1.0, 5e-324]) - 1 == Fraction(5e-324)
    True
    """
    total, parts = Fraction(0), list(numbers)
    while rounded := math.fsum(parts):
        total += Fraction(rounded)
        parts.append(-rounded)
    return total


def log_up(ratio: Fraction) -> float:
    """Return the least double that is certainly no less than log(ratio), for a ratio >= 1.

    >>> log_up(Fraction(1)), log_up(1 + Fraction(1, 2**60)) == 2.0**-60
    (0.0, True)
    """
    excess = ratio - 1
    if not excess:
        return 0.0
    small = max(0, excess.denominator.bit_length() - excess.numerator.bit_length())
    context = Context(prec=_LITERAL_DIGITS + small, Emax=MAX_EMAX, Emin=MIN_EMIN)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = quotient.ln(context)
    # Quotient and logarithm are each rounded in their last digit, of at least 60.
    upper = context.multiply(logarithm, 1 + Decimal(10) ** (10 - _LITERAL_DIGITS))
    return float_up(upper)


def float_up(number: Decimal) -> float:
    """Return the least double that is no less than a number."""
    near = float(number)
    return near if Decimal(near) >= number else math.nextafter(near, math.inf)
