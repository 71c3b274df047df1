"""PRIVIC's loop: rounds that learn from each other."""

import itertools

import numpy as np
import pytest

import freewill as fw

LINE = fw.Linear(0, 9)
TRUTH = np.arange(10.0) / 45


def asking(rng, people=20_000):
    def ask(mechanism):
        values = rng.choice(10, people, p=TRUTH)
        return fw.collect([(mechanism, mechanism.obfuscate(values, rng))])

    return ask


def test_rounds_go_on_from_what_was_learnt():
    rounds = fw.privic(LINE, asking(np.random.default_rng(0)), quality_loss=0.5, rounds=4)
    assert [each.estimate.people for each in rounds] == [20_000, 40_000, 60_000, 80_000]
    assert rounds[0].mechanism == fw.BlahutArimoto(LINE, quality_loss=0.5)
    for before, after in itertools.pairwise(rounds):
        theta = before.estimate.theta
        assert after.mechanism == fw.BlahutArimoto(LINE, quality_loss=0.5, prior=theta)
        assert after.mechanism.quality_loss(theta) == pytest.approx(0.5, rel=1e-6)
    assert all(each.estimate.status == fw.Status.CERTIFIED for each in rounds)
    assert fw.emd(rounds[-1].estimate.theta, TRUTH, LINE) < 0.05


def test_a_prior_a_beta_and_an_estimator_of_ones_own():
    rng, asked = np.random.default_rng(1), []

    def ibu(evidence):
        asked.append(evidence.people)
        return fw.em(evidence, delta=1e-6)

    rounds = fw.privic(LINE, asking(rng, 500), beta=1.0, rounds=2, prior=TRUTH, estimate=ibu)
    assert asked == [500, 1000]
    assert rounds[0].mechanism == fw.BlahutArimoto(LINE, 1.0, prior=TRUTH)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2"])
def test_rounds_that_are_none_are_refused(rounds):
    with pytest.raises(fw.ParameterError, match="rounds="):
        fw.privic(LINE, asking(np.random.default_rng(0)), beta=1.0, rounds=rounds)


def test_what_collects_nothing_is_refused():
    with pytest.raises(fw.ParameterError, match="expected a function"):
        fw.privic(LINE, [1, 2], beta=1.0)
    with pytest.raises(fw.EvidenceError, match="in round 1: expected evidence"):
        fw.privic(LINE, lambda mechanism: [1, 2], beta=1.0)  # type: ignore[return-value]
    with pytest.raises(fw.ParameterError, match="expected one of them"):
        fw.privic(LINE, asking(np.random.default_rng(0)))
