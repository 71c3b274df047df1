"""Who chooses what: the choice law of an estimate, for each value, with its intervals."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import as_groups
from freewill.domain.mechanisms.base import brief
from freewill.errors import ParameterError, printable, several, shown
from freewill.present.plots.canvas import (
    FAINT,
    INK,
    NORMAL,
    ROW,
    SMALL,
    blank_figure,
    blank_panels,
    draw_scale,
    finish,
    finish_panel,
    pen_of,
    plain,
    save,
)
from freewill.present.plots.shares import Ground, edges_of, lengths
from freewill.stats import groups
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
_PALE = 0.3
"""Opacity of what may be no preference."""


def choices(
    estimate: ChoiceAwareEstimate,
    *,
    path: str | Path,
    title: str = "",
    unit: str = "",
    level: float = 0.95,
) -> Path:
    """Draw c_m(x), which share of the people of each value chooses each mechanism, with bands.

    A dotted line is everybody's share: where a band is above it, people of these values prefer the
    mechanism. On a line mechanisms are curves, up to four of them in one panel and one in each
    beyond; labels have points with error bars. In the plane each has a map of c_m(x) less
    everybody's share: red where it is preferred, blue where it is avoided, pale where the interval
    holds everybody's share. Of two mechanisms the first is drawn: the others choose the second.
    Axes end where the bands of nearly all people do: where nobody is, bands reach from 0 to 100 %.
    Alphabets too large for intervals are drawn without. `unit` names what a line measures.

    >>> import freewill as fw, tempfile, pathlib
    >>> menu, folder = fw.Categorical(["yes", "no"]), pathlib.Path(tempfile.mkdtemp())
    >>> shy, bold = fw.KRR(menu, 1.0), fw.KRR(menu, 3.0)
    >>> evidence = fw.collect([(shy, [0, 1], [700, 500]), (bold, [0, 1], [200, 900])])
    >>> choices(fw.choice_aware(evidence), path=folder / "choice.png").name
    'choice.png'
    """
    if not isinstance(estimate, ChoiceAwareEstimate):
        raise ParameterError(
            f"estimate={shown(estimate)}: expected one with a choice law, of fw.choice_aware."
        )
    refuse_crowd(estimate.alphabet, len(estimate.mechanisms))
    law = _Law.of(estimate, level)
    kind = len(law.alphabet.extent) if law.alphabet.plane is not None else 0
    draw = (_labels, _line, _maps)[kind]
    return save(draw(law, title or _title(estimate), unit), path)


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


def names_of(estimate: ChoiceAwareEstimate) -> list[str]:
    """Return what the mechanisms are called: by the survey, else by what they are."""
    if estimate.evidence is None:
        return [brief(one) for one in estimate.mechanisms]
    return groups.names_of(estimate.evidence, short=True)


@dataclass(frozen=True, eq=False)
class _Law:
    """A choice law as it is drawn: percentages, [mechanism, value]."""

    alphabet: Alphabet
    names: list[str]
    choice: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    everybody: FloatArray
    """The percentage of all people who choose each mechanism."""
    usual: BoolArray
    """The values that all but a few people have."""
    level: float

    @property
    def together(self) -> bool:
        """Whether mechanisms share a panel."""
        return len(self.names) <= _TOGETHER

    @classmethod
    def of(cls, estimate: ChoiceAwareEstimate, level: float) -> "_Law":
        low, high = None, None
        if estimate.together is not None:
            low, high = (100 * end.T for end in estimate.choice_intervals(level))
        names = names_of(estimate)
        choice = 100 * estimate.choice.T
        if len(names) == 2:  # the other is what is left
            names = [f"{names[0]}; the others choose {names[1]}"]
            choice = choice[:1]
        below = np.cumsum(estimate.theta)
        usual = (below > _RARE) & (below - estimate.theta < 1 - _RARE)
        everybody = choice @ estimate.theta
        return cls(estimate.alphabet, names, choice, low, high, everybody, usual, level)

    @property
    def told(self) -> str:
        """What bands and bars are."""
        return "" if self.low is None else f"; {100 * self.level:.12g} % intervals"

    @property
    def top(self) -> float:
        """Where the axis of the percentages ends."""
        most = float(self.choice.max())
        if self.high is not None:
            most = max(most, float(self.high[: len(self.names), self.usual].max(initial=0.0)))
        return min(101.0, 1.08 * most)

    def sure(self, number: int) -> BoolArray:
        """Return where the interval does not hold everybody's share."""
        if self.low is None or self.high is None:
            return np.ones(self.alphabet.size, dtype=bool)
        share = self.everybody[number]
        return np.asarray((self.low[number] > share) | (self.high[number] < share))


def _title(estimate: ChoiceAwareEstimate) -> str:
    law = "found free of the value" if estimate.is_free else f"basis: {estimate.basis}"
    return f"Who chooses what, of {several(estimate.people, 'person')} ({law})"


def _line(law: _Law, title: str, unit: str) -> "Figure":
    edges = edges_of(as_groups(law.alphabet, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    figure, panels = _panels(law, title, 4.6, 0.62)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, pen = panels[number % len(panels)], _pen(law, number)
        if law.low is not None and law.high is not None:
            looks: dict[str, Any] = {"alpha": 0.22, "linewidth": 0, "color": pen["color"]}
            axes.stairs(law.high[number], edges, baseline=law.low[number], fill=True, **looks)
        axes.plot(middle, choice, label=plain(name, _LONGEST_PAIR), linewidth=1.9, zorder=3, **pen)
        axes.axhline(law.everybody[number], color=pen["color"], linewidth=1.1, linestyle=":")
    for number, axes in enumerate(panels):
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0, law.top)
        _finish(axes, law, number, unit or "value", _CHOSEN)
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
    return figure


def _labels(law: _Law, title: str, unit: str) -> "Figure":
    count = law.alphabet.size
    shared = len(law.names) if law.together else 1
    height = float(np.clip(1.6 + 0.24 * count * shared**0.8, 2.8, 60))
    figure, panels = _panels(law, title, height, height / 3.6)
    places = np.arange(count)
    for number, (name, choice) in enumerate(zip(law.names, law.choice, strict=True)):
        axes, pen = panels[number % len(panels)], _pen(law, number)
        rows = places + (number % shared - (shared - 1) / 2) * 0.7 / shared
        looks: dict[str, Any] = {"fmt": "o", "ms": 5, "capsize": 3, "color": pen["color"]}
        reach = None
        if law.low is not None and law.high is not None:
            reach = lengths(choice, law.low[number], law.high[number])
        axes.errorbar(choice, rows, xerr=reach, label=plain(name, _LONGEST_PAIR), **looks)
        axes.axvline(law.everybody[number], color=pen["color"], linewidth=1.1, linestyle=":")
    labels = [plain(name) for name in as_groups(law.alphabet, 1).names]
    for number, axes in enumerate(panels):
        axes.set_yticks(places, labels)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_xlim(0, law.top)
        _finish(axes, law, number, _CHOSEN, unit)
        axes.grid(axis="x", color=FAINT, linewidth=0.8)
        for edge in places[1:] - 0.5:
            axes.axhline(edge, color=FAINT, linewidth=0.8)
    return figure


def _maps(law: _Law, title: str, unit: str) -> "Figure":
    ground = Ground.of(as_groups(law.alphabet, 1))
    figure, panels = blank_panels(len(law.names), ground.shape, f"{title}{law.told}")
    apart = law.choice - law.everybody[:, None]
    sure = np.stack([law.sure(number) for number in range(len(law.names))])
    # What nothing is known of would stretch the scale.
    most = max(float(np.abs(apart[sure]).max(initial=0.0)), _FINEST)
    looks: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    for number, axes in enumerate(panels):
        opacity = np.where(sure[number], 1.0, _PALE)[ground.which]
        ground.draw(axes, apart[number], alpha=opacity, **looks)
        _finish_panel(axes, law, number, *ground.names)
    ground.finish(panels)
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    extend = "both" if float(np.abs(apart).max()) > most else "neither"
    scale = ScalarMappable(Normalize(-most, most), "RdBu_r")
    draw_scale(figure, scale, panels, "more or less than everybody (points)", extend)
    return figure


def _panels(law: _Law, title: str, height: float, shape: float) -> tuple["Figure", list["Axes"]]:
    """Return one panel for a few mechanisms, or one for each of many."""
    if not law.together:
        return blank_panels(len(law.names), shape, f"{title}{law.told}")
    figure = blank_figure(8.4, height)
    return figure, [figure.add_subplot(title=title)]


def _pen(law: _Law, number: int) -> dict[str, Any]:
    return pen_of(number if law.together else 0)


def _finish(axes: "Axes", law: _Law, number: int, across: str, up: str) -> None:
    """Give a panel its title and labels, and say what is what where mechanisms share it."""
    if not law.together:
        _finish_panel(axes, law, number, across, up)
        return
    finish(axes, axes.get_title(), across, up)
    axes.set_title("")
    figure: Any = axes.figure
    told = f"dotted: everybody{law.told}"
    looks: dict[str, Any] = {"fontsize": NORMAL, "frameon": False, "labelcolor": INK}
    figure.legend(loc="outside lower center", ncols=2, title=told, **looks)


def _finish_panel(axes: "Axes", law: _Law, number: int, across: str, up: str) -> None:
    """Give one of many panels its mechanism, and labels where nothing is below or beside it."""
    lowest = number + ROW >= len(law.names)
    longest = _LONGEST if len(law.names) > 1 else _LONGEST_PAIR
    name = f"{printable(law.names[number], longest)} ({law.everybody[number]:.2g} %)"
    finish_panel(axes, name, across if lowest else "", up)
    axes.set_title(axes.get_title(loc="left"), fontsize=SMALL, color=INK, loc="left", pad=4)
