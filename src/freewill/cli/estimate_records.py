"""`freewill estimate` of several questions: tables, conditional distributions, their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from freewill.cli import analysis
from freewill.cli.analysis import AnyMethod
from freewill.cli.inputs import product_of
from freewill.cli.questions import condition
from freewill.cli.show import bar_table, room_beside, say, say_json, say_raw, table
from freewill.core.presented import csv_text
from freewill.core.progress import progress
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.alphabets.groups import Values
from freewill.errors import ParameterError, printable, several
from freewill.present.cross_table import ALL, CrossTable
from freewill.present.distribution import Distribution
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.evidence import Evidence, refuse_vast_joint
from freewill.stats.functionals import refuse_many
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals

_ROWS, _COLUMNS = 40, 8
"""Rows and columns of a table that is printed as one."""
_BAR = 30


@dataclass(frozen=True)
class Asked:
    """What is wanted of an estimate of several questions, as options say it."""

    of: tuple[str, ...]
    given: Mapping[str, list[str]]
    level: float | None
    """Of intervals; None without them."""
    joint: bool
    rows: int

    def answer(
        self, evidence: Evidence, method: AnyMethod
    ) -> tuple[Distribution, Intervals | None]:
        """Estimate, and return the distribution that is asked for with its intervals."""
        product_of(evidence, "--given")
        refuse_vast_joint(evidence.alphabet)
        # Read before the work, for a value may be misspelt.
        condition(self.given, evidence.alphabet)
        if self.level is not None:
            several_people(evidence, "--intervals")
        asked = self.distribution(method.run_shown(evidence))
        return asked, self.intervals(asked, evidence)

    def distribution(self, estimate: Estimate) -> Distribution:
        """Return the distribution that is asked for."""
        if not self.given:
            return estimate.marginal(*attributes_of(estimate.alphabet))
        among = estimate.given(**condition(self.given, estimate.alphabet))
        return among.marginal(*self.of) if self.of else among

    def intervals(self, asked: Distribution, evidence: Evidence) -> Intervals | None:
        """Return intervals of all its shares, where they are asked for."""
        if self.level is None:
            return None
        size = asked.estimate.alphabet.size
        what = f"--intervals for {several(len(asked), 'share')}, of {several(size, 'record')},"
        refuse_many(len(asked), size, what, "Ask for fewer questions by --of.")
        with progress("computing intervals") as show:
            on_step = analysis.watching(show, default_tolerance(evidence))
            return asked.intervals(level=self.level, joint=self.joint, on_step=on_step)


def refuse_of_one_question(**options: Any) -> None:
    """Refuse options that are about one question, for an estimate of several."""
    reasons = {
        "bins": "it merges neighbours of one line or grid",
        "geojson": "a map is of one question",
        "plot-choice": "who chooses what is drawn for one question",
    }
    for name, given in options.items():
        option = name.replace("_", "-")
        if given is not None:
            raise ParameterError(
                f"--{option}: {reasons[option]}, and this is an estimate of several. Name one "
                f"question by --of."
            )


def show_records(
    asked: Distribution,
    sure: Intervals | None,
    wanted: Asked,
    *,
    as_json: bool,
    as_csv: bool,
    left_out: Mapping[str, Any],
) -> None:
    """Print the distribution: as JSON, as CSV, as a cross table, or value by value."""
    if as_json:
        from freewill.present.document import to_dict  # noqa: PLC0415

        result: Any = asked if asked.condition else asked.estimate
        say_json({**to_dict(result, intervals=sure), **left_out})
    elif as_csv:
        say_raw(csv_text(asked.columns(sure)))
    else:
        say(f"{several(asked.people, 'person')}, {asked.estimate.alphabet}")
        say(f"{asked.estimate}\n")
        _show_table(asked, sure, wanted)


def _show_table(asked: Distribution, sure: Intervals | None, wanted: Asked) -> None:
    part = f" ({asked.share:.1%} of the people)" if asked.condition else ""
    say(f"{printable(asked.title)}{part}\n")
    sizes = [own.size for own in attributes_of(asked.alphabet).values()]
    if len(sizes) == 2 and sizes[0] <= _ROWS and sizes[1] <= _COLUMNS:
        _show_cross(asked.cross(wanted.level, wanted.joint))
        return
    rows = wanted.rows or len(asked)
    places = np.sort(np.argsort(-asked.theta, kind="stable")[:rows])
    columns = {name: np.asarray(own)[places] for name, own in asked.columns(sure).items()}
    ends = [name for name in ("low", "high") if name in columns]
    labels = [*Values(asked.alphabet).texts(places)]
    heads = [*(attributes_of(asked.alphabet) or asked.names), "share", *ends]
    heads = (
        heads if len(heads) == len(labels[0]) + 1 + len(ends) else ["", *heads[-1 - len(ends) :]]
    )
    shares = [columns["share"], *(columns[name] for name in ends)]
    lines = [
        [*(text if len(text) + 1 + len(ends) == len(heads) else [" ".join(text)]),
         *(f"{number:8.4%}" for number in numbers)]
        for text, *numbers in zip(labels, *shares, strict=True)
    ]  # fmt: skip
    room = room_beside([heads, *lines], _BAR)
    longest = max(float(columns["share"].max()), 1e-300)
    bars = ["█" * round(room * share / longest) for share in columns["share"].tolist()]
    bar_table(heads, lines, bars)
    left = len(asked) - len(places)
    if left:
        say(f"\n{left:,} more with --rows 0, --csv or --json.")


def _show_cross(cross: CrossTable) -> None:
    """Print rows by columns with margins, intervals in brackets."""
    heads = [" by ".join(cross.attributes), *cross.columns, ALL]
    names = [*cross.rows, ALL]
    cells = np.asarray(cross.shares)
    lines = [
        [name, *(cross.cell(row, column) for column in range(cells.shape[1]))]
        for row, name in enumerate(names)
    ]
    table(heads, lines, numbers=range(1, len(heads)))


def draw_records(
    asked: Distribution, sure: Intervals | None, plot: Path | None, title: str
) -> None:
    """Write the picture: a heat map of two questions, bars beside those of everybody given some."""
    if plot is None:
        return
    from freewill.present.records import picture_of  # noqa: PLC0415

    picture_of(asked, path=plot, title=title, intervals=sure)
    analysis.say_drawn(plot)
