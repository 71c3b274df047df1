"""Alphabets: numbering, distances, boxes of latitude and longitude, and what they refuse."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import naive_distance
from freewill.domain.alphabets.base import checked_indices, is_line
from freewill.domain.alphabets.grid import kilometres_per_degree

SAN_FRANCISCO = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)

sides = st.floats(0.01, 100.0)
lines = st.builds(
    lambda first, step, size: fw.Linear(first, first + step * (size - 1), step),
    st.integers(-(10**6), 10**6),
    st.integers(1, 1000),
    st.integers(1, 40),
)
grids = st.builds(
    fw.Grid, st.integers(1, 9), st.integers(1, 9), st.one_of(sides, st.tuples(sides, sides))
)
boxes = st.builds(
    lambda south, tall, west, wide, columns, rows: fw.Grid.box(
        south, south + tall, west, west + wide, columns, rows
    ),
    st.floats(-80, 60),
    st.floats(0.01, 20),
    st.floats(-180, 150),
    st.floats(0.01, 30),
    st.integers(1, 9),
    st.integers(1, 9),
)
menus = st.lists(st.text("abcxyz é\n", max_size=5), min_size=1, max_size=20, unique=True).map(
    fw.Categorical
)
alphabets = st.one_of(lines, grids, boxes, menus)


@given(alphabets)
def test_decode_leads_back(alphabet):
    indices = np.arange(alphabet.size)
    np.testing.assert_array_equal(alphabet.encode(alphabet.decode(indices)), indices)
    assert alphabet.encode(alphabet.decode([alphabet.size - 1])).dtype == np.int64


@given(alphabets)
def test_distances_are_the_naive_ones(alphabet):
    size = alphabet.size
    naive = np.array([[naive_distance(alphabet, i, j) for j in range(size)] for i in range(size)])
    np.testing.assert_allclose(fw.distances(alphabet), naive, rtol=1e-14)
    np.testing.assert_allclose(alphabet.total_distance(), naive.sum(axis=1), rtol=1e-12)


@given(alphabets)
def test_spec_survives_json(alphabet):
    again = fw.alphabet_from_spec(json.loads(json.dumps(alphabet.spec(), allow_nan=False)))
    assert again == alphabet
    assert hash(again) == hash(alphabet)
    assert again.spec() == alphabet.spec()
    assert isinstance(alphabet, fw.Alphabet)


def test_different_alphabets_differ():
    different = {
        fw.Linear(0, 3),
        fw.Linear(1, 4),
        fw.Linear(0, 6, step=2),
        fw.Categorical(["a", "b", "c", "d"]),
        fw.Categorical(["b", "a", "c", "d"]),
        fw.Grid(2, 2, cell=1),
        fw.Grid(2, 2, cell=(1, 2)),
        fw.Grid(4, 1, cell=1),
        fw.Grid(2, 2, 55.2, bounds=(0, 1, 0, 1)),
    }
    assert len(different) == 9


def test_linear_positions_and_encoding():
    years = fw.Linear(1900, 2000, step=10)
    assert years.size == 11
    np.testing.assert_array_equal(years.positions, np.arange(1900.0, 2001.0, 10.0))
    np.testing.assert_array_equal(years.encode([1900, 2000, 1950]), [0, 10, 5])
    np.testing.assert_array_equal(years.encode([1910.0]), [1])
    np.testing.assert_array_equal(years.encode(1990), [9])
    assert years.encode([]).size == 0


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint64"])
def test_linear_reads_integers_of_any_width(kind):
    """Values of narrow types must not wrap around on the way to indices."""
    line = fw.Linear(-100, 300)
    values = np.array([0, 3, 100], dtype=kind)
    np.testing.assert_array_equal(line.encode(values), [100, 103, 200])
    with pytest.raises(fw.AlphabetError, match="3 is not in the alphabet"):
        fw.Linear(10, 300).encode(np.array([3], dtype=kind))


def test_distance_of_unsigned_indices():
    """0 - 1 is not 255 cells."""
    first, second = np.array([0], dtype=np.uint8), np.array([5], dtype=np.uint8)
    for alphabet in (fw.Linear(0, 9), fw.Grid(4, 3, cell=0.5)):
        np.testing.assert_array_equal(
            alphabet.distance(first, second), alphabet.distance(second, first)
        )


def test_grid_numbers_row_by_row_from_the_south_west():
    grid = fw.Grid(columns=3, rows=2, cell=(1.0, 2.0))
    np.testing.assert_array_equal(
        grid.positions, [(0.5, 1), (1.5, 1), (2.5, 1), (0.5, 3), (1.5, 3), (2.5, 3)]
    )
    np.testing.assert_array_equal(grid.decode(np.arange(6)), grid.positions)
    np.testing.assert_array_equal(grid.encode([(2.9, 0.1), (0.1, 3.9)]), [2, 3])
    np.testing.assert_array_equal(grid.encode((1.5, 3.0)), [4])


def test_points_on_edges():
    """An inner edge belongs to the cell east or north of it, the last edges to the last cells."""
    grid = fw.Grid(columns=24, rows=16, cell=0.5)
    assert grid.encode([(0.0, 0.0)]) == 0
    np.testing.assert_array_equal(
        grid.encode([(0.5 * column, 0.0) for column in range(24)]), np.arange(24)
    )
    np.testing.assert_array_equal(
        grid.encode([(0.0, 0.5 * row) for row in range(16)]), 24 * np.arange(16)
    )
    np.testing.assert_array_equal(
        grid.encode([(12.0, 0.0), (0.0, 8.0), (12.0, 8.0)]), [23, 360, 383]
    )
    outside = [
        (np.nextafter(12.0, 13), 0.0),
        (0.0, np.nextafter(8.0, 9)),
        (np.nextafter(0.0, -1), 0.0),
        (0.0, np.nextafter(0.0, -1)),
        (np.nan, 1.0),
    ]
    assert grid.encode_inside(outside).dropped == 5


def test_san_francisco_box():
    """The box of the paper: 12 km x 8 km, cells of 0.5 km."""
    assert SAN_FRANCISCO.size == 384
    assert SAN_FRANCISCO.cell == pytest.approx((0.5, 0.5), abs=0.003)
    south, north, west, east = SAN_FRANCISCO.bounds
    corners = [(south, west), (south, east), (north, west), (north, east)]
    np.testing.assert_array_equal(SAN_FRANCISCO.encode(corners), [0, 23, 360, 383])
    # Union Square: counted from 0, column 18 of 24 from the west and row 14 of 16 from the south.
    point = (37.788, -122.4075)
    column = math.floor((point[1] - west) / (east - west) * 24)
    row = math.floor((point[0] - south) / (north - south) * 16)
    assert (column, row) == (18, 14)
    assert SAN_FRANCISCO.encode([point]) == row * 24 + column
    rounded = fw.Grid.box(*SAN_FRANCISCO.bounds, columns=24, rows=16, cell=0.5)
    assert rounded.cell == (0.5, 0.5)
    assert rounded.encode([point]) == SAN_FRANCISCO.encode([point])


def test_box_is_as_large_as_on_the_globe():
    """Against the great circle of a sphere, which is within 0.6 % of the ellipsoid."""
    south, north, west, east = SAN_FRANCISCO.bounds
    middle = math.radians((south + north) / 2)
    tall = 6371.0 * math.radians(north - south)
    wide = 6371.0 * math.radians(east - west) * math.cos(middle)
    assert SAN_FRANCISCO.rows * SAN_FRANCISCO.cell[1] == pytest.approx(tall, rel=6e-3)
    assert SAN_FRANCISCO.columns * SAN_FRANCISCO.cell[0] == pytest.approx(wide, rel=6e-3)
    # Published lengths of a degree of WGS 84 at 45 degrees: 111.132 km and 78.847 km.
    assert kilometres_per_degree(45.0) == pytest.approx((111.132, 78.847), abs=1e-3)


def test_points_outside_are_named_and_counted():
    points = [(37.76, -122.42), (40.0, -122.42), (37.76, 0.0)]
    with pytest.raises(fw.AlphabetError) as caught:
        SAN_FRANCISCO.encode(points)
    assert "(40.0, -122.42)" in str(caught.value)
    assert "2 such points" in str(caught.value)
    assert "encode_inside" in str(caught.value)


def test_points_outside_are_dropped_on_request():
    points = np.array([(37.76, -122.42), (40.0, -122.42), (37.76, 0.0), (37.7228, -122.5153)])
    found = SAN_FRANCISCO.encode_inside(points)
    assert found.dropped == 2
    np.testing.assert_array_equal(found.kept, [True, False, False, True])
    np.testing.assert_array_equal(found.indices, SAN_FRANCISCO.encode(points[[0, 3]]))
    nothing = SAN_FRANCISCO.encode_inside(points[1:3])
    assert nothing.dropped == 2
    assert nothing.indices.size == 0


@pytest.mark.parametrize(
    "alphabet", [fw.Linear(0, 9), fw.Categorical(["a"]), fw.Grid(4, 3, cell=0.5)], ids=str
)
def test_no_values_give_no_indices(alphabet):
    assert alphabet.encode([]).shape == (0,)


def test_grid_takes_a_side_of_any_number_type():
    for side in (1, 1.0, np.float64(1), np.float32(1), np.int64(1)):
        assert fw.Grid(2, 2, cell=side).cell == (1.0, 1.0)


def test_categorical_takes_one_label_or_many():
    menu = fw.Categorical(["yes", "no", "won't say"])
    np.testing.assert_array_equal(menu.encode("no"), [1])
    np.testing.assert_array_equal(menu.encode(np.array(["won't say", "yes"])), [2, 0])
    np.testing.assert_array_equal(menu.decode([2, 0]), ["won't say", "yes"])


def test_checked_indices_take_integers_only():
    np.testing.assert_array_equal(checked_indices(np.array([0, 2], dtype=np.uint8), 3), [0, 2])
    assert checked_indices([], 3).dtype == np.int64
    for wrong in ([0.0], [True], ["0"], [None]):
        with pytest.raises(fw.AlphabetError, match="expected integers from 0 to 2"):
            checked_indices(wrong, 3)
    for wrong in ([3], [-1], [[0, 1], [2, 3]]):
        with pytest.raises(fw.AlphabetError, match="outside the alphabet: expected 0 to 2"):
            checked_indices(wrong, 3)


@pytest.mark.parametrize(
    ("alphabet", "text"),
    [
        (fw.Linear(0, 99), "0..99"),
        (fw.Linear(0, 99, step=3), "0..99 by 3"),
        (fw.Grid(24, 16, cell=0.5), "24 x 16 cells of 0.5 km"),
        (fw.Grid(24, 16, cell=(0.5, 0.25)), "24 x 16 cells of 0.5 x 0.25 km"),
        (fw.Categorical(["a", "b"]), "2 labels"),
    ],
)
def test_short_names(alphabet, text):
    assert str(alphabet) == text


@given(alphabets)
def test_capabilities_agree_with_the_values(alphabet):
    """What others ask an alphabet for, against its values and distances."""
    values = alphabet.decode(np.arange(alphabet.size))
    assert alphabet.axes == (alphabet.axes if values.ndim == 2 else ("value",))
    assert len(alphabet.axes) == (values.shape[1] if values.ndim == 2 else 1)
    assert alphabet.labels == (tuple(values) if values.dtype.kind == "U" else ())
    if alphabet.plane is None:
        assert alphabet.labels
        return
    rows, columns = alphabet.plane
    assert rows * columns == alphabet.size
    cells, distance = np.arange(alphabet.size).reshape(rows, columns), alphabet.distance
    for one, next_one in ((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])):
        assert np.ptp(distance(one, next_one)) == 0 if one.size else True
    if is_line(alphabet):
        along = np.append(0, np.cumsum(np.diag(fw.distances(alphabet), 1)))
        np.testing.assert_allclose(fw.distances(alphabet)[0], along, rtol=1e-12)


def test_lines_are_lines_in_any_direction():
    lines = [fw.Linear(0, 4), fw.Grid(5, 1, cell=1), fw.Grid(1, 5, cell=1), fw.Grid(1, 1, cell=1)]
    assert all(is_line(alphabet) for alphabet in lines)
    assert not any(is_line(a) for a in (fw.Grid(2, 2, cell=1), fw.Categorical(["a", "b"])))


def test_the_names_of_columns():
    assert fw.Grid(2, 3, cell=1).axes == ("east_km", "north_km")
    assert SAN_FRANCISCO.axes == ("lat", "lon")
    assert (fw.Grid(2, 3, cell=1).plane, fw.Linear(0, 4).plane) == ((3, 2), (1, 5))


@pytest.mark.parametrize(
    ("alphabet", "values", "indices", "kept"),
    [
        (fw.Linear(10, 30, step=10), [20, 25, 40, 10, np.nan], [1, 0], [1, 0, 0, 1, 0]),
        (fw.Categorical(["a", "b"]), ["b", "c", 1, "a"], [1, 0], [1, 0, 0, 1]),
        (fw.Grid(2, 1, cell=1), [(1.5, 0.5), (3.0, 0.5)], [1], [1, 0]),
    ],
    ids=str,
)
def test_values_outside_are_left_out_on_request(alphabet, values, indices, kept):
    found = alphabet.encode_inside(values)
    assert found.indices.tolist() == indices
    assert found.kept.tolist() == [bool(one) for one in kept]
    assert found.dropped == len(kept) - sum(kept)
    with pytest.raises(fw.AlphabetError):
        alphabet.encode(values)
