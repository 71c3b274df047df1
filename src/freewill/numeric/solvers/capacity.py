"""The capacity of a channel: the most that its outputs can tell of its inputs, with a proof."""

from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.solvers.interior import cholesky, reach
from freewill.numeric.solvers.likelihood import one_blas_thread

_WORK = 1 << 28
"""Products a Newton step may take; beyond, steps are those of Blahut and Arimoto."""
_MAX_STEPS = 100
_SWEEPS = 500
_INSIDE = 0.99
"""Of the way to the boundary that a step goes."""
_CENTRE = 0.1
"""By how much a step lowers the mean of x s."""


class Capacity(NamedTuple):
    """The most mutual information found, in nats, how much more there may be, and the prior."""

    value: float
    gap: float
    prior: FloatArray


@one_blas_thread
def capacity(law: FloatArray, tolerance: float = 1e-12) -> Capacity:
    """Maximise the mutual information of value and output over the prior, law[value, output].

    With r = prior law and D_x = sum_y law_xy log(law_xy / r_y), the information is prior . D, and
    no prior has more than max_x D_x: that is the proof (Blahut, IEEE Transactions on Information
    Theory 18, 1972; Arimoto, in the same volume). Newton steps of an interior point towards
    D + s = lambda, x s = 0, some 20 of O(values^2 outputs); for large laws sweeps of
    Blahut and Arimoto, prior_x <- prior_x e^D_x, with whatever gap they end at.

    >>> crossed = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> found = capacity(crossed)
    >>> round(float(found.value / np.log(2)), 6), found.gap < 1e-12
    (0.531004, True)
    """
    law = np.ascontiguousarray(law[:, law.any(axis=0)])
    possible = law > 0
    own = np.where(possible, law * np.log(np.where(possible, law, 1.0)), 0.0).sum(axis=1)
    prior = np.full(len(law), 1 / len(law))
    best = _judged(law, own, prior)
    work = len(law) ** 2 * law.shape[1]
    follow = _newton if work <= _WORK else _sweeps
    return best if best.gap <= tolerance else follow(law, own, best, tolerance)


def _divergences(law: FloatArray, own: FloatArray, prior: FloatArray) -> FloatArray:
    """Return D_x: how far the outputs of each value are from those of all."""
    return np.asarray(own - law @ np.log(prior @ law))


def _judged(law: FloatArray, own: FloatArray, prior: FloatArray) -> Capacity:
    apart = _divergences(law, own, prior)
    value = float(prior @ apart)
    return Capacity(max(value, 0.0), max(float(apart.max()) - value, 0.0), prior)


def _newton(law: FloatArray, own: FloatArray, best: Capacity, tolerance: float) -> Capacity:
    """Follow D + s = lambda, x s = mu with sum x = 1, mu -> 0; the best prior met is returned."""
    point, ones = best.prior, np.ones(len(law))
    apart = _divergences(law, own, point)
    level = float(apart.max()) + best.gap
    slack = level - apart
    for _ in range(_MAX_STEPS):
        mu = _CENTRE * float(point @ slack) / point.size
        scaled = law / np.sqrt(point @ law)
        try:
            solve = cholesky(scaled @ scaled.T, slack / point)
        except np.linalg.LinAlgError:
            break
        # The change of D is -H dx, that of s what x s = mu leaves it.
        side = apart + mu / point - level
        along, across = solve(side), solve(ones)
        shift = float(along.sum() / across.sum())
        step = along - shift * across
        dual = mu / point - slack - slack / point * step
        point = point + min(1.0, _INSIDE * reach(step / point)) * step
        point /= point.sum()
        slack = slack + min(1.0, _INSIDE * reach(dual / slack)) * dual
        apart, level = _divergences(law, own, point), level + shift
        judged = _judged(law, own, point)
        best = min(best, judged, key=lambda each: each.gap)
        if best.gap <= tolerance:
            break
    return best


def _sweeps(law: FloatArray, own: FloatArray, best: Capacity, tolerance: float) -> Capacity:
    """Multiply the prior by e^D, as Blahut and Arimoto do: simple, sure and slow."""
    prior = best.prior
    for _ in range(_SWEEPS):
        apart = _divergences(law, own, prior)
        prior = prior * np.exp(apart - apart.max())
        prior /= prior.sum()
        best = min(best, _judged(law, own, prior), key=lambda each: each.gap)
        if best.gap <= tolerance:
            break
    return best
