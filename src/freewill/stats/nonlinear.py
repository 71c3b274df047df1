"""Intervals for fractions of sums of theta: conditional shares and means, odds ratios."""

import numpy as np
from scipy.special import ndtri

from freewill.core.types import BoolArray, FloatArray
from freewill.stats.covariance import OnRow
from freewill.stats.efficient import Estimated, OneStep
from freewill.stats.information import advice_on_few
from freewill.stats.intervals import Intervals
from freewill.stats.reach import advice_on_drawn, band, decided_by_few, reach_of, reach_of_few
from freewill.stats.weights import Fraction, Fractions

_LARGEST = 1e9
"""The most that is shown of what has no bound."""


def intervals_of_fractions(
    fit: OneStep, asked: Fractions, level: float, joint: bool, on_row: OnRow | None = None
) -> Intervals:
    """Return intervals for A(t) / B(t), with t = H theta_1, by Fieller's theorem.

    For the true value r, A - r B is 0, and estimated with the variance
    v(r) = var A - 2 r cov(A, B) + r^2 var B, all by the delta method at theta_1. The interval holds
    all r with (A - r B)^2 <= z^2 v(r), z the reach to the side of r (`reach_of`). Where B is far
    above its error these are the ends of the delta method for A / B; where it is not clearly above
    0, they are as far apart as what can be said, up to all that the functional can be. O(m^2 k)
    for m functionals, beyond 1,024 values 2 m solves.
    """
    fraction = asked.at(asked.rows @ fit.theta)
    down = fit.estimated(fraction.bottom_gradient @ asked.rows, on_row)
    point = _within(fraction, asked)
    gradient = fraction.top_gradient - point[:, None] * fraction.bottom_gradient
    about = fit.estimated(gradient @ asked.rows, on_row, joint)
    critical = _critical(about, level, joint)
    low, high = _ends(fraction, point, about, down, critical, asked)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(fraction.bottom > 0, about.errors / fraction.bottom, np.inf)
    unsure = ~(fraction.bottom > critical * down.errors)
    return Intervals(
        of=asked.names,
        point=point,
        low=low,
        high=high,
        standard_error=errors,
        level=level,
        joint=joint,
        critical=critical,
        people=about.people,
        alphabet=asked.about or fit.evidence.alphabet,
        effective_people=about.shape.effective_people,
        advice=_advice(fit, asked, about, unsure),
    )


def _within(fraction: Fraction, asked: Fractions) -> FloatArray:
    """Return A / B within what it can be; where B is not above 0, the end that A points to."""
    top, bottom = fraction.top, fraction.bottom
    largest = np.where(np.isfinite(asked.most), asked.most, _LARGEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bottom > 0, top / bottom, np.where(top > 0, largest, asked.least))
    return np.asarray(np.clip(ratio, asked.least, largest))


def _critical(about: Estimated, level: float, joint: bool) -> float:
    """Return how many standard errors intervals reach: each alone, or all of them at once."""
    variances = about.variances
    moving = np.isfinite(variances) & (variances > 0)
    if not joint or not moving.any():
        return float(ndtri((1 + level) / 2))
    covariance = about.rows[moving] @ about.influences[moving].T
    return band((covariance + covariance.T) / 2, about.shape.skewness[moving], level)


def _ends(
    fraction: Fraction,
    point: FloatArray,
    about: Estimated,
    down: Estimated,
    critical: float,
    asked: Fractions,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each interval, within what can be.

    With x = r - point, v(r) = v - 2 c x + w x^2, v of A - point B, c its covariance with B and w
    the variance of B: (B^2 - z^2 w) x^2 + 2 z^2 c x - z^2 v <= 0.
    """
    skewness, effective = about.shape
    usual, few = reach_of(critical, skewness), reach_of_few(critical, skewness, effective)
    reaches = np.where(decided_by_few(about.shape, about.people), few, usual)
    with np.errstate(invalid="ignore"):
        covariances = np.einsum("ij,ij->i", down.rows, about.influences) / about.people
    lost = ~(np.isfinite(about.errors) & np.isfinite(down.errors) & np.isfinite(covariances))
    lost |= ~(fraction.bottom > 0)
    ends = []
    for bound, reach in zip((asked.least, asked.most), reaches, strict=True):
        square = np.square(reach)
        with np.errstate(invalid="ignore"):
            terms = (
                np.square(fraction.bottom) - square * np.square(down.errors),
                square * covariances,
                square * np.square(about.errors),
            )
        room = bound - point
        ends.append(np.where(lost, bound, point + _furthest(*terms, room)))
    return np.minimum(ends[0], point), np.maximum(ends[1], point)


def _furthest(a: FloatArray, b: FloatArray, c: FloatArray, room: FloatArray) -> FloatArray:
    """Return the furthest x from 0 towards `room` with a x^2 + 2 b x - c <= 0, for c >= 0.

    For a > 0 that is a root. Else all x but those between two roots of one sign, if there are any:
    the nearer root where the room ends between them.

    >>> one = np.ones(1)
    >>> _furthest(one, 0 * one, 4 * one, 9 * one), _furthest(-one, 3 * one, 5 * one, 2 * one)
    (array([2.]), array([1.]))
    """
    side = np.where(room < 0, -1.0, 1.0)
    with np.errstate(all="ignore"):
        under = np.square(b) + a * c
        root = np.sqrt(np.maximum(under, 0.0))
        bounded = (-b + side * root) / a
        far = (-b - side * root) / a
        near = -c / (a * far)
        between = (under > 0) & (side * b > 0) & (np.abs(room) < np.abs(far))
    move = np.where(a > 0, bounded, np.where(between, near, room))
    return np.asarray(np.where(np.abs(move) < np.abs(room), move, room))


def _advice(fit: OneStep, asked: Fractions, about: Estimated, unsure: BoolArray) -> str:
    """Say what rests on few people, and where the denominator may be 0."""
    parts = [advice_on_few(asked.names, about.shape.effective_people, about.people)]
    parts.append(advice_on_drawn(fit.information, about.influences))
    if unsure.any():
        many = "" if unsure.all() else f" for {int(unsure.sum())} of {len(unsure)}"
        parts.insert(
            0,
            f"{asked.bottom[0].upper()}{asked.bottom[1:]} is not clearly above 0{many}: reports "
            f"tell little of those people, and intervals are as wide as that.",
        )
    return " ".join(filter(None, parts))
