"""What a survey says, shows and sends: texts, pictures, its short name, and how long messages are.

Texts may be mended while people answer: none of them is part of what the id of a survey hashes. How
long a message is, by which a device sends a report, and how long it may wait follow from the survey
alone: who sees messages pass, even if not what they say, learns neither what was chosen nor what
was reported.
"""

import base64
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self, TypeAlias

from freewill.core.texts import (
    LONGEST_ID,
    LONGEST_TEXT,
    LONGEST_TITLE,
    SHORTEST_ID,
    checked_text,
    same_look,
    written_json,
)
from freewill.core.types import Spec, is_number
from freewill.domain.alphabets.base import Alphabet, attributes_of, checked_integer
from freewill.domain.maps import (
    BACKGROUND_BYTES,
    DEGREES,
    FARTHEST,
    Feature,
    check_features,
    read_features,
)
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import SurveyError, raised_as, several, shown

PERIODS = ("day", "week", "month", "none")
LOGO_BYTES = 1 << 16
_LENGTHS = {
    "title": (1, LONGEST_TITLE),
    "question": (1, LONGEST_TEXT),
    "question_id": (SHORTEST_ID, LONGEST_ID),
    "introduction": (1, 4000),
    "contact": (1, LONGEST_TITLE),
    "consent": (1, LONGEST_TEXT),
}
_ADDRESS = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
_SHORTEST_NAME, _LONGEST_NAME = 2, 60
_LONGEST_SLUG = 40
"""Of a name that is made of a text: it is to be read out, and typed."""
_ID = re.compile("[0-9a-f]{32}")
_SHOWN = 8
_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_MOST_LANGUAGES = 100
_TRANSLATED = ("title", "question", "introduction", "contact", "consent")
WHOLE = ("name", "period", "introduction", "contact", "consent", "logo", "language")
"""Fields that a survey of several questions has once, and none of its questions."""
ADDED = (*WHOLE, "translations", "background")
"""The fields of `SurveyTexts`, in the order of a file."""
_DATA = re.compile(r"data:image/([a-z+]+);base64,([A-Za-z0-9+/]+={0,2})")
_BEGINS = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff", "webp": b"RIFF"}
"""The first bytes of pictures, by which a browser tells what they are; an SVG may begin anyhow."""

Offered: TypeAlias = Mapping[str, list[str]]
"""The names for which there may be texts, by the field that has these."""


@dataclass(frozen=True, kw_only=True)
class SurveyTexts:
    """What surveys of one question and of several have beside alphabet and mechanisms.

    `name` stands in addresses (`/s/commute`) and stays while texts are mended. By `period`, a day,
    a week (also if left out), a month or "none", the collector keeps counts apart. `language` is
    that of the survey's own texts, and `translations` has them in others, with the `names` of
    mechanisms and the `labels` of values as people are shown them; what is sent stays as it is.
    `logo` is a picture as a data: address, `background` what lies under the cells of a map
    (docs/surveys.md).
    """

    name: str | None = None
    period: str | None = None
    introduction: str | None = None
    contact: str | None = None
    consent: str | None = None
    logo: str | None = None
    language: str | None = None
    translations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    background: Mapping[str, Any] | None = None

    def _check_added(self, alphabet: Alphabet, mechanisms: Iterable[str]) -> None:
        """Check the fields above, of a survey over an alphabet with mechanisms of these names."""
        checked_name(self.name)
        if self.period is not None and self.period not in PERIODS:
            raise SurveyError(f"period={shown(self.period)}: expected {listed(PERIODS)}.")
        for name in _LENGTHS:
            checked_words(getattr(self, name), name)
        if self.logo is not None:
            checked_picture(self.logo, "logo", LOGO_BYTES, ("png", "jpeg", "webp", "svg+xml"))
        if self.language is not None:
            _check_language(self.language, "language")
        background = checked_background(self.background, alphabet)
        named = [*mechanisms]
        by_field = {"descriptions": named, "names": named, "labels": [*alphabet.labels]}
        translations = _translations(self.translations, self.language, by_field)
        vars(self).update(background=background, translations=translations)

    def _added(self) -> Spec:
        """Return the fields above that were given, ready for JSON."""
        fields = {name: getattr(self, name) for name in ADDED}
        fields["translations"] = {tag: dict(words) for tag, words in self.translations.items()}
        fields["background"] = self.background and dict(self.background)
        return {name: what for name, what in fields.items() if what is not None and what != {}}


def checked_name(given: Any) -> None:
    """Refuse a short name that could not stand in an address, or could be an id.

    >>> checked_name("commute")
    >>> checked_name("How we travel")
    Traceback (most recent call last):
    freewill.errors.SurveyError: name='How we travel': expected 2 to 60 small letters a to z, ...
    """
    if given is None:
        return
    fits = isinstance(given, str) and _SHORTEST_NAME <= len(given) <= _LONGEST_NAME
    if not fits or not _ADDRESS.fullmatch(given) or _ID.fullmatch(given):
        raise SurveyError(
            f"name={shown(given)}: expected {_SHORTEST_NAME} to {_LONGEST_NAME} small letters a to "
            f"z, digits and single hyphens between them, such as 'commute-2026', and no id."
        )


def slug(text: str) -> str:
    """Return a short name made of a text, its first words in letters that addresses have.

    >>> slug("Wie kommen Sie zur Arbeit?"), slug("Où êtes-vous né ?"), slug("?")
    ('wie-kommen-sie-zur-arbeit', 'ou-etes-vous-ne', '')
    """
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", plain)
    while len("-".join(words)) > _LONGEST_SLUG:
        words.pop()
    name = "-".join(words)
    return name if len(name) >= _SHORTEST_NAME and not _ID.fullmatch(name) else ""


def checked_words(given: Any, name: str, what: str = "") -> None:
    r"""Refuse a text of a survey that cannot be shown to people; the introduction may have lines.

    >>> checked_words("Who we are.\n\nWhat we ask.", "introduction")
    >>> checked_words("a\nb", "contact")
    Traceback (most recent call last):
    freewill.errors.SurveyError: contact 'a\nb': '\n' is a control character, a line end or ...
    """
    if given is None:
        return
    called, lines, (shortest, longest) = what or name, [given], _LENGTHS[name]
    if name == "introduction" and isinstance(given, str):
        if len(given) > longest:
            many = several(len(given), "character")
            raise SurveyError(f"{called} has {many}: expected at most {longest:,}.")
        lines = [line for line in given.split("\n") if line] or [""]
    for line in lines:
        checked_text(line, called, longest, SurveyError, shortest)


def _check_language(given: Any, what: str) -> None:
    if not (isinstance(given, str) and _LANGUAGE.fullmatch(given)):
        raise SurveyError(f"{what} {shown(given)}: expected a tag such as 'de' or 'pt-BR'.")


def _translations(given: Any, own: str | None, offered: Offered) -> Mapping[str, Any]:
    """Return the translations after checking their texts, and those by what is offered."""
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, Mapping) or len(given) > _MOST_LANGUAGES:
        raise SurveyError(
            f"translations={shown(given)}: expected texts by language, of at most "
            f"{_MOST_LANGUAGES}, such as {{'de': {{'question': 'Wie alt sind Sie?'}}}}."
        )
    checked = {}
    for tag, words in given.items():
        _check_language(tag, "translation into")
        if tag == own:
            raise SurveyError(
                f"a translation into {tag!r}, the survey's own language: leave one of them out."
            )
        checked[tag] = _translation(words, tag, offered)
    return MappingProxyType(checked)


def _translation(given: Any, tag: str, offered: Offered) -> Mapping[str, Any]:
    fields = (*_TRANSLATED, *offered)
    if not isinstance(given, Mapping):
        raise SurveyError(f"translation {tag!r} is {shown(given)}: expected texts by their names.")
    for name, words in given.items():
        what = f"translation {tag!r}: {name}"
        if name not in fields:
            raise SurveyError(f"translation {tag!r} of {shown(name)}: expected {listed(fields)}.")
        if name in _TRANSLATED:
            checked_words("" if words is None else words, name, what)
        else:
            _check_shown(words, what, offered[name], unlike=name != "descriptions")
    plain = {n: dict(words) if isinstance(words, Mapping) else words for n, words in given.items()}
    return MappingProxyType(plain)


def _check_shown(given: Any, what: str, offered: list[str], *, unlike: bool) -> None:
    """Refuse texts for anything else than is offered, and ones that people could not tell apart."""
    if not isinstance(given, Mapping):
        raise SurveyError(f"{what} {shown(given)}: expected an object of texts.")
    for key, text in given.items():
        if key not in offered:
            expected = f"expected {listed(offered)}" if offered else "there are none"
            raise SurveyError(f"{what} of {shown(key)}, which is not on offer: {expected}.")
        checked_text(text, f"{what} of {key!r}:", LONGEST_TEXT, SurveyError)
    if unlike:
        check_unlike(offered, f"{what}: ", given)


def check_unlike(names: Iterable[str], what: str = "", texts: Mapping[str, str] = {}) -> None:
    """Refuse names, or the texts that are shown for them, that people could not tell apart."""
    looks: dict[str, str] = {}
    for name in names:
        if (other := looks.setdefault(same_look(texts.get(name, name)), name)) != name:
            raise SurveyError(f"{what}{other!r} and {name!r} look the same to people: rename one.")


def listed(names: Iterable[str]) -> str:
    """Show a few of the names.

    >>> listed(["a", "b"])
    "one of 'a', 'b'"
    """
    some = list(names)
    return f"one of {', '.join(map(repr, some[:_SHOWN]))}{', ...' if len(some) > _SHOWN else ''}"


def checked_picture(given: Any, what: str, most: int, kinds: tuple[str, ...]) -> str:
    """Return a picture as a data: address after checking its form and its size.

    >>> checked_picture("data:image/png;base64,iVBORw0KGgo=", "logo", 1 << 16, ("png",))[:14]
    'data:image/png'
    >>> checked_picture("logo.png", "logo", 1 << 16, ("png", "jpeg"))
    Traceback (most recent call last):
    freewill.errors.SurveyError: logo 'logo.png': expected a picture as 'data:image/png;base64,...'
    (png or jpeg), of at most 64 KiB.
    """
    form = _DATA.fullmatch(given) if isinstance(given, str) else None
    good = (
        form is not None
        and form[1] in kinds
        and len(form[2]) % 4 == 0
        and len(form[2]) // 4 * 3 <= most
        and base64.b64decode(form[2][:16]).startswith(_BEGINS.get(form[1], b""))
    )
    if not good:
        raise SurveyError(
            f"{what} {shown(given)}: expected a picture as 'data:image/{kinds[0]};base64,...' "
            f"({', '.join(kinds[:-1])} or {kinds[-1]}), of at most {most >> 10} KiB."
        )
    return str(given)


def checked_background(given: Any, alphabet: Alphabet) -> Mapping[str, Any] | None:
    """Return the background of a survey of places after checking it.

    >>> import freewill as fw
    >>> town = fw.Grid(columns=2, rows=2, cell=1.0)
    >>> districts = {"type": "FeatureCollection", "features": []}
    >>> dict(checked_background({"geojson": districts}, town)) == {"geojson": districts}
    True
    """
    if given is None:
        return None
    kinds = [kind for kind in ("geojson", "image") if isinstance(given, Mapping) and kind in given]
    fields = {"attribution", *kinds, *(["bounds"] if kinds == ["image"] else [])}
    if len(kinds) != 1 or not set(given) <= fields:
        raise SurveyError(
            f"background={shown(given)}: expected {{'geojson': ...}} or {{'image': ..., 'bounds': "
            f"[south, north, west, east]}} and, if you like, attribution. See docs/surveys.md."
        )
    if attributes_of(alphabet) or len(alphabet.axes) != 2:
        raise SurveyError(f"a background over {alphabet}: only the cells of a grid have one.")
    try:
        size = len(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise SurveyError("background: expected what JSON can hold, in finite numbers.") from None
    if size > BACKGROUND_BYTES:
        many = several(size, "byte")
        raise SurveyError(f"background of {many}: at most {BACKGROUND_BYTES:,}. Simplify it.")
    if given.get("attribution") is not None:
        checked_text(given["attribution"], "attribution", LONGEST_TITLE, SurveyError)
    if kinds == ["image"]:
        checked_picture(given["image"], "background", BACKGROUND_BYTES, ("png", "jpeg", "webp"))
        _check_box(given.get("bounds"))
    else:
        earth = alphabet.axes[0] == "lat"
        check_features(given["geojson"], *([DEGREES] if earth else []))
    return MappingProxyType(dict(given))


def _check_box(given: Any) -> None:
    numbers = isinstance(given, list | tuple) and len(given) == 4 and all(map(is_number, given))
    near = numbers and all(abs(number) <= FARTHEST for number in given)
    if not near or not (given[0] < given[1] and given[2] < given[3]):
        raise SurveyError(
            f"bounds={shown(given)} of a background: expected [south, north, west, east], or "
            f"[bottom, top, left, right] in km on a plane, as numbers that rise."
        )


@dataclass(frozen=True, eq=False)
class Background:
    """What lies under a map, ready to be drawn: features, or a picture and where it lies.

    Positions are (longitude, latitude) in a box, else kilometres east and north; so is the box of a
    picture, (left, right, bottom, top).

    >>> import freewill as fw
    >>> square = [[[0, 0], [1, 0], [1, 1], [0, 0]]]
    >>> feature = {"type": "Feature", "properties": {"name": "Old Town"},
    ...            "geometry": {"type": "Polygon", "coordinates": square}}
    >>> town = {"geojson": {"type": "FeatureCollection", "features": [feature]}}
    >>> (own,) = Background.of(town, fw.Grid(2, 2, cell=1.0)).features
    >>> own.kind, own.name, own.parts[0].shape
    ('area', 'Old Town', (4, 2))
    """

    features: tuple[Feature, ...]
    image: bytes | None = None
    box: tuple[float, float, float, float] | None = None
    attribution: str = ""

    @classmethod
    def of(cls, given: Any, alphabet: Alphabet) -> Self:
        """Read the background of a survey after checking it."""
        checked = checked_background(given, alphabet)
        if checked is None:
            raise SurveyError("background=None: expected one, as a survey has it.")
        attribution = str(checked.get("attribution") or "")
        if "geojson" in checked:
            return cls(read_features(checked["geojson"]), attribution=attribution)
        bottom, top, left, right = map(float, checked["bounds"])
        image = base64.b64decode(checked["image"].partition(",")[2])
        return cls((), image, (left, right, bottom, top), attribution)


MOST_SECONDS = 7 * 24 * 3600
"""Within which a report is sent: a week."""


def message_bytes(menus: Mapping[str, Mapping[str, Mechanism]]) -> int:
    """Return how long messages are: as long as the longest, from what each question offers.

    A survey of one question has one without a name.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["None", "Liberal Democrats"])
    >>> message_bytes({"": {"open": fw.Identity(votes), "protected": fw.KRR(votes, 1.0)}})
    100
    """
    rows = {name: max(map(_longest, menu.items()), key=len) for name, menu in menus.items()}
    whole: Any = {"mechanism": rows, "value": dict.fromkeys(rows, ""), "report_id": "0" * 32}
    if [*rows] == [""]:
        whole |= {"mechanism": rows[""], "value": ""}
    return len(written_json(whole))


def _longest(offer: tuple[str, Mechanism]) -> str:
    """Return as many letters as name and report take: JSON writes one of their bytes as one."""
    name, mechanism = offer
    longest = getattr(mechanism.output_space, "longest", None)
    if longest is None:
        raise SurveyError(
            f"mechanism {name!r}: nobody knows how long its reports are, and by their length they "
            f"would tell what they are. Give {type(mechanism.output_space).__name__} a `longest`: "
            f"docs/new-mechanism.md."
        )
    return "0" * (len(written_json(name)) - 2 + int(longest))


def checked_send_within(given: Any) -> int | None:
    """Return within how many seconds a device sends, after checking it.

    >>> checked_send_within(600), checked_send_within(None)
    (600, None)
    >>> checked_send_within(0)
    Traceback (most recent call last):
    freewill.errors.SurveyError: send_within=0: must be an integer >= 1.
    """
    if given is None:
        return None
    with raised_as(SurveyError):
        seconds = checked_integer("send_within", given, 1)
    if seconds > MOST_SECONDS:
        raise SurveyError(
            f"send_within={shown(given)}: must be at most {MOST_SECONDS:,} seconds, a week."
        )
    return seconds
