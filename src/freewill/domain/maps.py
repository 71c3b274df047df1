"""Maps as GeoJSON, districts, water, streets and places; and a grid with what lies under it."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.core.texts import LONGEST_TITLE, checked_text, is_whole_text
from freewill.core.types import BoolArray, FloatArray, is_number
from freewill.domain.alphabets.grid import MOST_CELLS, Grid, kilometres_per_degree
from freewill.errors import AlphabetError, ParameterError, SurveyError, printable, several, shown

KINDS = ("area", "water", "road", "place")
DEGREES = (180.0, 90.0)
FARTHEST = 1e6
"""Degrees or kilometres: more than the earth has."""
_DEPTHS = {
    "Point": 0,
    "MultiPoint": 1,
    "LineString": 0,
    "MultiLineString": 1,
    "Polygon": 1,
    "MultiPolygon": 2,
}
"""How deep the points, lines and rings of a geometry lie in lists."""
_OWN_KIND = {"Point": "place", "LineString": "road", "Polygon": "area"}
_LEAST = {"Point": 1, "LineString": 2, "Polygon": 4}
"""Positions; the last of a ring is the first."""
_MOST_FEATURES = 20_000
BACKGROUND_BYTES = 1 << 21
"""Of JSON, pictures in it."""
CELLS = 1000
"""Cells of a map about, unless a number or a side is given."""
_NAMES = ("name", "NAME", "Name", "title")
_IN_DEGREES = ("CRS84", "4326", "4258", "4269", "4979")
"""How the names of systems end whose coordinates are degrees, or differ from them by a metre."""
_FINEST = 2000.0
"""A shape is drawn to this part of the map's longer side: half a pixel of a large screen."""
_DIGITS = 5
"""Of a degree: a metre."""
_FARTHEST = 1e9
"""Of numbers that are looked at: metres of any projection, which are then refused by name."""


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
        x, y = point
        return self.form == "Polygon" and bool((_crossings(_sides(self.parts), y) > x).sum() % 2)

    @property
    def positions(self) -> FloatArray:
        """Those of all parts."""
        return np.concatenate(self.parts)


def _sides(rings: Iterable[FloatArray]) -> FloatArray:
    """Return the sides of rings, [side, (x, y of its start, x, y of its end)]."""
    return np.concatenate([np.column_stack([ring[:-1], ring[1:]]) for ring in rings])


def _crossings(sides: FloatArray, y: float) -> Any:
    """Return where sides cross the line of all points with this y."""
    left, low, right, up = sides[(sides[:, 1] > y) != (sides[:, 3] > y)].T
    return left + (y - low) / (up - low) * (right - left)


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
    for points in _parts(geometry):
        if not isinstance(points, list | tuple) or len(points) < _LEAST[own]:
            least = several(_LEAST[own], "position")
            yield f"has {shown(points)} for a {own}: expected {least} or more."
        wrong = [one for one in points if not _is_position(one, most)]
        if wrong:
            far = f"up to {most[0]:g} and {most[1]:g} to either side"
            yield f"has the position {shown(wrong[0])}: expected [x, y] in finite numbers, {far}."
        if own == "Polygon" and list(points[0])[:2] != list(points[-1])[:2]:
            yield "has a ring that is not closed: its last position must be its first."


def _parts(geometry: Mapping[str, Any]) -> list[Any]:
    """Return the positions of each ring, line or point; None, a fault, where lists end before."""
    parts = [geometry.get("coordinates")]
    for _ in range(_DEPTHS[geometry["type"]]):
        parts = [
            inner
            for part in parts
            for inner in (part if isinstance(part, list | tuple) else [None])
        ]
    return [[part] for part in parts] if geometry["type"].endswith("Point") else parts


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
        kind = properties.get("kind") or _OWN_KIND[form]
        # Positions may have a height beside those that have none.
        parts = (np.array([one[:2] for one in part], np.float64) for part in _parts(geometry))
        features.append(Feature(kind, properties.get("name") or "", form, tuple(parts)))
    return tuple(features)


@dataclass(frozen=True, eq=False)
class MapGrid:
    """A grid over a map, its background, and how many features and positions were left out.

    >>> import freewill as fw
    >>> ring = [[8.0, 47.0], [8.02, 47.0], [8.0, 47.02], [8.0, 47.0]]
    >>> shape = {"type": "Polygon", "coordinates": [ring]}
    >>> area = {"type": "Feature", "properties": {"name": "Old Town"}, "geometry": shape}
    >>> made = fw.map_grid({"type": "FeatureCollection", "features": [area]}, cell=1.0)
    >>> made.unread, made.positions, made.properties
    (0, (4, 4), ('name',))
    """

    grid: Grid
    background: Mapping[str, Any]
    unread: int
    """Features that cannot be drawn: without a geometry, or a collection of several."""
    positions: tuple[int, int]
    """Of all shapes as they were, and as they are drawn."""
    properties: tuple[str, ...]
    """Of the features, one of which may hold their names."""


def map_grid(
    geojson: Any,
    cell: float | None = None,
    cells: int | None = None,
    *,
    mask: bool = True,
    name: str | None = None,
) -> MapGrid:
    """Return a grid of square cells over the areas of a map, and the map as its background.

    `geojson` is a FeatureCollection in degrees (WGS 84, RFC 7946). Features have a `name` and a
    `kind` among their properties: area, water, road or place; without a kind, polygons are areas,
    lines roads and points places. `name` is the property with the names, if it has another. Cells
    have a side of `cell` kilometres, or are about as many as `cells`. With a `mask`, cells that no
    area overlaps are left out: whoever lives in an area, at its very border too, finds their cell.
    The mask is made of the shapes as they are; those that are drawn are simplified to half a pixel,
    and further until a survey may hold them.

    O(positions + cells * areas).

    >>> import freewill as fw
    >>> ring = [[8.0, 47.0], [8.02, 47.0], [8.0, 47.02], [8.0, 47.0]]
    >>> old_town = {"type": "Feature", "properties": {"name": "Old Town"},
    ...             "geometry": {"type": "Polygon", "coordinates": [ring]}}
    >>> made = fw.map_grid({"type": "FeatureCollection", "features": [old_town]}, cell=0.25)
    >>> print(made.grid)
    39 of 7 x 9 cells of 0.249 x 0.25 km
    """
    plain, unread, properties = _plain(geojson, name)
    check_features(plain, (_FARTHEST, _FARTHEST))
    features = read_features(plain)
    areas = [one for one in features if one.kind == "area" and one.form == "Polygon"]
    ends = _bounds(areas or features)
    grid = _grid(ends, _side(cell, cells, ends))
    if mask and areas:
        kept = overlapped(areas, grid)
        grid = Grid(grid.columns, grid.rows, grid.cell, grid.bounds, kept)
    drawn = _simplified(plain, features, grid)
    before, after = (
        sum(len(one.positions) for one in some) for some in (features, read_features(drawn))
    )
    said = geojson.get("attribution") or geojson.get("copyright")
    source = {"attribution": said} if isinstance(said, str) and len(said) <= LONGEST_TITLE else {}
    return MapGrid(grid, {"geojson": drawn, **source}, unread, (before, after), properties)


def _plain(geojson: Any, name: str | None) -> tuple[dict[str, Any], int, tuple[str, ...]]:
    """Return features with names and kinds alone, how many cannot be drawn, and all properties."""
    whole = isinstance(geojson, Mapping) and geojson.get("type") == "FeatureCollection"
    if not whole or not isinstance(geojson.get("features"), list | tuple):
        raise ParameterError(f"map={shown(geojson)}: expected a GeoJSON FeatureCollection.")
    _check_degrees(geojson.get("crs"))
    drawn = [(_properties(one), shape) for one in geojson["features"] if (shape := _shape(one))]
    if not drawn:
        raise ParameterError("the map has no polygons, lines or points: nothing to lay a grid on.")
    properties = tuple(dict.fromkeys(key for own, _ in drawn for key in own))
    if name is not None and name not in properties:
        there = ", ".join(printable(key) for key in properties) or "none"
        raise ParameterError(f"no feature has the property {shown(name)}. There are: {there}.")
    names = _NAMES if name is None else (name,)
    made = [
        {"type": "Feature", "properties": _said(own, names), "geometry": shape}
        for own, shape in drawn
    ]
    left_out = len(geojson["features"]) - len(drawn)
    return {"type": "FeatureCollection", "features": made}, left_out, properties


def _check_degrees(system: Any) -> None:
    """Refuse a map that says itself that its numbers are no degrees."""
    name = _properties(system).get("name")
    if isinstance(name, str) and not name.endswith(_IN_DEGREES):
        raise ParameterError(
            f"the map says that its coordinates are those of {shown(name)}: expected degrees "
            f"(WGS 84, longitude first). Save it again in EPSG:4326."
        )


def _properties(feature: Any) -> Mapping[str, Any]:
    own = feature.get("properties") if isinstance(feature, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _shape(feature: Any) -> dict[str, Any] | None:
    """Return what can be drawn of a feature; parts that have no positions are nothing."""
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or geometry.get("type") == "GeometryCollection":
        return None
    form, nested = geometry.get("type"), geometry.get("coordinates")
    if isinstance(form, str) and form.startswith("Multi") and isinstance(nested, list | tuple):
        nested = [part for part in nested if part != []]
    return None if nested in ([], ()) else {"type": form, "coordinates": nested}


def _said(properties: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """Return the name and the kind of a feature, where they are such; numbers name districts."""
    given: list[Any] = [properties.get(key) for key in names]
    texts = [str(one) if type(one) is int else one for one in given]
    lines = [" ".join(one.split()) for one in texts if is_whole_text(one) and one.strip()]
    shown_name = "".join(letter for letter in lines[0] if letter.isprintable()) if lines else ""
    said = {"name": shown_name[:LONGEST_TITLE]} if shown_name.strip() else {}
    kind = properties.get("kind")
    return {**said, "kind": kind} if kind in KINDS else said


def _bounds(features: Iterable[Feature]) -> FloatArray:
    """Return the least and the largest positions, [(west, south), (east, north)]."""
    every = np.concatenate([one.positions for one in features])
    ends = np.array([every.min(axis=0), every.max(axis=0)])
    if np.any(np.abs(ends) > DEGREES):
        raise ParameterError(
            f"the map reaches from {ends[0].tolist()} to {ends[1].tolist()}: expected degrees of "
            f"longitude and latitude, in this order (WGS 84). Save it again in EPSG:4326."
        )
    if ends[1, 0] - ends[0, 0] > DEGREES[0]:
        raise ParameterError(
            f"the map reaches from {ends[0, 0]:g} to {ends[1, 0]:g} degrees of longitude: expected "
            f"at most 180. A grid does not cross the 180th meridian: keep the areas to one side."
        )
    if np.any(ends[0] >= ends[1]):
        raise ParameterError("the map has no extent: expected areas, lines or several points.")
    return ends


def _lengths(ends: FloatArray) -> FloatArray:
    """Return the kilometres across and along, at the latitude where a degree is longest."""
    (west, south), (east, north) = ends
    nearest = 0.0 if south <= 0 <= north else min(abs(south), abs(north))
    up, across = kilometres_per_degree(nearest)
    return np.array([(east - west) * across, (north - south) * up])


def _side(cell: Any, cells: Any, ends: FloatArray) -> float:
    """Return the side of cells in kilometres."""
    if cell is not None and cells is not None:
        raise ParameterError("a side of cells and a number of them: give one of the two.")
    if cell is None:
        many = CELLS if cells is None else cells
        if not (is_number(many) and 1 <= many <= MOST_CELLS):
            raise ParameterError(
                f"cells={shown(cells)}: expected a number from 1 to {MOST_CELLS:,}."
            )
        return float(np.sqrt(np.prod(_lengths(ends)) / many))
    if not (is_number(cell) and 0 < cell < math.inf):
        raise ParameterError(f"cell={shown(cell)}: expected a side > 0, in km.")
    return float(cell)


def _grid(ends: FloatArray, side: float) -> Grid:
    """Return square cells over a map, with as much room beyond its ends on either side."""
    lengths = _lengths(ends)
    counts = np.maximum(1, np.ceil(lengths / side - 1e-9))
    columns, rows = (int(count) for count in np.minimum(counts, 1e9))
    if columns * rows > MOST_CELLS:
        raise AlphabetError(
            f"{columns:,} x {rows:,} cells of {side:g} km on a map of {lengths[0]:.3g} x "
            f"{lengths[1]:.3g} km: at most {MOST_CELLS:,}. Take larger cells."
        )
    room = (counts * side / lengths - 1) * (ends[1] - ends[0]) / 2
    (west, south), (east, north) = ends + np.array([-room, room])
    if west < -180 or east > 180 or south < -90 or north > 90:
        raise AlphabetError(
            f"cells of {side:g} km reach beyond the edge of the earth's map ({west:.4g}.."
            f"{east:.4g} east, {south:.4g}..{north:.4g} north): take smaller ones."
        )
    box = (float(south), float(north), float(west), float(east))
    return Grid.box(*box, columns=columns, rows=rows)


def overlapped(areas: list[Feature], grid: Grid) -> BoolArray:
    """Return which cells of a box the areas overlap, [row, column].

    A cell that no side of an area crosses lies within it or outside as a whole, as its centre does.

    >>> corner = Feature("area", "", "Polygon", (np.array([[0, 0], [1.2, 0], [0, 0.4], [0, 0]]),))
    >>> overlapped([corner], Grid.box(0, 2, 0, 2, columns=2, rows=2))
    array([[ True,  True],
           [False, False]])
    """
    (south, north), (west, east) = grid.reach
    low, wide = np.array([west, south]), np.array([east - west, north - south])
    counts = np.array([grid.columns, grid.rows])
    kept = np.zeros((grid.rows, grid.columns), dtype=np.bool_)
    middles = np.arange(grid.columns) + 0.5
    for area in areas:
        rings = [(part - low) / wide * counts for part in area.parts]
        for ring in rings:
            here = np.clip(np.floor(ring).astype(np.int64), 0, counts - 1)
            kept[here[:, 1], here[:, 0]] = True
            # Most sides are short, and lie in one cell.
            for place in np.flatnonzero(np.any(here[1:] != here[:-1], axis=1)):
                column, row = _crossed(ring[place], ring[place + 1], counts)
                kept[row, column] = True
        sides = _sides(rings)
        for row in range(grid.rows):
            before = np.searchsorted(np.sort(_crossings(sides, row + 0.5)), middles)
            kept[row] |= before % 2 == 1
    return kept


def _crossed(first: FloatArray, last: FloatArray, counts: Any) -> Any:
    """Return the columns and rows of the cells that a side passes through, in units of cells."""
    cuts = [np.array([0.0, 1.0])]
    for start, end in zip(first.tolist(), last.tolist(), strict=True):
        lines = np.arange(math.ceil(min(start, end)), math.floor(max(start, end)) + 1)
        cuts.append((lines - start) / (end - start) if start != end else np.empty(0))
    shares = np.unique(np.clip(np.concatenate(cuts), 0.0, 1.0))
    middles = first + (shares[1:] + shares[:-1])[:, None] / 2 * (last - first)
    return np.clip(np.floor(middles).astype(np.int64), 0, counts - 1).T


def _simplified(plain: Mapping[str, Any], features: tuple[Feature, ...], grid: Grid) -> Any:
    """Return the features as they are drawn, coarser until a survey may hold them."""
    (south, north), (west, east) = grid.reach
    shape = np.array([grid.columns * grid.cell[0], grid.rows * grid.cell[1]])
    # In units of the longer side, so that both axes count alike.
    scale = shape / shape.max() / np.array([east - west, north - south])
    within = [
        one
        for one, own in zip(plain["features"], features, strict=True)
        if np.all(own.positions.max(axis=0) >= (west, south))
        and np.all(own.positions.min(axis=0) <= (east, north))
    ]
    for doublings in range(8):
        finest = 2.0**doublings / _FINEST
        drawn = [{**one, "geometry": _geometry(one["geometry"], finest, scale)} for one in within]
        collection = {"type": "FeatureCollection", "features": drawn}
        if len(json.dumps(collection)) <= BACKGROUND_BYTES - 1000:
            return collection
    raise ParameterError(
        f"the map has {several(len(within), 'feature')}, too many for a background of "
        f"{several(BACKGROUND_BYTES, 'byte')}. Leave out streets or places that nobody looks for."
    )


def _geometry(geometry: Mapping[str, Any], finest: float, scale: FloatArray) -> dict[str, Any]:
    """Return a geometry with fewer positions, in lists as it was."""
    form, nested = geometry["type"], geometry["coordinates"]

    def thinned(positions: Any) -> Any:
        line = np.array([position[:2] for position in positions], dtype=np.float64)
        return np.round(line[simplified(line * scale, finest)], _DIGITS).tolist()

    def area(rings: Any) -> Any:
        large = [ring for ring in map(thinned, rings) if len(ring) >= _LEAST["Polygon"]]
        # What is smaller than a pixel keeps its positions: it has a name, perhaps.
        return large if len(thinned(rings[0])) >= _LEAST["Polygon"] else [rounded(rings[0])]

    def rounded(positions: Any) -> Any:
        return np.round(np.array(positions, dtype=np.float64)[..., :2], _DIGITS).tolist()

    ways: dict[str, Any] = {"LineString": thinned, "Polygon": area}
    way = ways.get(form.removeprefix("Multi"), rounded)
    return {"type": form, "coordinates": list(map(way, nested)) if "Multi" in form else way(nested)}


def simplified(line: FloatArray, finest: float) -> Any:
    """Return the places of positions that keep a line within a distance of what it was.

    Douglas and Peucker 1973: the position furthest from the chord is kept if it is further than
    that, and both halves are looked at in turn. A ring is cut at the position furthest from its
    first.

    >>> simplified(np.array([[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [2.0, 2.0]]), 0.1)
    array([0, 2, 3])
    """
    last = len(line) - 1
    chosen = np.zeros(len(line), dtype=np.bool_)
    chosen[[0, last]] = True
    spans = [(0, last)]
    while spans:
        first, end = spans.pop()
        if end - first < 2:
            continue
        chord, inner = line[end] - line[first], line[first + 1 : end] - line[first]
        length = math.hypot(*chord)
        cross = np.abs(chord[0] * inner[:, 1] - chord[1] * inner[:, 0])
        away = cross / length if length else np.hypot(*inner.T)
        furthest = int(np.argmax(away))
        if away[furthest] > finest:
            middle = first + 1 + furthest
            chosen[middle] = True
            spans += [(first, middle), (middle, end)]
    return np.flatnonzero(chosen)
