"""Grids in boxes: no two cells are further apart in the grid than they are on the earth.

A mechanism that protects a distance in the grid then protects the true one at least as well.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from profiles import examples

SAN_FRANCISCO = (37.7228, 37.7946, -122.5153, -122.3789)
MAJOR, FLATTENING = 6378.137, 1 / 298.257223563


def haversine(one, other, radius=6371.0):
    """Great circle of a sphere, in kilometres; points are (latitude, longitude) in degrees."""
    (south, west), (north, east) = np.radians(one), np.radians(other)
    height, width = np.sin((north - south) / 2) ** 2, np.sin((east - west) / 2) ** 2
    return 2 * radius * np.arcsin(np.sqrt(height + np.cos(south) * np.cos(north) * width))


def vincenty(one, other):
    """Shortest way on the WGS 84 ellipsoid (Vincenty 1975), or NaN between near antipodes."""
    if one == other:
        return 0.0
    minor = (1 - FLATTENING) * MAJOR
    (first, west), (second, east) = np.radians(one), np.radians(other)
    low, high = (math.atan((1 - FLATTENING) * math.tan(lat)) for lat in (first, second))
    apart = math.remainder(east - west, 2 * math.pi)
    turn = apart
    for _ in range(200):
        across = math.cos(high) * math.sin(turn)
        along = math.cos(low) * math.sin(high) - math.sin(low) * math.cos(high) * math.cos(turn)
        sine = math.hypot(across, along)
        cosine = math.sin(low) * math.sin(high) + math.cos(low) * math.cos(high) * math.cos(turn)
        angle = math.atan2(sine, cosine)
        azimuth = math.cos(low) * math.cos(high) * math.sin(turn) / sine
        square = 1 - azimuth**2
        middle = cosine - 2 * math.sin(low) * math.sin(high) / square if square else 0.0
        c = FLATTENING / 16 * square * (4 + FLATTENING * (4 - 3 * square))
        inner = middle + c * cosine * (2 * middle**2 - 1)
        last, turn = turn, apart + (1 - c) * FLATTENING * azimuth * (angle + c * sine * inner)
        if abs(turn - last) < 1e-14:
            break
    else:
        return math.nan
    u = square * (MAJOR**2 - minor**2) / minor**2
    a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    third = middle / 6 * (4 * sine**2 - 3) * (4 * middle**2 - 3)
    change = b * sine * (middle + b / 4 * (cosine * (2 * middle**2 - 1) - b * third))
    return minor * a * (angle - change)


def test_the_oracle_knows_published_distances():
    """Flinders Peak to Buninyong, 54.972271 km: the example of the method's own literature."""
    flinders = (-(37 + 57 / 60 + 3.72030 / 3600), 144 + 25 / 60 + 29.52440 / 3600)
    buninyong = (-(37 + 39 / 60 + 10.15610 / 3600), 143 + 55 / 60 + 35.38390 / 3600)
    assert vincenty(flinders, buninyong) == pytest.approx(54.972271, abs=1e-4)
    assert haversine(flinders, buninyong) == pytest.approx(54.972, rel=5e-3)


def edges(lowest, highest):
    pairs = st.tuples(st.floats(lowest, highest), st.floats(lowest, highest))
    return pairs.map(sorted).filter(lambda pair: pair[1] - pair[0] > 1e-6)


@pytest.mark.slow
@examples(120)
@given(edges(-90, 90), edges(-180, 180), st.integers(1, 9), st.integers(1, 9))
@example([35.0, 71.0], [-10.0, 40.0], 9, 9)
@example([-71.0, -35.0], [-10.0, 40.0], 9, 9)
@example([-20.0, 30.0], [0.0, 60.0], 5, 5)
@example([80.0, 90.0], [-180.0, 180.0], 9, 4)
@example([-90.0, 90.0], [-180.0, 180.0], 9, 9)
@example([60.0, 61.0], [0.0, 179.0], 9, 2)
@example([89.999, 90.0], [0.0, 1.0], 3, 3)
@example([0.0, 1.0], [0.0, 179.0], 9, 1)
def test_no_distance_is_overstated(latitudes, longitudes, columns, rows):
    box = fw.Grid.box(*latitudes, *longitudes, columns=columns, rows=rows)
    centres = [tuple(map(float, centre)) for centre in box.decode(np.arange(box.size))]
    for one in range(box.size):
        for other in range(one):
            grid = float(box.distance(one, other))
            # Rounding of degrees near 180 moves a centre by micrometres.
            assert grid <= haversine(centres[one], centres[other]) * (1 + 1e-9) + 1e-9
            true = vincenty(centres[one], centres[other])
            assert math.isnan(true) or grid <= true * (1 + 1e-9) + 1e-9


@given(st.floats(-65, 65), st.floats(-170, 170), st.floats(0.01, 0.5))
def test_distances_in_cities_are_hardly_understated(south, west, side):
    box = fw.Grid.box(south, south + side, west, west + side, columns=6, rows=6)
    for one, other in ((0, 5), (0, 30), (0, 35), (30, 35)):
        true = vincenty(*(tuple(box.decode(cell)) for cell in (one, other)))
        assert float(box.distance(one, other)) > 0.97 * true


def test_noise_on_a_tall_box_is_enough_for_true_kilometres():
    """Northern Europe, 35 to 71 degrees: the ratio of any output's probabilities, a kilometre."""
    box = fw.Grid.box(35, 71, -10, 30, columns=8, rows=8)
    epsilon = 0.002
    mechanism = fw.PlanarGeometric(box, epsilon)
    logs = mechanism.operator(mechanism.outputs()).log_dense()
    centres = box.decode(np.arange(box.size))
    for one in range(box.size):
        for other in range(one):
            spread = np.abs(logs[:, one] - logs[:, other]).max()
            true = min(
                haversine(centres[one], centres[other]), vincenty(*centres[[one, other]].tolist())
            )
            assert spread <= epsilon * true * (1 + 1e-9)


@pytest.mark.parametrize(
    "cell",
    [500.0, (500.0, 498.0), 0.31, (0.5, 500.0), (500.0, 0.5), 5e-4, (0.4984, 0.52), 1.0, 0.25],
)
def test_a_cell_that_contradicts_its_box_is_refused(cell):
    sides = (cell, cell) if isinstance(cell, float) else cell
    wanted = {"kind": "grid", "columns": 24, "rows": 16, "cell": list(sides)}
    for build in (
        lambda: fw.Grid.box(*SAN_FRANCISCO, columns=24, rows=16, cell=cell),
        lambda: fw.Grid(24, 16, cell, bounds=SAN_FRANCISCO),
        lambda: fw.from_spec(
            {
                **fw.KRR(fw.Grid(2, 2, 1.0), 1.0).spec(),
                "alphabet": {**wanted, "bounds": list(SAN_FRANCISCO)},
            }
        ),
    ):
        with pytest.raises(ValueError, match="contradicts the box") as caught:
            build()
        assert f"{sides[0]:g} x {sides[1]:g} km" in str(caught.value)
        assert "0.499396 x 0.498073 km" in str(caught.value)


@pytest.mark.parametrize("cell", [0.5, (0.5, 0.498), (0.499, 0.5), (0.46, 0.46)])
def test_a_rounded_cell_is_taken(cell):
    assert fw.Grid.box(*SAN_FRANCISCO, columns=24, rows=16, cell=cell).size == 384


def test_a_box_survives_its_description():
    for bounds in (SAN_FRANCISCO, (35, 71, -10, 40), (-90, 90, -180, 180)):
        mechanism = fw.KRR(fw.Grid.box(*bounds, columns=5, rows=4), 1.0)
        assert fw.from_spec(mechanism.spec()) == mechanism


def test_the_cell_follows_from_the_box():
    box = fw.Grid.box(*SAN_FRANCISCO, columns=24, rows=16)
    assert fw.Grid(24, 16, bounds=SAN_FRANCISCO) == box
    spec = {**box.spec(), "bounds": list(SAN_FRANCISCO)}
    del spec["cell"]
    assert fw.alphabet_from_spec(spec) == box
    with pytest.raises(fw.AlphabetError, match="cell=None: must be a side"):
        fw.Grid(24, 16)


def test_a_grid_wider_than_any_number_is_refused():
    with pytest.raises(fw.AlphabetError, match="wider than any number"):
        fw.Grid(20, 20, cell=1e307)
