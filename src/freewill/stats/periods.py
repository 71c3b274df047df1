"""Evidence by period: days, weeks or months, what they are called, and where they lie in time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, ParameterError, shown
from freewill.stats.evidence import Evidence, checked_evidence, listed, merge
from freewill.stats.provenance import Body, Parts, refuse_shared

_NAMED = 8
"""Periods that an error names: the last of them."""
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """Days from `start` on, before `end` (None while it goes on), and what was reported then.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> week = fw.collect([(coin, [0, 1], [60, 40])])
    >>> (period,) = fw.with_periods([("2026-11-02", "2026-11-09", week)]).periods
    >>> print(period)
    2026-11-02..2026-11-08
    """

    start: date
    end: date | None
    evidence: Evidence = field(repr=False)

    @property
    def last(self) -> date | None:
        """The last day of it; None while it goes on."""
        return None if self.end is None else self.end - _DAY

    def __str__(self) -> str:
        return f"{self.start}..{self.last}" if self.last else f"since {self.start}"


def with_periods(parts: Iterable[Sequence[Any]], beside: Parts = frozenset()) -> Evidence:
    """Return the sum of evidence of some periods, which keeps them: [(start, end, evidence), ...].

    `start` is a day, a `datetime.date` or a text as "2026-11-02", `end` the first day that belongs
    to it no more; the last period may go on, and has None. Periods may leave days out, and may not
    overlap. `beside` are digests of more that the sum was put together from.

    O(outputs of all periods).

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> first, second = fw.collect([(coin, [0, 0, 1])]), fw.collect([(coin, [1])])
    >>> weeks = [("2026-11-02", "2026-11-09", first), ("2026-11-09", None, second)]
    >>> evidence = fw.with_periods(weeks)
    >>> evidence.people, [str(period) for period in evidence.periods]
    (4, ['2026-11-02..2026-11-08', 'since 2026-11-09'])
    >>> evidence.between(last="2026-11-08") == first
    True
    """
    wanted = "triples (start, end, evidence)"
    periods = sorted(
        (_checked(part) for part in listed(parts, "parts", wanted)), key=lambda period: period.start
    )
    if not periods:
        raise EvidenceError(f"no period: expected {wanted}.")
    for before, after in pairwise(periods):
        if before.end is None or before.end > after.start:
            raise EvidenceError(
                f"the periods {before} and {after} overlap: expected each to end where the next "
                f"begins, or before. Only the last may go on."
            )
    return _sum(periods, beside)


def _checked(part: Any) -> Period:
    given = tuple(part) if isinstance(part, tuple | list) else ()
    if len(given) != 3:
        raise EvidenceError(f"{shown(part)}: expected (start, end, evidence).")
    start = day(given[0], "start")
    end = None if given[1] is None else day(given[1], "end")
    if end is not None and end <= start:
        raise EvidenceError(
            f"a period from {start} to {end}: the end is the first day that belongs to it no more, "
            f"and must be later than the start."
        )
    return Period(start, end, _plain(checked_evidence(given[2], "a period")))


def day(given: Any, name: str) -> date:
    """Return a day that was given as one, or as a text.

    >>> day("2026-11-02", "from")
    datetime.date(2026, 11, 2)
    """
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            given = shown(given)
    elif isinstance(given, date) and not isinstance(given, datetime):
        return given
    raise EvidenceError(f"{name}={given}: expected a day, as 2026-11-02.")


def _plain(evidence: Evidence) -> Evidence:
    return replace(evidence, periods=()) if evidence.periods else evidence


def _sum(periods: Sequence[Period], beside: Parts) -> Evidence:
    total = merge([period.evidence for period in periods])
    return replace(total, periods=tuple(periods), parts=total.parts | beside)


def between(evidence: Evidence, first: Any = None, last: Any = None) -> Evidence:
    """Return the evidence of the periods from one day to another, both of them included."""
    periods = evidence.periods
    if not periods:
        raise EvidenceError(
            "the evidence has no periods, of which some could be taken: a collector's store keeps "
            "them, fw.with_periods and `freewill collect --period` tell them of other evidence."
        )
    begin = periods[0].start if first is None else day(first, "first")
    end = None if last is None else day(last, "last")
    for period in periods:
        cut = period.start < begin and (period.last is None or period.last >= begin)
        if end is not None and period.start <= end and (period.last is None or period.last > end):
            cut = True
        if cut:
            raise EvidenceError(
                f"from {begin} to {end or 'the end'} cuts the period {period}, whose reports are "
                f"counted together. Take whole ones, of {_named(periods)}."
            )
    some = [p for p in periods if p.start >= begin and (end is None or p.start <= end)]
    if not some:
        raise EvidenceError(
            f"no period from {begin} to {end or 'the end'}: expected some of {_named(periods)}."
        )
    return _sum(some, frozenset())


def _named(periods: Sequence[Period]) -> str:
    more = f"{len(periods) - _NAMED} more, " if len(periods) > _NAMED else ""
    return more + ", ".join(map(str, periods[-_NAMED:]))


def changed(evidence: Evidence, change: Callable[[Evidence], Evidence]) -> Evidence:
    """Return what a change makes of evidence, made in each of its periods where it has some."""
    if not evidence.periods:
        return change(evidence)
    return _sum(
        [replace(period, evidence=change(period.evidence)) for period in evidence.periods],
        frozenset(),
    )


def united_periods(bodies: Sequence[Evidence]) -> tuple[Period, ...]:
    """Return the periods of evidence that is merged; none where some of it is of no known time.

    Those of the same days are added. Those that overlap otherwise, as a week and its days, become
    one, from the first day of both to the last: what was counted together cannot be told apart.
    """
    if not all(body.periods for body in bodies if body.people):
        return ()
    every = sorted((p for body in bodies for p in body.periods), key=lambda period: period.start)
    together: list[list[Period]] = []
    for period in every:
        if together and _reaches(together[-1], period.start):
            together[-1].append(period)
        else:
            together.append([period])
    return tuple(
        Period(same[0].start, _end(same), merge([period.evidence for period in same]))
        for same in together
    )


def _end(same: Sequence[Period]) -> date | None:
    ends = [period.end for period in same if period.end is not None]
    return max(ends) if len(ends) == len(same) else None


def _reaches(same: Sequence[Period], start: date) -> bool:
    end = _end(same)
    return end is None or end > start


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
