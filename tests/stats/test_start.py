"""`start` is where a solver begins and nothing else: no number of an inference depends on it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.numeric.solvers.columns import ColumnPool, _start
from freewill.stats.estimators.estimate import likelihood_of
from freewill.stats.misfit import fit_beside_choice
from profiles import examples

DRAWS = 400
"""At least, of which p-values of laws come."""
LINE, CITY, MENU = fw.Linear(0, 11), fw.Grid(4, 3, 0.5), fw.Categorical(["a", "b", "c", "d"])
MIXTURES = (
    (fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.4)),
    (fw.KRR(LINE, 1.0), fw.KRR(LINE, 3.0), fw.RAPPOR(LINE, 2.0)),
    (fw.PlanarGeometric(CITY, 1.5), fw.KRR(CITY, 2.0)),
    (fw.KRR(MENU, 1.0), fw.KRR(MENU, 2.5)),
)


def drawn(mechanisms, people, seed, shift=0):
    """People of whom those with large values choose the last mechanism more often."""
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    values = rng.choice(size, people, p=np.roll(rng.dirichlet(np.ones(size)), shift))
    last = len(mechanisms) - 1
    who = np.where(
        rng.random(people) < 0.5 * values / size, last, rng.integers(0, last + 1, people)
    )
    return fw.collect(
        [(one, one.obfuscate(values[who == place], rng)) for place, one in enumerate(mechanisms)]
    )


def starts(before, evidence, rng):
    """Estimates and distributions, none of which is the most likely one of the evidence."""
    size = evidence.alphabet.size
    return {
        "of other evidence": fw.gibu(before),
        "said to be of this evidence": replace(fw.gibu(before), evidence=evidence),
        "ended early": fw.em(evidence, max_steps=2),
        "at random": rng.dirichlet(np.ones(size)),
        "at a corner": np.eye(size)[int(rng.integers(size))],
    }


def same(found, expected, error):
    """A maximum is certified to .01 in the log-likelihood: far below a standard error."""
    np.testing.assert_allclose(found, expected, atol=0.05 * error, rtol=0.05)


def same_chance(found, expected):
    """P-values of laws come from draws, which are others at another theta."""
    error = np.sqrt(2 * expected * (1 - expected) / DRAWS) + 1 / DRAWS
    assert found == pytest.approx(expected, abs=5 * error)


@pytest.mark.slow
@examples(8)
@given(st.sampled_from(MIXTURES), st.integers(0, 10**6), st.integers(400, 3000))
def test_nothing_depends_on_the_start(mechanisms, seed, people):
    evidence = drawn(mechanisms, people, seed)
    before = drawn(mechanisms, people // 2, seed + 1, shift=3)
    sure, choice, laws = fw.intervals(evidence), fw.check_choice(evidence), fw.check_fit(evidence)
    for start in starts(before, evidence, np.random.default_rng(seed)).values():
        found = fw.intervals(evidence, start=start)
        error = np.where(np.isfinite(sure.standard_error), sure.standard_error, 1.0).max()
        for name, column in found.columns().items():
            same(column, sure.columns()[name], error)
        same(fw.fit(evidence, start=start).intervals().point, sure.point, error)
        same(fw.one_step(evidence, start=start).theta, fw.one_step(evidence).theta, error)
        same(fw.check_choice(evidence, start=start).p_value, choice.p_value, 0.02)
        same_chance(fw.check_fit(evidence, start=start).p_value, laws.p_value)


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", MIXTURES[:2])
def test_a_stale_start_flips_no_verdict(mechanisms):
    """A choice that is not free, with the estimate of people of whom nobody is alike."""
    evidence, before = drawn(mechanisms, 12_000, 5), drawn(mechanisms, 2000, 6, shift=6)
    expected = fw.check_choice(evidence)
    told = fit_beside_choice(evidence)
    assert not expected.holds
    some = starts(before, evidence, np.random.default_rng(1))
    for start in [*some.values(), fw.choice_aware(before)]:
        check = fw.check_choice(evidence, start=start)
        assert check.p_value == pytest.approx(expected.p_value, rel=0.1, abs=1e-9)
        beside = fit_beside_choice(evidence, start=start)
        assert beside.holds == told.holds
        same_chance(beside.p_value, told.p_value)


SOLVERS = ("interior", "linear", "conjugate", "columns", "passes", None)


def poor_starts(optimum, rng):
    """Corners, zeros on the support, numbers next to 0, and what is likely elsewhere."""
    size = optimum.size
    some, value = rng.random(size) < 0.5, int(rng.integers(size))
    some[np.argmax(optimum)] = True
    yield np.eye(size)[value]
    yield np.where(some, 0.0, 1.0) + np.eye(size)[value]
    yield np.where(some, 1e-300, optimum) + 1e-300 * np.eye(size)[value]
    yield np.where(some, 1e-12 * optimum, optimum) + 1e-14
    yield np.eye(size)[value] + 1e-300
    yield np.roll(optimum, size // 2)
    yield 1 / np.maximum(optimum, 1e-9)
    yield np.full(size, 1 / size)


@pytest.mark.slow
@examples(6)
@given(st.sampled_from(MIXTURES), st.integers(0, 10**6), st.sampled_from([60, 2000, 10**6]))
def test_a_poor_start_never_ends_worse_than_none(mechanisms, seed, people):
    """By every solver, in the gap and in the number of steps."""
    evidence = drawn(mechanisms, min(people, 2000), seed)
    evidence = fw.collect(
        [(one.mechanism, one.outputs, one.counts * (people // 2000 + 1)) for one in evidence.groups]
    )
    for solver in SOLVERS:
        cold = fw.gibu(evidence, solver=solver)
        assert cold.status == "certified"
        for start in poor_starts(cold.theta, np.random.default_rng(seed)):
            warm = fw.gibu(evidence, solver=solver, start=start / start.sum())
            assert warm.status == "certified"
            assert warm.steps <= 2 * cold.steps + 5


def test_a_start_of_many_values_does_not_crowd_the_columns():
    """An optimum of few values with a little of all others: those few are taken in."""
    city = fw.Grid(30, 20, 0.5)
    rng = np.random.default_rng(3)
    mine = fw.PlanarGeometric(city, 0.4)
    people = rng.choice(city.size, 5000, p=rng.dirichlet(np.full(city.size, 0.02)))
    evidence = fw.collect([(mine, mine.obfuscate(people, rng))])
    optimum = fw.gibu(evidence, solver="columns").theta
    pool = ColumnPool(likelihood_of(evidence), city.plane)
    _start(pool, 0.999 * optimum + 0.001 / city.size)
    assert pool.cells.size <= 2 * np.count_nonzero(optimum > 1e-6)


def test_em_lifts_what_is_next_to_nothing():
    """Below 1e-150 a share was taken for 0, and stayed there."""
    evidence = drawn(MIXTURES[0], 2000, 4)
    tiny = np.where(np.arange(12) == 3, 1.0, 1e-300)
    poor, cold = fw.em(evidence, start=tiny / tiny.sum()), fw.em(evidence)
    assert poor.log_likelihood == pytest.approx(cold.log_likelihood, abs=1e-6)


def test_what_is_certified_takes_no_step():
    """A refresh of a dashboard hands its estimate over, and nothing is solved again."""
    evidence = drawn(MIXTURES[0], 5000, 1)
    estimate = fw.gibu(evidence)
    assert fw.gibu(evidence, start=estimate).steps == 0
    assert fw.gibu(evidence, start=estimate.theta).steps == 0
    np.testing.assert_array_equal(fw.gibu(evidence, start=estimate).theta, estimate.theta)


def test_negative_shares_are_no_maximum():
    """An inversion explains what was seen to the last report, at shares below 0."""
    mine = fw.KRR(LINE, 1.0)
    evidence = fw.collect([(mine, np.arange(12), [400, 5, 90, 300, 2, 9, 80, 200, 60, 7, 3, 500])])
    raw = fw.inversion(evidence, post="none")
    assert raw.theta.min() < 0
    found = fw.gibu(evidence, start=raw)
    assert found.theta.min() >= 0
    assert found.log_likelihood == pytest.approx(fw.gibu(evidence).log_likelihood, abs=1e-5)
    same(fw.intervals(evidence, start=raw).low, fw.intervals(evidence).low, 0.01)


@pytest.mark.parametrize(
    "ask", [fw.intervals, fw.one_step, fw.check_choice, fw.check_fit, fit_beside_choice]
)
def test_starts_over_other_alphabets_are_refused(ask):
    evidence = drawn(MIXTURES[0], 3000, 2)
    with pytest.raises(fw.ParameterError, match="over the same alphabet"):
        ask(evidence, start=fw.gibu(drawn(MIXTURES[3], 500, 2)))
    with pytest.raises(fw.ParameterError, match="start"):
        ask(evidence, start=np.ones(3) / 3)


def test_a_choice_law_of_other_evidence_is_refused():
    """Also where alphabet and mechanisms are the same, whatever evidence it is said to be of."""
    evidence, before = drawn(MIXTURES[0], 3000, 2), drawn(MIXTURES[0], 3000, 3, shift=4)
    stale = fw.choice_aware(before)
    for aware in (stale, replace(stale, evidence=evidence), fw.choice_aware(evidence + before)):
        with pytest.raises(fw.ParameterError, match="estimate of other evidence"):
            fw.check_fit(evidence, aware=aware)
    again = fw.collect([(one.mechanism, one.outputs, one.counts) for one in evidence.groups])
    expected = fw.check_fit(evidence, aware=fw.choice_aware(evidence)).p_value
    assert fw.check_fit(evidence, aware=fw.choice_aware(again)).p_value == expected


def test_a_choice_law_whose_theta_did_not_arrive_is_only_a_start():
    evidence = drawn(MIXTURES[0], 3000, 2)
    aware = fw.choice_aware(evidence)
    off = replace(aware, theta=np.roll(aware.theta, 4))
    expected = fw.check_fit(evidence, aware=aware)
    assert fw.check_fit(evidence, aware=off).p_value == pytest.approx(expected.p_value, abs=0.01)
