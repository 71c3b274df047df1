"""The words that people read, and the numbers in them: rounded to the side that promises less.

All texts of a language stand in one file, `js/words-en.js` and its siblings, each of which exports
one JSON object; browsers read the same files. Their gaps have names, and nouns stand in all the
forms that a language's own texts ask for. JavaScript (`js/figures.js`) writes the same texts from
numbers that may differ in their last bits: every number is first cut to ten digits, which both
agree on.

The texts of a survey in one language: its own, or its translations of them.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from freewill.core.texts import behind
from freewill.errors import ParameterError, shown

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
_FOLDER = files("freewill").joinpath("device", "js")
_FILE = re.compile(r"words-([a-z]{2,3})\.js")
_ENGLISH = "en"


def read_words(text: str) -> dict[str, Any]:
    """Return what a JavaScript module that exports one JSON object exports.

    >>> read_words('export default {"a": 1}')
    {'a': 1}
    """
    texts: dict[str, Any] = json.loads(text.removeprefix("export default ").rstrip(";\n "))
    return texts


@dataclass(frozen=True, eq=False)
class Words:
    """One language: its texts, by what they are about, and numbers as its readers write them."""

    texts: dict[str, Any] = field(repr=False)

    @property
    def language(self) -> str:
        """The tag of the language, such as "de"."""
        return str(self.texts["language"])

    def say(self, kind: str, room: str, which: str, **gaps: str) -> str:
        """Fill the gaps of a text; people have answers, values or places, by the alphabet's kind.

        >>> words("en").say("grid", "truth", "never")
        'Your report is never your true place.'
        """
        nouns = self.texts["nouns"]
        return str(self.texts[room][which].format(**nouns.get(kind, nouns["linear"]), **gaps))

    def in_digits(self, number: float, digits: int = 2, side: Side = "near") -> str:
        """Return a number in so many digits.

        >>> english = words("en")
        >>> [english.in_digits(number) for number in (1234567.0, 0.0456, 4.0, 1e30, 0.0)]
        ['1,200,000', '0.046', '4', '1 x 10^30', '0']
        >>> words("de").in_digits(1234.5, 5)
        '1.234,5'
        """
        return "0" if number == 0 else self._written(rounded(number, digits, side))

    def _written(self, value: Decimal) -> str:
        power = value.adjusted()
        if _PLAIN[0] <= power < _PLAIN[1]:
            return self._decimal(value)
        digits = self._decimal(value.scaleb(-power))
        return self.say("", "numbers", "power", digits=digits, exponent=str(power))

    def _decimal(self, value: Decimal) -> str:
        signs = self.texts["numbers"]
        plain = f"{value.normalize():,f}"
        return plain.translate({ord(","): signs["group"], ord("."): signs["point"]})

    def percent(self, chance: float, side: Side = "near") -> str:
        """Return a chance in percent; one next to 0 or 1 is bounded instead.

        >>> english = words("en")
        >>> english.percent(0.1234, "up"), english.percent(0.0123), english.percent(0.9951)
        ('13 %', '1.2 %', '99.5 %')
        >>> english.percent(0.99999), english.percent(1e-9)
        ('more than 99.9 %', 'less than 0.1 %')
        """
        if 0 < chance < _LEAST:
            return self.say("", "numbers", "least_percent", number=self.in_digits(100 * _LEAST))
        if _MOST < chance < 1:
            return self.say("", "numbers", "most_percent", number=self.in_digits(100 * _MOST, 3))
        digits = 3 if chance >= _SEVERAL_NINES else 2
        return self.say("", "numbers", "percent", number=self.in_digits(100 * chance, digits, side))

    def distance(self, length: float, unit: str) -> str:
        """Return a distance, rounded down, with its unit.

        >>> english = words("en")
        >>> [english.distance(far, "year") for far in (4.56, 1.0)], english.distance(0.5, "km")
        (['4.5 years', '1 year'], '0.5 km')
        >>> english.distance(3.0, ""), words("de").distance(4.56, "year")
        ('3', '4,5 Jahre')
        """
        value = Decimal(0) if length == 0 else rounded(length, 2, "down")
        text = "0" if length == 0 else self._written(value)
        return f"{text} {self.unit(unit, value)}" if unit else text

    def unit(self, unit: str, number: float | Decimal) -> str:
        """Return a unit in the form that a number asks for; as it stands, if it is not known.

        >>> words("fr").unit("year", 1.5), words("fr").unit("year", 2), words("fr").unit("dB", 2)
        ('an', 'ans', 'dB')
        """
        every = self.texts["units"].values()
        forms = self.texts["units"].get(unit) or next((f for f in every if f["one"] == unit), None)
        if forms is not None:
            return str(forms[self.form(number)])
        one = self.form(number) == "one" or self.language != _ENGLISH
        return unit if one else behind(unit).strip()

    def form(self, number: float | Decimal) -> Literal["one", "other"]:
        """Return which plural form a number >= 0 asks for, by the rules of CLDR.

        >>> words("en").form(0), words("en").form(1), words("fr").form(0), words("pt").form(1.5)
        ('other', 'one', 'one', 'one')
        """
        below = self.texts["numbers"]["one_below"]
        return "one" if number == 1 or number < below else "other"

    def odds(self, epsilon: float) -> str:
        """Return how many times as likely e^epsilon makes one of two, rounded up.

        >>> english = words("en")
        >>> [english.odds(epsilon) for epsilon in (1e-9, 0.5, 1.0)]
        ['at most 1.0001 times as likely', 'at most 1.65 times as likely',
         'at most 2.8 times as likely']
        """
        if epsilon > _LN_MILLION:
            return self.say("", "odds", "million")
        if epsilon >= math.log(2):
            return self.say("", "odds", "times", times=self.in_digits(math.exp(epsilon), 2, "up"))
        # Two digits of what is beyond 1.
        gain = rounded(max(math.expm1(epsilon), _LEAST_GAIN), 2, "up")
        return self.say("", "odds", "times", times=self._written(1 + gain))


def languages() -> list[str]:
    """Return the tags of the languages that there are texts in.

    >>> languages()
    ['de', 'en', 'es', 'fr', 'it', 'pt']
    """
    matches = (_FILE.fullmatch(file.name) for file in _FOLDER.iterdir())
    return sorted(match[1] for match in matches if match)


def words(language: str = _ENGLISH) -> Words:
    """Return the texts of a language, by its tag; of "de-CH", those of "de".

    >>> words("pt-BR").language
    'pt'
    >>> words("eo")
    Traceback (most recent call last):
    freewill.errors.ParameterError: language='eo': there are texts in de, en, es, fr, it, pt.
    """
    own = language.lower().partition("-")[0] if isinstance(language, str) else ""
    if own not in languages():
        available = ", ".join(languages())
        raise ParameterError(f"language={shown(language)}: there are texts in {available}.")
    return _words(own)


@cache
def _words(language: str) -> Words:
    english, own = (
        read_words(_FOLDER.joinpath(f"words-{name}.js").read_text(encoding="utf-8"))
        for name in (_ENGLISH, language)
    )
    return Words(over(english, own))


def over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return texts over those of another language, which stand in where one is missing.

    >>> over({"a": {"b": "but", "c": "cat"}}, {"a": {"b": "aber"}})
    {'a': {'b': 'aber', 'c': 'cat'}}
    """

    def text(name: str) -> Any:
        low, high = below.get(name), above.get(name, below.get(name))
        return over(low, high) if isinstance(low, dict) and isinstance(high, dict) else high

    return {name: text(name) for name in below | above}


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


@dataclass(frozen=True, eq=False)
class ShownTexts:
    """What people read of a survey, and the words around it."""

    words: Words
    title: str
    question: str
    descriptions: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def survey_texts(survey: Any, language: str | None = None) -> ShownTexts:
    """Return the texts of a survey, or of several questions, in a language.

    Without a language it is the survey's own; words that there are not in it are English. Where the
    survey does not translate a text it stands as it is.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> german = {"question": "Rauchen Sie?", "labels": {"yes": "ja", "no": "nein"}}
    >>> asked = fw.Survey(votes, {"k": fw.KRR(votes, 1.0)}, question="Do you smoke?",
    ...                   translations={"de": german})
    >>> told = survey_texts(asked, "de-AT")
    >>> told.question, told.labels["yes"], told.words.language
    ('Rauchen Sie?', 'ja', 'de')
    """
    own = survey.language or "en"
    translated = own.lower().partition("-")[0] in languages()
    said = words(language) if language is not None else words(own if translated else "en")
    given = _nearest(survey.translations, language or own)
    return ShownTexts(
        said,
        title=given.get("title") or survey.title or "",
        question=given.get("question") or getattr(survey, "question", None) or "",
        descriptions={**getattr(survey, "descriptions", {}), **given.get("descriptions", {})},
        names=given.get("names", {}),
        labels=given.get("labels", {}),
    )


def _nearest(translations: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return the translation for this tag, or for another tag of its language."""
    tags = {tag.lower(): tag for tag in translations}
    wanted, base = language.lower(), language.lower().partition("-")[0]
    near = [tag for tag in tags if tag.partition("-")[0] == base]
    nearest = next((tag for tag in (wanted, base, *near) if tag in tags), None)
    return {} if nearest is None else translations[tags[nearest]]
