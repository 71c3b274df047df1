"""The efficient estimate as a distribution: one Newton step from the pulled maximum, clipped."""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, distribution
from freewill.domain.alphabets.base import is_line
from freewill.numeric.simplex import project
from freewill.numeric.solvers.likelihood import OnStep, Status, one_blas_thread
from freewill.stats.efficient import OneStep, fit_of
from freewill.stats.estimators.estimate import Estimate, Start, certified_estimate
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.identifiability import unresolved_directions
from freewill.stats.evidence import Evidence
from freewill.stats.information import Information, information_at, pulled, several_people
from freewill.stats.work import Work

_HAIR = 1e-9
"""Share of the uniform distribution in a theta that is given, so that nothing divides by 0."""


def information(
    evidence: Evidence, theta: ArrayLike | None = None, on_step: OnStep | None = None
) -> Information:
    """Return the Fisher information of evidence at theta: by default near the most likely one.

    The maximum likelihood is pulled inside, towards uniform by half a person a value, so that a
    value that nobody seems to have is not taken for certain. `on_step` is called with a `Step`
    (number, gap, log_likelihood) after each step to it.

    The cost is that of `gibu`, one k x k matrix a mechanism, and O(k^3) to invert their sum; from
    1,025 values on, one solve for each functional that is asked for.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fisher = fw.information(fw.collect([(coin, [0], [600]), (coin, [1], [400])]))
    >>> fisher.standard_error().round(4)
    array([0.0335, 0.0335])
    """
    several_people(evidence, "information")
    size = evidence.alphabet.size
    if theta is None:
        inside = pulled(gibu(evidence, on_step=on_step).theta, evidence.people)
    else:
        inside = (1 - _HAIR) * distribution(theta, size) + _HAIR / size
    return information_at(evidence, inside)


@one_blas_thread
def one_step(
    evidence: Evidence | OneStep, *, start: Start | None = None, on_step: OnStep | None = None
) -> Estimate:
    """Return the efficient estimate of theta: a Newton step from inside, clipped only at the end.

    Where the alphabet is ordered, its CDF is made monotone (the least squares fit) and clipped to
    0..1; elsewhere it is projected onto the simplex. On k-RR with many empty values it has half of
    the maximum likelihood's earth mover's distance, and ties elsewhere; its gap says how much less
    likely it is than the maximum. `start` is where `gibu` begins to look for that; the result does
    not depend on it, but for the tolerance. `on_step` is called with a `Step` (number, gap,
    log_likelihood, share of the work done) after each one to the maximum, and after the last of
    all.

    The cost is that of `information`.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> mine = fw.KRR(line, epsilon=2.0)
    >>> rng = np.random.default_rng(0)
    >>> estimate = fw.one_step(fw.collect([(mine, mine.obfuscate([4] * 500, rng))]))
    >>> int(estimate.theta.argmax()), estimate.method
    (4, 'one-step')
    """
    started, fit = perf_counter(), fit_of(evidence, start)
    evidence = fit.evidence
    several_people(evidence, "one_step")
    work = Work(on_step)
    work.expect(1, fit.maxima)
    raw = fit.solved_by(work).theta
    work.solved(1)
    theta = monotone(raw) if is_line(evidence.alphabet) else project(raw)
    lost = unresolved_directions(evidence)
    return certified_estimate(evidence, theta, "one-step", Status.DIRECT, started, unresolved=lost)


def monotone(theta: FloatArray) -> FloatArray:
    """Return the distribution whose CDF is the nearest monotone one within 0..1.

    >>> monotone(np.array([0.5, -0.1, 0.7, -0.1]))
    array([0.45, 0.  , 0.55, 0.  ])
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    rising: Any = isotonic_regression(np.cumsum(theta)[:-1]).x
    steps = np.diff(np.concatenate([[0.0], np.clip(rising, 0.0, 1.0), [1.0]]))
    return np.asarray(np.maximum(steps, 0.0) / np.maximum(steps, 0.0).sum())
