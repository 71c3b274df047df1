"""The house's looks: palette, figures on canvases of their own, axes, scales, files."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from freewill.core.types import FloatArray
from freewill.errors import FreewillError, ParameterError, printable

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
SMALL, NORMAL, LARGE = 9.0, 10.5, 12.5
"""Points of ticks, labels and titles."""
FORMATS = (".png", ".svg", ".pdf")
_DPI = 160  # sharp in print, and a picture stays below a megabyte
_SMALL_BYTES, _SMALL_DPI = 60_000, (96, 72, 48, 32)
"""Bytes that a picture within a page may have, and dots to the inch that are tried for it."""
_LONGEST_NAME, _LONGEST_TITLE = 40, 80
ROW = 4
"""Panels in a row of maps or laws before a new row begins."""


def installed() -> bool:
    """Tell whether matplotlib is there."""
    return find_spec("matplotlib") is not None


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
) -> "Figure":
    """Return a figure that draws to files, whatever the session's own backend is."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def blank_panels(count: int, shape: float, title: str) -> tuple["Figure", list["Axes"]]:
    """Return a titled figure of equal panels, `shape` being a panel's height over its width."""
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


def pen_of(number: int) -> dict[str, Any]:
    """Return the colour and the dashes of the curve with this number."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def plain(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text that is drawn as it stands: no formulas, no control characters, not endless."""
    return printable(str(text), longest).replace("$", r"\$")


def finish(axes: "Axes", title: str, across: str, up: str) -> None:
    """Give axes their title, labels and the house's looks."""
    axes.set_title(plain(title, _LONGEST_TITLE), fontsize=LARGE, color=INK, loc="left", pad=8)
    axes.set_xlabel(across, fontsize=NORMAL, color=INK)
    axes.set_ylabel(up, fontsize=NORMAL, color=INK)
    axes.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)


def draw_image(axes: "Axes", cells: FloatArray, **looks: Any) -> "AxesImage":
    """Draw cells as they are, upright."""
    return axes.imshow(cells, origin="lower", interpolation="nearest", **looks)


def finish_panel(axes: "Axes", title: str, across: str, up: str) -> None:
    """Finish one of many panels: only the first of a row says what goes up."""
    outer = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
    finish(axes, title, across, up if outer else "")


def draw_scale(
    figure: "Figure", image: Any, panels: list["Axes"], label: str, extend: str = "neither"
) -> None:
    """Put one colour scale beside all panels."""
    bar: Any = figure.colorbar(image, ax=panels, label=label, pad=0.015, aspect=28, extend=extend)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    bar.ax.yaxis.label.set(fontsize=NORMAL, color=INK)


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a file, by its suffix, and return the path."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ParameterError(
            f"{target}: pictures are written as {', '.join(FORMATS)}; choose one of these endings."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=_DPI, bbox_inches="tight", pad_inches=0.12)
    return target


def small_png(figure: "Figure") -> bytes:
    """Return a figure as a picture for a page; a crowded one has fewer dots, to stay small."""
    drawn = b""
    for dots in _SMALL_DPI:
        held = BytesIO()
        figure.savefig(held, format="png", dpi=dots, bbox_inches="tight", pad_inches=0.08)
        drawn = held.getvalue()
        if len(drawn) <= _SMALL_BYTES:
            break
    return drawn
