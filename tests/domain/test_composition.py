"""Mechanisms made of others: laws of any nesting, promises, descriptions, and what is refused."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import freewill as fw
from composed_cases import composed_law, silence_kept, two_kinds
from contract import count_reports, g_test, naive_epsilon
from freewill.domain.draws.sources import GeneratorBytes
from freewill.domain.mechanisms.composed import widest
from freewill.domain.packed_outputs import Records

LINE = fw.Linear(0, 3)
LEAST, MOST = 1e-9, 700.0
epsilons = st.floats(math.log(LEAST), math.log(MOST)).map(
    lambda exponent: min(max(math.exp(exponent), LEAST), MOST)
)
chances = st.floats(1e-9, 1.0)


def leaves(alphabet):
    values = epsilons.map(lambda epsilon: fw.KRR(alphabet, epsilon))
    noise = epsilons.map(lambda epsilon: fw.Geometric(alphabet, epsilon / 3))
    sets = epsilons.map(lambda epsilon: fw.SubsetSelection(alphabet, epsilon, 2))
    return st.one_of(values, noise, sets)


def mapped(inner, seed):
    """By chance where the seed is odd, else surely."""
    rng, many = np.random.default_rng(seed), len(inner.outputs())
    if seed % 2:
        return fw.Then(inner, rng.dirichlet(np.ones(3), many))
    return fw.Then(inner, rng.integers(0, 3, many), fw.Categorical(["a", "b", "c"]))


def nested(inner):
    few = inner.filter(lambda mechanism: len(mechanism.outputs()) <= 40)
    both = st.tuples(few, few).map(lambda pair: fw.Both(*pair))
    perhaps = st.tuples(inner, chances).map(lambda pair: fw.Perhaps(*pair))
    then = st.tuples(inner, st.integers(0, 99)).map(lambda pair: mapped(*pair))
    return st.one_of(both, perhaps, then)


compositions = st.recursive(leaves(LINE), nested, max_leaves=4)


def exact_logs(mechanism):
    """log P(y | x) of any nesting, [output, value], by logarithms of formulas alone."""
    match mechanism:
        case fw.Both():
            logs = [exact_logs(part) for part in mechanism.parts]
            total = logs[0]
            for more in logs[1:]:
                total = (total[:, None] + more[None]).reshape(-1, total.shape[1])
            return total
        case fw.Perhaps():
            with np.errstate(divide="ignore"):
                silent = np.full((1, mechanism.alphabet.size), np.log1p(-mechanism.chance))
            return np.vstack([silent, exact_logs(mechanism.inner) + math.log(mechanism.chance)])
        case fw.Then():
            inner = exact_logs(mechanism.inner)
            table = np.zeros((len(inner), mechanism.output_alphabet.size))
            for z, leads in enumerate(mechanism.map):
                table[z] = leads if isinstance(leads, tuple) else np.eye(table.shape[1])[leads]
            with np.errstate(divide="ignore"):
                terms = inner[:, None, :] + np.log(table)[:, :, None]
            return np.logaddexp.reduce(terms, axis=0)
        case fw.KRR():
            apart = np.where(np.eye(4, dtype=bool), 0.0, -mechanism.epsilon)
            return apart - math.log1p(3 * math.exp(-mechanism.epsilon))
        case fw.Geometric():
            decay, places = mechanism.epsilon, np.arange(4)
            ends = np.where((places == 0) | (places == 3), 0.0, np.log(-np.expm1(-decay)))
            gaps = np.abs(np.subtract.outer(places, places))
            return ends[:, None] - decay * gaps - math.log1p(math.exp(-decay))
    rows = np.unpackbits(mechanism.outputs(), axis=1, count=4, bitorder="little")
    # Sets of 2 of 4 values: 3 have the own, 3 have not.
    total = math.log(3) + math.log1p(math.exp(-mechanism.epsilon))
    return np.where(rows == 1, 0.0, -mechanism.epsilon) - total


@pytest.mark.slow
@settings(max_examples=300)
@given(mechanism=compositions)
def test_laws_of_many_nestings_are_the_naive_ones(mechanism):
    check_law(mechanism)


@settings(max_examples=30)
@given(mechanism=compositions)
@example(mechanism=fw.Both(fw.KRR(LINE, MOST), fw.KRR(LINE, MOST), fw.KRR(LINE, LEAST)))
@example(mechanism=fw.Both(fw.Geometric(LINE, MOST), fw.Geometric(LINE, MOST)))
@example(mechanism=fw.Then(fw.Geometric(LINE, MOST), [0, 0, 1, 1]))
@example(mechanism=fw.Perhaps(fw.KRR(LINE, MOST), 1e-9))
@example(mechanism=fw.Perhaps(fw.KRR(LINE, LEAST), 1.0))
def test_laws_of_any_nesting_are_the_naive_ones_at_all_epsilons(mechanism):
    check_law(mechanism)


def check_law(mechanism):
    logs = exact_logs(mechanism)
    operator = mechanism.operator(mechanism.outputs())
    possible = np.isfinite(logs)
    found = operator.log_dense()
    np.testing.assert_array_equal(np.isfinite(found), possible)
    np.testing.assert_allclose(found[possible], logs[possible], rtol=1e-12, atol=1e-12)
    law = mechanism.law()
    np.testing.assert_allclose(law, np.exp(logs).T, rtol=1e-11, atol=0)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    # Rows are near 1, however improbable their output is.
    rows = operator.dense()
    assert np.all(rows.max(axis=1)[possible.any(axis=1)] > 1e-3)
    rng = np.random.default_rng(0)
    theta, weights = rng.dirichlet(np.ones(4)), rng.random(len(logs))
    np.testing.assert_allclose(operator.forward(theta), rows @ theta, rtol=1e-12)
    np.testing.assert_allclose(operator.adjoint(weights), weights @ rows, rtol=1e-12)
    np.testing.assert_allclose(operator.gram(weights), (rows.T * weights) @ rows, rtol=1e-12)
    assert fw.dot_test(operator, rng, 1e-12) <= 1e-12
    assert fw.audit(mechanism).holds
    assert fw.from_spec(json.loads(json.dumps(mechanism.spec()))) == mechanism


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(
    "build", [two_kinds, silence_kept, lambda k, e: mapped(fw.Perhaps(two_kinds(k, e), 0.3), 1)]
)
def test_both_samplers_draw_from_the_law(build, one_by_one, epsilon):
    mechanism, rng = build(4, epsilon), np.random.default_rng(5)
    law = composed_law(mechanism)
    for value in (0, 2):
        if one_by_one:
            source = GeneratorBytes(rng)
            reports = np.array([mechanism.draw(value, source) for _ in range(1000)])
        else:
            reports = mechanism.obfuscate(np.full(50_000, value), rng)
        counts = count_reports(mechanism, reports)
        assert counts.sum() == len(reports)
        assert g_test(counts, law[value]) > 1e-3


@pytest.mark.parametrize(
    "mechanism",
    [
        two_kinds(5, 1.0),
        silence_kept(4, 1.0),
        fw.Perhaps(fw.OUE(fw.Linear(0, 29), 1.0), 0.4),
        fw.Both(fw.LocalHashing(fw.Linear(0, 11), 1.0), fw.RAPPOR(fw.Linear(0, 11), 1.0)),
        fw.Both(
            fw.PlanarGeometric(fw.Grid(4, 3, cell=1.0), 0.5), fw.KRR(fw.Grid(4, 3, cell=1.0), 1.0)
        ),
        fw.HadamardResponse(fw.Linear(0, 6), 1.0).then(np.arange(8) // 2),
        fw.Perhaps(fw.Shokri(fw.Linear(0, 4), 1.0), 0.5),
    ],
    ids=str,
)
def test_composed_mechanisms_keep_the_contract(mechanism):
    found = fw.check_mechanism(mechanism)
    assert found.passed, str(found)


# Promises ----------------------------------------------------------------------------------------


def test_epsilons_of_one_kind_add_up():
    ldp = fw.Both(fw.KRR(LINE, 1.0), fw.RAPPOR(LINE, 0.5), fw.OUE(LINE, 0.25))
    assert ldp.guarantee() == fw.Guarantee("ldp", 1.75)
    years = fw.Linear(0, 9, unit="year")
    geo = fw.Both(fw.Geometric(years, 0.25), fw.Exponential(years, 0.5))
    assert geo.guarantee() == fw.Guarantee("geo", 0.75, "year")
    # 0.1 + 0.2 is more than 0.3, and less than the next double.
    sum_ = fw.Both(fw.KRR(LINE, 0.1), fw.KRR(LINE, 0.2)).guarantee().epsilon
    assert sum_ == 0.30000000000000004


@pytest.mark.parametrize(
    "alphabet", [fw.Linear(0, 9, step=3), fw.Grid(4, 3, cell=0.5), fw.Categorical(["a", "b"])]
)
def test_distance_beside_ldp_is_never_understated(alphabet):
    mixed = fw.Both(fw.Exponential(alphabet, 0.5), fw.KRR(alphabet, 1.0))
    largest = float(fw.distances(alphabet).max())
    assert mixed.guarantee().kind == "ldp"
    assert 0 <= mixed.guarantee().epsilon - (1.0 + 0.5 * largest) <= 1e-12
    assert naive_epsilon(mixed.law(), alphabet, "ldp") <= mixed.guarantee().epsilon
    assert fw.audit(mixed).holds


def test_many_labels_are_as_far_apart_as_any_two_at_most():
    labels = fw.Categorical([str(number) for number in range(1000)])
    assert widest(labels) >= 1.0


def test_a_promise_about_averages_counts_by_the_epsilon_of_its_law():
    shokri = fw.Shokri(fw.Linear(0, 4), 1.0)
    law = fw.Matrix(shokri.alphabet, shokri.law()).guarantee()
    both = fw.Both(shokri, fw.KRR(shokri.alphabet, 1.0))
    assert fw.Perhaps(shokri, 0.5).guarantee() == law
    assert 0 <= both.guarantee().epsilon - (law.epsilon + 1.0) <= 1e-15


def test_a_map_may_leave_less_than_is_promised():
    halves = fw.KRR(LINE, 2.0).then([0, 0, 1, 1])
    assert halves.guarantee() == fw.Guarantee("ldp", 2.0)
    found = fw.audit(halves)
    assert found.holds
    assert found.epsilon == pytest.approx(math.log((math.exp(2) + 1) / 2))
    assert fw.audit(halves, exact=True).holds


@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 20.0])
@pytest.mark.parametrize("alphabet", [fw.Linear(0, 6), fw.Grid(3, 2, cell=(1.0, 0.4))], ids=str)
def test_the_worst_outputs_are_found_from_the_parts(alphabet, epsilon, monkeypatch):
    """As they are found from all outputs, for both kinds of promises and laws without symmetry."""
    size = alphabet.size
    law = np.random.default_rng(1).dirichlet(np.ones(4), size)
    odd = fw.Matrix(alphabet, 1e-3 + (1 - 4e-3) * law)
    both = fw.Both(odd, fw.Exponential(alphabet, epsilon), fw.KRR(alphabet, epsilon))
    for claim in (fw.Guarantee("ldp", math.inf), fw.Guarantee("geo", math.inf)):
        with monkeypatch.context() as patch:
            every = fw.audit(both, claim)
            patch.setattr(Records, "listable", False)
            assert len(both.witnesses()) == 2
            few = fw.audit(both, claim)
        assert few.epsilon == pytest.approx(every.epsilon, rel=1e-9)


def test_an_output_that_is_impossible_hides_nothing_of_the_other_parts(monkeypatch):
    blind = fw.Matrix(LINE, [[0.0, 0.5, 0.5]] * 4)
    both = fw.Both(blind, fw.KRR(LINE, 1.5))
    monkeypatch.setattr(Records, "listable", False)
    assert fw.audit(both).epsilon == pytest.approx(1.5, rel=1e-12)


def test_an_audit_looks_at_more_outputs_than_are_listed():
    coins = fw.Both(*[fw.KRR(fw.Linear(0, 1), 0.25)] * 17)
    with pytest.raises(fw.LawError, match="cannot be listed"):
        coins.outputs()
    assert fw.audit(coins).tight
    line = fw.Linear(0, 299)
    for parts in (
        (fw.KRR(line, 1.0), fw.Geometric(line, 0.25)),
        (fw.Geometric(line, 0.5), fw.Geometric(line, 1e-9)),
        (fw.KRR(line, 1e-9), fw.KRR(line, 1e-9)),
        (fw.Identity(line), fw.KRR(line, 1.0)),
    ):
        assert fw.audit(fw.Both(*parts)).tight
    with pytest.raises(fw.LawError, match="no audit looks at all"):
        fw.audit(fw.Both(fw.OUE(fw.Linear(0, 29), 1.0), fw.KRR(fw.Linear(0, 29), 1.0)))


# Structure and descriptions ----------------------------------------------------------------------


def test_one_both_in_another_is_all_parts_side_by_side():
    a, b, c = fw.KRR(LINE, 1.0), fw.Geometric(LINE, 0.5), fw.RAPPOR(LINE, 0.5)
    flat = fw.Both(a, b, c)
    assert fw.Both(fw.Both(a, b), c) == flat == fw.Both(a, fw.Both(b, c))
    assert flat.parts == (a, b, c)
    assert fw.Both(a, b) != fw.Both(b, a)


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (
            fw.Both(fw.KRR(fw.Linear(0, 9), 1.0), fw.Geometric(fw.Linear(0, 9), 0.5)),
            "57b695bff88b5d10",
        ),
        (fw.Perhaps(fw.KRR(fw.Linear(0, 9), 1.0), 0.3), "11d790e78b3842c2"),
        (
            fw.Geometric(fw.Linear(0, 9), 0.5).then([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
            "df4d4b33e13f4762",
        ),
    ],
)
def test_ids_never_change(mechanism, name):
    """Reports in the world carry these names: a change orphans them."""
    assert mechanism.id == name


def test_descriptions_name_the_alphabet_once():
    spec = fw.Perhaps(two_kinds(4, 1.0), 0.5).spec()
    assert json.dumps(spec).count("alphabet") == 1
    assert [part["mechanism"] for part in spec["inner"]["parts"]] == ["k-rr", "geometric"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": [{"mechanism": "k-rr", "version": 1, "epsilon": 1.0}]}, "at least two"),
        ({"parts": {}}, "expected a list"),
        ({"parts": ["k-rr", "k-rr"]}, "without its alphabet"),
        ({"parts": [{"mechanism": "k-rr", "version": 1}] * 2}, "needs the field 'epsilon'"),
        ({"halves": []}, "no field 'halves'"),
    ],
)
def test_descriptions_that_are_wrong_are_refused(change, message):
    with pytest.raises(fw.SpecError, match=message):
        fw.from_spec({**two_kinds(4, 1.0).spec(), **change})
