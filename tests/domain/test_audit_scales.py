"""Audits at every scale of distance: a false claim never holds, pair by pair."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import freewill as fw
from contract import ENTRIES

scales = st.floats(-300, 300).map(lambda exponent: 10.0**exponent)


def true_epsilon(law, alphabet):
    """Pair by pair, with logarithms of exact quotients."""
    worst = 0.0
    for first in range(len(law)):
        for second in range(first):
            apart = float(alphabet.distance(first, second))
            for left, right in zip(law[first], law[second], strict=True):
                high, low = max(left, right), min(left, right)
                if high == low:
                    continue
                ratio = math.inf if low == 0 else math.log1p((high - low) / low)
                worst = max(worst, ratio / apart)
    return worst


def law_of_scale(rng, size, outputs, spread):
    """Rows that differ by about `spread`, relative."""
    base = rng.dirichlet(np.ones(outputs))
    law = base * (1 + spread * rng.uniform(-1, 1, (size, outputs)))
    return law / law.sum(axis=1, keepdims=True)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.tuples(scales, scales),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.floats(-16, -0.01).map(lambda exponent: 10.0**exponent),
    st.floats(1.001, 1e6),
    st.integers(0, 10**6),
)
@example((1e-13, 1e3), (4, 4), 1e-3, 1.001, 0)
@example((1e-300, 1e300), (4, 4), 1e-15, 1.001, 1)
@example((1e-300, 1e-300), (4, 4), 0.9, 1.001, 2)
@example((1e300, 1e300), (2, 4), 0.9, 1.001, 3)
def test_a_false_claim_never_holds(cell, shape, spread, factor, seed):
    grid = fw.Grid(*shape, cell=cell)
    assume(grid.size > 1)
    mechanism = fw.Matrix(grid, law_of_scale(np.random.default_rng(seed), grid.size, 3, spread))
    true = true_epsilon(mechanism.law(), grid)
    assume(1e-290 < true < 1e300)
    assert not fw.audit(mechanism, fw.Guarantee("geo", true / factor)).holds
    found = fw.audit(mechanism, fw.Guarantee("geo", true * (1 + 1e-12)))
    assert found.holds
    assert found.epsilon == pytest.approx(true, rel=1e-12)


@given(st.floats(-16, 0).map(lambda exponent: 10.0**exponent), st.integers(0, 10**6))
@example(1e-16, 0)
def test_a_false_claim_about_all_values_never_holds(spread, seed):
    line = fw.Linear(0, 4)
    mechanism = fw.Matrix(line, law_of_scale(np.random.default_rng(seed), 5, 4, spread / 2))
    true = max(
        math.log1p((column.max() - column.min()) / column.min()) for column in mechanism.law().T
    )
    assume(true > 0)
    assert not fw.audit(mechanism, fw.Guarantee("ldp", true / 1.001)).holds
    # The oracle is rounded to the nearest double, twice, and the promise upwards, once.
    assert mechanism.guarantee().epsilon >= true * (1 - 2.0**-51)
    assert fw.audit(mechanism).holds


@pytest.mark.slow
@settings(max_examples=60)
@given(scales, scales, st.floats(1.001, 10.0))
@example(1e-13, 1e3, 1.001)
@example(1.0, 1e-9, 1.001)
def test_a_false_claim_of_a_formula_never_holds(width, height, factor):
    """Where rounding hides the nearest cells, the audit says that it cannot tell."""
    grid = fw.Grid(3, 4, cell=(width, height))
    try:
        mechanism = fw.PlanarGeometric(grid, epsilon=1.0 / min(width, height))
    except fw.ParameterError:
        assume(False)
    assert not fw.audit(mechanism, fw.Guarantee("geo", mechanism.epsilon / factor)).holds
    own = fw.audit(mechanism)
    assert not own.refuted
    # Where one side is a million times the other, rounding along it hides what is across.
    assert own.holds or max(width, height) / min(width, height) > 1e6


@pytest.mark.parametrize("epsilon", [1e-300, 1e-100, 1e-20, 1e-14, 1e-12, 1e-3, 5.0, 700.0])
@pytest.mark.parametrize(
    "build",
    [
        lambda e: fw.KRR(fw.Linear(0, 9), e),
        lambda e: fw.RAPPOR(fw.Linear(0, 9), e),
        lambda e: fw.Geometric(fw.Linear(0, 99), e),
        lambda e: fw.Geometric(fw.Linear(0, 300, step=3), e),
        lambda e: fw.PlanarGeometric(fw.Grid(5, 4, cell=(0.7, 0.4)), max(e, 1e-280)),
    ],
)
def test_a_formula_is_told_at_every_epsilon(build, epsilon):
    mechanism = build(epsilon)
    epsilon = mechanism.epsilon
    own = fw.audit(mechanism)
    assert own.holds
    assert own.tight
    assert own.epsilon == pytest.approx(epsilon, rel=1e-11)
    kind = own.claim.kind
    assert fw.audit(mechanism, fw.Guarantee(kind, epsilon / 1.001)).refuted
    assert fw.audit(mechanism, fw.Guarantee(kind, epsilon * 1.001)).holds


@pytest.mark.parametrize("true", [1.01, 2.0, 100.0])
def test_a_formula_that_the_law_contradicts_is_not_believed(true):
    class Leaky(fw.KRR):
        """Its formula says one epsilon, its law another."""

        def operator(self, outputs):
            return fw.KRR(self.alphabet, self.epsilon * true).operator(outputs)

    for epsilon in (1e-3, 1.0):
        found = fw.audit(Leaky(fw.Linear(0, 9), epsilon))
        assert found.refuted
        assert found.epsilon == pytest.approx(epsilon * true, rel=1e-9)


def test_the_smallest_cells_are_seen():
    """Cells of 1e-13 x 1000 km: the law tells neighbours apart by 0.1, far more than is claimed."""
    grid = fw.Grid(2, 2, cell=(1e-13, 1e3))
    law = np.array([[0.5, 0.5], [0.45, 0.55], [0.5, 0.5], [0.45, 0.55]])
    found = fw.audit(fw.Matrix(grid, law), fw.Guarantee("geo", 1.0))
    assert not found.holds
    assert found.refuted
    assert found.epsilon == pytest.approx(math.log(0.5 / 0.45) / 1e-13)


@pytest.mark.parametrize("off", [1e-9, -1e-9, 3e-10, 1e-14])
def test_rows_are_divided_by_their_sums(off):
    """Sampler, operator, law and guarantee all speak of the normalised law."""
    given_law = np.array([[0.6, 0.4], [0.3, 0.7]])
    given_law[0] *= 1 + 0.999 * off
    mechanism = fw.Matrix(fw.Linear(0, 1), given_law)
    exact = given_law / given_law.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mechanism.law(), exact, rtol=2e-15)
    np.testing.assert_array_equal(mechanism.operator(np.arange(2)).dense(), mechanism.law().T)
    assert mechanism.guarantee().epsilon >= math.log(2) - 1e-15
    assert mechanism.guarantee().epsilon == pytest.approx(math.log(2), rel=2e-12)
    assert fw.from_spec(mechanism.spec()) == mechanism
    assert fw.Matrix(fw.Linear(0, 1), mechanism.law()) == mechanism


@given(st.integers(2, 60), st.integers(1, 60), st.integers(0, 10**6))
def test_normalising_twice_changes_nothing(size, outputs, seed):
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(outputs, 0.3), size) * (1 + rng.uniform(-9e-10, 9e-10, (size, 1)))
    once = fw.Matrix(fw.Linear(0, size - 1), law, fw.Linear(0, outputs - 1))
    assert fw.Matrix(once.alphabet, once.law(), once.output_alphabet) == once


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 2.5, 20.0])
def test_formulas_are_the_oracles_law(entry, epsilon):
    mechanism = entry.build(4, epsilon)
    ratios = mechanism.log_ratios(mechanism.outputs())
    if ratios is None:
        return
    logs = np.log(entry.oracle(mechanism)).T
    found, expected = ratios - ratios[:, :1], logs - logs[:, :1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cell", [(1e-3, 1e-3), (1e-3, 3e-3)])
def test_sums_at_the_border_hardly_fall(cell):
    """Term by term, the half-line behind an output of the east edge, from two rows."""
    grid = fw.Grid(3, 3, cell=cell)
    output, near, far = 5, 4, 7  # the middle of the east edge; a column to the west, and aside
    mechanism = fw.PlanarGeometric(grid, 1.0)
    ((own, other),) = mechanism.log_ratios(np.array([output]))[:, [near, far]]
    east = cell[0] * np.arange(1, 60_000)
    sums = [math.fsum(np.exp(-np.hypot(east, north))) for north in (0.0, cell[1])]
    fall = math.fsum(np.exp(-east) - np.exp(-np.hypot(east, cell[1])))
    assert own - other == pytest.approx(-math.log1p(-fall / sums[0]), rel=1e-8)
    assert own - other < cell[1]
