"""The certified maximum likelihood, by every solver, against an independent optimum."""

import numpy as np
import pytest

import freewill as fw
from problems import (
    CITY,
    COIN,
    LINE,
    MIXTURES,
    best_log_likelihood,
    expected,
    random_truth,
    simulated,
)

LINEAR = ["one k-RR", "k-RR of two levels", "geometric", "geometric and k-RR"]
CASES = [(name, solver) for name in MIXTURES for solver in ("interior", "columns", "passes")]
CASES += [(name, "linear") for name in LINEAR]


@pytest.mark.parametrize(("name", "solver"), CASES)
def test_every_solver_reaches_the_reference_optimum(name: str, solver: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 5), 3000, 6)
    estimate = fw.gibu(evidence, tol=1e-8, solver=solver)
    assert estimate.status == fw.Status.CERTIFIED
    assert estimate.solver == solver
    assert 0 <= estimate.gap <= 1e-8
    assert estimate.theta.min() >= 0
    assert abs(estimate.theta.sum() - 1) < 1e-12
    assert best_log_likelihood(evidence) - estimate.log_likelihood <= estimate.gap + 1e-9


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_bounds_the_distance_to_the_optimum_anywhere(name: str, seed: int) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, seed), 500, seed)
    best = best_log_likelihood(evidence)
    for steps in (1, 3, 10, 100):
        estimate = fw.em(evidence, delta=1e-300, max_steps=steps)
        assert estimate.gap >= best - estimate.log_likelihood - 1e-9


@pytest.mark.parametrize("name", MIXTURES)
def test_expected_counts_give_back_the_truth(name: str) -> None:
    truth = np.random.default_rng(1).dirichlet(np.full(12, 3.0))
    estimate = fw.gibu(expected(MIXTURES[name], truth), tol=1e-15)
    # Counts are rounded to one in 10^12, which weakly private laws amplify.
    np.testing.assert_allclose(estimate.theta, truth, atol=2e-5)


@pytest.mark.parametrize("solver", ["interior", "columns", "passes", "linear"])
def test_one_person(solver: str) -> None:
    estimate = fw.gibu(fw.collect([(fw.Geometric(LINE, 0.5), [7])]), tol=1e-9, solver=solver)
    assert estimate.status == fw.Status.CERTIFIED
    assert estimate.theta.argmax() == 7
    assert estimate.theta[7] > 0.999


def test_duplicated_mechanisms_are_one() -> None:
    reports = fw.KRR(LINE, 1.0).obfuscate(np.arange(12).repeat(20), np.random.default_rng(0))
    once = fw.collect([(fw.KRR(LINE, 1.0), reports)])
    twice = fw.collect([(fw.KRR(LINE, 1.0), reports[:100]), (fw.KRR(LINE, 1.0), reports[100:])])
    assert once == twice
    np.testing.assert_array_equal(fw.gibu(once).theta, fw.gibu(twice).theta)


def test_order_and_zero_counts_do_not_matter() -> None:
    mechanisms = MIXTURES["geometric and k-RR"]
    evidence = simulated(mechanisms, random_truth(12, 3), 1000, 1)
    parts = [(g.mechanism, g.outputs[::-1], g.counts[::-1]) for g in evidence.groups[::-1]]
    padded = [(m, np.append(o, [0, 11]), np.append(c, [0, 0])) for m, o, c in parts]
    np.testing.assert_array_equal(fw.gibu(evidence).theta, fw.gibu(fw.collect(padded)).theta)


def test_zeros_in_the_law_exclude_values() -> None:
    sure = fw.Matrix(COIN, [[0.6, 0.4, 0.0], [0.0, 0.3, 0.7]])
    estimate = fw.gibu(fw.collect([(sure, [0, 1], [50, 20])]), tol=1e-12)
    assert estimate.theta[0] > 1 - 1e-6
    assert estimate.status == fw.Status.CERTIFIED


def test_everything_at_once_uses_every_report() -> None:
    mechanisms = MIXTURES["a bit of everything"]
    truth = random_truth(12, 9)
    evidence = simulated(mechanisms, truth, 200_000, 2)
    assert len({type(group.mechanism) for group in evidence.groups}) == 5
    estimate = fw.gibu(evidence)
    assert estimate.status == fw.Status.CERTIFIED
    assert fw.total_variation(estimate.theta, truth) < 0.02


def test_another_solver_helps_where_the_first_one_jams() -> None:
    line = fw.Linear(0, 99)
    truth = np.exp(-(((np.arange(100) - 49.5) / 7) ** 2))
    truth /= truth.sum()
    for threshold, people, seed in ((22.0, 500, 500_007), (24.5, 10_000, 10_000_006)):
        coin = fw.Shokri(line, threshold, selection="coin")
        for offset in range(5):
            estimate = fw.gibu(simulated([coin], truth, people, seed + offset))
            assert estimate.status == fw.Status.CERTIFIED


def test_the_step_limit_is_a_status_not_silence() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 1), 1000, 1)
    for solver in ("interior", "linear", "columns", "passes"):
        estimate = fw.gibu(evidence, tol=1e-12, max_steps=1, solver=solver)
        assert estimate.status == fw.Status.MAX_STEPS, solver
        assert estimate.gap > 1e-12


def test_a_tolerance_beyond_rounding_stalls_honestly() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 1), 100_000, 1)
    estimate = fw.gibu(evidence, tol=1e-30)
    assert estimate.status in (fw.Status.STALLED, fw.Status.CERTIFIED, fw.Status.MAX_STEPS)
    assert (estimate.gap <= 1e-30) == (estimate.status == fw.Status.CERTIFIED)
    assert estimate.gap < 1e-10


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 5.0, 50.0])
@pytest.mark.parametrize("kind", [fw.KRR, fw.Geometric, fw.RAPPOR])
def test_extreme_epsilons_are_certified(kind: type, epsilon: float) -> None:
    evidence = simulated([kind(LINE, epsilon)], random_truth(12, 4), 2000, 4)
    estimate = fw.gibu(evidence)
    assert estimate.status == fw.Status.CERTIFIED
    assert np.all(np.isfinite(estimate.theta))


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 20.0])
def test_extreme_planar_epsilons_are_certified(epsilon: float) -> None:
    evidence = simulated([fw.PlanarGeometric(CITY, epsilon)], random_truth(12, 4), 2000, 4)
    for solver in ("interior", "columns"):
        assert fw.gibu(evidence, solver=solver).status == fw.Status.CERTIFIED


def test_long_lines_are_solved_in_few_steps() -> None:
    line = fw.Linear(0, 1299)
    truth = np.exp(-(((np.arange(1300) - 700) / 200) ** 2))
    mechanisms = [fw.Geometric(line, 0.005), fw.Geometric(line, 0.1), fw.KRR(line, 6.0)]
    evidence = simulated(mechanisms, truth / truth.sum(), 50_000, 8)
    estimate = fw.gibu(evidence, tol=1e-9)
    assert (estimate.solver, estimate.status) == ("linear", fw.Status.CERTIFIED)
    assert estimate.steps <= 20
    dense = fw.gibu(evidence, tol=1e-9, solver="interior")
    assert abs(dense.log_likelihood - estimate.log_likelihood) <= 1e-9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 0}, "tol=0"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"solver": "magic"}, "solver='magic'"),
        ({"solver": "linear"}, "geometric mechanisms, k-RR and Identity"),
    ],
)
def test_bad_options(options: dict, words: str) -> None:
    evidence = simulated(MIXTURES["planar"], random_truth(12, 1), 100, 1)
    with pytest.raises(fw.ParameterError, match=words):
        fw.gibu(evidence, **options)
