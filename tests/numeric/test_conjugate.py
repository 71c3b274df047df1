"""Newton systems by products and by Woodbury, and what they make solvable."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import StackOperator
from freewill.numeric.operators.support import BitOperator
from freewill.numeric.solvers import conjugate, interior
from freewill.numeric.solvers.conjugate import ConjugateSystem, conjugate_system
from freewill.numeric.solvers.interior import (
    LinearSystem,
    LowRankSystem,
    rows_beside,
    structured_system,
)
from problems import random_truth, simulated

LINE = fw.Linear(0, 29)


def parts(*kinds: str) -> StackOperator:
    rng = np.random.default_rng(4)
    bits = fw.RAPPOR(LINE, 2.0)
    made = {
        "k-RR": fw.KRR(LINE, 2.0).operator(np.arange(30)),
        "geometric": fw.Geometric(LINE, 0.3).operator(np.arange(30)),
        "wide": fw.Geometric(LINE, 0.05).operator(np.arange(30)),
        "sharp": fw.Geometric(LINE, 2.0).operator(np.arange(0, 30, 2)),
        "bits": bits.operator(bits.obfuscate(rng.integers(30, size=5), rng)),
        "matrix": fw.Matrix(LINE, rng.dirichlet(np.ones(30), 30)).operator(np.arange(4)),
    }
    return StackOperator([made[kind] for kind in kinds])


def newton_matrix(operator, inner, outer):
    rows = operator.dense()
    return rows.T @ (inner[:, None] * rows) + np.diag(outer)


@pytest.mark.parametrize(
    "kinds",
    [
        ("k-RR", "bits"),
        ("bits", "k-RR", "matrix", "geometric"),
        ("bits",),
        ("matrix", "bits"),
        ("geometric", "wide", "sharp"),
        ("k-RR",),
    ],
)
def test_a_few_rows_beside_a_line_are_solved_exactly(kinds):
    operator, rng = parts(*kinds), np.random.default_rng(1)
    outputs, size = operator.shape
    # As far apart as in the last steps of an interior point.
    inner = np.exp(rng.uniform(-3, 3, outputs))
    outer = np.exp(rng.uniform(-8, 8, size))
    system = structured_system(operator)
    right = rng.standard_normal(size)
    found = system.factor(inner, outer)(right)
    np.testing.assert_allclose(newton_matrix(operator, inner, outer) @ found, right, atol=1e-7)
    beside = sum(part.shape[0] for part in operator.parts if part.line_terms() is None)
    assert rows_beside(operator) == beside
    assert isinstance(system, LowRankSystem) == (beside > 0)


def test_rows_of_next_to_no_weight_are_as_good_as_none():
    operator, rng = parts("k-RR", "bits"), np.random.default_rng(5)
    inner, outer, right = rng.random(operator.shape[0]) + 0.1, np.ones(30), rng.standard_normal(30)
    inner[30:] = 5e-324
    found = structured_system(operator).factor(inner, outer)(right)
    inner[30:] = 0.0
    np.testing.assert_allclose(newton_matrix(operator, inner, outer) @ found, right, atol=1e-9)


@pytest.mark.parametrize("kinds", [("k-RR", "bits"), ("geometric", "sharp", "bits")])
def test_the_second_right_hand_side_is_solved_finely(kinds):
    """The predictor to 3 %, the corrector to four digits, in the norm of the preconditioner."""
    operator, rng = parts(*kinds), np.random.default_rng(2)
    inner, outer = rng.random(operator.shape[0]) + 0.1, np.exp(rng.uniform(-5, 5, 30))
    factor = ConjugateSystem(operator).factor(inner, outer)
    matrix = newton_matrix(operator, inner, outer)
    for tolerance in (0.03, 1e-4, 1e-4):
        right = rng.standard_normal(30)
        left = right - matrix @ factor(right)
        scale = 1 / matrix.diagonal()
        assert left @ (scale * left) <= 1.01 * tolerance**2 * (right @ (scale * right))


def test_lines_that_would_take_too_much_memory_are_merged(monkeypatch):
    operator, rng = parts("geometric", "wide", "sharp", "k-RR", "bits"), np.random.default_rng(3)
    monkeypatch.setattr(interior, "_MOST_BYTES", 1000)
    monkeypatch.setattr(interior, "_MERGED", 2)
    system = structured_system(operator)
    assert isinstance(system, ConjugateSystem)
    assert isinstance(system.near, LowRankSystem)
    assert isinstance(system.near.base, LinearSystem)
    assert system.near.base.line.decays.size == 2
    inner, outer = rng.random(operator.shape[0]) + 0.1, np.exp(rng.uniform(-5, 5, 30))
    factor = system.factor(inner, outer)
    factor(rng.standard_normal(30))
    right = rng.standard_normal(30)
    found, exact = factor(right), np.linalg.solve(newton_matrix(operator, inner, outer), right)
    assert np.linalg.norm(found - exact) <= 1e-2 * np.linalg.norm(exact)


def test_as_many_merged_parts_as_mechanisms_are_the_mechanisms(monkeypatch):
    operator, rng = parts("geometric", "wide", "sharp", "k-RR"), np.random.default_rng(5)
    monkeypatch.setattr(interior, "_MOST_BYTES", 1000)
    monkeypatch.setattr(interior, "_MERGED", 4)
    near = structured_system(operator).near
    inner, outer = rng.random(operator.shape[0]) + 0.1, np.exp(rng.uniform(-5, 5, 30))
    right = rng.standard_normal(30)
    exact = np.linalg.solve(newton_matrix(operator, inner, outer), right)
    np.testing.assert_allclose(near.factor(inner, outer)(right), exact, rtol=1e-8)


def test_merged_mechanisms_give_the_same_optimum(monkeypatch):
    line = fw.Linear(0, 299)
    mechanisms = [fw.Geometric(line, e) for e in np.geomspace(0.01, 1.0, 8)]
    evidence = simulated(mechanisms, random_truth(300, 1), 20_000, 1)
    whole = fw.gibu(evidence, solver="linear")
    monkeypatch.setattr(interior, "_MOST_BYTES", 1)
    merged = fw.gibu(evidence, solver="linear")
    assert whole.status == merged.status == fw.Status.CERTIFIED
    assert abs(whole.log_likelihood - merged.log_likelihood) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
def test_sharp_noise_on_many_cells_is_certified(epsilon):
    """The optimum has thousands of cells: there is no room for its columns, nor for a matrix."""
    grid = fw.Grid(60, 50, cell=1.0)
    evidence = simulated([fw.PlanarGeometric(grid, epsilon)], random_truth(3000, 2), 60_000, 1)
    estimate = fw.gibu(evidence, tol=1e-6, solver="conjugate")
    assert estimate.status == fw.Status.CERTIFIED
    assert estimate.steps <= 20


def test_large_alphabets_with_a_few_reports_of_bits_are_certified():
    line, rng = fw.Linear(0, 9_999), np.random.default_rng(1)
    krr, bits = fw.KRR(line, 3.0), fw.RAPPOR(line, 2.0)
    values = rng.binomial(9_999, 0.5, size=100_000)
    reports = bits.obfuscate(values[:3], rng)
    evidence = fw.collect([(krr, krr.obfuscate(values, rng)), (bits, reports)])
    estimate = fw.gibu(evidence)
    assert (estimate.solver, estimate.status) == ("linear", fw.Status.CERTIFIED)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "epsilon"), [(300, 1.0), (3000, 1.0), (300, 5.0)])
def test_bit_reports_beside_a_grid_are_read_a_few_times(monkeypatch, people, epsilon):
    """Each product with them reads all reports; that of independent bits reads none."""
    grid, reads = fw.Grid(20, 15, cell=1.0), []
    truth, gram_map = random_truth(300, 3), BitOperator.gram_map

    def counted(self, weights, near=False):
        product = gram_map(self, weights, near)
        return product if near else lambda vector: (reads.append(1), product(vector))[1]

    monkeypatch.setattr(BitOperator, "gram_map", counted)
    evidence = simulated([fw.PlanarGeometric(grid, 1.0)], truth, 20_000, 1)
    evidence += simulated([fw.RAPPOR(grid, epsilon)], truth, people, 2)
    estimates, numbers = [], []
    for many in (1 << 40, 0):
        monkeypatch.setattr(conjugate, "_MANY_BYTES", many)
        reads.clear()
        estimates.append(fw.gibu(evidence, solver="conjugate", tol=1e-9))
        numbers.append(len(reads))
    plain, near = estimates
    assert plain.status == near.status == fw.Status.CERTIFIED
    assert abs(plain.log_likelihood - near.log_likelihood) <= 1e-9
    assert numbers[1] < numbers[0] / 4


def test_few_bit_reports_need_no_preconditioner():
    assert conjugate_system(parts("k-RR", "bits")).near is None
