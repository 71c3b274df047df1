"""Intervals for what no weights give: fractions of sums of theta, and mutual information."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, xlogy

from freewill.core.types import BoolArray, FloatArray, refuse_beyond
from freewill.errors import ParameterError, several
from freewill.stats.conditions import Dependence, Fraction, Fractions
from freewill.stats.covariance import OnRow
from freewill.stats.information import Estimated, OneStep, advice_on_few
from freewill.stats.intervals import Intervals, advice_on_drawn, band, normal_draws, reaches

_LARGEST = 1e9
"""The most that is shown of what has no bound."""
_DRAWS = 1000
_HALVINGS = 30
"""Steps of a bisection, to a billionth of its range."""
_BYTES = 1 << 28


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
    moving = about.moving
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
    with np.errstate(invalid="ignore"):
        covariances = np.einsum("ij,ij->i", down.rows, about.influences) / about.people
    lost = ~(np.isfinite(about.errors) & np.isfinite(down.errors) & np.isfinite(covariances))
    lost |= ~(fraction.bottom > 0)
    ends, sides = [], reaches(critical, about.shape, about.people)
    for bound, reach in zip((asked.least, asked.most), sides, strict=True):
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


def mutual_information(table: FloatArray) -> float:
    """Return sum p_ij log(p_ij / (p_i p_j)) of shares, negative ones taken for 0, in nats.

    >>> round(mutual_information(np.eye(2) / 2), 4), mutual_information(np.full((2, 3), 1 / 6))
    (0.6931, 0.0)
    """
    return float(_informations(table[None])[0])


def _informations(tables: FloatArray) -> FloatArray:
    """Return the mutual information of each table, [table, row, column]."""
    shares = np.maximum(tables, 0.0)
    shares = shares / shares.sum(axis=(1, 2), keepdims=True)
    rows, columns = shares.sum(axis=2), shares.sum(axis=1)
    whole = xlogy(shares, shares).sum(axis=(1, 2))
    parts = xlogy(rows, rows).sum(axis=1) + xlogy(columns, columns).sum(axis=1)
    return np.asarray(np.maximum(whole - parts, 0.0))


def interval_of_dependence(
    fit: OneStep, asked: Dependence, level: float, on_row: OnRow | None = None
) -> Intervals:
    """Return the mutual information of two attributes, and the interval that no chance rules out.

    Noise makes attributes look dependent: the information I of the estimated table is too large,
    and near independence it is nowhere near normal. With p_ij the table, d = p_ij - p_i p_j its
    dependence and e errors drawn from the estimate's own covariance, tables p_i p_j + s d + e are
    what would be estimated were the dependence s times as strong. The interval is from the s at
    which only (1 - level) / 2 of these look as dependent as p does, 0 where more of them do without
    any dependence, to the s at which as few look no more dependent; the point is where half do.
    Both ends are never below 0. O(draws k) a step of the bisections.
    """
    cells = len(asked.rows)
    advice = "Merge values into fewer first, or ask for an odds ratio or a correlation."
    what = f"the mutual information of {several(cells, 'cell')}"
    refuse_beyond(_BYTES, 8 * cells * max(cells, _DRAWS), what, advice, ParameterError)
    estimates = fit.estimated(asked.rows, on_row)
    if not np.isfinite(estimates.variances).all():
        raise ParameterError(
            f"the {asked.name} cannot be told: the reports do not tell all cells of the table "
            f"apart, however many there are."
        )
    table = (asked.rows @ fit.theta).reshape(asked.shape)
    covariance = estimates.rows @ estimates.influences.T / fit.evidence.people
    errors = normal_draws((covariance + covariance.T) / 2, _DRAWS).reshape(-1, *asked.shape)
    point, low, high = _inverted(table, errors, level)
    effective = float(estimates.shape.effective_people.min())
    critical = float(ndtri((1 + level) / 2))
    return Intervals(
        of=(asked.name,),
        **{name: np.array([own]) for name, own in (("point", point), ("low", low), ("high", high))},
        standard_error=np.array([(high - low) / (2 * critical)]),
        level=level,
        joint=False,
        critical=critical,
        people=fit.evidence.people,
        alphabet=fit.evidence.alphabet,
        effective_people=np.array([effective]),
        advice="" if low > 0 else "Independence is not ruled out: chance alone may look like this.",
    )


def _inverted(table: FloatArray, errors: FloatArray, level: float) -> tuple[float, float, float]:
    """Return point, low and high, each the information at a strength of the dependence."""
    rows, columns = (np.maximum(table.sum(axis=axis), 0.0) for axis in (1, 0))
    free = np.outer(rows / rows.sum(), columns / columns.sum())
    seen = mutual_information(table)

    def at(strength: float) -> FloatArray:
        # A truth has no negative shares, however large the dependence.
        truth = np.maximum(free + strength * (table - free), 0.0)
        return np.asarray(truth / truth.sum())

    def above(strength: float) -> float:
        """Return the share of tables that look as dependent as the one that was estimated."""
        return float(np.mean(_informations(at(strength) + errors) >= seen))

    tail = (1 - level) / 2
    low, middle, high = (_crossing(above, share) for share in (tail, 0.5, 1 - tail))
    # Without any dependence there is no information, whatever the logarithms round to.
    point, least, most = (
        mutual_information(at(one)) if one else 0.0 for one in (middle, low, high)
    )
    return point, min(least, point), max(most, point)


def _crossing(above: Callable[[float], float], share: float) -> float:
    """Return the least strength, from 0 to 8, at which so large a share lies above."""
    low, high = 0.0, 8.0
    if above(0.0) >= share:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) >= share else (middle, high)
    return high
