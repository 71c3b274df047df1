"""What all pictures share: palette, figures, axes, lines, maps, scales and files.

Figures are drawn on canvases of their own: no window opens and no global setting changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import BoolArray, FloatArray, IntArray, numbers
from freewill.domain.alphabets.base import Alphabet, Raster, has_raster, raster_of
from freewill.domain.alphabets.groups import Blocks, Groups, Sets
from freewill.domain.survey_texts import Background
from freewill.errors import FreewillError, ParameterError, printable, several, shown
from freewill.present.under import draw_under

if TYPE_CHECKING:
    from matplotlib import axes, figure
    from matplotlib.image import AxesImage

    Axes: TypeAlias = axes.Axes
    Figure: TypeAlias = figure.Figure
else:  # Matplotlib is imported when something is drawn
    Axes = Figure = Any

# The palette of Okabe and Ito, which people with any colour vision tell apart; each colour comes
# with a dash pattern of its own, for prints without colour.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
INK, SOFT, FAINT, TRUTH = "#22272E", "#5B6675", "#E4E7EB", "#C9CDD3"
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_DASHES = ("solid", (0, (6, 2)), (0, (2, 1.5)), (0, (8, 2, 2, 2)), (0, (1, 1)), (0, (12, 3)))
SMALL, NORMAL, LARGE = 9.0, 10.5, 12.5
"""Points of ticks, labels and titles."""
FORMATS = (".png", ".svg", ".pdf")
_DPI = 160  # sharp in print, and a picture stays below a megabyte
_SMALL_BYTES, _SMALL_DPI = 60_000, (96, 72, 48, 32)
"""Bytes that a picture within a page may have, and dots to the inch that are tried for it."""
_LONGEST_NAME, _LONGEST_TITLE = 40, 80
ROW = 4
"""Panels in a row of maps or laws before a new row begins."""
_SIGNED, _PALE = "RdBu_r", 0.3
"""The colours of signed numbers, and the opacity of those that may be 0."""
_OVER = 0.72
"""The opacity of cells over a background."""
_FEW_BARS = 40
"""Values of a line up to which each has an error bar of its own; more have a band."""
Axis = Literal["x", "y"] | None
"""Across which axis faint lines are drawn."""
TRUTH_PEN = -1
Series = list[tuple[int, str, FloatArray]]
"""The number of a pen, a name, and the percentage at each value; the truth comes first."""
Reach = tuple[FloatArray, FloatArray, FloatArray]
"""Points, and the lower and upper ends of their intervals."""


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is missing, before any work is done."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise FreewillError(
            "pictures need matplotlib, which is not installed. "
            "Install the extra: pip install 'freewill[plot]'"
        ) from None


def blank_figure(
    width: float, height: float, layout: Literal["constrained", "compressed"] = "constrained"
) -> Figure:
    """Return a figure that draws to files, whatever the session's own backend is."""
    require_matplotlib()
    from freewill.present.figures import Picture  # noqa: PLC0415

    return Picture(figsize=(width, height), layout=layout, facecolor="white")


def blank_axes(ax: Any, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure."""
    return blank_figure(width, height).add_subplot() if ax is None else given_axes(ax, 1)[0]


def given_axes(ax: Any, count: int) -> list[Axes]:
    """Return as many of the caller's axes as a picture has panels."""
    axes = list(ax.flat) if isinstance(ax, np.ndarray) else ax
    axes = list(axes) if isinstance(axes, Sequence) else [axes]
    if len(axes) != count or not all(hasattr(panel, "get_figure") for panel in axes):
        raise ParameterError(
            f"ax={shown(ax)}: this picture has {several(count, 'panel')}; give matplotlib's axes, "
            f"one for each (figure.subplots), or no ax."
        )
    return axes


def blank_panels(count: int, shape: float, title: str, ax: Any = None) -> tuple[Figure, list[Axes]]:
    """Return a titled figure of equal panels, `shape` being a panel's height over its width."""
    if ax is not None:
        axes = given_axes(ax, count)
        return figure_of(axes[0]), axes
    columns = min(count, ROW)
    rows = -(-count // columns)
    panel = {1: 6.0, 2: 5.0}.get(columns, 3.6)
    figure = blank_figure(panel * columns + 1.2, (panel * shape + 0.7) * rows + 0.5, "compressed")
    if title:
        figure.suptitle(plain(title, 2 * _LONGEST_TITLE), fontsize=LARGE, color=INK)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for unused in grid.flat[count:]:
        unused.set_visible(False)
    for lowest in grid.flat[max(0, count - columns) : count]:
        lowest.xaxis.set_tick_params(labelbottom=True)
    return figure, list(grid.flat[:count])


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes are in."""
    figure: Any = axes.get_figure(root=True)
    return figure  # type: ignore[no-any-return]


def pen_of(number: int) -> dict[str, Any]:
    """Return the colour and the dashes of the curve with this number."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def plain(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text that is drawn as it stands: no formulas, no control characters, not endless."""
    return printable(str(text), longest).replace("$", r"\$")


def finish(
    axes: Axes, title: str, across: str, up: str, grid: Axis = None, size: float = LARGE
) -> None:
    """Give axes their title, labels and the house's looks; `grid` has faint lines across it."""
    axes.set_title(plain(title, _LONGEST_TITLE), fontsize=size, color=INK, loc="left", pad=8)
    axes.set_xlabel(across, fontsize=NORMAL, color=INK)
    axes.set_ylabel(up, fontsize=NORMAL, color=INK)
    axes.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    if grid is not None:
        axes.grid(axis=grid, color=FAINT, linewidth=0.8)


def log_axes(axes: Axes) -> None:
    """Make axes logarithmic, with numbers written out where powers of ten are for few people."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps, numticks=20))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color=FAINT, linewidth=0.8)


def draw_image(axes: Axes, cells: FloatArray, **looks: Any) -> "AxesImage":
    """Draw cells as they are, upright."""
    return axes.imshow(cells, origin="lower", interpolation="nearest", **looks)


def finish_panel(axes: Axes, title: str, across: str, up: str, *looks: Any) -> None:
    """Finish one of many panels: only the first of a row says what goes up."""
    place = axes.get_subplotspec()
    finish(axes, title, across, up if place is None or place.is_first_col() else "", *looks)


def legend(axes: Axes, below: bool = False, **looks: Any) -> None:
    """Say what is what: within the axes or, where there is no room, below a figure of our own."""
    looks |= {"fontsize": NORMAL, "frameon": False, "labelcolor": INK}
    figure = figure_of(axes)
    if below and figure.axes == [axes] and figure.get_layout_engine() is not None:
        figure.legend(loc="outside lower center", **looks)
    else:
        axes.legend(**looks)


def draw_scale(
    figure: Figure, image: Any, panels: list[Axes], label: str, extend: str = "neither"
) -> None:
    """Put one colour scale beside all panels."""
    bar: Any = figure.colorbar(image, ax=panels, label=label, pad=0.015, aspect=28, extend=extend)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    bar.ax.yaxis.label.set(fontsize=NORMAL, color=INK)


def draw_signed_scale(
    figure: Figure, panels: list[Axes], most: float, label: str, extend: str = "neither"
) -> None:
    """Put the scale of signed numbers beside panels; where these are pale, it is not."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    colours = ScalarMappable(Normalize(-most, most), _SIGNED)
    draw_scale(figure, colours, panels, label, extend)


def finite_weights(given: ArrayLike, name: str, alphabet: Alphabet) -> FloatArray:
    """Return weights after checking that there is a finite one for each value."""
    weights = numbers(given, name, several(alphabet.size, "weight"))
    if weights.shape != (alphabet.size,) or not np.all(np.isfinite(weights)):
        raise ParameterError(
            f"{name} has shape {weights.shape}; expected one finite weight for each of the "
            f"alphabet's {several(alphabet.size, 'value')}."
        )
    return weights


def draw_series(axes: Axes, series: Series, edges: FloatArray, *, steps: bool) -> None:
    """Draw shares between the edges: curves, or steps where these are of merged values."""
    for number, name, percent in series:
        if number == TRUTH_PEN:
            axes.stairs(percent, edges, fill=True, color=TRUTH, label=plain(name))
            continue
        # The first estimate lies on top: it is the one the picture is about.
        pen = {**pen_of(number), "linewidth": 1.9, "zorder": 3 - number / len(series)}
        if steps:
            axes.stairs(percent, edges, baseline=None, label=plain(name), **pen)
        else:
            axes.plot((edges[1:] + edges[:-1]) / 2, percent, label=plain(name), **pen)
    axes.set_xlim(edges[0], edges[-1])
    axes.margins(y=0.06)
    if all(percent.min() >= 0 for _, _, percent in series):
        axes.set_ylim(bottom=0)


def draw_reach(axes: Axes, reach: Reach, edges: FloatArray, label: str) -> None:
    """Draw points with error bars to their ends where there is room, else a band, behind all."""
    point, low, high = reach
    looks: dict[str, Any] = {"color": SKY, "label": label}
    if len(point) > _FEW_BARS:
        axes.stairs(high, edges, baseline=low, fill=True, alpha=0.35, linewidth=0, **looks)
        return
    middle = (edges[1:] + edges[:-1]) / 2
    axes.errorbar(middle, point, lengths(*reach), fmt="o", ms=4, capsize=3, elinewidth=1.4, **looks)


def draw_across(axes: Axes, places: ArrayLike, reach: Reach, label: str, **looks: Any) -> None:
    """Draw points below each other, with error bars to their ends."""
    looks = {"fmt": "o", "ms": 4, "capsize": 3, "xerr": lengths(*reach), **looks}
    axes.errorbar(reach[0], places, label=label, **looks)


def lengths(point: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how far intervals reach to both sides."""
    # Ends beside the point may be the least above it that there are, or a hair on its other side.
    return np.maximum([point - low, high - point], 0.0)


def kind_of(intervals: Any) -> str:
    """Say what the intervals of an estimate or a comparison are, in a legend."""
    together = " of all together" if intervals.joint else ""
    return f"{100 * intervals.level:.12g} % intervals{together}"


def unit_of(alphabet: Alphabet, unit: str) -> str:
    """Return the label of a line: what was given, else the unit of its values."""
    return unit or (alphabet.unit if len(alphabet.extent) == 1 else "") or "value"


def has_neighbours(groups: Groups) -> bool:
    """Tell whether groups are drawn along their axes, and not as one bar each."""
    return has_raster(groups.alphabet) and not isinstance(groups, Sets)


def sides_of(groups: Groups) -> tuple[int, int]:
    """Return how many columns and rows are drawn as one."""
    return (groups.columns, groups.rows) if isinstance(groups, Blocks) else (1, 1)


def edges_of(groups: Groups) -> FloatArray:
    """Return where the values of a line, or so many of them together, begin and end."""
    alphabet, (side, _) = groups.alphabet, sides_of(groups)
    edges = np.linspace(*alphabet.extent[0], alphabet.size + 1)
    return np.append(edges[:-1:side], edges[-1])


@dataclass(frozen=True, eq=False)
class Ground:
    """What all maps of a grid share: its shape, its edges in km or degrees, its blocks of cells."""

    shape: float
    """Height over width."""
    looks: dict[str, Any]
    names: tuple[str, str]
    which: IntArray
    """The block of each cell, in rows and columns; -1 where the grid leaves a cell out."""
    each: str
    background: Background | None = None

    @classmethod
    def of(cls, groups: Groups, background: Any = None) -> Self:
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
        raster: Raster = raster_of(alphabet)  # type: ignore[assignment]
        which = raster.laid_out(groups.which, empty=-1).astype(np.int64)
        each = "a cell" if columns == rows == 1 else f"{columns} x {rows} cells"
        shape = float(np.clip((north - south) / (east - west), 0.35, 1.6))
        under = None if background is None else Background.of(background, alphabet)
        return cls(shape, looks, names, which, each, under)

    def laid_out(self, numbers: Any) -> Any:
        """Return a number for each block in rows and columns, masked where there is none."""
        return np.ma.masked_array(np.asarray(numbers)[self.which], self.which < 0)

    def _draw(self, axes: Axes, numbers: Any, looks: dict[str, Any]) -> "AxesImage":
        """Draw numbers in rows and columns, over what lies under them."""
        if self.background is not None:
            looks = {**looks, "alpha": _OVER * looks.get("alpha", 1.0), "zorder": 1.0}
            draw_under(axes, self.background, self.looks["extent"])
        return draw_image(axes, numbers, **looks, **self.looks)

    def draw(self, axes: Axes, numbers: FloatArray, **looks: Any) -> "AxesImage":
        """Draw a number for each block."""
        return self._draw(axes, self.laid_out(numbers), looks)

    def draw_signed(self, axes: Axes, numbers: FloatArray, sure: BoolArray, most: float) -> None:
        """Draw what is above 0 in red and below in blue, pale where it may be 0."""
        opacity = np.where(sure, 1.0, _PALE)[self.which]
        self.draw(axes, numbers, alpha=opacity, cmap=_SIGNED, vmin=-most, vmax=most)

    def draw_errors(self, figure: Figure, axes: Axes, errors: FloatArray) -> None:
        """Draw standard errors in percentage points, hatched where they are infinite."""
        finite = np.ma.masked_invalid(self.laid_out(errors))
        image = self._draw(axes, finite, {"cmap": "viridis_r", "vmin": 0.0})
        if not np.isfinite(errors).all():
            axes.patch.set(hatch="///", edgecolor=SOFT)
            sea = np.ma.masked_array(np.zeros(self.which.shape), self.which >= 0)
            draw_image(axes, sea, cmap="Greys", vmin=0.0, vmax=1.0, **self.looks)
        finish_panel(axes, "standard error", *self.names)
        draw_scale(figure, image, [axes], "standard error (points)")

    def finish(self, panels: list[Axes]) -> None:
        """Leave room for long numbers in narrow panels."""
        for axes in panels:
            axes.ticklabel_format(useOffset=False)
            axes.locator_params(axis="x", nbins=6 if len(panels) == 1 else 3)


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure to a file, if a path is given, and return the figure."""
    if path is not None:
        save(figure, path)
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, by its suffix, and return the path."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ParameterError(
            f"{target}: pictures are written as {', '.join(FORMATS)}; choose one of these endings."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=_DPI, bbox_inches="tight", pad_inches=0.12)
    return target


def small_png(figure: Figure) -> bytes:
    """Return a figure as a picture for a page; a crowded one has fewer dots, to stay small."""
    for dots in _SMALL_DPI:
        file = BytesIO()
        figure.savefig(file, format="png", dpi=dots, bbox_inches="tight", pad_inches=0.08)
        if file.tell() <= _SMALL_BYTES:
            break
    return file.getvalue()
