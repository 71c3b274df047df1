"""Texts that are numbers: one reading for options, files and addresses, and no other.

Python's own `float` and `int` also take `4_1`, digits of any script, `nan`, `infinity` and any
white space, and round what has more digits than a double. Here a numeral is what a file of numbers
has: ASCII digits with a sign, a point and an exponent where there are any.
"""

import re
from decimal import Decimal, DecimalException

_NUMERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST = 1000
_LARGEST = 2**63


def number(text: str) -> float | None:
    """Return the finite number that a text is, rounded to a double; None if it is not one.

    >>> number("-0.5"), number("1e-3"), number("1_0"), number("nan"), number("1e999"), number(" 1")
    (-0.5, 0.001, None, None, None, None)
    """
    if len(text) > _LONGEST or not _NUMERAL.fullmatch(text):
        return None
    found = float(text)
    return found if abs(found) < float("inf") else None


def whole(text: str) -> int | None:
    """Return the integer of at most 64 bits that a text is, to its last digit; None if it is none.

    >>> whole("41"), whole("41.0"), whole("9007199254740993"), whole("4.5"), whole("1e999")
    (41, 41, 9007199254740993, None, None)
    """
    if len(text) > _LONGEST or not _NUMERAL.fullmatch(text):
        return None
    try:
        exact = Decimal(text)
        near = -_LARGEST <= exact < _LARGEST
        return int(exact) if near and exact == exact.to_integral_value() else None
    except DecimalException:  # an exponent that nothing can hold
        return None
