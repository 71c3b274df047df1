"""Grids that leave cells out: values, distances, laws and promises, beside naive sums."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.alphabets.base import distances, raster_of, readable, texts
from freewill.domain.alphabets.grid import offset_counts
from freewill.domain.alphabets.groups import coarser
from freewill.domain.draws.sources import GeneratorBytes
from freewill.domain.mechanisms.planar_geometric import kept_offsets
from freewill.errors import AlphabetError, FreewillError, SpecError
from naive_laws import coast, kept_cells, naive_distance, planar_law
from profiles import examples

sides = st.integers(2, 6)


@st.composite
def grids(draw, least=2):
    """Random masks on oblong cells; at least so many cells are kept."""
    columns, rows = draw(sides), draw(sides)
    cells = columns * rows
    chosen = draw(st.sets(st.integers(0, cells - 1), min_size=least, max_size=cells))
    mask = np.isin(np.arange(cells), [*chosen]).reshape(rows, columns)
    cell = draw(st.sampled_from([(1.0, 1.0), (0.7, 0.4), (0.1, 0.3), (2.0, 0.5)]))
    return fw.Grid(columns, rows, cell=cell, mask=mask)


@given(grids(least=1))
@examples(60)
def test_cells_are_numbered_row_by_row_without_gaps(grid):
    cells = kept_cells(grid)
    assert grid.size == len(cells)
    assert grid.cells.tolist() == cells
    points = [
        ((cell % grid.columns + 0.5) * grid.cell[0], (cell // grid.columns + 0.5) * grid.cell[1])
        for cell in cells
    ]
    np.testing.assert_allclose(grid.positions, points)
    np.testing.assert_allclose(grid.decode(np.arange(grid.size)), points)
    assert grid.encode(points).tolist() == list(range(grid.size))
    assert grid.encode(readable(grid, np.arange(grid.size))).tolist() == list(range(grid.size))
    inside = grid.encode_inside(grid.whole.decode(np.arange(grid.whole.size)))
    assert inside.indices.tolist() == list(range(grid.size))
    assert np.flatnonzero(inside.kept).tolist() == cells
    assert inside.dropped == grid.whole.size - grid.size


@given(grids())
@examples(60)
def test_distances_are_those_of_the_cells(grid):
    naive = [[naive_distance(grid, x, z) for z in range(grid.size)] for x in range(grid.size)]
    found = distances(grid)
    np.testing.assert_allclose(found, naive, rtol=1e-14)
    np.testing.assert_allclose(grid.total_distance(), np.sum(naive, axis=1), rtol=1e-12)
    apart = found[~np.eye(grid.size, dtype=bool)]
    np.testing.assert_allclose(grid.apart, (apart.min(), apart.max()), rtol=1e-14)
    assert offset_counts(grid.cells, grid.columns, grid.rows).sum() == grid.size**2


@given(grids(least=1))
@examples(60)
def test_the_nearest_kept_cell_is_nearest(grid):
    cells, (width, height) = kept_cells(grid), grid.cell
    for place, index in enumerate(grid.nearest.tolist()):
        row, column = divmod(place, grid.columns)
        at = [(c % grid.columns, c // grid.columns) for c in cells]
        away = [(((x - column) * width) ** 2 + ((y - row) * height) ** 2, x, y) for x, y in at]
        assert away[index] == min(away)


@given(grids())
@examples(40)
def test_descriptions_lead_back_and_masks_are_part_of_the_id(grid):
    spec = grid.spec()
    assert fw.alphabet_from_spec(spec) == grid == pickle.loads(pickle.dumps(grid))
    assert ("mask" in spec) == (grid.size < grid.columns * grid.rows)
    assert hash(grid) == hash(fw.alphabet_from_spec(spec))
    if grid.mask is not None:
        assert fw.KRR(grid, 1.0).id != fw.KRR(grid.whole, 1.0).id
        assert sum(grid.mask) == grid.whole.size


def test_a_mask_that_keeps_all_is_none():
    whole = fw.Grid(3, 2, cell=0.5)
    assert fw.Grid(3, 2, cell=0.5, mask=np.ones((2, 3), dtype=bool)) == whole
    assert fw.Grid(3, 2, cell=0.5, mask=[0, 6]) == whole
    assert "mask" not in whole.spec()


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([6], "leaves out every cell"),
        (np.zeros((2, 3), dtype=bool), "leaves out every cell"),
        (np.ones((3, 2), dtype=bool), "an array of 2 x 3"),
        ([1, 2], "6 in all"),
        ([1, 0, 5], "by turns"),
        ([-1, 7], "by turns"),
        ([1.5, 4.5], "by turns"),
        ([[1, 5]], "by turns"),
        ("sea", "by turns"),
        ([], "by turns"),
        ([True, False], "by turns"),
        ({"rows": 3}, "by turns"),
        ([float("nan"), 6], "by turns"),
        ([10**400, 6], "by turns"),
    ],
)
def test_what_is_no_mask_is_refused(mask, words):
    with pytest.raises(AlphabetError, match=words):
        fw.Grid(3, 2, cell=0.5, mask=mask)


def test_a_mask_on_more_cells_than_are_looked_at_is_refused():
    with pytest.raises(AlphabetError, match=r"at most 2\^20 cells"):
        fw.Grid(2**11, 2**10, cell=1.0, mask=[1, 2**21 - 1])
    with pytest.raises(SpecError, match="mask"):
        fw.alphabet_from_spec({"kind": "grid", "columns": 2, "rows": 2, "cell": 1, "mask": [5]})


def test_a_point_at_sea_is_refused_in_a_sentence():
    grid = fw.Grid(2, 2, cell=1.0, mask=[1, 3])
    with pytest.raises(
        AlphabetError, match=r"\(0\.5, 0\.5\) is in a cell that the grid leaves out"
    ):
        grid.encode([(1.5, 0.5), (0.5, 0.5)])
    with pytest.raises(AlphabetError, match="outside the grid"):
        grid.encode([(0.5, 0.5), (7.0, 0.5)])
    assert str(grid) == "3 of 2 x 2 cells of 1 km"
    assert texts(grid, [0]) == ["1.5 0.5"]


def test_a_masked_grid_has_no_whole_plane_and_a_raster():
    grid = fw.Grid(2, 2, cell=1.0, mask=[1, 3])
    assert grid.plane is None
    raster = raster_of(grid)
    assert raster.cells.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(raster.laid_out(np.arange(3.0)), [[np.nan, 0], [1, 2]])


@given(grids(), st.floats(0.2, 6.0))
@example(fw.Grid(2, 2, cell=(1.0, 1.0), mask=[1, 3]), 1.0)
@examples(30)
def test_planar_noise_is_that_of_the_whole_grid_remapped(grid, epsilon):
    mechanism = fw.PlanarGeometric(grid, epsilon)
    law, naive = mechanism.law(), planar_law(mechanism)
    np.testing.assert_allclose(law, naive, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(mechanism.truths(), naive.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(mechanism.losses(), (naive * distances(grid)).sum(1), rtol=1e-9)
    away = np.zeros((grid.rows, grid.columns))
    row, column = np.divmod(grid.cells, grid.columns)
    np.add.at(away, (np.abs(row[:, None] - row), np.abs(column[:, None] - column)), naive)
    offsets = kept_offsets(grid, mechanism.kernel, mechanism.operator)
    np.testing.assert_allclose(offsets, away / grid.size, rtol=1e-9, atol=1e-15)
    operator = mechanism.operator(mechanism.outputs()[::-1])
    scale, weights = np.exp(operator.log_scale), np.arange(1.0, grid.size + 1)
    np.testing.assert_allclose(
        operator.gram_diagonal(scale**2 * weights), (naive.T[::-1] ** 2 * weights[:, None]).sum(0)
    )
    found = fw.audit(mechanism)
    assert found.holds
    assert found.epsilon <= epsilon * (1 + 1e-9)


@given(grids(), st.sampled_from([1e-9, 1e-3, 1.0, 30.0]))
@examples(15)
def test_the_promise_is_proved_of_the_samplers_numbers(grid, epsilon):
    audit = fw.audit(fw.PlanarGeometric(grid, epsilon), exact=True)
    assert audit.holds
    assert ("reported as the nearest that is kept" in audit.argued) == (grid.mask is not None)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e3])
def test_small_and_large_epsilons_are_audited_on_a_coast(epsilon):
    assert fw.audit(fw.PlanarGeometric(coast(5), epsilon)).holds


@pytest.mark.later
def test_draws_one_by_one_follow_the_law():
    grid = coast(4)
    mechanism, rng = fw.PlanarGeometric(grid, 1.0), np.random.default_rng(5)
    source = GeneratorBytes(rng)
    counts = np.bincount([mechanism.draw(3, source) for _ in range(20_000)], minlength=grid.size)
    expected = 20_000 * mechanism.law()[3]
    assert ((counts - expected) ** 2 / expected).sum() < grid.size + 8 * math.sqrt(2 * grid.size)


def test_every_mechanism_of_places_works_or_says_why_not():
    grid = coast(3)
    built = [
        fw.KRR(grid, 1.0),
        fw.RAPPOR(grid, 1.0),
        fw.OUE(grid, 1.0),
        fw.SubsetSelection(grid, 1.0),
        fw.HadamardResponse(grid, 1.0),
        fw.LocalHashing(grid, 1.0),
        fw.Identity(grid),
        fw.Exponential(grid, 1.0),
        fw.PlanarGeometric(grid, 1.0),
        fw.PlanarLaplace(grid, 1.0),
        fw.OptimalGeo(grid, 1.0),
        fw.Shokri(grid, 0.4),
        fw.BlahutArimoto(grid, 1.0),
        fw.Family(fw.PlanarGeometric, grid, (0.5, 2.0)),
        fw.Perhaps(fw.PlanarGeometric(grid, 1.0), 0.5),
        fw.PlanarGeometric(grid, 1.0).then(coarser(grid, 2)),
    ]
    rng = np.random.default_rng(0)
    for mechanism in built:
        reports = mechanism.obfuscate(np.arange(grid.size), rng)
        assert fw.collect([(mechanism, reports)]).people == grid.size
        assert fw.from_spec(mechanism.spec()) == mechanism
    for kind in (fw.Geometric, fw.Staircase, fw.SquareWave):
        with pytest.raises(FreewillError, match="expected a Linear alphabet"):
            kind(grid, 1.0)
    with pytest.raises(FreewillError, match="at least 2"):
        fw.PlanarGeometric(fw.Grid(2, 2, cell=1.0, mask=[0, 1, 3]), 1.0)
