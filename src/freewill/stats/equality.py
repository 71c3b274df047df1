"""Whether two bodies of evidence come from the same theta: a score test, by permutation."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.stats.difference import WAVES, single_differences, smooth_differences
from freewill.stats.estimators.estimate import Work, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, merge
from freewill.stats.information import DENSE, Information, information_at, pulled
from freewill.stats.permutation import p_value, redrawn

_LEFT = 0.05
"""Share of the information that must be left for a second test."""
_MOST_P = 1 - 1e-16
_ROUNDING = 1e-9
"""Eigenvalues, as shares of the largest, that are none."""


class Direction(NamedTuple):
    """The score S along some rows L: L'S, its covariance, and what it weighs U_2 and U_1 by."""

    score: FloatArray
    covariance: FloatArray
    weights: tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Scores:
    """What two bodies of evidence say about their difference, were theta the same in both.

    At the pooled theta, let U_i be the sum of a / p - 1 over the reports of body i, and
    I_i = n_i K_i its covariance. With P = (I_1 + I_2)^-, the efficient score of the difference is

        S = I_1 P U_2 - I_2 P U_1,      cov S = W = I_1 P I_2,

    theta projected out; a difference delta shifts S by W delta. No inverse of a single body's
    information is needed, and exchanging the two changes a sign.
    """

    mode: FloatArray
    """The theta that is most likely for both."""
    one: Information
    other: Information
    pooled: Information
    slopes: tuple[FloatArray, FloatArray]
    """g - 1 of each body, at the pooled theta."""

    @classmethod
    def of(cls, one: Evidence, other: Evidence, work: Work) -> "Scores":
        """Return the scores at the theta that is most likely for both, pulled inside."""
        everyone = merge([one, other])
        mode = gibu(everyone, on_step=work.maximum(default_tolerance(everyone))).theta
        theta = pulled(mode, everyone.people)
        first, second, both = (information_at(some, theta) for some in (one, other, everyone))
        slopes = slope_at(one, theta) - 1, slope_at(other, theta) - 1
        return cls(mode, first, second, both, slopes)

    def along(self, rows: FloatArray, work: Work) -> Direction:
        """Return L'S, L'W L, L'I_1 P and L'I_2 P for differences L, in rows that sum to 0."""
        first = self.one.people * self.one.products(rows)
        second = self.other.people * self.other.products(rows)
        weights = self._solve(first, work), self._solve(second, work)
        score = weights[0] @ (self.other.people * self.slopes[1])
        score -= weights[1] @ (self.one.people * self.slopes[0])
        covariance = first @ weights[1].T
        return Direction(score, (covariance + covariance.T) / 2, weights)

    def _solve(self, rows: FloatArray, work: Work) -> FloatArray:
        """Return P u for each row u that the information can reach."""
        if self.pooled.alphabet.size <= DENSE:
            return np.asarray(rows @ self.pooled.covariance)
        return self.pooled.influences(rows, work.solved) / self.pooled.people


def solves_of(alphabet: Alphabet) -> int:
    """Return how many solves the test takes where values are too many for a matrix; else none."""
    return 2 * min(WAVES, alphabet.size - 1) if alphabet.size > DENSE else 0


def equality(one: Evidence, other: Evidence, work: Work | None = None) -> float:
    """Return the p-value of a test that both bodies of evidence come from the same theta.

    Differences theta f are tested with f smooth over the alphabet's distance d (f has the
    covariance -d(x, y), which has no scale to choose: Brownian motion on a line), then with f free
    for each value, common values first, in what the smooth ones leave. The two are independent, so
    that the smaller of their p-values counts as 1 - (1 - p)^2. Without neighbours the second is
    alone. So far it is a formula, good for many people. How often a smaller one comes by chance is
    then counted, people exchanged between the two (`redrawn`).
    """
    work = work or Work(None)
    scores = Scores.of(one, other, work)
    theta, alphabet = scores.mode, one.alphabet
    rows = [smooth_differences(theta, alphabet)] if has_raster(alphabet) else []
    if not has_raster(alphabet) or alphabet.size <= DENSE:
        rows.append(single_differences(theta))
    score, covariance, weights = scores.along(np.concatenate(rows), work)
    if not (np.isfinite(score).all() and np.isfinite(covariance).all()):
        return 1.0
    stages = whitened(covariance, [len(stage) for stage in rows])
    if not stages:
        return 1.0
    turn = np.concatenate(stages)
    widths = [len(stage) for stage in stages]
    sides = (one, -turn @ weights[1]), (other, turn @ weights[0])
    draws = redrawn(sides, scores.pooled.theta)
    return p_value(turn @ score, draws, lambda some: by_formula(some, widths))


def whitened(covariance: FloatArray, sizes: list[int], *, every: bool = False) -> list[FloatArray]:
    """Return the rows of tests one after the other, each in what those before leave.

    The score is normal with the covariance V under the hypothesis, and the sizes say which of it
    each stage looks at. With the stage's block of V = Q diag(lambda) Q', it takes the r largest
    lambda, r = (sum lambda)^2 / sum lambda^2 rounded up (`every`: all that are more than rounding),
    and the rows Q_j' / sqrt(lambda_j). These directions are then projected out of what is left. All
    rows times the score are independent and standard normal.
    """
    whole, left, begin = np.diag(covariance), np.eye(len(covariance)), 0
    stages: list[FloatArray] = []
    for size in sizes:
        block = slice(begin, begin + size)
        begin += size
        if not np.trace(covariance[block, block]) > _LEFT * whole[block].sum():
            continue
        roots, vectors = np.linalg.eigh(covariance[block, block])
        parts = np.maximum(roots[::-1] / roots[-1], 0.0)
        freedom = math.ceil(parts.sum() ** 2 / np.square(parts).sum() - 1e-6)
        if every:
            freedom = int(np.count_nonzero(parts > _ROUNDING))
        best = vectors[:, ::-1][:, :freedom] / np.sqrt(roots[::-1][:freedom])
        stages.append(best.T @ left[block])
        shared = covariance[:, block] @ best
        left, covariance = left - shared @ stages[-1], covariance - shared @ shared.T
    return stages


def by_formula(scores: FloatArray, widths: list[int]) -> FloatArray:
    """Return the p-value of each row of whitened scores: that of its most unlikely stage.

    1 where there is no stage, for the reports tell of no difference.

    >>> by_formula(np.array([[1.96], [0.0]]), [1]).round(3)
    array([0.05, 1.  ])
    """
    if not widths:
        return np.ones(len(scores))
    stages = np.split(np.square(scores), np.cumsum(widths)[:-1], axis=1)
    tails = [chdtrc(width, stage.sum(axis=1)) for width, stage in zip(widths, stages, strict=True)]
    return np.asarray(-np.expm1(len(tails) * np.log1p(-np.minimum(np.min(tails, axis=0), _MOST_P))))
