"""Certified maximum likelihood by a primal-dual interior point: about a dozen Newton steps."""

import numpy as np

from freewill.solvers.likelihood import Likelihood
from freewill.solvers.solution import Solution, Status
from freewill.solvers.systems import System
from freewill.types import FloatArray

_FRACTION = 0.995
_PATIENCE = 12
_WARM_UP = 5
_TO_THE_WALL = 1e-8
"""What a step leaves at least of the way to zero: exact zeros would divide by zero."""
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
    theta, fitted, slope = _start(likelihood)
    best = (likelihood.gap(theta, slope), theta, 0)
    dual = weights / (1.02 * fitted * slope.max())
    slack = 1 - operator.adjoint(dual)
    step = 0
    while best[0] > tolerance and step < max_steps and step - best[2] < _PATIENCE:
        step += 1
        solver = system.factor(dual / fitted, slack / theta)
        move = solver(slope - 1)
        fitted_move = operator.forward(move)
        lack = weights - fitted * dual
        dual_move = (lack - dual * fitted_move) / fitted
        slack_move = -slack - slack * move / theta

        mu = float(theta @ slack) / size
        ahead = theta + _reach(theta, move) * move
        ahead_slack = slack + _reach(slack, slack_move) * slack_move
        target = mu * min(1.0, max(float(ahead @ ahead_slack) / size / mu, 0.0)) ** 3
        second = fitted_move * dual_move
        corner = target - move * slack_move
        move = solver(slope - 1 + corner / theta - operator.adjoint(second / fitted))
        fitted_move = operator.forward(move)
        dual_move = (lack - second - dual * fitted_move) / fitted
        slack_move = (corner - slack * move) / theta - slack

        fraction = max(_FRACTION, 1 - max(mu, _TO_THE_WALL))
        length = fraction * min(_reach(theta, move), _reach(fitted, fitted_move))
        dual_length = fraction * min(_reach(slack, slack_move), _reach(dual, dual_move))
        theta = theta + length * move
        dual = dual + dual_length * dual_move
        slack = slack + dual_length * slack_move
        total = float(theta.sum())
        # Below that, slack / theta would overflow, and nothing depends on it.
        theta = np.maximum(theta / total, _TINY)
        fitted = (fitted + length * fitted_move) / total
        if not (fitted.min() > 0 and np.isfinite(total)):
            break
        slope = operator.adjoint(weights / fitted)
        gap = likelihood.gap(theta, slope)
        if gap <= tolerance:
            # P theta was carried along; what counts is computed from theta.
            fitted = operator.forward(theta)
            slope = operator.adjoint(weights / fitted)
            gap = likelihood.gap(theta, slope)
        if gap < best[0]:
            best = (gap, theta, step)
    certificate = likelihood.certify(best[1])
    if certificate.gap <= tolerance:
        return Solution(best[1], certificate, best[2], Status.CERTIFIED)
    status = Status.MAX_STEPS if step >= max_steps else Status.STALLED
    return Solution(best[1], certificate, step, status)


def _start(likelihood: Likelihood) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta, P theta and g after a few steps of EM, each pulled inside the simplex.

    A step of EM costs a tenth of a Newton step, and together these save one.
    """
    operator, weights, size = likelihood.operator, likelihood.weights, likelihood.size
    theta = np.full(size, 1 / size)
    for _ in range(_WARM_UP):
        theta = 0.9 * theta * operator.adjoint(weights / operator.forward(theta)) + 0.1 / size
    fitted = operator.forward(theta)
    return theta, fitted, operator.adjoint(weights / fitted)


def _reach(point: FloatArray, step: FloatArray) -> float:
    """Return how far (at most 1) a step keeps the positive point non-negative."""
    return 1 / max(1.0, -float((step / point).min()))
