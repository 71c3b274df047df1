"""Groups of values: bins, districts and sets hold what a naive count says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import AGES, ALPHABETS, CITY, GRIDS, LINES, MENU
from freewill.domain.alphabets.groups import Values, as_groups, coarser, merged_weights, set_name


def naive_blocks(alphabet, columns, rows):
    """Return the cells of each block, found by walking over them."""
    found = {}
    high, wide = alphabet.plane
    for row in range(high):
        for column in range(wide):
            found.setdefault((row // rows, column // columns), []).append(row * wide + column)
    return [found[place] for place in sorted(found)]


@given(
    alphabet=st.one_of(LINES, GRIDS), columns=st.integers(1, 40), rows=st.integers(1, 40),
    data=st.data(),
)  # fmt: skip
def test_blocks_are_neighbours(alphabet, columns, rows, data):
    line = len(alphabet.axes) == 1
    groups = coarser(alphabet, columns) if line else coarser(alphabet, columns, rows)
    expected = naive_blocks(alphabet, columns, 1 if line else rows)
    assert groups.count == len(expected) == len(groups.names) == len(set(groups.names))
    for place, members in enumerate(expected):
        assert np.flatnonzero(groups.which == place).tolist() == members
    weights = data.draw(st.lists(st.floats(0, 1), min_size=alphabet.size, max_size=alphabet.size))
    sums = [sum(weights[member] for member in members) for members in expected]
    np.testing.assert_allclose(merged_weights(groups, weights), sums, atol=1e-12)
    first, end = groups.spans(np.arange(groups.count))
    assert np.prod(end - first, axis=0).tolist() == [len(members) for members in expected]
    asked = fw.functionals.bins(columns) if line else fw.functionals.districts(columns, rows)
    np.testing.assert_array_equal(
        asked.on(alphabet).rows, groups.which == np.arange(groups.count)[:, None]
    )
    assert asked.on(alphabet).names == groups.names


@given(alphabet=ALPHABETS, data=st.data())
def test_sets_hold_their_values_and_the_rest(alphabet, data):
    some = data.draw(st.lists(st.integers(0, 2), min_size=alphabet.size, max_size=alphabet.size))
    members = {f"set {number}": np.flatnonzero(np.array(some) == number) for number in (0, 1)}
    kept = {name: alphabet.decode(places) for name, places in members.items() if len(places)}
    if not kept:
        return
    groups = coarser(alphabet, kept)
    left = 2 in some
    assert groups.names == (*kept, *(["the rest"] if left else []))
    for name, places in members.items():
        if name in kept:
            where = groups.names.index(name)
            assert np.flatnonzero(groups.which == where).tolist() == places.tolist()
    theta = np.arange(1, alphabet.size + 1) / 10
    assert merged_weights(groups, theta).sum() == pytest.approx(theta.sum())
    as_list = coarser(alphabet, list(kept.values()))
    np.testing.assert_array_equal(as_list.which, groups.which)
    rows = groups.cells(np.arange(groups.count))
    assert rows == [(name,) for name in groups.names]
    assert groups.texts(np.arange(groups.count)) == [list(row) for row in rows]


@given(alphabet=ALPHABETS)
def test_every_value_has_a_name_of_its_own(alphabet):
    values = Values(alphabet)
    assert len(set(values.names)) == alphabet.size
    assert fw.functionals.shares().on(alphabet).names == values.names


def test_names_keep_all_their_digits():
    """Six digits told neither large integers nor small cells apart."""
    large = fw.Linear(10**9, 10**9 + 3)
    assert fw.functionals.shares().on(large).names[0] == "1000000000"
    assert fw.functionals.bins(2).on(large).names == (
        "1000000000..1000000001", "1000000002..1000000003",
    )  # fmt: skip
    fine = fw.Grid.box(37.7, 37.7001, -122.5, -122.4999, columns=5, rows=5)
    assert len(set(fw.functionals.shares().on(fine).names)) == 25


@pytest.mark.parametrize(
    ("places", "name"),
    [([7], "7"), ([7, 8], "7..8"), ([7, 9], "7 or 9"), ([1, 3, 5, 7, 9], "1, 3 or 3 more")],
)
def test_sets_without_a_name_are_called_by_their_values(places, name):
    assert set_name(AGES, np.array(places)) == name
    assert coarser(AGES, [places]).names[0] == name
    assert coarser(AGES, [set(places)]).names[0] == name


@pytest.mark.parametrize(
    ("alphabet", "by", "words"),
    [
        (AGES, 0, "width=0: expected an integer >= 1"),
        (AGES, -3, "integer >= 1"),
        (AGES, True, "by=True"),
        (AGES, 2.5, "by=2.5"),
        (AGES, None, "by=None: expected how many neighbours"),
        (AGES, "5", "by='5'"),
        (AGES, {}, "by={}"),
        (AGES, [], "by="),
        (AGES, {"a": [1], "b": [1, 2]}, "1 is in two groups, 'a' and 'b'"),
        (AGES, [[1, 2], [2, 3]], "2 is in two groups, '1..2' and '2..3'"),
        (AGES, {"a": []}, "'a' has no values"),
        (AGES, {"a": range(90, 120)}, "100 is not in the alphabet"),
        (AGES, {"a": object()}, "expected integers"),
        (AGES, {3: [1]}, "a group is called 3: expected a text"),
        (AGES, {" ": [1]}, "expected a text"),
        (AGES, {"\ud800": [1]}, "half of a character"),
        (AGES, {"the rest": [1]}, "another name"),
        (MENU, 2, "no neighbours"),
        (MENU, {"a": ["nobody"]}, "not in the alphabet"),
        (CITY, {"a": [(0.0, 0.0)]}, "outside the grid"),
    ],
)
def test_what_makes_no_groups(alphabet, by, words):
    with pytest.raises(fw.FreewillError, match=words):
        coarser(alphabet, by)


def test_rows_are_for_grids():
    with pytest.raises(fw.ParameterError, match="no rows"):
        coarser(AGES, 5, 5)
    with pytest.raises(fw.ParameterError, match="two integers"):
        coarser(CITY, {"a": [CITY.decode([0])[0]]}, 2)
    for wrong in (0, 1.5, "2", True):
        with pytest.raises(fw.ParameterError, match="rows="):
            coarser(CITY, 2, wrong)


def test_all_values_may_be_in_the_rest_by_name():
    groups = coarser(MENU, {"the rest": list(MENU.labels[1:]), "first": list(MENU.labels[:1])})
    assert groups.names == ("the rest", "first")


def test_numbers_beyond_the_alphabet_take_all_of_it():
    assert coarser(AGES, 10**30).names == ("0..99",)
    assert coarser(CITY, np.int64(2), 10**30).count == 3
    assert fw.functionals.bins(10**30).on(AGES).names == ("0..99",)


def test_groups_belong_to_their_alphabet():
    groups = coarser(AGES, 5)
    assert as_groups(AGES, groups) is groups
    for use in (lambda: as_groups(CITY, groups), lambda: fw.functionals.of_groups(groups).on(CITY)):
        with pytest.raises(fw.ParameterError, match="expected some of"):
            use()


# Memory


@pytest.mark.parametrize(
    "asked",
    [
        fw.functionals.districts(4),
        fw.functionals.districts(2, 8),
        fw.functionals.shares(),
        fw.functionals.values({str(i): [(0.1, 0.1)] for i in range(2000)}),
    ],
    ids=str,
)
def test_rows_that_fill_the_memory_are_refused(asked):
    """2,400 districts of 38,400 cells are 737 MB of weights, nearly all of them 0."""
    with pytest.raises(fw.ParameterError, match=r"MiB: at most 256 MiB are taken\. Ask for"):
        asked.on(fw.Grid(240, 160, cell=0.5))


def test_bins_of_a_long_line_are_refused_and_wider_ones_are_not():
    line = fw.Linear(0, 99_999)
    with pytest.raises(
        fw.ParameterError, match="for bins of 10 values, 10,000 of them over 100,000"
    ):
        fw.functionals.bins(10).on(line)
    assert fw.functionals.bins(1000).on(line).rows.shape == (100, 100_000)
