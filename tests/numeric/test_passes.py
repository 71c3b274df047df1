"""The pass solver: agrees with a reference optimum, certifies, and needs few passes."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.support import BitOperator
from freewill.numeric.solvers import passes
from freewill.numeric.solvers.likelihood import Likelihood, Status
from freewill.stats.estimators.estimate import likelihood_of
from passes_cases import assert_certified, bell, bits, elsewhere, grown, over, solve
from problems import best_log_likelihood, random_truth, simulated


@pytest.mark.parametrize("size", [3, 8, 20])
@pytest.mark.parametrize("people", [1, 40, 1500])
@pytest.mark.parametrize("epsilons", [(0.1, 0.5, 1.0), (1.0, 3.0, 5.0), (1e-3, 20.0), (1e-3,)])
def test_agrees_with_the_reference_optimum(size, people, epsilons):
    evidence = simulated(bits(size, epsilons), random_truth(size, seed=size), people, seed=people)
    solution = solve(evidence)
    assert_certified(solution, evidence)
    if people > 1:
        assert solution.certificate.value >= best_log_likelihood(evidence) - 2e-9


@pytest.mark.parametrize("size", [3, 11, 20])
@pytest.mark.parametrize("people", [5, 200, 2000])
def test_bits_mix_with_everything_on_a_line(size, people):
    line = fw.Linear(0, size - 1)
    law = np.eye(size)[:, : size - 1]
    law[-1, :] = 1 / (size - 1)
    mixture = [
        fw.RAPPOR(line, 1.0),
        fw.RAPPOR(line, 3.0),
        fw.KRR(line, 1.5),
        fw.Geometric(line, 0.4),
        fw.Matrix(line, law),
    ]
    evidence = simulated(mixture, random_truth(size, seed=1), people, seed=size)
    solution = solve(evidence)
    assert_certified(solution, evidence)
    assert solution.certificate.value >= best_log_likelihood(evidence) - 2e-9


def test_no_bits_at_all():
    line = fw.Linear(0, 14)
    mixture = [fw.KRR(line, 2.0), fw.Geometric(line, 0.3)]
    evidence = simulated(mixture, random_truth(15, seed=3), 4000, seed=3)
    assert_certified(solve(evidence), evidence)


def test_zeros_in_the_law_shorten_steps_but_do_not_stop_them():
    line = fw.Linear(0, 9)
    truth = np.array([0.9] + [0.1 / 9] * 9)
    evidence = simulated([fw.Identity(line), fw.RAPPOR(line, 0.5)], truth, 300, seed=2)
    assert_certified(solve(evidence), evidence)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
@pytest.mark.parametrize("report", [0, 5, 255])
def test_identical_reports(epsilon, report):
    mechanism = bits(8, [epsilon])[0]
    evidence = fw.collect([(mechanism, np.full((50, 1), report, dtype=np.uint8))])
    assert_certified(solve(evidence), evidence)


@pytest.mark.parametrize("people", [300, 5000])
def test_the_gap_bounds_the_distance_to_the_optimum(people):
    evidence = simulated(bits(12, [0.5, 4.0]), random_truth(12, seed=8), people, seed=8)
    optimum = solve(evidence, 1e-12).certificate.value
    rng = np.random.default_rng(0)
    for budget in range(2, 7):
        loose = solve(evidence, 1e-15, budget, start=rng.dirichlet(np.ones(12)))
        assert loose.steps <= budget
        assert -1e-13 <= optimum - loose.certificate.value <= loose.certificate.gap + 1e-13


@pytest.mark.parametrize("truth", [bell(100), random_truth(100, seed=1)])
def test_few_passes(truth):
    evidence = simulated(bits(100, np.linspace(0.1, 1, 10)), truth, 30000, seed=1)
    solution = solve(evidence, 1e-6, 10)
    assert_certified(solution, evidence, 1e-6)
    assert solution.steps <= 6


@pytest.mark.parametrize("stride", [1, 10, 100, 3000])
def test_a_sampled_hessian_certifies_the_same_optimum(stride):
    evidence = simulated(bits(60, np.linspace(1, 5, 4)), bell(60), 20000, seed=6)
    solution = solve(evidence, 1e-8, 100, stride=stride)
    assert_certified(solution, evidence, 1e-8)
    exact = solve(evidence, 1e-10, stride=1)
    assert solution.certificate.value == pytest.approx(exact.certificate.value, abs=1e-8)


@pytest.mark.parametrize("epsilons", [(0.1, 24.0), (1.0, 8.0, 16.0)])
def test_a_sample_keeps_the_few_reports_that_name_a_rare_value(epsilons):
    truth = 1 / np.arange(1, 31.0) ** 2
    evidence = simulated(bits(30, epsilons), truth / truth.sum(), 9000, seed=3)
    assert_certified(solve(evidence, 1e-9, 40, stride=1000), evidence)


def test_the_limit_of_passes_is_reported():
    evidence = simulated(bits(20, [1.0, 5.0]), bell(20), 5000, seed=1)
    short = solve(evidence, 1e-12, 3)
    assert short.status == Status.MAX_STEPS
    assert short.steps == 3
    assert 1e-12 < short.certificate.gap < np.inf


def test_an_unreachable_tolerance_stalls_with_its_gap():
    evidence = simulated(bits(20, [0.5, 1.0]), bell(20), 5000, seed=1)
    stuck = solve(evidence, 1e-30, 500)
    assert stuck.certificate.gap < 1e-12
    assert stuck.status in (Status.STALLED, Status.CERTIFIED)
    assert stuck.steps < 100


def test_steps_count_every_read_of_the_reports(monkeypatch):
    evidence = simulated(bits(20, [1.0, 5.0]), bell(20), 5000, seed=1)
    reads = []
    sums, by_bit = BitOperator.sums, BitOperator.by_bit
    monkeypatch.setattr(BitOperator, "sums", lambda *a: reads.append("pass") or sums(*a))
    monkeypatch.setattr(BitOperator, "by_bit", lambda *a: reads.append("sums") or by_bit(*a))
    solution = solve(evidence)
    # Both mechanisms are read as one.
    assert solution.steps == len(reads)


def test_the_secant_maps_the_move_to_the_change_of_the_gradient():
    rng = np.random.default_rng(2)
    for _ in range(20):
        half, exact = rng.standard_normal((2, 9, 6))
        hessian, exact = half.T @ half, exact.T @ exact
        move = rng.standard_normal(6)
        change = exact @ move
        updated = passes._secant(hessian, move, change)
        np.testing.assert_allclose(updated @ move, change, rtol=1e-9)
        np.testing.assert_allclose(updated, updated.T, rtol=1e-12)
        assert np.linalg.eigvalsh(updated).min() > 0
        # Directions that H takes to nothing of what was learned stay as they were.
        away = np.linalg.svd(np.stack([change, hessian @ move]))[2][2:]
        np.testing.assert_allclose(updated @ away.T, hessian @ away.T, atol=1e-9)


@pytest.mark.parametrize("change", [-1.0, 0.0, 1e-12])
def test_a_secant_against_concavity_changes_nothing(change):
    hessian, move = np.diag([1.0, 2.0]), np.array([1.0, 0.0])
    assert passes._secant(hessian, move, change * move) is hessian


def test_a_secant_is_used_however_little_curvature_it_tells_of():
    hessian, move = np.diag([1.0, 2.0]), np.array([1.0, 0.0])
    updated = passes._secant(hessian, move, 1e-6 * move)
    np.testing.assert_allclose(updated @ move, 1e-6 * move, rtol=1e-9)


def test_parts_that_read_elsewhere_give_the_same_answer():
    evidence, _ = grown()
    source, reads = elsewhere(evidence)
    solution = passes.solve(source, 1e-9, 60)
    assert_certified(solution, evidence)
    # One more pass for the bit sums, which are known to these parts.
    assert len(reads) == len(source.parts) * (solution.steps - 1)
    reads.clear()
    other = source.certify(solution.theta)
    assert reads == [0] * len(source.parts)
    np.testing.assert_array_equal(other.slope, solution.certificate.slope)
    assert other.value == solution.certificate.value
    assert other.gap == solution.certificate.gap


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_passes_certify_what_a_likelihood_certifies(weight):
    evidence = simulated([*bits(12, [1.0]), fw.KRR(fw.Linear(0, 11), 2.0)], bell(12), 900, seed=1)
    whole = likelihood_of(evidence)
    likelihood = Likelihood(whole.operator, weight * whole.weights)
    source = over(likelihood)
    assert source.rows == evidence.groups[1].operator.shape[0]
    assert source.weight == pytest.approx(weight)
    # The last has no mass where the gradient is largest: the gap is over all values.
    for theta in (random_truth(12, 3), np.eye(12)[0]):
        one, other = likelihood.certify(theta), source.certify(theta)
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.gap == pytest.approx(other.gap, rel=1e-10)
        assert one.gap == pytest.approx(np.log(one.slope.max() / weight), rel=1e-10)
    assert one.slope.argmax() != 0
    impossible = Likelihood(DenseOperator(np.eye(2)), np.array([0.5, 0.5]))
    assert over(impossible).certify(np.array([1.0, 0.0])).gap == np.inf


def test_a_warm_start_takes_no_curvature_and_few_passes():
    first, second = grown()
    source, reads = elsewhere(first)
    cold = passes.solve(source, 1e-7, 60)
    assert max(reads) > 0
    source, reads = elsewhere(second)
    warm = passes.solve(source, 1e-7, 60, cold.theta, cold.hessian)
    assert_certified(warm, second, 1e-7)
    assert max(reads) == 0
    assert warm.steps <= cold.steps - 2
    # Without the curvature one pass has to take it.
    source, reads = elsewhere(second)
    assert_certified(passes.solve(source, 1e-7, 60, cold.theta), second, 1e-7)
    assert reads[0] == source.stride > 0


def test_a_start_that_makes_reports_impossible_is_pulled_inside():
    line = fw.Linear(0, 9)
    evidence = simulated(
        [fw.Identity(line), fw.RAPPOR(line, 2.0)], random_truth(10, 4), 400, seed=2
    )
    kept = np.eye(10)
    assert_certified(solve(evidence, start=np.eye(10)[0], hessian=kept), evidence)


def test_a_useless_curvature_is_soon_replaced():
    """An H that knows nothing hardly moves, until a pass takes a better one."""
    evidence, _ = grown()
    source, reads = elsewhere(evidence, stride=10)
    useless = 1e6 * np.eye(60)
    solution = passes.solve(source, 1e-8, 200, bell(60), useless)
    assert_certified(solution, evidence, 1e-8)
    assert max(reads) > 0


def test_stride_leaves_enough_reports():
    assert passes.stride_for(1_000_000, 1000) == 10
    assert passes.stride_for(1_000, 1000) == 1
    assert passes.stride_for(1_000_000, 20) == 1


def test_passes_are_told_and_traced():
    told = []
    evidence, _ = grown()
    solution = solve(evidence, on_step=told.append)
    assert tuple(step.gap for step in told) == solution.trace
    numbers = [step.number for step in told]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 2
    assert numbers[-1] == solution.steps
    assert told[-1].log_likelihood == solution.certificate.value
