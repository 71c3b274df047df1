"""The paper's other estimators, each against its formula written out."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from freewill.domain.mechanisms.matrix import average
from problems import COIN, LINE, MIXTURES, expected, random_truth, simulated

GEOMETRICS = [fw.Geometric(LINE, e) for e in (0.1, 0.6, 1.5)]

TRUTH = random_truth(12, 11)
KRRS = [fw.KRR(LINE, e) for e in (0.7, 2.0, 3.5)]


def shares(evidence: fw.Evidence) -> np.ndarray:
    q = np.zeros(12)
    for group in evidence.groups:
        q[group.outputs] += group.counts
    return q / evidence.people


@pytest.mark.parametrize("mechanisms", [KRRS, GEOMETRICS, [*KRRS, *GEOMETRICS]])
def test_compound_inversion_is_the_inverse_of_the_average_law(mechanisms: list) -> None:
    evidence = simulated(mechanisms, TRUTH, 10_000, 1)
    law = sum(group.people * group.mechanism.law() for group in evidence.groups) / evidence.people
    by_formula = shares(evidence) @ np.linalg.inv(law)
    found = fw.combine_mechanisms(evidence, fw.inversion, post="none")
    np.testing.assert_allclose(found.theta, by_formula, atol=1e-9)


def test_compound_inversion_under_krr_is_the_closed_form() -> None:
    evidence = simulated(KRRS, TRUTH, 10_000, 1)
    k = 12
    mean = sum(
        group.people / (k - 1 + np.exp(group.mechanism.epsilon)) for group in evidence.groups
    )
    grown = evidence.people / mean - (k - 1)
    by_formula = (grown + k - 1) / (grown - 1) * shares(evidence) - 1 / (grown - 1)
    found = fw.combine_mechanisms(evidence, fw.inversion, post="none")
    np.testing.assert_allclose(found.theta, by_formula, atol=1e-12)


def test_post_processing_has_two_ways() -> None:
    evidence = simulated(GEOMETRICS[:1], TRUTH, 200, 1)
    raw = fw.inversion(evidence, post="none")
    assert raw.theta.min() < 0
    assert raw.gap == np.inf
    np.testing.assert_array_equal(fw.inversion(evidence).theta, fw.project(raw.theta))
    found = fw.inversion(evidence, post="normalise")
    np.testing.assert_array_equal(found.theta, fw.normalise(raw.theta))
    with pytest.raises(fw.ParameterError, match="post='round'"):
        fw.inversion(evidence, post="round")


@pytest.mark.parametrize("estimator", [fw.inversion, fw.ibu])
def test_combined_results_are_the_weighted_average(estimator) -> None:
    evidence = simulated(KRRS, TRUTH, 3001, 2)
    by_formula = sum(
        group.people * estimator(fw.Evidence(LINE, (group,))).theta for group in evidence.groups
    )
    found = fw.combine_results(evidence, estimator)
    np.testing.assert_allclose(found.theta, by_formula / evidence.people, atol=1e-14)
    assert found.method == f"[{estimator.__name__}]R"


def test_compound_rappor_is_the_formula_of_the_paper() -> None:
    mechanisms = [fw.RAPPOR(LINE, e) for e in (0.5, 1.0, 4.0)]
    evidence = simulated(mechanisms, TRUTH, 5000, 3)
    bits, flips = np.zeros(12), 0.0
    for group in evidence.groups:
        unpacked = np.unpackbits(group.outputs, axis=1, count=12, bitorder="little")
        bits += group.counts @ unpacked
        flips += group.people / (1 + np.exp(group.mechanism.epsilon / 2))
    root = evidence.people / flips - 1
    by_formula = (root + 1) / (root - 1) * bits / evidence.people - 1 / (root - 1)
    found = fw.combine_mechanisms(evidence, fw.debias, post="none")
    np.testing.assert_allclose(found.theta, by_formula, atol=1e-12)


@pytest.mark.parametrize("mechanisms", [KRRS, GEOMETRICS])
def test_compound_ibu_maximises_the_likelihood_of_the_average_law(mechanisms: list) -> None:
    evidence = simulated(mechanisms, TRUTH, 5000, 4)
    mean = average([g.mechanism for g in evidence.groups], [g.people for g in evidence.groups])
    law, q = mean.law(), shares(evidence)
    found = fw.combine_mechanisms(evidence, fw.ibu, tol=1e-12).theta
    slope = law @ (q / (found @ law))
    assert slope.max() < 1 + 1e-9
    by_em = np.full(12, 1 / 12)
    for _ in range(20_000):
        by_em = by_em * (law @ (q / (by_em @ law)))
    assert q @ np.log(found @ law) >= q @ np.log(by_em @ law) - 1e-12


@pytest.mark.parametrize("name", ["geometric and k-RR", "a bit of everything", "planar"])
def test_algorithm_1_walks_like_the_form_with_one_term_a_person(name: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 7), 400, 5)
    columns = [
        np.exp(group.operator.log_scale)[:, None] * group.operator.dense()
        for group in evidence.groups
    ]
    each = np.concatenate(
        [rows.repeat(g.counts, axis=0) for rows, g in zip(columns, evidence.groups, strict=True)]
    ).T  # G[x, i] of eq. 15
    theta = np.full(12, 1 / 12)
    for step in range(1, 30):
        theta = (theta[:, None] * each / (theta @ each)).mean(axis=1)
        walked = fw.em(evidence, delta=1e-300, max_steps=step)
        np.testing.assert_allclose(walked.theta, theta, atol=1e-12)
        assert walked.status == fw.Status.MAX_STEPS


@pytest.mark.parametrize("name", MIXTURES)
def test_em_never_becomes_less_likely(name: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 2), 1000, 9)
    path: list[float] = []
    fw.em(evidence, delta=1e-9, on_step=lambda step: path.append(step.log_likelihood))
    assert len(path) > 3
    assert np.diff(path).min() >= -1e-13


def test_em_stops_by_its_delta_and_tells_the_gap() -> None:
    evidence = simulated(GEOMETRICS, TRUTH, 100_000, 9)
    loose, tight = fw.em(evidence, delta=1e-4), fw.em(evidence, delta=1e-10)
    assert loose.status == tight.status == fw.Status.CONVERGED
    assert loose.steps < tight.steps
    assert loose.gap > tight.gap > 0


def test_em_needs_a_start_with_full_support() -> None:
    evidence = simulated(KRRS, TRUTH, 100, 9)
    with pytest.raises(fw.ParameterError, match=r"start\[0\]=0.0"):
        fw.em(evidence, start=np.eye(12)[1])
    other = np.random.default_rng(0).dirichlet(np.ones(12))
    far = fw.em(evidence, delta=1e-13, start=other)
    np.testing.assert_allclose(far.theta, fw.em(evidence, delta=1e-13).theta, atol=1e-3)


@pytest.mark.parametrize("estimator", [fw.inversion, fw.ibu])
@pytest.mark.parametrize("mechanisms", [KRRS, GEOMETRICS])
@pytest.mark.parametrize("combine", [fw.combine_results, fw.combine_mechanisms])
def test_expected_counts_give_back_the_truth(estimator, mechanisms: list, combine) -> None:
    truth = np.random.default_rng(1).dirichlet(np.full(12, 3.0))
    options = {"tol": 1e-15} if estimator is fw.ibu else {}
    found = combine(expected(mechanisms, truth), estimator, **options)
    np.testing.assert_allclose(found.theta, truth, atol=2e-5)


def test_methods_for_one_mechanism_say_how_to_bring_several_together() -> None:
    evidence = simulated(KRRS, TRUTH, 100, 1)
    for estimator in (fw.inversion, fw.ibu, fw.debias):
        with pytest.raises(fw.ParameterError, match="combine_mechanisms"):
            estimator(evidence)


def test_mechanisms_without_common_outputs_have_no_average() -> None:
    for strange in (fw.RAPPOR(LINE, 1.0), fw.Matrix(LINE, np.full((12, 2), 0.5))):
        evidence = simulated([fw.KRR(LINE, 1.0), strange], TRUTH, 100, 1)
        with pytest.raises(fw.LawError, match="Use gibu"):
            fw.combine_mechanisms(evidence, fw.inversion)


def test_debias_and_inversion_refuse_each_others_reports() -> None:
    with pytest.raises(fw.ParameterError, match="Use inversion"):
        fw.debias(simulated([fw.KRR(LINE, 1.0)], TRUTH, 10, 1))
    with pytest.raises(fw.LawError, match="use debias"):
        fw.inversion(simulated([fw.RAPPOR(LINE, 1.0)], TRUTH, 10, 1))


ONE = fw.Matrix(COIN, [[0.75, 0.25], [0.25, 0.75]])


TWO = fw.Matrix(COIN, [[0.25, 0.75], [0.75, 0.25]])


def test_two_good_mechanisms_may_average_to_a_useless_one() -> None:
    evidence = fw.collect([(ONE, [0, 1], [650, 350]), (TWO, [0, 1], [350, 650])])
    assert fw.gibu(evidence).unresolved == 0
    np.testing.assert_allclose(fw.gibu(evidence, tol=1e-12).theta, [0.8, 0.2], atol=1e-5)
    with pytest.raises(fw.IdentifiabilityError, match="1 of 2 directions"):
        fw.combine_mechanisms(evidence, fw.inversion)
    assert fw.combine_mechanisms(evidence, fw.ibu).unresolved == 1
    assert fw.combine_results(evidence, fw.ibu).unresolved == 0


def test_nearly_useless_averages_are_refused_too() -> None:
    nudged = fw.Matrix(COIN, [[0.25 + 1e-13, 0.75 - 1e-13], [0.75, 0.25]])
    evidence = fw.collect([(ONE, [0, 1], [650, 350]), (nudged, [0, 1], [350, 650])])
    with pytest.raises(fw.IdentifiabilityError, match="1 of 2 directions"):
        fw.combine_mechanisms(evidence, fw.inversion)


def test_an_estimate_tells_how_many_directions_are_lost() -> None:
    constant = fw.Matrix(LINE, np.full((12, 4), 0.25))
    estimate = fw.gibu(fw.collect([(constant, [0, 1, 2])]))
    assert estimate.unresolved == 11
    assert "not told apart: 11 directions of theta" in str(estimate)
    pairs = fw.Matrix(LINE, np.kron(np.eye(6), np.ones((2, 1))))
    assert fw.gibu(simulated([pairs], TRUTH, 100, 1)).unresolved == 6
    assert fw.gibu(simulated([pairs, fw.KRR(LINE, 1.0)], TRUTH, 100, 1)).unresolved == 0


def test_one_mechanism_of_full_rank_resolves_everything_unlisted() -> None:
    line = fw.Linear(0, 19)
    blind, bits = fw.Matrix(line, np.full((20, 2), 0.5)), fw.RAPPOR(line, 1.0)
    evidence = simulated([blind, bits], np.full(20, 0.05), 40, 1)
    assert fw.unresolved_directions(evidence) == 0


def test_rectangular_laws_invert_by_least_squares() -> None:
    law = np.random.default_rng(3).dirichlet(np.ones(20), size=12)
    truth = np.random.default_rng(4).dirichlet(np.ones(12))
    found = fw.inversion(expected([fw.Matrix(LINE, law)], truth))
    np.testing.assert_allclose(found.theta, truth, atol=1e-6)
    flat = fw.Matrix(LINE, law.T[:12].T[:, :5] / law[:, :5].sum(axis=1, keepdims=True))
    with pytest.raises(fw.IdentifiabilityError, match="7 of 12 directions"):
        fw.inversion(expected([flat], truth))


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("name", ["geometric and k-RR", "k-RR of two levels"])
def test_em_stops_at_the_step_where_algorithm_1_stops(name: str, delta: float) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 7), 4000, 5)
    rows = np.concatenate([g.mechanism.law().T[g.outputs] for g in evidence.groups])
    weights = np.concatenate([g.counts for g in evidence.groups]) / evidence.people
    theta, steps, before, after = np.full(12, 1 / 12), 0, -np.inf, -np.inf
    while steps == 0 or after - before >= delta:
        before = weights @ np.log(rows @ theta)
        theta = theta * (rows.T @ (weights / (rows @ theta)))
        after = weights @ np.log(rows @ theta)
        steps += 1
    found = fw.em(evidence, delta=delta)
    assert found.steps == steps > 1
    assert found.log_likelihood == pytest.approx(after, rel=1e-13)
    assert len(found.trace) == steps
    assert found.trace[-1] == pytest.approx(found.gap, rel=1e-9)


def test_em_tells_of_its_steps_and_starts_from_an_estimate() -> None:
    evidence = simulated(KRRS, np.full(12, 1 / 12), 5000, 3)
    told = []
    first = fw.em(evidence, delta=1e-6, on_step=told.append)
    assert [step.number for step in told] == list(range(1, first.steps + 1))
    assert tuple(step.gap for step in told) == first.trace
    further = fw.em(evidence, delta=1e-9, start=first)
    straight = fw.em(evidence, delta=1e-9)
    assert further.steps == straight.steps - first.steps
    np.testing.assert_allclose(further.theta, straight.theta, atol=1e-12)


def ended(status: fw.Status, steps: int = 2, unresolved: int | None = None):
    """Return an estimator that ends like this for mechanisms below epsilon 1, and well for all."""

    def estimator(evidence: fw.Evidence) -> fw.Estimate:
        found = fw.ibu(evidence)
        if evidence.groups[0].mechanism.epsilon > 1:
            return replace(found, steps=3, unresolved=None)
        return replace(found, status=status, steps=steps, unresolved=unresolved)

    return estimator


@pytest.mark.parametrize(
    ("status", "whole"),
    [
        (fw.Status.CERTIFIED, fw.Status.CONVERGED),
        (fw.Status.CONVERGED, fw.Status.CONVERGED),
        (fw.Status.DIRECT, fw.Status.DIRECT),
        (fw.Status.MAX_STEPS, fw.Status.MAX_STEPS),
        (fw.Status.STALLED, fw.Status.STALLED),
    ],
)
def test_a_combination_is_as_good_as_its_worst_part(status, whole) -> None:
    evidence = simulated(KRRS, TRUTH, 3000, 2)
    found = fw.combine_results(evidence, ended(status, unresolved=4))
    assert found.status == whole
    assert found.steps == 2 + 3 + 3
    assert found.unresolved == 4
    assert fw.combine_results(evidence, ended(status)).unresolved is None
    assert fw.combine_results(evidence, ended(status, unresolved=0)).unresolved is None
    alone = fw.Evidence(LINE, (evidence.groups[0],))
    assert fw.combine_mechanisms(alone, ended(status)).status == whole


def test_a_combination_has_the_gap_of_the_whole() -> None:
    evidence = simulated(KRRS, TRUTH, 3000, 2)
    found = fw.combine_results(evidence, fw.ibu)
    best = fw.gibu(evidence, tol=1e-10)
    assert found.gap >= best.log_likelihood - found.log_likelihood > 1e-7


@pytest.mark.parametrize("max_steps", [0, -1, 1.5, True, "5"])
@pytest.mark.parametrize("delta", [None, 1e-3])
def test_ibu_takes_no_other_number_of_steps_than_it_was_given(max_steps, delta) -> None:
    evidence = simulated(KRRS[:1], TRUTH, 100, 1)
    with pytest.raises(fw.ParameterError, match="max_steps="):
        fw.ibu(evidence, delta=delta, max_steps=max_steps)


@pytest.mark.parametrize("delta", [0, -1e-9, float("nan")])
def test_em_refuses_a_delta_that_never_stops(delta: float) -> None:
    with pytest.raises(fw.ParameterError, match="delta="):
        fw.em(simulated(KRRS, TRUTH, 100, 1), delta=delta)


@pytest.mark.parametrize(
    "estimate",
    [
        fw.gibu,
        fw.em,
        lambda nobody: fw.combine_results(nobody, fw.ibu),
        lambda nobody: fw.combine_mechanisms(nobody, fw.ibu),
        lambda nobody: fw.gibu(nobody, solver="passes"),
    ],
)
def test_nobody_is_nothing_to_estimate_from(estimate) -> None:
    with pytest.raises(fw.EvidenceError, match="no people"):
        estimate(fw.collect([(fw.KRR(LINE, 1.0), [3], [0])]))


def test_ibu_runs_the_iteration_where_a_delta_is_given() -> None:
    evidence = simulated(KRRS[:1], TRUTH, 1000, 1)
    walked, direct = fw.ibu(evidence, delta=1e-7), fw.em(evidence, delta=1e-7)
    assert (walked.method, walked.status) == ("ibu", fw.Status.CONVERGED)
    assert walked.steps == direct.steps
    np.testing.assert_array_equal(walked.theta, direct.theta)
    for options in ({"delta": 1e-12}, {"tol": 1e-14}):
        short = fw.ibu(evidence, max_steps=1, **options)
        assert (short.status, short.steps) == (fw.Status.MAX_STEPS, 1)
    assert fw.ibu(evidence, tol=1e-12).gap <= 1e-12


def test_an_estimate_says_who_solved_it() -> None:
    evidence = simulated(KRRS, TRUTH, 1000, 1)
    assert str(fw.gibu(evidence)).startswith("gibu by linear: certified, gap ")
    assert str(fw.em(evidence, max_steps=3)).startswith("em: max_steps, gap ")


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_ibu_refuses_steps_that_are_no_such_number(delta, steps):
    coin = fw.KRR(fw.Linear(0, 1), 1.0)
    with pytest.raises(fw.ParameterError, match="max_steps"):
        fw.ibu(fw.collect([(coin, [0, 1])]), delta=delta, max_steps=steps)
