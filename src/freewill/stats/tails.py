"""Tails: the chance that a weighted sum of squares exceeds a value, and how it is written."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc, ndtr

from freewill.core.types import FloatArray

_NEGLIGIBLE = 1e-9
"""Weights, as shares of the largest, that change nothing."""
_LEAST, _MOST = 1e-300, 0.99
"""Between which p-values are combined."""
_ROUNDING = 1e-14
_NEAR = 1e-3
"""Distance to the mean, in standard deviations, within which the formula is 0 / 0."""


def weighted_chi_square_tail(value: float, weights: FloatArray) -> float:
    """Return P(sum_j w_j Z_j^2 > value) for independent standard normal Z.

    By the saddlepoint formula of Lugannani and Rice: with K(t) = -1/2 sum log(1 - 2 t w_j), the t
    with K'(t) = value, r = sign(t) sqrt(2 (t value - K(t))) and v = t sqrt(K''(t)), it is
    Phi(-r - log(v / r) / r), good to some percent of itself however small it is.

    >>> round(weighted_chi_square_tail(3.84, np.array([1.0])), 3)
    0.05
    >>> round(weighted_chi_square_tail(7.0, np.array([2.0, 1.0, 0.5])), 4)
    0.1174
    """
    heavy = weights[weights > _NEGLIGIBLE * weights.max(initial=0.0)]
    if not heavy.size or not value > 0:
        return 1.0
    largest = float(heavy.max())
    heavy, value = heavy / largest, value / largest
    if heavy.min() == 1:
        return float(chdtrc(heavy.size, value))
    mean, deviation = float(heavy.sum()), math.sqrt(2 * float(heavy @ heavy))
    if abs(value - mean) < _NEAR * deviation:
        # Straight across the point where the formula cannot be evaluated.
        return (_tail(mean - _NEAR * deviation, heavy) + _tail(mean + _NEAR * deviation, heavy)) / 2
    return _tail(value, heavy)


def _tail(value: float, weights: FloatArray) -> float:
    # K' is convex and rises from 0 at minus infinity to infinity at 1/2: from above its root,
    # Newton's method falls to it and never below.
    point = 0.5 * (1 - 1 / (2 + 2 * value))
    while np.sum(weights / (1 - 2 * point * weights)) < value:
        point = (point + 0.5) / 2
    step = 1.0
    while step > _ROUNDING * max(abs(point), 1e-3):
        ratios = weights / (1 - 2 * point * weights)
        step = float((ratios.sum() - value) / (2 * ratios @ ratios))
        point -= step
    factors = 1 - 2 * point * weights
    root = math.copysign(
        math.sqrt(max(2 * point * value + float(np.log(factors).sum()), 0.0)), point
    )
    curve = point * math.sqrt(2 * float(np.sum(np.square(weights / factors))))
    return float(ndtr(-root - math.log(curve / root) / root))


def combined(p_values: Sequence[float]) -> float:
    """Return the p-value of several tests of one hypothesis, however they depend on each other.

    If p is uniform, cot(pi p) is a Cauchy number, and so is the mean of several, exactly where they
    are independent and in the tail whatever they are (Liu and Xie, 2020):

        p = P(Cauchy > mean_i cot(pi p_i)).

    >>> round(combined([0.03, 0.03]), 4), round(combined([0.001, 0.6]), 4)
    (0.03, 0.002)
    """
    # A p-value of 1 would outweigh all others.
    cotangents = [1 / math.tan(math.pi * min(max(p, _LEAST), _MOST)) for p in p_values]
    return math.atan2(1.0, math.fsum(cotangents) / len(cotangents)) / math.pi


def written(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> written(0.41234), written(0.0003), written(1e-9), written(1.0)
    ('p = 0.41', 'p = 0.0003', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
