"""How far two attributes depend on each other: the interval of their mutual information."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, xlogy

from freewill.core.types import FloatArray, refuse_beyond
from freewill.errors import ParameterError, several
from freewill.stats.covariance import OnRow
from freewill.stats.efficient import OneStep
from freewill.stats.intervals import Intervals
from freewill.stats.reach import normal_draws
from freewill.stats.weights import Dependence

_DRAWS = 1000
_HALVINGS = 30
"""Steps of a bisection, to a billionth of its range."""
_BYTES = 1 << 28


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
