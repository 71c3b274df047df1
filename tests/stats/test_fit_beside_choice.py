"""Laws where the choice depends on the value: nobody is blamed for it, and who breaks one is."""

import numpy as np
import pytest
from scipy.special import softmax

import freewill as fw
from freewill.stats.choice.aware import choice_law
from freewill.stats.choice.model import ChoiceLaw
from freewill.stats.laws.residuals import Crowd, Residuals
from freewill.stats.misfit import fit_beside_choice

AGES = fw.Linear(0, 19)
BELL = np.exp(-(((np.arange(20) - 9) / 4) ** 2))
BELL /= BELL.sum()
FOUR = (fw.KRR(AGES, 1.0), fw.Geometric(AGES, 0.3), fw.KRR(AGES, 3.0), fw.Geometric(AGES, 1.0))
BITS = (fw.RAPPOR(AGES, 3.0), fw.RAPPOR(AGES, 1.0))
SHAPES = {
    "slope": np.linspace(-1, 1, 20),
    "U": 3 * np.linspace(-1, 1, 20) ** 2 - 0.8,
    "step": np.where(np.arange(20) > 10, 1.0, -1.0),
}


def chosen(mechanisms, people, seed, shape, used=None):
    """Draw people whose logits of the mechanisms follow a shape; some clients use another one."""
    rng = np.random.default_rng(seed)
    values = rng.choice(20, size=people, p=BELL)
    law = softmax(np.outer(SHAPES[shape], np.linspace(-1, 1, len(mechanisms))), axis=1)
    who = (law.cumsum(axis=1)[values] < rng.random(people)[:, None]).sum(axis=1)
    parts = []
    for place, mechanism in enumerate(mechanisms):
        sender = (used or {}).get(place, mechanism)
        parts.append((mechanism, sender.obfuscate(values[who == place], rng)))
    return fw.collect(parts)


def test_values_of_a_group_move_as_its_logits_do():
    """J_m against differences of theta c_m, and the residuals' covariance against the formula."""
    evidence = chosen(FOUR[:3], 3000, 1, "slope")
    aware = fw.choice_aware(evidence)
    law, contrasts = choice_law(aware), aware.made_from.model.contrasts
    crowd = Crowd.of(evidence, law, aware.theta)
    logits, size = np.log(law.choice), 1e-6

    def values(theta, coefficients):
        moved = softmax(logits + law.functions @ coefficients @ contrasts.T, axis=1)
        joint = theta[:, None] * moved
        return joint / joint.sum(axis=0)

    still = np.zeros((law.functions.shape[1], contrasts.shape[1]))
    here = values(crowd.theta, still)
    rng = np.random.default_rng(3)
    for _ in range(5):
        theta = crowd.theta * rng.standard_normal(20)
        theta -= theta.mean()
        coefficients = rng.standard_normal(still.shape)
        there = values(crowd.theta + size * theta, size * coefficients)
        unknown = np.concatenate([theta, coefficients.ravel()])
        for place, own in enumerate(crowd.thetas):
            np.testing.assert_allclose(own, here[:, place], rtol=1e-9)
            found = crowd.jacobians[place] @ unknown
            found -= own * found.sum()
            np.testing.assert_allclose(found, (there - here)[:, place] / size, atol=1e-5)
    information = np.diag(np.r_[np.zeros(20), np.full(still.size, law.scale**-2)])
    for group, own, way in zip(evidence.groups, crowd.thetas, crowd.jacobians, strict=True):
        matrix = group.mechanism.law()
        told = (matrix / (own @ matrix)) @ matrix.T - 1
        information += group.people * way.T @ told @ way
    # C is the inverse where theta sums to 1.
    free = np.linalg.svd(np.r_[np.ones(20), np.zeros(still.size)][None])[2][1:]
    spread = free.T @ np.linalg.inv(free @ information @ free.T) @ free
    np.testing.assert_allclose(crowd.covariance, spread, atol=1e-6 * np.abs(spread).max())
    assert crowd.shares(evidence).sum() == pytest.approx(1)


def test_where_nothing_is_allowed_for_it_is_the_test_of_a_free_choice():
    evidence = chosen(FOUR, 2000, 2, "slope")
    shares = np.array([one.people for one in evidence.groups]) / evidence.people
    law = ChoiceLaw(np.tile(shares, (20, 1)), np.zeros((20, 0)), 1.0)
    theta = fw.gibu(evidence).theta
    free = Residuals.of(evidence, Crowd.of(evidence, None, theta))
    given = Residuals.of(evidence, Crowd.of(evidence, law, theta))
    np.testing.assert_allclose(given.residuals, free.residuals, atol=1e-6)
    np.testing.assert_allclose(given.variances, free.variances, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [FOUR, BITS], ids=["symbols", "bits"])
def test_laws_that_are_right_are_rejected_as_often_as_they_should(mechanisms):
    """At most: what the prior takes for known makes residuals a little smaller than they count."""
    found = []
    for seed in range(20):
        evidence = chosen(mechanisms, 3000, seed, "slope")
        check = fw.check_fit(evidence, aware=fw.choice_aware(evidence))
        found.append(not check.holds)
    # Of 20 at 5 %, more than 4 come once in 400 times.
    assert np.sum(found) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_choice_by_the_value_blames_no_client(shape):
    for seed in range(2):
        evidence = chosen(FOUR, 12_000, seed, shape)
        assert not fw.check_choice(evidence).holds
        assert not fw.check_fit(evidence).holds
        found = fit_beside_choice(evidence)
        assert found.holds is True
        assert "given who chooses what" in found.verdict
        assert found.check.suspects == ()


@pytest.mark.slow
def test_a_broken_client_is_named_beside_a_choice_by_the_value():
    """Bits tell their epsilon whoever sends them; of symbols, two explanations may be left."""
    evidence = chosen(BITS, 12_000, 4, "slope", {0: fw.RAPPOR(AGES, 2.5)})
    found = fit_beside_choice(evidence)
    (one,) = found.check.suspects
    assert (found.holds, one.name, one.wrong_epsilon) == (False, str(BITS[0]), True)
    assert abs(one.sent - 2.5) < 4 * one.error
    assert "another epsilon" in found.verdict
    told = []
    for seed in range(2):
        evidence = chosen(FOUR, 40_000, seed, "slope", {2: fw.KRR(AGES, 2.2)})
        found = fit_beside_choice(evidence)
        others = [str(one) for place, one in enumerate(FOUR) if place != 2]
        assert not any(f"{one} sends like" in found.verdict for one in others)
        if f"{FOUR[2]} sends like epsilon 2" in found.verdict:
            told.append(found.holds)
            assert found.holds is False or "cannot be told apart" in found.verdict
    assert told


def test_estimates_of_something_else_are_refused():
    evidence = chosen(FOUR, 1000, 1, "slope")
    with pytest.raises(fw.ParameterError, match="expected what fw"):
        fw.check_fit(evidence, aware=fw.gibu(evidence))
    with pytest.raises(fw.ParameterError, match="of other evidence"):
        fw.check_fit(evidence, aware=fw.choice_aware(chosen(FOUR[:2], 1000, 1, "slope")))


def test_what_is_named_may_explain_nothing():
    """A choice by the value, taken to be free: ten names, and more would be found."""
    check = fw.check_fit(chosen(FOUR, 40_000, 1, "step"))
    assert check.blamed > 2
    evidence = chosen(BITS, 12_000, 4, "slope", {0: fw.RAPPOR(AGES, 2.5)})
    right = fw.check_fit(evidence, aware=fw.choice_aware(evidence))
    assert right.p_value < 0.01
    assert right.left_p >= 0.05
    place = evidence.mechanisms.index(BITS[0])
    assert right.amended.mechanisms[place].epsilon == pytest.approx(right.suspects[0].sent)
    assert right.amended.people == evidence.people


@pytest.mark.slow
def test_a_group_whose_reports_are_all_to_blame_is_left_out():
    """Where two outputs are all that a group sent, nobody is left without them."""
    sharp, wide, few = FOUR[2], fw.Geometric(AGES, 0.5), fw.KRR(AGES, 1.5)
    parts = [(sharp, [3] * 40 + [5] * 30), (wide, [4] * 20 + [5] * 30), (few, [1, 2])]
    found = fit_beside_choice(fw.collect(parts))
    assert found.holds is False
    assert "30 of 30 reports of 5" in found.verdict
    alone = fit_beside_choice(fw.collect(parts[:2]))
    assert alone.holds is not True
