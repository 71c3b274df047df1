"""The curve of a plan: expected error against the number of people."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import ParameterError, several, shown
from freewill.present.plots.canvas import (
    BLUE,
    FAINT,
    NORMAL,
    SKY,
    SOFT,
    VERMILION,
    blank_figure,
    finish,
    plain,
    save,
)
from freewill.stats.planning.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def planned(plan: Plan, *, path: str | Path, title: str = "", unit: str = "") -> Path:
    """Draw expected error against people, on logarithmic scales, and how many the target needs.

    The error is the earth mover's distance, with the band in which 90 % of surveys end; where a
    functional was asked for, half the length of its widest 95 % interval. `unit` is that of the
    error ("years", "km").

    >>> import freewill as fw, tempfile, pathlib
    >>> coin = fw.Categorical(["yes", "no"])
    >>> survey = fw.Survey(coin, {"k": fw.KRR(coin, 1.0)})
    >>> plan = fw.plan(survey, theta=[0.5, 0.5], people=[100_000, 1_000_000], target=0.01)
    >>> planned(plan, path=pathlib.Path(tempfile.mkdtemp()) / "plan.png").name
    'plan.png'
    """
    if not isinstance(plan, Plan):
        raise ParameterError(f"plan={shown(plan)}: expected what fw.plan returns.")
    figure = blank_figure(7.6, 4.6)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    order = np.argsort(plan.people, kind="stable")
    people = plan.people[order]
    if plan.by_emd:
        low, high = _positive(plan.emd_low[order]), _positive(plan.emd_high[order])
        looks: dict[str, Any] = {"color": SKY, "alpha": 0.3, "linewidth": 0}
        axes.fill_between(people, low, high, label="90 % of surveys", **looks)
    error, what = (
        (plan.emd, "earth mover's distance") if plan.by_emd else (plan.half_width, _asked(plan))
    )
    pen: dict[str, Any] = {"color": BLUE, "linewidth": 1.9, "marker": "o", "markersize": 4.5}
    axes.plot(people, _positive(error[order]), label="expected", **pen)
    if plan.target is not None:
        _mark(axes, plan, plan.target)
    axes.grid(which="major", color=FAINT, linewidth=0.8)
    per = f" ({plain(unit)})" if unit else ""
    finish(axes, title or f"Planned for: {plan.truth}", "people", f"{what}{per}")
    _plain_ticks(axes)
    axes.legend(fontsize=NORMAL, frameon=False)
    return save(figure, path)


def _asked(plan: Plan) -> str:
    name = plan.of[0] if len(plan.of) == 1 else "the least known share"
    return f"95 % interval, to either side: {plain(name)}"


def _positive(values: FloatArray) -> FloatArray:
    """Return what a logarithmic scale has a place for."""
    return np.where((values > 0) & np.isfinite(values), values, np.nan)


def _mark(axes: "Axes", plan: Plan, target: float) -> None:
    """Draw the target and, where it can be reached, the number of people that reaches it."""
    pen: dict[str, Any] = {"color": VERMILION, "linewidth": 1.3, "linestyle": (0, (6, 2))}
    if plan.needed is None:
        axes.axhline(target, label=f"target {target:g}: out of reach", **pen)
        return
    axes.axhline(target, label=f"target {target:g}: {several(plan.needed, 'person')}", **pen)
    axes.axvline(plan.needed, color=SOFT, linewidth=1.1, linestyle=(0, (2, 1.5)))
    axes.plot([plan.needed], [target], "o", color=VERMILION, markersize=7, zorder=4)


def _plain_ticks(axes: "Axes") -> None:
    """Write numbers out, where powers of ten are for few people: 10,000 and 0.2."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axes.xaxis.set_major_formatter(FuncFormatter(lambda many, _: f"{many:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{error:g}"))
    low, high = axes.get_ylim()
    if high / low < 300:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
