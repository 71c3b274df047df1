"""The name of what a distance counts: a year, a km."""

import unicodedata
from typing import Any

from freewill.errors import FreewillError, ParameterError, shown

NEUTRAL = "unit"
"""What a distance counts where nobody has said."""
_LONGEST = 30


def checked_unit(unit: Any, error: type[FreewillError] = ParameterError) -> str:
    """Return the name of a unit, or nothing, after checking that it is a name in the singular.

    With a number in it a unit would say one thing and the values another: 10 years are ten units.

    >>> checked_unit("year"), checked_unit("")
    ('year', '')
    >>> checked_unit("10 years")
    Traceback (most recent call last):
    freewill.errors.ParameterError: unit='10 years': expected one word or two that name what the
    values count, in the singular and without a number, such as 'year' or 'km'.
    """
    plain = isinstance(unit, str) and unit.isprintable() and unit == unit.strip()
    named = plain and len(unit) <= _LONGEST and not any(map(_counts, unit))
    if not named or (unit and not any(map(_names, unit))):
        raise error(
            f"unit={shown(unit)}: expected one word or two that name what the values count, in the "
            f"singular and without a number, such as 'year' or 'km'."
        )
    return str(unit)


def _names(letter: str) -> bool:
    return letter.isalpha() or letter in "°%€$£¥"


def _counts(letter: str) -> bool:
    # By its category, which freewill.js can ask for too.
    return unicodedata.category(letter).startswith("N")


def behind(unit: str) -> str:
    """Return a unit as it stands behind a number that is not 1; symbols have no plural.

    >>> behind("year"), behind("km"), behind("century"), behind("inch"), behind("")
    (' years', ' km', ' centuries', ' inches', '')
    """
    # The same rule as `behind` of device/js/figures.js.
    last = unit.rsplit(" ", 1)[-1]
    if len(last) < 3 or not last.isalpha() or last.endswith("s"):
        return f" {unit}" if unit else ""
    if last.endswith("y") and last[-2] not in "aeiou":
        return f" {unit[:-1]}ies"
    return f" {unit}es" if last.endswith(("ch", "sh", "x", "z")) else f" {unit}s"


def per(unit: str) -> str:
    """Return what an epsilon is per.

    >>> per("km"), per("")
    ('per km', 'per unit')
    """
    return f"per {unit or NEUTRAL}"
