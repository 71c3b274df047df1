"""How distributions differ: the earth mover's distance, what tests look along, and their tails."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, ndtr

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import (
    Alphabet,
    Raster,
    attributes_of,
    has_distance,
    has_raster,
    raster_of,
)
from freewill.domain.metrics import emd
from freewill.stats.covariance import OnRow
from freewill.stats.information import DENSE
from freewill.stats.reach import normal_draws

if TYPE_CHECKING:
    from freewill.stats.efficient import OneStep

_DRAWS = 1000
_PLANE_DRAWS = 100
"""Each takes an exact transport, of some milliseconds on hundreds of cells."""
_COMPONENTS = 64
"""Principal functions of a distance that are tested: the further ones are far too rough."""
WAVES = 24
"""Functions that are tested where values are too many for a matrix."""
_NEGLIGIBLE = 1e-9
"""Weights of a sum of squares, as shares of the largest, that change nothing."""
_LEAST_P, _MOST_P = 1e-300, 0.99
"""Between which p-values are combined."""
_ROUNDING = 1e-14
_NEAR = 1e-3
"""Distance to the mean, in standard deviations, within which the formula of a tail is 0 / 0."""


def transports_on(alphabet: Alphabet) -> int:
    """Return how many exact transports an interval takes: none with a closed form, or too many.

    >>> import freewill as fw
    >>> transports_on(fw.Linear(0, 99)), transports_on(fw.Grid(4, 5, cell=1.0))
    (0, 200)
    """
    if not has_distance(alphabet):
        return 0
    closed = alphabet.size > DENSE or alphabet.transport(np.zeros(alphabet.size)) is not None
    return 0 if closed else 2 * _PLANE_DRAWS


def distance_between(
    one: "OneStep", other: "OneStep", level: float, on_transport: OnRow | None = None
) -> tuple[float, float, float]:
    """Return the earth mover's distance between two thetas, and an interval for it.

    The distance is a norm of the difference d: on a line the sum of |cumulative d|, without
    geometry the total variation, in the plane the least transport. The efficient estimate d + e of
    it has an error e of known covariance C_1 / n_1 + C_2 / n_2, which can be drawn. Then

        low   ||d + e|| less the quantile (1 + level) / 2 of ||e*||:
              the triangle inequality, ||d|| >= ||d + e|| - ||e||;
        high  the quantile (1 + level) / 2 of ||d + e + e*||: where f is the potential of d, with
              f'd = ||d||, it is at least f'(d + e) and z standard errors of it, and that is at
              least f'd as often as a one-sided normal interval holds;
        point ||d + e|| less what another e* adds to it, in the median: noise adds to a norm.

    So the interval holds the distance in `level` of all cases or more, where e is normal, in
    whichever geometry; both ends are kept within 0 and the largest distance of two values. Where
    values are too many for a matrix, or are records without a distance, there is none: three times
    nan.
    """
    alphabet = one.evidence.alphabet
    if alphabet.size > DENSE or not has_distance(alphabet):
        return np.nan, np.nan, np.nan
    exact = transports_on(alphabet)
    length, most = norm_on(alphabet, on_transport if exact else None), diameter(alphabet)
    difference = other.theta - one.theta
    distance = min(length(difference), most)
    if not all(np.isfinite(some.information.standard_error()).all() for some in (one, other)):
        return distance, 0.0, most
    covariance = one.information.covariance + other.information.covariance
    errors = normal_draws(covariance, _PLANE_DRAWS if exact else _DRAWS)
    # Both bodies exchanged, d has the other sign: so has each error, and lengths are the same.
    errors *= -1.0 if difference[np.argmax(np.abs(difference))] < 0 else 1.0
    share = (1 + level) / 2
    noise = [length(error) for error in errors]
    noisy = [length(difference + error) for error in errors]
    point = max(2 * distance - float(np.median(noisy)), 0.0)
    low = max(distance - quantile(noise, share), 0.0)
    high = min(quantile(noisy, share), most)
    return min(max(point, low), high), low, high


def quantile(drawn: list[float], share: float) -> float:
    """Return what another draw does not exceed with at least this probability, if any draw does.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    place = math.ceil(share * (len(drawn) + 1)) - 1
    return sorted(drawn)[min(place, len(drawn) - 1)]


def norm_on(alphabet: Alphabet, on_length: OnRow | None = None) -> Callable[[FloatArray], float]:
    """Return the earth mover's norm of differences, which sum to 0; tell of each one taken."""

    def length(difference: FloatArray) -> float:
        if on_length is not None:
            on_length(1)
        closed = alphabet.transport(difference)
        if closed is not None:
            return closed
        more, less = np.maximum(difference, 0.0), np.maximum(-difference, 0.0)
        mass = float(more.sum())
        return mass * emd(more, less, alphabet) if mass > 0 and less.any() else 0.0

    return length


def diameter(alphabet: Alphabet) -> float:
    """Return the largest distance of two values: of corners, on a line or in the plane.

    >>> import freewill as fw
    >>> diameter(fw.Linear(0, 99)), diameter(fw.Grid(4, 5, cell=1.0))
    (99.0, 5.0)
    """
    product: Any = alphabet
    if attributes_of(alphabet):
        weighted = zip(product.weights.values(), product.attributes.values(), strict=True)
        return float(sum(weight * diameter(own) for weight, own in weighted))
    if not has_raster(alphabet):
        return float(alphabet.size > 1)
    if alphabet.plane is None:
        return float(product.apart[1])
    return float(alphabet.distance(np.array(0), np.array(alphabet.size - 1)))


def single_differences(theta: FloatArray) -> FloatArray:
    """Return theta f, f free for each value; for the most common ones where they are very many.

    >>> single_differences(np.array([0.5, 0.5]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    many = theta.size if theta.size <= DENSE else WAVES
    common = np.sort(np.argsort(-theta, kind="stable")[:many])
    return _tilted(theta, np.asarray(np.arange(theta.size) == common[:, None], dtype=float))


def smooth_differences(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return theta f for the principal functions f of the covariance -d(x, y) under theta.

    Where values are too many for a matrix, f are cosines, as long as such functions are.
    """
    if alphabet.size > DENSE:
        return _tilted(theta, _cosines(alphabet))
    places = np.arange(alphabet.size)
    kernel = -alphabet.distance(places[:, None], places[None, :])
    # Centred under theta: a constant in f is no difference.
    means = kernel @ theta
    kernel = kernel - means[:, None] - means + means @ theta
    weight = np.sqrt(theta)
    roots, vectors = np.linalg.eigh(kernel * weight[:, None] * weight)
    largest = slice(-min(_COMPONENTS, theta.size), None)
    return np.asarray((vectors[:, largest] * np.sqrt(np.maximum(roots[largest], 0.0))).T * weight)


def displacements(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return how theta changes where everybody moves by a cell: along a line, north and east.

    Half of the difference between a cell forth and a cell back; at the border people stay.

    >>> import freewill as fw
    >>> displacements(np.array([0.5, 0.3, 0.2]), fw.Linear(0, 2))
    array([[-0.4 ,  0.15,  0.25]])
    """
    raster = raster_of(alphabet) or Raster(1, alphabet.size, np.arange(alphabet.size))
    places = np.divmod(raster.cells, raster.columns)
    rows = []
    for axis, (count, step) in enumerate(((raster.rows, raster.columns), (raster.columns, 1))):
        if count > 1:
            forth = _moved(theta, raster, np.where(places[axis] < count - 1, step, 0))
            back = _moved(theta, raster, np.where(places[axis] > 0, -step, 0))
            rows.append((forth - back) / 2)
    return np.array(rows).reshape(len(rows), theta.size)


def _moved(theta: FloatArray, raster: Raster, steps: IntArray) -> FloatArray:
    """Return theta after everybody took a step, but for those whom it would lead to no value."""
    indices = np.full(raster.rows * raster.columns, -1)
    indices[raster.cells] = np.arange(theta.size)
    led = indices[raster.cells + steps]
    moved = np.bincount(np.where(led < 0, np.arange(theta.size), led), theta, theta.size)
    return np.asarray(moved, dtype=np.float64)


def _tilted(theta: FloatArray, functions: FloatArray) -> FloatArray:
    return np.asarray(theta * (functions - (functions @ theta)[:, None]))


def _cosines(alphabet: Alphabet) -> FloatArray:
    """Return cosines over a line or plane, the longest waves first."""
    rows, columns, cells = raster_of(alphabet) or (1, alphabet.size, np.arange(alphabet.size))
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    north, east = [1.0] * (2 - len(lengths)) + lengths
    most = WAVES + 1  # the first of all is constant
    pairs = [(i, j) for i in range(min(rows, most)) for j in range(min(columns, most))]
    waves = sorted((math.hypot(i / north, j / east), i, j) for i, j in pairs)[1:most]
    power = (1 + len(lengths)) / 2
    return np.stack([_wave(rows, i)[:, None] * _wave(columns, j) / pitch**power
                     for pitch, i, j in waves]).reshape(len(waves), -1)[:, cells]  # fmt: skip


def _wave(size: int, number: int) -> FloatArray:
    return np.asarray(np.cos(np.pi * number * (np.arange(size) + 0.5) / size))


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
    cotangents = [1 / math.tan(math.pi * min(max(p, _LEAST_P), _MOST_P)) for p in p_values]
    return math.atan2(1.0, math.fsum(cotangents) / len(cotangents)) / math.pi


def written(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> written(0.41234), written(0.0003), written(1e-9), written(1.0)
    ('p = 0.41', 'p = 0.0003', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
