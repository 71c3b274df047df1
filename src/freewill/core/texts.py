"""Texts from outside, read strictly, and texts for people: numbers, JSON, words and units.

Python's own `float` and `int` also take `4_1`, digits of any script, `nan`, `infinity` and any
white space, and round what has more digits than a double. Here a numeral is what a file of numbers
has: ASCII digits with a sign, a point and an exponent where there are any.
"""

import json
import re
import tomllib
import unicodedata
from collections import Counter
from decimal import Decimal, DecimalException
from typing import Any, NoReturn

from freewill.errors import FreewillError, ParameterError, SurveyError, first_line, several, shown

LONGEST_TITLE = 200
LONGEST_TEXT = 1000
"""Characters of a question, or of the description of a choice."""
SHORTEST_ID, LONGEST_ID = 8, 200
"""Of the id of a question: long enough that two surveys hardly take the same by chance."""

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control characters, marks that turn the direction of writing, halves of characters, line ends."""
_KEPT = "\u200c\u200d\u200e\u200f"
"""Invisible, and part of how some scripts are written: joiners, and marks of direction."""
NEUTRAL = "unit"
"""What a distance counts where nobody has said."""
_LONGEST_UNIT = 30
_NUMERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMERAL = 1000
_LARGEST = 2**63


def is_whole_text(given: Any) -> bool:
    r"""Say whether something is a text that files can hold: one without halves of characters.

    >>> is_whole_text("ü"), is_whole_text("\ud83d"), is_whole_text(7)
    (True, False, False)
    """
    try:
        return isinstance(given, str) and given.encode() is not None
    except UnicodeEncodeError:
        return False


def checked_text(
    given: Any, what: str, longest: int, error: type[FreewillError], shortest: int = 1
) -> str:
    r"""Return a text after checking that it can be shown to people, on one line and whole.

    >>> from freewill.errors import SurveyError
    >>> checked_text("How old are you?", "question", LONGEST_TEXT, SurveyError)
    'How old are you?'
    >>> checked_text("\x1b[2J", "title", LONGEST_TITLE, SurveyError)
    Traceback (most recent call last):
    freewill.errors.SurveyError: title '\x1b[2J': '\x1b' is a control character, a line end or ...
    """
    if not (is_whole_text(given) and given.strip()):
        raise error(f"{what} {shown(given)}: expected a text that is not blank, in whole letters.")
    if not shortest <= len(given) <= longest:
        expected = f"expected {shortest} to {longest:,}."
        raise error(f"{what} {shown(given)} has {several(len(given), 'character')}: {expected}")
    for letter in given:
        if unicodedata.category(letter) in _UNSEEN and letter not in _KEPT:
            raise error(
                f"{what} {shown(given)}: {shown(letter)} is a control character, a line end or "
                f"another mark that nobody sees. Leave it out."
            )
    return str(given)


def same_words(text: str) -> str:
    """Return a text in one spelling of its letters (NFC), with single blanks between its words.

    >>> same_words("  How old  are you? ")
    'How old are you?'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


def same_look(name: str) -> str:
    r"""Return what people see of a name: letters by NFKC, no blanks or marks that nobody sees.

    >>> same_look("care\u200bful ") == same_look("\uff43areful")
    True
    """
    letters = unicodedata.normalize("NFKC", name)
    return "".join(one for one in letters if unicodedata.category(one) not in {*_UNSEEN, "Zs"})


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
    short = plain and len(unit) <= _LONGEST_UNIT
    # Numbers by their category, which freewill.js can ask for too.
    counts = short and any(unicodedata.category(letter).startswith("N") for letter in unit)
    names = short and any(letter.isalpha() or letter in "°%€$£¥" for letter in unit)
    if not short or counts or (unit and not names):
        raise error(
            f"unit={shown(unit)}: expected one word or two that name what the values count, in the "
            f"singular and without a number, such as 'year' or 'km'."
        )
    return str(unit)


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


def number(text: str) -> float | None:
    """Return the finite number that a text is, rounded to a double; None if it is not one.

    >>> number("-0.5"), number("1e-3"), number("1_0"), number("nan"), number("1e999"), number(" 1")
    (-0.5, 0.001, None, None, None, None)
    """
    if len(text) > _LONGEST_NUMERAL or not _NUMERAL.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < float("inf") else None


def whole(text: str) -> int | None:
    """Return the integer of at most 64 bits that a text is, to its last digit; None if it is none.

    >>> whole("41"), whole("41.0"), whole("9007199254740993"), whole("4.5"), whole("1e999")
    (41, 41, 9007199254740993, None, None)
    """
    if len(text) > _LONGEST_NUMERAL or not _NUMERAL.fullmatch(text):
        return None
    try:
        exact = Decimal(text)
        near = -_LARGEST <= exact < _LARGEST
        return int(exact) if near and exact == exact.to_integral_value() else None
    except DecimalException:  # an exponent that nothing can hold
        return None


def written_json(given: Any) -> bytes:
    """Return JSON without blanks, in UTF-8, as JSON.stringify of a browser writes it.

    >>> written_json({"mechanism": "öffentlich", "value": "41"}).decode()
    '{"mechanism":"öffentlich","value":"41"}'
    """
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()


def read_json(content: str | bytes) -> Any:
    """Return what a JSON text says, or raise a ValueError that tells what is wrong with it.

    Python's own reader takes more than JSON has: of a name that stands twice in an object it keeps
    the last, and it knows NaN and Infinity. Bytes are UTF-8, with or without its mark.

    >>> read_json(b'{"epsilon": 1}')
    {'epsilon': 1}
    >>> read_json('{"epsilon": 1, "epsilon": 9}')
    Traceback (most recent call last):
    ValueError: 'epsilon' is named twice in one object: names must differ
    """
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start:,}") from None
    except (json.JSONDecodeError, _FaultError) as error:
        raise ValueError(first_line(error)) from None
    except RecursionError:
        raise ValueError("lists or objects are nested too deep") from None
    except ValueError:  # what Python says of it is how to change a setting of its own
        raise ValueError("an integer of too many digits") from None


class _FaultError(ValueError):
    """What JSON does not have, or what it leaves open."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _FaultError(f"{shown(twice)} is named twice in one object: names must differ")
    return fields


def _no_number(name: str) -> NoReturn:
    raise _FaultError(f"{name} is no number of JSON: expected a finite one, or null")


def parsed(content: bytes, suffix: str) -> Any:
    """Return what a .json or .toml file holds, with or without the mark that says UTF-8.

    >>> parsed(b'{"mechanism": "k-rr", "mechanism": "rappor"}', ".json")
    Traceback (most recent call last):
    freewill.errors.SurveyError: not valid JSON: 'mechanism' is named twice in one object: ...
    """
    if suffix.lower() not in {".json", ".toml"}:
        raise SurveyError(f"suffix {suffix!r}: expected .json or .toml.")
    if not content.strip():
        raise SurveyError("the file is empty. See docs/surveys.md for what a survey holds.")
    try:
        text = content.decode("utf-8-sig")
        return (read_json if suffix.lower() == ".json" else tomllib.loads)(text)
    except UnicodeDecodeError as error:
        raise SurveyError(f"not UTF-8: {error.reason} at byte {error.start:,}.") from None
    except RecursionError:
        fault = "lists or tables are nested too deep"
    except ValueError as error:
        # What Python says of long integers is how to change a setting of its own.
        worded = suffix.lower() == ".json" or isinstance(error, tomllib.TOMLDecodeError)
        fault = first_line(error) if worded else "an integer of too many digits"
    raise SurveyError(f"not valid {suffix[1:].upper()}: {fault}.")
