"""Pictures of several attributes: a table as a heat map, conditional distributions as bars."""

from pathlib import Path
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, attributes_of, texts
from freewill.errors import ParameterError, several
from freewill.present import canvas
from freewill.present.canvas import Axes, Figure, plain, saved
from freewill.present.distribution import Distribution
from freewill.present.plots import picture
from freewill.present.shares import check_intervals
from freewill.stats.intervals import Intervals

_TICKS = 12
"""Values that an axis names, at most."""
_BARS = 24
"""Values up to which a line is drawn as bars beside those of everybody."""
_EVERYBODY = "everybody"


def picture_of(
    asked: Distribution,
    *,
    ax: Any = None,
    path: str | Path | None = None,
    title: str = "",
    intervals: Intervals | None = None,
) -> Figure:
    """Draw a distribution of one or two attributes, of everybody or given a condition.

    Two attributes are a heat map; with intervals, a second one beside it has half the length of
    each, hatched where that is infinite. One attribute given a condition stands beside the same of
    everybody, in bars or, on a long line, as curves.

    >>> import freewill as fw
    >>> two = fw.Categorical(["yes", "no"])
    >>> sure = fw.Each(vote=fw.KRR(two, 4.0), member=fw.KRR(two, 4.0))
    >>> estimate = fw.gibu(fw.collect([(sure, sure.obfuscate(np.arange(400) % 4))]))
    >>> figure = picture_of(estimate.marginal("vote", "member"))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('member', 'vote')
    """
    title = title or f"{asked.title}, from {several(asked.people, 'person')}"
    if intervals is not None:
        check_intervals(intervals, intervals.alphabet, len(asked))
    if len(asked.names) == 2:
        return saved(_heat_maps(asked, title, intervals, ax), path)
    if len(asked.names) > 2:
        raise ParameterError(
            f"a picture of {', '.join(asked.names)}: at most two attributes have one. Take a "
            f"marginal of two: --of {asked.names[0]},{asked.names[1]}."
        )
    alphabet = asked.alphabet
    theirs = asked.estimate.marginal(*asked.names).theta
    if len(alphabet.extent) and alphabet.size > _BARS:
        curves = {f"given {asked.given}": asked.theta, _EVERYBODY: theirs}
        return picture(alphabet, curves, ax=ax, path=path, title=title)
    return saved(_beside(asked, theirs, title, intervals, ax), path)


def _heat_maps(asked: Distribution, title: str, intervals: Intervals | None, ax: Any) -> Figure:
    rows, columns = attributes_of(asked.alphabet).values()
    shape = rows.size, columns.size
    tall = float(np.clip(rows.size / columns.size, 0.5, 1.6))
    figure, panels = canvas.blank_panels(1 if intervals is None else 2, tall, title, ax)
    cells = 100 * asked.theta.reshape(shape)
    image = canvas.draw_image(panels[0], cells, cmap="magma_r", vmin=0.0, aspect="auto")
    canvas.draw_scale(figure, image, panels[:1], "share of people (%)")
    _name_axes(panels[0], asked, "" if intervals is None else "share")
    if intervals is not None:
        half = 50 * (np.asarray(intervals.high) - np.asarray(intervals.low)).reshape(shape)
        finite = np.ma.masked_invalid(half)
        image = canvas.draw_image(panels[1], finite, cmap="viridis_r", vmin=0.0, aspect="auto")
        panels[1].patch.set(hatch="///", edgecolor=canvas.SOFT)
        canvas.draw_scale(figure, image, panels[1:], "half of the interval (points)")
        _name_axes(panels[1], asked, canvas.kind_of(intervals))
    return figure


def _name_axes(axes: Axes, asked: Distribution, title: str) -> None:
    """Name both attributes and a few of their values."""
    (up, rows), (across, columns) = attributes_of(asked.alphabet).items()
    canvas.finish_panel(axes, title, plain(across), plain(up))
    for alphabet, set_ticks, turned in ((columns, axes.set_xticks, 45), (rows, axes.set_yticks, 0)):
        places = _few(alphabet)
        names = [plain(name) for name in texts(alphabet, places)]
        long = turned and max(map(len, names)) * len(names) > _TICKS * 4
        middle = "center" if turned and not long else "right"
        set_ticks(places, names, rotation=turned if long else 0, ha=middle)


def _few(alphabet: Alphabet) -> IntArray:
    step = -(-alphabet.size // _TICKS)
    return np.arange(0, alphabet.size, step)


def _beside(
    asked: Distribution, theirs: FloatArray, title: str, intervals: Intervals | None, ax: Any
) -> Figure:
    """Draw the bars of those whom the condition leaves beside those of everybody."""
    alphabet = asked.alphabet
    places = np.arange(alphabet.size)
    axes = canvas.blank_axes(ax, 6.8, float(np.clip(1.4 + 0.45 * places.size, 2.6, 60)))
    series = [(f"given {asked.given}", asked.theta), (_EVERYBODY, theirs)]
    if not asked.condition:
        series = [(_EVERYBODY, theirs)]
    thick = 0.8 / len(series)
    for row, (name, theta) in enumerate(series):
        offset = (row - (len(series) - 1) / 2) * thick
        colour = canvas.pen_of(row)["color"] if row == 0 else canvas.TRUTH
        axes.barh(places + offset, 100 * theta, thick * 0.92, color=colour, label=plain(name))
        if row == 0 and intervals is not None:
            ends = [100 * np.asarray(each) for each in (theta, intervals.low, intervals.high)]
            reach = ends[0], ends[1], ends[2]
            label = canvas.kind_of(intervals)
            canvas.draw_across(axes, places + offset, reach, label, color=canvas.INK)
    axes.set_yticks(places, [plain(name) for name in texts(alphabet, places)])
    axes.invert_yaxis()
    canvas.finish(axes, title, "share of people (%)", plain(asked.names[0]), "x")
    canvas.legend(axes, below=True, ncols=3)
    return canvas.figure_of(axes)
