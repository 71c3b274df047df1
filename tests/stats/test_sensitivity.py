"""What could still hide: bounds of the bias that a choice by value causes and nobody notices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.stats.choice.check import Scores
from freewill.stats.choice.sensitivity import ODDS, _Hidden, _reach, sensitivity
from freewill.stats.difference import weighted_chi_square_tail
from freewill.stats.information import OneStep
from profiles import examples

LINE = fw.Linear(0, 19)
PAIR = [fw.Geometric(LINE, 0.4), fw.KRR(LINE, 2.0)]
THREE = [*PAIR, fw.RAPPOR(LINE, 2.0)]
TRUTH = np.exp(-((np.arange(20) - 8) ** 2) / 40)
TRUTH = TRUTH / TRUTH.sum()


def survey(mechanisms, people, seed, law=None):
    """Return evidence of people who choose by a law [value, mechanism], freely without one."""
    rng, count = np.random.default_rng(seed), len(mechanisms)
    law = np.full((20, count), 1 / count) if law is None else law
    values = rng.choice(20, people, p=TRUTH)
    chosen = (rng.random(people)[:, None] > np.cumsum(law, axis=1)[values][:, :-1]).sum(axis=1)
    return fw.collect(
        [(m, m.obfuscate(values[chosen == i], rng)) for i, m in enumerate(mechanisms)]
    )


def hidden_of(evidence):
    fit, row = OneStep(evidence, None), np.arange(20.0)
    return fit, row, _Hidden(fit, fit.estimated(row[None]).influences[0], 0.95)


@pytest.mark.parametrize("mechanisms", [PAIR, THREE], ids=["two", "three"])
def test_the_shift_is_that_of_the_newton_step_and_noticed_that_of_the_scores(mechanisms):
    """Both against dense laws: reports from theta (1 + f_m) in the place of what was reported."""
    fit, row, hidden = hidden_of(survey(mechanisms, 3000, 1))
    information, rng = fit.information, np.random.default_rng(2)
    theta, shares = information.theta, hidden.shares
    choice = rng.dirichlet(np.ones(shares.size), 20)
    choice += (shares - theta @ choice) * np.ones((20, 1))  # E c = s
    slopes = []
    for group, own, share in zip(fit.evidence.groups, choice.T, shares, strict=True):
        law = group.mechanism.moments(theta).information()  # K = A A' / p - 1 1'
        slopes.append(law @ (theta * (own / share - 1)))
    shift = row @ information.moved(shares @ np.stack(slopes))
    tilts = theta * (choice - shares).T
    assert np.sum(hidden.gains * tilts) * hidden.scale == pytest.approx(shift)
    scores, people = Scores.of(fit), fit.evidence.groups[0].people
    through = fit.evidence.groups[0].mechanism.moments(theta).information()
    mean = people * (slopes[0] - through @ information.moved(shares @ np.stack(slopes)))
    roots, vectors = np.linalg.eigh(scores.along(0, scores.smooth)[1])
    large = roots > 1e-8 * roots[-1]
    along, weights = (vectors.T @ scores.smooth @ mean)[large], np.sqrt(roots[large])
    tests = 2 if len(mechanisms) == 2 else 6  # smooth and displaced, of each group
    expected = np.sum(along**2 / weights) / _reach(weights, 0.05 / tests)
    noticed = hidden.blocks @ np.square(np.tensordot(hidden.tests, tilts, 2))
    assert noticed[0] == pytest.approx(expected, rel=1e-2)


@pytest.mark.slow
@examples(25)
@given(st.integers(0, 10**6), st.sampled_from(ODDS), st.integers(200, 10**6))
def test_no_choice_within_reach_gains_more_than_the_bound(seed, odds, people):
    rng = np.random.default_rng(seed)
    mechanisms = [PAIR, THREE][seed % 2]
    fit, _, hidden = hidden_of(survey(mechanisms, 2000, seed % 7))
    hidden.tests = hidden.tests * np.sqrt(people / 2000)
    share = (odds - 1) / (odds + 1) if np.isfinite(odds) else 1.0
    bound, point = hidden.largest(share, None)
    theta, shares = fit.information.theta, hidden.shares
    laws = [hidden.law(point).T, np.eye(shares.size)[rng.integers(shares.size, size=20)]]
    laws += [rng.dirichlet(np.full(shares.size, 0.2), 20)]
    for any_law in laws:
        # Mixed with free choice so that E c = s, then weakened until nothing notices it.
        law = any_law * (shares / np.maximum(theta @ any_law, 1e-300))
        law /= law.sum(axis=1).max()
        law += (1 - law.sum(axis=1, keepdims=True)) * shares
        tilts = share * theta * (law - shares).T
        noticed = hidden.blocks @ np.square(np.tensordot(hidden.tests, tilts, 2))
        weaker = tilts / max(1.0, np.sqrt(noticed.max()))
        assert abs(np.sum(hidden.gains * weaker)) * hidden.scale <= bound * (1 + 1e-9)


@pytest.mark.parametrize("mechanisms", [PAIR, THREE], ids=["two", "three"])
def test_the_law_that_is_named_comes_near_the_bound(mechanisms):
    fit, _, hidden = hidden_of(survey(mechanisms, 5000, 3))
    bound, point = hidden.largest(1.0, None)
    law = hidden.law(point)
    np.testing.assert_allclose(law.sum(axis=0), 1)
    tilts = fit.information.theta * (law - hidden.shares[:, None])
    noticed = hidden.blocks @ np.square(np.tensordot(hidden.tests, tilts, 2))
    assert noticed.max() < 1.3
    assert np.sum(hidden.gains * tilts) * hidden.scale > 0.75 * bound


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.5, 0.1], [1.0] * 10, [3.0, 1e-3]])
@pytest.mark.parametrize("chance", [0.05, 0.005])
def test_a_shift_beyond_reach_is_noticed_every_second_time(weights, chance):
    """Whichever score it is along: by draws, at the critical value of the test."""
    weights = np.array(weights)
    reach = _reach(weights, chance)
    draws = np.random.default_rng(0).standard_normal((20_000, weights.size))
    for place in (0, weights.size - 1):
        moved = draws.copy()
        moved[:, place] += np.sqrt(reach / weights[place])
        sums = np.square(moved) @ weights
        low, high = 0.0, float(sums.max())
        for _ in range(60):
            middle = (low + high) / 2
            beyond = weighted_chi_square_tail(middle, weights) > chance
            low, high = (middle, high) if beyond else (low, middle)
        assert np.mean(sums > high) > 0.48


def test_more_people_leave_less_to_hide_and_odds_more():
    few, many = (sensitivity(survey(PAIR, people, 5)) for people in (1000, 100_000))
    assert many.bound < 0.5 * few.bound
    for told in (few, many):
        assert np.all(np.diff(told.bounds) >= -1e-9)
        assert told.bound == told.bounds[-1]
        assert told.worst[1] >= 0.9 * told.bound
        np.testing.assert_allclose(told.law.sum(axis=1), 1)
    assert few.bound > few.standard_error


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [PAIR, THREE], ids=["two", "three"])
def test_the_worst_choice_biases_by_half_of_the_bound_and_no_more(mechanisms):
    told = sensitivity(survey(mechanisms, 4000, 1))
    evidence = survey(mechanisms, 4000, 1)
    order = [evidence.mechanisms.index(one) for one in mechanisms]
    law = told.law[:, order]
    results = []
    for seed in range(60):
        evidence = survey(mechanisms, 4000, 100 + seed, law)
        estimate = fw.gibu(evidence)
        results.append([not fw.check_choice(evidence).holds, np.arange(20) @ estimate.theta])
    rejected, mean = np.mean(results, axis=0)
    bias, error = abs(mean - TRUTH @ np.arange(20)), np.std(results, axis=0)[1] / 60**0.5
    assert bias < told.bound + 3 * error
    assert bias > 0.5 * told.bound - 3 * error
    assert rejected < 0.9


def test_it_is_said_beside_a_free_choice_that_holds():
    fit = fw.fit(survey(PAIR, 4000, 2))
    verdict = fit.checks()["free choice"]
    told = fit.sensitivity("mean")
    assert verdict.holds
    assert told.text in verdict.text
    assert "could go unnoticed among 4,000 people and move the mean by up to" in told.text
    assert len(str(told).splitlines()) == 1 + len(ODDS)
    assert told.table().column_names == ["odds", "bound"]
    document = told.to_dict()
    assert document["sensitivity"]["bounds"][-1] == {"odds": None, "bound": told.bound}
    assert told.plot().axes[0].get_xlabel() == "odds of a choice by value"


def test_what_is_asked_must_be_one_number_that_reports_tell():
    evidence = survey(PAIR, 500, 1)
    with pytest.raises(fw.ParameterError, match="20 functionals: expected one"):
        sensitivity(evidence, "shares")
    with pytest.raises(fw.EvidenceError, match="no choice to test"):
        sensitivity(fw.Evidence(LINE, evidence.groups[:1]))
