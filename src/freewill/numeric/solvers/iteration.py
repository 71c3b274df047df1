"""The EM iteration: the start of better methods, and what is left where they do not fit."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray

_DENORMAL = 1e-150
"""Below that a weight is as good as 0, and denormal products are many times slower."""
_KEPT = 0.1
"""Share of what two steps of EM leave of a weight that an extrapolation must leave as well."""


class Law(Protocol):
    """The two products of an operator, or of some columns of one."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights."""


class Iterate(NamedTuple):
    """A theta with p = P theta and g = P'(w / p)."""

    theta: FloatArray
    fitted: FloatArray
    slope: FloatArray


def em_steps(law: Law, weights: FloatArray, theta: FloatArray) -> Iterator[Iterate]:
    """Yield the start, and then theta <- theta * P'(w / P theta) for ever (algorithm 1).

    No step needs to be normalised: sum_x theta_x g_x = sum_j w_j, whatever theta sums to.
    """
    while True:
        here = _iterate(law, weights, theta)
        yield here
        theta = here.theta * here.slope
        # Products by FFT may leave a slope near 0 on its wrong side.
        theta[theta < _DENORMAL] = 0.0


def after_em(law: Law, weights: FloatArray, theta: FloatArray, steps: int) -> Iterate:
    """Return where EM stands after so many steps."""
    return next(islice(em_steps(law, weights, theta), steps, None))


def accelerated_em(law: Law, weights: FloatArray, theta: FloatArray, cycles: int) -> Iterate:
    """Return where EM stands after some cycles of SQUAREM: three of its steps each, worth many.

    Two steps r = theta1 - theta and theta2 - theta1 differ by v; the cycle goes to
    theta + 2 a r + a^2 v with a = |r| / |v|, and steps once more from there. Coordinates keep at
    least a tenth of theta2, so that nothing ends at 0. L may fall: whoever needs it to rise must
    look. Varadhan and Roland, Scand. J. Statist. 35 (2008), 335-353, scheme S3.
    """
    here = _iterate(law, weights, theta)
    for _ in range(cycles):
        once = _iterate(law, weights, here.theta * here.slope)
        twice = once.theta * once.slope
        first = once.theta - here.theta
        second = twice - once.theta - first
        change = float(second @ second)
        length = max(1.0, math.sqrt(float(first @ first) / change)) if change else 1.0
        far = np.maximum(here.theta + 2 * length * first + length**2 * second, _KEPT * twice)
        ahead = _iterate(law, weights, far / far.sum())
        here = _iterate(law, weights, ahead.theta * ahead.slope)
    return here


def _iterate(law: Law, weights: FloatArray, theta: FloatArray) -> Iterate:
    fitted = law.forward(theta)
    return Iterate(theta, fitted, law.adjoint(weights / fitted))


def pulled_inside(theta: FloatArray, uniform: float) -> FloatArray:
    """Return theta mixed with this share of the uniform distribution: positive everywhere.

    >>> pulled_inside(np.array([1.0, 0.0]), 0.5)
    array([0.75, 0.25])
    """
    return np.asarray((1 - uniform) * theta + uniform / theta.size)
