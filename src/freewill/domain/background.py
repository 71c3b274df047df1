"""What lies under the cells of a map: districts, rivers and streets as GeoJSON, or a picture."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.core.types import FloatArray, is_number
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.features import DEGREES, FARTHEST, Feature, check_features, read_features
from freewill.errors import SurveyError, several, shown

BACKGROUND_BYTES = 1 << 21
"""Of JSON, pictures in it."""
_DATA = re.compile(r"data:image/([a-z+]+);base64,([A-Za-z0-9+/]+={0,2})")
_KINDS = ("geojson", "image")
_BEGINS = {"png": (b"\x89PNG\r\n\x1a\n",), "jpeg": (b"\xff\xd8\xff",), "webp": (b"RIFF",)}
"""The first bytes of pictures, by which a browser tells what they are."""


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
    good = form is not None and form[1] in kinds and len(form[2]) % 4 == 0
    if form is None or not good or len(form[2]) // 4 * 3 > most or not _begins(form[1], form[2]):
        raise SurveyError(
            f"{what} {shown(given)}: expected a picture as 'data:image/{kinds[0]};base64,...' "
            f"({', '.join(kinds[:-1])} or {kinds[-1]}), of at most {most >> 10} KiB."
        )
    return str(given)


def _begins(kind: str, written: str) -> bool:
    """Say whether a picture begins as one of its kind does; an SVG picture may begin in any way."""
    first = base64.b64decode(written[:16])
    return kind not in _BEGINS or any(first.startswith(head) for head in _BEGINS[kind])


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
    kinds = [kind for kind in _KINDS if isinstance(given, Mapping) and kind in given]
    fields = {"attribution", *kinds, *(["bounds"] if kinds == ["image"] else [])}
    if len(kinds) != 1 or not set(given) <= fields:
        raise SurveyError(
            f"background={shown(given)}: expected {{'geojson': ...}} or {{'image': ..., 'bounds': "
            f"[south, north, west, east]}} and, if you like, attribution. See docs/surveys.md."
        )
    if attributes_of(alphabet) or len(alphabet.axes) != len(("east", "north")):
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

    def area_at(self, point: FloatArray) -> str:
        """Return the name of the area that a point lies in, the last that is drawn; "" if none."""
        named = [one for one in self.features if one.kind == "area" and one.name]
        return next((one.name for one in reversed(named) if one.holds(point)), "")
