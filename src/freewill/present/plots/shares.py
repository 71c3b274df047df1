"""Distributions drawn as their alphabet asks: curves, bars or maps, with their intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray, numbers
from freewill.domain.alphabets.base import Alphabet, checked_kind
from freewill.domain.alphabets.groups import (
    Blocks,
    Groups,
    Sets,
    as_groups,
    checked_plane,
    merged_weights,
)
from freewill.errors import ParameterError, several, shown
from freewill.present.plots.canvas import (
    FAINT,
    INK,
    NORMAL,
    SKY,
    SOFT,
    TRUTH,
    blank_figure,
    blank_panels,
    draw_image,
    draw_scale,
    finish,
    finish_panel,
    pen_of,
    plain,
    save,
    small_png,
)
from freewill.stats.compare import Comparison
from freewill.stats.intervals import Intervals, check_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_FEW_BARS = 40
"""Values of a line up to which each has an error bar of its own; more have a band."""

Series = list[tuple[int, str, FloatArray]]
"""A number that says the pen, a name, and the percentage at each value; the truth comes first."""
_TRUTH = -1


def picture(
    alphabet: Alphabet,
    thetas: Mapping[str, ArrayLike],
    truth: ArrayLike | None = None,
    *,
    path: str | Path,
    title: str = "",
    unit: str = "",
    intervals: Intervals | None = None,
    merged: int | Groups = 1,
) -> Path:
    """Draw distributions the way their alphabet asks for, the truth with them where it is known.

    On a line estimates are curves over the truth, the grey area behind them; `unit` names what
    the line measures ("age in years"). In the plane map stands beside map on one colour scale,
    the truth first, with degrees for a box and kilometres without. Over labels bars lie beside each
    other, the truth in grey.

    `merged` draws so many neighbours of a line, or squares of cells, as one, or any groups of
    `domain.alphabets.groups`. `intervals` of what is drawn, every value or every such group, are
    error bars or a band; in the plane a second map has the standard errors, hatched where these are
    infinite.

    >>> import freewill as fw, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> theta = np.full(10, 0.1)
    >>> picture(fw.Linear(0, 9), {"estimate": theta}, path=folder / "ages.png").name
    'ages.png'
    """
    return save(_figure(alphabet, thetas, truth, title, unit, intervals, merged), path)


def sketch(
    alphabet: Alphabet,
    thetas: Mapping[str, ArrayLike],
    *,
    intervals: Intervals | None = None,
    merged: int | Groups = 1,
) -> bytes:
    r"""Draw the same as `picture` for a page, and return it as PNG of some tens of kilobytes.

    >>> import freewill as fw
    >>> drawn = sketch(fw.Linear(0, 9), {"estimate": np.full(10, 0.1)})
    >>> drawn[:4], len(drawn) < 60_000
    (b'\x89PNG', True)
    """
    return small_png(_figure(alphabet, thetas, None, "", "", intervals, merged))


def has_neighbours(groups: Groups) -> bool:
    """Tell whether groups are drawn along their axes, and not as one bar each."""
    return groups.alphabet.plane is not None and not isinstance(groups, Sets)


def _figure(
    alphabet: Alphabet,
    thetas: Mapping[str, ArrayLike],
    truth: ArrayLike | None,
    title: str,
    unit: str,
    intervals: Intervals | None,
    merged: int | Groups,
) -> "Figure":
    series = _checked(thetas, truth, checked_kind(alphabet))
    groups = as_groups(alphabet, merged)
    series = [(one, name, merged_weights(groups, weights)) for one, name, weights in series]
    if intervals is not None:
        check_intervals(intervals, alphabet, groups.count)
    draw = (_bars, _line, _maps)[len(alphabet.extent) if has_neighbours(groups) else 0]
    return draw(groups, series, title, unit, intervals)


def sides_of(groups: Groups) -> tuple[int, int]:
    """Return how many columns and rows are drawn as one."""
    return (groups.columns, groups.rows) if isinstance(groups, Blocks) else (1, 1)


def _line(
    groups: Groups, series: Series, title: str, unit: str, intervals: Intervals | None
) -> "Figure":
    figure = blank_figure(8.4, 4.4)
    axes = figure.add_subplot()
    edges, side = edges_of(groups), sides_of(groups)[0]
    if intervals is not None:
        draw_reach(axes, _percentages(intervals), edges, kind_of(intervals))
    draw_series(axes, series, edges, steps=side > 1)
    axes.set_xlim(edges[0], edges[-1])
    axes.margins(y=0.06)
    if all(percent.min() >= 0 for _, _, percent in series):
        axes.set_ylim(bottom=0)
    each = "" if side == 1 else f" in {several(side, 'value')}"
    finish(axes, title, unit or "value", f"share of people{each} (%)")
    finish_series(axes, "y", series, intervals)
    return figure


def edges_of(groups: Groups) -> FloatArray:
    """Return where the values of a line, or so many of them together, begin and end."""
    alphabet, (side, _) = groups.alphabet, sides_of(groups)
    edges = np.linspace(*alphabet.extent[0], alphabet.size + 1)
    return np.append(edges[:-1:side], edges[-1])


def draw_series(axes: "Axes", series: Series, edges: FloatArray, *, steps: bool) -> None:
    """Draw shares between the edges: curves, or steps where these are of merged values."""
    for number, name, percent in series:
        if number == _TRUTH:
            axes.stairs(percent, edges, fill=True, color=TRUTH, label=plain(name))
            continue
        # The first estimate lies on top: it is the one the picture is about.
        pen = {**pen_of(number), "linewidth": 1.9, "zorder": 3 - number / len(series)}
        if steps:
            axes.stairs(percent, edges, baseline=None, label=plain(name), **pen)
        else:
            axes.plot((edges[1:] + edges[:-1]) / 2, percent, label=plain(name), **pen)


def draw_reach(
    axes: "Axes", reach: tuple[FloatArray, FloatArray, FloatArray], edges: FloatArray, label: str
) -> None:
    """Draw points with error bars to their ends where there is room, else a band, behind all."""
    point, low, high = reach
    looks: dict[str, Any] = {"color": SKY, "label": label}
    if len(point) > _FEW_BARS:
        axes.stairs(high, edges, baseline=low, fill=True, alpha=0.35, linewidth=0, **looks)
        return
    middle = (edges[1:] + edges[:-1]) / 2
    axes.errorbar(middle, point, lengths(*reach), fmt="o", ms=4, capsize=3, elinewidth=1.4, **looks)


def lengths(point: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how far intervals reach to both sides."""
    # Ends beside the point may be the least above it that there are, or a hair on its other side.
    return np.maximum([point - low, high - point], 0.0)


def _percentages(intervals: Intervals) -> tuple[FloatArray, FloatArray, FloatArray]:
    return 100 * intervals.point, 100 * intervals.low, 100 * intervals.high


def kind_of(intervals: Intervals | Comparison) -> str:
    """Say what intervals are, in a legend."""
    together = " of all together" if intervals.joint else ""
    return f"{100 * intervals.level:.12g} % intervals{together}"


def _bars(
    groups: Groups, series: Series, title: str, unit: str, intervals: Intervals | None
) -> "Figure":
    height = np.clip(1.2 + 0.3 * groups.count * len(series) ** 0.5, 2.6, 60)
    figure = blank_figure(6.8, float(height))
    axes = figure.add_subplot()
    places, thick = np.arange(groups.count), 0.8 / len(series)
    for row, (number, name, percent) in enumerate(series):
        offset = (row - (len(series) - 1) / 2) * thick
        colour = TRUTH if number == _TRUTH else pen_of(number)["color"]
        axes.barh(places + offset, percent, thick * 0.92, color=colour, label=plain(name))
    if intervals is not None:
        reach = _percentages(intervals)
        looks: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 3, "color": INK}
        axes.errorbar(reach[0], places, xerr=lengths(*reach), label=kind_of(intervals), **looks)
    axes.set_yticks(places, [plain(name) for name in groups.names])
    axes.invert_yaxis()
    finish(axes, title, "share of people (%)", unit)
    finish_series(axes, "x", series, intervals)
    return figure


def finish_series(
    axes: "Axes", shares: Literal["x", "y"], series: Series, intervals: Intervals | None
) -> None:
    """Draw lines across the axis of the shares, and say what is what where there is a choice."""
    axes.grid(axis=shares, color=FAINT, linewidth=0.8)
    if len(series) > 1 or intervals is not None:
        looks: dict[str, Any] = {"fontsize": NORMAL, "frameon": False, "labelcolor": INK}
        if shares == "y":
            axes.legend(**looks)
        else:  # bars leave no room
            figure: Any = axes.figure
            figure.legend(loc="outside lower center", ncols=3, **looks)


def _maps(
    groups: Groups, series: Series, title: str, unit: str, intervals: Intervals | None
) -> "Figure":
    count = len(series) + (intervals is not None)
    ground = Ground.of(groups)
    figure, panels = blank_panels(count, ground.shape, "" if count == 1 else title)
    least = min(0.0, *(float(percent.min()) for _, _, percent in series))
    most = max(float(percent.max()) for _, _, percent in series)
    for axes, (_, name, percent) in zip(panels, series, strict=False):
        image = ground.draw(axes, percent, cmap="magma_r", vmin=least, vmax=most)
        finish_panel(axes, title if count == 1 else name, *ground.names)
    shared = panels[: len(series)]
    draw_scale(figure, image, shared, f"share of people in {ground.each} (%)")
    if intervals is not None:
        ground.draw_errors(figure, panels[-1], 100 * intervals.standard_error)
    ground.finish(panels)
    return figure


@dataclass(frozen=True, eq=False)
class Ground:
    """What all maps of a grid share: its shape, its edges in km or degrees, its blocks of cells."""

    shape: float
    """Height over width."""
    looks: dict[str, Any]
    names: tuple[str, str]
    which: IntArray
    """The block of each cell, in rows and columns."""
    each: str
    """What a block is called."""

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """Return the ground of a grid whose groups of cells are drawn as one."""
        alphabet, (columns, rows) = groups.alphabet, sides_of(groups)
        (west, east), (south, north) = alphabet.extent
        looks: dict[str, Any] = {"extent": (west, east, south, north)}
        names = ("km east", "km north")
        if alphabet.axes == ("lat", "lon"):
            (low, high), (left, right) = alphabet.reach
            # A degree of longitude is shorter than one of latitude: the map keeps its shape in km.
            stretch = (north - south) / (high - low) / ((east - west) / (right - left))
            looks = {"extent": (left, right, low, high), "aspect": stretch}
            names = ("longitude (°)", "latitude (°)")
        which = groups.which.reshape(checked_plane(alphabet))
        each = "a cell" if columns == rows == 1 else f"{columns} x {rows} cells"
        shape = float(np.clip((north - south) / (east - west), 0.35, 1.6))
        return cls(shape, looks, names, which, each)

    def draw(self, axes: "Axes", numbers: FloatArray, **looks: Any) -> "AxesImage":
        """Draw a number for each block."""
        return draw_image(axes, numbers[self.which], **looks, **self.looks)

    def draw_errors(self, figure: "Figure", axes: "Axes", errors: FloatArray) -> None:
        """Draw standard errors in percentage points, hatched where they are infinite."""
        known = np.ma.masked_invalid(errors[self.which])
        image = draw_image(axes, known, cmap="viridis_r", vmin=0.0, **self.looks)
        axes.patch.set(hatch="///", edgecolor=SOFT)
        finish_panel(axes, "standard error", *self.names)
        draw_scale(figure, image, [axes], "standard error (points)")

    def finish(self, panels: list["Axes"]) -> None:
        """Leave room for long numbers in narrow panels."""
        for axes in panels:
            axes.ticklabel_format(useOffset=False)
            axes.locator_params(axis="x", nbins=6 if len(panels) == 1 else 3)


def _checked(
    thetas: Mapping[str, ArrayLike], truth: ArrayLike | None, alphabet: Alphabet
) -> Series:
    """Return the distributions with their numbers; each must have a weight for each value."""
    if not isinstance(thetas, Mapping) or not thetas:
        raise ParameterError("nothing to draw: expected at least one name with its distribution.")
    given = [] if truth is None else [(_TRUTH, "truth", truth)]
    given += [(number, name, theta) for number, (name, theta) in enumerate(thetas.items())]
    series = []
    for number, name, weights in given:
        theta = numbers(weights, shown(name), several(alphabet.size, "weight"))
        if theta.shape != (alphabet.size,) or not np.all(np.isfinite(theta)):
            raise ParameterError(
                f"{shown(name)} has shape {theta.shape}; expected one finite weight for each of "
                f"the alphabet's {several(alphabet.size, 'value')}."
            )
        series.append((number, name, 100 * theta))
    return series
