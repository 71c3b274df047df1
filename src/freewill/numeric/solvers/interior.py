"""Certified maximum likelihood by a primal-dual interior point: about a dozen Newton steps."""

from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Map, Operator
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
from freewill.numeric.solvers.systems import System, least, reach

_FRACTION = 0.995
"""Share of the way to the boundary that a step takes at least; it grows to 1 as mu falls."""
_PATIENCE = 12
"""Steps without a smaller gap before rounding is blamed: an ordinary run has about that many."""
_WARM_UP = 3
"""Cycles of accelerated EM to begin with: together they cost one Newton step and save four."""
_UNIFORM = 0.01
"""Share of the uniform distribution after these: zeros at the start are slow to leave."""
_TRUSTED = 0.003
"""The same share after a given start: likely near the optimum, but not to be on the edge."""
_LOOSE = 1.001
"""Factor by which the dual starts inside its constraint P'v <= 1: with 1.02 7 % more steps."""
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
    theta, fitted, slope = _start(likelihood, start)
    if start is not None and given.gap > POOR:
        own = _start(likelihood, None)
        if likelihood.value(own.fitted) > likelihood.value(fitted):
            theta, fitted, slope = own
    best = (likelihood.gap(theta, slope), theta, 0)
    # v = w / (c p), so that P'v is g / c.
    loose, size = _LOOSE * float(slope.max()), theta.size
    dual = np.concatenate([1 - slope / loose, weights / (loose * fitted)])
    here = _Point(np.concatenate([theta, fitted]), dual)
    goal = np.concatenate([np.zeros(size), weights])
    step, certificate = 0, None
    while best[0] > tolerance and step < max_steps and step - best[2] < _PATIENCE:
        step += 1
        ratio = here.dual / here.primal
        factor = system.factor(ratio[size:], ratio[:size])
        here = _newton(likelihood, factor, here, slope, goal)
        theta, fitted = here.primal[:size], here.primal[size:]
        if not least(fitted) > 0:
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
    """theta and p = P theta in one array, their duals s and v in another; or relative steps."""

    primal: FloatArray
    dual: FloatArray


def _newton(
    likelihood: Likelihood, factor: Map, here: _Point, slope: FloatArray, goal: FloatArray
) -> _Point:
    """Take one step of Mehrotra's method, and normalise theta.

    `goal` is what the products of primal and dual are to be: 0 and w. Steps are relative to where
    they begin: their reach and their products are then had at once.
    """
    operator, size, (primal, dual) = likelihood.operator, slope.size, here
    product, right = primal * dual, slope - 1
    complement = product[:size]
    lack = goal / product - 1
    step = _direction(operator, factor, primal, right, lack)
    # What the linear equations leave out: the products of the predictor's steps.
    second = step.primal * step.dual
    whole, along = float(complement.sum()), float(complement.dot(step.primal[:size]))
    length, dual_length = reach(step.primal[:size]), reach(step.dual[:size])
    # theta . s where these lengths end, of which s alone loses all that theta has not gained.
    ahead = (1 - dual_length) * whole + (length - dual_length) * along
    ahead += length * dual_length * float(complement.dot(second[:size]))
    mu = whole / size
    target = mu * (max(ahead, 0.0) / whole) ** 3 if mu > 0 else 0.0
    lack -= second
    lack[:size] += target / complement
    second *= dual
    right += target / primal[:size] - second[:size] - operator.adjoint(second[size:])
    step = _direction(operator, factor, primal, right, lack)
    fraction = max(_FRACTION, 1 - max(mu, _TO_THE_WALL))
    primal = primal * (1 + fraction * reach(step.primal) * step.primal)
    primal /= float(primal[:size].sum())
    np.maximum(primal[:size], _TINY, out=primal[:size])
    return _Point(primal, dual * (1 + fraction * reach(step.dual) * step.dual))


def _direction(
    operator: Operator, factor: Map, primal: FloatArray, right: FloatArray, lack: FloatArray
) -> _Point:
    """Solve the Newton equations; both relative steps are to add up to what is lacking."""
    move = factor(right)
    along = np.concatenate([move, operator.forward(move)]) / primal
    return _Point(along, lack - along)


def _start(likelihood: Likelihood, start: FloatArray | None) -> Iterate:
    """Return a point inside the simplex: some cycles of EM from the start, or from the centre."""
    law, weights = likelihood.operator, likelihood.weights
    share = _UNIFORM if start is None else _TRUSTED
    theta = np.full(likelihood.size, 1 / likelihood.size)
    if start is not None:
        theta = pulled_inside(start, _UNIFORM)
    theta = accelerated_em(law, weights, theta, _WARM_UP).theta
    return after_em(law, weights, pulled_inside(theta / theta.sum(), share), 0)
