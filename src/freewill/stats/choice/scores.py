"""Scores of a choice by value: what reports say of the values of some people, beside all others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtrc

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import has_raster
from freewill.stats.difference import (
    combined,
    displacements,
    single_differences,
    smooth_differences,
    weighted_chi_square_tail,
)
from freewill.stats.estimators.estimate import slope_at
from freewill.stats.evidence import Evidence
from freewill.stats.information import OneStep

ROUNDING = 1e-12
"""Variances of a score, beside the squares of differences, that are rounding alone."""
NEGLIGIBLE = 1e-8
"""Variances of principal scores, as shares of the largest, that tell nothing."""
_LOST = 1e-6
"""Of a unit diagonal: what is left where two directions are one."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of the people: the mean of a / p - 1 over their reports, and how many of each group.

    `groups` has the share of them that is of each group, by its place; these sum to 1.
    """

    people: int
    slope: FloatArray
    groups: dict[int, float]


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores S of samples of the people along differences D of distributions, in rows.

    `slopes` are g_m - 1 of each group at theta_w, `step` is theta_1 - theta_w, `smooth` are
    differences theta f with f smooth, and `moved` those by which everybody would live a cell
    further; none without neighbours.
    """

    fit: OneStep
    slopes: tuple[FloatArray, ...]
    step: FloatArray
    smooth: FloatArray
    moved: FloatArray

    @classmethod
    def of(cls, fit: OneStep) -> "Scores":
        """Return the scores at a fit."""
        evidence, information, theta = fit.evidence, fit.information, fit.mode
        alphabet, inside = evidence.alphabet, information.theta
        slopes = tuple(slope_at(Evidence(alphabet, (g,)), inside) - 1 for g in evidence.groups)
        shares = (share for _, share, _ in information.parts)
        slope = sum(share * one for share, one in zip(shares, slopes, strict=True))
        step = information.moved(np.asarray(slope))
        if not has_raster(alphabet):
            smooth, moved = single_differences(theta), np.zeros((0, theta.size))
        else:
            smooth, moved = smooth_differences(theta, alphabet), displacements(theta, alphabet)
        return cls(fit, slopes, step, smooth, moved)

    def sample(self, place: int) -> Sample:
        """Return the people of a group."""
        people = self.fit.evidence.groups[place].people
        return Sample(people, self.slopes[place], {place: 1.0})

    @cached_property
    def _rows(self) -> FloatArray:
        return np.concatenate([self.smooth, self.moved])

    @cached_property
    def _known(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        return {}

    def _through(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return K_m D and C K_m D of a group for all differences, computed once."""
        if place not in self._known:
            self._known[place] = self._products(place, self._rows)
        return self._known[place]

    def _products(self, place: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        information = self.fit.information
        through = np.stack([information.moments[place].product(row) for row in rows])
        return through, np.stack([information.moved(row) for row in through])

    def test(self, sample: Sample) -> tuple[float, FloatArray] | None:
        """Return the p-value of people and their tilt; None where rounding is all there is."""
        score, variance = self._scored(sample, self._rows, self._through)
        many = len(self.smooth)
        if not np.isfinite(variance).all():
            return None
        roots, vectors = np.linalg.eigh(variance[:many, :many])
        if not roots[-1] > ROUNDING * float(np.abs(self.smooth).max()) ** 2:
            return None
        along = vectors.T @ score[:many]
        large = roots > NEGLIGIBLE * roots[-1]
        weights = np.sqrt(roots[large])
        tail = weighted_chi_square_tail(float(np.sum(along[large] ** 2 / weights)), weights)
        tails = [tail, *unweighted(score[many:], variance[many:, many:])]
        # theta f for the f that is expected after the scores, were f of covariance -d.
        tilt = vectors @ (along / (1 + np.maximum(roots, 0.0))) @ self.smooth
        return combined(tails), np.asarray(tilt)

    def along(self, place: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a group, for differences D in rows."""
        return self._scored(self.sample(place), rows, lambda own: self._products(own, rows))

    def _scored(
        self,
        sample: Sample,
        rows: FloatArray,
        products: Callable[[int], tuple[FloatArray, FloatArray]],
    ) -> tuple[FloatArray, FloatArray]:
        """Return D'S and D'V D of a sample, whose K is the mean of those of its groups."""
        through, moved = np.zeros_like(rows), np.zeros_like(rows)
        for place, share in sample.groups.items():
            own, image = products(place)
            through += share * own
            moved += share * image
        people = sample.people
        score = people * (rows @ sample.slope - through @ self.step)
        projected = people / self.fit.evidence.people * through @ moved.T
        variance = people * (rows @ through.T - projected)
        return score, (variance + variance.T) / 2


def unweighted(score: FloatArray, variance: FloatArray) -> list[float]:
    """Return the p-value of scores of a few directions alike, none where they tell nothing."""
    scale = np.sqrt(np.maximum(np.diag(variance), 0.0))
    if not scale.max(initial=0.0) > 0:
        return []
    scale = np.where(scale > 0, scale, np.inf)
    roots, vectors = np.linalg.eigh(variance / scale[:, None] / scale)
    large = roots > _LOST * roots[-1]
    along = (vectors.T @ (score / scale))[large]
    return [float(chdtrc(int(large.sum()), float(np.sum(along**2 / roots[large]))))]
