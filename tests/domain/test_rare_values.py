"""Priors with next to nobody at some values: no warning, no NaN, and the promise is kept."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from profiles import examples

RARE = (1e-11, 1e-14, 1e-17, 1e-30, 1e-300, 5e-324, 0.0)


def priors(size, rng):
    """Some values of each rarity, all of one, and shares that fall through all scales."""
    for rare in RARE:
        prior = np.where(rng.random(size) < 0.5, rare, rng.random(size))
        prior[int(rng.integers(size))] = 1.0
        yield prior / prior.sum()
    for fall in (0.5, 1e-3, 1e-14):
        yield fall ** np.arange(size) / (fall ** np.arange(size)).sum()
    bell = np.exp(-0.5 * ((np.arange(size) - 1) / 0.3) ** 2)
    yield bell / bell.sum()


@examples(8)
@given(
    st.sampled_from([fw.Linear(0, 5), fw.Linear(0, 11, step=1), fw.Grid(3, 2, cell=0.5)]),
    st.floats(-7, 0.5).map(lambda exponent: 10.0**exponent),
    st.integers(0, 10**6),
)
@example(fw.Linear(0, 11), 5e-3, 0)
@example(fw.Linear(0, 5), 3e-7, 1)
def test_a_law_for_rare_values_is_a_law(alphabet, quality_loss, seed):
    for prior in priors(alphabet.size, np.random.default_rng(seed)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mechanism = fw.Shokri(alphabet, quality_loss, prior=prior)
            assert np.all(mechanism.law() >= 0)
            np.testing.assert_allclose(mechanism.law().sum(axis=1), 1, rtol=1e-9)
            assert fw.audit(mechanism).holds
            assert mechanism.quality_loss(prior) <= quality_loss * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("rough_plans")
def test_no_function_of_a_distribution_warns_of_rare_values(seed):
    line, rng = fw.Linear(0, 7), np.random.default_rng(seed)
    mine = fw.Geometric(line, 0.7)
    evidence = fw.collect([(mine, mine.obfuscate(rng.integers(0, 8, 300), rng))])
    survey = fw.Survey(line, {"mine": mine})
    truth = rng.dirichlet(np.ones(8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for prior in priors(8, rng):
            for kind in (fw.Geometric, fw.KRR):
                assert fw.calibrate(kind, line, quality_loss=0.05, prior=prior).epsilon > 0
                assert 0 <= kind(line, 1.0).quality_loss(prior) < 7
            for first, second in ((prior, truth), (truth, prior), (prior, prior)):
                assert 0 <= fw.emd(first, second, line) <= 7
                assert 0 <= fw.total_variation(first, second) <= 1
                assert fw.kl(first, second) >= 0
            assert fw.project(prior).sum() == pytest.approx(1)
            assert fw.normalise(prior).sum() == pytest.approx(1)
            assert fw.gibu(evidence, start=prior).status == "certified"
            assert np.all(np.isfinite(fw.intervals(evidence, start=prior).point))
            assert np.all(np.isfinite(fw.one_step(evidence, start=prior).theta))
            assert fw.plan(survey, theta=prior, people=1000, of="mean").to_dict()
            assert np.all(np.isfinite(fw.information(evidence, prior).theta))
            assert fw.error_without_privacy(prior, 100) >= 0
            assert fw.krr_error_bound(prior, [1.0, 2.0]) > 0
            assert fw.rappor_error_bound(prior, [1.0, 2.0]) > 0
