"""How far intervals reach: of skewed estimates, of bands, and of what rests on few people."""

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from freewill.core.types import BoolArray, FloatArray
from freewill.errors import several
from freewill.numeric.operators.moments import effective_share
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group
from freewill.stats.information import PULL, SHARE, Information, Shape, advice_on_few, root_of
from freewill.stats.weights import Weights

_DRAWS = 2000
"""Of normal errors, from which bands take their number of standard errors."""
FIRM = 1 / 3
"""Share of the uniform distribution in a theta_w on which a few reports do not decide."""
_HALF = 0.5
"""Of what the observed variance of a value has beyond the expected one, in bands."""
_MOST_SCORES = 1 << 22
"""Numbers that the law of a group's reports, or their scores, may have to be looked at."""
_LEAST_DEGREES = 2.0
"""Of freedom: below, Student's quantiles are larger than what anything could be."""
_WIDE = 0.5
"""Standard errors, as shares of what a functional is, beyond which it is hardly known."""
_ASKED = 8
"""Functionals of which it is asked how well drawn reports know their errors."""


def firm_pull(people: int, size: int) -> float:
    """Return the people a value by whom theta is pulled so that a third of it is uniform."""
    return max(people / size, 1.0) * FIRM / (1 - FIRM)


def decided_by_few(shape: Shape, people: int) -> BoolArray:
    """Say which functionals rest on so small a share of the people that the others hide them."""
    return np.asarray(shape.effective_people < SHARE * people)


def observed_powers(
    evidence: Evidence, information: Information, influences: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance and the third central moment of the scores of each group's reports.

    The score of a report z along u = C h is a(z|.)'u / p(z), with p at the theta of the
    information, [group, functional]. What lies in files, or is too much to be looked at, has the
    moments expected there.
    """
    square, cube = information.powers(influences)
    for place, group in enumerate(evidence.groups):
        if group.held and group.rows * max(influences.shape) <= _MOST_SCORES:
            square[place], cube[place] = _moments(group, information.theta, influences)
    return square, cube


def _moments(
    group: Group, theta: FloatArray, influences: FloatArray
) -> tuple[FloatArray, FloatArray]:
    law, counts, people = group.operator.dense(), group.counts, group.people
    scores = law @ influences.T / (law @ theta)[:, None]
    scores -= counts @ scores / people
    square = scores * scores
    return counts @ square / max(people - 1, 1), counts @ (square * scores) / people


def with_observed(
    evidence: Evidence, information: Information, influences: FloatArray, few: bool
) -> tuple[FloatArray, Shape]:
    """Return variances, for one person, and shapes that take in what was observed.

    With V the variance expected at theta_w and W the observed one, a value that is estimated high
    by chance has a W that rises with it, and a V that does not where theta_w is not moved by it:
    in bands the variance is V + max(W - V, 0) / 2.

    What rests on N people (`few`) has W + r max(V - W, 0), with theta_w a third uniform and r the
    share of V - W that is left where half a person a value, counted in these N, is added to
    theta instead: r = 3 m k / (N + m k), m = min(1, N/k) / 2, all of it for N <= k.
    """
    shares = information.shares
    square, cube = information.powers(influences)
    seen_square, seen_cube = observed_powers(evidence, information, influences)
    expected, observed = shares @ square, shares @ seen_square
    third, seen_third = shares @ cube, shares @ seen_cube
    people = information.people * effective_share(shares, square)
    if few:
        added = PULL * np.minimum(people, information.theta.size)
        rest = np.minimum(added / (people + added) / FIRM, 1.0)
        variances = observed + rest * np.maximum(expected - observed, 0.0)
        third = seen_third + rest * (third - seen_third)
    else:
        variances = expected + _HALF * np.maximum(observed - expected, 0.0)
    return variances, Shape(third / (variances**1.5 * np.sqrt(information.people)), people)


def reach_of(critical: FloatArray | float, skewness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors an interval reaches down and up.

    The Edgeworth term of a studentised mean, where the variance at the truth would be larger than
    at the estimate. The other side keeps its length: near the border theta_w does not follow.
    """
    term = (2 * np.square(critical) + 1) / 6
    return critical + term * np.maximum(-skewness, 0), critical + term * np.maximum(skewness, 0)


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


def reaches(critical: float, shape: Shape, people: int) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors intervals reach down and up, on few people or on many."""
    few, many = reach_of_few(critical, *shape), reach_of(critical, shape.skewness)
    down, up = np.where(decided_by_few(shape, people), few, many)
    return down, up


def reach_needed(deviations: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the number c with c + skewness (2 c^2 + 1) / 6 = deviation, where that is positive."""
    beyond = np.maximum(deviations - skewness / 6, 0.0)
    return np.asarray(2 * beyond / (1 + np.sqrt(1 + 4 / 3 * skewness * beyond)))


def advice_on(
    information: Information,
    weights: Weights,
    point: FloatArray,
    errors: FloatArray,
    influences: FloatArray,
    effective_people: FloatArray,
) -> str:
    """Say what is hardly known, what rests on few people, and what drawn reports leave open."""
    few = advice_on_few(weights.names, effective_people, information.people)
    parts = (hardly_known(weights, point, errors), few, advice_on_drawn(information, influences))
    return " ".join(filter(None, parts))


def advice_on_drawn(information: Information, influences: FloatArray) -> str:
    """Say how well errors are known, where what reports tell was found from some that were drawn.

    The variance of h'theta is a sum over groups, of which each that was drawn has an error of its
    own; what N drawn reports add to it beside, k / (N - k) of it, is to the safe side.
    """
    each = [getattr(moments, "error", None) for moments in information.moments]
    drawn = [error is not None for error in each]
    finite = influences[np.isfinite(influences).all(axis=1)]
    rows = finite[np.linspace(0, len(finite) - 1, min(_ASKED, len(finite))).astype(int)]
    if not any(drawn) or not np.any(rows):
        return ""
    own = information.shares[:, None] * information.powers(rows)[0]
    errors = [
        part * error(rows) for part, error in zip(own, each, strict=True) if error is not None
    ]
    total = np.maximum(own.sum(axis=0), 1e-300)
    # Half of a variance's error is that of its root.
    off = float((np.sqrt(np.square(errors).sum(axis=0)) / total).max()) / 2
    names = sorted(
        {part[0].name for part, one in zip(information.parts, drawn, strict=True) if one}
    )
    lift = max(float(getattr(moments, "lift", 0.0)) for moments in information.moments)
    more = f", and may be too large by {100 * lift:.2g} %" if lift > off else ""
    return (
        f"What reports of {', '.join(names)} tell was found from some that were drawn: standard "
        f"errors are known to about {100 * off:.1g} %{more}."
    )


def hardly_known(weights: Weights, point: FloatArray, errors: FloatArray) -> str:
    """Say which of many functionals are hardly known, and what is known better."""
    if len(point) < 2:
        return ""
    blind = int(np.isinf(errors).sum())
    faint = int((errors > np.maximum(_WIDE * (point - weights.least), 1e-300)).sum())
    many = f"{blind} of {several(len(point), 'share')} cannot be told at all: " if blind else ""
    if faint < len(point) / 2 and not blind:
        return ""
    return (
        f"{many}{faint} of {len(point)} have a standard error of more than half of what "
        f"they are{f': {weights.better}' if weights.better else ''}."
    )


def band(covariance: FloatArray, skewness: FloatArray, level: float) -> float:
    """Return the number of standard errors with which all intervals hold at once, by draws.

    >>> round(band(np.eye(1), np.zeros(1), 0.95), 1)
    2.0
    """
    scale = 1 / np.sqrt(np.diag(covariance))
    draws = normal_draws(covariance * scale[:, None] * scale)
    # Draws of both signs: to exchange what is compared must change nothing.
    return critical_of(np.concatenate([draws, -draws]), skewness, level)


def normal_draws(covariance: FloatArray, many: int = _DRAWS) -> FloatArray:
    """Return draws of N(0, covariance), the same at each call, in rows."""
    root = root_of(covariance)
    return np.asarray(np.random.default_rng(0).standard_normal((many, len(root))) @ root.T)
