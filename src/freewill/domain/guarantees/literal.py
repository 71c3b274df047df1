"""The LDP epsilon of a table of doubles, each taken literally: exact, and rounded up."""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

import numpy as np

from freewill.core.types import FloatArray

_CLOSE = 1e-12
"""Logarithms of doubles this close may stand in another order than what they are logarithms of."""
_DIGITS = 60


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
    spread = highest - lowest
    sums = [exact_sum(row) for row in rows.tolist()]
    # Rows of equal sums are told by a number, for fractions are slow to hash.
    numbered = {total: number for number, total in enumerate(sums)}
    kinds = np.array([numbered[total] for total in sums])
    largest = Fraction(1)
    for column in np.flatnonzero(spread >= spread.max() - 2 * _CLOSE).tolist():
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
    context = Context(prec=_DIGITS + small, Emax=MAX_EMAX, Emin=MIN_EMIN)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = quotient.ln(context)
    # Quotient and logarithm are each rounded in their last digit, of at least 60.
    upper = context.multiply(logarithm, 1 + Decimal(10) ** (10 - _DIGITS))
    return float_up(upper)


def float_up(number: Decimal) -> float:
    """Return the least double that is no less than a number."""
    near = float(number)
    return near if Decimal(near) >= number else math.nextafter(near, math.inf)
