"""Two bodies of evidence in one picture: what each says, and what differs beyond its error."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.alphabets.groups import Groups, as_groups
from freewill.errors import ParameterError, several, shown
from freewill.present import canvas
from freewill.present.canvas import Axes, Figure, Ground, Reach, Series, plain, saved
from freewill.stats.compare import Comparison

_MOST_NAMES = 200
"""Functionals that find room below each other."""


def comparison(
    compared: Comparison,
    *,
    ax: Any = None,
    path: str | Path | None = None,
    names: Sequence[str] = ("one", "other"),
    title: str = "",
    unit: str = "",
    merged: int | Groups = 1,
    background: Any = None,
) -> Figure:
    """Draw what two bodies of evidence say, and their difference with its intervals.

    On a line both estimates stand above the difference, its error bars or band, and a line at 0. In
    the plane the map of differences is red where the other has more and blue where it has less,
    pale where the interval holds 0, framed where it does not; beside it stand the standard errors.
    Labels, and functionals that are no shares of neighbours, lie below each other. `merged` says
    which neighbours of a line, or blocks of cells, were compared as one, as in `picture`.
    `ax` takes axes of a figure of your own, one for each panel. A survey's `background` lies under
    maps.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> days = [fw.collect([(coin, [0, 1], counts)]) for counts in ([600, 400], [540, 460])]
    >>> len(comparison(fw.compare(*days), names=["Monday", "Tuesday"]).axes)
    2
    """
    if not isinstance(compared, Comparison):
        raise ParameterError(f"compared={shown(compared)}: expected a comparison of fw.compare.")
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2:
        raise ParameterError(f"names={shown(names)}: expected two, as ['Monday', 'Tuesday'].")
    groups = as_groups(compared.alphabet, merged)
    drawn = _Columns(compared, names, groups)
    alphabet, many = compared.alphabet, len(compared.of)
    line, every = len(alphabet.extent) == 1, many == groups.count
    near = compared.shares and canvas.has_neighbours(groups) and every
    if near and not line:
        return saved(_on_map(drawn, title, background, ax), path)
    if groups.count < alphabet.size and not every:
        raise ParameterError(
            f"{several(many, 'functional')} were compared, and {groups} are "
            f"{several(groups.count, 'group')}: expected one for each."
        )
    if line and (near or compared.of[0].startswith("<= ")):
        return saved(_on_line(drawn, title, unit, ax), path)
    if many > _MOST_NAMES:
        raise ParameterError(
            f"{several(many, 'functional')} are too many to draw below each other: compare "
            f"{_MOST_NAMES} at most, or merged neighbours (functionals.bins, districts)."
        )
    return saved(_by_name(drawn, title, ax), path)


class _Columns:
    """The numbers of a comparison as they are drawn: shares as percentages."""

    def __init__(self, compared: Comparison, names: Sequence[str], groups: Groups) -> None:
        self.compared, self.groups = compared, groups
        scale = 100 if compared.shares else 1
        ends = (compared.one, compared.other, compared.difference, compared.low, compared.high)
        columns = [scale * np.atleast_1d(end) for end in (*ends, compared.standard_error)]
        one, other, self.difference, self.low, self.high, self.errors = columns
        both = zip((0, 1), names, compared.people, (one, other), strict=True)
        self.series: Series = [
            (pen, f"{plain(name)}: {several(people, 'person')}", estimate)
            for pen, name, people, estimate in both
        ]
        self.reach: Reach = self.difference, self.low, self.high
        self.sure: BoolArray = np.asarray((self.low > 0) | (self.high < 0))
        """Where the interval does not hold 0."""
        self.other = plain(names[1])
        self.less = f"{names[1]} less {names[0]}"


def _on_line(drawn: _Columns, title: str, unit: str, ax: Any) -> Figure:
    """Draw both estimates, and below them the difference."""
    side, _ = canvas.sides_of(drawn.groups)
    if ax is None:
        ax = canvas.blank_figure(8.4, 6.4).subplots(2, 1, sharex=True, height_ratios=[1.15, 1])
    above, below = canvas.given_axes(ax, 2)
    edges = canvas.edges_of(drawn.groups)
    cumulative = len(drawn.difference) < len(edges) - 1
    if cumulative:
        edges = edges[:-1]  # the share up to the last value is everyone's
    canvas.draw_series(above, drawn.series, edges, steps=side > 1)
    what = "people up to a value" if cumulative else "people"
    each = "" if side == 1 else f" in {several(side, 'value')}"
    canvas.finish(above, title or drawn.compared.verdict, "", f"share of {what}{each} (%)", "y")
    canvas.legend(above)
    below.axhline(0, color=canvas.INK, linewidth=1.0)
    canvas.draw_reach(below, drawn.reach, edges, canvas.kind_of(drawn.compared))
    middle = (edges[1:] + edges[:-1]) / 2
    if side > 1:
        below.stairs(drawn.difference, edges, baseline=None, color=canvas.SOFT, linewidth=1.2)
    else:
        below.plot(middle, drawn.difference, color=canvas.SOFT, linewidth=1.2)
    _draw_sure(below, middle, drawn)
    ends = float(drawn.low.min()), float(drawn.high.max())
    room = 0.06 * (ends[1] - ends[0])
    below.set_ylim(ends[0] - room, ends[1] + room)
    across = canvas.unit_of(drawn.compared.alphabet, unit)
    canvas.finish(below, drawn.less, across, "difference (points)", "y", canvas.NORMAL)
    canvas.legend(below)
    return canvas.figure_of(below)


def _draw_sure(
    axes: Axes, places: FloatArray | IntArray, drawn: _Columns, *, upright: bool = True
) -> None:
    """Mark the differences whose intervals do not hold 0, by their signs."""
    for sign, colour, word in ((1, canvas.VERMILION, "more"), (-1, canvas.BLUE, "less")):
        chosen = drawn.sure & (sign * drawn.difference > 0)
        if chosen.any():
            points = places[chosen], drawn.difference[chosen]
            across, up = points if upright else points[::-1]
            looks: dict[str, Any] = {"color": colour, "s": 22, "zorder": 4}
            axes.scatter(across, up, label=f"{word} in {drawn.other}", **looks)


def _on_map(drawn: _Columns, title: str, background: Any, ax: Any) -> Figure:
    """Draw the map of the difference beside the map of its standard errors."""
    ground = Ground.of(drawn.groups, background)
    figure, panels = canvas.blank_panels(2, ground.shape, title or drawn.compared.verdict, ax)
    most = max(float(np.abs(drawn.difference).max()), np.finfo(float).tiny)
    ground.draw_signed(panels[0], drawn.difference, drawn.sure, most)
    _frame(panels[0], ground.laid_out(drawn.sure).filled(False), ground.looks["extent"])
    canvas.finish_panel(panels[0], f"{drawn.less}; pale where it may be 0", *ground.names)
    label = f"difference in {ground.each} (points)"
    canvas.draw_signed_scale(figure, panels[:1], most, label)
    ground.draw_errors(figure, panels[1], drawn.errors)
    ground.finish(panels)
    return figure


def _frame(axes: Axes, sure: BoolArray, extent: tuple[float, float, float, float]) -> None:
    """Draw the borders between what is sure and what is not."""
    west, east, south, north = extent
    rows, columns = sure.shape
    across, up = np.linspace(west, east, columns + 1), np.linspace(south, north, rows + 1)
    padded = np.pad(sure, 1)
    segments = [
        [(across[column], up[row]), (across[column], up[row + 1])]
        for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    ] + [
        [(across[column], up[row]), (across[column + 1], up[row])]
        for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    ]
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    axes.add_collection(LineCollection(segments, colors=canvas.INK, linewidths=1.0), autolim=False)


def _by_name(drawn: _Columns, title: str, ax: Any) -> Figure:
    """Draw functionals below each other: what both say, and the difference beside it."""
    many = len(drawn.difference)
    if ax is None:
        height = float(np.clip(1.8 + 0.36 * many, 2.8, 60))
        ax = canvas.blank_figure(9.6, height).subplots(1, 2, sharey=True)
    both, apart = canvas.given_axes(ax, 2)
    places = np.arange(many)
    for number, name, numbers in drawn.series:
        pen = {"color": canvas.pen_of(number)["color"], "label": name}
        if drawn.compared.shares:
            both.barh(places + (number - 0.5) * 0.4, numbers, 0.37, **pen)
        else:
            both.plot(numbers, places, "os"[number], **pen)
    both.set_yticks(places, [plain(name) for name in drawn.compared.of])
    both.set_ylim(many - 0.4, -0.6)
    units = ("share of people (%)", "difference (points)")
    across = units if drawn.compared.shares else ("", "difference")
    canvas.finish(both, title or drawn.compared.verdict, across[0], "", "x")
    canvas.legend(both)
    apart.axvline(0, color=canvas.INK, linewidth=1.0)
    kind = canvas.kind_of(drawn.compared)
    canvas.draw_across(apart, places, drawn.reach, kind, color=canvas.SOFT)
    _draw_sure(apart, places, drawn, upright=False)
    canvas.finish(apart, drawn.less, across[1], "", "x", canvas.NORMAL)
    canvas.legend(apart)
    return canvas.figure_of(apart)
