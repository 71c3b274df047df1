"""Certified maximum likelihood by a primal-dual interior point: about a dozen Newton steps."""

import numpy as np

from freewill.solvers.likelihood import Likelihood
from freewill.solvers.solution import Solution, Status
from freewill.solvers.systems import System
from freewill.types import FloatArray

_FRACTION = 0.995
_PATIENCE = 5
_TINY = 1e-150


def solve(likelihood: Likelihood, system: System, tolerance: float, max_steps: int) -> Solution:
    """Maximise sum_j w_j log (P theta)_j over the simplex.

    The optimum has a dual v (one number an output) and a slack s (one a value) with
    P'v + s = 1, (P theta) v = w and theta s = 0. Newton steps follow theta s = mu -> 0 with
    Mehrotra's predictor and corrector; the matrix is P' diag(v/p) P + diag(s/theta). The best
    certified iterate is kept, so that the answer never gets worse with more steps.
    """
    operator, weights = likelihood.operator, likelihood.weights
    size = likelihood.size
    theta = np.full(size, 1 / size)
    fitted = operator.forward(theta)
    certificate = likelihood.certify(theta, fitted)
    best = Solution(theta, certificate, 0, Status.MAX_STEPS)
    dual = weights / (1.02 * fitted * certificate.slope.max())
    slack = 1 - operator.adjoint(dual)
    waiting = 0
    for step in range(1, max_steps + 1):
        if best.certificate.gap <= tolerance:
            break
        solver = system.factor(dual / fitted, slack / theta)
        slope = certificate.slope
        move = solver(slope - 1)
        fitted_move = operator.forward(move)
        dual_move = (weights - fitted * dual - dual * fitted_move) / fitted
        slack_move = -slack - slack * move / theta

        mu = float(theta @ slack) / size
        ahead = (theta + _reach(theta, move) * move) @ (
            slack + _reach(slack, slack_move) * slack_move
        )
        target = mu * min(1.0, max(float(ahead) / size / mu, 0.0)) ** 3
        second = fitted_move * dual_move
        corner = target - move * slack_move
        move = solver(slope - 1 + corner / theta - operator.adjoint(second / fitted))
        fitted_move = operator.forward(move)
        dual_move = (weights - fitted * dual - second - dual * fitted_move) / fitted
        slack_move = (corner - theta * slack - slack * move) / theta

        fraction = max(_FRACTION, 1 - mu)
        length = fraction * min(_reach(theta, move), _reach(fitted, fitted_move))
        dual_length = fraction * min(_reach(slack, slack_move), _reach(dual, dual_move))
        theta = theta + length * move
        dual = dual + dual_length * dual_move
        slack = slack + dual_length * slack_move
        # Below that, slack / theta would overflow, and nothing depends on it.
        theta = np.maximum(theta / theta.sum(), _TINY)
        fitted = operator.forward(theta)
        if not (np.all(fitted > 0) and np.all(np.isfinite(theta))):
            break
        certificate = likelihood.certify(theta, fitted)
        waiting = waiting + 1
        if certificate.gap < best.certificate.gap:
            best, waiting = Solution(theta, certificate, step, Status.MAX_STEPS), 0
        if waiting >= _PATIENCE:
            break
    return _ended(best, tolerance, step, max_steps)


def _ended(best: Solution, tolerance: float, steps: int, max_steps: int) -> Solution:
    if best.certificate.gap <= tolerance:
        return best._replace(status=Status.CERTIFIED)
    status = Status.MAX_STEPS if steps >= max_steps else Status.STALLED
    return best._replace(steps=steps, status=status)


def _reach(point: FloatArray, step: FloatArray) -> float:
    """Return how far (at most 1) a step keeps the point non-negative."""
    falling = step < 0
    return min(1.0, float(np.min(-point[falling] / step[falling], initial=np.inf)))
