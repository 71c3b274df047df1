"""The earth mover's distance between two bodies of evidence, with an interval."""

import math
from collections.abc import Callable

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.metrics import emd
from freewill.stats.covariance import OnRow
from freewill.stats.information import DENSE
from freewill.stats.one_step import OneStep

_DRAWS = 1000
_PLANE_DRAWS = 100
"""Each takes an exact transport, of some milliseconds on hundreds of cells."""


def transports_on(alphabet: Alphabet) -> int:
    """Return how many exact transports an interval takes: none with a closed form, or too many.

    >>> import freewill as fw
    >>> transports_on(fw.Linear(0, 99)), transports_on(fw.Grid(4, 5, cell=1.0))
    (0, 200)
    """
    closed = alphabet.size > DENSE or alphabet.transport(np.zeros(alphabet.size)) is not None
    return 0 if closed else 2 * _PLANE_DRAWS


def distance_between(
    one: OneStep, other: OneStep, level: float, on_transport: OnRow | None = None
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
    values are too many for a matrix, there is none: three times nan.
    """
    alphabet = one.evidence.alphabet
    if alphabet.size > DENSE:
        return np.nan, np.nan, np.nan
    exact = transports_on(alphabet)
    length, most = norm_on(alphabet, on_transport if exact else None), diameter(alphabet)
    difference = _theta(other) - _theta(one)
    found = min(length(difference), most)
    if not all(np.isfinite(some.information.standard_error()).all() for some in (one, other)):
        return found, 0.0, most
    covariance = one.information.covariance + other.information.covariance
    roots, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(roots, 0.0))
    many = _PLANE_DRAWS if exact else _DRAWS
    errors = np.random.default_rng(0).standard_normal((many, alphabet.size)) @ root.T
    # Both bodies exchanged, d has the other sign: so has each error, and lengths are the same.
    errors *= _sign(difference)
    share = (1 + level) / 2
    noise = [length(error) for error in errors]
    noisy = [length(difference + error) for error in errors]
    point = max(2 * found - float(np.median(noisy)), 0.0)
    low = max(found - quantile(noise, share), 0.0)
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
        known = alphabet.transport(difference)
        if known is not None:
            return known
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
    if alphabet.plane is None:
        return float(alphabet.size > 1)
    return float(alphabet.distance(np.array(0), np.array(alphabet.size - 1)))


def _theta(estimator: OneStep) -> FloatArray:
    """Return theta_1, which may be negative; what the reports do not tell stays as it was."""
    told = estimator.information
    return np.asarray(told.theta + told.people * told.covariance @ (estimator.slope - 1))


def _sign(difference: FloatArray) -> float:
    """Return the sign of what is largest: the first where several are."""
    largest = int(np.argmax(np.abs(difference)))
    return -1.0 if difference[largest] < 0 else 1.0
