"""What the commands that analyse evidence share: methods, progress, bins, levels and pictures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

from freewill.cli.options import integral, option
from freewill.cli.questions import parse_of
from freewill.cli.show import remark, say, say_json
from freewill.cli.standard import DASH, check_target
from freewill.core.progress import Show, progress, towards
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.domain.alphabets.groups import Groups, Values, coarser
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, several
from freewill.numeric.solvers.likelihood import OnStep, Step
from freewill.stats.choice.aware import choice_aware
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.estimators.methods import Entry, Method
from freewill.stats.evidence import Evidence
from freewill.stats.fit import one_step
from freewill.stats.functionals import refuse_many
from freewill.stats.robust import robust
from freewill.stats.shrink import shrink
from freewill.stats.smooth import smooth

Sources = Annotated[
    list[str],
    typer.Argument(
        help="Evidence files; or, with --survey, files of reports or a collector's store. - is "
        "standard input."
    ),
]
ReportsSurvey = Annotated[
    Path | None, option("The survey that the reports or the store belong to.", "--survey", "-s")
]
Only = Annotated[
    list[str] | None,
    option("Use only reports of this mechanism: its kind (k-rr), name or id. Repeatable."),
]
Bins = Annotated[
    int | None,
    integral(
        "Merge this many neighbouring values into one bin; on a grid, squares of cells with "
        "this side.",
        1,
    ),
]
Joint = Annotated[
    bool,
    option(
        "Make a confidence band: all intervals hold at once, at the confidence level.", "--joint"
    ),
]
Rows = Annotated[
    int,
    integral("Number of rows to print: the largest values or the latest periods; 0 prints all.", 0),
]
Picture = Annotated[Path | None, option("Write a picture to this file: .png, .svg or .pdf.")]
Of = StrEnum("Of", ["SHARES", "MEAN", "MEDIAN", "QUARTILES", "CDF"])


@dataclass(frozen=True)
class AnyMethod(Method):
    """A method of the paper, or one of those that go beyond it.

    >>> AnyMethod.parse("one_step") == AnyMethod.parse("one-step")
    True
    """

    table: ClassVar[Mapping[str, Entry]] = {
        **Method.table,
        **{
            name: Entry(name, function, options, takes_one=False, tells=True)
            for name, function, options in (
                ("smooth", smooth, ("tol", "max_steps")),
                ("shrink", shrink, ("tol", "max_steps")),
                ("one-step", one_step, ()),
                ("choice-aware", choice_aware, ("tol", "max_steps")),
                ("robust", robust, ("tol", "max_steps")),
            )
        },
    }

    @property
    def takes_free_choice(self) -> bool:
        """Whether it assumes that people choose their mechanism without regard to their value.

        The average of one result a mechanism, each of its own people, does not.
        """
        return self.way != "R" and self.estimator != "choice-aware"

    def run_shown(self, evidence: Evidence) -> Estimate:
        """Estimate, and show on a terminal how the gap falls."""
        with progress(f"estimating by {self.estimator}") as show:
            return self.run(evidence, watching(show, self.tol or default_tolerance(evidence)))


def watching(show: Show, goal: float) -> OnStep:
    """Return a callback that shows, after each step, the gap and the share of the way to a goal."""

    def on_step(step: Step) -> None:
        note = f"gap {step.gap:.1e}" if math.isfinite(step.gap) else ""
        show(fallen(step.gap) if step.share is None else step.share, note=note)

    fallen = towards(goal)
    return on_step


def asked_of(
    of: str, bins: int | None, level: float, plot: Path | None, inputs: list[str], table: str | None
) -> tuple[str, ...]:
    """Refuse, before the work, what cannot be compared or drawn; return the questions wanted."""
    if bins is not None and of != Of.SHARES:
        raise ParameterError(f"--bins {bins} merges values, and --of {of} has none: leave out one.")
    check_level(level)
    check_picture(plot, inputs)
    return parse_of(table, "--table")


def check_level(level: float) -> None:
    """Refuse a confidence level that is none."""
    if not 0 < level < 1:
        raise ParameterError(
            f"--level {level:g}: expected a number between 0 and 1, as 0.95 for 95 %."
        )


def groups_of(bins: int | None, alphabet: Alphabet) -> Groups:
    """Return what shares are of: every value, or bins of neighbours."""
    if bins is None:
        return Values(alphabet)
    if not has_raster(alphabet):
        raise ParameterError(
            f"--bins {bins}: it merges neighbours on a line or a grid, and {alphabet} have none. "
            f"Leave it out."
        )
    return coarser(alphabet, bins)


def checked_groups(of: Of, bins: int | None, alphabet: Alphabet) -> Groups:
    """Return what shares are of; refuse, before the work, what this alphabet does not allow."""
    groups = groups_of(bins, alphabet)
    line = len(alphabet.axes) == 1 and alphabet.plane is not None
    if of in (Of.CDF, Of.MEDIAN, Of.QUARTILES) and not line:
        raise ParameterError(f"--of {of} on {alphabet}: expected numbers in a row.")
    if of == Of.MEAN and not has_raster(alphabet):
        raise ParameterError(f"--of mean of {alphabet}: they are names, and have no mean.")
    if of != Of.MEAN:
        refuse_many_shares(groups, bins, "{:,} differences")
    return groups


def refuse_many_shares(groups: Groups, bins: int | None, what: str) -> None:
    """Refuse, before the work, intervals of more shares than there is room for."""
    many, size = groups.count, groups.alphabet.size
    whole = f"{what.format(many)}, of {several(size, 'value')},"
    larger = 2 * min(bins or 1, size)
    refuse_many(many, size, whole, f"Merge more of them: --bins {larger} or larger.")


def interval_bars(
    low: FloatArray, high: FloatArray, width: int, *, about_zero: bool = False
) -> list[str]:
    """Draw intervals from the lowest end of all to the highest, or about a line at 0."""
    half, tiny = (width - 1) // 2, np.finfo(float).tiny
    if half < 2:
        return [""] * len(low)
    cells, shift, origin, span = width - 1, 0, float(low.min()), float(np.ptp([low, high]))
    if about_zero:
        cells, shift, origin, span = half, half, 0.0, float(np.abs([low, high]).max())
    ends = (np.rint(cells * (end - origin) / max(span, tiny)) + shift for end in (low, high))
    places = zip(*(end.astype(int).tolist() for end in ends), strict=True)
    bars = [" " * first + "░" * (last - first + 1) for first, last in places]
    return [f"{bar:<{half}}"[:half] + "│" + bar[half + 1 :] if about_zero else bar for bar in bars]


def check_picture(path: Path | None, inputs: list[str], name: str = "--plot") -> None:
    """Refuse, before the work, a picture that could not be written, or over an input."""
    if path is None:
        return
    from freewill.present.canvas import FORMATS, require_matplotlib  # noqa: PLC0415

    require_matplotlib()
    if str(path) == DASH:
        raise ParameterError(f"{name} -: a picture goes into a file: .png, .svg or .pdf.")
    check_target(path, FORMATS, "a picture", inputs, name)


def show_result(result: Any, plot: Path | None, *, as_json: bool) -> None:
    """Print a result, as JSON if asked for, and draw it."""
    if as_json:
        say_json(result.to_dict())
    else:
        say(str(result))
    if plot is not None:
        result.plot(path=plot)
        say_drawn(plot)


def say_drawn(path: Path, what: str = "picture") -> None:
    """Say where a picture is."""
    remark(f"{what} written to {path}")


def title_of(survey: Path | None, people: int) -> str:
    """Return the title of a picture: the question of the survey, if one is given."""
    if survey is None:
        return ""
    offered = Survey.load(survey)
    question = offered.question or offered.title
    return f"{question} ({several(people, 'person')})" if question else ""


def background_of(survey: Path | None) -> Any:
    """Return what the survey, if one is given, brings to lie under its map."""
    return None if survey is None else Survey.load(survey).background


def inputs_of(sources: list[str], survey: Path | None) -> list[str]:
    """Return all files that a command reads."""
    return [*sources, *([] if survey is None else [str(survey)])]


def only_one(**given: Any) -> None:
    """Refuse outputs that would be printed one into the other."""
    names = [name for name, wanted in given.items() if wanted]
    if len(names) > 1:
        options = " and ".join(f"--{name}" for name in names)
        raise ParameterError(f"{options} were given together: take one of them.")
