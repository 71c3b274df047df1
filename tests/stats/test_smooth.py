"""Smoothing: its kernels, its degrees of freedom, its certificates, and what it must not lose."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import expm

import freewill as fw
from freewill.errors import FreewillError
from freewill.numeric.operators.base import probabilities
from freewill.stats.estimators.estimate import likelihood_of
from freewill.stats.groups import Block, Stream
from freewill.stats.smooth import Kernels, Sieves, average, degrees_of_freedom, weighted
from problems import CITY, COIN, LINE, MIXTURES, expected, random_truth, simulated
from profiles import examples
from streams_cases import Split

ALL = np.arange(12)
FIFTY = fw.Linear(0, 49)
NOISY = [fw.Geometric(FIFTY, epsilon) for epsilon in (0.05, 0.2, 0.8)]
BELL = np.exp(-((np.arange(50) - 22) ** 2) / 60)


def walk(size: int) -> np.ndarray:
    """Return the generator of the walk that steps either way at rate 1/2 and never leaves."""
    step = np.eye(size, k=1) + np.eye(size, k=-1)
    return (step - np.diag(step.sum(axis=1))) / 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("width", [0.0, 0.5, 1.3, 5.0, 40.0])
def test_a_kernel_is_the_walk_after_the_square_of_its_width(size: int, width: float) -> None:
    kernel = Kernels.on(fw.Linear(1, size)).kernel(width)
    np.testing.assert_allclose(kernel, expm(width**2 * walk(size)), atol=1e-13)


@pytest.mark.parametrize("sides", [(1.0, 1.0), (1.0, 2.5), (3.0, 1.0)])
def test_a_kernel_on_a_grid_is_as_wide_in_kilometres_both_ways(sides: tuple[float, float]) -> None:
    kernel = Kernels.on(fw.Grid(5, 4, cell=sides[::-1])).kernel(1.7)
    north, east = (expm((1.7 / side) ** 2 * walk(m)) for m, side in zip((4, 5), sides, strict=True))
    np.testing.assert_allclose(kernel, np.kron(north, east), atol=1e-13)


def test_the_sides_of_a_cell_are_in_the_order_of_the_plane() -> None:
    grid = Kernels.on(fw.Grid(columns=6, rows=2, cell=(0.5, 2.0)))
    assert [(axis.cells, axis.side) for axis in grid.axes] == [(2, 4.0), (6, 1.0)]
    (line,) = Kernels.on(fw.Linear(0, 50, step=5)).axes
    assert (line.cells, line.side) == (11, 1.0)


@pytest.mark.parametrize("cell", [(0.5, 100.0), (100.0, 0.5), (0.5, 0.5)])
def test_a_grid_of_one_row_or_column_is_a_line(cell: tuple[float, float]) -> None:
    line = Kernels.on(fw.Linear(1, 30))
    row, column = Kernels.on(fw.Grid(30, 1, cell)), Kernels.on(fw.Grid(1, 30, cell))
    np.testing.assert_array_equal(row.kernel(2.0), line.kernel(2.0))
    assert row.widths(4) == column.widths(4) == line.widths(4)
    np.testing.assert_array_equal(column.kernel(2.0), line.kernel(2.0))
    assert Kernels.on(fw.Grid(1, 1, cell)).widths(4) == []


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(1, 20),
    st.lists(st.floats(0, 100), min_size=2, max_size=2),
)
def test_kernels_are_doubly_stochastic_and_add_up(rows, columns, side, widths) -> None:
    kernels = Kernels.on(fw.Grid(columns, rows, cell=(side, 1.0)))
    first, second = (kernels.kernel(width) for width in widths)
    assert first.min() >= 0
    np.testing.assert_allclose(first.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-12)
    both = kernels.kernel(float(np.hypot(*widths)))
    np.testing.assert_allclose(first @ second, both, atol=1e-12)


def test_every_cell_may_have_its_own_width() -> None:
    kernels, rng = Kernels.on(fw.Grid(4, 3, cell=(2.0, 1.0))), np.random.default_rng(0)
    widths = rng.uniform(0, 5, 12)
    kernel = kernels.kernel(widths)
    for cell, width in enumerate(widths):
        np.testing.assert_allclose(kernel[:, cell], kernels.kernel(width)[:, cell], atol=1e-14)
    np.testing.assert_allclose(kernel.sum(axis=0), 1, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 100])
def test_widths_reach_from_half_a_cell_to_a_sixth_of_the_side(size: int) -> None:
    widths = Kernels.on(fw.Linear(1, size)).widths(4)
    if size < 3:
        assert widths == []
    else:
        assert widths[0] == 0.5
        assert size / 6 / 2 ** (1 / 4) < widths[-1] <= size / 6 * (1 + 1e-9)


@given(st.integers(0, 2**32), st.integers(1, 8), st.floats(1, 1e6))
def test_degrees_of_freedom_are_a_ridge_s(seed: int, size: int, people: float) -> None:
    rng = np.random.default_rng(seed)
    law = rng.random((10, size)) + 1e-3
    phi = rng.dirichlet(np.ones(size)) * (rng.random(size) < 0.7)
    phi[0] += 1e-2
    counts = people * rng.dirichlet(np.ones(10))
    # The oracle: the trace of H (H + diag(1 / phi))^-1 with the Hessian H entry by entry.
    on = np.flatnonzero(phi)
    fitted = [sum(law[j, x] * phi[x] for x in range(size)) for j in range(10)]
    hessian = np.zeros((on.size, on.size))
    for j in range(10):
        hessian += counts[j] / fitted[j] ** 2 * np.outer(law[j, on], law[j, on])
    wanted = np.trace(np.linalg.solve(hessian + np.diag(1 / phi[on]), hessian))
    assert degrees_of_freedom(law, phi, counts) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", MIXTURES)
def test_smoothing_gives_a_distribution_and_the_largest_gap_of_its_fits(name: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 3), 4000, 1)
    estimate = fw.smooth(evidence)
    assert estimate.theta.min() >= 0
    assert estimate.theta.sum() == pytest.approx(1, abs=1e-12)
    assert estimate.status == fw.Status.CERTIFIED
    used = [fit for fit in estimate.fits if fit.weight]
    assert estimate.gap == max(fit.gap for fit in used) <= 0.01 / 4000
    assert sum(fit.weight for fit in used) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(
        estimate.theta, sum(fit.weight * fit.theta for fit in used), atol=1e-12
    )
    value = likelihood_of(evidence).certify(estimate.theta).value
    assert estimate.log_likelihood == pytest.approx(value, abs=1e-12)
    assert str(estimate).startswith("smooth: certified")


@pytest.mark.parametrize("name", MIXTURES)
def test_each_fit_is_certified_on_its_own_sieve(name: str) -> None:
    """The gap, from true probabilities and naive sums, bounds what any phi could gain."""
    evidence = simulated(MIXTURES[name], random_truth(12, 4), 2000, 2)
    law, weights = probabilities(evidence.operator), evidence.weights
    sieves = Sieves(evidence, 1e-7, 100)
    crowd = np.random.default_rng(0).uniform(0.2, 5, 12)
    for width, exponent in ((0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, -0.5)):
        kernel = sieves.kernels.kernel(width * crowd**exponent)
        for fit in sieves.fits(width, crowd, exponent):
            fitted = law @ fit.theta
            assert fit.log_likelihood == pytest.approx(weights @ np.log(fitted), abs=1e-9)
            columns = np.concatenate([law @ kernel, law[:, list(fit.spikes)]], axis=1)
            slope = columns.T @ (weights / fitted)
            assert np.log(slope.max()) <= fit.gap + 1e-9
            assert fit.gap <= 1e-7
            penalty = fit.df + len(fit.spikes)
            akaike = 2000 * fit.log_likelihood - penalty - np.sqrt(penalty)
            smoothed = (akaike - fit.score) / 3
            if fit.spikes:
                # No more than what spikes leave, and no less than what is not under one.
                least = 1 - fit.theta[list(fit.spikes)].sum()
                assert least - 1e-9 < smoothed < 1
            else:
                assert smoothed == pytest.approx(1, abs=1e-3)


def test_spikes_are_where_a_little_weight_gains_most() -> None:
    """Against the exact gain of the best share of weight, by trying shares."""
    truth = 0.7 * BELL / BELL.sum()
    truth[[5, 35]] += 0.15
    evidence = simulated(NOISY, truth, 20_000, 3)
    sieves = Sieves(evidence, 1e-8, 100)
    plain, *rounds = sieves.fits(4.0, np.ones(50))
    assert not plain.spikes
    law, weights = probabilities(evidence.operator), evidence.weights
    fitted, shares = law @ plain.theta, np.geomspace(1e-5, 0.5, 60)
    tried = fitted[:, None, None] * (1 - shares) + law[:, :, None] * shares
    gains = 20_000 * np.einsum("j,jxs->xs", weights, np.log(tried / fitted[:, None, None]))
    best = gains.max(axis=1)
    assert min(abs(int(best.argmax()) - spike) for spike in rounds[0].spikes) <= 1
    assert all(best[spike] > 1 for spike in rounds[0].spikes)
    assert all(np.diff(rounds[0].spikes) > 8)
    assert rounds[0].log_likelihood > plain.log_likelihood + 0.5 * best.max() / 20_000


def test_local_widths_keep_within_a_factor_of_four() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 4), 2000, 2)
    sieves, crowd = Sieves(evidence, 1e-7, 100), np.geomspace(1e-12, 1e12, 12)
    [fit] = sieves.fits(1.0, crowd, -0.5)
    law = evidence.operator.dense() @ sieves.kernels.kernel(np.clip(crowd**-0.5, 0.25, 4))
    slope = law.T @ (evidence.weights / (evidence.operator.dense() @ fit.theta))
    assert np.log(slope.max()) <= 1e-7


@pytest.mark.parametrize("name", MIXTURES)
def test_width_0_is_gibu(name: str) -> None:
    evidence = simulated(MIXTURES[name], random_truth(12, 5), 3000, 3)
    exact, first = fw.gibu(evidence), fw.smooth(evidence).fits[0]
    np.testing.assert_allclose(first.theta, exact.theta, atol=1e-15)
    assert (first.width, first.gap) == (0.0, exact.gap)
    assert first.log_likelihood == exact.log_likelihood


@pytest.mark.slow
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.integers(1, 5),
    st.lists(st.floats(-3, 3), min_size=1, max_size=3),
    st.integers(1, 3000),
)
@examples(40)
def test_any_small_mixture_is_smoothed(seed, rows, columns, logs, people) -> None:
    grid = fw.Grid(columns, rows, cell=(0.4, 1.0))
    kinds = (fw.KRR, fw.PlanarGeometric, fw.RAPPOR)
    wide = [kind for kind in kinds if min(rows, columns) > 1 or kind is not fw.PlanarGeometric]
    pairs = zip(wide, logs, strict=False)
    mechanisms = [kind(grid, float(np.exp(log))) for kind, log in pairs if grid.size > 1]
    mechanisms = mechanisms or [fw.Identity(grid)]
    evidence = simulated(mechanisms, random_truth(grid.size, seed), people, seed)
    estimate = fw.smooth(evidence)
    assert np.all(estimate.theta >= 0)
    assert estimate.theta.sum() == pytest.approx(1, abs=1e-12)
    assert estimate.status == fw.Status.CERTIFIED, estimate
    again = fw.smooth(evidence)
    np.testing.assert_array_equal(again.theta, estimate.theta)
    assert [fit.weight for fit in again.fits] == [fit.weight for fit in estimate.fits]


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 30.0, 300.0])
@pytest.mark.parametrize("kind", [fw.KRR, fw.Geometric, fw.RAPPOR])
def test_extreme_privacy_ends_in_a_distribution(kind, epsilon: float) -> None:
    estimate = fw.smooth(simulated([kind(LINE, epsilon)], random_truth(12, 6), 500, 4))
    assert np.all(estimate.theta >= 0)
    assert estimate.theta.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(estimate.gap)


def test_weights_are_the_scores_over_their_noise() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 3), 300, 1)
    fits = fw.smooth(evidence).fits
    best = max(fits, key=lambda fit: fit.score)
    noise = max(1.0, np.sqrt(best.df + len(best.spikes)))
    odds = np.exp(
        [(fit.score - best.score) / noise - max(0.0, fits[0].score - fit.score) for fit in fits]
    )
    odds[0] *= 8
    wanted = odds / odds.sum()
    assert np.count_nonzero(wanted > 1e-3) > 3
    np.testing.assert_allclose([fit.weight for fit in fits], wanted, atol=2e-6)
    np.testing.assert_array_equal(average(weighted(fits)), average(fits))


def errors(mechanisms, truth: np.ndarray, people: int, seeds: int) -> tuple[float, float]:
    """Return the mean earth mover's distance of smooth and of gibu."""
    alphabet, found = mechanisms[0].alphabet, []
    for seed in range(seeds):
        evidence = simulated(mechanisms, truth / truth.sum(), people, seed)
        both = fw.smooth(evidence), fw.gibu(evidence)
        found.append([fw.emd(each.theta, truth, alphabet) for each in both])
    smooth, exact = np.mean(found, axis=0)
    return float(smooth), float(exact)


def test_a_bell_is_found_with_much_less_error() -> None:
    smooth, exact = errors(NOISY, BELL, 5000, 6)
    assert smooth < 0.7 * exact


@pytest.mark.later
def test_bits_are_smoothed_too() -> None:
    smooth, exact = errors([fw.RAPPOR(FIFTY, e) for e in (0.5, 1.0)], BELL, 3000, 4)
    assert smooth < 0.7 * exact


def test_a_city_is_smoothed_both_ways() -> None:
    grid = fw.Grid(8, 6, cell=0.5)
    row, column = np.divmod(np.arange(48), 8)
    hill = np.exp(-((row - 2) ** 2 + (column - 5) ** 2) / 6)
    smooth, exact = errors([fw.PlanarGeometric(grid, e) for e in (0.5, 2.0)], hill, 3000, 4)
    assert smooth < 0.8 * exact


@pytest.mark.slow
@pytest.mark.parametrize("where", [[10], [3, 30, 44]])
def test_atoms_stay_atoms(where: list[int]) -> None:
    truth = np.zeros(50)
    truth[where] = 1.0
    smooth, exact = errors(NOISY, truth, 20_000, 4)
    assert smooth < 1.05 * exact
    spikes = fw.smooth(simulated(NOISY, truth / truth.sum(), 20_000, 9)).best.spikes
    near = [min(abs(spike - each) for spike in spikes) for each in where] if spikes else [0]
    assert max(near) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("people", [10_000, 100_000])
def test_atoms_under_wide_noise_of_one_strength_are_left_alone(people: int) -> None:
    """A narrow kernel costs hardly any likelihood there, and moves every atom."""
    line, truth = fw.Linear(0, 99), np.zeros(100)
    truth[[20, 25, 30, 35, 40, 50]] = [0.1, 0.2, 0.25, 0.2, 0.15, 0.1]
    smooth, exact = errors([fw.Geometric(line, 0.2)], truth, people, 10)
    assert smooth < 1.06 * exact


def test_a_bell_with_an_atom_gets_a_spike_there() -> None:
    truth = 0.8 * BELL / BELL.sum()
    truth[40] += 0.2
    estimate = fw.smooth(simulated(NOISY, truth, 50_000, 0))
    assert 40 in estimate.best.spikes
    assert estimate.best.width > 1
    assert estimate.theta[40] == pytest.approx(0.2, abs=0.05)


def test_on_step_hears_of_every_fit() -> None:
    heard: list[fw.Step] = []
    evidence = simulated(MIXTURES["one k-RR"], random_truth(12, 3), 400, 1)
    fits = fw.smooth(evidence, on_step=heard.append).fits
    assert [step.number for step in heard] == list(range(1, len(fits) + 1))
    assert [step.gap for step in heard] == [fit.gap for fit in fits]
    assert fw.smooth(evidence).trace == tuple(fit.gap for fit in fits)
    assert [step.log_likelihood for step in heard] == [fit.log_likelihood for fit in fits]


@pytest.mark.parametrize("people", [10**7, 10**10, 10**13])
def test_very_many_people_see_the_truth(people: int) -> None:
    truth = random_truth(12, 8)
    estimate = fw.smooth(expected(MIXTURES["geometric and k-RR"], truth, people))
    assert estimate.gap < 1e-9
    assert fw.total_variation(estimate.theta, truth) < 1e-2


def test_where_no_score_is_finite_the_first_fit_stands_alone() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 3), 400, 1)
    lost = [replace(fit, score=-np.inf) for fit in fw.smooth(evidence).fits]
    assert [fit.weight for fit in weighted(lost)] == [1.0] + [0.0] * (len(lost) - 1)


def test_fits_that_ran_out_of_steps_are_no_certificate() -> None:
    evidence = simulated(MIXTURES["geometric"], random_truth(12, 3), 4000, 1)
    estimate = fw.smooth(evidence, tol=1e-13, max_steps=1)
    assert estimate.status == fw.Status.MAX_STEPS
    assert estimate.gap > 1e-13
    assert "max_steps" in estimate.advice
    assert fw.smooth(evidence).advice == ""


def test_lines_too_short_to_smooth_are_gibu_s() -> None:
    pair = fw.Linear(0, 1)
    evidence = fw.collect([(fw.KRR(pair, 1.0), [0, 0, 1])])
    estimate = fw.smooth(evidence)
    assert len(estimate.fits) == 1
    np.testing.assert_array_equal(estimate.theta, fw.gibu(evidence).theta)


def test_categories_are_refused() -> None:
    evidence = fw.collect([(fw.KRR(COIN, 1.0), [0, 1, 1])])
    with pytest.raises(fw.AlphabetError, match=r"no neighbours.*fw\.gibu"):
        fw.smooth(evidence)


def test_reports_in_files_are_refused() -> None:
    mechanism = fw.RAPPOR(LINE, 1.0)
    outputs = mechanism.obfuscate(ALL, np.random.default_rng(0))
    source = Split(Block(mechanism.id, outputs, None))
    stream = Stream(source, mechanism, 12, 12)
    away = fw.Evidence(LINE, (fw.Group(mechanism, None, (stream,)),))
    with pytest.raises(fw.EvidenceError, match="stay in files"):
        fw.smooth(away)


def test_laws_beyond_memory_are_refused() -> None:
    line = fw.Linear(0, 9999)
    evidence = fw.collect([(fw.Geometric(line, 0.1), [3, 5000])])
    with pytest.raises(fw.ParameterError, match=r"10,000 values.*coarser"):
        fw.smooth(evidence)


@pytest.mark.parametrize(
    "wrong",
    [{"tol": 0.0}, {"tol": np.nan}, {"tol": "small"}, {"max_steps": 0}, {"max_steps": 1.5}],
)
def test_wrong_options_are_refused(wrong: dict) -> None:
    evidence = fw.collect([(fw.KRR(LINE, 1.0), [0])])
    with pytest.raises(fw.ParameterError, match=next(iter(wrong))):
        fw.smooth(evidence, **wrong)


@pytest.mark.parametrize("wrong", [None, [1, 2], CITY, np.ones(3)])
def test_what_is_no_evidence_is_refused(wrong) -> None:
    with pytest.raises(fw.EvidenceError, match="smooth takes evidence"):
        fw.smooth(wrong)


def test_nobody_is_refused() -> None:
    with pytest.raises(FreewillError, match="no people"):
        fw.smooth(fw.Evidence(LINE, ()))


def test_one_person_is_enough() -> None:
    estimate = fw.smooth(fw.collect([(fw.Geometric(LINE, 0.5), [5])]))
    assert estimate.status == fw.Status.CERTIFIED
    assert estimate.theta.argmax() == 5
