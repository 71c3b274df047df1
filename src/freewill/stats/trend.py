"""What changes over days, weeks or months: functionals by period, bands and tests of change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.core.presented import Presented, frame, room
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import EvidenceError, ParameterError, several, shown
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.choice.check import holm
from freewill.stats.compare import Body, refuse_shared
from freewill.stats.conditions import Fractions, Nonlinear
from freewill.stats.difference import Lines, Pooled, change, written
from freewill.stats.estimators.estimate import Work
from freewill.stats.evidence import Evidence, checked_evidence, some_of
from freewill.stats.functionals import Quantiles, checked_level, estimable, functionals_of
from freewill.stats.information import FEW, OneStep
from freewill.stats.intervals import Intervals, checked_flag, intervals

COLUMNS = ("point", "low", "high", "band_low", "band_high", "standard_error")
"""Columns of each period and functional, in tables and files."""
_NAMED = 3
"""Periods that advice names."""
_UNITS = {"day": (1, 1, 1.0), "week": (7, 7, 7.0), "month": (28, 31, 30.436875),
          "year": (365, 366, 365.2425)}  # fmt: skip
"""Shortest and longest in days, and the days that count as one."""


@dataclass(frozen=True)
class Span:
    """A period of a trend: its name, its evidence and, where they are known, its days."""

    name: str
    evidence: Evidence = field(repr=False)
    start: date | None = None
    end: date | None = None


def spans_of(evidence: Any, *, equal: bool) -> list[Span]:
    """Return the periods of evidence, or of a mapping of days or names to evidence."""
    if isinstance(evidence, Mapping):
        return _named_spans(evidence, equal=equal)
    periods = checked_evidence(evidence, "a trend").periods
    if not periods:
        raise EvidenceError(
            "the evidence has no periods, and a trend is over some: a collector's store keeps "
            "them. Of evidence by week give a mapping, {'2026-11-02': evidence, ...}."
        )
    return [Span(str(one.start), one.evidence, one.start, one.end) for one in periods]


def _named_spans(given: Mapping[Any, Any], *, equal: bool) -> list[Span]:
    for key, evidence in given.items():
        checked_evidence(evidence, f"a trend, for {shown(key)},")
        if not isinstance(key, str | date) or not str(key).strip():
            raise ParameterError(
                f"a period {shown(key)}: expected a day, as 2026-11-02, or a name."
            )
    spans = [Span(str(key), own, _day_of(key)) for key, own in given.items()]
    if not equal:
        bodies = [Body(span.evidence, span.name) for span in spans if span.evidence.people]
        for one, other in combinations(bodies, 2):
            refuse_shared(one, other, "equal=True")
    days = [span.start for span in spans if span.start is not None]
    if len(set(days)) < len(spans):
        return [replace(span, start=None) for span in spans]
    spans.sort(key=lambda span: str(span.start))
    ends = [*(span.start for span in spans[1:]), None]
    return [replace(span, end=end) for span, end in zip(spans, ends, strict=True)]


def _day_of(key: Any) -> date | None:
    """Return the day that a key is, None where it is another name."""
    try:
        return date.fromisoformat(str(key))
    except ValueError:
        return None


def times_of(spans: Sequence[Span]) -> tuple[FloatArray, str]:
    """Return the middle of each period since the first one's, and the unit that it is in.

    >>> weeks = [Span("", Any, date(2026, 11, day), date(2026, 11, day + 7)) for day in (2, 9, 23)]
    >>> times_of(weeks)
    (array([0., 1., 3.]), 'week')
    """
    starts = [span.start.toordinal() for span in spans if span.start is not None]
    if len(starts) < len(spans):
        return np.arange(float(len(spans))), "period"
    ends = [span.end.toordinal() if span.end is not None else np.nan for span in spans]
    lengths = np.subtract(ends, starts)
    usual = float(np.nanmedian(lengths))
    middles = starts + np.where(np.isnan(lengths), usual, lengths) / 2
    unit = next((u for u, (least, most, _) in _UNITS.items() if least <= usual <= most), "day")
    return (middles - middles[0]) / _UNITS[unit][2], unit


@dataclass(frozen=True, eq=False)
class Trend(Presented):
    """Functionals of theta over periods, and whether anything changes.

    `point`, `low`, `high`, `band_low`, `band_high` and `standard_error` have a row a period and a
    column a functional; of one functional, a number a period. `low` and `high` are intervals of
    each by itself, the band holds in all periods at once (with `joint`, for all functionals too).
    `p_value` is of the hypothesis that all periods have one distribution, `p_constant` that the
    functional is the same in all, `p_slope` that a straight line through it is level. `slope` is
    the slope of that line in a `unit` of time, between `slope_low` and `slope_high`.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 3)
    >>> open_ = fw.Identity(line)
    >>> counts = {"2026-11-02": [40, 30, 20, 10], "2026-11-09": [10, 20, 30, 40]}
    >>> weeks = {day: fw.collect([(open_, line.decode(range(4)), c)]) for day, c in counts.items()}
    >>> fw.trend(weeks, "mean").point.round(2).tolist()
    [1.0, 2.0]
    """

    of: tuple[str, ...]
    spans: tuple[Span, ...]
    times: FloatArray
    """Of the middle of each period, in units since the first."""
    unit: str
    point: FloatArray
    low: FloatArray
    high: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    standard_error: FloatArray
    slope: FloatArray
    slope_low: FloatArray
    slope_high: FloatArray
    p_constant: FloatArray
    p_slope: FloatArray
    p_value: float
    level: float
    joint: bool
    shares: bool
    """Whether each functional is the share of some values."""
    alphabet: Alphabet = field(repr=False)
    advice: str = ""

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def periods(self) -> tuple[str, ...]:
        """What each period is called."""
        return tuple(span.name for span in self.spans)

    @property
    def people(self) -> tuple[int, ...]:
        """How many people reported in each period."""
        return tuple(span.evidence.people for span in self.spans)

    @property
    def changes(self) -> bool:
        """Whether one distribution in all periods is rejected: a p-value below 1 - level."""
        return self.p_value < 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test of the whole distribution says, in words."""
        said = "the distribution changes" if self.changes else "no change is shown"
        return f"{said} ({written(self.p_value)})"

    def columns(self) -> dict[str, Any]:
        """Return one row a period and functional, by column."""
        many, kinds = len(self.spans), len(self.of)
        dates = {
            name: np.repeat([str(getattr(span, name) or "") for span in self.spans], kinds)
            for name in ("start", "end")
        }
        numbers = {name: np.reshape(getattr(self, name), many * kinds) for name in COLUMNS}
        return {
            "period": np.repeat(self.periods, kinds).tolist(),
            **{name: column.tolist() for name, column in dates.items()},
            "people": np.repeat(self.people, kinds),
            "of": list(self.of) * many,
            **numbers,
        }

    def table(self, backend: Any = "pyarrow") -> Any:
        """Return one row a period and functional; `backend` is pyarrow, pandas or polars.

        Columns: period, start, end, people, of, point, low, high, band_low, band_high,
        standard_error. The end is the first day that belongs to a period no more.
        """
        return frame(self.columns(), backend)

    def __str__(self) -> str:
        return "\n".join(room("trends").lines(self))


@one_blas_thread
def trend(
    evidence: Evidence | Mapping[Any, Evidence],
    of: Any = "shares",
    level: float = 0.95,
    joint: bool = False,
    *,
    on_step: OnStep | None = None,
    equal: bool = False,
) -> Trend:
    """Return functionals of theta in each period, with bands, and test whether anything changes.

    `evidence` has periods (a collector's, or `fw.with_periods`), or is a mapping of days, as
    "2026-11-02", or of other names in their order, to evidence. `of`, `level` and `joint` are as in
    `intervals`. People of two periods must be different ones: a mapping to evidence that shows to
    be of the same people is refused unless `equal` is True.

    Periods are independent, so that intervals at the level L^(1/T) hold in all T of them at once in
    L of all cases: that is the band. The tests are those of `change`; mechanisms, and how many
    people choose each, may differ from period to period. The test of the whole distribution and
    those of functionals are of different hypotheses. With `joint` p-values of functionals count
    that so many were looked at (Holm). A period of nobody, or of one person, is left out.

    The cost is one fit a period, and up to 1,000 permutations.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> weeks = {"2026-11-02": [600, 400], "2026-11-09": [580, 420], "2026-11-16": [540, 460]}
    >>> evidence = {day: fw.collect([(coin, [0, 1], counts)]) for day, counts in weeks.items()}
    >>> print(fw.trend(evidence, fw.functionals.values(["yes"])))
    the distribution changes (p = 0.019)
    the share of yes changes (p = 0.027): -6.49 points a week (-11.2 to -1.8; p = 0.0067)
    3 periods from 2026-11-02 to 2026-11-16, 3,000 people
    95% intervals, and in brackets the band of all periods
      2026-11-02  71.64  (65.01 to 78.21)  [63.55 to 79.64]
      2026-11-09  67.31  (60.64 to 73.93)  [59.18 to 75.38]
      2026-11-16  58.66  (51.95 to 65.34)  [50.48 to 66.8]
    """
    level, wanted = checked_level(level), functionals_of(of)
    joint, equal = checked_flag("joint", joint), checked_flag("equal", equal)
    every = spans_of(evidence, equal=equal)
    spans = tuple(span for span in every if span.evidence.people > 1)
    if len(spans) < 2:
        raise EvidenceError(
            f"a trend of {several(len(every), 'period')}, {len(spans)} of them with two people at "
            f"least: expected two such periods."
        )
    times, unit = times_of(spans)
    alphabet, work = spans[0].evidence.alphabet, Work(on_step)
    work.expect(3 * len(spans), 1)
    pooled = Pooled.of([span.evidence for span in spans], work)
    tests = change(pooled, times, linearised(wanted, alphabet, pooled.theta), Work(None))
    work.solved(len(spans))
    each, bands = list[Intervals](), list[Intervals]()
    for span in spans:
        fit = OneStep(span.evidence, pooled.mode)
        each.append(intervals(fit, wanted, level))
        bands.append(intervals(fit, wanted, level ** (1 / len(spans)), joint))
        work.solved(2)
    columns = {
        **{name: _stacked(each, name) for name in ("point", "low", "high", "standard_error")},
        **{f"band_{name}": _stacked(bands, name) for name in ("low", "high")},
    }
    slope, error, p_constant, p_slope = tests.slope, tests.slope_error, tests.constant, tests.level
    if isinstance(wanted, Quantiles | Nonlinear):
        points, errors = columns["point"], columns["standard_error"]
        lines = Lines.through(times, np.where(errors > 0, errors, np.inf))
        slope, error = lines.slopes(points), lines.slope_error
        if not len(p_constant):
            p_constant, p_slope = lines.p_values(points)
    if joint:
        p_constant, p_slope = (np.array(holm(list(some))) for some in (p_constant, p_slope))
    reach = float(ndtri((1 + level) / 2)) * error
    columns |= {"slope": slope, "slope_low": slope - reach, "slope_high": slope + reach}
    columns |= {"p_constant": p_constant, "p_slope": p_slope}
    if each[0].point.ndim == 0:
        columns = {name: column[..., 0] for name, column in columns.items()}
    return Trend(
        of=each[0].of,
        spans=spans,
        times=times,
        unit=unit,
        **columns,
        p_value=tests.whole,
        level=level,
        joint=joint,
        shares=not isinstance(wanted, Quantiles | Nonlinear)
        and estimable(wanted, alphabet)[0].are_shares,
        alphabet=each[0].alphabet,
        advice=_advice(every, spans, each),
    )


def linearised(wanted: Any, alphabet: Alphabet, theta: FloatArray) -> FloatArray:
    """Return weights that change where what is asked for does, to first order about theta.

    A quantile q of all periods changes where F(q) does, and a fraction where its gradient says; of
    anything else that is no sum of shares there are none.
    """
    if isinstance(wanted, Nonlinear):
        asked = wanted.on(alphabet)
        if not isinstance(asked, Fractions) or asked.quantiles is not None:
            return np.empty((0, alphabet.size))
        top, top_gradient, bottom, gradient = asked.at(asked.rows @ theta)
        ratio = (top / bottom)[:, None]
        return np.asarray((top_gradient - ratio * gradient) @ asked.rows / bottom[:, None])
    weights, quantiles = estimable(wanted, alphabet)
    if quantiles is None:
        return weights.rows
    curve = np.concatenate(
        [np.zeros((1, alphabet.size)), weights.rows, np.ones((1, alphabet.size))]
    )
    heights = np.maximum.accumulate(curve @ theta)
    places = np.searchsorted(heights, quantiles.levels).clip(1, len(heights) - 1)
    room_between = np.maximum(heights[places] - heights[places - 1], np.finfo(float).tiny)
    part = ((np.asarray(quantiles.levels) - heights[places - 1]) / room_between)[:, None]
    return np.asarray((1 - part) * curve[places - 1] + part * curve[places])


def _stacked(some: Sequence[Intervals], name: str) -> FloatArray:
    """Return a column of intervals of all periods, [period, functional]."""
    return np.stack([np.atleast_1d(getattr(one, name)) for one in some])


def _advice(every: Sequence[Span], spans: Sequence[Span], each: Sequence[Intervals]) -> str:
    """Say what was left out, and which periods rest on few people."""
    left_out = [span.name for span in every if span.evidence.people < 2]
    few = [span.name for span in spans if span.evidence.people < FEW]
    advice = [
        f"In {span.name}: {one.advice}" for span, one in zip(spans, each, strict=True) if one.advice
    ]
    parts = []
    if left_out:
        parts.append(f"Nobody, or one person, in {some_of(left_out, _NAMED)}: left out.")
    if few:
        parts.append(
            f"Fewer than {FEW} people in {some_of(few, _NAMED)}: intervals there are wide, and "
            f"tests find little. Longer periods are known better."
        )
    if len(advice) > 1:
        advice[1:] = [f"So in {len(advice) - 1} more."]
    return " ".join([*parts, *advice])
