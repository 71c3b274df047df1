"""Who chooses what: the choice law of an estimate, for each value, with its intervals."""

from pathlib import Path
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.domain.alphabets.groups import as_groups
from freewill.errors import ParameterError, printable, several, shown
from freewill.present import canvas
from freewill.present.canvas import Axes, Figure, Ground, plain, saved
from freewill.present.words import mechanism_names
from freewill.stats.choice.aware import ChoiceAwareEstimate

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
    background: Any = None,
) -> Figure:
    """Draw c_m(x), which share of the people of each value chooses each mechanism, with bands.

    A dotted line is everybody's share: where a band is above it, people of these values prefer the
    mechanism. On a line mechanisms are curves, up to four of them in one panel and one in each
    beyond; labels have points with error bars. In the plane each has a map of c_m(x) less
    everybody's share: red where it is preferred, blue where it is avoided, pale where the interval
    holds everybody's share. Of two mechanisms the first is drawn: the others choose the second.
    Axes end where the bands of nearly all people do: where nobody is, bands reach from 0 to 100 %.
    Alphabets too large for intervals are drawn without. `unit` names what a line measures.
    `ax` takes axes of a figure of your own, one for each panel. A survey's `background` lies under
    maps.

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
    if not title:
        law = "found free of the value" if estimate.is_free else f"basis: {estimate.basis}"
        title = f"Who chooses what, of {several(estimate.people, 'person')} ({law})"
    alphabet = estimate.alphabet
    made = _Law(estimate, title, level)
    if len(alphabet.extent) == 2:
        return saved(_maps(made, background, ax), path)
    draw = _line if has_raster(alphabet) else _labels
    return saved(draw(made, unit, ax), path)


def refuse_crowd(alphabet: Alphabet, mechanisms: int) -> None:
    """Refuse more mechanisms, or labels, than find room in a picture."""
    if mechanisms > _MOST_PANELS:
        raise ParameterError(
            f"{several(mechanisms, 'mechanism')} are too many to draw beside each other: keep "
            f"{_MOST_PANELS} at most (evidence.only, --only)."
        )
    if not has_raster(alphabet) and alphabet.size > _MOST_LABELS:
        raise ParameterError(
            f"{several(alphabet.size, 'label')} are too many to draw below each other: at most "
            f"{_MOST_LABELS} find room."
        )


class _Law:
    """A choice law as it is drawn: percentages, [mechanism, value]."""

    def __init__(self, estimate: ChoiceAwareEstimate, title: str, level: float) -> None:
        self.alphabet, self.names = estimate.alphabet, mechanism_names(estimate)
        # Without intervals, both ends are the choice itself.
        self.bare = estimate.together is None
        ends = [estimate.choice] * 2 if self.bare else estimate.choice_intervals(level)
        low, choice, high = (100 * share.T for share in (ends[0], estimate.choice, ends[1]))
        if len(self.names) == 2:  # the other is what is left
            self.names = [f"{self.names[0]}; the others choose {self.names[1]}"]
            low, choice, high = low[:1], choice[:1], high[:1]
        self.choice: FloatArray = choice
        self.low: FloatArray = low
        self.high: FloatArray = high
        self.everybody: FloatArray = choice @ estimate.theta
        """The percentage of all people who choose each mechanism."""
        below = np.cumsum(estimate.theta)
        # The values that all but a few people have.
        usual = (below > _RARE) & (below - estimate.theta < 1 - _RARE)
        self.top = min(101.0, 1.08 * float(max(choice.max(), high[:, usual].max(initial=0.0))))
        """Where the axis of the percentages ends."""
        self.together = len(self.names) <= _TOGETHER
        """Whether mechanisms share a panel."""
        smooth = " of smooth preferences" if has_raster(self.alphabet) else ""
        self.intervals = "" if self.bare else f"; {100 * level:.12g} % intervals{smooth}"
        self.title = title

    def panels(self, height: float, shape: float, ax: Any) -> tuple[Figure, list[Axes]]:
        """Return one panel for a few mechanisms, or one for each of many."""
        if not self.together:
            title = f"{self.title}{self.intervals}"
            return canvas.blank_panels(len(self.names), shape, title, ax)
        axes = canvas.blank_axes(ax, 8.4, height)
        return canvas.figure_of(axes), [axes]

    def pen(self, number: int) -> dict[str, Any]:
        """Return how a mechanism is drawn, which alone in its panel needs no other colour."""
        return canvas.pen_of(number if self.together else 0)

    def finish(
        self, axes: Axes, number: int, across: str, up: str, grid: canvas.Axis = None
    ) -> None:
        """Give a panel its title and labels, and say what is what where mechanisms share it."""
        if self.together and grid is not None:
            canvas.finish(axes, self.title, across, up, grid)
            canvas.legend(axes, below=True, ncols=2, title=f"dotted: everybody{self.intervals}")
            return
        # Of many panels only those with nothing below say what goes across.
        lowest = number + canvas.ROW >= len(self.names)
        longest = _LONGEST if len(self.names) > 1 else _LONGEST_PAIR
        name = f"{printable(self.names[number], longest)} ({self.everybody[number]:.2g} %)"
        canvas.finish_panel(axes, name, across if lowest else "", up, grid, canvas.SMALL)


def _line(law: _Law, unit: str, ax: Any) -> Figure:
    edges = canvas.edges_of(as_groups(law.alphabet, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    figure, panels = law.panels(4.6, 0.62, ax)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, pen = panels[number % len(panels)], law.pen(number)
        if not law.bare:
            looks: dict[str, Any] = {"alpha": 0.22, "linewidth": 0, "color": pen["color"]}
            axes.stairs(law.high[number], edges, baseline=law.low[number], fill=True, **looks)
        axes.plot(middle, choice, label=plain(name, _LONGEST_PAIR), linewidth=1.9, zorder=3, **pen)
        axes.axhline(law.everybody[number], color=pen["color"], linewidth=1.1, linestyle=":")
    for number, axes in enumerate(panels):
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0, law.top)
        law.finish(axes, number, canvas.unit_of(law.alphabet, unit), _CHOSEN, "y")
    return figure


def _labels(law: _Law, unit: str, ax: Any) -> Figure:
    count = law.alphabet.size
    shared = len(law.names) if law.together else 1
    height = float(np.clip(1.6 + 0.24 * count * shared**0.8, 2.8, 60))
    figure, panels = law.panels(height, height / 3.6, ax)
    places = np.arange(count)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, colour = panels[number % len(panels)], law.pen(number)["color"]
        rows = places + (number % shared - (shared - 1) / 2) * 0.7 / shared
        reach = choice, law.low[number], law.high[number]
        looks: dict[str, Any] = {"ms": 5, "color": colour, **({"xerr": None} if law.bare else {})}
        canvas.draw_across(axes, rows, reach, plain(name, _LONGEST_PAIR), **looks)
        axes.axvline(law.everybody[number], color=colour, linewidth=1.1, linestyle=":")
    labels = [plain(name) for name in as_groups(law.alphabet, 1).names]
    for number, axes in enumerate(panels):
        axes.set_yticks(places, labels)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_xlim(0, law.top)
        law.finish(axes, number, _CHOSEN, unit, "x")
        for edge in places[1:] - 0.5:
            axes.axhline(edge, color=canvas.FAINT, linewidth=0.8)
    return figure


def _maps(law: _Law, background: Any, ax: Any) -> Figure:
    ground = Ground.of(as_groups(law.alphabet, 1), background)
    title = f"{law.title}{law.intervals}"
    figure, panels = canvas.blank_panels(len(law.names), ground.shape, title, ax)
    apart = law.choice - law.everybody[:, None]
    # Where the interval does not hold everybody's share; everywhere where there is none.
    share = law.everybody[:, None]
    sure = (law.low > share) | (law.high < share) | law.bare
    # What nothing is known of would stretch the scale.
    most = max(float(np.abs(apart[sure]).max(initial=0.0)), _FINEST)
    for number, axes in enumerate(panels):
        ground.draw_signed(axes, apart[number], sure[number], most)
        law.finish(axes, number, *ground.names)
    ground.finish(panels)
    extend = "both" if float(np.abs(apart).max()) > most else "neither"
    label = "more or less than everybody (points)"
    canvas.draw_signed_scale(figure, panels, most, label, extend)
    return figure
