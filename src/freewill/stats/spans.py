"""Periods of a trend: what each is called, its days, and its place in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, ParameterError, shown
from freewill.stats.evidence import Evidence, checked_evidence
from freewill.stats.provenance import Body, refuse_shared

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
