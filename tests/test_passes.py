"""The pass solver: agrees with a reference optimum, certifies, and needs few passes."""

from dataclasses import dataclass

import numpy as np
import pytest

import freewill as fw
from freewill.estimators.estimate import likelihood_of
from freewill.operators import BitOperator, DenseOperator, Sums
from freewill.operators.kernel import kernel
from freewill.solvers import Likelihood, Status, passes
from freewill.solvers.parts import OperatorPart
from freewill.solvers.quadratic import nonnegative_quadratic
from problems import best_log_likelihood, random_truth, simulated


def solve(evidence, tolerance=1e-9, max_steps=60, stride=None, **options):
    source = passes.Passes.over(likelihood_of(evidence), stride)
    return passes.solve(source, tolerance, max_steps, **options)


def bits(size, epsilons):
    return [fw.RAPPOR(fw.Linear(0, size - 1), float(epsilon)) for epsilon in epsilons]


def bell(size):
    place = np.linspace(-3, 3, size)
    return np.exp(-(place**2)) / np.exp(-(place**2)).sum()


def assert_certified(solution, evidence, tolerance=1e-9):
    assert solution.status == Status.CERTIFIED
    assert 0 <= solution.certificate.gap <= tolerance
    assert np.all(solution.theta >= 0)
    assert solution.theta.sum() == pytest.approx(1, abs=1e-12)
    # The same certificate from products that the solver does not use.
    other = likelihood_of(evidence).certify(solution.theta)
    assert solution.certificate.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(solution.certificate.slope, other.slope, rtol=1e-11)
    assert other.gap <= tolerance + 1e-12


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
    assert solution.steps == len(reads) / len(evidence.groups)


def grown(size=60, people=20_000, share=0.01):
    """Return evidence, and the same with a few more reports."""
    mechanisms = bits(size, np.linspace(1, 5, 4))
    first = simulated(mechanisms, bell(size), people, seed=6)
    return first, first + simulated(mechanisms, bell(size), int(share * people), seed=7)


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


@dataclass(frozen=True)
class Elsewhere:
    """A part that reads its reports again in two blocks for every pass, and notes it."""

    part: OperatorPart
    reads: list

    @property
    def rows(self):
        return self.part.rows

    @property
    def weight(self):
        return self.part.weight

    @property
    def log_scale(self):
        return self.part.log_scale

    def guesses(self):
        yield from self.part.guesses()

    def sums(self, theta, stride):
        self.reads.append(stride)
        law, weights = self.part.operator, self.part.weights
        blocks = ((law.packed[::2], weights[::2]), (law.packed[1::2], weights[1::2]))
        each = (kernel(*block, theta, law.base, law.gain, stride) for block in blocks)
        return sum(each, Sums.nothing(theta.size, stride))


def elsewhere(evidence, stride=None):
    here = passes.Passes.over(likelihood_of(evidence), stride)
    reads = []
    return passes.Passes(
        [Elsewhere(part, reads) for part in here.parts], here.size, here.stride
    ), reads


def test_parts_that_read_elsewhere_give_the_same_answer():
    evidence, _ = grown()
    source, reads = elsewhere(evidence)
    solution = passes.solve(source, 1e-9, 60)
    assert_certified(solution, evidence)
    # One more pass for the bit sums, which are known to these parts.
    assert len(reads) == len(evidence.groups) * (solution.steps - 1)
    other = source.certify(solution.theta)
    np.testing.assert_array_equal(other.slope, solution.certificate.slope)
    assert other.value == solution.certificate.value
    assert other.gap == solution.certificate.gap


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_passes_certify_what_a_likelihood_certifies(weight):
    evidence = simulated([*bits(12, [1.0]), fw.KRR(fw.Linear(0, 11), 2.0)], bell(12), 900, seed=1)
    whole = likelihood_of(evidence)
    likelihood = Likelihood(whole.operator, weight * whole.weights)
    source = passes.Passes.over(likelihood)
    assert source.rows == evidence.groups[1].operator.shape[0]
    assert source.weight == pytest.approx(weight)
    theta = random_truth(12, 3)
    one, other = likelihood.certify(theta), source.certify(theta)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.gap == pytest.approx(other.gap, rel=1e-10)
    impossible = Likelihood(DenseOperator(np.eye(2)), np.array([0.5, 0.5]))
    assert passes.Passes.over(impossible).certify(np.array([1.0, 0.0])).gap == np.inf


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
    assert passes.stride_for(1_000_000, 1000, stride=50) == 50
    assert passes.stride_for(1_000_000, 1000, stride=5000) == 100


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


ZIPF = 1 / np.arange(1, 31.0) ** 2 / np.sum(1 / np.arange(1, 31.0) ** 2)


@pytest.mark.parametrize(
    ("size", "epsilons", "truth", "people", "stride", "tolerance", "ceiling"),
    [
        (60, (1.0, 2.3, 3.7, 5.0), bell(60), 20_000, 33, 1e-10, 32),
        (30, (1.0, 8.0, 16.0), ZIPF, 9_000, 1000, 1e-9, 14),
        (20, (12.0,), random_truth(20, 3), 3_000, 1, 1e-10, 10),
        (100, np.linspace(0.1, 1, 10), bell(100), 30_000, None, 1e-10, 9),
    ],
)
def test_hard_cases_need_no_more_passes(size, epsilons, truth, people, stride, tolerance, ceiling):
    """Each rule of the method saves passes in one of these.

    The first needs 89 without the secant; the second 17 without the shrinkage or the growing
    sample; the third 13 without any one of the rules for long steps, bold steps and a fresh H;
    the last stalls where progress does not renew patience.
    """
    seed = {33: 6, 1000: 3, 1: 3, None: 1}[stride]
    evidence = simulated(bits(size, epsilons), truth, people, seed)
    solution = solve(evidence, tolerance, 150, stride)
    assert_certified(solution, evidence, tolerance)
    assert solution.steps <= ceiling


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
