"""The pass solver: agrees with a reference optimum, certifies, and needs few passes."""

import numpy as np
import pytest

import freewill as fw
from freewill.estimators.estimate import likelihood_of
from freewill.operators import BitOperator
from freewill.solvers import Status, passes
from problems import best_log_likelihood, random_truth, simulated


def solve(evidence, tolerance=1e-9, max_steps=60, stride=None, **options):
    source = passes.Passes.over(likelihood_of(evidence), stride)
    return passes.solve(source, tolerance, max_steps, **options)


def bits(size, epsilons):
    return [fw.RAPPOR(fw.Linear(0, size - 1), float(epsilon)) for epsilon in epsilons]


def test_gibu_takes_reports_that_lie_elsewhere():
    evidence = simulated(bits(12, (0.5, 2.0)), random_truth(12, 3), 2000, 4)

    class Elsewhere:
        people = evidence.people
        alphabet = evidence.alphabet
        mechanisms = evidence.mechanisms

        def passes(self):
            return passes.Passes.over(likelihood_of(evidence))

    found = fw.gibu(Elsewhere(), tol=1e-9)
    assert (found.solver, found.status) == ("passes", Status.CERTIFIED)
    assert abs(found.log_likelihood - fw.gibu(evidence, tol=1e-9).log_likelihood) <= 2e-9


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
