"""Pictures of estimates, tables, plans and laws: each returns a figure, and writes a file.

`ax` takes axes of a figure of your own, one for each panel; `path` writes the figure to a file, its
format by the suffix (.png, .svg, .pdf). `comparison` and `choices` are here too.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet, attributes_of, checked_kind, texts
from freewill.domain.alphabets.groups import Groups, as_groups, merged_weights
from freewill.errors import ParameterError, several, shown
from freewill.present import canvas
from freewill.present.canvas import Axes, Figure, Ground, Reach, Series, plain, save, saved
from freewill.present.distribution import Distribution
from freewill.present.shares import check_intervals
from freewill.stats.choice.sensitivity import Sensitivity
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.intervals import Intervals
from freewill.stats.planning.mechanisms import MechanismComparison
from freewill.stats.planning.plan import Plan

__all__ = ["laws", "picture", "planned", "save", "unnoticed"]

_TICKS = 12
"""Values that an axis names, at most."""
_MOST_BARS = 24
"""Values up to which a line, given a condition, is drawn as bars beside those of everybody."""


def __getattr__(name: str) -> Any:
    """Return the pictures that have modules of their own: `comparison` and `choices`."""
    if name in ("comparison", "choices"):
        return getattr(import_module(f"freewill.present.{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def picture(
    estimate: Estimate | Alphabet,
    thetas: Mapping[str, ArrayLike] | None = None,
    truth: ArrayLike | None = None,
    *,
    ax: Any = None,
    path: str | Path | None = None,
    title: str = "",
    unit: str = "",
    intervals: Intervals | None = None,
    merged: int | Groups = 1,
    background: Any = None,
) -> Figure:
    """Draw an estimate, or distributions over an alphabet, the way that alphabet asks for.

    On a line distributions are curves over the truth, the grey area behind them; `unit` names what
    the line measures, the alphabet's unit by default. In the plane map stands beside map on one
    colour scale, the truth first, with degrees for a box and kilometres without. Over labels bars
    lie beside each other, the truth in grey. `title` may be the question that was asked.

    `merged` draws so many neighbours of a line, or squares of cells, as one, or any groups of
    `domain.alphabets.groups`. `intervals` of what is drawn, every value or every such group, are
    error bars or a band; in the plane a second map has the standard errors, hatched where these are
    infinite. A `background`, as a survey has it (`survey.background`), lies under maps.

    >>> import freewill as fw, tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "ages.png"
    >>> ages = fw.Linear(0, 9, unit="year")
    >>> figure = picture(ages, {"estimate": np.full(10, 0.1)}, path=target)
    >>> figure.axes[0].get_xlabel(), target.exists()
    ('year', True)
    """
    if isinstance(estimate, Estimate):
        thetas = {"estimate": estimate.theta} if thetas is None else thetas
        title = title or f"Estimated from {several(estimate.people, 'person')}"
    alphabet = estimate.alphabet if isinstance(estimate, Estimate) else checked_kind(estimate)
    groups = as_groups(alphabet, merged)
    series = [
        (pen, name, merged_weights(groups, weights))
        for pen, name, weights in _checked(thetas, truth, alphabet)
    ]
    if intervals is not None:
        check_intervals(intervals, alphabet, groups.count)
    draw = (_bars, _line, _maps)[len(alphabet.extent) if canvas.has_neighbours(groups) else 0]
    if draw is _maps:
        return saved(_maps(groups, series, title, background, intervals, ax), path)
    return saved(draw(groups, series, title, unit, intervals, ax), path)


def _line(
    groups: Groups, series: Series, title: str, unit: str, intervals: Intervals | None, ax: Any
) -> Figure:
    axes = canvas.blank_axes(ax, 8.4, 4.4)
    edges, side = canvas.edges_of(groups), canvas.sides_of(groups)[0]
    if intervals is not None:
        canvas.draw_reach(axes, _reach(intervals), edges, canvas.kind_of(intervals))
    canvas.draw_series(axes, series, edges, steps=side > 1)
    each = "" if side == 1 else f" in {several(side, 'value')}"
    across = canvas.unit_of(groups.alphabet, unit)
    canvas.finish(axes, title, across, f"share of people{each} (%)", "y")
    if len(series) > 1 or intervals is not None:
        canvas.legend(axes)
    return canvas.figure_of(axes)


def _reach(intervals: Intervals) -> Reach:
    return 100 * intervals.point, 100 * intervals.low, 100 * intervals.high


def _bars(
    groups: Groups, series: Series, title: str, unit: str, intervals: Intervals | None, ax: Any
) -> Figure:
    height = np.clip(1.2 + 0.3 * groups.count * len(series) ** 0.5, 2.6, 60)
    axes = canvas.blank_axes(ax, 6.8, float(height))
    places, thick = np.arange(groups.count), 0.8 / len(series)
    for row, (pen, name, percent) in enumerate(series):
        at = places + (row - (len(series) - 1) / 2) * thick
        colour = canvas.TRUTH if pen == canvas.TRUTH_PEN else canvas.pen_of(pen)["color"]
        axes.barh(at, percent, thick * 0.92, color=colour, label=plain(name))
        if pen == 0 and intervals is not None:
            label = canvas.kind_of(intervals)
            canvas.draw_across(axes, at, _reach(intervals), label, color=canvas.INK)
    axes.set_yticks(places, [plain(name) for name in groups.names])
    axes.invert_yaxis()
    canvas.finish(axes, title, "share of people (%)", unit, "x")
    if len(series) > 1 or intervals is not None:
        canvas.legend(axes, below=True, ncols=3)  # bars leave no room
    return canvas.figure_of(axes)


def _maps(
    groups: Groups, series: Series, title: str, under: Any, intervals: Intervals | None, ax: Any
) -> Figure:
    count = len(series) + (intervals is not None)
    ground = Ground.of(groups, under)
    figure, panels = canvas.blank_panels(count, ground.shape, "" if count == 1 else title, ax)
    least = min(0.0, *(float(percent.min()) for _, _, percent in series))
    most = max(float(percent.max()) for _, _, percent in series)
    for axes, (_, name, percent) in zip(panels, series, strict=False):
        image = ground.draw(axes, percent, cmap="magma_r", vmin=least, vmax=most)
        canvas.finish_panel(axes, title if count == 1 else name, *ground.names)
    canvas.draw_scale(figure, image, panels[: len(series)], f"share of people in {ground.each} (%)")
    if intervals is not None:
        ground.draw_errors(figure, panels[-1], 100 * intervals.standard_error)
    ground.finish(panels)
    return figure


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
    alphabet, own = asked.alphabet, f"given {asked.given}"
    theirs = asked.estimate.marginal(*asked.names).theta
    if len(alphabet.extent) and alphabet.size > _MOST_BARS:
        return picture(
            alphabet, {own: asked.theta, "everybody": theirs}, ax=ax, path=path, title=title
        )
    series = [(canvas.TRUTH_PEN, "everybody", 100 * theirs)] if asked.condition else []
    series.insert(0, (0, own if asked.condition else "everybody", 100 * asked.theta))
    values = as_groups(alphabet, 1)
    return saved(_bars(values, series, title, plain(asked.names[0]), intervals, ax), path)


def _heat_maps(asked: Distribution, title: str, intervals: Intervals | None, ax: Any) -> Figure:
    rows, columns = attributes_of(asked.alphabet).values()
    tall = float(np.clip(rows.size / columns.size, 0.5, 1.6))
    figure, panels = canvas.blank_panels(1 if intervals is None else 2, tall, title, ax)
    maps = [(100 * asked.theta, "magma_r", "share of people (%)", "share" if panels[1:] else "")]
    if intervals is not None:
        half = np.ma.masked_invalid(50 * (intervals.high - intervals.low))
        panels[1].patch.set(hatch="///", edgecolor=canvas.SOFT)
        kind = canvas.kind_of(intervals)
        maps.append((half, "viridis_r", "half of the interval (points)", kind))
    for axes, (flat, colours, label, head) in zip(panels, maps, strict=True):
        cells = flat.reshape(rows.size, columns.size)
        image = canvas.draw_image(axes, cells, cmap=colours, vmin=0.0, aspect="auto")
        canvas.draw_scale(figure, image, [axes], label)
        _name_axes(axes, asked, head)
    return figure


def _name_axes(axes: Axes, asked: Distribution, title: str) -> None:
    """Name both attributes and a few of their values."""
    (up, rows), (across, columns) = attributes_of(asked.alphabet).items()
    canvas.finish_panel(axes, title, plain(across), plain(up))
    for alphabet, set_ticks, turned in ((columns, axes.set_xticks, 45), (rows, axes.set_yticks, 0)):
        places = np.arange(0, alphabet.size, -(-alphabet.size // _TICKS))
        names = [plain(name) for name in texts(alphabet, places)]
        long = turned and max(map(len, names)) * len(names) > _TICKS * 4
        middle = "center" if turned and not long else "right"
        set_ticks(places, names, rotation=turned if long else 0, ha=middle)


def _checked(
    thetas: Mapping[str, ArrayLike] | None, truth: ArrayLike | None, alphabet: Alphabet
) -> Series:
    """Return the distributions with their pens; each must have a weight for each value."""
    if not isinstance(thetas, Mapping) or not thetas:
        raise ParameterError("nothing to draw: expected at least one name with its distribution.")
    lines = [] if truth is None else [(canvas.TRUTH_PEN, "truth", truth)]
    lines += [(number, name, theta) for number, (name, theta) in enumerate(thetas.items())]
    return [
        (number, name, 100 * canvas.finite_weights(theta, shown(name), alphabet))
        for number, name, theta in lines
    ]


def laws(
    matrices: Sequence[ArrayLike],
    alphabet: Alphabet | None = None,
    *,
    titles: Sequence[str],
    ax: Any = None,
    path: str | Path | None = None,
    title: str = "",
    unit: str = "",
    smallest: float = 1e-4,
) -> Figure:
    """Draw laws side by side as heat maps, one row a true value, on one logarithmic scale.

    White is impossible; what is possible but rarer than `smallest` has the lightest colour. With
    an `alphabet` on a line the axes carry its values, otherwise indices.

    >>> import freewill as fw
    >>> law = fw.KRR(fw.Linear(0, 4), 1.0).law()
    >>> len(laws([law, np.eye(5)], titles=["k-RR", "Identity"]).axes)
    3
    """
    least = numbers(smallest, "smallest", "a number between 0 and 1")
    if least.shape != () or not 0 < least < 1:
        raise ParameterError(f"smallest={shown(smallest)}: must lie between 0 and 1.")
    if not isinstance(matrices, Iterable) or not isinstance(titles, Sequence):
        raise ParameterError("laws and titles: expected a list of each.")
    laws = [numbers(law, "law", "a matrix") for law in matrices]
    if not laws or len(laws) != len(titles):
        raise ParameterError(f"{len(laws)} laws and {len(titles)} titles: expected one each.")
    for name, law in zip(titles, laws, strict=True):
        if law.ndim != 2:
            raise ParameterError(f"law {shown(name)} has shape {law.shape}; expected a matrix.")
    figure, panels = canvas.blank_panels(len(laws), 1.0, title, ax)
    from matplotlib.colors import LogNorm  # noqa: PLC0415

    scale = LogNorm(smallest, 1.0)
    for axes, name, law in zip(panels, titles, laws, strict=True):
        drawn = np.ma.masked_equal(np.where(law > 0, np.maximum(law, smallest), 0.0), 0.0)
        aspect = "equal" if law.shape[0] == law.shape[1] else "auto"
        extent = _law_extent(law, alphabet)
        image = canvas.draw_image(
            axes, drawn, extent=extent, cmap="viridis_r", norm=scale, aspect=aspect
        )
        across = f"reported {unit}" if unit else "report"
        canvas.finish_panel(axes, name, across, f"true {unit or 'value'}")
        axes.locator_params(integer=True)  # values and indices are whole numbers
    canvas.draw_scale(figure, image, panels, "P(report | true value)", extend="min")
    return saved(figure, path)


def _law_extent(law: FloatArray, alphabet: Alphabet | None) -> tuple[float, float, float, float]:
    rows, columns = law.shape
    along = () if alphabet is None or rows != alphabet.size else alphabet.extent
    values = along[0] if len(along) == 1 else (-0.5, rows - 0.5)
    return (*(values if columns == rows else (-0.5, columns - 0.5)), *values)


def planned(
    plan: Plan, *, ax: Any = None, path: str | Path | None = None, title: str = "", unit: str = ""
) -> Figure:
    """Draw expected error against people, on logarithmic scales, and how many the target needs.

    The error is the earth mover's distance, with the band in which 90 % of surveys end; where a
    functional was asked for, half the length of its widest 95 % interval. `unit` is that of the
    error ("years", "km"): the alphabet's unit by default.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> survey = fw.Survey(coin, {"k": fw.KRR(coin, 1.0)})
    >>> plan = fw.plan(survey, theta=[0.5, 0.5], people=1_000)
    >>> planned(plan).axes[0].get_xlabel()
    'people'
    """
    if not isinstance(plan, Plan):
        raise ParameterError(f"plan={shown(plan)}: expected what fw.plan returns.")
    axes = canvas.blank_axes(ax, 7.6, 4.6)
    order = np.argsort(plan.people, kind="stable")
    people = plan.people[order]
    name = plan.of[0] if len(plan.of) == 1 else "the least known share"
    error, what = plan.half_width, f"95 % interval, to either side: {plain(name)}"
    if plan.by_emd:
        error, what, unit = plan.emd, "earth mover's distance", unit or plan.alphabet.unit
        low, high = _positive(plan.emd_low[order]), _positive(plan.emd_high[order])
        looks: dict[str, Any] = {"color": canvas.SKY, "alpha": 0.3, "linewidth": 0}
        axes.fill_between(people, low, high, label="90 % of surveys", **looks)
    pen: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 1.9, "marker": "o", "markersize": 4.5}
    axes.plot(people, _positive(error[order]), label="expected", **pen)
    if plan.target is not None:
        _mark(axes, plan, plan.target)
    per = f" ({plain(unit)})" if unit else ""
    canvas.finish(axes, title or f"Planned for: {plan.truth}", "people", f"{what}{per}")
    canvas.log_axes(axes)
    canvas.legend(axes)
    return saved(canvas.figure_of(axes), path)


def mechanisms(
    comparison: MechanismComparison,
    *,
    ax: Any = None,
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw the error of each mechanism with its standard error, the least at the top.

    At its end stands how often the best guess of a person's value is right.
    """
    ones = comparison.compared
    axes = canvas.blank_axes(ax, 7.6, 1.6 + 0.42 * len(ones))
    errors = np.array([one.emd.value for one in ones])
    places, reach = np.arange(len(ones)), np.array([one.emd.error for one in ones])
    looks: dict[str, Any] = {"color": canvas.SKY, "ecolor": canvas.BLUE, "capsize": 3}
    axes.barh(places, errors, xerr=2 * np.nan_to_num(reach), **looks)
    axes.set_yticks(places, [plain(one.name) for one in ones])
    axes.invert_yaxis()
    for place, one in enumerate(ones):
        guess = "" if one.success is None else f"  guessed {100 * one.success:.2g} %"
        end = float(errors[place] + 2 * np.nan_to_num(reach[place]))
        axes.annotate(guess, (end, place), va="center", fontsize=8, color=canvas.SOFT)
    axes.set_xlim(0, 1.25 * float(np.max(errors + 2 * np.nan_to_num(reach))))
    unit = f" ({plain(comparison.alphabet.unit)})" if comparison.alphabet.unit else ""
    title = title or f"{several(comparison.people, 'person')}, truth: {comparison.truth}"
    canvas.finish(axes, title, f"earth mover's distance to the truth{unit}", "", "x")
    return saved(canvas.figure_of(axes), path)


def unnoticed(
    hidden: Sensitivity, *, ax: Any = None, path: str | Path | None = None, title: str = ""
) -> Figure:
    """Draw the bias that a choice by value could cause and go unnoticed, against its odds.

    Dotted: two standard errors of an estimate, were the choice free.
    """
    axes = canvas.blank_axes(ax, 7.6, 4.6)
    places = np.arange(len(hidden.odds))
    axes.plot(places, hidden.bounds, color=canvas.BLUE, linewidth=1.9, marker="o", label="bias")
    twice = 2 * hidden.standard_error
    axes.axhline(twice, color=canvas.BLUE, linestyle=":", label="two standard errors, if free")
    odds = [f"{one:.3g} : 1" if np.isfinite(one) else "certain" for one in hidden.odds]
    axes.set_xticks(places, odds)
    axes.set_ylim(bottom=0)
    title = title or f"What could go unnoticed among {several(hidden.people, 'person')}"
    canvas.finish(axes, title, "odds of a choice by value", f"bias: {plain(hidden.of)}", "y")
    canvas.legend(axes)
    return saved(canvas.figure_of(axes), path)


def _positive(values: FloatArray) -> FloatArray:
    """Return what a logarithmic scale has a place for."""
    return np.where((values > 0) & np.isfinite(values), values, np.nan)


def _mark(axes: Axes, plan: Plan, target: float) -> None:
    """Draw the target and, where it can be reached, the number of people that reaches it."""
    pen: dict[str, Any] = {"color": canvas.VERMILION, "linewidth": 1.3, "linestyle": (0, (6, 2))}
    if plan.needed is None:
        axes.axhline(target, label=f"target {target:g}: out of reach", **pen)
        return
    axes.axhline(target, label=f"target {target:g}: {several(plan.needed, 'person')}", **pen)
    axes.axvline(plan.needed, color=canvas.SOFT, linewidth=1.1, linestyle=(0, (2, 1.5)))
    axes.plot([plan.needed], [target], "o", color=canvas.VERMILION, markersize=7, zorder=4)
