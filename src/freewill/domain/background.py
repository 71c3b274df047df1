"""What lies under the cells of a map: districts, rivers and streets as GeoJSON, or a picture."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.core.types import is_number
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.errors import SurveyError, several, shown

BACKGROUND_BYTES = 1 << 21
"""Of JSON, pictures in it."""
_DATA = re.compile(r"data:image/([a-z+]+);base64,([A-Za-z0-9+/]+={0,2})")
_KINDS = ("geojson", "image")
_FARTHEST = 1e6
"""Degrees or kilometres: more than the earth has."""


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
    if form is None or form[1] not in kinds or len(form[2]) % 4 or len(form[2]) // 4 * 3 > most:
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
    except (TypeError, ValueError):
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
        _check_features(given["geojson"])
    return MappingProxyType(dict(given))


def _check_box(given: Any) -> None:
    numbers = isinstance(given, list | tuple) and len(given) == 4 and all(map(is_number, given))
    near = numbers and all(abs(number) <= _FARTHEST for number in given)
    if not near or not (given[0] < given[1] and given[2] < given[3]):
        raise SurveyError(
            f"bounds={shown(given)} of a background: expected [south, north, west, east], or "
            f"[bottom, top, left, right] in km on a plane, as numbers that rise."
        )


def _check_features(given: Any) -> None:
    whole = isinstance(given, Mapping) and given.get("type") == "FeatureCollection"
    if not whole or not isinstance(given.get("features"), list):
        raise SurveyError(f"geojson={shown(given)}: expected a FeatureCollection.")
