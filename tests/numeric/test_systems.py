"""The Newton systems by structure, against a dense solve, over extreme diagonals."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import DenseOperator, StackOperator
from freewill.numeric.solvers import interior
from freewill.numeric.solvers.interior import (
    DenseSystem,
    Line,
    LinearSystem,
    ToeplitzSystem,
    cholesky,
    reach,
)

LINE = fw.Linear(0, 24)
ALL = np.arange(25)
LAWS = {
    "geometric": [fw.Geometric(LINE, 0.05), fw.Geometric(LINE, 1.1)],
    "k-RR": [fw.KRR(LINE, 0.3), fw.KRR(LINE, 5.0)],
    "Identity": [fw.Identity(LINE)],
    "mixed": [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.3), fw.Identity(LINE), fw.KRR(LINE, 0.5)],
    "k-RR first": [fw.KRR(LINE, 2.0), fw.KRR(LINE, 0.5), fw.Geometric(LINE, 0.3)],
    "mixed the other way": [fw.Geometric(LINE, 0.02), fw.KRR(LINE, 1.0), fw.Geometric(LINE, 2.0)],
}
SYSTEMS = {
    "dense": lambda operator: DenseSystem(operator.dense()),
    "toeplitz": lambda operator: ToeplitzSystem(Line.of(operator)),
    "linear": lambda operator: LinearSystem(Line.of(operator)),
}


def some_outputs(name, rng):
    """Return the stack of some outputs of each law, in no order and some twice."""
    parts = [law.operator(rng.choice(ALL, 20)) for law in LAWS[name]]
    return StackOperator(parts)


def assert_solves(factor, matrix, rng):
    # Scaled to a unit diagonal, for the oracle would suffer from the scale too.
    scale = np.sqrt(matrix.diagonal())
    scaled = matrix / scale / scale[:, None]
    right = rng.standard_normal(len(matrix))
    expected = np.linalg.solve(scaled, right)
    allowed = 1e-13 * np.linalg.cond(scaled) * np.abs(expected).max()
    np.testing.assert_allclose(scale * factor(scale * right), expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("spread", [0.0, 2.0, 6.0])
def test_systems_solve_what_a_dense_solve_solves(name, kind, spread):
    rng = np.random.default_rng(7)
    for _ in range(5):
        operator = some_outputs(name, rng)
        rows = operator.dense()
        inner = 10 ** rng.uniform(-spread, spread, len(rows))
        outer = 10 ** rng.uniform(-spread, spread, 25)
        matrix = rows.T @ (inner[:, None] * rows) + np.diag(outer)
        assert_solves(SYSTEMS[kind](operator).factor(inner, outer), matrix, rng)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("at_a_time", [1, 2, 7])
def test_right_hand_sides_are_solved_together(name, at_a_time, monkeypatch):
    """As rows of an array, some in one call of LAPACK; each against a dense solve."""
    rng = np.random.default_rng(3)
    operator = some_outputs(name, rng)
    rows, line = operator.dense(), Line.of(operator)
    inner, outer = rng.uniform(0.1, 2, len(rows)), rng.uniform(0.1, 2, 25)
    matrix = rows.T @ (inner[:, None] * rows) + np.diag(outer)
    right = rng.standard_normal((5, 25))
    monkeypatch.setattr(interior, "_RIGHT_BYTES", at_a_time * 8 * 25 * (1 + 2 * line.decays.size))
    together = LinearSystem(line).factor(inner, outer)(right)
    np.testing.assert_allclose(together, np.linalg.solve(matrix, right.T).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("large", [1.0, 1e4, 1e8])
def test_the_correction_of_rank_two_outweighs_the_diagonal(large):
    """Woodbury's sign matters most where k-RR dominates."""
    rng = np.random.default_rng(1)
    operator = StackOperator(
        [fw.KRR(LINE, 0.2).operator(ALL), fw.Geometric(LINE, 0.5).operator(ALL)]
    )
    inner = np.concatenate([np.full(25, large), np.ones(25)]) * rng.uniform(0.5, 2, 50)
    outer = rng.uniform(0.5, 2, 25)
    matrix = operator.dense().T @ (inner[:, None] * operator.dense()) + np.diag(outer)
    assert_solves(LinearSystem(Line.of(operator)).factor(inner, outer), matrix, rng)


def test_other_laws_are_not_on_a_line():
    for law, reports in (
        (fw.RAPPOR(LINE, 1.0), np.zeros((1, 4), dtype=np.uint8)),
        (fw.PlanarGeometric(fw.Grid(5, 5, 1.0), 1.0), ALL),
    ):
        stack = StackOperator([fw.KRR(LINE, 1.0).operator(ALL), law.operator(reports)])
        assert Line.of(stack) is None
    assert Line.of(DenseOperator(np.eye(3))) is None
    assert Line.of(fw.KRR(LINE, 1.0).operator(ALL)).decays.size == 0


def test_a_line_is_short_until_its_powers_underflow():
    assert Line.of(fw.Geometric(LINE, 11.9).operator(ALL)).short
    assert not Line.of(fw.Geometric(LINE, 12.1).operator(ALL)).short
    one_of_two = [fw.Geometric(LINE, epsilon).operator(ALL) for epsilon in (0.1, 12.1)]
    assert not Line.of(StackOperator(one_of_two)).short


def test_a_singular_system_on_a_line_is_an_error():
    system = LinearSystem(Line.of(fw.Geometric(LINE, 0.1).operator(ALL)))
    with pytest.raises(np.linalg.LinAlgError, match="singular at pivot"):
        system.factor(np.zeros(25), np.zeros(25))


def test_many_mechanisms_on_one_line():
    """So many that LAPACK factors the band by blocks."""
    rng = np.random.default_rng(3)
    operator = StackOperator(
        [fw.Geometric(LINE, e).operator(ALL) for e in np.linspace(0.05, 1, 40)]
    )
    inner, outer = rng.uniform(0.5, 2, 1000), rng.uniform(0.5, 2, 25)
    matrix = operator.dense().T @ (inner[:, None] * operator.dense()) + np.diag(outer)
    assert_solves(LinearSystem(Line.of(operator)).factor(inner, outer), matrix, rng)


@pytest.mark.parametrize("spread", [0, 3, 8])
def test_cholesky_solves_badly_scaled_matrices(spread):
    rng = np.random.default_rng(2)
    for _ in range(20):
        half = rng.standard_normal((12, 8)) * 10 ** rng.uniform(-spread, spread, 8)
        matrix, diagonal = half.T @ half, 10 ** rng.uniform(-spread, spread, 8)
        assert_solves(cholesky(matrix.copy(), diagonal), matrix + np.diag(diagonal), rng)


def test_cholesky_reads_the_lower_triangle_only():
    rng = np.random.default_rng(2)
    half = rng.standard_normal((9, 6))
    matrix = half.T @ half
    assert_solves(cholesky(np.tril(matrix), 0.5), matrix + 0.5 * np.eye(6), rng)


def test_a_singular_matrix_gets_a_ridge():
    flat = np.ones((4, 4))
    found = cholesky(flat.copy())(np.full(4, 2.0))
    np.testing.assert_allclose(flat @ found, 2.0, rtol=1e-6)
    # The ridge is small beside every entry, whatever their scales are.
    diagonal = np.array([1e-18, 1e18, -1e-30])
    found = cholesky(np.diag(diagonal))(diagonal)
    np.testing.assert_allclose(found[:2], 1, rtol=1e-13)
    np.testing.assert_allclose(
        cholesky(np.zeros((2, 2)), np.array([4.0, 0.0]))(np.ones(2))[0], 0.25
    )


def test_reach_is_the_way_to_the_boundary():
    point = np.array([1.0, 2.0, 4.0])
    assert reach(np.array([1.0, 0.0, 3.0]) / point) == 1
    assert reach(np.array([-0.5, -1.0, 1.0]) / point) == 1
    assert reach(np.array([-2.0, -1.0, -16.0]) / point) == 0.25
