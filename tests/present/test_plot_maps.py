"""Maps of grids that leave cells out, over what lies under them; and the same as GeoJSON."""

import base64
import io
import json

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.groups import as_groups, coarser
from freewill.domain.maps import Feature
from freewill.domain.survey_texts import Background
from freewill.present import geojson, plots
from freewill.present.canvas import Ground
from freewill.present.comparison import comparison
from freewill.present.under import LAND, WATER, centre_of, ring_area
from map_cases import TOWN, town_survey

SURVEY = town_survey(0.6)
GRID, UNDER = SURVEY.alphabet, SURVEY.background
THETA = np.arange(1.0, GRID.size + 1) / np.arange(1.0, GRID.size + 1).sum()


def shown(figure, panel=0):
    """The cells of a map, and the texts on it."""
    axes = figure.axes[panel]
    return axes.images[-1].get_array(), [text.get_text() for text in axes.texts]


def test_cells_that_are_left_out_are_blank():
    cells, _ = shown(plots.picture(GRID, {"estimate": THETA}))
    kept = np.zeros(GRID.rows * GRID.columns, dtype=bool)
    kept[GRID.cells] = True
    np.testing.assert_array_equal(cells.mask.ravel(), ~kept)
    np.testing.assert_allclose(cells.compressed(), 100 * THETA)


def test_districts_are_drawn_over_their_cells():
    groups = coarser(GRID, 4)
    cells, _ = shown(plots.picture(GRID, {"estimate": THETA}, merged=groups))
    assert np.unique(cells.compressed()).size == groups.count


def test_the_background_lies_under_translucent_cells_with_its_names():
    from matplotlib.colors import to_hex  # noqa: PLC0415

    figure = plots.picture(GRID, {"estimate": THETA}, background=UNDER)
    axes, (_, names) = figure.axes[0], shown(figure)
    image = axes.images[-1]
    assert image.get_alpha() < 1
    fills = [patch for patch in axes.patches if patch.get_fill()]
    assert len(fills) == 10
    assert all(patch.get_zorder() < image.get_zorder() for patch in fills)
    assert {"Old Harbour", "The Sound", "Lighthouse", "made up"} <= set(names)
    areas = [one for one in Background.of(UNDER, GRID).features if one.form == "Polygon"]
    areas.sort(key=lambda one: -abs(ring_area(one.parts[0])))
    for patch, area in zip(fills, areas, strict=True):
        np.testing.assert_array_equal(patch.get_path().vertices, area.parts[0])
        colour = WATER if area.kind == "water" else LAND
        assert to_hex(patch.get_facecolor()).upper() == colour
    assert axes.get_xlim() == pytest.approx(GRID.reach[1])
    assert axes.get_ylim() == pytest.approx(GRID.reach[0])
    # Cells and shapes share their axes: the name of a district stands in its cells.
    (harbour,) = (text for text in axes.texts if text.get_text() == "Old Harbour")
    areas = [one for one in Background.of(UNDER, GRID).features if one.kind == "area"]
    within = [one.name for one in areas if one.holds(harbour.get_position())]
    assert within == ["Old Harbour"]


def test_names_stand_inside_their_shapes():
    for feature in Background.of({"geojson": TOWN}, GRID).features:
        if feature.form == "Polygon":
            assert feature.holds(centre_of(feature)), feature.name


def test_a_name_stands_as_far_from_all_sides_as_it_can():
    square = [[0, 0], [8, 0], [8, 8], [0, 8], [0, 0]]
    bent = [[0, 0], [8, 0], [8, 2], [2, 2], [2, 16], [0, 16], [0, 0]]
    for ring, middle in ((square, (4, 4)), (bent, (1, 1))):
        area = Feature("area", "Town", "Polygon", (np.array(ring, dtype=float),))
        assert centre_of(area) == middle


def test_a_picture_lies_where_its_box_is():
    from matplotlib.image import imsave  # noqa: PLC0415

    file = io.BytesIO()
    imsave(file, np.zeros((2, 3, 3)), format="png")
    image = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    floor = fw.Grid(4, 2, cell=0.01)
    given = {"image": image, "bounds": [0.0, 0.02, 0.0, 0.04], "attribution": "our shop"}
    figure = plots.picture(floor, {"estimate": np.full(8, 1 / 8)}, background=given)
    below, cells = figure.axes[0].images
    assert below.get_extent() == pytest.approx(cells.get_extent()) == (0, 0.04, 0, 0.02)
    assert below.get_zorder() < cells.get_zorder()


@pytest.mark.later
def test_errors_and_comparisons_are_drawn_over_it_too():
    rng = np.random.default_rng(0)
    mechanism = SURVEY.mechanisms["noise 3"]
    draws = [mechanism.obfuscate(rng.choice(GRID.size, 900, p=THETA), rng) for _ in range(2)]
    one, other = (fw.collect([(mechanism, drawn)]) for drawn in draws)
    groups = coarser(GRID, 5)
    asked = fw.functionals.districts(5, 5)
    sure = fw.intervals(one, of=asked)
    figure = fw.gibu(one).plot(intervals=sure, merged=groups, background=UNDER)
    assert "Old Harbour" in shown(figure, 1)[1]
    compared = fw.compare(one, other, of=asked)
    drawn = comparison(compared, names=["a", "b"], merged=groups, background=UNDER)
    assert "Old Harbour" in shown(drawn)[1]


def test_the_ground_lays_numbers_out_by_cells():
    ground = Ground.of(as_groups(GRID, 1))
    assert (ground.which >= 0).sum() == GRID.size
    assert ground.laid_out(THETA).compressed().tolist() == THETA.tolist()


def test_geojson_has_the_cells_that_are_kept_over_the_background():
    plain = geojson.features(GRID, THETA)["features"]
    assert len(plain) == GRID.size
    assert "layer" not in plain[0]["properties"]
    for index, feature in enumerate(plain):
        ring = np.array(feature["geometry"]["coordinates"][0])
        lat, lon = GRID.decode([index])[0]
        np.testing.assert_allclose((ring[0] + ring[2]) / 2, (lon, lat), atol=1e-8)
        assert feature["properties"]["share"] == THETA[index]
    both = geojson.features(GRID, THETA, background=UNDER)["features"]
    assert [one["properties"]["layer"] for one in both[:: len(both) - 1]] == ["background", "cells"]
    assert both[1]["properties"]["name"] == "Westcliff"
    assert len(both) == len(plain) + len(TOWN["features"])
    assert json.loads(json.dumps(both)) == both
