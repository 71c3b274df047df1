"""The Newton system of a law with atoms against a dense solve, over extreme diagonals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import StackOperator
from freewill.numeric.solvers.conjugate import AtomSystem
from freewill.numeric.solvers.interior import DenseSystem, structured_system
from profiles import examples

LINE = fw.Linear(0, 11)
LAWS = [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.3), fw.RAPPOR(LINE, 1.0)]
SYSTEMS = {"dense": lambda law: DenseSystem(law.dense()), "structured": structured_system}


@pytest.mark.parametrize("kind", SYSTEMS)
@examples(40)
@given(
    seed=st.integers(0, 10_000),
    many=st.integers(1, 27),
    height=st.floats(0.5, 1.0),
    reach=st.floats(0.0, 4.0),
)
def test_atoms_are_eliminated_from_the_system(kind, seed, many, height, reach) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (3, 12), dtype=np.uint8)
    outputs = [np.arange(12), np.arange(12), np.packbits(bits, axis=1, bitorder="little")]
    law = StackOperator([one.operator(some) for one, some in zip(LAWS, outputs, strict=True)])
    places = np.sort(rng.permutation(27)[:many])
    atoms = AtomOperator(law, np.log(rng.uniform(0.1, 1, 27)), places, height)
    inner = np.exp(rng.uniform(-reach, reach, 27))
    outer = np.exp(rng.uniform(-reach, reach, 12 + many))
    solve = AtomSystem(atoms, SYSTEMS[kind](law)).factor(inner, outer)
    rows, right = atoms.dense(), rng.standard_normal(12 + many)
    matrix = rows.T @ (inner[:, None] * rows) + np.diag(outer)
    for _ in range(2):
        np.testing.assert_allclose(matrix @ solve(right), right, rtol=1e-8, atol=1e-8)
