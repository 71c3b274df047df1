"""The contract: sampler, law, guarantee and description of every mechanism agree."""

import json
import math
import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from contract import (
    ENTRIES,
    Entry,
    ThreeQuarters,
    count_reports,
    g_test,
    line,
    menu,
    naive_adversary_loss,
    naive_epsilon,
    naive_loss,
)
from freewill.domain.draws.sources import GeneratorBytes
from freewill.domain.mechanisms import registry as mechanisms

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=str)
later = pytest.mark.later
several_settings = pytest.mark.parametrize(
    ("size", "epsilon"),
    [(2, 1.0), pytest.param(4, 0.3, marks=later), (5, 2.5), pytest.param(9, 0.8, marks=later)],
)
two_epsilons = pytest.mark.parametrize("epsilon", [0.3, pytest.param(2.0, marks=later)])

SMALLEST, LARGEST = 1e-3, 50.0
sizes = st.integers(2, 10)
epsilons = st.floats(math.log(SMALLEST), math.log(LARGEST)).map(
    lambda exponent: min(max(math.exp(exponent), SMALLEST), LARGEST)
)


@pytest.fixture(scope="module", autouse=True)
def _how_to_in_registry() -> Iterator[None]:
    """What the registry line of docs/new-mechanism.md does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(mechanisms.REGISTRY, ThreeQuarters.name, ThreeQuarters)
        yield


def close(found, expected, relative=1e-10):
    """Equal to `relative`, or to rounding in terms of the largest entry."""
    largest = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=relative, atol=1e-13 * largest)


@every_entry
@several_settings
def test_law_is_the_oracles(entry: Entry, size, epsilon):
    mechanism = entry.build(size, epsilon)
    law = mechanism.law()
    assert np.all(law >= 0)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law, entry.oracle(mechanism), rtol=1e-10, atol=1e-15)


@every_entry
def test_outputs_are_listed_once(entry: Entry):
    mechanism = entry.build(6, 1.0)
    outputs = mechanism.outputs()
    assert len(np.unique(outputs, axis=0)) == len(outputs) == entry.oracle(mechanism).shape[1]


def some_outputs(mechanism, rng):
    """All outputs; then a selection of them, unordered and with repeats; then none."""
    outputs = mechanism.outputs()
    chosen = rng.integers(0, len(outputs), 2 * len(outputs) + 1)
    return (np.arange(len(outputs)), chosen, chosen[:0])


@every_entry
@several_settings
def test_products_are_the_oracles(entry: Entry, size, epsilon):
    rng = np.random.default_rng(size)
    mechanism = entry.build(size, epsilon)
    law = entry.oracle(mechanism)
    for chosen in some_outputs(mechanism, rng):
        rows = law.T[chosen]
        operator = mechanism.operator(mechanism.outputs()[chosen])
        theta, weights = rng.random(rows.shape[1]), rng.random(rows.shape[0])
        columns = rng.integers(0, rows.shape[1], 3)
        scale = np.exp(operator.log_scale)

        assert operator.shape == rows.shape
        assert operator.log_scale.shape == (rows.shape[0],)
        close(scale * operator.forward(theta), rows @ theta)
        close(operator.adjoint(scale * weights), rows.T @ weights)
        close(operator.gram(scale**2 * weights), rows.T @ np.diag(weights) @ rows)
        close(scale[:, None] * operator.dense(), rows)
        close(scale[:, None] * operator.dense(columns), rows[:, columns])
        close(np.exp(operator.log_dense()), rows)


@every_entry
@several_settings
def test_forward_and_adjoint_belong_together(entry: Entry, size, epsilon):
    rng = np.random.default_rng(0)
    mechanism = entry.build(size, epsilon)
    for chosen in some_outputs(mechanism, rng):
        operator = mechanism.operator(mechanism.outputs()[chosen])
        assert fw.dot_test(operator, rng, tolerance=1e-12) <= 1e-12


@every_entry
@two_epsilons
def test_sampler_follows_the_oracles_law(entry: Entry, epsilon):
    mechanism = entry.build(6, epsilon)
    law = entry.oracle(mechanism)
    for value in sorted({0, 1, len(law) // 2, len(law) - 1}):
        rng = np.random.default_rng([value, 2026])
        reports = mechanism.obfuscate(np.full(100_000, value), rng)
        counts = count_reports(mechanism, reports)
        assert counts.sum() == 100_000
        assert not counts[law[value] == 0].any()
        assert g_test(counts, law[value]) > 1e-4


@every_entry
def test_sampler_treats_each_value_by_itself(entry: Entry):
    """Values drawn together are the values drawn apart, whatever their order."""
    mechanism = entry.build(4, 1.0)
    law = entry.oracle(mechanism)
    rng = np.random.default_rng(7)
    values = rng.permutation(np.repeat(np.arange(len(law)), 20_000))
    reports = mechanism.obfuscate(values, rng)
    assert len(reports) == len(values)
    for value in range(len(law)):
        counts = count_reports(mechanism, reports[values == value])
        assert g_test(counts, law[value]) > 1e-4 / len(law)


@pytest.mark.slow
@every_entry
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_draws_follow_the_oracles_law(entry: Entry, epsilon):
    """One at a time, from bytes: the same law."""
    mechanism = entry.build(4, epsilon)
    law = entry.oracle(mechanism)
    value = len(law) // 2
    source = GeneratorBytes(np.random.default_rng([value, 2026]))
    reports = np.array([mechanism.draw(value, source) for _ in range(1_000)])
    mechanism.output_space.checked(reports, mechanism.name)
    counts = count_reports(mechanism, reports)
    assert not counts[law[value] == 0].any()
    assert g_test(counts, law[value]) > 1e-4


@every_entry
def test_draws_are_reports_and_the_systems(entry: Entry, monkeypatch):
    """A draw is one row of what obfuscate gives, from the operating system unless told."""
    mechanism = entry.build(5, 1.0)
    asked: list[int] = []
    draw = os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or draw(count))
    alone = mechanism.draw(1)
    assert bool(asked) != isinstance(mechanism, fw.Identity | fw.Silent)
    several = mechanism.obfuscate([1, 2], np.random.default_rng(0))
    assert np.asarray(alone).shape == several[0].shape
    assert np.asarray(alone).dtype == several.dtype
    first, second = (
        [mechanism.draw(v % 5, GeneratorBytes(np.random.default_rng(v))) for v in range(20)]
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@every_entry
@pytest.mark.parametrize("wrong", [-1, 10**6, 1.5, "1", [1], [0, 1], None])
def test_draws_of_no_index_are_refused(entry: Entry, wrong):
    with pytest.raises(fw.AlphabetError):
        entry.build(4, 1.0).draw(wrong)


def test_g_test_sees_a_slightly_wrong_epsilon():
    """The judge of the samplers is not blind: 4 % in epsilon is plain to it."""
    mechanism = fw.KRR(line(6), 1.0)
    reports = mechanism.obfuscate(np.zeros(200_000, dtype=int), np.random.default_rng(1))
    counts = count_reports(mechanism, reports)
    assert g_test(counts, fw.KRR(line(6), 1.0).law()[0]) > 1e-4
    assert g_test(counts, fw.KRR(line(6), 1.04).law()[0]) < 1e-4


@every_entry
def test_sampler_is_reproducible_and_keeps_its_input(entry: Entry):
    mechanism = entry.build(5, 1.0)
    values = np.arange(mechanism.alphabet.size)
    first = mechanism.obfuscate(values, np.random.default_rng(3))
    second = mechanism.obfuscate(values, np.random.default_rng(3))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(values, np.arange(mechanism.alphabet.size))


@every_entry
def test_nobody_is_sampled_from_nobody(entry: Entry):
    mechanism = entry.build(5, 1.0)
    assert len(mechanism.obfuscate([], np.random.default_rng(0))) == 0


@every_entry
@several_settings
def test_audit_agrees_with_all_pairs(entry: Entry, size, epsilon):
    mechanism = entry.build(min(size, 5), epsilon)
    law = entry.oracle(mechanism)
    found = fw.audit(mechanism)
    assert found.holds
    assert entry.tight is None or found.tight == entry.tight
    if isinstance(found, fw.LossAudit):
        expected = naive_adversary_loss(law, mechanism.alphabet)
        assert found.adversary_loss == pytest.approx(expected, rel=1e-9)
    else:
        expected = naive_epsilon(law, mechanism.alphabet, found.claim.kind)
        assert found.epsilon == pytest.approx(expected, rel=1e-9)
        assert found.epsilon <= found.claim.epsilon + found.resolution


@every_entry
def test_guarantee_is_no_less_than_epsilon(entry: Entry):
    for epsilon in (SMALLEST, 0.7, LARGEST):
        mechanism = entry.build(4, epsilon)
        if hasattr(mechanism, "epsilon"):
            assert epsilon <= mechanism.guarantee().epsilon <= epsilon + 1e-9 * (1 + epsilon)
        elif isinstance(mechanism.guarantee(), fw.AdversaryLoss):
            assert mechanism.guarantee().adversary_loss <= fw.audit(mechanism).optimum + 1e-12
        else:
            found = fw.audit(mechanism)
            # A sum of rows is known up to its rounding, also where the promise is a parameter.
            known = found.resolution if isinstance(mechanism, fw.Then) else 0.0
            assert mechanism.guarantee().epsilon >= found.epsilon - known


@every_entry
def test_spec_survives_json(entry: Entry):
    mechanism = entry.build(5, 0.7)
    again = fw.from_spec(json.loads(json.dumps(mechanism.spec(), allow_nan=False)))
    assert type(again) is type(mechanism)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.id == mechanism.id
    np.testing.assert_array_equal(again.law(), mechanism.law())


@every_entry
def test_equality_is_about_everything(entry: Entry):
    mechanism, larger = entry.build(5, 0.7), entry.build(6, 0.7)
    assert mechanism == entry.build(5, 0.7)
    assert mechanism != larger
    assert mechanism.id != larger.id
    assert mechanism != "mechanism"
    if not isinstance(mechanism, fw.Identity | fw.Silent):
        other = entry.build(5, 0.7000001)
        assert mechanism != other
        assert mechanism.id != other.id


def test_ids_of_all_mechanisms_differ():
    ids = [entry.build(5, 0.7).id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)


SMALL_CITY = fw.Grid(4, 3, cell=0.5)
NEAR_LAW = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
SMALL_LAW = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (fw.KRR(fw.Linear(0, 9), 1.0), "ccbb33fe2a4cc5bd"),
        (fw.KRR(fw.Categorical(["a", "b", "c"]), 1.0), "bf5a0ef07d248d8e"),
        (fw.Geometric(fw.Linear(0, 9), 0.3), "951d21dfbc863f9d"),
        (fw.Geometric(fw.Linear(0, 27, step=3), 0.3), "aef70a4f5045367d"),
        (fw.PlanarGeometric(SMALL_CITY, 0.8), "95e3e25bd052c065"),
        (fw.RAPPOR(fw.Linear(0, 9), 1.0), "1c97067cf6ef1144"),
        (fw.Identity(fw.Linear(0, 9)), "3ef51a00eb42fdd5"),
        (fw.Matrix(fw.Categorical(["a", "b", "c"]), SMALL_LAW), "31ae7e1d138e5360"),
        (fw.Exponential(fw.Linear(0, 9), 0.3), "97aac0e40eb7432a"),
        (fw.PlanarLaplace(SMALL_CITY, 0.8), "dce738b99e3a3e94"),
        (fw.Staircase(fw.Linear(0, 9), 1.0), "cb7106907b730eec"),
        (fw.Staircase(fw.Linear(0, 9), 1.0, gamma=0.5), "0076492e1f1a5942"),
        (fw.SquareWave(fw.Linear(0, 9), 1.0), "e4863614cafda452"),
        (fw.SquareWave(fw.Linear(0, 9), 1.0, reach=2), "29703aeef7d3e133"),
        (fw.BlahutArimoto(fw.Linear(0, 2), 1.0, marginal=[0.25, 0.5, 0.25]), "30223c9c01f051c8"),
        (fw.OptimalGeo(fw.Linear(0, 2), 1.0, law=NEAR_LAW), "163e2651125b5495"),
        (fw.Unary(fw.Linear(0, 9), p=0.75, q=0.25), "44d5c5c5e77aec05"),
        (fw.OUE(fw.Linear(0, 9), 1.0), "5f46dbf812208524"),
        (fw.THE(fw.Linear(0, 9), 1.0), "ce93949208026201"),
        (fw.LocalHashing(fw.Linear(0, 9), 1.0), "c21d9ce2955f63a6"),
        (fw.BLH(fw.Linear(0, 9), 1.0), "358d8823f996ac9a"),
        (fw.SubsetSelection(fw.Linear(0, 9), 1.0), "d355b929189ae27f"),
        (fw.HadamardResponse(fw.Linear(0, 9), 1.0), "f37aa86bd11365f9"),
        (fw.HadamardResponse(fw.Linear(0, 9), 3.0, blocks=4), "1709777c3a95a320"),
        (fw.LongitudinalKRR(fw.Linear(0, 9), 1.0, 3.0), "d1f681d788ecc4ff"),
        (fw.LongitudinalUnary(fw.Linear(0, 9), 1.0, 3.0), "22f347cf07421c04"),
        (fw.BloomRAPPOR(fw.Linear(0, 9)), "db7eca58773db6fd"),
        (fw.Repeated(fw.KRR(fw.Linear(0, 9), 1.0), 3), "687a3d50ae82db82"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_ids_never_change(mechanism, name):
    """Reports in the world carry these names: a change orphans them."""
    assert mechanism.id == name


def test_id_does_not_depend_on_how_numbers_were_written():
    plain = fw.KRR(fw.Linear(0, 9), 1.0)
    assert fw.KRR(fw.Linear(np.int64(0), 9.0), np.float32(1)).id == plain.id
    assert fw.KRR(fw.Linear(0, 9), 1).id == plain.id


@every_entry
def test_quality_loss_is_the_dense_sum(entry: Entry):
    mechanism = entry.build(5, 0.7)
    size = mechanism.alphabet.size
    if mechanism.output_space.alphabet != mechanism.alphabet:
        with pytest.raises(fw.LawError, match="not values of its alphabet"):
            mechanism.quality_loss()
        return
    law = entry.oracle(mechanism)
    uniform = np.full(size, 1 / size)
    random = np.random.default_rng(5).dirichlet(np.ones(size))
    close(mechanism.quality_loss(), naive_loss(law, mechanism.alphabet, uniform))
    close(mechanism.quality_loss(random), naive_loss(law, mechanism.alphabet, random))


@every_entry
@given(size=sizes, epsilon=epsilons)
@example(size=2, epsilon=SMALLEST)
@example(size=10, epsilon=SMALLEST)
@example(size=2, epsilon=LARGEST)
@example(size=10, epsilon=LARGEST)
def test_law_holds_at_all_sizes_and_epsilons(entry: Entry, size, epsilon):
    """Nothing overflows, nothing is NaN, and no warning is raised (warnings are errors here)."""
    rng = np.random.default_rng(size)
    mechanism = entry.build(size, epsilon)
    law = mechanism.law()
    assert np.all(law >= 0)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    if epsilon >= entry.oracle_from:
        # Entry by entry, down to the smallest.
        np.testing.assert_allclose(law, entry.oracle(mechanism), rtol=1e-9, atol=0)

    operator = mechanism.operator(mechanism.outputs())
    theta, weights = rng.dirichlet(np.ones(operator.shape[1])), rng.random(operator.shape[0])
    scale = np.exp(operator.log_scale)
    close(scale * operator.forward(theta), law.T @ theta)
    close(operator.adjoint(scale * weights), law @ weights)
    close(operator.gram(scale**2 * weights), law @ np.diag(weights) @ law.T)

    found = fw.audit(mechanism)
    assert found.holds
    assert found.tight or not entry.tight

    reports = mechanism.obfuscate(np.arange(mechanism.alphabet.size), rng)
    possible = mechanism.operator(reports).log_dense()
    assert np.all(np.isfinite(possible.diagonal()))
    assert fw.from_spec(json.loads(json.dumps(mechanism.spec()))) == mechanism


loss_entries = pytest.mark.parametrize(
    "entry",
    [
        entry
        for entry in ENTRIES
        if hasattr(entry.build(2, 1.0), "epsilon")
        # At a size and an epsilon at which all that may be reports beyond the values are.
        and entry.build(9, 0.8).output_space.alphabet == entry.build(9, 0.8).alphabet
    ],
    ids=str,
)


@loss_entries
@given(size=sizes, epsilon=epsilons)
@example(size=10, epsilon=SMALLEST)
@example(size=10, epsilon=LARGEST)
def test_quality_loss_holds_at_all_sizes_and_epsilons(entry: Entry, size, epsilon):
    mechanism = entry.build(size, epsilon)
    law, far = mechanism.law(), fw.distances(mechanism.alphabet)
    expected = (law * far).sum(axis=1)
    np.testing.assert_allclose(mechanism.losses(), expected, rtol=1e-9, atol=0)
    assert 0 < mechanism.quality_loss() < far.max()


@pytest.mark.parametrize("values", [[[0, 1], [2, 3]], 2], ids=["two axes", "one number"])
def test_reports_have_the_shape_of_the_values(values):
    for mechanism in (fw.KRR(menu(4), 1.0), fw.Geometric(line(4), 1.0), fw.Identity(line(4))):
        reports = mechanism.obfuscate(values, np.random.default_rng(0))
        assert np.shape(reports) == np.shape(values)
