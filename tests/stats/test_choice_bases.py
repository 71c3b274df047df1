"""Bases of functions of the value: what they span, what they expect, what they refuse."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.interpolate import BSpline

import freewill as fw
from freewill.stats.choice.bases import basis_of, ladder

MENU = fw.Categorical(["yes", "no", "won't say"])


@given(
    st.one_of(
        st.builds(lambda last: fw.Linear(0, last), st.integers(0, 300)),
        st.builds(lambda c, r: fw.Grid(c, r, cell=0.5), st.integers(1, 30), st.integers(1, 30)),
        st.builds(lambda n: fw.Categorical([str(i) for i in range(n)]), st.integers(1, 40)),
    )
)
def test_every_basis_is_centred_scaled_and_of_full_rank(alphabet: Any) -> None:
    bases = ladder(alphabet)
    assert bases[0].name == "none"
    assert [one.size for one in bases] == sorted({one.size for one in bases}) or alphabet.size < 5
    assert len({one.name for one in bases}) == len(bases)
    for one in bases[1:]:
        assert one.functions.shape == (alphabet.size, one.size)
        assert 0 < one.size < alphabet.size
        assert np.linalg.matrix_rank(one.functions) == one.size
        np.testing.assert_allclose(one.functions.mean(axis=0), 0, atol=1e-10)
        assert np.mean(np.sum(one.functions**2, axis=1)) == pytest.approx(1)


def test_cells_that_are_left_out_take_functions_along() -> None:
    """Where all that are kept lie in one row, or at one place, nothing rises along the other."""
    rng = np.random.default_rng(0)
    row = fw.Grid(2, 2, cell=1.0, mask=[[True, True], [False, False]])
    assert [(one.name, one.size) for one in ladder(row)] == [("none", 0), ("linear", 1)]
    for _ in range(60):
        rows, columns = rng.integers(1, 7, 2)
        kept = rng.random((rows, columns)) < rng.random()
        kept[rng.integers(rows), rng.integers(columns)] = True
        bases = ladder(fw.Grid(int(columns), int(rows), cell=1.0, mask=kept))
        for one in bases:
            assert np.linalg.matrix_rank(one.with_constant) == one.size + 1
        assert len({one.name for one in bases}) == len(bases)


@pytest.mark.parametrize("degree", [1, 2])
def test_polynomials_are_spanned_and_equally_likely(degree: int) -> None:
    line = fw.Linear(0, 30)
    found = ladder(line)[degree]
    powers = np.arange(31.0)[:, None] ** np.arange(degree + 1)
    everything = np.column_stack([np.ones(31), found.functions])
    fitted = everything @ np.linalg.lstsq(everything, powers, rcond=None)[0]
    np.testing.assert_allclose(fitted, powers, atol=1e-9)
    gram = found.functions.T @ found.functions
    np.testing.assert_allclose(gram, np.eye(degree) * 31 / degree, atol=1e-9)


def test_polynomials_on_a_grid_are_those_of_two_coordinates() -> None:
    grid = fw.Grid(7, 5, cell=1.0)
    north, east = np.divmod(np.arange(35), 7)
    quadratic = ladder(grid)[2]
    everything = np.column_stack([np.ones(35), quadratic.functions])
    for function in (east, north, east * north, east**2, north**2):
        fitted = everything @ np.linalg.lstsq(everything, function, rcond=None)[0]
        np.testing.assert_allclose(fitted, function, atol=1e-9)


def test_splines_are_those_whose_coefficients_walk_at_random() -> None:
    """The covariance of the functions is that of B a for a walk a, up to a factor."""
    size, count = 50, 12
    knots = np.concatenate([[0] * 3, np.linspace(0, 1, count - 2), [1] * 3])
    splines = BSpline.design_matrix(np.linspace(0, 1, size), knots, 3).toarray()
    walk = np.cumsum(np.eye(count), axis=0)[:, 1:]  # a_i = sum of i steps
    covariance = splines @ walk @ walk.T @ splines.T
    centre = np.eye(size) - 1 / size
    expected = centre @ covariance @ centre
    functions = basis_of(count, fw.Linear(0, size - 1)).functions
    found = functions @ functions.T
    np.testing.assert_allclose(found, expected * size / np.trace(expected), atol=1e-9)


def test_as_many_splines_as_values_tell_all_apart() -> None:
    functions = basis_of(12, fw.Linear(0, 11)).functions
    assert np.linalg.matrix_rank(np.column_stack([np.ones(12), functions])) == 12


def test_a_line_is_a_line_however_it_is_written() -> None:
    line, row = ladder(fw.Linear(0, 29)), ladder(fw.Grid(30, 1, cell=2.0))
    column = ladder(fw.Grid(1, 30, cell=2.0))
    for one, other, third in zip(line, row, column, strict=True):
        assert one.name == other.name == third.name
        np.testing.assert_allclose(one.functions, other.functions)
        np.testing.assert_allclose(one.functions, third.functions)


def test_functions_of_ones_own_are_centred_and_scaled() -> None:
    mine = basis_of(np.arange(10.0) ** 2 * 1e9, fw.Linear(0, 9))
    assert mine.name == "given"
    np.testing.assert_allclose(mine.functions.mean(axis=0), 0, atol=1e-12)
    assert np.mean(mine.functions**2) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given_basis", "alphabet", "words"),
    [
        (12, fw.Linear(0, 9), "more functions than the 10 values"),
        ((4, 9), fw.Grid(8, 8, cell=1.0), "more functions than the 8 values"),
        ("quadratic", fw.Linear(0, 1), "more functions than the 2 values"),
        pytest.param(10**5000, fw.Linear(0, 9), "more functions than the 10", id="huge"),
        pytest.param(-(10**5000), fw.Linear(0, 9), "at least 1 function", id="far below 0"),
        (0, fw.Linear(0, 9), "at least 1 function"),
        (-3, fw.Linear(0, 9), "at least 1 function"),
        ((4, 4), fw.Linear(0, 9), "expected 1 number of splines"),
        ((4,), fw.Grid(8, 8, cell=1.0), "expected 2 numbers of splines"),
        (4, MENU, "have no order"),
        ("linear", MENU, 'basis="categories"'),
        ("lineer", fw.Linear(0, 9), "Did you mean 'linear'"),
        (True, fw.Linear(0, 9), "expected functions as an array"),
        (np.ones((9, 2)), fw.Linear(0, 9), "10 rows"),
        (np.ones((10, 1)), fw.Linear(0, 9), "0 differ"),
        (np.eye(10), fw.Linear(0, 9), "9 differ"),
        (np.full((10, 1), np.nan), fw.Linear(0, 9), "finite"),
        ({"a": 1}, fw.Linear(0, 9), "expected functions as an array"),
    ],
)
def test_what_no_alphabet_has_room_for_is_refused(
    given_basis: Any, alphabet: Any, words: str
) -> None:
    with pytest.raises(fw.ParameterError, match=words):
        basis_of(given_basis, alphabet)


@pytest.mark.parametrize("alphabet", [fw.Linear(3, 3), fw.Grid(1, 1, cell=1.0)], ids=str)
def test_on_one_value_every_basis_is_empty(alphabet: Any) -> None:
    for made in (*ladder(alphabet), basis_of(1, alphabet)):
        assert made.size == 0
        assert str(made.name) == "none"
