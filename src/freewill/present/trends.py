"""A trend in words and as a picture: functionals over periods, their bands and what changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.errors import printable, several
from freewill.stats.difference import written
from freewill.stats.trend import Trend

if TYPE_CHECKING:
    pass

_ROWS = 12
"""Periods, or functionals, that are printed."""
_DRAWN = 6
"""Functionals that are drawn, those that change most surely."""


def lines(trend: Trend) -> list[str]:
    """Return a trend as a few lines of text."""
    people = several(sum(trend.people), "person")
    head = f"{len(trend)} periods from {trend.periods[0]} to {trend.periods[-1]}, {people}"
    said = [trend.verdict, *(sentence(trend, 0) for _ in trend.of[:1] if len(trend.of) == 1)]
    body = _by_period(trend) if len(trend.of) == 1 else _by_functional(trend)
    return [*said, head, *body, *([trend.advice] if trend.advice else [])]


def sentence(trend: Trend, place: int) -> str:
    """Say whether a functional changes, and by how much in a unit of time."""
    p_value, slope, low, high = (
        float(np.atleast_1d(getattr(trend, name))[place])
        for name in ("p_constant", "slope", "slope_low", "slope_high")
    )
    name = printable(trend.of[place])
    what = f"the share of {name}" if trend.shares else f"the {name}" if _bare(name) else name
    said = f"{what} changes" if p_value < 1 - trend.level else f"no change of {what} is shown"
    if not np.isfinite(slope):
        return f"{said} ({written(p_value)})"
    steps = " points" if trend.shares else ""
    scale = 100 if trend.shares else 1
    ends = f"{scale * low:+.3g} to {scale * high:+.3g}"
    return (
        f"{said} ({written(p_value)}): {scale * slope:+.3g}{steps} a {trend.unit} ({ends}; "
        f"{written(float(np.atleast_1d(trend.p_slope)[place]))})"
    )


def _bare(name: str) -> bool:
    return name in ("mean", "median")


def _by_period(trend: Trend) -> list[str]:
    """Return a line for each period of one functional."""
    every = np.arange(len(trend))
    places = every if len(every) <= _ROWS else np.delete(every, slice(_ROWS // 2, -_ROWS // 2))
    columns = _scaled(trend)
    wide = max(len(printable(name)) for name in trend.periods)
    rows = [f"{100 * trend.level:.6g}% intervals, and in brackets the band of all periods"]
    for before, place in zip([-1, *places], places, strict=False):
        if place > before + 1:
            rows.append(f"  {several(int(place - before - 1), 'period')} more")
        point, low, high, least, most = (column[place, 0] for column in columns)
        reach = f"({low:.4g} to {high:.4g})  [{least:.4g} to {most:.4g}]"
        rows.append(f"  {printable(trend.periods[place]):<{wide}}  {point:.4g}  {reach}")
    return rows


def _by_functional(trend: Trend) -> list[str]:
    """Return a line for each functional: where it begins and ends, its slope and its test."""
    points = _scaled(trend)[0]
    wide = max(len(printable(trend.of[place])) for place in surest(trend, _ROWS))
    kind = "all together" if trend.joint else "each by itself"
    rows = [f"first and last, slope a {trend.unit}, and the test that it is constant, {kind}"]
    for place in surest(trend, _ROWS):
        slope = (100 if trend.shares else 1) * trend.slope[place]
        ends = f"{points[0, place]:.4g} to {points[-1, place]:.4g}"
        test = written(float(trend.p_constant[place]))
        rows.append(f"  {printable(trend.of[place]):<{wide}}  {ends}  {slope:+.3g}  {test}")
    left = len(trend.of) - _ROWS
    return [*rows, *([f"  and {left:,} more"] if left > 0 else [])]


def surest(trend: Trend, many: int) -> IntArray:
    """Return the places of so many functionals that change most surely, in their order."""
    order = np.argsort(np.atleast_1d(trend.p_constant), kind="stable")
    return np.sort(order[:many])


def _scaled(trend: Trend) -> Sequence[FloatArray]:
    """Return point, ends and band, [period, functional]; shares in percent."""
    scale = 100 if trend.shares else 1
    names = ("point", "low", "high", "band_low", "band_high")
    shape = len(trend), len(trend.of)
    return [scale * np.reshape(getattr(trend, name), shape) for name in names]
