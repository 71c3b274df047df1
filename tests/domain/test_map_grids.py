"""Grids from maps: the cells that areas overlap, simpler shapes, and what is refused."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain import maps
from freewill.domain.maps import Feature, overlapped, simplified
from freewill.domain.survey_texts import Background, checked_background
from freewill.errors import FreewillError
from map_cases import TOWN
from profiles import examples


def star(rng, many, centre, size):
    """A ring around a centre, of any shape that does not cross itself."""
    turns = np.sort(rng.uniform(0, 2 * np.pi, many))
    lengths = size * rng.uniform(0.3, 1.0, many)
    ring = centre + lengths[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
    return np.concatenate([ring, ring[:1]])


@given(st.integers(0, 10**6), st.integers(3, 12))
@examples(40)
def test_no_cell_with_a_point_of_an_area_is_left_out(seed, many):
    rng = np.random.default_rng(seed)
    grid = fw.Grid.box(0.0, 7.0, 0.0, 9.0, columns=9, rows=7)
    ring = star(rng, many, np.array([4.5, 3.5]), 3.4)
    area = Feature("area", "", "Polygon", (ring,))
    kept = overlapped([area], grid)
    points = rng.uniform((0, 0), (9, 7), (3000, 2))
    inside = np.array([area.holds(point) for point in points])
    column, row = points[inside].astype(int).T
    assert kept[row, column].all()
    # And a cell is kept only for an area: a corner, the middle or a side of it lies within.
    naive = np.zeros_like(kept)
    naive[row, column] = True
    sides = [
        ring[i] + s * (ring[i + 1] - ring[i]) for i in range(many) for s in np.linspace(0, 1, 99)
    ]
    for x, y in sides:
        naive[min(int(y), 6), min(int(x), 8)] = True
    assert not (kept & ~naive).any() or (kept & ~naive).sum() <= 2


def test_the_town_has_its_island_and_no_sea():
    made = fw.map_grid(TOWN, cell=0.25)
    grid = made.grid
    assert grid.cell == pytest.approx((0.25, 0.25), rel=0.01)
    assert grid.encode([(46.204, -4.5145)]).size == 1
    assert grid.encode_inside([(46.203, -4.59)]).dropped == 1
    assert made.background["attribution"] == "made up"
    survey = fw.Survey(grid, {"p": fw.PlanarGeometric(grid, 1.0)}, background=made.background)
    assert fw.Survey.from_spec(json.loads(json.dumps(survey.spec()))) == survey
    before, after = made.positions
    assert after < before / 2
    assert fw.map_grid(TOWN, cell=0.25, mask=False).grid == grid.whole
    many = fw.map_grid(TOWN, cells=500).grid
    assert 450 < many.columns * many.rows < 600


def test_simplified_shapes_stay_within_half_a_pixel():
    made = fw.map_grid(TOWN, cell=0.25)
    whole, drawn = (
        Background.of({"geojson": one}, made.grid).features
        for one in (TOWN, made.background["geojson"])
    )
    (south, north), (west, east) = made.grid.reach
    for one, other in zip(whole, drawn, strict=True):
        assert (one.kind, one.name, one.form) == (other.kind, other.name, other.form)
        for ring, fewer in zip(one.parts, other.parts, strict=True):
            if one.form != "Point":
                shares = np.linspace(0, 1, 200)[:, None, None]
                along = (fewer[:-1] + shares * np.diff(fewer, axis=0)).reshape(-1, 2)
                away = np.abs(ring[:, None] - along) / (east - west, north - south)
                assert np.hypot(*away.min(axis=1).T).max() < 3 / 2000 + 1e-3


@given(st.integers(0, 10**6), st.floats(0.001, 0.5))
@examples(40)
def test_a_line_keeps_its_ends_and_its_course(seed, finest):
    line = np.cumsum(np.random.default_rng(seed).normal(size=(60, 2)), axis=0)
    places = simplified(line, finest)
    assert places[0] == 0
    assert places[-1] == 59
    for first, last in pairwise(places):
        chord = line[last] - line[first]
        left_out = line[first + 1 : last] - line[first]
        cross = np.abs(chord[0] * left_out[:, 1] - chord[1] * left_out[:, 0])
        assert np.all(cross <= finest * np.hypot(*chord) * (1 + 1e-12))


def test_a_map_with_too_many_positions_is_drawn_more_coarsely(monkeypatch):
    monkeypatch.setattr(maps, "BACKGROUND_BYTES", 10_000)
    turns = np.linspace(0, 2 * np.pi, 10_001)
    rough = 1 + 0.02 * np.random.default_rng(0).random(turns.size)
    ring = np.column_stack([8 + 0.1 * rough * np.cos(turns), 47 + 0.1 * rough * np.sin(turns)])
    ring[-1] = ring[0]
    geometry = {"type": "MultiPolygon", "coordinates": [[ring.tolist()]]}
    feature = {"type": "Feature", "properties": {"NAME": " Round\tTown "}, "geometry": geometry}
    nothing = {"type": "Feature", "properties": None, "geometry": None}
    made = fw.map_grid({"type": "FeatureCollection", "features": [feature, nothing]}, cells=100)
    assert made.unread == 1
    assert len(json.dumps(dict(made.background))) < 10_000
    (drawn,) = made.background["geojson"]["features"]
    assert drawn["properties"] == {"name": "Round Town"}
    assert checked_background(made.background, made.grid) is not None


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (3, {}, "expected a GeoJSON FeatureCollection"),
        ({"type": "FeatureCollection", "features": []}, {}, "no polygons, lines or points"),
        (TOWN, {"cell": 0}, "expected a side > 0"),
        (TOWN, {"cell": "1"}, "expected a side > 0"),
        (TOWN, {"cells": 0}, "expected a number from 1"),
        (TOWN, {"cell": 1.0, "cells": 9}, "give one of the two"),
        (TOWN, {"cell": 0.001}, "Take larger cells"),
        (TOWN, {"cell": 30_000.0}, "beyond the edge"),
    ],
)
def test_what_no_grid_can_be_laid_on_is_refused(given, options, words):
    with pytest.raises(FreewillError, match=words):
        fw.map_grid(given, **options)


def test_metres_of_another_projection_are_refused():
    ring = [[680_000, 5_400_000], [681_000, 5_400_000], [681_000, 5_401_000], [680_000, 5_400_000]]
    feature = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}}
    with pytest.raises(FreewillError, match="EPSG:4326"):
        fw.map_grid({"type": "FeatureCollection", "features": [feature]})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("urn:ogc:def:crs:OGC:1.3:CRS84", None),
        ("EPSG:4326", None),
        ("urn:ogc:def:crs:EPSG::31370", "those of 'urn:ogc:def:crs:EPSG::31370'"),
    ],
)
def test_a_map_that_names_its_system_is_believed(name, words):
    given = {**TOWN, "crs": {"type": "name", "properties": {"name": name}}}
    if words is None:
        assert fw.map_grid(given, cell=1.0).grid == fw.map_grid(TOWN, cell=1.0).grid
        return
    with pytest.raises(FreewillError, match=words):
        fw.map_grid(given)


def test_parts_on_both_sides_of_the_180th_meridian_are_refused_by_name():
    west, east = ([[[x, 0], [x + 1, 0], [x, 1], [x, 0]]] for x in (-180, 179))
    island = {"type": "MultiPolygon", "coordinates": [west, east]}
    given = {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": island}]}
    with pytest.raises(FreewillError, match="does not cross the 180th meridian"):
        fw.map_grid(given)


def test_shapes_without_positions_are_left_out():
    empty = [
        {"type": "Feature", "geometry": geometry}
        for geometry in (
            None,
            {"type": "GeometryCollection", "geometries": []},
            {"type": "Point", "coordinates": []},
            {"type": "MultiPolygon", "coordinates": []},
        )
    ]
    made = fw.map_grid({**TOWN, "features": [*empty, *TOWN["features"]]}, cell=1.0)
    assert made.unread == len(empty)
    assert made.grid == fw.map_grid(TOWN, cell=1.0).grid
    ring = TOWN["features"][0]["geometry"]["coordinates"]
    area = {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": [[], ring]}}
    (drawn,) = fw.map_grid({**TOWN, "features": [area]}).background["geojson"]["features"]
    assert len(drawn["geometry"]["coordinates"]) == 1


def test_lines_and_points_alone_make_a_grid_without_a_mask():
    streets = [one for one in TOWN["features"] if one["properties"]["kind"] in ("road", "place")]
    made = fw.map_grid({"type": "FeatureCollection", "features": streets}, cells=50)
    assert made.grid.mask is None
