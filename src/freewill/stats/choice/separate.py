"""Intervals that hold whoever chooses what: each group's people are estimated by themselves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.numeric.operators.moments import about_mean
from freewill.stats.covariance import OnRow
from freewill.stats.evidence import Evidence
from freewill.stats.information import Estimated, OneStep, Shape, information_at, pulled
from freewill.stats.intervals import Intervals, answered, band, intervals_about
from freewill.stats.weights import Weights

_ROUNDING = 1e-10
"""An error that is less of what is added up is rounding."""


@dataclass(frozen=True, eq=False)
class Separate:
    """theta as the mean of the distributions theta_m of those who chose mechanism m.

    theta = sum_m s_m theta_m by whatever people choose, and the reports of group m tell of theta_m
    alone. Let y_m be the efficient estimate of h'theta_m, v_m its variance, and r^2 the variance of
    h under theta. By the law of total variance h'theta_m = h'theta + d_m with

        sum_m s_m d_m = 0,   sum_m s_m d_m^2 <= r^2,

    whatever the choice law. Of a group that tells little, that bound tells more than its reports:

        h'theta ~ sum_m w_m y_m,   w_m in proportion to q_m = s_m / (1 + s_m v_m / r^2),
        variance  r^2 (1 / sum_m q_m - 1)  =  sum_m w_m^2 v_m + the square of the largest bias,

    the least that a linear estimate can promise. That is the sum of s_m^2 v_m where all groups tell
    enough. To it comes sum_m w_m d_m^2 / n, for the shares s_m are those of the people who came.
    As the bias is never beyond what it counts for, an interval of 1.96 standard errors holds the
    truth in 95 % of cases or more under every choice law, where the y_m are normal.
    """

    evidence: Evidence

    @cached_property
    def groups(self) -> tuple[OneStep, ...]:
        """The fit of each group by itself."""
        alphabet, groups = self.evidence.alphabet, self.evidence.groups
        return tuple(OneStep(Evidence(alphabet, (one,)), None) for one in groups if one.people)

    @cached_property
    def shares(self) -> FloatArray:
        """s_m, in a column."""
        people = [one.evidence.people for one in self.groups]
        return np.array(people)[:, None] / self.evidence.people

    @cached_property
    def theta(self) -> FloatArray:
        """The mean of the most likely theta_m, pulled inside."""
        modes = np.stack([one.mode for one in self.groups])
        return pulled(np.asarray(self.shares[:, 0] @ modes), self.evidence.people)

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None
    ) -> tuple[Estimated, list[Estimated], FloatArray]:
        """Return h'theta for rows h, the same of each group, and the weights w, [group, row]."""
        parts = [one.estimated(rows, on_row) for one in self.groups]
        values = np.stack([part.values for part in parts])
        variances = np.stack([part.variances / part.people for part in parts])
        possible = np.square(about_mean(rows, self.theta)) @ self.theta
        noise = self.shares * variances
        noise = np.divide(noise, possible, out=np.zeros_like(noise), where=possible > 0)
        counted = self.shares / (1 + noise)
        with np.errstate(all="ignore"):
            weights = counted / counted.sum(axis=0)
            # 1 - sum q, without cancellation; infinite where no group tells of h.
            missed = (self.shares * np.where(np.isinf(noise), 1.0, noise / (1 + noise))).sum(axis=0)
            total = possible * missed / counted.sum(axis=0)
            middle = np.where(counted.sum(axis=0) > 0, (weights * values).sum(axis=0), values[0])
        weights = np.nan_to_num(weights)
        total = total + (weights * np.square(values - middle)).sum(axis=0) / self.evidence.people
        own = np.square(weights) * np.where(weights > 0, variances, 0.0)
        shape = _shape(own, total, [part.shape for part in parts])
        centred = about_mean(rows, self.theta)
        influences = np.zeros_like(centred)
        return Estimated(centred, influences, middle, total, shape, 1), parts, weights

    def strain(self, rows: FloatArray, theta: FloatArray) -> float:
        """Return by how many standard errors h'theta is off at most, over rows h."""
        estimated = self.estimated(rows)[0]
        off, error = np.abs(rows @ theta - estimated.values), np.sqrt(estimated.variances)
        # What is the same for every theta is off by rounding alone.
        unknown = error > _ROUNDING * np.abs(rows).max(axis=1)
        return float(np.divide(off, error, out=np.zeros_like(off), where=unknown).max(initial=0))

    def intervals(
        self, of: Any, level: float, joint: bool, on_row: OnRow | None = None
    ) -> Intervals:
        """Return intervals for functionals of theta, as `fw.intervals` takes them."""
        information = information_at(self.evidence, self.theta)

        def answer(weights: Weights, level: float) -> Intervals:
            estimated, parts, counted = self.estimated(weights.rows, on_row)
            critical = self._joint(estimated, parts, counted, level) if joint else None
            return intervals_about(information, weights, estimated, level, critical)

        return answered(of, self.evidence.alphabet, level, joint, answer)

    def _joint(
        self, estimated: Estimated, parts: list[Estimated], weights: FloatArray, level: float
    ) -> float:
        """Return the number of standard errors with which all intervals hold at once.

        From errors that go together as those of the groups do, and biases as if all choices were
        as likely: d_m has the covariance (1 / s_m - 1) (diag(theta) - theta theta').
        """
        unsure = np.isfinite(estimated.variances) & (estimated.variances > 0)
        if not unsure.any():
            return float(ndtri((1 + level) / 2))
        rows, weights = estimated.rows[unsure], weights[:, unsure]
        ways = (weights / self.shares).T @ weights - 1
        matrix = ways * ((rows * self.theta) @ rows.T)
        for part, own in zip(parts, weights, strict=True):
            influences = np.where(own[:, None] > 0, part.influences[unsure], 0.0)
            matrix += np.outer(own, own) * (part.rows[unsure] @ influences.T) / part.people
        matrix[np.diag_indices(len(matrix))] = estimated.variances[unsure]
        return band(matrix, np.zeros(len(rows)), level)


def _shape(own: FloatArray, total: FloatArray, shapes: list[Shape]) -> Shape:
    """Return the shape of a sum of estimates of variances `own`, [group, row], whose sum is less.

    Third cumulants add, and so do fourth moments: the people behind all are
    (sum v_m)^2 / sum (v_m^2 / people_m).
    """
    skewness = np.stack([shape.skewness for shape in shapes])
    people = np.stack([shape.effective_people for shape in shapes])
    with np.errstate(all="ignore"):
        skewed = (own**1.5 * skewness).sum(axis=0) / total**1.5
        share = own / own.sum(axis=0)
        effective = 1 / (share**2 / people).sum(axis=0)
    return Shape(
        np.nan_to_num(skewed, posinf=0.0, neginf=0.0),
        np.where(np.isfinite(effective), effective, people.sum(axis=0)),
    )
