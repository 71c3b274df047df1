"""The EM iteration: the start of better methods, and what is left where they do not fit."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from freewill.types import FloatArray

_DENORMAL = 1e-150
"""Below that a weight is as good as 0, and denormal products are many times slower."""


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


def em_steps(
    law: Law, weights: FloatArray, theta: FloatArray, uniform: float = 0.0
) -> Iterator[Iterate]:
    """Yield the start, and then theta <- theta * P'(w / P theta) for ever (algorithm 1).

    No step needs to be normalised: sum_x theta_x g_x = sum_j w_j, whatever theta sums to.
    `uniform` is a share of the uniform distribution mixed into each step, to stay away from 0.
    """
    while True:
        fitted = law.forward(theta)
        slope = law.adjoint(weights / fitted)
        yield Iterate(theta, fitted, slope)
        theta = theta * slope
        if uniform:
            theta = pulled_inside(theta, uniform)
        else:
            # Products by FFT may leave a slope near 0 on its wrong side.
            theta[theta < _DENORMAL] = 0.0


def after_em(
    law: Law, weights: FloatArray, theta: FloatArray, steps: int, uniform: float = 0.0
) -> Iterate:
    """Return where EM stands after so many steps."""
    return next(islice(em_steps(law, weights, theta, uniform), steps, None))


def pulled_inside(theta: FloatArray, uniform: float) -> FloatArray:
    """Return theta mixed with this share of the uniform distribution: positive everywhere.

    >>> pulled_inside(np.array([1.0, 0.0]), 0.5)
    array([0.75, 0.25])
    """
    return np.asarray((1 - uniform) * theta + uniform / theta.size)
