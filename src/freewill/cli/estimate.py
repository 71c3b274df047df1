"""`freewill estimate`: from reports or evidence to the distribution of the true values."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from freewill.cli import choice
from freewill.cli.collect import losses, read_with_progress, show_losses
from freewill.cli.merge import merged
from freewill.cli.methods import AnyMethod, watching
from freewill.cli.options import (
    AsJson,
    Engine,
    EngineName,
    Strict,
    check_target,
    integral,
    load_survey,
    numeric,
    option,
)
from freewill.cli.overwrites import refuse_overwriting
from freewill.cli.shares import Asked, described
from freewill.cli.show import FAILED, remark, room_beside, say, say_json, say_raw, table
from freewill.cli.standard import DASH, standard_input
from freewill.core.frames import csv_text
from freewill.core.progress import progress
from freewill.core.types import FloatArray
from freewill.domain.alphabets.groups import Values
from freewill.errors import ParameterError, several
from freewill.io import is_evidence
from freewill.numeric.solvers.solution import Status
from freewill.present import geojson as geojson_file
from freewill.present import plots
from freewill.present.geojson import check_place, features
from freewill.present.readable.doubt import advice, heading
from freewill.present.readable.shares import Shares
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.estimators.identifiability import in_words
from freewill.stats.evidence import Evidence
from freewill.stats.forged.robust import RobustEstimate
from freewill.stats.intervals import Intervals

_BAR = 30  # characters of the likeliest value's bar


Post = StrEnum("Post", ["PROJECT", "NORMALISE", "NONE"])
"""How a solution with negative components becomes a distribution."""
_TOLD = ("method", "status", "gap", "log_likelihood", "steps", "seconds", "solver", "unresolved")


def estimate(
    sources: Annotated[
        list[str], typer.Argument(help="Evidence; or reports, when --survey says how to read them.")
    ],
    survey: Annotated[
        Path | None, option("The survey that the reports belong to.", "--survey", "-s")
    ] = None,
    method: Annotated[
        str,
        option(
            "gibu, em, smooth, one-step, choice-aware, robust, inversion, ibu, debias; over many "
            "mechanisms inversion-m, inversion-r, ibu-m, ibu-r, debias-m, debias-r (the paper's "
            "[INV]M, [IBU]R, [RAP]M ... work too).",
            "--method",
            "-m",
        ),
    ] = "gibu",
    only: Annotated[
        list[str] | None, option("Use only mechanisms of this kind (k-rr), name or id; many times.")
    ] = None,
    post: Annotated[Post | None, option("For inversion and debias; project by default.")] = None,
    tol: Annotated[float | None, numeric("The gap to certify: 0.01 / people by default.")] = None,
    delta: Annotated[float | None, numeric("Where em stops, and ibu as an iteration.")] = None,
    max_steps: Annotated[int | None, integral("The most steps to take.", 1)] = None,
    intervals: Annotated[
        bool, option("Add to each share its interval and standard error.", "--intervals")
    ] = False,
    level: Annotated[
        float | None, numeric("How often intervals hold the truth: 0.95 by default.")
    ] = None,
    joint: Annotated[
        bool, option("Make intervals that hold all shares at once.", "--joint")
    ] = False,
    bins: Annotated[
        int | None,
        integral("Merge so many neighbouring values of a line; of a grid, squares of cells.", 1),
    ] = None,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: Annotated[int, integral("Values to print, the likeliest; 0 prints all.", 0)] = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV: value, share and the rest.", "--csv")] = False,
    plot: Annotated[Path | None, option("Draw a picture: .png, .svg or .pdf.")] = None,
    plot_choice: Annotated[
        Path | None, option("Draw who chooses what, for choice-aware: .png, .svg or .pdf.")
    ] = None,
    geojson: Annotated[
        Path | None,
        option("Write the map of a latitude/longitude box, cells or bins: .geojson, .json or -."),
    ] = None,
) -> None:
    """Reconstruct the distribution of the true values, with a certificate.

    What is certified is the likelihood: the gap bounds how much more likely, per person and as a
    logarithm, the best distribution could be. How near that one is to the truth is another
    question, which the number of people and their mechanisms decide: --intervals answers it.
    `-` reads standard input.
    All methods but choice-aware and the averages of results (-r) take people to choose their
    mechanism without regard to their value; where a quick test speaks against that, a note says so
    (`freewill check` has all tests). choice-aware does without, and tells who chooses what.
    The exit code is 1 where the method did not arrive: it ran out of steps, stalled, or
    the mechanisms do not allow what it asks for.

    Example:

        freewill estimate week.parquet --plot ages.png
        freewill estimate week.parquet --intervals --bins 5 --plot bins.png
        freewill estimate week.parquet -m choice-aware --plot-choice who.png
        freewill estimate reports.csv -s survey.json --only k-rr -m inversion-m
    """
    to_screen = str(geojson) == DASH
    if as_json + as_csv + to_screen > 1:
        raise ParameterError("--json, --csv or --geojson - were given together: take one of them.")
    inputs = [*sources, *([] if survey is None else [str(survey)])]
    check_targets(geojson, plot, inputs, plot_choice)
    given = {"post": post and post.value, "tol": tol, "delta": delta, "max_steps": max_steps}
    chosen = AnyMethod.parse(method, **given)
    drawn = choice.Drawn(plot_choice, chosen)
    asked = Asked(intervals, level, joint, bins)
    with standard_input(sources) as files:
        evidence, lost = load(files, survey, engine, strict=strict)
        evidence = evidence.only(*only) if only else evidence
        asked.check(evidence)
        if geojson is not None:
            check_place(evidence.alphabet)  # refused before the work
        drawn.check(evidence)
        found = chosen.run_shown(evidence)
        shares = asked.shares(found)
        with progress("looking how sure that is") as tell:
            sure = asked.look(shares, watching(tell, default_tolerance(evidence)))
            plain = not (to_screen or as_json or as_csv)
            warning = asked.warning(shares, sure) if plain or intervals else ""
        doubted = choice.doubt(found, chosen)
    if to_screen:
        say_json(features(found.alphabet, found.theta, shares.groups, sure))
    elif as_json:
        law = choice.described(found, None if sure is None else sure.level)
        say_json({**describe(shares, sure), **law, **lost})
    elif as_csv:
        say_raw(csv_text(shares.columns(sure)))
    else:
        show(shares, sure, rows, warning)
    if plot is not None:
        draw(shares, sure, plot)
    drawn.draw(found, asked.usual_level)
    if geojson is not None and not to_screen:
        geojson_file.write(found.alphabet, found.theta, geojson, shares.groups, sure)
        remark(f"map written to {geojson}")
    if warning and not plain:
        remark(warning)
    if doubted:
        remark(doubted)
    comment(found, sure)


def draw(shares: Shares, sure: Intervals | None, plot: Path) -> None:
    """Draw the shares, with their intervals where these were asked for."""
    found, groups = shares.estimate, shares.groups
    title = f"{found.method}: {several(found.people, 'person')}"
    thetas = {found.method: found.theta}
    plots.picture(found.alphabet, thetas, path=plot, title=title, intervals=sure, merged=groups)
    remark(f"picture written to {plot}")


def comment(found: Estimate, sure: Intervals | None) -> None:
    """Say what is hardly known and what did not arrive, of which the exit code tells too."""
    if sure is not None and sure.advice:
        remark(advice(sure, "--bins"))
    if found.unresolved:
        among = f" among {in_words(found.confounded, found.alphabet)}" if found.confounded else ""
        remark(
            f"{several(found.unresolved, 'direction')} of the distribution{among} without a trace "
            f"in these reports: other distributions explain them as well."
        )
    if isinstance(found, RobustEstimate) and found.aside:
        remark(_in_commands(found.aside))
    if found.status in (Status.MAX_STEPS, Status.STALLED):
        ended = f"{found.status}, with a gap of {found.gap:.2g}"
        remark(f"{found.method} did not arrive: {ended}. {found.advice}")
        raise typer.Exit(FAILED)


def check_targets(
    geojson: Path | None, plot: Path | None, inputs: list[str], plot_choice: Path | None = None
) -> None:
    """Refuse, before the work, a map or a picture that could not be written, or over an input."""
    if geojson is not None:
        refuse_overwriting(geojson, inputs, "--geojson")
        check_target(geojson, (".geojson", ".json"), "GeoJSON")
    pictures = {"--plot": plot, "--plot-choice": plot_choice}
    for name, path in pictures.items():
        if path is None:
            continue
        plots.require_matplotlib()
        if str(path) == DASH:
            raise ParameterError(f"{name} -: a picture goes into a file: .png, .svg or .pdf.")
        refuse_overwriting(path, inputs, name)
        check_target(path, (".png", ".svg", ".pdf"), "a picture")
    if plot is not None and plot == plot_choice:
        raise ParameterError(f"--plot and --plot-choice are both {plot}: expected two files.")


def load(
    sources: list[str], survey: Path | None, engine: Engine, *, strict: bool
) -> tuple[Evidence, dict[str, Any]]:
    """Read evidence, or reports by their survey, and describe what was left out of these."""
    if survey is None:
        for source in sources:
            if Path(source).exists() and not is_evidence(source):
                raise ParameterError(
                    f"{source} is not evidence. If these are reports, say by --survey which "
                    f"survey they belong to."
                )
        return merged(sources), {}
    reading = read_with_progress(sources, load_survey(survey), engine, strict=strict)
    show_losses(reading)
    return reading.evidence, losses(reading)


def describe(shares: Shares, sure: Intervals | None) -> dict[str, Any]:
    """Describe an estimate for JSON; an infinite gap is null, as is an infinite standard error."""
    found, groups = shares.estimate, shares.groups
    cells, numbers = groups.cells(np.arange(len(shares))), shares.shares.tolist()
    values = [cell[0] if len(cell) == 1 else cell for cell in cells]
    bins = [dict(zip(groups.heads, cell, strict=True)) for cell in cells]
    single = isinstance(groups, Values)
    return {
        **{name: getattr(found, name) for name in _TOLD},
        "advice": _in_commands(found.advice),
        "people": found.people,
        **_set_aside(found),
        "alphabet": found.alphabet.spec(),
        **({"values": values, "theta": numbers} if single else {"bins": bins, "shares": numbers}),
        **({} if sure is None else {"intervals": described(sure)}),
    }


def _set_aside(found: Estimate) -> dict[str, Any]:
    """Describe for JSON what was set aside as forged, and what speaks against that."""
    if not isinstance(found, RobustEstimate):
        return {}
    rows = found.set_aside_table().to_pylist()
    return {"forged": found.forged, "set_aside": rows, "doubt": _in_commands(found.doubt)}


def _in_commands(text: str) -> str:
    """Return advice in the words of the command line."""
    told = text.replace("fw.choice_aware", "--method choice-aware")
    return told.replace("fw.check_fit", "`freewill check`")


def show(shares: Shares, sure: Intervals | None, rows: int, warning: str) -> None:
    """Print the warning, the certificate and the largest shares, in the alphabet's order."""
    found, groups = shares.estimate, shares.groups
    if warning:
        say(f"{warning}\n")
    say(f"{several(found.people, 'person')}, {found.alphabet}")
    head = [str(found), *choice.told(found), *([] if sure is None else [heading(sure)])]
    say("\n".join(head) + "\n")
    largest = shares.largest(rows or len(shares))
    numbers = [shares.shares, *(() if sure is None else sure.columns().values())]
    figures = np.stack([column[largest] for column in numbers]).T.tolist()
    lines = [
        [*texts, *map(_percentage, row)]
        for texts, row in zip(groups.texts(largest), figures, strict=True)
    ]
    columns = () if sure is None else ("point", "low", "high", "std error")
    heads = [*groups.axes, "share", *columns]
    low, high = (shares.shares, shares.shares) if sure is None else (sure.low, sure.high)
    bars = _bars(low[largest], high[largest], room_beside([heads, *lines], _BAR))
    lines = [[*line, bar] for line, bar in zip(lines, bars, strict=True)]
    table([*heads, ""], lines, numbers=range(len(heads)))
    left = len(shares) - len(largest)
    if left:
        say(
            f"\n{several(len(largest), groups.what)} with "
            f"{float(shares.shares[largest].sum()):.1%} of the people; "
            f"{left:,} more with --rows 0, --csv or --json."
        )


def _bars(low: FloatArray, high: FloatArray, longest: int) -> list[str]:
    """Draw bars, solid up to what shares are at least and shaded up to what they may be."""
    scale = longest / max(float(high.max()), np.finfo(float).tiny)
    ends = [np.rint(scale * np.maximum(end, 0.0)).astype(int).tolist() for end in (low, high)]
    return ["█" * solid + "░" * (whole - solid) for solid, whole in zip(*ends, strict=True)]


def _percentage(share: float) -> str:
    return f"{share:8.4%}" if np.isfinite(share) else "unknown"
