"""The certified maximum likelihood, by every solver, against an independent optimum."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.support import BitOperator
from freewill.numeric.solvers.likelihood import Solution
from freewill.stats.estimators.gibu import choose_solver
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
        share = threshold / 25.0  # of the two best blind answers, which cost 25 on average
        blind = share * np.isin(np.arange(100), (49, 50)) / 2
        coin = fw.Matrix(line, (1 - share) * np.eye(100) + blind)
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
    mechanisms = [fw.Geometric(line, 0.005), fw.Geometric(line, 0.1), fw.KRR(line, 4.0)]
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
        ({"tol": "abc"}, "tol='abc'"),
        ({"tol": True}, "tol=True"),
        ({"tol": float("inf")}, "tol=inf"),
        ({"tol": [1e-3]}, r"tol=\[0.001\]"),
        ({"max_steps": None}, "max_steps=None"),
        ({"max_steps": 1.5}, "max_steps=1.5"),
    ],
)
def test_bad_options(options: dict, words: str) -> None:
    evidence = simulated(MIXTURES["planar"], random_truth(12, 1), 100, 1)
    with pytest.raises(fw.ParameterError, match=words):
        fw.gibu(evidence, **options)


@pytest.mark.parametrize("evidence", [[1, 2], None, "evidence.parquet", {"a": 1}])
def test_only_evidence_is_estimated_from(evidence) -> None:
    with pytest.raises(fw.EvidenceError, match="gibu takes evidence"):
        fw.gibu(evidence)


def test_laws_that_a_solver_cannot_hold_are_refused_by_name(monkeypatch) -> None:
    evidence = simulated(MIXTURES["planar"], random_truth(12, 1), 100, 1)
    monkeypatch.setitem(fw.gibu.__globals__, "_MOST_ROWS", 3)
    with pytest.raises(fw.ParameterError, match="of all others 3 different outputs at most"):
        fw.gibu(evidence, solver="linear")
    monkeypatch.setitem(fw.gibu.__globals__, "_MOST_ENTRIES", 100)
    for solver in ("interior", "passes"):
        with pytest.raises(
            fw.ParameterError, match=f'solver="{solver}" holds .* which needs .* MiB'
        ):
            fw.gibu(evidence, solver=solver)


SOLVERS = ["interior", "linear", "conjugate", "columns", "passes"]


def grown() -> tuple[fw.Evidence, fw.Evidence]:
    """Return evidence, and the same with 1 % more reports."""
    line = fw.Linear(0, 39)
    truth = np.exp(-(((np.arange(40) - 15) / 6) ** 2))
    mechanisms = [fw.Geometric(line, 0.1), fw.KRR(line, 3.0)]
    first = simulated(mechanisms, truth / truth.sum(), 20_000, 1)
    return first, first + simulated(mechanisms, truth / truth.sum(), 200, 2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_estimate_starts_the_next_one(solver: str) -> None:
    first, second = grown()
    before, cold = fw.gibu(first, solver=solver), fw.gibu(second, solver=solver)
    for start in (before, before.theta):
        warm = fw.gibu(second, solver=solver, start=start)
        assert warm.status == fw.Status.CERTIFIED
        assert warm.steps < cold.steps
        assert abs(warm.log_likelihood - cold.log_likelihood) <= 0.01 / second.people


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LINEAR)
def test_a_start_may_have_zeros_anywhere(name: str, solver: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 5), 3000, 6)
    best = fw.gibu(evidence, tol=1e-10).log_likelihood
    for start in (np.eye(12)[0], np.eye(12)[11], np.r_[np.full(4, 0.25), np.zeros(8)]):
        estimate = fw.gibu(evidence, tol=1e-8, solver=solver, start=start)
        assert estimate.status == fw.Status.CERTIFIED
        assert abs(estimate.log_likelihood - best) <= 1e-8


def test_an_estimate_knows_what_it_is_about() -> None:
    evidence, _ = grown()
    for estimate in (
        fw.gibu(evidence),
        fw.gibu(evidence, solver="passes"),
        fw.em(evidence, max_steps=3),
        fw.combine_mechanisms(evidence, fw.inversion),
        fw.combine_results(evidence, fw.ibu),
    ):
        assert estimate.alphabet == fw.Linear(0, 39)
        assert estimate.people == 20_000
        assert estimate.mechanisms == tuple(group.mechanism for group in evidence.groups)
        assert "curvature" not in repr(estimate)
    assert fw.gibu(evidence, solver="passes").curvature.shape == (40, 40)
    assert fw.gibu(evidence, solver="interior").curvature is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_tells_of_its_steps(solver: str) -> None:
    evidence, _ = grown()
    told = []
    estimate = fw.gibu(evidence, solver=solver, on_step=told.append)
    assert [step.gap for step in told] == list(estimate.trace)
    assert told[-1].number == estimate.steps
    assert told[0].number > 0
    assert told[-1].gap <= 0.01 / evidence.people < told[0].gap
    assert told[-1].log_likelihood == pytest.approx(estimate.log_likelihood, abs=1e-9)
    assert [step.number for step in told] == sorted({step.number for step in told})


def test_the_fallback_runs_where_the_first_solver_jams(monkeypatch) -> None:
    evidence, _ = grown()
    uniform = np.full(40, 1 / 40)
    asked = []

    def jam(likelihood, *_):
        asked.append("an interior point")
        return Solution(uniform, likelihood.certify(uniform), 5, fw.Status.STALLED, (1.0,))

    monkeypatch.setattr("freewill.numeric.solvers.interior.solve", jam)
    estimate = fw.gibu(evidence)
    # Chosen, then as "linear", whose steps are those of an interior point too.
    assert asked == ["an interior point"] * 2
    assert (estimate.solver, estimate.status) == ("columns", fw.Status.CERTIFIED)
    # A solver that was asked for by name is not replaced.
    named = fw.gibu(evidence, solver="interior")
    assert (named.solver, named.status, named.steps) == ("interior", fw.Status.STALLED, 5)
    np.testing.assert_array_equal(named.theta, uniform)


def test_no_other_solver_runs_where_the_first_one_arrives(monkeypatch) -> None:
    evidence, _ = grown()
    assert choose_solver(evidence) == "interior"
    monkeypatch.setattr(
        "freewill.numeric.solvers.columns.solve", lambda *_: pytest.fail("not needed")
    )
    assert fw.gibu(evidence).status == fw.Status.CERTIFIED


def test_bit_reports_start_from_the_curvature_of_an_estimate(monkeypatch) -> None:
    bits = [fw.RAPPOR(fw.Linear(0, 29), e) for e in (1.0, 3.0)]
    first = simulated(bits, random_truth(30, 2), 12_000, 1)
    before = fw.gibu(first, tol=1e-6)
    strides = []
    sums = BitOperator.sums
    monkeypatch.setattr(
        BitOperator, "sums", lambda *given: strides.append(given[3]) or sums(*given)
    )
    warm = fw.gibu(first + simulated(bits, random_truth(30, 2), 120, 2), tol=1e-6, start=before)
    assert (warm.solver, warm.status) == ("passes", fw.Status.CERTIFIED)
    assert set(strides) == {0}


def test_the_better_of_two_that_jam_is_kept(monkeypatch) -> None:
    evidence, _ = grown()
    near, far = fw.gibu(evidence, tol=1e-3).theta, np.full(40, 1 / 40)

    def jams_at(theta):
        return lambda likelihood, *_: Solution(
            theta, likelihood.certify(theta), 1, fw.Status.STALLED
        )

    monkeypatch.setattr("freewill.stats.estimators.gibu.alternatives", lambda *_: ["columns"])
    monkeypatch.setattr("freewill.numeric.solvers.interior.solve", jams_at(near))
    monkeypatch.setattr("freewill.numeric.solvers.columns.solve", jams_at(far))
    assert fw.gibu(evidence).solver == "interior"
    monkeypatch.setattr("freewill.numeric.solvers.interior.solve", jams_at(far))
    monkeypatch.setattr("freewill.numeric.solvers.columns.solve", jams_at(near))
    assert fw.gibu(evidence).solver == "columns"


def test_who_does_not_arrive_is_told_what_to_do(monkeypatch) -> None:
    evidence, _ = grown()
    assert fw.gibu(evidence).advice == ""
    short = fw.gibu(evidence, max_steps=1, solver="interior")
    assert short.status == fw.Status.MAX_STEPS
    lack = f"may lack {short.gap * evidence.people:.2g}"
    assert lack in short.advice
    assert "more than 1 max_steps" in str(short)
    monkeypatch.setattr("freewill.numeric.solvers.interior.solve", lambda *_: 1 / 0)
    stuck = fw.gibu(evidence, solver="interior")
    assert f"tol={stuck.gap:.1e} accepts it" in str(stuck)
    assert "name none" in stuck.advice
    assert "No bound is known" in replace(stuck, gap=np.inf).advice


def test_a_solver_that_fails_is_replaced_and_by_name_it_stalls(monkeypatch) -> None:
    evidence, _ = grown()
    monkeypatch.setattr("freewill.numeric.solvers.interior.solve", lambda *_: 1 / 0)
    assert (fw.gibu(evidence).solver, fw.gibu(evidence).status) == ("columns", fw.Status.CERTIFIED)
    named = fw.gibu(evidence, solver="interior")
    assert (named.status, named.steps) == (fw.Status.STALLED, 0)
    assert 0 < named.gap < np.inf
    np.testing.assert_array_equal(named.theta, 1 / 40)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (np.full(7, 1 / 7), r"start has shape \(7,\).*40 values"),
        (np.full(40, 1.0), "start sums to 40"),
        (np.r_[-0.5, 1.5, np.zeros(38)], r"start\[0\]=-0.5"),
        ("yesterday", "start='yesterday'"),
    ],
)
@pytest.mark.parametrize("estimator", [fw.gibu, fw.em])
def test_a_start_that_is_no_distribution_is_refused(estimator, start, words: str) -> None:
    with pytest.raises(fw.ParameterError, match=words):
        estimator(grown()[0], start=start)


@pytest.mark.parametrize("other", [fw.Linear(1, 40), fw.Grid(8, 5, cell=1.0), fw.Linear(0, 9)])
@pytest.mark.parametrize("estimator", [fw.gibu, fw.em])
def test_an_estimate_over_another_alphabet_is_no_start(estimator, other) -> None:
    elsewhere = fw.gibu(fw.collect([(fw.KRR(other, 1.0), [0, 1, 2])]))
    with pytest.raises(fw.ParameterError, match=r"start is an estimate over .* over 0\.\.39"):
        estimator(grown()[0], start=elsewhere)


def test_the_usual_tolerance_is_a_hundredth_of_a_report() -> None:
    alone = fw.gibu(fw.collect([(fw.Geometric(LINE, 0.5), [7])]))
    assert alone.status == fw.Status.CERTIFIED
    told = []
    many = fw.gibu(grown()[0], on_step=told.append)
    assert many.gap <= 0.01 / 20_000 < told[-2].gap
    assert 0 < many.seconds < 60
