"""Estimates, smoothing, comparisons and plans on grids that leave cells out."""

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.groups import coarser, merged_weights
from freewill.domain.metrics import diameter
from freewill.stats.choice.bases import basis_of, ladder
from freewill.stats.difference import displacements, smooth_differences
from freewill.stats.planning.truths import truths
from freewill.stats.smooth import Kernels
from naive_laws import coast, kept_cells, planar_law

GRID = coast(7)
CENTRES = GRID.positions


def bump(east, north, wide=1.0):
    theta = np.exp(-((CENTRES - [east, north]) ** 2).sum(axis=1) / wide) + 0.02
    return theta / theta.sum()


THETA = bump(3.0, 2.0)


def evidence_of(theta, people, seed, epsilons=(1.0, 3.0)):
    rng = np.random.default_rng(seed)
    pairs = []
    for epsilon in epsilons:
        mechanism = fw.PlanarGeometric(GRID, epsilon)
        values = rng.choice(GRID.size, people // len(epsilons), p=theta)
        pairs.append((mechanism, mechanism.obfuscate(values, rng)))
    return fw.collect(pairs)


def test_the_certified_maximum_is_that_of_the_law_as_a_table():
    evidence = evidence_of(THETA, 2000, 1)
    tables = [
        (fw.Matrix(GRID, planar_law(group.mechanism)), np.repeat(group.outputs, group.counts))
        for group in evidence.groups
    ]
    found, naive = fw.gibu(evidence), fw.gibu(fw.collect(tables))
    assert found.status == naive.status == "certified"
    assert found.log_likelihood == pytest.approx(naive.log_likelihood, abs=1e-6)
    for solver in ("conjugate", "columns", "interior"):
        assert fw.gibu(evidence, solver=solver).status == "certified"


def test_smoothing_keeps_to_the_cells_and_helps():
    kernels = Kernels.on(GRID)
    heat = kernels.kernel(1.5)
    assert heat.shape == (GRID.size, GRID.size)
    np.testing.assert_allclose(heat.sum(axis=0), 1.0)
    whole = Kernels.on(GRID.whole).kernel(1.5)[np.ix_(GRID.cells, GRID.cells)]
    np.testing.assert_allclose(heat, whole / whole.sum(axis=0))
    evidence = evidence_of(THETA, 3000, 2)
    rough, smooth = (fw.emd(fit(evidence).theta, THETA, GRID) for fit in (fw.gibu, fw.smooth))
    assert smooth < rough


def test_districts_without_a_cell_are_none():
    groups = coarser(GRID, 4)
    rows = np.divmod(np.array(kept_cells(GRID)), GRID.columns)
    blocks = rows[0] // 4 * -(-GRID.columns // 4) + rows[1] // 4
    assert groups.count == np.unique(blocks).size
    shares = merged_weights(groups, THETA)
    naive = [THETA[blocks == block].sum() for block in np.unique(blocks)]
    np.testing.assert_allclose(shares, naive)
    assert len(groups.names) == len(groups.cells(np.arange(groups.count))) == groups.count
    corner = fw.Grid(4, 4, cell=1.0, mask=[2, 2, 2, 10])
    assert coarser(corner, 2).names[0] == "columns 2..3, rows 0..1"
    sure = fw.intervals(evidence_of(THETA, 4000, 3), of=fw.functionals.districts(4, 4))
    assert len(sure) == groups.count


def test_functionals_ask_for_the_cells_that_are_there():
    mean = fw.functionals.mean().on(GRID).rows
    np.testing.assert_allclose(mean, GRID.decode(np.arange(GRID.size)).T)
    inside = fw.functionals.district(0, 99, 0, 2.1).on(GRID).rows[0]
    np.testing.assert_array_equal(inside, CENTRES[:, 0] <= 2.1)


def test_a_step_leads_to_a_cell_or_nowhere():
    grid = fw.Grid(3, 2, cell=1.0, mask=[1, 2, 1, 2])  # . 1 2 / . 4 5
    theta = np.array([0.1, 0.2, 0.3, 0.4])
    north, east = displacements(theta, grid)
    np.testing.assert_allclose(north, [-0.2, -0.3, 0.2, 0.3])
    np.testing.assert_allclose(east, [-0.15, 0.15, -0.35, 0.35])
    np.testing.assert_allclose(displacements(THETA, GRID).sum(axis=1), 0, atol=1e-15)
    assert smooth_differences(THETA, GRID).shape[1] == GRID.size
    assert diameter(GRID) == GRID.apart[1]


def test_slopes_and_splines_are_those_of_the_places():
    linear = basis_of("linear", GRID).functions
    assert np.linalg.matrix_rank(np.column_stack([np.ones(GRID.size), CENTRES, linear])) == 3
    for basis in ladder(GRID):
        whole = basis.with_constant
        assert np.linalg.matrix_rank(whole) == whole.shape[1]


def test_plans_try_truths_on_the_cells():
    for theta in truths(GRID).values():
        assert theta.shape == (GRID.size,)
        assert theta.sum() == pytest.approx(1)
    survey = fw.Survey(GRID, {"p": fw.PlanarGeometric(GRID, 2.0)})
    assert fw.plan(survey, people=[1000]).emd.size == 1


@pytest.mark.slow
def test_two_coasts_are_compared_and_choices_checked():
    one, same = evidence_of(THETA, 6000, 5), evidence_of(THETA, 6000, 6)
    other = evidence_of(bump(4.0, 1.0), 6000, 7)
    assert fw.compare(one, same, of=fw.functionals.districts(4, 4)).p_value > 0.001
    found = fw.compare(one, other, of=fw.functionals.districts(4, 4))
    assert found.p_value < 0.001
    assert found.distance == "earth mover's distance"
    assert found.unit == "km"
    assert fw.check_choice(one).holds
    assert fw.check_fit(one).holds
    aware = fw.choice_aware(evidence_of(THETA, 2000, 8))
    assert aware.status == "certified"


def test_a_trend_finds_what_moves():
    weeks = {f"2026-11-{day:02d}": evidence_of(THETA, 4000, day) for day in (2, 9)}
    weeks["2026-11-16"] = evidence_of(bump(1.0, 3.0), 4000, 16)
    moved, still = fw.trend(weeks, "mean"), fw.trend(dict(list(weeks.items())[:2]), "mean")
    assert moved.p_value < 1e-3 < still.p_value
    np.testing.assert_allclose(moved.point[0], THETA @ CENTRES, atol=0.3)


@pytest.mark.parametrize("of", ["mean", "shares"])
def test_a_collector_may_be_asked_for_its_trend(of):
    trends = pytest.importorskip("freewill.collector.trends")
    survey = fw.Survey(GRID, {"k": fw.KRR(GRID, 1.0)})
    assert trends.asked_of(survey.id, survey, [("of", of)]).of == of
