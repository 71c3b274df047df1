"""The efficient estimator: one Newton step from the pulled maximum, left negative where it is."""

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from freewill.alphabets import is_line
from freewill.estimators import Estimate, Status, gibu
from freewill.estimators.estimate import (
    Start,
    certified_estimate,
    default_tolerance,
    likelihood_of,
    passes_of,
)
from freewill.estimators.identifiability import unresolved_directions
from freewill.evidence import Evidence
from freewill.inference.information import (
    PULL,
    Information,
    information_of,
    pulled,
    several_people,
)
from freewill.inference.work import Work
from freewill.simplex import project
from freewill.solvers import OnStep
from freewill.solvers.threads import one_blas_thread
from freewill.types import FloatArray


@dataclass(frozen=True, eq=False)
class OneStep:
    """theta_1 = theta_w + C g(theta_w): unbiased to first order, and no distribution.

    The maximum likelihood keeps the positive part of the noise of every value near 0, and is biased
    by far more than its standard error where there are many. theta_1 is not: it sums to 1 and may
    be negative. theta_w is the maximum pulled inside by half a person a value.
    """

    evidence: Evidence
    mode: FloatArray
    """The most likely theta."""

    @cached_property
    def information(self) -> Information:
        """The information at theta_w."""
        return self.information_at(PULL)

    def information_at(self, pull: float) -> Information:
        """Return the information where each value has so many people more than the maximum says."""
        evidence = self.evidence
        parts = [(one.mechanism, one.people / evidence.people, one.name) for one in evidence.groups]
        inside = pulled(self.mode, evidence.people, pull)
        return information_of(evidence.alphabet, parts, inside, evidence.people)

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient g at theta_w, one number a value."""
        return slope_at(self.evidence, self.information.theta)

    def values(self, rows: FloatArray, influences: FloatArray) -> FloatArray:
        """Return h'theta_1 for rows h, from their influences C h."""
        # C 1 = 0: what is added to g for all values alike changes nothing but rounding.
        change = self.slope - 1
        known = np.isfinite(influences).all(axis=1)
        found = rows @ self.information.theta
        found[known] += influences[known] @ change
        return np.asarray(found)


def slope_at(evidence: Evidence, theta: FloatArray) -> FloatArray:
    """Return g = sum w a / p at theta, one number a value: 1 on average over theta."""
    source = likelihood_of(evidence) if evidence.held else passes_of(evidence)
    return np.asarray(source.certify(theta, default_tolerance(evidence)).slope)


def one_step_from(
    evidence: Evidence, start: Start | None = None, on_step: OnStep | None = None
) -> OneStep:
    """Return the one-step estimator, from the maximum likelihood, which is looked for from start.

    A start whose gap on this evidence is within the tolerance is that maximum, and takes no step.
    """
    return OneStep(evidence, gibu(evidence, start=start, on_step=on_step).theta)


@one_blas_thread
def one_step(
    evidence: Evidence, start: Start | None = None, on_step: OnStep | None = None
) -> Estimate:
    """Return the efficient estimate of theta: a Newton step from inside, clipped only at the end.

    Where the alphabet is ordered, its CDF is made monotone (the least squares fit) and clipped to
    0..1; elsewhere it is projected onto the simplex. On k-RR with many empty values it has half of
    the maximum likelihood's earth mover's distance, and ties elsewhere; its gap says how much less
    likely it is than the maximum. `start` is where `gibu` begins to look for that; the result does
    not depend on it, but for the tolerance. `on_step` is called with a `Step` (number, gap,
    log_likelihood, share of the work done) after each one to the maximum, and after the last of
    all.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> mine = fw.KRR(line, epsilon=2.0)
    >>> rng = np.random.default_rng(0)
    >>> estimate = fw.one_step(fw.collect([(mine, mine.obfuscate([4] * 500, rng))]))
    >>> int(estimate.theta.argmax()), estimate.method
    (4, 'one-step')
    """
    started = perf_counter()
    several_people(evidence, "one_step")
    work = Work(on_step)
    work.expect(1, maxima=int(start is None))
    found = one_step_from(evidence, start, work.maximum(evidence) if start is None else None)
    told = found.information
    raw = told.theta + told.influences((found.slope - 1)[None], work.solved)[0]
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
