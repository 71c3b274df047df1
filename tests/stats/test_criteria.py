"""What decides between explanations: a basis's cost, both stages of equality, dropped atoms."""

import math

import numpy as np
import pytest

import freewill as fw
from forged_cases import acquit_others
from freewill.stats.difference import smooth_differences
from freewill.stats.equality import Scores, by_formula, whitened
from freewill.stats.work import Work

LINE = fw.Linear(0, 19)


@pytest.mark.parametrize("people", [400, 4000])
def test_a_basis_that_stays_free_costs_half_a_logarithm(people):
    rng = np.random.default_rng(people)
    offered = [fw.Geometric(LINE, 0.3), fw.KRR(LINE, 2.0)]
    parts = [(one, one.obfuscate(rng.integers(5, 15, people // 2), rng)) for one in offered]
    free, *others = fw.choice_aware(fw.collect(parts)).fits
    stays = [tried for tried in others if not tried.spread]
    assert stays
    assert free.criterion == pytest.approx(people * free.log_likelihood, abs=1e-6)
    for tried in stays:
        assert free.criterion - tried.criterion == pytest.approx(math.log(people) / 2, abs=1e-6)


def test_differences_between_neighbours_are_seen_by_the_second_stage_alone():
    even = np.where(np.arange(20) % 2, 0.8, 1.2) / 20
    rng, mechanism = np.random.default_rng(4), fw.KRR(LINE, 5.0)
    one, other = (
        fw.collect([(mechanism, mechanism.obfuscate(rng.choice(20, 4000, p=theta), rng))])
        for theta in (even, even[::-1])
    )
    scores = Scores.of(one, other, Work(None))
    smooth = smooth_differences(scores.mode, LINE)
    score, covariance, _ = scores.along(smooth, Work(None))
    (stage,) = whitened(covariance, [len(smooth)])
    assert by_formula((stage @ score)[None], [len(stage)])[0] > 0.05
    assert fw.compare(one, other).p_value < 1e-6


def forged_on(outputs, rng):
    """Return evidence of three groups, of which the first has forged reports on these outputs."""
    theta = np.exp(-0.5 * ((np.arange(20) - 8) / 4.0) ** 2)
    theta /= theta.sum()
    count = int(rng.integers(40, 300))
    parts = []
    for mechanism in (fw.KRR(LINE, 3.0), fw.Geometric(LINE, 0.5), fw.KRR(LINE, 1.5)):
        reports = mechanism.obfuscate(rng.choice(20, 2000, p=theta), rng)
        if not parts:
            reports = np.concatenate([reports, rng.choice(outputs, count)])
        parts.append((mechanism, reports))
    return fw.collect(parts)


@pytest.mark.parametrize(("seed", "outputs"), [(22, [12]), (10, [2]), (4, [11, 18])])
def test_what_others_explain_is_dropped_again(seed, outputs, monkeypatch):
    acquit_others(monkeypatch)
    estimate = fw.robust(forged_on(outputs, np.random.default_rng(seed)))
    assert sorted(aside.output for aside in estimate.set_aside) == outputs
    assert {aside.mechanism for aside in estimate.set_aside} == {"k-rr(0..19, epsilon=3)"}
