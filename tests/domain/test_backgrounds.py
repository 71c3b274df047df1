"""What lies under maps: which features and pictures are taken, and what is told of a place."""

import base64

import numpy as np
import pytest

import freewill as fw
from freewill.domain.maps import Feature
from freewill.domain.survey_texts import Background, checked_background
from freewill.errors import SurveyError
from map_cases import TOWN

PLANE, BOX = fw.Grid(3, 2, cell=0.5), fw.Grid.box(46.2, 46.3, -4.6, -4.5, columns=3, rows=2)
RING = [[0, 0], [1, 0], [1, 1], [0, 0]]


def collection(geometry, properties=None):
    feature = {"type": "Feature", "geometry": geometry, "properties": properties}
    return {"geojson": {"type": "FeatureCollection", "features": [feature]}}


def area(coordinates, **properties):
    return collection({"type": "Polygon", "coordinates": coordinates}, properties)


def picture(kind, content):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (area([[[0, 0], [1, 0], [0, 0]]]), "expected 4 positions or more"),
        (area([[[0, 0], [1, 0], [1, 1], [0, 1]]]), "not closed"),
        (area([[[0, 0], [1, 0], ["1", 1], [0, 0]]]), r"position \['1', 1\]"),
        (area([[[0, 0], [1, 0], [1, 2e6], [0, 0]]]), "up to 1e\\+06"),
        (area([[[0, 0], [1, 0], [1], [0, 0]]]), r"position \[1\]"),
        (area(RING), "for a Polygon: expected 4 positions"),
        (area([RING], kind="sea"), "expected one of area, water, road, place"),
        (area([RING], name=3), "not blank"),
        (area([RING], name="a\nb"), "control character"),
        (collection({"type": "Circle", "coordinates": [0, 0]}), "is a 'Circle'"),
        (collection({"type": "GeometryCollection", "geometries": []}), "GeometryCollection"),
        (collection({"type": "Point"}), "position None"),
        (collection({"type": "MultiPoint", "coordinates": 3}), "position None"),
        (collection({"type": "LineString", "coordinates": [[0, 0]]}), "2 positions or more"),
        (collection(None), "expected a Feature with a geometry"),
        (collection({"type": "Point", "coordinates": [0, 0]}, [3]), "expected an object"),
        ({"geojson": {"type": "FeatureCollection", "features": [3]}}, "expected a Feature"),
        ({"geojson": {"type": "Feature"}}, "expected a FeatureCollection"),
        (
            {"geojson": {"type": "FeatureCollection", "features": [{}] * 20_001}},
            "at most 20,000",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong, words):
    with pytest.raises(SurveyError, match=words):
        checked_background(wrong, PLANE)


def test_positions_in_a_box_are_degrees():
    far = collection({"type": "Point", "coordinates": [4.0, 95.0]})
    assert checked_background(far, PLANE) is not None
    with pytest.raises(SurveyError, match="up to 180 and 90"):
        checked_background(far, BOX)


@pytest.mark.parametrize(
    ("kind", "begins"),
    [("png", b"\x89PNG\r\n\x1a\n"), ("jpeg", b"\xff\xd8\xff\xe0"), ("webp", b"RIFF1234WEBP")],
)
def test_pictures_are_what_they_say(kind, begins):
    box = {"bounds": [0, 1, 0, 1.5]}
    made = Background.of({"image": picture(kind, begins + b"...."), **box}, PLANE)
    assert made.image == begins + b"...."
    assert made.box == (0.0, 1.5, 0.0, 1.0)
    for content in (b"<svg onload='alert(1)'/>", b"GIF89a......", begins[1:] + b"....."):
        with pytest.raises(SurveyError, match="expected a picture"):
            checked_background({"image": picture(kind, content), **box}, PLANE)
    with pytest.raises(SurveyError, match="expected a picture"):
        checked_background({"image": picture("svg+xml", b"<svg/>...."), **box}, PLANE)


def test_kinds_are_told_by_shapes_unless_they_are_named():
    town = Background.of({"geojson": TOWN, "attribution": "us"}, BOX)
    kinds = [one.kind for one in town.features]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "water": 2,
        "area": 9,
        "road": 6,
        "place": 5,
    }
    shapes = {"Point": "place", "LineString": "road", "Polygon": "area"}
    deep = {"Point": [0, 0, 7.5], "LineString": RING, "Polygon": [RING]}
    for form, kind in shapes.items():
        (one,) = Background.of(
            collection({"type": form, "coordinates": deep[form]}), PLANE
        ).features
        assert (one.kind, one.name, one.form) == (kind, "", form)
        assert all(part.shape[1] == 2 for part in one.parts)


def test_a_place_is_in_the_area_that_holds_it():
    town = Background.of({"geojson": TOWN}, BOX)
    areas = [one for one in town.features if one.kind == "area" and one.name]
    for point, expected in (
        ((-4.5565, 46.225), ["Old Harbour"]),
        ((-4.5145, 46.204), ["Gull Island"]),
        ((-4.59, 46.203), []),
    ):
        assert [one.name for one in areas if one.holds(point)] == expected


def test_a_hole_is_outside():
    outer = np.array([[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]], dtype=float)
    lake = np.array([[3, 3], [6, 3], [6, 6], [3, 6], [3, 3]], dtype=float)
    park = Feature("area", "Park", "Polygon", (outer, lake))
    assert park.holds((1, 1))
    assert park.holds((7, 4))
    assert not park.holds((4, 4))
    assert not park.holds((10, 4))
