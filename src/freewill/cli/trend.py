"""`freewill trend`: what changes over days, weeks or months."""

import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli import analysis
from freewill.cli.analysis import Of
from freewill.cli.inputs import evidence_of
from freewill.cli.options import AsJson, Engine, EngineName, Equal, Strict, numeric, option
from freewill.cli.questions import Table
from freewill.cli.show import bar_table, remark, room_beside, say, say_json, say_raw, table
from freewill.cli.standard import called
from freewill.core.presented import csv_text
from freewill.core.progress import progress
from freewill.errors import EvidenceError, several
from freewill.present.trends import scaled, sentence, surest
from freewill.stats import functionals
from freewill.stats.compare import Body, refuse_shared
from freewill.stats.difference import written
from freewill.stats.estimators.estimate import default_tolerance
from freewill.stats.evidence import Evidence
from freewill.stats.evidence import merge as added
from freewill.stats.trend import Trend
from freewill.stats.trend import trend as trend_of

_DAY = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_BAR = 31  # characters from the lowest end of all periods to the highest


def trend(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Evidence with periods, or one evidence file for each period; with --survey, one "
            "file of reports for each period, or a collector's store."
        ),
    ],
    survey: analysis.ReportsSurvey = None,
    of: Annotated[
        Of, option("What to follow over time; shares means every value's share.")
    ] = Of.SHARES,
    table: Table = None,
    bins: analysis.Bins = None,
    level: Annotated[float, numeric("Confidence level of intervals, bands and tests.")] = 0.95,
    joint: Annotated[
        bool,
        option("Make bands and p-values hold jointly for everything that --of selects.", "--joint"),
    ] = False,
    equal: Equal = False,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: analysis.Rows = 26,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV, one row per period.", "--csv")] = False,
    plot: analysis.Picture = None,
) -> None:
    """Show shares, the mean or quantiles by period, and test whether they change.

    The first line is a test of the hypothesis that all periods have one distribution. Then, for
    everything that --of selects, come a test of whether it is constant, and the slope of a straight
    line. Each period has an interval, and a band that holds in all periods at once. People may
    choose other mechanisms in one period than in another.

    Periods come from a collector's store, from evidence that was collected with `--period`, or from
    files: each file is then a period, labelled by the date in its name (week-2026-11-02.parquet) or
    else by its name. No person may be in two periods.

    The exit code is 0 whether anything changes or not: scripts should read `changes` in `--json`.

    Examples
    --------
        freewill trend collector.db --survey survey.json --of mean --plot trend.png
        freewill trend week1.parquet week2.parquet week3.parquet --bins 10
    """
    analysis.only_one(json=as_json, csv=as_csv)
    inputs = analysis.inputs_of(sources, survey)
    asked = analysis.asked_of(of, bins, level, plot, inputs, table)
    with ExitStack() as holding:
        read = [
            holding.enter_context(evidence_of([one], survey, engine, strict=strict, of=asked))
            for one in sources
        ]
        names = [called(source) for source in sources]
        bodies = [Body(body, name) for (body, _), name in zip(read, names, strict=True)]
        periods = _periods(bodies, equal=equal)
        groups = analysis.checked_groups(of, bins, bodies[0].evidence.alphabet)
        wanted = str(of) if bins is None else functionals.of_groups(groups)
        with progress("following periods") as show:
            on_step = analysis.watching(show, default_tolerance(bodies[0].evidence))
            result = trend_of(periods, wanted, level, joint, on_step=on_step, equal=True)
    if as_json:
        losses = {"losses": [lost for _, lost in read]} if survey is not None else {}
        say_json({**result.to_dict(), "sources": names, **losses})
    elif as_csv:
        say_raw(csv_text(result.columns()))
    else:
        _show(result, rows)
    if plot is not None:
        from freewill.present.trends import picture  # noqa: PLC0415

        picture(result, path=plot)
        analysis.say_drawn(plot)
    if result.advice:
        remark(result.advice)


def _periods(bodies: Sequence[Body], *, equal: bool) -> Evidence | dict[str, Evidence]:
    """Return evidence with periods, or evidence of files that are a period each."""
    if not equal:
        for one, other in combinations(bodies, 2):
            refuse_shared(one, other, "--equal")
    parts = [body.evidence for body in bodies]
    if all(part.periods for part in parts):
        return added(parts)
    dated = next((body for body in bodies if body.evidence.periods), None)
    unknown = next(body.name for body in bodies if not body.evidence.periods)
    if dated is not None:
        raise EvidenceError(
            f"{dated.name} has periods, and {unknown} has none: collect it with --period, or name "
            f"files that are a period each."
        )
    if len(bodies) == 1:
        raise EvidenceError(
            f"{unknown} has no periods, and a trend is over some: name a file for each period."
        )
    return dict(zip(_names([body.name for body in bodies]), parts, strict=True))


def _names(sources: Sequence[str]) -> list[str]:
    """Return what periods are called: by the days in the files' names, where each has its own.

    >>> _names(["w/2026-11-02.parquet", "w/2026-11-09.parquet"]), _names(["a/w1.csv", "a/w2.csv"])
    (['2026-11-02', '2026-11-09'], ['w1', 'w2'])
    """
    stems = [Path(source).stem for source in sources]
    for names in ([*map(_day, stems)], stems):
        if all(names) and len(set(names)) == len(names):
            return names
    return list(sources)


def _day(stem: str) -> str:
    """Return the day in the name of a file, if there is one and no other."""
    days = _DAY.findall(stem)
    with suppress(ValueError):
        return str(date.fromisoformat(*days)) if len(days) == 1 else ""
    return ""


def _show(result: Trend, rows: int) -> None:
    """Print the verdict, and the periods of one functional, or the slopes of several."""
    say(result.verdict)
    if len(result.of) == 1:
        say(sentence(result, 0))
    people = several(sum(result.people), "person")
    kind = f"{100 * result.level:.12g} % intervals{', in percent' if result.shares else ''}"
    say(f"\n{several(len(result), 'period')}, {people}, {result.alphabet}; {kind}\n")
    if len(result.of) == 1:
        _show_periods(result, rows)
    else:
        _show_functionals(result, rows)


def _show_periods(result: Trend, rows: int) -> None:
    first = max(len(result) - rows, 0) if rows else 0
    columns = [column[first:, 0] for column in scaled(result)]
    names, people = result.periods[first:], result.people[first:]
    heads = ["period", "people", "point", "low", "high", "band low", "band high"]
    lines = [
        [name, f"{many:,}", *(f"{number:.5g}" for number in numbers)]
        for name, many, *numbers in zip(names, people, *columns, strict=True)
    ]
    room = room_beside([heads, *lines], _BAR)
    bar_table(heads, lines, analysis.interval_bars(columns[1], columns[2], room))
    if first:
        say(f"\n{several(first, 'earlier period')} with --rows 0, --csv or --json.")


def _show_functionals(result: Trend, rows: int) -> None:
    points, scale = scaled(result)[0], 100 if result.shares else 1
    slopes = [scale * end for end in (result.slope, result.slope_low, result.slope_high)]
    places = surest(result, rows or len(result.of))
    lines = [
        [
            *(result.of[place], f"{points[0, place]:.5g}", f"{points[-1, place]:.5g}"),
            *(f"{slope[place]:+.4g}" for slope in slopes),
            written(float(result.p_constant[place])),
        ]
        for place in places
    ]
    heads = ["of", "first", "last", f"a {result.unit}", "low", "high", "constant"]
    table(heads, lines, numbers=range(1, 6))
    left = len(result.of) - len(places)
    if left:
        say(f"\n{left:,} more with --rows 0, --csv or --json.")
