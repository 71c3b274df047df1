"""The efficient estimator, a Newton step from the maximum likelihood, and sums of its theta."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.numeric.operators.moments import about_mean
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import Estimate, Start, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence
from freewill.stats.information import PULL, Information, Shape, information_at, pulled
from freewill.stats.reach import decided_by_few, firm_pull, with_observed
from freewill.stats.work import Work

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class OneStep:
    """theta_1 = theta_w + C g(theta_w): unbiased to first order, and no distribution.

    The maximum likelihood keeps the positive part of the noise of every value near 0, and is biased
    by far more than its standard error where there are many. theta_1 is not: it sums to 1 and may
    be negative. theta_w is the maximum pulled inside by half a person a value. Computed once.
    """

    evidence: Evidence
    start: Start | None
    """Where the search for the maximum begins: a warm start, on which nothing else depends."""

    @cached_property
    def maximum(self) -> Estimate:
        """The certified maximum likelihood."""
        return gibu(self.evidence, start=self.start)

    @property
    def maxima(self) -> int:
        """How many maxima are still to be computed, 1 or 0; none from a start, which is near."""
        return int(self.start is None and "maximum" not in vars(self))

    def solved_by(self, work: Work) -> Self:
        """Find the maximum now, and tell of the steps to it, as a part of work with `maxima`."""
        if self.maxima:
            on_step = work.maximum(default_tolerance(self.evidence))
            vars(self)["maximum"] = gibu(self.evidence, on_step=on_step)
        return self

    @property
    def mode(self) -> FloatArray:
        """The most likely theta."""
        return self.maximum.theta

    def once(self, compute: Callable[["OneStep"], T]) -> T:
        """Return what a function computes from this, and compute it once."""
        computed: dict[Any, T] = vars(self).setdefault("_computed", {})
        if compute not in computed:
            computed[compute] = compute(self)
        return computed[compute]

    @cached_property
    def information(self) -> Information:
        """The information at theta_w."""
        return self.information_at(PULL)

    def information_at(self, pull: float) -> Information:
        """Return the information where each value has so many people more than the maximum says."""
        return information_at(self.evidence, pulled(self.mode, self.evidence.people, pull))

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient g at theta_w, one number a value."""
        return slope_at(self.evidence, self.information.theta)

    @property
    def theta(self) -> FloatArray:
        """theta_1; what the reports do not tell stays as in theta_w."""
        # C 1 = 0: what is taken from g for all values alike changes nothing but rounding.
        return self.information.theta + self.information.moved(self.slope - 1)

    @cached_property
    def firm(self) -> Self:
        """The same from a theta_w that is a third uniform: few reports do not decide on it."""
        firm = copy(self)
        vars(firm).pop("slope", None)
        pull = firm_pull(self.evidence.people, self.evidence.alphabet.size)
        vars(firm)["information"] = self.information_at(pull)
        return firm

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None, joint: bool = False
    ) -> "Estimated":
        """Return h'theta_1 for rows h with their errors, by `firm` where it rests on few people."""
        estimates = self._expected(rows, on_row)
        moving = np.isfinite(estimates.variances) & (estimates.variances > 0)
        few = moving & decided_by_few(estimates.shape, self.evidence.people)
        if joint and moving.any():
            seen = with_observed(
                self.evidence, self.information, estimates.influences[moving], few=False
            )
            estimates = estimates.replaced(moving, estimates.values[moving], *seen)
        if few.any():
            firm = self.firm._expected(rows[few])
            estimates = estimates.replaced(few, firm.values, firm.variances, firm.shape)
            # Nobody observed tells of what is lost there.
            few[few] = told = np.isfinite(firm.variances)
            if told.any():
                at = self.firm.information
                seen = with_observed(self.evidence, at, firm.influences[told], few=True)
                estimates = estimates.replaced(few, firm.values[told], *seen)
        return estimates

    def _expected(self, rows: FloatArray, on_row: OnRow | None = None) -> "Estimated":
        """Return h'theta_1 with the errors that are expected at theta_w."""
        information = self.information
        influences = information.influences(rows, on_row)
        finite = np.isfinite(influences).all(axis=1)
        values = np.asarray(rows @ information.theta)
        # C 1 = 0: what is added to g for all values alike changes nothing but rounding.
        values[finite] += influences[finite] @ (self.slope - 1)
        centred = about_mean(rows, information.theta)
        variances = information.variances_of(centred, influences)
        shape = information.shape(centred, influences)
        return Estimated(centred, influences, values, variances, shape, information.people)


def fit_of(evidence: Evidence | OneStep, start: Start | None = None) -> OneStep:
    """Return a fit as it is, and one of evidence."""
    return evidence if isinstance(evidence, OneStep) else OneStep(evidence, start)


@dataclass(frozen=True, eq=False)
class Estimated:
    """Functionals h'theta_1 of one fit, a row h each."""

    rows: FloatArray
    """h about its mean."""
    influences: FloatArray
    """C h."""
    values: FloatArray
    variances: FloatArray
    """For one person; infinite where the reports tell nothing."""
    shape: Shape
    people: int

    @property
    def errors(self) -> FloatArray:
        """Standard errors."""
        return np.asarray(np.sqrt(self.variances / self.people))

    def replaced(
        self, which: BoolArray, values: FloatArray, variances: FloatArray, shape: Shape
    ) -> "Estimated":
        """Return the same with other numbers for some functionals."""
        arrays = [each.copy() for each in (self.values, self.variances, *self.shape)]
        for array, new in zip(arrays, (values, variances, *shape), strict=True):
            array[which] = new
        return replace(self, values=arrays[0], variances=arrays[1], shape=Shape(*arrays[2:]))
