"""The plotter: errors against people on logarithmic axes, and the pictures of the studies."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from freewill.paper.mixtures import Mixture
from freewill.paper.panels import GIBU
from freewill.paper.results import Results
from freewill.paper.settings import Setting
from freewill.paper.verdicts import price, stopped
from freewill.present import canvas as plots
from freewill.present.canvas import Axes, Figure
from freewill.stats.estimators.methods import Method

_Pen = tuple[str, str]
_PENS: dict[tuple[str, str | None], _Pen] = {
    ("gibu", None): (plots.BLUE, "o"),
    ("inversion", "project"): (plots.VERMILION, "s"),
    ("inversion", "normalise"): (plots.ORANGE, "D"),
    ("ibu", None): (plots.GREEN, "^"),
    ("debias", "project"): (plots.PURPLE, "s"),
    ("debias", "normalise"): (plots.SKY, "D"),
}
"""One colour and marker for an estimator and its post-processing, in all pictures."""
_OTHERS = ((plots.GREEN, "v"), (plots.PURPLE, "P"), (plots.ORANGE, "X"), (plots.SKY, "*"))
"""Of methods that are not the paper's."""
_KINDS: dict[str, _Pen] = {
    "krr": (plots.ORANGE, "s"),
    "geometric": (plots.BLUE, "o"),
    "mixed": (plots.GREEN, "^"),
    "shokri": (plots.PURPLE, "D"),
    "high": (plots.VERMILION, "v"),
    "low": (plots.SKY, "P"),
}
_WIDTH, _HEIGHT = 4.7, 3.7  # inches a panel: two are as wide as the page


def errors(
    panels: Sequence[tuple[str, Mixture, Sequence[Method]]],
    results: Results,
    city: str,
    *,
    same_scale: bool = False,
) -> Figure:
    """Draw the mean EMD of methods against the number of people, a panel a mixture, two a row.

    The band is one standard deviation over seeds to each side of the mean.
    """
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure = plots.blank_figure(_WIDTH * columns + 0.3, _HEIGHT * rows)
    figure.get_layout_engine().set(wspace=0.08)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False, sharey=same_scale)
    for axes, (title, mixture, methods) in zip(grid.flat, panels, strict=True):
        for method in methods:
            _curve(axes, method, results, mixture.name)
        in_city = mixture.place == "city"
        plots.finish(axes, title, "people", "EMD (km)" if in_city else "EMD (steps of the line)")
        plots.log_axes(axes)
        if in_city:
            # Which city it is, so that no picture can pass for another.
            place = {"x": 0.985, "y": 0.97, "transform": axes.transAxes, "ha": "right", "va": "top"}
            axes.text(s=city, fontsize=8.5, color=plots.SOFT, **place)
        axes.legend(fontsize=9, frameon=False, loc="lower left", labelcolor=plots.INK)
    return figure


def curves(mixture: str, unit: str, methods: Sequence[Method], results: Results) -> Figure:
    """Draw the mean EMD of methods against the number of people, for one mixture."""
    axes = plots.blank_axes(None, 1.5 * _WIDTH, 1.2 * _HEIGHT)
    for method in methods:
        _curve(axes, method, results, mixture)
    plots.finish(axes, "", "people", f"EMD ({unit})")
    plots.log_axes(axes)
    plots.legend(axes)
    return plots.figure_of(axes)


def _curve(axes: Axes, method: Method, results: Results, mixture: str) -> None:
    curve = results.curve(mixture, method.name)
    people = np.array([*curve])
    mean, deviation = np.array([*curve.values()]).reshape(-1, 2).T
    colour, marker = _PENS.get((method.estimator, method.post), _OTHERS[len(axes.lines) % 4])
    looks: dict[str, Any] = {"color": colour, "label": method.label, "markersize": 5.5}
    # [IBU]R shares a panel with [IBU]M.
    looks["marker"] = "v" if (method.estimator, method.way) == ("ibu", "R") else marker
    looks["markerfacecolor"] = "white" if method.post == "normalise" else colour
    # Dashed for combined results, which never are the better ones.
    looks["linestyle"] = "--" if method.way == "R" else "-"
    width, order = (2.2, 3) if method == GIBU else (1.6, 2)
    axes.plot(people, mean, linewidth=width, zorder=order, **looks)
    # A logarithmic axis has no place for a band that reaches 0.
    low = np.maximum(mean - deviation, mean / 5)
    axes.fill_between(people, low, mean + deviation, color=colour, alpha=0.15, linewidth=0)


def _pen(mixture: Mixture) -> dict[str, Any]:
    colour, marker = _KINDS[mixture.name.split("-")[1]]
    city = mixture.place == "city"
    return {
        "color": colour,
        "marker": marker,
        "markerfacecolor": "white" if city else colour,
        "markersize": 5.5,
        "linestyle": "--" if city else "-",
        "linewidth": 1.6,
        "label": mixture.title,
    }


def stopping(mixtures: Iterable[Mixture], results: Results, people: int) -> Figure:
    """Draw what algorithm 1 leaves at each delta: the gap, and the EMD beside the optimum's."""
    figure = plots.blank_figure(11.6, 4.2)
    left, right = figure.subplots(1, 2)
    deltas: set[float] = set()
    for mixture in mixtures:
        gaps, ratios = stopped(mixture.name, results, people)
        deltas.update(gaps)
        if gaps:
            left.plot([*gaps], [*gaps.values()], **_pen(mixture))
            right.plot([*ratios], [*ratios.values()], **_pen(mixture))
    right.axhline(1.0, color=plots.INK, linewidth=1.0, zorder=1)
    plots.finish(left, "How far from the optimum", "delta", "gap (log-likelihood a person)")
    plots.finish(right, "What that does to the error", "delta", "EMD / EMD of the optimum")
    for axes in (left, right):
        plots.log_axes(axes)
        axes.xaxis.set_major_formatter("{x:.0e}")
        axes.set_xticks(sorted(deltas))
        axes.tick_params(axis="x", labelrotation=40)
        axes.invert_xaxis()
    left.yaxis.set_major_formatter("{x:.0e}")
    right.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def prices(settings: Iterable[Setting], results: Results) -> Figure:
    """Draw GIBU's mean squared l2 error over (1 - sum theta^2) / n, the error without privacy."""
    figure = plots.blank_figure(9.4, 4.2)
    axes = figure.add_subplot()
    for setting in settings:
        factors = price(setting.mixture.name, setting.truth, results)
        axes.plot([*factors], [*factors.values()], **_pen(setting.mixture))
    axes.axhline(1.0, color=plots.INK, linewidth=1.2, zorder=1)
    up = "squared l2 error / error without privacy"
    plots.finish(axes, "What privacy costs: GIBU over the error without privacy", "people", up)
    plots.log_axes(axes)
    axes.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
