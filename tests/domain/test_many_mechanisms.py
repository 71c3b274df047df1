"""Mechanisms of one kind share an operator, whose rows are those of each."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.core.types import Counter
from freewill.domain.mechanisms.base import stacked_operators
from freewill.numeric.operators.base import StackOperator, probabilities
from freewill.numeric.solvers.interior import GramSystem, dense_system, structured_system
from freewill.stats.estimators.gibu import fewer_mechanisms

LINE, CITY = fw.Linear(0, 11), fw.Grid(5, 4, cell=0.7)
KINDS = {
    "k-rr": lambda epsilon: fw.KRR(LINE, epsilon),
    "geometric": lambda epsilon: fw.Geometric(LINE, epsilon),
    "rappor": lambda epsilon: fw.RAPPOR(LINE, epsilon),
    "planar": lambda epsilon: fw.PlanarGeometric(CITY, epsilon),
}
EPSILONS = st.lists(st.floats(1e-6, 600.0), min_size=1, max_size=6)


def drawn(make, epsilons, seed):
    rng = np.random.default_rng(seed)
    mechanisms = [make(epsilon) for epsilon in epsilons]
    size = mechanisms[0].alphabet.size
    outputs = [
        each.obfuscate(rng.integers(size, size=rng.integers(0, 9)), rng) for each in mechanisms
    ]
    return mechanisms, outputs


@pytest.mark.parametrize("kind", KINDS)
@given(epsilons=EPSILONS, seed=st.integers(0, 2**32))
def test_the_rows_of_a_shared_operator_are_those_of_each_mechanism(kind, epsilons, seed):
    mechanisms, outputs = drawn(KINDS[kind], epsilons, seed)
    (shared,) = stacked_operators(mechanisms, outputs)
    each = [mechanism.operator(some) for mechanism, some in zip(mechanisms, outputs, strict=True)]
    rows = np.vstack([one.dense() for one in each])
    np.testing.assert_allclose(shared.dense(), rows, rtol=1e-13)
    np.testing.assert_array_equal(shared.log_scale, np.concatenate([one.log_scale for one in each]))
    np.testing.assert_allclose(shared.log_dense(), np.vstack([one.log_dense() for one in each]))
    rng = np.random.default_rng(seed)
    theta, weights = rng.random(rows.shape[1]), rng.random(len(rows))
    for found, expected in (
        (shared.forward(theta), rows @ theta),
        (shared.adjoint(weights), rows.T @ weights),
        (shared.gram(weights), (rows.T * weights) @ rows),
        (shared.gram_diagonal(weights), weights @ rows**2),
        (shared.forward_within(theta, 1e-9), rows @ theta),
        (shared.adjoint_within(weights, 1e-12), rows.T @ weights),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    some = np.flatnonzero(rng.random(len(rows)) < 0.5)
    np.testing.assert_allclose(shared.subset(some).dense(), rows[some], rtol=1e-13)
    columns = rng.integers(0, rows.shape[1], 3)
    np.testing.assert_allclose(shared.dense(columns), rows[:, columns], rtol=1e-13)


@given(
    st.lists(st.floats(1e-3, 50.0), min_size=1, max_size=100),
    st.lists(st.floats(1e-3, 50.0), max_size=5),
    st.integers(0, 2**32),
)
def test_systems_of_many_laws_on_a_line_solve_as_their_matrix_does(geometric, krr, seed):
    rng = np.random.default_rng(seed)
    parts = [drawn(KINDS["geometric"], geometric, seed), drawn(KINDS["k-rr"], krr or [1.0], seed)]
    operator = StackOperator([one for part in parts for one in stacked_operators(*part)])
    rows = operator.dense()
    inner, outer, right = rng.random(len(rows)), rng.random(12) + 0.1, rng.random(12)
    expected = np.linalg.solve((rows.T * inner) @ rows + np.diag(outer), right)
    for system in (
        dense_system(operator, operator),
        GramSystem(operator),
        structured_system(operator, mechanisms=100),
    ):
        np.testing.assert_allclose(
            system.factor(inner, outer)(right), expected, rtol=1e-7, atol=1e-9
        )


def test_a_kind_with_a_law_of_its_own_is_asked_for_it():
    @dataclass(frozen=True)
    class Blunt(fw.KRR):
        def operator(self, outputs):
            return fw.KRR(self.alphabet, self.epsilon / 2).operator(outputs)

    mechanisms = [Blunt(LINE, 2.0), Blunt(LINE, 4.0)]
    laws = stacked_operators(mechanisms, [np.arange(12)] * 2)
    assert len(laws) == 2
    for law, epsilon in zip(laws, (1.0, 2.0), strict=True):
        np.testing.assert_allclose(probabilities(law).T, fw.KRR(LINE, epsilon).law())


def test_a_kind_without_a_law_says_what_it_needs():
    class Empty(fw.Mechanism):
        name = "empty"
        alphabet = LINE

        def guarantee(self):
            return fw.Guarantee("ldp", 1.0)

    with pytest.raises(
        fw.LawError, match="empty has no law: its class must have operator or stacked"
    ):
        Empty().operator(np.arange(3))


def test_large_reports_are_not_copied():
    wide = fw.Linear(0, 1023)
    rng = np.random.default_rng(1)
    mechanisms = [fw.RAPPOR(wide, epsilon) for epsilon in (1.0, 2.0, 3.0, 4.0)]
    sizes = (5, 5, 20_000, 5)
    outputs = [
        each.obfuscate(rng.integers(1024, size=size), rng)
        for each, size in zip(mechanisms, sizes, strict=True)
    ]
    laws = stacked_operators(mechanisms, outputs)
    assert [law.shape[0] for law in laws] == [10, 20_000, 5]
    assert laws[1].packed is outputs[2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_mechanisms_are_estimated_as_their_rows_are(kind):
    """The gap is computed anew from the law of each mechanism alone."""
    rng = np.random.default_rng(5)
    mechanisms = [KINDS[kind](epsilon) for epsilon in np.geomspace(0.3, 6, 300)]
    size = mechanisms[0].alphabet.size
    truth = rng.dirichlet(np.ones(size))
    pairs = [(each, each.obfuscate(rng.choice(size, 20, p=truth), rng)) for each in mechanisms]
    evidence = fw.collect(pairs)
    for solver in (None, "interior", "columns", "passes"):
        estimate = fw.gibu(evidence, solver=solver)
        assert estimate.status == fw.Status.CERTIFIED
        slope = np.zeros(size)
        for group in evidence.groups:
            rows = group.mechanism.operator(group.outputs).dense()
            slope += rows.T @ (group.counts / (rows @ estimate.theta))
        assert slope.max() / evidence.people - 1 <= 1.0001 * 0.01 / evidence.people


def test_fewer_mechanisms_have_the_same_reports():
    rng = np.random.default_rng(2)
    many = [fw.KRR(LINE, epsilon) for epsilon in rng.uniform(0.1, 5, 200)]
    few = [fw.Geometric(LINE, epsilon) for epsilon in rng.uniform(0.1, 5, 5)]
    pairs = [(each, each.obfuscate(rng.integers(12, size=7), rng)) for each in [*many, *few]]
    evidence = fw.collect(pairs)
    fewer = fewer_mechanisms(evidence)
    assert fewer.people == evidence.people
    assert set(fewer.mechanisms) <= set(evidence.mechanisms)
    kinds = [mechanism.name for mechanism in fewer.mechanisms]
    assert (kinds.count("k-rr"), kinds.count("geometric")) == (20, 5)
    totals = [
        sum(np.bincount(group.outputs, group.counts, 12) for group in each.only("k-rr").groups)
        for each in (fewer, evidence)
    ]
    np.testing.assert_array_equal(*totals)
    assert fewer_mechanisms(fw.collect(pairs[:70])) is None


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 5)), max_size=60), max_size=5)
)
def test_few_outputs_and_many_are_counted_alike(batches):
    counter, expected = Counter(1000), np.zeros(1000, dtype=np.int64)
    for batch in batches:
        outputs, counts = np.array(batch, dtype=np.int64).reshape(-1, 2).T
        counter.add(outputs, counts)
        np.add.at(expected, outputs, counts)
    outputs, counts = counter.result()
    np.testing.assert_array_equal(outputs, np.flatnonzero(expected))
    np.testing.assert_array_equal(counts, expected[outputs])
