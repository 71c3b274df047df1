"""What lies under the cells of a map: features (areas, roads, places) of GeoJSON, or a picture."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.core.types import FloatArray, is_number
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.errors import SurveyError, several, shown

KINDS = ("area", "water", "road", "place")
DEGREES = (180.0, 90.0)
FARTHEST = 1e6
"""Degrees or kilometres: more than the earth has."""
_DEPTHS = {
    "Point": 0,
    "MultiPoint": 1,
    "LineString": 1,
    "MultiLineString": 2,
    "Polygon": 2,
    "MultiPolygon": 3,
}
"""How deep the positions of a geometry lie in lists."""
_OWN_KIND = {"Point": "place", "LineString": "road", "Polygon": "area"}
_LEAST = {"Point": 1, "LineString": 2, "Polygon": 4}
_MOST_FEATURES = 20_000
BACKGROUND_BYTES = 1 << 21
"""Of JSON, pictures in it."""
_DATA = re.compile(r"data:image/([a-z+]+);base64,([A-Za-z0-9+/]+={0,2})")
_KINDS = ("geojson", "image")
_BEGINS = {"png": (b"\x89PNG\r\n\x1a\n",), "jpeg": (b"\xff\xd8\xff",), "webp": (b"RIFF",)}
"""The first bytes of pictures, by which a browser tells what they are."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One thing on a map: rings of an area, lines, or points, each as positions [n, (x, y)]."""

    kind: str
    name: str
    form: str
    """Polygon, LineString or Point."""
    parts: tuple[FloatArray, ...]

    def holds(self, point: Any) -> bool:
        """Say whether a point lies within the rings: a half-line from it crosses them oddly often.

        >>> ring = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 0.0]])
        >>> town = Feature("area", "Town", "Polygon", (ring,))
        >>> town.holds((1.5, 0.5)), town.holds((0.5, 1.5))
        (True, False)
        """
        if self.form != "Polygon":
            return False
        (x, y), crossings = point, 0
        for ring in self.parts:
            (left, low), (right, up) = ring[:-1].T, ring[1:].T
            across = (low > y) != (up > y)
            at = left[across] + (y - low[across]) / (up - low)[across] * (right - left)[across]
            crossings += int((at > x).sum())
        return crossings % 2 == 1


def check_features(given: Any, most: tuple[float, float] = (FARTHEST, FARTHEST)) -> None:
    """Refuse what is no FeatureCollection of features that can be drawn, up to `most` of each axis.

    >>> check_features({"type": "FeatureCollection", "features": [{"type": "Point"}]})
    Traceback (most recent call last):
    freewill.errors.SurveyError: feature 0 of the map is {'type': 'Point'}: expected a Feature ...
    """
    whole = isinstance(given, Mapping) and given.get("type") == "FeatureCollection"
    if not whole or not isinstance(given.get("features"), list | tuple):
        raise SurveyError(f"geojson={shown(given)}: expected a FeatureCollection.")
    if len(given["features"]) > _MOST_FEATURES:
        many = several(len(given["features"]), "feature")
        raise SurveyError(f"a map of {many}: at most {_MOST_FEATURES:,}. Leave some out.")
    for number, feature in enumerate(given["features"]):
        fault = next(_faults(feature, most), "")
        if fault:
            raise SurveyError(f"feature {number} of the map {fault}")
        name = (feature.get("properties") or {}).get("name")
        if name is not None:
            checked_text(name, f"name of feature {number} of the map:", LONGEST_TITLE, SurveyError)


def _faults(feature: Any, most: tuple[float, float]) -> Iterator[str]:
    """Say what is wrong with a feature; only the first is sure to be a fault."""
    geometry: Any = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or feature.get("type") != "Feature":
        yield f"is {shown(feature)}: expected a Feature with a geometry."
    properties = feature.get("properties")
    if properties is not None and not isinstance(properties, Mapping):
        yield f"has properties={shown(properties)}: expected an object, such as {{'name': 'Mill'}}."
    kind = (properties or {}).get("kind")
    if kind is not None and kind not in KINDS:
        yield f"is of kind {shown(kind)}: expected one of {', '.join(KINDS)}."
    form = geometry.get("type")
    if not isinstance(form, str) or form not in _DEPTHS:
        yield f"is a {shown(form)}: expected one of {', '.join(_DEPTHS)}."
    own = form.removeprefix("Multi")
    for positions in _positions(geometry.get("coordinates"), _DEPTHS[form] - (own != "Point")):
        points = positions if own != "Point" else [positions]
        if not isinstance(points, list | tuple) or len(points) < _LEAST[own]:
            least = several(_LEAST[own], "position")
            yield f"has {shown(points)} for a {own}: expected {least} or more."
        wrong = [one for one in points if not _is_position(one, most)]
        if wrong:
            far = f"up to {most[0]:g} and {most[1]:g} to either side"
            yield f"has the position {shown(wrong[0])}: expected [x, y] in finite numbers, {far}."
        if own == "Polygon" and list(points[0])[:2] != list(points[-1])[:2]:
            yield "has a ring that is not closed: its last position must be its first."


def _positions(nested: Any, depth: int) -> Iterator[Any]:
    """Yield what lies so deep in lists; what is no list is yielded as it is, and is a fault."""
    if depth == 0:
        yield nested
        return
    if not isinstance(nested, list | tuple):
        yield None
        return
    for inner in nested:
        yield from _positions(inner, depth - 1)


def _is_position(given: Any, most: tuple[float, float]) -> bool:
    numbers = (
        isinstance(given, list | tuple) and 2 <= len(given) <= 3 and all(map(is_number, given))
    )
    return numbers and all(abs(one) <= far for one, far in zip(given, most, strict=False))


def read_features(given: Mapping[str, Any]) -> tuple[Feature, ...]:
    """Return features that were checked, each kind as it is said or as its geometry suggests."""
    features = []
    for feature in given["features"]:
        geometry, properties = feature["geometry"], feature.get("properties") or {}
        form = geometry["type"].removeprefix("Multi")
        deep = _DEPTHS[geometry["type"]] - (form != "Point")
        parts = (np.array(own, dtype=np.float64) for own in _flattened(geometry, deep))
        kind = properties.get("kind") or _OWN_KIND[form]
        shapes = tuple(part.reshape(-1, part.shape[-1])[:, :2] for part in parts)
        features.append(Feature(kind, properties.get("name") or "", form, shapes))
    return tuple(features)


def _flattened(geometry: Mapping[str, Any], depth: int) -> Iterator[Any]:
    for positions in _positions(geometry["coordinates"], depth):
        # Positions may have a height beside those that have none.
        flat = positions if isinstance(positions[0], list | tuple) else [positions]
        yield [position[:2] for position in flat]


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
