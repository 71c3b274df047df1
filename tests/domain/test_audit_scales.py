"""Audits at every scale of distance: a false claim never holds, pair by pair."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import freewill as fw
from contract import ENTRIES
from profiles import examples

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
@examples(300)
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


def computed_epsilons(law, apart):
    """Yield the epsilon of two rows as people compute it: quotients, logarithms, fractions."""
    high, low = law.max(axis=0), law.min(axis=0)
    yield math.log((high / low).max()) / apart
    yield float((np.log(high) - np.log(low)).max()) / apart
    first, second = ([Fraction(x) for x in row] for row in law.tolist())
    divided = [x / sum(first) / (y / sum(second)) for x, y in zip(first, second, strict=True)]
    for ratios in ([x / y for x, y in zip(first, second, strict=True)], divided):
        ratio = max(*ratios, 1 / min(ratios))
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        yield float(exact / Decimal(apart))


@examples(25)
@given(
    st.floats(-9, 1.5).map(lambda exponent: 10.0**exponent),
    st.floats(-3, 3).map(lambda exponent: 10.0**exponent),
    st.integers(2, 4),
    st.integers(0, 10**6),
)
@example(1e-4, 1.0, 3, 0)
def test_a_claim_computed_from_a_table_holds_and_one_below_does_not(spread, apart, outputs, seed):
    """In both audits and for both kinds of promise, up to the rounding that is granted."""
    noise = np.random.default_rng(seed).uniform(-1, 1, (2, outputs))
    law = np.exp(spread * noise)
    mechanism = fw.Matrix(fw.Grid(2, 1, cell=apart), law / law.sum(axis=1, keepdims=True))
    for kind, distance in (("ldp", 1.0), ("geo", apart)):
        for epsilon in computed_epsilons(mechanism.law(), distance):
            short = max(1e-14 * (1 / distance + epsilon), 1e-12 * epsilon)
            for exact in (False, True):
                audit = partial(fw.audit, mechanism, exact=exact)
                assert audit(fw.Guarantee(kind, epsilon)).holds
                less = audit(fw.Guarantee(kind, max(0.0, epsilon - short)))
                assert less.refuted
                assert not less.holds


@examples(8)
@given(
    st.sampled_from([(1, 2), (1, 5), (4, 1), (2, 2), (2, 3), (3, 2), (3, 3)]),
    st.tuples(st.floats(0.05, 20.0), st.floats(0.05, 20.0)),
    st.floats(-4, 1).map(lambda exponent: 10.0**exponent),
    st.floats(0.02, 3.0),
)
@example((2, 2), (1.0, 1.0), 1.0, 0.999)
@example((2, 2), (2.27, 0.251), 1e-4, 0.9)
def test_both_audits_say_the_same_on_small_grids(shape, cell, decay, factor):
    """A claim by any factor off the epsilon of the law, and next to it on either side."""
    grid = fw.Grid(*shape, cell=cell)
    epsilon = decay / min(cell)
    mechanisms = [
        fw.KRR(grid, decay),
        fw.RAPPOR(grid, decay),
        fw.Matrix(grid, fw.KRR(grid, decay).law()),
        fw.Shokri(grid, 0.3 * min(cell), selection="vertex"),
        fw.Shokri(grid, 0.3 * min(cell)),
    ]
    if min(shape) > 1:
        mechanisms.append(fw.PlanarGeometric(grid, epsilon))
    for mechanism in mechanisms:
        for kind in ("geo", "ldp")[: 1 if hasattr(mechanism, "lattice") else 2]:
            tight = fw.audit(mechanism, fw.Guarantee(kind, 1.0)).epsilon
            for off in (factor, 1 - 1e-9, 1 + 1e-9):
                claim = fw.Guarantee(kind, off * tight)
                law, sampler = fw.audit(mechanism, claim), fw.audit(mechanism, claim, exact=True)
                assert law.holds == sampler.holds == (off >= 1 or tight in (0, math.inf))
                assert law.refuted == sampler.refuted


@pytest.mark.parametrize("cell", [(1.0, 1.0), (0.7, 2.0)])
def test_on_two_by_two_cells_the_epsilon_is_that_of_quarters_of_the_lattice(cell):
    """Every output is a corner: sum over i >= x, j >= y of e^(-epsilon hypot(i w, j h))."""
    grid = fw.Grid(2, 2, cell=cell)
    i, j = np.arange(200), np.arange(200)[:, None]
    noise = np.exp(-0.6 * np.hypot(i * cell[0], j * cell[1]))
    (low, aside), (up, far) = [[noise[y:, x:].sum() for x in (0, 1)] for y in (0, 1)]
    distances = {(low, aside): cell[0], (low, up): cell[1], (low, far): math.hypot(*cell)}
    distances |= {(aside, far): cell[1], (up, far): cell[0], (up, aside): math.hypot(*cell)}
    tight = max(abs(math.log(a / b)) / distance for (a, b), distance in distances.items())
    proved = fw.audit(fw.PlanarGeometric(grid, 0.6), exact=True)
    assert float(proved.realised) == pytest.approx(tight, rel=1e-12)
    assert tight < 0.599
    assert "2 x 2" in str(proved)


@pytest.mark.slow
@examples(60)
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
