"""What a choice by value tells: said beside the failed check, with an interval that holds."""

import math

import numpy as np
import pytest

import freewill as fw
from freewill.domain.guarantees.epsilon import told_apart
from freewill.stats.choice.aware import aware_of, choice_odds
from freewill.stats.fit import verdict_of

AGES = fw.Linear(0, 19)
OLD = np.where(np.arange(20) >= 12, 0.9, 0.1)


def fit_of(shy, bold, chosen, people=4000, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(20, size=people)
    hides = rng.random(people) < chosen[values]
    parts = [
        (shy, shy.obfuscate(values[hides], rng)),
        (bold, bold.obfuscate(values[~hides], rng)),
    ]
    return fw.fit(fw.collect(parts))


def test_a_failed_check_says_what_the_choice_tells():
    shy, bold = fw.Geometric(AGES, 0.5), fw.KRR(AGES, 4.0)
    fit = fit_of(shy, bold, OLD)
    verdict = verdict_of(fit, "free choice")
    assert verdict.holds is False
    first, second = verdict.details["choice_odds"]
    assert verdict.text.endswith(f"; {first['words']}")
    assert "; who chooses " in verdict.text
    assert {first["mechanism"], second["mechanism"]} == {
        "geometric(epsilon=0.5)",
        "k-rr(epsilon=4)",
    }
    for mechanism, chosen in ((shy, OLD), (bold, 1 - OLD)):
        (odds,) = (one for one in choice_odds(fit, 0.95) if mechanism.name in one.mechanism)
        alone = told_apart(mechanism, odds.first, odds.second)
        true = math.log(chosen[odds.first] / chosen[odds.second]) + alone
        assert alone + 0.5 < odds.low < true < odds.high
        apart = abs(odds.first - odds.second)
        assert odds.promised == pytest.approx(0.5 * apart if mechanism is shy else 4.0)


def test_the_law_is_fitted_once_and_its_band_is_wider_than_its_intervals():
    fit = fit_of(fw.KRR(AGES, 2.0), fw.KRR(AGES, 4.0), OLD)
    assert choice_odds(fit, 0.95) == choice_odds(fit, 0.95)
    aware = fit.once(aware_of)
    low, high = aware.choice_intervals(0.95)
    for place, (below, _, above) in enumerate(aware.made_from.choice_band(0.95)):
        assert np.all(np.exp(below) < low[:, place])
        assert np.all(high[:, place] < np.exp(above))


def test_what_a_report_tells_for_sure_no_choice_tells_better():
    odds = choice_odds(fit_of(fw.Geometric(AGES, 0.5), fw.Identity(AGES), OLD), 0.95)
    assert [one.mechanism for one in odds] == ["geometric(epsilon=0.5)"]


def test_nothing_is_told_by_a_free_choice():
    fit = fit_of(fw.Geometric(AGES, 0.5), fw.KRR(AGES, 4.0), np.full(20, 0.5))
    assert choice_odds(fit, 0.95) == ()
    assert "choice_odds" not in verdict_of(fit, "free choice").details
