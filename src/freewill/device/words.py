"""The words that people read, and the numbers in them: rounded to the side that promises less.

Templates stand once for both languages, in `js/words.js`, which holds JSON; their gaps have names,
so that they can be translated. JavaScript (`js/figures.js`) writes the same texts from numbers that
may differ in their last bits: every number is first cut to ten digits, which both agree on.
"""

import json
import math
import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from importlib.resources import files
from typing import Any, Literal

from freewill.core.texts import behind

Side = Literal["near", "up", "down"]
_ROUNDING = {"near": ROUND_HALF_UP, "up": ROUND_UP, "down": ROUND_DOWN}
_AGREED = 10
_PLAIN = (-5, 15)
"""Powers of ten that are written out."""
_SEVERAL_NINES = 0.9
"""Chances from here on are written with three digits."""
_LEAST, _MOST = 0.001, 0.999
"""Chances beyond are written as less than this, or more than that."""
_LN_MILLION = math.log(1e6)
_LEAST_GAIN = 1e-4
_LONGEST = 30
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Characters that steer a screen, or that nobody sees."""


def read_words(text: str) -> dict[str, Any]:
    """Return what a JavaScript module that exports one JSON object exports.

    >>> read_words('export default {"a": 1}')
    {'a': 1}
    """
    words: dict[str, Any] = json.loads(text.removeprefix("export default ").rstrip(";\n "))
    return words


WORDS = read_words(
    files("freewill").joinpath("device", "js", "words.js").read_text(encoding="utf-8")
)
"""Templates by what they are about."""


def say(kind: str, room: str, which: str, **gaps: str) -> str:
    """Fill the gaps of a template; people have answers, values or places, by the alphabet's kind.

    >>> say("grid", "truth", "never")
    'Your report is never your true place.'
    """
    nouns = WORDS["nouns"].get(kind, WORDS["nouns"]["linear"])
    values = {"value": nouns["one"], "values": nouns["many"], "values_up": nouns["up"]}
    return str(WORDS[room][which].format(**values, **gaps))


def shortened(text: str) -> str:
    r"""Return a label as a picture has room for it, harmless on any screen.

    >>> print(shortened("yes"), shortened("\x1b[2J"), shortened("a" * 50))
    yes \ufffd[2J aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
    """
    seen = _UNSEEN.sub("\ufffd", text)
    return seen if len(seen) <= _LONGEST else f"{seen[: _LONGEST - 1]}…"


def rounded(number: float, digits: int, side: Side) -> Decimal:
    """Round a number > 0 to so many digits, from the ten that both languages agree on.

    >>> [str(rounded(n, 2, "up")) for n in (0.12341, 0.1 + 0.2)], str(rounded(999.0, 2, "near"))
    (['0.13', '0.30'], '1.0E+3')
    """
    context = Context(prec=digits, rounding=_ROUNDING[side])
    return context.create_decimal(f"{number:.{_AGREED - 1}e}")


def in_digits(number: float, digits: int = 2, side: Side = "near") -> str:
    """Return a number in so many digits.

    >>> in_digits(1234567.0), in_digits(0.0456), in_digits(4.0), in_digits(1e30), in_digits(0.0)
    ('1,200,000', '0.046', '4', '1 x 10^30', '0')
    """
    if number == 0:
        return "0"
    value = rounded(number, digits, side)
    power = value.adjusted()
    if _PLAIN[0] <= power < _PLAIN[1]:
        return _decimal(value)
    return say("", "numbers", "power", digits=_decimal(value.scaleb(-power)), exponent=str(power))


def _decimal(value: Decimal) -> str:
    signs = WORDS["numbers"]
    plain = f"{value.normalize():,f}"
    return plain.translate({ord(","): signs["group"], ord("."): signs["point"]})


def percent(chance: float, side: Side = "near") -> str:
    """Return a chance in percent; one next to 0 or 1 is bounded instead.

    >>> percent(0.1234, "up"), percent(0.0123), percent(0.9951), percent(0.99999), percent(1e-9)
    ('13 %', '1.2 %', '99.5 %', 'more than 99.9 %', 'less than 0.1 %')
    """
    if 0 < chance < _LEAST:
        return say("", "numbers", "least_percent", number=in_digits(100 * _LEAST))
    if _MOST < chance < 1:
        return say("", "numbers", "most_percent", number=in_digits(100 * _MOST, 3))
    return _percentage(chance, 3 if chance >= _SEVERAL_NINES else 2, side)


def _percentage(share: float, digits: int, side: Side) -> str:
    return say("", "numbers", "percent", number=in_digits(100 * share, digits, side))


def distance(length: float, unit: str) -> str:
    """Return a distance, rounded down, with its unit.

    >>> distance(4.56, "year"), distance(1.0, "year"), distance(0.5, "km"), distance(3.0, "")
    ('4.5 years', '1 year', '0.5 km', '3')
    """
    text = in_digits(length, 2, "down")
    return text + (f" {unit}" if text == "1" and unit else behind(unit))


def odds(epsilon: float) -> str:
    """Return how much likelier e^epsilon makes one of two, rounded up.

    >>> [odds(epsilon) for epsilon in (1e-9, 0.001, 1.0, 5.0)]
    ['less than 0.01 % likelier than the other', 'at most 0.11 % likelier than the other',
     'at most 2.8 times as likely as the other', 'at most 150 times as likely as the other']
    """
    if epsilon > _LN_MILLION:
        return say("", "odds", "million")
    if epsilon >= math.log(2):
        return say("", "odds", "times", times=in_digits(math.exp(epsilon), 2, "up"))
    gain = math.expm1(epsilon)
    which = "less" if gain < _LEAST_GAIN else "percent"
    return say("", "odds", which, percent=_percentage(max(gain, _LEAST_GAIN), 2, "up"))
