"""Certified maximum likelihood by a primal-dual interior point: about a dozen Newton steps."""

from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Map
from freewill.numeric.solvers.conjugate import System
from freewill.numeric.solvers.likelihood import (
    POOR,
    Iterate,
    Likelihood,
    OnStep,
    Solution,
    Status,
    Trace,
    accelerated_em,
    after_em,
    one_blas_thread,
    pulled_inside,
)
from freewill.numeric.solvers.systems import reach

_FRACTION = 0.995
"""Share of the way to the boundary that a step takes at least; it grows to 1 as mu falls."""
_PATIENCE = 12
"""Steps without a smaller gap before rounding is blamed: an ordinary run has about that many."""
_WARM_UP = 2
"""Cycles of accelerated EM to begin with: together they cost one Newton step and save three."""
_UNIFORM = 0.03
"""Share of the uniform distribution after these: zeros at the start are slow to leave."""
_TRUSTED = 0.01
"""The same share after a given start: likely near the optimum, but not to be on the edge."""
_LOOSE = 1.02
"""Factor by which the dual starts inside its constraint P'v <= 1."""
_ABOUT = 1.01
"""How much larger than the tolerance a gap may be that carries the rounding of all steps."""
_TO_THE_WALL = 1e-8
"""What a step leaves at least of the way to zero: exact zeros would divide by zero."""
_TINY = 1e-40
"""Least theta: nothing depends on less, and products of less are denormal, many times slower."""


@one_blas_thread
@np.errstate(all="ignore")
def solve(
    likelihood: Likelihood,
    system: System,
    tolerance: float,
    max_steps: int,
    start: FloatArray | None = None,
    on_step: OnStep | None = None,
) -> Solution:
    """Maximise sum_j w_j log (P theta)_j over the simplex.

    The optimum has a dual v (one number an output) and a slack s (one a value) with
    P'v + s = 1, (P theta) v = w and theta s = 0. Newton steps follow theta s = mu -> 0 with
    Mehrotra's predictor and corrector; the matrix is P' diag(v/p) P + diag(s/theta). The best
    certified iterate is kept, so that the answer never gets worse with more steps.
    docs/solvers.md derives the system.
    """
    operator, weights = likelihood.operator, likelihood.weights
    trace = Trace(on_step)
    if start is not None and (given := likelihood.certify(start, tolerance)).gap <= tolerance:
        return Solution(start, given, 0, Status.CERTIFIED)
    starts = [_start(likelihood, start)]
    if start is not None and given.gap > POOR:
        starts.append(_start(likelihood, None))
    theta, fitted, slope = max(starts, key=lambda each: likelihood.value(each.fitted))
    best = (likelihood.gap(theta, slope), theta, 0)
    # v = w / (c p), so that P'v is g / c.
    loose = _LOOSE * float(slope.max())
    here = _Point(theta, fitted, weights / (loose * fitted), 1 - slope / loose)
    step, certificate = 0, None
    while best[0] > tolerance and step < max_steps and step - best[2] < _PATIENCE:
        step += 1
        factor = system.factor(here.dual / here.fitted, here.slack / here.theta)
        here = _newton(likelihood, factor, here, slope)
        theta, fitted = here.theta, here.fitted
        if not fitted.min() > 0:
            break
        slope = operator.adjoint(weights / fitted)
        gap = likelihood.gap(theta, slope)
        if gap <= _ABOUT * tolerance:
            # P theta was carried along; what counts is computed from theta.
            certificate = likelihood.certify(theta, tolerance)
            slope, gap = certificate.slope, certificate.gap
        trace.add(step, gap, likelihood.value(fitted) if on_step else np.nan)
        if gap < best[0]:
            best = (gap, theta, step)
    if certificate is None or certificate.gap != best[0]:
        certificate = likelihood.certify(best[1], tolerance)
    if certificate.gap <= tolerance:
        return Solution(best[1], certificate, best[2], Status.CERTIFIED, trace.gaps)
    status = Status.MAX_STEPS if step >= max_steps else Status.STALLED
    return Solution(best[1], certificate, step, status, trace.gaps)


class _Point(NamedTuple):
    """theta, p = P theta, v and s; or a step of each."""

    theta: FloatArray
    fitted: FloatArray
    dual: FloatArray
    slack: FloatArray


def _newton(likelihood: Likelihood, factor: Map, here: _Point, slope: FloatArray) -> _Point:
    """Take one step of Mehrotra's method, and normalise theta."""
    theta, fitted, dual, slack = here
    mu = float(theta @ slack) / theta.size
    right, lack = slope - 1, likelihood.weights - fitted * dual
    step = _direction(likelihood, factor, here, right, lack)
    ahead = theta + reach(theta, step.theta) * step.theta
    ahead_slack = slack + reach(slack, step.slack) * step.slack
    target = mu * (float(ahead @ ahead_slack) / theta.size / mu) ** 3 if mu > 0 else 0.0
    # What the linear equations left out: the products of the predictor's steps.
    aim, second = target - step.theta * step.slack, step.fitted * step.dual
    right = right + aim / theta - likelihood.operator.adjoint(second / fitted)
    step = _direction(likelihood, factor, here, right, lack - second, aim)
    fraction = max(_FRACTION, 1 - max(mu, _TO_THE_WALL))
    length = fraction * min(reach(theta, step.theta), reach(fitted, step.fitted))
    dual_length = fraction * min(reach(slack, step.slack), reach(dual, step.dual))
    theta = theta + length * step.theta
    total = float(theta.sum())
    return _Point(
        np.maximum(theta / total, _TINY),
        (fitted + length * step.fitted) / total,
        dual + dual_length * step.dual,
        slack + dual_length * step.slack,
    )


def _direction(
    likelihood: Likelihood,
    factor: Map,
    here: _Point,
    right: FloatArray,
    lack: FloatArray,
    aim: FloatArray | float = 0.0,
) -> _Point:
    """Solve the Newton equations for theta s = aim and p v = w, which p v misses by `lack`."""
    theta, fitted, dual, slack = here
    move = factor(right)
    fitted_move = likelihood.operator.forward(move)
    dual_move = (lack - dual * fitted_move) / fitted
    return _Point(move, fitted_move, dual_move, (aim - slack * move) / theta - slack)


def _start(likelihood: Likelihood, start: FloatArray | None) -> Iterate:
    """Return a point inside the simplex: two cycles of EM from the start, or from the centre."""
    law, weights = likelihood.operator, likelihood.weights
    share = _UNIFORM if start is None else _TRUSTED
    theta = np.full(likelihood.size, 1 / likelihood.size)
    if start is not None:
        theta = pulled_inside(start, _UNIFORM)
    theta = accelerated_em(law, weights, theta, _WARM_UP).theta
    return after_em(law, weights, pulled_inside(theta / theta.sum(), share), 0)
