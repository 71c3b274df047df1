"""Intervals for anything one may ask of theta, one by one or all together."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.core.frames import frame
from freewill.core.presented import Presented
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError, several, shown
from freewill.numeric.solvers.solution import OnStep
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.bands import asked_of, draws_of
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence
from freewill.stats.few import advice_on_few
from freewill.stats.functionals import (
    Quantiles,
    Weights,
    asked,
    cdf,
    checked_level,
    weights_of,
)
from freewill.stats.information import Information, several_people
from freewill.stats.one_step import Estimated, OneStep
from freewill.stats.work import Work

COLUMNS = ("point", "low", "high", "standard_error")
"""What is told of each functional, in tables and files."""
_FAINT = 0.005
"""People a value in a theta that is hardly pulled, whose errors the pull itself does not make."""
_WIDE = 0.5
"""Standard errors, as shares of what a functional is, beyond which it is hardly known."""


@dataclass(frozen=True, eq=False)
class Intervals(Presented):
    """A point, an interval and a standard error for each functional; arrays, or numbers of one.

    `critical` is the number of standard errors that the interval reaches: 1.96 for one by one at
    95 %, more for bands that hold all together. `effective_people` is on how many people each
    functional rests, those whose reports tell of it (`Information.shape`). `advice` says what is
    hardly known and what is, and what rests on too few people.
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
        columns = (np.atleast_1d(column) for column in (self.point, self.low, self.high))
        longest = max(map(len, self.of))
        lines = [
            f"  {name:<{longest}}  {point:.4g}  ({low:.4g} to {high:.4g})"
            for name, point, low, high in zip(self.of, *columns, strict=True)
        ]
        return "\n".join([head, *lines, *([self.advice] if self.advice else [])])

    def columns(self) -> dict[str, FloatArray]:
        """Return point, low, high and standard error, one number a functional."""
        return {name: np.atleast_1d(getattr(self, name)) for name in COLUMNS}

    def table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with one row a functional: of, point, low, high, standard_error.

        `backend` names the library that it is a table of (`freewill.core.frames`): pyarrow, pandas,
        polars.
        """
        return frame({"of": list(self.of), **self.columns()}, backend)


def intervals(
    evidence: Evidence,
    of: Any = "shares",
    level: float = 0.95,
    joint: bool = False,
    start: Start | None = None,
    on_step: OnStep | None = None,
) -> Intervals:
    """Return intervals for functionals of theta: every value's share, unless told otherwise.

    `of` is a row of weights, several rows, a name ("mean", "median", "quartiles", "cdf") or
    something of `fw.functionals`. With `joint` the band holds all of them at once. `start` is an
    estimate or a theta from which `gibu` begins: it saves steps, and the intervals do not depend on
    it. `on_step` is called with a `Step` (number, gap, log_likelihood, share of the work done)
    after each one to the maximum, then after each solve of a functional; up to 1,024 values one
    solve is for all. To ask several questions of the same evidence, ask `fw.fit(evidence)`.

    The centre is the one-step efficient estimator h'theta_1 (see `one_step`), whose standard error
    is sqrt(h'C h / n). With z the normal quantile and s the skewness of the estimate, the interval
    reaches z standard errors to one side and z + |s| (2 z^2 + 1) / 6 to the other, the one where
    the truth would make reports noisier; both ends are kept within what h'theta can be. A quantile
    has the values that the intervals of the CDF do not rule out.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> evidence = fw.collect([(coin, [0], [600]), (coin, [1], [400])])
    >>> print(fw.intervals(evidence))
    95% intervals, one by one, from 1,000 people
      yes  0.7164  (0.6501 to 0.7821)
      no   0.2836  (0.2179 to 0.3499)
    """
    return intervals_of(OneStep(evidence, start), of, level, joint, on_step)


@one_blas_thread
def intervals_of(
    fit: OneStep,
    of: Any = "shares",
    level: float = 0.95,
    joint: bool = False,
    on_step: OnStep | None = None,
) -> Intervals:
    """Return confidence intervals for functionals of theta, as `fw.intervals` does.

    `of` is a row of weights, several rows, a name ("mean", "median", "quartiles", "cdf") or
    something of `fw.functionals`: every value's share by default. With `joint` the band holds all
    of them at once. `on_step` is told how far the work has come.
    """
    several_people(fit.evidence, "intervals")
    work = Work(on_step)

    def answer(weights: Weights, level: float) -> Intervals:
        # Bands solve twice for each.
        work.expect((1 + joint) * len(weights.rows), fit.maxima)
        found = fit.solved_by(work).estimated(weights.rows, work.solved)
        critical = _joint(fit, weights, found, level, work) if joint else None
        return intervals_about(fit.information, weights, found, level, critical)

    return answered(of, fit.evidence.alphabet, level, joint, answer)


def answered(
    of: Any,
    alphabet: Alphabet,
    level: float,
    joint: bool,
    answer: Callable[[Weights, float], Intervals],
) -> Intervals:
    """Return intervals by a function that makes them for weights at a level; both are checked."""
    level = checked_level(level)
    if not isinstance(joint, bool | np.bool_):
        raise ParameterError(f"joint={shown(joint)}: expected True or False.")
    wanted = asked(of)
    if isinstance(wanted, Quantiles):
        return quantiles_of(answer(cdf().on(alphabet), level), wanted)
    weights = weights_of(wanted, alphabet)
    found = answer(weights, level)
    return single(found) if weights.single and not joint else found


def intervals_about(
    information: Information,
    weights: Weights,
    found: Estimated,
    level: float,
    critical: float | None,
) -> Intervals:
    """Return intervals about estimates: one by one, or a band of so many standard errors."""
    joint, errors, (skewness, effective_people) = critical is not None, found.errors, found.shape
    critical = float(ndtri((1 + level) / 2)) if critical is None else critical
    reach = reach_of(critical, skewness)
    below = np.maximum(reach[0] * errors, 0)
    above = np.maximum(reach[1] * errors, 0)
    least, most = weights.least, weights.most
    # From within what can be: a centre beyond it would leave an interval without length.
    point = np.clip(found.values, least, most)
    with np.errstate(invalid="ignore"):
        low = np.where(np.isinf(errors), least, np.maximum(point - below, least))
        high = np.where(np.isinf(errors), most, np.minimum(point + above, most))
    return Intervals(
        of=weights.names,
        point=point,
        low=low,
        high=high,
        standard_error=errors,
        level=level,
        joint=joint,
        critical=critical,
        people=information.people,
        alphabet=information.alphabet,
        effective_people=effective_people,
        advice=advice_on(weights, point, errors, effective_people, information.people),
    )


def reach_of(critical: FloatArray | float, skewness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors an interval reaches down and up.

    The Edgeworth term of a studentised mean, on the side where the variance at the truth would
    be larger than at the estimate. The other side keeps its full length: near the border of the
    simplex theta_w does not follow theta_1, and the variance does not fall as the term assumes.
    """
    term = (2 * np.square(critical) + 1) / 6
    return critical + term * np.maximum(-skewness, 0), critical + term * np.maximum(skewness, 0)


def _joint(fit: OneStep, weights: Weights, found: Estimated, level: float, work: Work) -> float:
    """Return the number of standard errors with which all intervals hold at once.

    From draws of N(0, C), C at a theta that is hardly pulled: each asks for a number of standard
    errors (at theta_w, as the intervals have them), that of the functional that is the furthest
    off. A functional whose maximum likelihood is at its bound cannot leave its interval on that
    side. A skewed estimate that is far off to its long side has a larger standard error there, and
    asks for fewer; to the other side the interval is longer by as much as it would ask for more.
    """
    known = np.isfinite(found.variances) & (found.variances > 0)
    alone = float(ndtri((1 + level) / 2))
    if not known.any():
        return alone
    rows, skewed = found.rows[known], found.shape.skewness[known]
    scaled = rows / np.sqrt(found.variances[known])[:, None]
    matrix = scaled @ fit.once(_faint).influences(scaled, work.solved).T
    draws = draws_of(matrix)
    mode = rows @ fit.mode
    least, most = weights.least[known], weights.most[known]
    room = 1e-9 * np.maximum(most - least, 1e-300)
    # An estimate that is too high leaves its interval below, and the other way round.
    down = np.where(mode >= most - room, 0.0, asked_of(draws, np.maximum(skewed, 0)))
    up = np.where(mode <= least + room, 0.0, asked_of(-draws, np.maximum(-skewed, 0)))
    return max(alone, float(np.quantile(np.maximum(down, up).max(axis=1), level)))


def _faint(fit: OneStep) -> Information:
    return fit.information_at(_FAINT)


def quantiles_of(found: Intervals, wanted: Quantiles) -> Intervals:
    """Return what the intervals of the CDF do not rule out."""
    (low, high), size = found.alphabet.reach[0], found.alphabet.size
    edges = np.linspace(low, high, size + 1)
    middle, lower, upper = (
        np.concatenate([[0.0], np.maximum.accumulate(curve), [1.0]])
        for curve in (found.point, found.low, found.high)
    )
    point, first, last = (
        np.array([_crossing(curve, share, edges) for share in wanted.levels])
        for curve in (middle, upper, lower)
    )
    names = tuple(str(wanted).split(", "))
    # The CDF of all values is 1: it rests on nobody.
    crossed = np.minimum(np.searchsorted(middle[1:], wanted.levels), max(size - 2, 0))
    effective_people = found.effective_people[crossed]
    whole = replace(
        found,
        of=names,
        point=point,
        low=first,
        high=last,
        standard_error=(last - first) / (2 * found.critical),
        effective_people=effective_people,
        advice=advice_on_few(names, effective_people, found.people),
    )
    return single(whole) if wanted.single else whole


def _crossing(curve: FloatArray, share: float, edges: FloatArray) -> float:
    """Return where a rising curve over the edges reaches a share."""
    place = int(np.searchsorted(curve, share))
    if place == 0:
        return float(edges[0])
    before, after = curve[place - 1], curve[place]
    part = (share - before) / (after - before)
    return float(edges[place - 1] + part * (edges[place] - edges[place - 1]))


def single(found: Intervals) -> Intervals:
    """Return one functional's interval as numbers."""
    if len(found.of) != 1:
        return found
    return replace(
        found,
        point=found.point[0],
        low=found.low[0],
        high=found.high[0],
        standard_error=found.standard_error[0],
        effective_people=found.effective_people[0],
    )


def advice_on(
    weights: Weights,
    point: FloatArray,
    errors: FloatArray,
    effective_people: FloatArray,
    people: int,
) -> str:
    """Say which functionals are hardly known, what is known better, and what rests on few."""
    few = advice_on_few(weights.names, effective_people, people)
    return f"{_hardly_known(point, errors, weights.least, weights.better)} {few}".strip()


def _hardly_known(point: FloatArray, errors: FloatArray, least: FloatArray, better: str) -> str:
    """Say which of many functionals are hardly known, and what is known better."""
    if len(point) < 2:
        return ""
    blind = int(np.isinf(errors).sum())
    faint = int((errors > np.maximum(_WIDE * (point - least), 1e-300)).sum())
    many = f"{blind} of {several(len(point), 'share')} cannot be told at all: " if blind else ""
    if faint < len(point) / 2 and not blind:
        return ""
    return (
        f"{many}{faint} of {len(point)} have a standard error of more than half of what "
        f"they are{f': {better}' if better else ''}."
    )


def check_intervals(intervals: Any, alphabet: Alphabet, count: int) -> None:
    """Refuse intervals of anything but the shares that are shown."""
    if not isinstance(intervals, Intervals):
        raise ParameterError(f"intervals={shown(intervals)}: expected those of fw.intervals.")
    if intervals.alphabet != alphabet or np.shape(intervals.point) != (count,):
        raise ParameterError(
            f"intervals of {several(len(intervals), 'functional')} over {intervals.alphabet}, for "
            f"{several(count, 'share')} over {alphabet}: expected one for each share."
        )
