"""Alphabets at their edges: the first and last index, the poles, the words of refusals."""

import re

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.base import LARGEST, checked_indices, checked_integer


@pytest.mark.parametrize("indices", [[-1], [3], [0, 3], [2, -1], [-1, 3], [[0, 1], [2, 3]]])
def test_indices_outside_are_refused(indices):
    wrong = next(i for i in np.ravel(indices) if not 0 <= i < 3)
    with pytest.raises(fw.AlphabetError, match=re.escape(f"index {wrong} is outside")):
        checked_indices(indices, 3)


def test_indices_inside_are_kept():
    assert checked_indices([0, 2], 3).tolist() == [0, 2]
    assert checked_indices(np.array([2], dtype=np.uint8), 3).dtype == np.int64
    same = np.array([0, 1])
    assert checked_indices(same, 3) is same


def test_the_least_integer_is_allowed():
    assert checked_integer("rows", 1, least=1) == 1
    with pytest.raises(fw.AlphabetError, match="rows=0: must be an integer >= 1"):
        checked_integer("rows", 0, least=1)
    with pytest.raises(fw.AlphabetError, match=re.escape("rows=1.5: must be an integer.")):
        checked_integer("rows", 1.5)


def test_the_label_that_stands_twice_is_named():
    with pytest.raises(fw.AlphabetError, match="'b' stands twice"):
        fw.Categorical(["a", "b", "c", "b"])


@pytest.mark.parametrize(("size", "shown"), [(3, 3), (5, 5), (6, 5), (9, 5)])
def test_a_refusal_shows_five_labels(size, shown):
    labels = list("abcdefghi")[:size]
    names = ", ".join(map(repr, labels[:shown])) + (", ..." if size > shown else "")
    with pytest.raises(fw.AlphabetError, match=re.escape(f"expected one of {names}.")):
        fw.Categorical(labels).encode(["z"])


@pytest.mark.parametrize(
    ("line", "among"),
    [
        (fw.Linear(0, 9), "from 0 to 9."),
        (fw.Linear(0, 8, step=2), "from 0 to 8 in steps of 2."),
        (fw.Linear(7, 7), "from 7 to 7."),
    ],
    ids=str,
)
def test_a_refusal_shows_the_line(line, among):
    assert line.encode([line.first, line.last]).tolist() == [0, line.size - 1]
    for wrong in (line.first - 1, line.last + 1, line.first + 0.5):
        with pytest.raises(fw.AlphabetError, match=re.escape(among)):
            line.encode([wrong])


@pytest.mark.parametrize("ends", [(0, 2**53 + 1), (-(2**53) - 1, 0), (0, 10**30)])
def test_lines_that_doubles_do_not_count(ends):
    assert fw.Linear(-(2**53), 2**53, step=2**53).size == 3
    with pytest.raises(fw.AlphabetError, match=r"2\^53"):
        fw.Linear(*ends, step=abs(ends[1] - ends[0]))


def test_the_whole_globe_is_a_box():
    globe = fw.Grid.box(-90, 90, -180, 180, columns=4, rows=2)
    assert globe.encode([(-90, -180), (90, 180)]).tolist() == [0, 7]


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        ((-90.5, 0, 0, 1), "south"),
        ((0, 90.5, 0, 1), "south"),
        ((1, 1, 0, 1), "south"),
        ((2, 1, 0, 1), "south"),
        ((0, 1, -180.5, 0), "west"),
        ((0, 1, 0, 180.5), "west"),
        ((0, 1, 5, 5), "west"),
        ((0, 1, 6, 5), "west"),
    ],
)
def test_boxes_beyond_the_globe_or_without_a_size(bounds, word):
    with pytest.raises(fw.AlphabetError, match=f"^{word}="):
        fw.Grid.box(*bounds, columns=2, rows=2)


@pytest.mark.parametrize("columns_and_rows", [(0, 2), (2, 0), (2, -1)])
def test_boxes_without_cells(columns_and_rows):
    columns, rows = columns_and_rows
    with pytest.raises(fw.AlphabetError, match="must be an integer >= 1"):
        fw.Grid.box(0, 1, 0, 1, columns=columns, rows=rows)


@pytest.mark.parametrize(
    "cell",
    [
        0,
        -1,
        np.nan,
        np.inf,
        (1, 0),
        (0, 1),
        (1, 2, 3),
        (1,),
        "wide",
        "0.5",
        True,
        None,
        (1, "2"),
        ((1, 2), 3),
        10**400,
    ],
)
def test_cells_without_a_size(cell):
    with pytest.raises(fw.AlphabetError, match="must be a side > 0"):
        fw.Grid(2, 2, cell=cell)


def test_the_cells_of_a_box_have_the_size_of_its_narrowest_row():
    """On a sphere, a degree of longitude shrinks with the cosine of the latitude, here 68."""
    box = fw.Grid.box(50, 70, 0, 8, columns=4, rows=5)
    assert box.cell[0] == pytest.approx(8 * 111.2 * np.cos(np.radians(68)) / 4, rel=5e-3)
    assert box.cell[1] == pytest.approx(20 * 111.2 / 5, rel=5e-3)


def test_positions_and_centres():
    grid = fw.Grid(3, 2, cell=(2.0, 5.0))
    expected = [(1, 2.5), (3, 2.5), (5, 2.5), (1, 7.5), (3, 7.5), (5, 7.5)]
    np.testing.assert_allclose(grid.positions, expected)
    np.testing.assert_allclose(grid.decode(np.arange(6)), expected)
    assert grid.decode(4).tolist() == [3, 7.5]
    assert grid.decode([[0, 1], [2, 3]]).shape == (2, 2, 2)


def test_a_grid_has_as_many_cells_as_doubles_count_and_no_more():
    assert fw.Grid(LARGEST // 4, 4, cell=1.0).size == LARGEST
    with pytest.raises(fw.AlphabetError):
        fw.Grid(LARGEST // 4 + 1, 4, cell=1.0)
