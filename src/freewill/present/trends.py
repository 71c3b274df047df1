"""A trend in words and as a picture: functionals over periods, their bands and what changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.errors import ParameterError, printable, several, shown
from freewill.present import canvas
from freewill.present.canvas import Axes, Figure, plain, saved
from freewill.stats.difference import written
from freewill.stats.trend import Trend

_ROWS = 12
"""Periods, or functionals, that are printed."""
_DRAWN = 6
"""Functionals that are drawn, those that change most surely."""
_TICKS, _LONGEST, _WIDE = 9, 24, 90
"""Periods that are named below a picture, their letters, and letters that stand side by side."""


def lines(trend: Trend) -> list[str]:
    """Return a trend as a few lines of text."""
    people = several(sum(trend.people), "person")
    many = several(len(trend), "period")
    head = f"{many} from {trend.periods[0]} to {trend.periods[-1]}, {people}"
    said = [trend.verdict, *([sentence(trend, 0)] if len(trend.of) == 1 else [])]
    body = _by_period(trend) if len(trend.of) == 1 else _by_functional(trend)
    return [*said, head, *body, *([trend.advice] if trend.advice else [])]


def sentence(trend: Trend, place: int) -> str:
    """Say whether a functional changes, and by how much in a unit of time."""
    p_value, slope, low, high = (
        float(np.atleast_1d(getattr(trend, name))[place])
        for name in ("p_constant", "slope", "slope_low", "slope_high")
    )
    name = printable(trend.of[place])
    bare = "the " if name in ("mean", "median") else ""
    what = f"the share of {name}" if trend.shares else f"{bare}{name}"
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


def _by_period(trend: Trend) -> list[str]:
    """Return a line for each period of one functional."""
    every = np.arange(len(trend))
    places = every if len(every) <= _ROWS else np.delete(every, slice(_ROWS // 2, -_ROWS // 2))
    columns = scaled(trend)
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
    points = scaled(trend)[0]
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


def scaled(trend: Trend) -> Sequence[FloatArray]:
    """Return point, ends and band, [period, functional]; shares in percent."""
    scale = 100 if trend.shares else 1
    names = ("point", "low", "high", "band_low", "band_high")
    shape = len(trend), len(trend.of)
    return [scale * np.reshape(getattr(trend, name), shape) for name in names]


def picture(
    trend: Trend, *, ax: Any = None, path: str | Path | None = None, title: str = ""
) -> Figure:
    """Draw functionals over periods: points with intervals, and the band of all periods.

    Of many functionals those are drawn that change most surely, six at most. Coordinates of a grid
    have a panel each. `ax` takes axes of your own, one for each panel.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> counts = {"2026-11-02": [600, 400], "2026-11-09": [540, 460]}
    >>> weeks = {day: fw.collect([(coin, [0, 1], some)]) for day, some in counts.items()}
    >>> len(fw.trend(weeks).plot().axes)
    1
    """
    if not isinstance(trend, Trend):
        raise ParameterError(f"trend={shown(trend)}: expected what fw.trend returns.")
    places = surest(trend, _DRAWN).tolist()
    apart = not trend.shares and len(trend.alphabet.extent) == 2
    groups = [[place] for place in places] if apart else [places]
    if ax is None:
        ax = canvas.blank_figure(8.4, 4.4 + 2.6 * (len(groups) - 1)).subplots(len(groups), 1)
    panels = canvas.given_axes(ax, len(groups))
    for number, (axes, some) in enumerate(zip(panels, groups, strict=True)):
        for pen, place in enumerate(some):
            _draw(axes, trend, place, pen, alone=len(some) == 1)
        head = title or (sentence(trend, some[0]) if len(trend.of) == 1 else trend.verdict)
        up = plain(trend.of[some[0]]) if len(some) == 1 else canvas.unit_of(trend.alphabet, "")
        up = "share of people (%)" if trend.shares else up
        canvas.finish(axes, head if number == 0 else "", "", up, "y")
        _name_periods(axes, trend)
        # Latitudes are read as they are, not as what is beyond 46.23.
        axes.ticklabel_format(axis="y", useOffset=False)
        if len(some) > 1:
            canvas.legend(axes, below=True, ncols=min(len(some), 3))  # bands leave no room
        elif number == 0:
            canvas.legend(axes)
    return saved(canvas.figure_of(panels[0]), path)


def _draw(axes: Axes, trend: Trend, place: int, pen: int, *, alone: bool) -> None:
    """Draw a functional: its points with intervals, and its band behind them."""
    point, low, high, least, most = (column[:, place] for column in scaled(trend))
    colour = canvas.pen_of(pen)
    looks: dict[str, Any] = {"alpha": 0.16, "linewidth": 0, "color": colour["color"]}
    name = plain(trend.of[place])
    times, level = trend.times, f"{100 * trend.level:.6g} %"
    axes.fill_between(
        times, least, most, label=f"{level} band of all periods" if alone else None, **looks
    )
    label = f"{name}, {level} intervals" if alone else name
    reach = canvas.lengths(point, low, high)
    axes.errorbar(times, point, reach, ms=4, capsize=3, marker="o", label=label, **colour)


def _name_periods(axes: Axes, trend: Trend) -> None:
    """Write the names of some periods below the axes."""
    step = -(-len(trend) // _TICKS)
    some = range(0, len(trend), step)
    names = [plain(trend.periods[place], _LONGEST) for place in some]
    axes.set_xticks(trend.times[list(some)], names)
    if sum(map(len, names)) > _WIDE:
        axes.tick_params(axis="x", rotation=30)
