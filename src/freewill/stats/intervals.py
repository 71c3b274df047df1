"""Intervals about the efficient estimator, for anything one may ask of theta."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from freewill.core.presented import Presented, frame
from freewill.core.types import BoolArray, FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError, several, shown
from freewill.numeric.operators.moments import root_of
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.conditions import Dependence, Nonlinear
from freewill.stats.estimators.estimate import Start, Work
from freewill.stats.evidence import Evidence
from freewill.stats.functionals import Quantiles, Weights, checked_level, estimable, functionals_of
from freewill.stats.information import (
    Estimated,
    Information,
    OneStep,
    Shape,
    advice_on_few,
    decided_by_few,
    fit_of,
    several_people,
)

COLUMNS = ("point", "low", "high", "standard_error")
"""Columns of each functional, in tables and files."""
_FAINT = 0.005
"""People a value in a theta that is hardly pulled, whose errors the pull itself does not make."""
_DRAWS = 2000
"""Of normal errors, from which bands take their number of standard errors."""
_LEAST_DEGREES = 2.0
"""Of freedom: below, Student's quantiles are larger than what anything could be."""
_WIDE = 0.5
"""Standard errors, as shares of what a functional is, beyond which it is hardly known."""
_ASKED = 8
"""Functionals of which it is asked how well drawn reports know their errors."""


@dataclass(frozen=True, eq=False)
class Intervals(Presented):
    """A point, an interval and a standard error for each functional; arrays, or numbers of one.

    `critical` is the number of standard errors that the interval reaches: 1.96 for one by one at
    95 %, more for bands. `effective_people` is on how many people each functional rests
    (`Information.shape`). `advice` says what is hardly known, and what rests on few people.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> print(fw.intervals(fw.collect([(coin, [0, 1], [600, 400])])))
    95% intervals, one by one, from 1,000 people
      yes  0.6313  (0.5911 to 0.6712)
      no   0.3687  (0.3288 to 0.4089)
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

        `backend` names the library of the table (`core/presented.py`): pyarrow, pandas, polars.
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

    The cost is that of `information`; bands take 2,000 draws more, O(k^2) each.

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

    wanted = functionals_of(of)
    if isinstance(wanted, Nonlinear):
        return _nonlinear(fit, wanted, checked_level(level), checked_flag("joint", joint), work)
    return answered(wanted, fit.evidence.alphabet, level, joint, answer)


def _nonlinear(fit: OneStep, of: Nonlinear, level: float, joint: bool, work: Work) -> Intervals:
    """Return intervals of what no weights give: fractions, and how far attributes depend."""
    from freewill.stats import nonlinear  # noqa: PLC0415

    asked = of.on(fit.evidence.alphabet)
    single, quantiles = True, None
    if isinstance(asked, Dependence):
        work.expect(len(asked.rows), fit.maxima)
        answers = nonlinear.interval_of_dependence(fit.solved_by(work), asked, level, work.solved)
    else:
        single, quantiles = asked.single, asked.quantiles
        work.expect(2 * len(asked.names), fit.maxima)
        answers = nonlinear.intervals_of_fractions(
            fit.solved_by(work), asked, level, joint, work.solved
        )
    if quantiles is not None:
        answers = quantiles_of(answers, quantiles)
    return _alone(answers) if single and not joint and len(answers) == 1 else answers


def answered(
    of: Any,
    alphabet: Alphabet,
    level: float,
    joint: bool,
    answer: Callable[[Weights, float], Intervals],
) -> Intervals:
    """Return intervals by a function that makes them for checked weights at a level."""
    level, joint = checked_level(level), checked_flag("joint", joint)
    weights, quantiles = estimable(of, alphabet)
    answers, alone = answer(weights, level), weights.single and not joint
    if weights.about is not None:
        answers = replace(answers, alphabet=weights.about)
    if quantiles is not None:
        answers, alone = quantiles_of(answers, quantiles), quantiles.single
    return _alone(answers) if alone and len(answers) == 1 else answers


def checked_flag(name: str, given: Any) -> bool:
    """Return True or False, after checking that it is one of them."""
    if not isinstance(given, bool | np.bool_):
        raise ParameterError(f"{name}={shown(given)}: expected True or False.")
    return bool(given)


def _alone(answers: Intervals) -> Intervals:
    """Return the interval of one functional with numbers instead of arrays."""
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
    errors, effective_people = estimates.errors, estimates.shape.effective_people
    influences = estimates.influences
    joint, people = critical is not None, information.people
    critical = float(ndtri((1 + level) / 2)) if critical is None else critical
    sides = reaches(critical, estimates.shape, people)
    below, above = (np.maximum(reach * errors, 0) for reach in sides)
    least, most = weights.least, weights.most
    # From within what can be: a centre beyond it would leave an interval without length.
    point = np.clip(estimates.values, least, most)
    with np.errstate(invalid="ignore"):
        low = np.where(np.isinf(errors), least, np.maximum(point - below, least))
        high = np.where(np.isinf(errors), most, np.minimum(point + above, most))
    few = advice_on_few(weights.names, effective_people, people)
    advice = hardly_known(weights, point, errors), few, advice_on_drawn(information, influences)
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
        advice=" ".join(filter(None, advice)),
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

    ends = np.maximum(low[lost], known(below).low), np.minimum(high[lost], known(above).high)
    # Where no theta fits the reports, theta_1 may have less of a larger sum: both ends count.
    low[lost], high[lost] = np.minimum(*ends), np.maximum(*ends)
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


def quantiles_of(curve: "Intervals", wanted: Quantiles) -> "Intervals":
    """Return what the intervals of the CDF do not rule out."""
    (low, high), size = curve.alphabet.reach[0], curve.alphabet.size
    edges = np.linspace(low, high, size + 1)
    middle, lower, upper = (
        np.concatenate([[0.0], np.maximum.accumulate(heights), [1.0]])
        for heights in (curve.point, curve.low, curve.high)
    )
    point, first, last = (
        crossings(heights, wanted.levels, edges) for heights in (middle, upper, lower)
    )
    names = tuple(str(wanted).split(", "))
    # The CDF of all values is 1: it rests on nobody.
    crossed = np.minimum(np.searchsorted(middle[1:], wanted.levels), max(size - 2, 0))
    effective_people = curve.effective_people[crossed]
    return replace(
        curve,
        of=names,
        point=point,
        low=first,
        high=last,
        standard_error=(last - first) / (2 * curve.critical),
        effective_people=effective_people,
        advice=advice_on_few(names, effective_people, curve.people),
    )


def crossings(curve: FloatArray, shares: Sequence[float], edges: FloatArray) -> FloatArray:
    """Return where a rising curve over the edges first reaches each share."""
    # Backwards, for where the curve is flat `interp` takes the last of its places.
    return np.interp(np.negative(shares), -curve[::-1], edges[::-1])


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
