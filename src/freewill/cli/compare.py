"""`freewill compare`: how two days, two districts, or treatment and control differ."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from freewill.cli import analysis
from freewill.cli.analysis import Of
from freewill.cli.inputs import evidence_of, refuse_shared_files
from freewill.cli.options import AsJson, Engine, EngineName, Equal, Strict, numeric, option
from freewill.cli.questions import Table
from freewill.cli.show import bar_table, remark, room_beside, say, say_json, say_raw
from freewill.cli.standard import DASH, called
from freewill.core.presented import csv_text
from freewill.core.progress import progress
from freewill.core.types import IntArray
from freewill.domain.alphabets.groups import Groups
from freewill.errors import ParameterError, several
from freewill.present.shares import difference_columns
from freewill.present.words import apart
from freewill.stats import functionals
from freewill.stats.compare import COLUMNS, Body, Comparison, refuse_shared
from freewill.stats.compare import compare as compared
from freewill.stats.estimators.estimate import default_tolerance
from freewill.stats.information import several_people

_HEADS = (*COLUMNS[:-1], "std error")
_SIGNS = ("", "", "+", "+", "+", "")
_BAR = 31  # characters from the lowest end to the highest, 0 in the middle


def compare(
    one: Annotated[
        str,
        typer.Argument(
            help="Evidence; or, with --survey, reports or a collector's store; - is standard input."
        ),
    ],
    other: Annotated[str, typer.Argument(help="Evidence, or reports, of other people.")],
    survey: analysis.ReportsSurvey = None,
    of: Annotated[Of, option("What to compare; shares means every value's share.")] = Of.SHARES,
    table: Table = None,
    bins: analysis.Bins = None,
    level: Annotated[float, numeric("Confidence level of the intervals and the test.")] = 0.95,
    joint: analysis.Joint = False,
    equal: Equal = False,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: analysis.Rows = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV: what, difference, interval.", "--csv")] = False,
    plot: analysis.Picture = None,
) -> None:
    """Test whether two bodies of evidence differ, and estimate by how much.

    The first line is a test of the hypothesis that both have one distribution: "they differ" if its
    p-value is below 1 - level; "no difference is shown" never means that there is none. Next come
    their earth mover's distance (total variation where values are labels) and the largest
    differences, OTHER minus ONE; those whose intervals do not contain 0 come first.

    The two must be of different people: a file compared with itself, a copy, equal evidence, and
    evidence that the other was merged or collected from are refused. Both need the same alphabet,
    not the same mechanisms. The columns `one` and `other` are clipped to their possible range;
    differences are computed before clipping.

    With several questions, --table names the ones to compare (default: all). The earth mover's
    distance of several questions is computed only if the survey has weights.

    The exit code is 0 whether they differ or not: scripts should read `differ` in `--json`.

    Example:

        freewill compare monday.parquet tuesday.parquet --bins 10 --plot days.png
        freewill compare 'monday/*.csv' 'tuesday/*.csv' -s survey.json --of mean --json
    """
    analysis.only_one(json=as_json, csv=as_csv)
    inputs = analysis.inputs_of([one, other], survey)
    asked, names = (
        analysis.asked_of(of, bins, level, plot, inputs, table),
        (called(one), called(other)),
    )
    refuse_shared_files(one, other, reports=survey is not None, equal=equal)
    if one == other == DASH:
        raise ParameterError("- was given twice: standard input can be read once.")
    with (
        evidence_of([one], survey, engine, strict=strict, of=asked) as (first, lost),
        evidence_of([other], survey, engine, strict=strict, of=asked) as (second, more),
    ):
        for evidence, name in zip((first, second), names, strict=True):
            several_people(evidence, f"a comparison, of {name},")
        if not equal:
            refuse_shared(Body(first, names[0]), Body(second, names[1]), "--equal")
        groups = analysis.checked_groups(of, bins, first.alphabet)
        wanted = str(of) if bins is None else functionals.of_groups(groups)
        with progress("comparing") as show:
            on_step = analysis.watching(show, default_tolerance(first))
            comparison = compared(first, second, wanted, level, joint, on_step, equal=True)
    listed = groups if of == Of.SHARES else None
    if as_json:
        from freewill.present.document import to_dict  # noqa: PLC0415

        losses = {"losses": [lost, more]} if survey is not None else {}
        document = to_dict(comparison, groups=listed, of=str(of), sources=names)
        say_json({**document, **losses})
    elif as_csv:
        say_raw(csv_text(difference_columns(comparison, listed)))
    else:
        _show(comparison, listed, names, rows)
    if plot is not None:
        from freewill.present.comparison import comparison as draw  # noqa: PLC0415

        stems = [Path(name).stem for name in names]
        labels = stems if stems[0] != stems[1] else list(names)
        title = f"{comparison.verdict}; {apart(comparison)}"
        looks = {"merged": groups, "background": analysis.background_of(survey)}
        draw(comparison, path=plot, names=labels, title=title, **looks)
        analysis.say_drawn(plot)
    if comparison.advice:
        remark(comparison.advice)


def _show(comparison: Comparison, groups: Groups | None, names: tuple[str, str], rows: int) -> None:
    """Print the verdict, the distance, and the largest differences in the alphabet's order.

    They are of the shares of groups or, where there are none, of functionals by name.
    """
    one, other = (several(many, "person") for many in comparison.people)
    kind = "all together" if comparison.joint else "one by one"
    points = ", in points" if comparison.shares else ""
    measured = math.isfinite(comparison.emd) and comparison.unit == "value"
    unit = ", in the unit of the values" if measured else ""
    say(f"{comparison.verdict}\n{apart(comparison)}{unit}\n")
    say(f"one: {one}, {names[0]}; other: {other}, {names[1]}; {comparison.alphabet}")
    say(f"{100 * comparison.level:.12g} % intervals, {kind}, of other less one{points}.\n")
    places = largest(comparison, rows)
    scale, form = (100, ".4f") if comparison.shares else (1, ".6g")
    numbers = {name: scale * np.atleast_1d(getattr(comparison, name))[places] for name in COLUMNS}
    texts = [
        [format(number, sign + form) if math.isfinite(number) else "unknown" for number in column]
        for sign, column in zip(_SIGNS, numbers.values(), strict=True)
    ]
    labels = groups.texts(places) if groups else [[comparison.of[place]] for place in places]
    lines = [[*label, *row] for label, *row in zip(labels, *texts, strict=True)]
    heads = [*(groups.axes if groups else ("of",)), *_HEADS]
    room, ends = room_beside([heads, *lines], _BAR), (numbers["low"], numbers["high"])
    bar_table(heads, lines, analysis.interval_bars(*ends, room, about_zero=True))
    left = len(comparison) - len(places)
    if left:
        say(f"\n{left:,} more with --rows 0, --csv or --json.")


def largest(comparison: Comparison, rows: int) -> IntArray:
    """Return the places of so many differences, those that are sure first, in order; 0 for all."""
    difference, low, high = (
        np.atleast_1d(column) for column in (comparison.difference, comparison.low, comparison.high)
    )
    sure = (low > 0) | (high < 0)
    order = np.lexsort((-np.abs(difference), ~sure))
    return np.sort(order[: rows or len(order)])
