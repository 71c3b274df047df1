"""Numbers as people read them: two digits or three, rounded to the side that promises less.

JavaScript (`js/figures.js`) writes the same texts from numbers that may differ in their last bits:
every number is first cut to ten digits, which both agree on, and rounded from there.
"""

import math
import re
from typing import Literal

from freewill.core.texts import behind
from freewill.device.words import WORDS

Side = Literal["near", "up", "down"]
_AGREED = 10
_PLAIN = (-5, 15)
"""Powers of ten that are written out."""
_SEVERAL_NINES = 0.9
"""Chances from here on are told to three digits."""
_LEAST, _MOST = 0.001, 0.999
"""Chances beyond are told by these."""
_LN_MILLION = math.log(1e6)
_LEAST_GAIN = 1e-4
_LONGEST = 30
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Characters that steer a screen, or that nobody sees."""


def shortened(text: str) -> str:
    r"""Return a label as a picture has room for it, harmless on any screen.

    >>> print(shortened("yes"), shortened("\x1b[2J"), shortened("a" * 50))
    yes \ufffd[2J aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
    """
    seen = _UNSEEN.sub("\ufffd", text)
    return seen if len(seen) <= _LONGEST else f"{seen[: _LONGEST - 1]}…"


def rounded(number: float, digits: int, side: Side) -> tuple[int, int]:
    """Return the digits and the power of ten of a number > 0.

    >>> rounded(0.12341, 2, "up"), rounded(0.1 + 0.2, 2, "up"), rounded(999.0, 2, "near")
    ((13, -2), (30, -2), (10, 2))
    """
    mantissa, _, power = f"{number:.{_AGREED - 1}e}".partition("e")
    unit = 10 ** (_AGREED - digits)
    extra = {"near": unit // 2, "up": unit - 1, "down": 0}[side]
    whole, exponent = (int(mantissa.replace(".", "")) + extra) // unit, int(power) - digits + 1
    return (whole // 10, exponent + 1) if whole == 10**digits else (whole, exponent)


def in_digits(number: float, digits: int = 2, side: Side = "near") -> str:
    """Return a number in so many digits.

    >>> in_digits(1234567.0), in_digits(0.0456), in_digits(4.0), in_digits(1e30), in_digits(0.0)
    ('1,200,000', '0.046', '4', '1 x 10^30', '0')
    """
    if number == 0:
        return "0"
    whole, exponent = rounded(number, digits, side)
    signs, last = WORDS["numbers"], len(str(whole)) - 1
    if not _PLAIN[0] <= exponent + last < _PLAIN[1]:
        text = _decimal(whole, -last, signs)
        return str(signs["power"].format(digits=text, exponent=exponent + last))
    return _decimal(whole, exponent, signs)


def _decimal(whole: int, exponent: int, signs: dict[str, str]) -> str:
    if exponent >= 0:
        return _grouped(str(whole * 10**exponent), signs["group"])
    text = str(whole).rjust(1 - exponent, "0")
    after = text[exponent:].rstrip("0")
    return _grouped(text[:exponent], signs["group"]) + (signs["point"] + after if after else "")


def _grouped(text: str, sign: str) -> str:
    return f"{int(text):,}".replace(",", sign)


def percent(chance: float, side: Side = "near") -> str:
    """Return a chance in percent; one next to 0 or 1 is told by what it is below or above.

    >>> percent(0.1234, "up"), percent(0.0123), percent(0.9951), percent(0.99999), percent(1e-9)
    ('13 %', '1.2 %', '99.5 %', 'more than 99.9 %', 'less than 0.1 %')
    """
    signs = WORDS["numbers"]
    if 0 < chance < _LEAST:
        return str(signs["least_percent"].format(number=in_digits(100 * _LEAST)))
    if _MOST < chance < 1:
        return str(signs["most_percent"].format(number=in_digits(100 * _MOST, 3)))
    digits = 3 if chance >= _SEVERAL_NINES else 2
    return str(signs["percent"].format(number=in_digits(100 * chance, digits, side)))


def distance(length: float, unit: str, side: Side = "down") -> str:
    """Return a distance with its unit.

    >>> distance(4.56, "year"), distance(1.0, "year"), distance(0.5, "km"), distance(3.0, "")
    ('4.5 years', '1 year', '0.5 km', '3')
    """
    text = in_digits(length, 2, side)
    return text + (f" {unit}" if text == "1" and unit else behind(unit))


def odds(epsilon: float) -> str:
    """Return how much likelier e^epsilon makes one of two, rounded up.

    >>> [odds(epsilon) for epsilon in (1e-9, 0.001, 1.0, 5.0)]
    ['less than 0.01 % likelier than the other', 'at most 0.11 % likelier than the other',
     'at most 2.8 times as likely as the other', 'at most 150 times as likely as the other']
    """
    words = WORDS["odds"]
    if epsilon > _LN_MILLION:
        return str(words["million"])
    if epsilon >= math.log(2):
        return str(words["times"].format(times=in_digits(math.exp(epsilon), 2, "up")))
    gain = math.expm1(epsilon)
    sign = WORDS["numbers"]["percent"]
    if gain < _LEAST_GAIN:
        least = sign.format(number=in_digits(100 * _LEAST_GAIN))
        return str(words["less"].format(percent=least))
    text = sign.format(number=in_digits(100 * gain, 2, "up"))
    return str(words["percent"].format(percent=text))
