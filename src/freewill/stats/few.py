"""What rests on few people: which functionals do, and variances that take in what was observed."""

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.numeric.operators.moments import effective_share
from freewill.stats.evidence import Evidence, Group
from freewill.stats.information import PULL, SHARE, Information, Shape

FIRM = 1 / 3
"""Share of the uniform distribution in a theta_w on which a few reports do not decide."""
_HALF = 0.5
"""Of what the observed variance of a value has beyond the expected one, in bands."""
_MOST_SCORES = 1 << 22
"""Numbers that the law of a group's reports, or their scores, may have to be looked at."""


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
