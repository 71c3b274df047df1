"""Pictures from values: estimates on a line, map beside map, law beside law.

Every function writes one file, its format told by the suffix (.png, .svg, .pdf), and returns the
path. Figures are drawn on canvases of their own: no window opens and no global setting changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet, checked_kind
from freewill.alphabets import blocks as neighbours
from freewill.errors import FreewillError, ParameterError, printable, several, shown
from freewill.inference import Intervals
from freewill.types import FloatArray, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# The palette of Okabe and Ito, which people with any colour vision tell apart; each colour comes
# with a dash pattern of its own, for prints without colour.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
INK, SOFT, FAINT, TRUTH = "#22272E", "#5B6675", "#E4E7EB", "#C9CDD3"
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_DASHES = ("solid", (0, (6, 2)), (0, (2, 1.5)), (0, (8, 2, 2, 2)), (0, (1, 1)), (0, (12, 3)))
_SMALL, _NORMAL, _LARGE = 9.0, 10.5, 12.5  # points: ticks, labels, titles
_FORMATS = (".png", ".svg", ".pdf")
_DPI = 160  # sharp in print, and a picture stays below a megabyte
_LONGEST_NAME, _LONGEST_TITLE = 40, 80
_ROW = 4
"""Panels in a row of maps or laws before a new row begins."""

_FEW_BARS = 40
"""Values of a line up to which each has an error bar of its own; more have a band."""

_Series = list[tuple[int, str, FloatArray]]
"""A number that says the pen, a name, and the percentage at each value; the truth comes first."""
_TRUTH = -1


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is missing, before any work is done."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise FreewillError(
            "pictures need matplotlib, which is not installed. "
            "Install the extra: pip install 'freewill[plot]'"
        ) from None


def picture(
    alphabet: Alphabet,
    thetas: Mapping[str, ArrayLike],
    truth: ArrayLike | None = None,
    *,
    path: str | Path,
    title: str = "",
    unit: str = "",
    intervals: Intervals | None = None,
    merged: int = 1,
) -> Path:
    """Draw distributions the way their alphabet asks for, the truth with them where it is known.

    On a line estimates are curves over the truth, the grey area behind them; `unit` names what
    the line measures ("age in years"). In the plane map stands beside map on one colour scale,
    the truth first, with degrees for a box and kilometres without. Over labels bars lie beside each
    other, the truth in grey.

    `merged` draws so many neighbours of a line, or squares of cells, as one. `intervals` of what is
    drawn, every value or every such block, are error bars or a band; in the plane a second map has
    the standard errors, hatched where these are infinite.

    >>> import freewill as fw, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> theta = np.full(10, 0.1)
    >>> picture(fw.Linear(0, 9), {"estimate": theta}, path=folder / "ages.png").name
    'ages.png'
    """
    draw = (_bars, _line, _maps)[len(checked_kind(alphabet).extent)]
    series = _checked(thetas, truth, alphabet)
    side = _checked_side(merged, alphabet)
    if side > 1:
        series = [(one, name, neighbours.merged(alphabet, w, side)) for one, name, w in series]
    if intervals is not None:
        _check_intervals(intervals, alphabet, len(series[0][2]))
    return save(draw(alphabet, series, title, unit, intervals, side), path)


def _line(
    alphabet: Alphabet,
    series: _Series,
    title: str,
    unit: str,
    intervals: Intervals | None,
    side: int,
) -> "Figure":
    figure = blank_figure(8.4, 4.4)
    axes = figure.add_subplot()
    edges = np.linspace(*alphabet.extent[0], alphabet.size + 1)
    edges = np.append(edges[:-1:side], edges[-1])
    if intervals is not None:
        _draw_intervals(axes, intervals, edges)
    for number, name, percent in series:
        if number == _TRUTH:
            axes.stairs(percent, edges, fill=True, color=TRUTH, label=_plain(name))
        else:
            # The first estimate lies on top: it is the one the picture is about.
            pen = {**_pen(number), "linewidth": 1.9, "zorder": 3 - number / len(series)}
            if side > 1:
                axes.stairs(percent, edges, baseline=None, label=_plain(name), **pen)
            else:
                axes.plot((edges[1:] + edges[:-1]) / 2, percent, label=_plain(name), **pen)
    axes.set_xlim(edges[0], edges[-1])
    axes.margins(y=0.06)
    if all(percent.min() >= 0 for _, _, percent in series):
        axes.set_ylim(bottom=0)
    each = "" if side == 1 else f" in {several(side, 'value')}"
    finish(axes, title, unit or "value", f"share of people{each} (%)")
    _finish_series(axes, "y", series, intervals)
    return figure


def _draw_intervals(axes: "Axes", intervals: Intervals, edges: FloatArray) -> None:
    """Draw error bars where there is room for them, else a band, behind the estimates."""
    low, high, point = (100 * end for end in (intervals.low, intervals.high, intervals.point))
    looks: dict[str, Any] = {"color": SKY, "label": _kind(intervals)}
    if len(point) > _FEW_BARS:
        axes.stairs(high, edges, baseline=low, fill=True, alpha=0.35, linewidth=0, **looks)
        return
    middle = (edges[1:] + edges[:-1]) / 2
    # Numbers beside the point may be the least above 0 that there are, or a hair below it.
    reach = np.maximum([point - low, high - point], 0.0)
    axes.errorbar(middle, point, reach, fmt="o", ms=4, capsize=3, elinewidth=1.4, **looks)


def _kind(intervals: Intervals) -> str:
    """Say what intervals are, in a legend."""
    together = " of all together" if intervals.joint else ""
    return f"{100 * intervals.level:.12g} % intervals{together}"


def _bars(
    alphabet: Alphabet,
    series: _Series,
    title: str,
    unit: str,
    intervals: Intervals | None,
    side: int,
) -> "Figure":
    height = np.clip(1.2 + 0.3 * alphabet.size * len(series) ** 0.5, 2.6, 60)
    figure = blank_figure(6.8, float(height))
    axes = figure.add_subplot()
    places, thick = np.arange(alphabet.size), 0.8 / len(series)
    for row, (number, name, percent) in enumerate(series):
        offset = (row - (len(series) - 1) / 2) * thick
        colour = TRUTH if number == _TRUTH else _pen(number)["color"]
        axes.barh(places + offset, percent, thick * 0.92, color=colour, label=_plain(name))
    if intervals is not None:
        low, high, point = (100 * end for end in (intervals.low, intervals.high, intervals.point))
        reach = np.maximum([point - low, high - point], 0.0)
        looks: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 3, "color": INK}
        axes.errorbar(point, places, xerr=reach, label=_kind(intervals), **looks)
    axes.set_yticks(places, [_plain(label) for label in alphabet.labels])
    axes.invert_yaxis()
    finish(axes, title, "share of people (%)", unit)
    _finish_series(axes, "x", series, intervals)
    return figure


def _finish_series(
    axes: "Axes", shares: Literal["x", "y"], series: _Series, intervals: Intervals | None
) -> None:
    """Draw lines across the axis of the shares, and say what is what where there is a choice."""
    axes.grid(axis=shares, color=FAINT, linewidth=0.8)
    if len(series) > 1 or intervals is not None:
        axes.legend(fontsize=_NORMAL, frameon=False, labelcolor=INK)


def _maps(
    alphabet: Alphabet,
    series: _Series,
    title: str,
    unit: str,
    intervals: Intervals | None,
    side: int,
) -> "Figure":
    (west, east), (south, north) = alphabet.extent
    shape = np.clip((north - south) / (east - west), 0.35, 1.6)
    looks: dict[str, Any] = {"extent": (west, east, south, north)}
    names = ("km east", "km north")
    if alphabet.axes == ("lat", "lon"):
        (low, high), (left, right) = alphabet.reach
        # A degree of longitude is shorter than one of latitude: the map keeps its shape in km.
        stretch = (north - south) / (high - low) / ((east - west) / (right - left))
        looks = {"extent": (left, right, low, high), "aspect": stretch}
        names = ("longitude (°)", "latitude (°)")
    count = len(series) + (intervals is not None)
    figure, panels = _panels(count, shape, "" if count == 1 else title)
    which = neighbours.blocks(alphabet, side).reshape(neighbours.checked_plane(alphabet))
    each = "a cell" if side == 1 else f"{side} x {side} cells"
    least = min(0.0, *(float(percent.min()) for _, _, percent in series))
    most = max(float(percent.max()) for _, _, percent in series)
    for axes, (_, name, percent) in zip(panels, series, strict=False):
        image = _image(axes, percent[which], cmap="magma_r", vmin=least, vmax=most, **looks)
        _finish_panel(axes, title if count == 1 else name, *names)
    shared = panels[: len(series)]
    _scale(figure, image, shared, f"share of people in {each} (%)")
    if intervals is not None:
        errors = np.ma.masked_invalid(100 * intervals.standard_error[which])
        image = _image(panels[-1], errors, cmap="viridis_r", vmin=0.0, **looks)
        panels[-1].patch.set(hatch="///", edgecolor=SOFT)
        _finish_panel(panels[-1], "standard error", *names)
        _scale(figure, image, panels[-1:], "standard error (points)")
    for axes in panels:
        axes.ticklabel_format(useOffset=False)
        axes.locator_params(axis="x", nbins=6 if count == 1 else 3)  # long numbers, narrow panels
    return figure


def laws(
    matrices: Sequence[ArrayLike],
    alphabet: Alphabet | None = None,
    *,
    titles: Sequence[str],
    path: str | Path,
    title: str = "",
    unit: str = "",
    smallest: float = 1e-4,
) -> Path:
    """Draw laws side by side as heat maps, one row a true value, on one logarithmic scale.

    White is impossible; what is possible but rarer than `smallest` has the lightest colour. With
    an `alphabet` on a line the axes carry its values, otherwise indices.

    >>> import freewill as fw, tempfile, pathlib
    >>> law, folder = fw.KRR(fw.Linear(0, 4), 1.0).law(), pathlib.Path(tempfile.mkdtemp())
    >>> laws([law, np.eye(5)], titles=["k-RR", "Identity"], path=folder / "laws.png").name
    'laws.png'
    """
    least = numbers(smallest, "smallest", "a number between 0 and 1")
    if least.shape != () or not 0 < least < 1:
        raise ParameterError(f"smallest={shown(smallest)}: must lie between 0 and 1.")
    if not isinstance(matrices, Iterable) or not isinstance(titles, Sequence):
        raise ParameterError("laws and titles: expected a list of each.")
    given = [numbers(law, "law", "a matrix") for law in matrices]
    if not given or len(given) != len(titles):
        raise ParameterError(f"{len(given)} laws and {len(titles)} titles: expected one each.")
    for name, law in zip(titles, given, strict=True):
        if law.ndim != 2:
            raise ParameterError(f"law {shown(name)} has shape {law.shape}; expected a matrix.")
    figure, panels = _panels(len(given), 1.0, title)
    from matplotlib.colors import LogNorm  # noqa: PLC0415

    scale = LogNorm(smallest, 1.0)
    for axes, name, law in zip(panels, titles, given, strict=True):
        drawn = np.ma.masked_equal(np.where(law > 0, np.maximum(law, smallest), 0.0), 0.0)
        aspect = "equal" if law.shape[0] == law.shape[1] else "auto"
        extent = _law_extent(law, alphabet)
        image = _image(axes, drawn, extent=extent, cmap="viridis_r", norm=scale, aspect=aspect)
        across = f"reported {unit}" if unit else "report"
        _finish_panel(axes, name, across, f"true {unit or 'value'}")
    _scale(figure, image, panels, "P(report | true value)", extend="min")
    return save(figure, path)


def _law_extent(law: FloatArray, alphabet: Alphabet | None) -> tuple[float, float, float, float]:
    rows, columns = law.shape
    along = () if alphabet is None or rows != alphabet.size else alphabet.extent
    values = along[0] if len(along) == 1 else (-0.5, rows - 0.5)
    return (*(values if columns == rows else (-0.5, columns - 0.5)), *values)


def _checked(
    thetas: Mapping[str, ArrayLike], truth: ArrayLike | None, alphabet: Alphabet
) -> _Series:
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


def _checked_side(merged: Any, alphabet: Alphabet) -> int:
    """Return how many neighbours to draw as one, at most as many as there are."""
    whole = isinstance(merged, int | np.integer) and not isinstance(merged, bool)
    if not whole or merged < 1:
        raise ParameterError(f"merged={shown(merged)}: expected an integer >= 1.")
    if merged > 1:
        neighbours.checked_plane(alphabet)
    return min(int(merged), alphabet.size)


def _check_intervals(intervals: Any, alphabet: Alphabet, count: int) -> None:
    """Refuse intervals of anything but what is drawn."""
    if not isinstance(intervals, Intervals):
        raise ParameterError(f"intervals={shown(intervals)}: expected those of fw.intervals.")
    if intervals.alphabet != alphabet or np.shape(intervals.point) != (count,):
        raise ParameterError(
            f"intervals of {several(len(intervals), 'functional')} over {intervals.alphabet}, for "
            f"{several(count, 'share')} over {alphabet}: expected one for each share."
        )


def _plain(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text that is drawn as it stands: no formulas, no control characters, not endless."""
    return printable(str(text), longest).replace("$", r"\$")


def blank_figure(
    width: float, height: float, layout: Literal["constrained", "compressed"] = "constrained"
) -> "Figure":
    """Return a figure that draws to files, whatever the session's own backend is."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _panels(count: int, shape: float, title: str) -> tuple["Figure", list["Axes"]]:
    """Return a titled figure of equal panels, `shape` being a panel's height over its width."""
    columns = min(count, _ROW)
    rows = -(-count // columns)
    panel = {1: 6.0, 2: 5.0}.get(columns, 3.6)
    figure = blank_figure(panel * columns + 1.2, (panel * shape + 0.7) * rows + 0.5, "compressed")
    if title:
        figure.suptitle(_plain(title, 2 * _LONGEST_TITLE), fontsize=_LARGE, color=INK)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for unused in grid.flat[count:]:
        unused.set_visible(False)
    return figure, list(grid.flat[:count])


def _pen(number: int) -> dict[str, Any]:
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def finish(axes: "Axes", title: str, across: str, up: str) -> None:
    """Give axes their title, labels and the house's looks."""
    axes.set_title(_plain(title, _LONGEST_TITLE), fontsize=_LARGE, color=INK, loc="left", pad=8)
    axes.set_xlabel(across, fontsize=_NORMAL, color=INK)
    axes.set_ylabel(up, fontsize=_NORMAL, color=INK)
    axes.tick_params(labelsize=_SMALL, color=INK, labelcolor=INK)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)


def _image(axes: "Axes", cells: FloatArray, **looks: Any) -> "AxesImage":
    """Draw cells as they are, upright."""
    return axes.imshow(cells, origin="lower", interpolation="nearest", **looks)


def _finish_panel(axes: "Axes", title: str, across: str, up: str) -> None:
    """Finish one of many panels: only the first of a row says what goes up."""
    outer = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
    finish(axes, title, across, up if outer else "")


def _scale(
    figure: "Figure", image: Any, panels: list["Axes"], label: str, extend: str = "neither"
) -> None:
    """Put one colour scale beside all panels."""
    bar: Any = figure.colorbar(image, ax=panels, label=label, pad=0.015, aspect=28, extend=extend)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=_SMALL, color=INK, labelcolor=INK)
    bar.ax.yaxis.label.set(fontsize=_NORMAL, color=INK)


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a file, by its suffix, and return the path."""
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise ParameterError(
            f"{target}: pictures are written as {', '.join(_FORMATS)}; choose one of these endings."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=_DPI, bbox_inches="tight", pad_inches=0.12)
    return target
