"""Who chooses what: the choice law of an estimate, for each value, with its intervals."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import as_groups
from freewill.errors import ParameterError, printable, several, shown
from freewill.present import canvas
from freewill.present.canvas import Ground, plain, saved
from freewill.present.words import mechanism_names
from freewill.stats.choice.aware import ChoiceAwareEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TOGETHER = 4
"""Mechanisms that one panel shows; more have a panel each."""
_MOST_PANELS, _MOST_LABELS = 60, 200
"""Mechanisms and labels that find room."""
_LONGEST, _LONGEST_PAIR = 32, 80
"""Characters of a name above a panel, and of two in one."""
_RARE = 0.005
"""Share of the people at either end whose bands may go beyond the axes."""
_FINEST = 1e-6
"""Percentage points that a scale has at least."""
_CHOSEN = "chosen by (%)"


def choices(
    estimate: ChoiceAwareEstimate,
    *,
    ax: Any = None,
    path: str | Path | None = None,
    title: str = "",
    unit: str = "",
    level: float = 0.95,
) -> "Figure":
    """Draw c_m(x), which share of the people of each value chooses each mechanism, with bands.

    A dotted line is everybody's share: where a band is above it, people of these values prefer the
    mechanism. On a line mechanisms are curves, up to four of them in one panel and one in each
    beyond; labels have points with error bars. In the plane each has a map of c_m(x) less
    everybody's share: red where it is preferred, blue where it is avoided, pale where the interval
    holds everybody's share. Of two mechanisms the first is drawn: the others choose the second.
    Axes end where the bands of nearly all people do: where nobody is, bands reach from 0 to 100 %.
    Alphabets too large for intervals are drawn without. `unit` names what a line measures.
    `ax` takes axes of a figure of your own, one for each panel.

    >>> import freewill as fw
    >>> menu = fw.Categorical(["yes", "no"])
    >>> shy, bold = fw.KRR(menu, 1.0), fw.KRR(menu, 3.0)
    >>> evidence = fw.collect([(shy, [0, 1], [700, 500]), (bold, [0, 1], [200, 900])])
    >>> choices(fw.choice_aware(evidence)).axes[0].get_xlabel()
    'chosen by (%)'
    """
    if not isinstance(estimate, ChoiceAwareEstimate):
        raise ParameterError(
            f"estimate={shown(estimate)}: expected one with a choice law, of fw.choice_aware."
        )
    refuse_crowd(estimate.alphabet, len(estimate.mechanisms))
    law = _Law.of(estimate, level)
    kind = len(law.alphabet.extent) if law.alphabet.plane is not None else 0
    draw = (_labels, _line, _maps)[kind]
    return saved(draw(law, title or _title(estimate), unit, ax), path)


def refuse_crowd(alphabet: Alphabet, mechanisms: int) -> None:
    """Refuse more mechanisms, or labels, than find room in a picture."""
    if mechanisms > _MOST_PANELS:
        raise ParameterError(
            f"{several(mechanisms, 'mechanism')} are too many to draw beside each other: keep "
            f"{_MOST_PANELS} at most (evidence.only, --only)."
        )
    if alphabet.plane is None and alphabet.size > _MOST_LABELS:
        raise ParameterError(
            f"{several(alphabet.size, 'label')} are too many to draw below each other: at most "
            f"{_MOST_LABELS} find room."
        )


@dataclass(frozen=True, eq=False)
class _Law:
    """A choice law as it is drawn: percentages, [mechanism, value]."""

    alphabet: Alphabet
    names: list[str]
    choice: FloatArray
    low: FloatArray
    high: FloatArray
    everybody: FloatArray
    """The percentage of all people who choose each mechanism."""
    usual: BoolArray
    """The values that all but a few people have."""
    level: float | None
    """That of the intervals; None where there are none, and both ends are the choice itself."""

    @property
    def together(self) -> bool:
        """Whether mechanisms share a panel."""
        return len(self.names) <= _TOGETHER

    @classmethod
    def of(cls, estimate: ChoiceAwareEstimate, level: float) -> "_Law":
        names = mechanism_names(estimate)
        bare = estimate.together is None
        ends = [estimate.choice] * 2 if bare else estimate.choice_intervals(level)
        low, choice, high = (100 * share.T for share in (ends[0], estimate.choice, ends[1]))
        if len(names) == 2:  # the other is what is left
            names = [f"{names[0]}; the others choose {names[1]}"]
            low, choice, high = low[:1], choice[:1], high[:1]
        below = np.cumsum(estimate.theta)
        usual = (below > _RARE) & (below - estimate.theta < 1 - _RARE)
        everybody = choice @ estimate.theta
        shown = None if bare else level
        return cls(estimate.alphabet, names, choice, low, high, everybody, usual, shown)

    @property
    def intervals(self) -> str:
        """What bands and bars are."""
        return "" if self.level is None else f"; {100 * self.level:.12g} % intervals"

    @property
    def top(self) -> float:
        """Where the axis of the percentages ends."""
        most = max(self.choice.max(), self.high[:, self.usual].max(initial=0.0))
        return min(101.0, 1.08 * float(most))

    @property
    def sure(self) -> BoolArray:
        """Where the interval does not hold everybody's share; everywhere where there is none."""
        share = self.everybody[:, None]
        return np.asarray((self.low > share) | (self.high < share) | (self.level is None))


def _title(estimate: ChoiceAwareEstimate) -> str:
    law = "found free of the value" if estimate.is_free else f"basis: {estimate.basis}"
    return f"Who chooses what, of {several(estimate.people, 'person')} ({law})"


def _line(law: _Law, title: str, unit: str, ax: Any) -> "Figure":
    edges = canvas.edges_of(as_groups(law.alphabet, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    figure, panels = _panels(law, title, 4.6, 0.62, ax)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, pen = panels[number % len(panels)], _pen(law, number)
        if law.level is not None:
            looks: dict[str, Any] = {"alpha": 0.22, "linewidth": 0, "color": pen["color"]}
            axes.stairs(law.high[number], edges, baseline=law.low[number], fill=True, **looks)
        axes.plot(middle, choice, label=plain(name, _LONGEST_PAIR), linewidth=1.9, zorder=3, **pen)
        axes.axhline(law.everybody[number], color=pen["color"], linewidth=1.1, linestyle=":")
    for number, axes in enumerate(panels):
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0, law.top)
        _finish(axes, law, number, canvas.unit_of(law.alphabet, unit), _CHOSEN, "y")
    return figure


def _labels(law: _Law, title: str, unit: str, ax: Any) -> "Figure":
    count = law.alphabet.size
    shared = len(law.names) if law.together else 1
    height = float(np.clip(1.6 + 0.24 * count * shared**0.8, 2.8, 60))
    figure, panels = _panels(law, title, height, height / 3.6, ax)
    places = np.arange(count)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, pen = panels[number % len(panels)], _pen(law, number)
        rows = places + (number % shared - (shared - 1) / 2) * 0.7 / shared
        looks: dict[str, Any] = {"fmt": "o", "ms": 5, "capsize": 3, "color": pen["color"]}
        reach = canvas.lengths(choice, law.low[number], law.high[number])
        error = None if law.level is None else reach
        axes.errorbar(choice, rows, xerr=error, label=plain(name, _LONGEST_PAIR), **looks)
        axes.axvline(law.everybody[number], color=pen["color"], linewidth=1.1, linestyle=":")
    labels = [plain(name) for name in as_groups(law.alphabet, 1).names]
    for number, axes in enumerate(panels):
        axes.set_yticks(places, labels)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_xlim(0, law.top)
        _finish(axes, law, number, _CHOSEN, unit, "x")
        for edge in places[1:] - 0.5:
            axes.axhline(edge, color=canvas.FAINT, linewidth=0.8)
    return figure


def _maps(law: _Law, title: str, unit: str, ax: Any) -> "Figure":
    ground = Ground.of(as_groups(law.alphabet, 1))
    figure, panels = canvas.blank_panels(
        len(law.names), ground.shape, f"{title}{law.intervals}", ax
    )
    apart = law.choice - law.everybody[:, None]
    sure = law.sure
    # What nothing is known of would stretch the scale.
    most = max(float(np.abs(apart[sure]).max(initial=0.0)), _FINEST)
    for number, axes in enumerate(panels):
        ground.draw_signed(axes, apart[number], sure[number], most)
        _finish_panel(axes, law, number, *ground.names)
    ground.finish(panels)
    extend = "both" if float(np.abs(apart).max()) > most else "neither"
    label = "more or less than everybody (points)"
    canvas.draw_signed_scale(figure, panels, most, label, extend)
    return figure


def _panels(
    law: _Law, title: str, height: float, shape: float, ax: Any
) -> tuple["Figure", list["Axes"]]:
    """Return one panel for a few mechanisms, or one for each of many."""
    if not law.together:
        return canvas.blank_panels(len(law.names), shape, f"{title}{law.intervals}", ax)
    axes = canvas.blank_axes(ax, 8.4, height)
    axes.set_title(title)
    return canvas.figure_of(axes), [axes]


def _pen(law: _Law, number: int) -> dict[str, Any]:
    return canvas.pen_of(number if law.together else 0)


def _finish(axes: "Axes", law: _Law, number: int, across: str, up: str, grid: canvas.Axis) -> None:
    """Give a panel its title and labels, and say what is what where mechanisms share it."""
    if not law.together:
        _finish_panel(axes, law, number, across, up, grid)
        return
    canvas.finish(axes, axes.get_title(), across, up, grid)
    axes.set_title("")
    canvas.legend(axes, below=True, ncols=2, title=f"dotted: everybody{law.intervals}")


def _finish_panel(
    axes: "Axes", law: _Law, number: int, across: str, up: str, grid: canvas.Axis = None
) -> None:
    """Give one of many panels its mechanism, and labels where nothing is below or beside it."""
    lowest = number + canvas.ROW >= len(law.names)
    longest = _LONGEST if len(law.names) > 1 else _LONGEST_PAIR
    name = f"{printable(law.names[number], longest)} ({law.everybody[number]:.2g} %)"
    canvas.finish_panel(axes, name, across if lowest else "", up, grid, canvas.SMALL)
