"""Audits of an adversary's loss: they fail when they should, and say so."""

import numpy as np
import pytest

import freewill as fw
from freewill.domain.guarantees.audit import LossAudit
from freewill.domain.guarantees.promises import AdversaryLoss

CLAIM = AdversaryLoss(adversary_loss=2.0, user_loss=2.0, entropy=1.5)


def audited(adversary_loss=2.0, user_loss=2.0, threshold=2.0, optimum=2.0):
    return LossAudit(CLAIM, adversary_loss, user_loss, threshold, optimum)


def test_a_true_claim_at_the_optimum():
    assert audited().holds
    assert audited().tight


@pytest.mark.parametrize(
    ("found", "holds", "tight"),
    [
        # The adversary loses less than claimed; rounding, relative to the optimum, is forgiven.
        ({"adversary_loss": 1.9}, False, False),
        ({"adversary_loss": 2 - 1e-8}, False, False),
        ({"adversary_loss": 2 - 1.9e-9}, True, True),
        ({"adversary_loss": 2 - 2.1e-9}, False, False),
        ({"adversary_loss": 2 - 3e-8, "optimum": 99.0}, True, False),
        # The user pays more than allowed.
        ({"user_loss": 2.1}, False, False),
        ({"user_loss": 2 + 1e-11}, False, False),
        ({"user_loss": 2 + 1e-12}, True, True),
        ({"user_loss": 1.0}, True, True),
        # Another law would make the adversary lose more.
        ({"optimum": 2.1}, True, False),
        ({"optimum": 2 + 1.9e-8}, True, True),
        ({"optimum": 2 + 2.1e-8}, True, False),
    ],
)
def test_what_holds_and_what_is_tight(found, holds, tight):
    audit = audited(**found)
    assert audit.holds is holds
    assert audit.tight is tight


@pytest.mark.parametrize("scale", [1e-300, 1e-13, 1.0, 1e300])
def test_losses_are_compared_at_their_own_scale(scale):
    claim = AdversaryLoss(2 * scale, 2 * scale, 1.5)
    assert LossAudit(claim, 2 * scale, 2 * scale, 2 * scale, 2 * scale).holds
    assert not LossAudit(claim, 1.99 * scale, 2 * scale, 2 * scale, 2 * scale).holds


def test_printed_losses_are_rounded_down():
    assert AdversaryLoss(1.49999, 1.5, 2.0).short == "adversary loses 1.499"
    assert AdversaryLoss(1.5 - 1e-13, 1.5, 2.0).short == "adversary loses 1.5"


def test_the_audit_says_what_it_found():
    assert str(audited()) == (
        "claimed adversary's loss 2: holds. The law gives 2, and it is the optimum; "
        "the user loses 2 of at most 2."
    )
    assert str(audited(adversary_loss=1.5, optimum=2.5)) == (
        "claimed adversary's loss 2: DOES NOT HOLD. The law gives 1.5, of an optimum 2.5; "
        "the user loses 2 of at most 2."
    )
    assert str(CLAIM) == "adversary's expected loss 2 (user's 2, 1.5 bits remain unknown)"


def test_a_false_claim_about_a_real_law_is_caught():
    mechanism = fw.Shokri(fw.Linear(0, 5), quality_loss=1.0)
    honest = fw.audit(mechanism)
    assert honest.holds
    assert honest.tight
    promise = mechanism.guarantee()
    boast = AdversaryLoss(promise.adversary_loss + 0.01, promise.user_loss, promise.entropy)
    assert not fw.audit(mechanism, boast).holds


def test_the_audit_follows_its_definition():
    """By hand: for each output the guess that loses least, and the user's expected loss."""
    mechanism = fw.Shokri(fw.Linear(0, 3), quality_loss=0.7, prior=[0.1, 0.2, 0.3, 0.4])
    law, prior = mechanism.law(), np.array([0.1, 0.2, 0.3, 0.4])
    gaps = fw.distances(fw.Linear(0, 3))
    guesses = [
        min(sum(prior[x] * law[x, z] * gaps[x, guess] for x in range(4)) for guess in range(4))
        for z in range(law.shape[1])
    ]
    found = fw.audit(mechanism)
    assert found.adversary_loss == pytest.approx(sum(guesses), abs=1e-12)
    cost = sum(prior[x] * law[x, z] * gaps[x, z] for x in range(4) for z in range(4))
    assert found.user_loss == pytest.approx(cost, abs=1e-12)
