"""The LDP epsilon of a table of doubles, each taken literally: exact, and rounded up."""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

import numpy as np

from freewill.types import FloatArray, IntArray

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
    sums = _Sums(rows)
    largest = Fraction(1)
    for column in np.flatnonzero(spread >= spread.max() - 2 * _CLOSE).tolist():
        most = sums.shares(column, np.flatnonzero(logs[:, column] >= highest[column] - _CLOSE))
        least = sums.shares(column, np.flatnonzero(logs[:, column] <= lowest[column] + _CLOSE))
        largest = max(largest, max(most) / min(least))
    return log_up(largest)


class _Sums:
    """The exact sums of rows, each made when first asked for."""

    def __init__(self, rows: FloatArray) -> None:
        self._rows = rows
        self._known: dict[int, Fraction] = {}

    def shares(self, column: int, among: IntArray) -> list[Fraction]:
        """Return what share of its row's sum each of these rows has in a column."""
        return [Fraction(self._rows[row, column]) / self._of(row) for row in among.tolist()]

    def _of(self, row: int) -> Fraction:
        if row not in self._known:
            self._known[row] = sum(map(Fraction, self._rows[row].tolist()), Fraction(0))
        return self._known[row]


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
