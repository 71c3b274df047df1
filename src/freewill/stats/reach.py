"""How many standard errors intervals of skewed estimates reach, and bands have to."""

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from freewill.core.types import BoolArray, FloatArray

_LEAST_DEGREES = 2.0
"""Of freedom: below, Student's quantiles are larger than what anything could be."""


def reach_of_few(
    critical: float, skewness: FloatArray, effective_people: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors an interval reaches down and up that rests on N people.

    With t Student's quantile for the chance of the normal one, and s the skewness to this side, the
    reach d solves d^2 = t^2 (1 + s d), for the variance at the end is larger by s d to first order,
    and is shorter by the Cornish-Fisher term s (t^2 - 1) / 6. For small s that is
    t + s (2 t^2 + 1) / 6, as elsewhere. t has N/2 - 1 degrees: those of a variance of N scores of
    kurtosis 5, and in simulations what makes up for scores that were fitted to the same people.

    >>> down, up = reach_of_few(1.96, np.array([0.92]), np.array([1e9]))  # of one in 20 people
    >>> down.round(2), up.round(2)  # exact: 4.08
    (array([1.96]), array([3.97]))
    """
    degrees = np.maximum(effective_people / 2 - 1, _LEAST_DEGREES)
    student = stdtrit(degrees, ndtr(critical))

    def reach(skew: FloatArray) -> FloatArray:
        half = student**2 * skew / 2
        return np.asarray(half + np.hypot(half, student) - skew * (student**2 - 1) / 6)

    return reach(np.maximum(-skewness, 0)), reach(np.maximum(skewness, 0))


def critical_of(
    draws: FloatArray,
    skewness: FloatArray,
    level: float,
    ends: tuple[BoolArray | bool, BoolArray | bool] = (False, False),
) -> float:
    """Return the quantile of what draws of all errors ask for; no less than one interval alone.

    A skewed estimate that is far off to its long side has a larger standard error there, and asks
    for fewer; to the other side the interval is longer by as much as it would ask for more. `ends`
    says which estimates are at their most, and at their least.
    """
    # An estimate that is too high leaves its interval below, and the other way round.
    down = np.where(ends[0], 0.0, reach_needed(draws, np.maximum(skewness, 0)))
    up = np.where(ends[1], 0.0, reach_needed(-draws, np.maximum(-skewness, 0)))
    joint = float(np.quantile(np.maximum(down, up).max(axis=1), level))
    return max(joint, float(ndtri((1 + level) / 2)))


def reach_needed(deviations: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the number c with c + skewness (2 c^2 + 1) / 6 = deviation, where that is positive."""
    beyond = np.maximum(deviations - skewness / 6, 0.0)
    return np.asarray(2 * beyond / (1 + np.sqrt(1 + 4 / 3 * skewness * beyond)))
