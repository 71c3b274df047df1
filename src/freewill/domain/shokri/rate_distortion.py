"""The channel of rate-distortion theory: the law that tells least at a given expected loss.

For a given beta the output distribution q maximises sum_x pi_x log sum_y q_y e^(-beta l(x,y)): a
mixture likelihood, so that our own interior point finds it with a certificate, where the usual
Blahut-Arimoto iteration (EM) crawls. Symmetries shrink the problem to orbits.
"""

from collections.abc import Callable

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.shokri.problem import Problem
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers import interior
from freewill.numeric.solvers.likelihood import Likelihood, attainable_gap
from freewill.numeric.solvers.systems import DenseSystem

_TOLERANCE = 1e-13
"""Gap of the output distribution: its square root is what E l may be off by."""
_NOBODY = 1e-20
"""Share of people without bearing on the output distribution: far less than its gap."""
_UNUSED = 1e-11
"""Weight below which an output only holds what the interior point left there."""

_LEAST = 5e-324
_LARGEST_EXPONENT = 700.0


def output_distribution(problem: Problem, beta: float) -> FloatArray:
    """Return q, the distribution of the outputs, at a beta."""
    weights = np.bincount(problem.orbits, problem.prior).astype(np.float64)
    seen = weights > _NOBODY
    loss = problem.report_loss[problem.representatives]
    rows = (np.exp(-beta * loss) @ problem.averaging)[seen]
    likelihood = Likelihood(DenseOperator(rows), weights[seen])
    tolerance = max(_TOLERANCE, attainable_gap(*rows.shape))
    theta = interior.solve(likelihood, DenseSystem(rows), tolerance, 100).theta
    # What the interior point leaves on outputs that the optimum does not use.
    theta = np.where(theta < _UNUSED, 0.0, theta)
    return np.asarray(theta[problem.orbits] / problem.multiplicity[problem.orbits])


def calibrated_beta(problem: Problem, quality_loss: float) -> float:
    """Return the beta at which E l = Q, or the largest that makes a difference."""
    weights = np.bincount(problem.orbits, problem.prior).astype(np.float64)
    loss = problem.report_loss[problem.representatives]

    def excess(log_beta: float) -> float:
        beta = float(np.exp(log_beta))
        law = channel(output_distribution(problem, beta), beta, loss)
        share = weights @ (law * loss).sum(axis=1) / quality_loss
        return float(np.log(max(share, _LEAST)))

    # Beyond, e^(-beta l) is 0 for every other value, and the law does not change any more.
    largest = np.log(_LARGEST_EXPONENT / loss[loss > 0].min())
    return float(np.exp(_root(excess, -np.log(quality_loss), largest)))


def channel(output: FloatArray, beta: float, loss: FloatArray) -> FloatArray:
    """Return q_y e^(-beta l(x,y)) / Z_x."""
    # Subtracting the least loss of the outputs in use keeps a row from underflowing as a whole.
    used = np.where(output > 0, loss, np.inf)
    law = output * np.exp(-beta * (used - used.min(axis=1, keepdims=True)))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _root(excess: Callable[[float], float], guess: float, largest: float) -> float:
    """Find the root of a falling function whose slope is about -1 in most places, or the largest.

    The loss stays above Q where a value is so rare that its own output counts as unused.
    """
    last = here = min(guess, largest)
    off = excess(here)
    direction = np.sign(off)
    while off * direction > 0:
        if off > 0 and here == largest:
            return here
        # A little beyond where the slope points, so that the root is soon between two points.
        last, here = here, min(here + direction * min(1.0, 1.3 * abs(off) + 1e-3), largest)
        off = excess(here)
    if last == here:
        return here
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(excess, last, here, xtol=1e-15, rtol=1e-15))
