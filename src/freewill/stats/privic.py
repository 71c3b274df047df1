"""PRIVIC: collect in rounds, each with the channel that suits what is known so far."""

from collections.abc import Callable
from typing import NamedTuple

from numpy.typing import ArrayLike

from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.blahut_arimoto import BlahutArimoto
from freewill.errors import EvidenceError, ParameterError, shown
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence


class Round(NamedTuple):
    """The mechanism that a round was collected with, and the estimate after it."""

    mechanism: BlahutArimoto
    estimate: Estimate


def privic(
    alphabet: Alphabet,
    collect: Callable[[BlahutArimoto], Evidence],
    *,
    beta: float | None = None,
    quality_loss: float | None = None,
    rounds: int = 5,
    prior: ArrayLike | None = None,
    estimate: Callable[[Evidence], Estimate] = gibu,
) -> list[Round]:
    """Alternate between collecting with the best channel for a prior and estimating the prior anew.

    A round offers `BlahutArimoto` for the distribution estimated so far (at first `prior`, uniform
    by default), at a `beta` or a `quality_loss`. `collect(mechanism)` asks people for reports and
    returns their evidence; `estimate` then estimates from the evidence of *all* rounds, which one
    likelihood takes together. Everyone should report in one round only: promises add up. Biswas and
    Palamidessi, PRIVIC, Proceedings on Privacy Enhancing Technologies 2024(1).

    The cost of a round is O(k^3) for the channel, and one estimate.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 9), np.random.default_rng(1)
    >>> truth = fw.normalise(np.arange(10.0))
    >>> def ask(mechanism):
    ...     values = rng.choice(10, 20_000, p=truth)
    ...     return fw.collect([(mechanism, mechanism.obfuscate(values, rng))])
    >>> rounds = fw.privic(ages, ask, quality_loss=0.8, rounds=3)
    >>> [round(fw.emd(each.estimate.theta, truth, ages), 2) for each in rounds]
    [0.03, 0.01, 0.02]
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise ParameterError(f"rounds={shown(rounds)}: expected a whole number >= 1.")
    if not callable(collect):
        raise ParameterError(
            f"collect={shown(collect)}: expected a function that takes a mechanism and returns "
            f"evidence."
        )
    total: Evidence | None = None
    done: list[Round] = []
    for number in range(1, rounds + 1):
        mechanism = BlahutArimoto(alphabet, beta=beta, quality_loss=quality_loss, prior=prior)
        evidence = collect(mechanism)
        if not isinstance(evidence, Evidence):
            raise EvidenceError(
                f"collect returned {shown(evidence)} in round {number}: expected evidence, as "
                f"fw.collect([(mechanism, reports)]) gives."
            )
        total = evidence if total is None else total + evidence
        done.append(Round(mechanism, estimate(total)))
        prior = done[-1].estimate.theta
    return done
