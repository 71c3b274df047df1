"""What decides between explanations: a basis's cost, both stages of equality, dropped atoms."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import freewill as fw
from forged_cases import acquit_others
from freewill.stats.choice import aware
from freewill.stats.choice import fit as fitting
from freewill.stats.choice.bases import Basis
from freewill.stats.difference import Pooled, by_formula, smooth_differences, whitened
from freewill.stats.estimators.estimate import Work

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


@pytest.mark.parametrize("people", [400, 4000])
def test_a_basis_is_fitted_that_promises_more_than_half_a_logarithm(people, monkeypatch):
    """By the score, or all of them where none does; nothing where free choice is not rejected."""
    monkeypatch.setattr(aware, "first_spread", lambda score: (1.0, score))
    model = SimpleNamespace(people=people)
    free = SimpleNamespace(place=SimpleNamespace(score=lambda promised: promised))
    cost = math.log(people) / 2
    for promised, doubt in ((cost + 0.1, cost), (cost - 0.1, 0.0)):
        bases = [1e9, 0.5, promised]  # the first is free choice
        found = aware._doubt(model, bases, free, SimpleNamespace(holds=False))
        assert found == pytest.approx((doubt, promised - cost))
        for check in (None, SimpleNamespace(holds=True)):
            assert aware._doubt(model, bases, free, check) == (math.inf, -math.inf)


@dataclass
class Narrow:
    criterion: float


@pytest.mark.parametrize(("df", "coefficients"), [(0.5, 1), (4.0, 1), (10.0, 4)])
def test_to_choose_one_function_costs_half_a_logarithm_a_coefficient(df, coefficients, monkeypatch):
    """Of ten that the reports decide for two contrasts each has five: four beside the first."""
    monkeypatch.setattr(fitting, "fit", lambda *given: Narrow(100.0))
    basis = Basis("two", np.linspace(-1, 1, 10).reshape(5, 2))
    law = SimpleNamespace(functions=basis, coefficients=np.eye(3)[:, :2], spread=1.0, df=df)
    model = SimpleNamespace(people=4000, logits=lambda *given: None)
    found = fitting.narrowed(model, law, None, 0.0)
    assert 100 - found.criterion == pytest.approx(coefficients * math.log(4000) / 2)
    for alone in ({"spread": 0.0}, {"coefficients": np.eye(3)[:, :1]}):
        assert fitting.narrowed(model, SimpleNamespace(**{**vars(law), **alone}), None, 0.0) is None


def test_differences_between_neighbours_are_seen_by_the_second_stage_alone():
    even = np.where(np.arange(20) % 2, 0.8, 1.2) / 20
    rng, mechanism = np.random.default_rng(4), fw.KRR(LINE, 5.0)
    one, other = (
        fw.collect([(mechanism, mechanism.obfuscate(rng.choice(20, 4000, p=theta), rng))])
        for theta in (even, even[::-1])
    )
    pooled = Pooled.of([one, other], Work(None))
    smooth = smooth_differences(pooled.mode, LINE)
    score, covariance, _ = pooled.along(smooth, Work(None))
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
