"""The efficient estimator, and intervals about it for anything one may ask of theta."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from scipy.special import ndtri

from freewill.core.frames import frame
from freewill.core.presented import Presented
from freewill.core.types import BoolArray, FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError, several, shown
from freewill.numeric.operators.moments import about_mean
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import Estimate, Start, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence
from freewill.stats.functionals import Weights, checked_level, estimable
from freewill.stats.information import (
    PULL,
    Information,
    Shape,
    information_at,
    pulled,
    several_people,
)
from freewill.stats.quantiles import quantiles_of
from freewill.stats.reach import (
    advice_on,
    critical_of,
    decided_by_few,
    firm_pull,
    normal_draws,
    reach_of,
    reach_of_few,
    with_observed,
)
from freewill.stats.work import Work

T = TypeVar("T")

COLUMNS = ("point", "low", "high", "standard_error")
"""Columns of each functional, in tables and files."""
_FAINT = 0.005
"""People a value in a theta that is hardly pulled, whose errors the pull itself does not make."""


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
            seen = with_observed(self.evidence, self.firm.information, firm.influences, few=True)
            estimates = estimates.replaced(few, firm.values, *seen)
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


@dataclass(frozen=True, eq=False)
class Intervals(Presented):
    """A point, an interval and a standard error for each functional; arrays, or numbers of one.

    `critical` is the number of standard errors that the interval reaches: 1.96 for one by one at
    95 %, more for bands. `effective_people` is on how many people each functional rests
    (`Information.shape`). `advice` says what is hardly known, and what rests on few people.
    """

    of: tuple[str, ...]
    point: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    level: float
    joint: bool
    critical: float
    people: int
    alphabet: Alphabet = field(repr=False)
    effective_people: FloatArray = field(repr=False)
    advice: str = ""

    def __len__(self) -> int:
        return len(self.of)

    def __str__(self) -> str:
        kind = "all together" if self.joint else "one by one"
        head = f"{100 * self.level:.6g}% intervals, {kind}, from {several(self.people, 'person')}"
        lines = interval_lines(self.of, self.point, self.low, self.high)
        return "\n".join([head, *lines, *([self.advice] if self.advice else [])])

    def columns(self) -> dict[str, FloatArray]:
        """Return point, low, high and standard error, one number a functional."""
        return {name: np.atleast_1d(getattr(self, name)) for name in COLUMNS}

    def table(self, backend: Any = "pyarrow") -> Any:
        """Return one row a functional: of, point, low, high, standard_error.

        `backend` names the library of the table (`freewill.core.frames`): pyarrow, pandas, polars.
        """
        return frame({"of": list(self.of), **self.columns()}, backend)


def interval_lines(
    names: Sequence[str], point: FloatArray, low: FloatArray, high: FloatArray, sign: str = ""
) -> list[str]:
    """Return a line for each interval, its name first; `sign` is "+" where signs are printed."""
    number, longest = f"{sign}.4g", max(map(len, names))
    return [
        f"  {name:<{longest}}  {at:{number}}  ({down:{number}} to {up:{number}})"
        for name, at, down, up in zip(names, *map(np.atleast_1d, (point, low, high)), strict=True)
    ]


@one_blas_thread
def intervals(
    evidence: Evidence | OneStep,
    of: Any = "shares",
    level: float = 0.95,
    joint: bool = False,
    *,
    start: Start | None = None,
    on_step: OnStep | None = None,
) -> Intervals:
    """Return intervals for functionals of theta: every value's share by default.

    `of` is a name ("shares", "mean", "median", "quartiles", "cdf"), something of `fw.functionals`,
    or weights, in one row or several. With `joint` the band holds all of them at once. `start` is
    an estimate or a theta from which `gibu` begins: it saves steps, and the intervals do not depend
    on it. `on_step` is called with a `Step` (number, gap, log_likelihood, share of the work done)
    after each one to the maximum, then after each solve of a functional; up to 1,024 values one
    solve is for all. `fw.fit(evidence)` may stand in the place of the evidence.

    The centre is the one-step efficient estimator h'theta_1 (see `one_step`), whose standard error
    is sqrt(h'C h / n). With z the normal quantile and s the skewness of the estimate, the interval
    reaches z standard errors to one side and z + |s| (2 z^2 + 1) / 6 to the other, the one where
    the truth would make reports noisier; both ends are kept within what h'theta can be. What rests
    on few of many people counts these alone (`reach_of_few`, `with_observed`). A quantile has the
    values that the intervals of the CDF do not rule out. Of what no report tells, such as the share
    of one of two values with the same law, the interval is what the shares of sets leave open.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> evidence = fw.collect([(coin, [0], [600]), (coin, [1], [400])])
    >>> print(fw.intervals(evidence))
    95% intervals, one by one, from 1,000 people
      yes  0.7164  (0.6501 to 0.7821)
      no   0.2836  (0.2179 to 0.3499)
    """
    fit = fit_of(evidence, start)
    several_people(fit.evidence, "intervals")
    work = Work(on_step)

    def answer(weights: Weights, level: float) -> Intervals:
        # Bands solve twice for each.
        work.expect((1 + joint) * len(weights.rows), fit.maxima)
        estimates = fit.solved_by(work).estimated(weights.rows, work.solved, joint)
        critical = _joint(fit, weights, estimates, level, work) if joint else None
        answers = intervals_about(fit.information, weights, estimates, level, critical)
        return _within_sets(fit, weights, answers, critical)

    return answered(of, fit.evidence.alphabet, level, joint, answer)


def answered(
    of: Any,
    alphabet: Alphabet,
    level: float,
    joint: bool,
    answer: Callable[[Weights, float], Intervals],
) -> Intervals:
    """Return intervals by a function that makes them for checked weights at a level."""
    level = checked_level(level)
    if not isinstance(joint, bool | np.bool_):
        raise ParameterError(f"joint={shown(joint)}: expected True or False.")
    weights, quantiles = estimable(of, alphabet)
    answers, alone = answer(weights, level), weights.single and not joint
    if quantiles is not None:
        answers, alone = quantiles_of(answers, quantiles), quantiles.single
    if not alone or len(answers) != 1:
        return answers
    arrays = {name: getattr(answers, name)[0] for name in (*COLUMNS, "effective_people")}
    return replace(answers, **arrays)


def intervals_about(
    information: Information,
    weights: Weights,
    estimates: Estimated,
    level: float,
    critical: float | None,
) -> Intervals:
    """Return intervals about estimates: one by one, or a band of so many standard errors."""
    errors, (skewness, effective_people) = estimates.errors, estimates.shape
    joint, people = critical is not None, information.people
    critical = float(ndtri((1 + level) / 2)) if critical is None else critical
    few, usual = reach_of_few(critical, skewness, effective_people), reach_of(critical, skewness)
    reaches = np.where(decided_by_few(estimates.shape, people), few, usual)
    below, above = (np.maximum(reach * errors, 0) for reach in reaches)
    least, most = weights.least, weights.most
    # From within what can be: a centre beyond it would leave an interval without length.
    point = np.clip(estimates.values, least, most)
    with np.errstate(invalid="ignore"):
        low = np.where(np.isinf(errors), least, np.maximum(point - below, least))
        high = np.where(np.isinf(errors), most, np.minimum(point + above, most))
    known = advice_on(information, weights, point, errors, estimates.influences, effective_people)
    return Intervals(
        of=weights.names,
        point=point,
        low=low,
        high=high,
        standard_error=errors,
        level=level,
        joint=joint,
        critical=critical,
        people=people,
        alphabet=information.alphabet,
        effective_people=effective_people,
        advice=known,
    )


def _within_sets(
    fit: OneStep, weights: Weights, answers: Intervals, critical: float | None
) -> Intervals:
    """Bound what is lost by what is known, the shares of sets of values that nobody tells apart.

    With g the largest h of each set, g'theta is known, and h'theta at most that.
    """
    lost = np.isinf(answers.standard_error)
    sets = fit.maximum.confounded if lost.any() else ()
    if not sets:
        return answers
    low, high, below, above = answers.low, answers.high, weights.rows[lost], weights.rows[lost]
    for one in map(list, sets):
        below[:, one] = below[:, one].min(axis=1, keepdims=True)
        above[:, one] = above[:, one].max(axis=1, keepdims=True)

    def known(rows: FloatArray) -> Intervals:
        bounds, estimates = Weights(rows, np.array(answers.of)[lost].tolist), fit.estimated(rows)
        return intervals_about(fit.information, bounds, estimates, answers.level, critical)

    low[lost] = np.maximum(low[lost], known(below).low)
    high[lost] = np.minimum(high[lost], known(above).high)
    return replace(answers, point=np.clip(answers.point, low, high), low=low, high=high)


def _joint(fit: OneStep, weights: Weights, estimates: Estimated, level: float, work: Work) -> float:
    """Return the number of standard errors with which all intervals hold at once.

    From draws of N(0, C), C at a theta hardly pulled: each asks for the errors (at theta_w)
    of the functional furthest off. One whose maximum is at its bound cannot leave on that side.
    """
    variances = Information.variances_of(estimates.rows, estimates.influences)
    moving = np.isfinite(variances) & (variances > 0)
    if not moving.any():
        return float(ndtri((1 + level) / 2))
    scaled = (scale := 1 / np.sqrt(variances[moving])[:, None]) * estimates.rows[moving]
    influences = fit.once(_faint).influences(scaled, work.solved)
    if not np.isfinite(influences).all():  # lost so near to the bound
        influences = scale * estimates.influences[moving]
    matrix = scaled @ influences.T
    mode, least, most = weights.rows[moving] @ fit.mode, weights.least[moving], weights.most[moving]
    room = 1e-9 * np.maximum(most - least, 1e-300)
    ends = mode >= most - room, mode <= least + room
    return critical_of(normal_draws(matrix), estimates.shape.skewness[moving], level, ends)


def _faint(fit: OneStep) -> Information:
    return fit.information_at(_FAINT)
