"""The rules of the passes, one by one: what is tried, when to shorten, when to take H anew."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import DenseOperator, Sums
from freewill.numeric.operators.support import BitOperator
from freewill.numeric.solvers import passes
from freewill.numeric.solvers.likelihood import Likelihood, Status
from freewill.numeric.solvers.quadratic import nonnegative_quadratic
from freewill.stats.estimators.estimate import likelihood_of
from passes_cases import ZIPF, assert_certified, bell, bits, elsewhere, grown, over, solve
from problems import random_truth, simulated


@pytest.mark.parametrize(
    ("size", "epsilons", "truth", "people", "stride", "tolerance", "ceiling"),
    [
        (60, (1.0, 2.3, 3.7, 5.0), bell(60), 20_000, 33, 1e-10, 24),
        (30, (1.0, 8.0, 16.0), ZIPF, 9_000, 1000, 1e-9, 22),
        (20, (12.0,), random_truth(20, 3), 3_000, 1, 1e-10, 10),
        (100, np.linspace(0.1, 1, 10), bell(100), 30_000, None, 1e-10, 9),
    ],
)
def test_hard_cases_need_no_more_passes(size, epsilons, truth, people, stride, tolerance, ceiling):
    """Each rule of the method (docs/solvers.md) saves passes in one of these."""
    steps = []
    for seed in range(5):
        evidence = simulated(bits(size, epsilons), truth, people, seed)
        solution = solve(evidence, tolerance, 150, stride)
        assert_certified(solution, evidence, tolerance)
        steps.append(solution.steps)
    assert np.mean(steps) <= ceiling


def test_the_minimum_of_the_model_may_bring_in_values_that_did_not_look_it():
    rng = np.random.default_rng(4)
    brought = 0
    for _ in range(40):
        half = rng.random((9, 6))
        hessian, theta = half.T @ half, np.array([0.7, 0.3, 0, 0, 0, 0])
        slope = rng.uniform(0.8, 1.1, 6)
        found = passes._model_minimum(hessian, slope, theta)
        linear = 1 - slope - hessian @ theta
        whole = nonnegative_quadratic(hessian, linear, np.full(6, 1 / 6))
        np.testing.assert_allclose(found, whole / whole.sum(), atol=1e-7)
        brought += bool(np.any(found[(theta == 0) & (slope <= 1)] > 1e-6))
    assert brought > 3


def test_no_value_with_a_large_gradient_is_thrown_away():
    """One report names the first value: L has w log(theta) there, which no parabola follows."""
    theta, slope = np.array([1e-4, 0.9999]), np.array([5.0, 0.9996])
    hessian = np.diag(np.array([5e6, 1.0]))
    hessian[0, 1] = hessian[1, 0] = 900.0
    targets, length = passes._targets(hessian, slope, theta)
    assert 0 < length < passes._BOLD_STEP
    assert targets[0][0] >= 0.99 * theta[0] * slope[0] / 2
    long, length = passes._targets(np.eye(2), np.array([0.2, 1.1]), np.array([0.5, 0.5]))
    assert length > passes._BOLD_STEP
    assert len(long) == 1
    assert long[0][0] > 0.04


def test_a_step_at_whose_end_the_likelihood_still_rises_has_gained():
    here = Sums(-1.0, np.array([1.0, 2.0]), None)
    move = np.array([-0.1, 0.1])
    rising, falling = np.array([1.0, 1.1]), np.array([1.1, 1.0])
    assert not passes._lost(here, Sums(-1.0 - 1e-13, rising, None), move)
    assert passes._lost(here, Sums(-1.0 - 1e-13, falling, None), move)
    assert not passes._lost(here, Sums(-0.9, falling, None), move)
    assert passes._lost(here, Sums.impossible(2), move)
    assert 0.1 <= passes._shorter(here, Sums(-1.2, falling, None), move) <= 0.5
    assert passes._shorter(here, Sums.impossible(2), move) == 0.5


def scripted(monkeypatch, gaps, gain=1.0, stride=64):
    """Run the method with steps that end in these gaps; return how they were asked for."""
    evidence, _ = grown()
    asked = []

    def step(source, state, targets, fresh, budget):
        asked.append((source.stride, fresh))
        certificate = state.certificate._replace(gap=gaps[len(asked) - 1])
        return replace(
            state, certificate=certificate, made=state.made + 1, idle=state.idle + 1, gain=gain
        )

    monkeypatch.setattr(passes, "_step", step)
    monkeypatch.setattr(passes, "_targets", lambda *_: ([], 0.0))
    source = replace(over(likelihood_of(evidence)), stride=stride)
    solution = passes.solve(source, 1e-9, len(gaps) + 2)
    return asked, solution


def test_the_sample_grows_after_four_steps_without_a_smaller_gap(monkeypatch):
    monkeypatch.setattr(passes.Passes, "fresh_hessian_pays", lambda *_: False)
    asked, solution = scripted(monkeypatch, [3e-3] + 4 * [4e-3] + [2e-3] + 6 * [5e-3])
    strides, fresh = zip(*asked, strict=True)
    # Steps 6 and 11 come after four idle ones; a smaller gap renews the patience.
    assert strides == (*(5 * [64]), *(5 * [8]), 1, 1)
    assert [number for number, asked in enumerate(fresh, 1) if asked] == [6, 11, 12]
    assert solution.status == Status.MAX_STEPS
    assert solution.certificate.gap == 2e-3
    assert solution.steps == 14


def test_rounding_is_blamed_where_nothing_is_gained_any_more(monkeypatch):
    asked, solution = scripted(monkeypatch, [1e-3] + 20 * [2e-3], gain=1e-17)
    assert solution.status == Status.STALLED
    assert (len(asked), solution.steps) == (5, 7)
    assert solution.certificate.gap == 1e-3


@pytest.mark.parametrize("budget", range(2, 14))
def test_the_limit_of_passes_holds_where_steps_are_shortened(budget):
    line = fw.Linear(0, 9)
    truth = np.array([0.9] + [0.1 / 9] * 9)
    evidence = simulated([fw.Identity(line), fw.RAPPOR(line, 0.5)], truth, 300, seed=2)
    solution = solve(evidence, 1e-14, budget)
    assert solution.steps <= budget
    assert np.isfinite(solution.certificate.gap)
    assert (solution.status == Status.CERTIFIED) == (solution.certificate.gap <= 1e-14)


def test_what_no_theta_explains_stalls():
    impossible = Likelihood(DenseOperator(np.zeros((1, 3))), np.ones(1))
    for start in (None, np.full(3, 1 / 3)):
        solution = passes.solve(over(impossible), 1e-9, 20, start)
        assert solution.status == Status.STALLED
        assert solution.certificate.gap == np.inf


def test_a_tolerance_is_met_where_the_gap_is_equal_to_it():
    evidence, _ = grown()
    theta = solve(evidence, 1e-6).theta
    gap = over(likelihood_of(evidence)).certify(theta / theta.sum()).gap
    again = solve(evidence, gap, start=theta)
    assert (again.steps, again.status) == (1, Status.CERTIFIED)


def test_a_step_that_finds_nothing_ends_with_the_passes(monkeypatch):
    evidence, _ = grown()
    sums, made = passes.Passes.sums, []

    def only_once(source, theta, fresh):
        made.append(theta)
        return sums(source, theta, fresh) if len(made) == 1 else Sums.impossible(60)

    monkeypatch.setattr(passes.Passes, "sums", only_once)
    solution = solve(evidence, 1e-9, 7)
    assert (solution.status, solution.steps) == (Status.MAX_STEPS, 7)
    # The pass of the bit sums and one at the start leave five: two targets, then shorter steps.
    assert len(made) == 6
    np.testing.assert_array_equal(solution.theta, made[0])
    assert np.isfinite(solution.certificate.gap)
    assert len(solution.trace) == 1
    moves = np.array(made[2:]) - made[0]
    np.testing.assert_allclose(moves[1:], moves[:-1] / 2, rtol=1e-6, atol=1e-12)


def test_a_step_tells_what_it_gained():
    evidence, _ = grown()
    source = over(likelihood_of(evidence))
    state = replace(passes._first(source, None, None, 100), idle=2)
    targets, _ = passes._targets(state.hessian, state.sums.slope, state.theta)
    after = passes._step(source, state, targets, False, 5)
    assert (after.made, after.idle) == (3, 3)
    np.testing.assert_array_equal(after.theta, state.theta + (targets[0] - state.theta))
    gained = after.certificate.value - state.certificate.value
    assert after.gain == pytest.approx(gained, rel=1e-9)
    gaps = state.certificate.gap, after.certificate.gap
    assert after.rate == pytest.approx(np.log(gaps[0] / gaps[1]), rel=1e-12)
    move, change = after.theta - state.theta, state.sums.slope - after.sums.slope
    np.testing.assert_allclose(after.hessian @ move, change, rtol=1e-6, atol=1e-9)


def test_a_start_is_scaled_and_counted():
    first, second = grown()
    cold = solve(first, 1e-7)
    numbers = []
    runs = [
        solve(second, 1e-7, start=scale * cold.theta, on_step=lambda s: numbers.append(s.number))
        for scale in (1.0, 4.0)
    ]
    assert numbers[0] == 1
    np.testing.assert_array_equal(runs[0].theta, runs[1].theta)
    line = fw.Linear(0, 9)
    evidence = simulated([fw.Identity(line)], random_truth(10, 4), 400, seed=2)
    numbers.clear()
    solve(evidence, start=np.eye(10)[0], on_step=lambda s: numbers.append(s.number))
    assert numbers[0] == 3


def test_the_sample_stays_as_it_is_where_steps_gain():
    evidence, _ = grown()
    source, reads = elsewhere(evidence, stride=10)
    assert_certified(passes.solve(source, 1e-9, 60), evidence)
    assert set(reads) == {0, source.stride}
    assert source.stride == 10


@pytest.mark.parametrize(
    ("by_slopes", "by_loss", "share"),
    [(0.25, 0.25, 0.25), (0.15, 0.3, 0.3), (0.3, 0.2, 0.3), (0.05, 0.07, 0.1), (0.7, 0.3, 0.5)],
)
def test_a_step_is_shortened_to_the_top_of_a_parabola(by_slopes, by_loss, share):
    """The slope is 3 at the start of the step."""
    move, rise = np.array([-1.0, 1.0]), 3.0
    here = Sums(-5.0, np.array([1.0, 1.0 + rise]), None)
    fall = rise - rise / by_slopes
    there = Sums(-5.0 - (rise / (2 * by_loss) - rise), np.array([1.0, 1.0 + fall]), None)
    assert passes._shorter(here, there, move) == pytest.approx(share, rel=1e-12)
    exact = Sums(-5.0 + rise - rise / (2 * 0.2), np.array([1.0, 1.0 + rise - rise / 0.2]), None)
    assert passes._shorter(here, exact, move) == pytest.approx(0.2, rel=1e-12)


def test_rounding_grows_with_the_likelihood():
    for value in (0.0, -1.0, -7.0):
        assert passes._rounding(Sums(value, np.zeros(1), None)) == pytest.approx(
            1e-14 * (1 - value), rel=1e-12, abs=0
        )


def test_only_values_of_large_gradient_are_lifted_at_first(monkeypatch):
    theta, slope = np.array([1e-4, 1e-4, 1e-4, 0.9997]), np.array([0.5, 1.5, 2.5, 0.99985])
    hessian, newton = np.diag([2.0, 3.0, 5.0, 7.0]) + 10, np.array([0.0, 0, 0, 1])
    monkeypatch.setattr(passes, "_model_minimum", lambda *_: newton)
    (bold, careful), length = passes._targets(hessian, slope, theta)
    half = theta * slope / 2
    np.testing.assert_allclose(bold, np.array([0, 0, half[2], 1]) / (1 + half[2]), atol=1e-14)
    lifted = np.append(half[:3], 1)
    np.testing.assert_allclose(careful, lifted / lifted.sum(), atol=1e-14)
    move = newton - theta
    assert length == pytest.approx(np.sqrt(move @ hessian @ move), rel=1e-9)


def test_the_model_is_minimised_over_values_that_may_be_in_it(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        passes,
        "nonnegative_quadratic",
        lambda *a: sizes.append(a[1].size) or nonnegative_quadratic(*a),
    )
    theta = np.array([0.6, 0.4, 0.0, 0.0, 0.0])
    hessian = np.eye(5)
    found = passes._model_minimum(hessian, np.array([0.9, 1.0, 1.2, 0.8, 0.5]), theta)
    assert sizes == [3]
    np.testing.assert_array_equal(found > 0, [True, True, True, False, False])
    # A value of gradient 1 is let in where the model's gradient there is a trifle below 0.
    slope = np.array([1.1, 1.0, 1.0, 1.0, 1.0])
    hessian[0, 3] = hessian[3, 0] = -1e-10
    passes._model_minimum(hessian, slope, theta)
    assert sizes == [3, 2, 3]
    hessian[0, 3] = hessian[3, 0] = 0.0
    passes._model_minimum(hessian, slope, theta)
    assert sizes == [3, 2, 3, 2]


@dataclass(frozen=True)
class Rows:
    """A part of which only the number of reports is known."""

    rows: int


@pytest.mark.parametrize("stride", [1, 2, 10, 60, 400])
def test_a_fresh_hessian_is_taken_where_it_saves_passes(stride):
    """The page on solvers, written out: passes left now, against one with H and those after it."""
    source = passes.Passes([Rows(20_000), Rows(4_000)], 60, stride)
    noise = 0 if stride == 1 else 2 * math.sqrt(60 * stride / 24_000)
    assert source.noise == pytest.approx(noise, rel=1e-12)
    gain = -math.log(min(max(noise, 0.05), 0.5))
    verdicts = set()
    for ratio in (1.5, 30.0, 1e4, 1e9):
        enough = math.log(ratio) / (1 + 60 / (32 * stride) + math.log(ratio) / gain)
        for rate in (-1.0, 0.0, 0.9 * enough, 0.99 * enough, 1.01 * enough, 1.1 * enough):
            pays = source.fresh_hessian_pays(ratio, rate)
            assert pays == (rate < enough)
            verdicts.add(pays)
    assert verdicts == {True, False}


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("stride", [1, 2, 7])
def test_a_sampled_hessian_is_shrunk_towards_its_diagonal(stride, epsilon):
    evidence = simulated(bits(60, [epsilon, 1.1 * epsilon]), bell(60), 2_000, seed=6)
    source = over(likelihood_of(evidence), stride)
    assert source.stride == min(stride, 3)
    theta = bell(60)
    plain = sum((part.sums(theta, source.stride) for part in source.parts), Sums.nothing(60, 1))
    expected = plain.hessian.copy()
    if stride > 1:
        share = 60 * source.stride / source.rows
        assert 0.05 < share < 1
        expected += share * np.diag(np.maximum(expected.diagonal() - plain.slope**2, 0))
    np.testing.assert_allclose(source.sums(theta, True).hessian, expected, rtol=1e-12)
    assert source.sums(theta, False).hessian is None


def test_the_start_is_the_debiased_sums_weighted_by_their_precision():
    mechanisms = bits(12, [0.5, 2.0, 6.0])
    evidence = simulated(mechanisms, random_truth(12, 5), 900, seed=4)
    whole, precisions = np.zeros(12), 0.0
    for group in evidence.groups:
        flip = 1 / (1 + np.exp(group.mechanism.epsilon / 2))
        precision = group.people * (1 - 2 * flip) ** 2 / (flip * (1 - flip) + 1 / 12)
        alone = fw.debias(fw.Evidence(evidence.alphabet, (group,)), post="none").theta
        whole, precisions = whole + precision * alone, precisions + precision
    expected = 0.95 * fw.project(whole / precisions) + 0.05 / 12
    found = over(likelihood_of(evidence)).start()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_start_is_uniform_where_bits_tell_nothing():
    line = fw.Linear(0, 11)
    symbols = simulated([fw.KRR(line, 2.0)], random_truth(12, 5), 100, seed=4)
    np.testing.assert_array_equal(over(likelihood_of(symbols)).start(), 1 / 12)
    coins = BitOperator(
        np.array([[7, 1], [5, 2]], dtype=np.uint8), 12, np.log(0.5), 0.0, np.zeros(2)
    )
    nobody = BitOperator(
        np.array([[7, 1], [5, 2]], dtype=np.uint8), 12, np.log(0.1), 0.4, np.zeros(2)
    )
    for operator, weights in ((coins, np.full(2, 0.5)), (nobody, np.zeros(2))):
        np.testing.assert_array_equal(over(Likelihood(operator, weights)).start(), 1 / 12)
