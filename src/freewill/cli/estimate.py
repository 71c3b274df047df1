"""`freewill estimate`: from reports or evidence to the distribution of the true values."""

import csv
import io
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from freewill import geojson as geojson_file
from freewill import plots
from freewill.alphabets import Alphabet, readable
from freewill.cli.collect import losses, read_with_progress, show_losses
from freewill.cli.merge import merged
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
from freewill.cli.show import FAILED, remark, say, say_json, say_raw, table
from freewill.cli.standard import DASH, standard_input
from freewill.errors import ParameterError, several
from freewill.estimators import Estimate, Status
from freewill.estimators.estimate import default_tolerance
from freewill.estimators.methods import Method
from freewill.evidence import Evidence
from freewill.geojson import features
from freewill.progress import progress, towards
from freewill.reports import is_evidence

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
            "gibu, em, inversion, ibu, debias; over many mechanisms inversion-m, inversion-r, "
            "ibu-m, ibu-r, debias-m, debias-r (the paper's [INV]M, [IBU]R, [RAP]M ... work too).",
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
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: Annotated[int, integral("Values to print, the likeliest; 0 prints all.", 0)] = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV: value, share.", "--csv")] = False,
    plot: Annotated[Path | None, option("Draw a picture: .png, .svg or .pdf.")] = None,
    geojson: Annotated[
        Path | None,
        option("Write the cells of a latitude/longitude box, with shares: .geojson, .json or -."),
    ] = None,
) -> None:
    """Reconstruct the distribution of the true values, with a certificate.

    What is certified is the likelihood: the gap bounds how much more likely, per person and as a
    logarithm, the best distribution could be. How near that one is to the truth is another
    question, which the number of people and their mechanisms decide. `-` reads standard input.
    The exit code is 1 where the method did not arrive: it ran out of steps, stalled, or
    the mechanisms do not allow what it asks for.

    Example:

        freewill estimate week.parquet --plot ages.png
        freewill estimate reports.csv -s survey.json --only k-rr -m inversion-m
    """
    to_screen = str(geojson) == DASH
    if as_json + as_csv + to_screen > 1:
        raise ParameterError("--json, --csv or --geojson - were given together: take one of them.")
    check_targets(geojson, plot, [*sources, *([] if survey is None else [str(survey)])])
    given = {"post": post and post.value, "tol": tol, "delta": delta, "max_steps": max_steps}
    chosen = Method.parse(method, **given)
    with standard_input(sources) as files:
        evidence, lost = load(files, survey, engine, strict=strict)
        evidence = evidence.only(*only) if only else evidence
        if geojson is not None:
            features(evidence.alphabet, np.zeros(evidence.alphabet.size))  # refused before the work
        with progress(f"estimating by {chosen.estimator}") as tell:
            watch = towards(tol or default_tolerance(evidence), tell)
            found = chosen.run(evidence, lambda step: watch(step.gap))
    if to_screen:
        say_json(features(evidence.alphabet, found.theta))
    elif as_json:
        say_json({**describe(found, evidence), **lost})
    elif as_csv:
        say_raw(as_rows(found, evidence.alphabet))
    else:
        show(found, evidence, rows)
    if plot is not None:
        title = f"{found.method}: {several(evidence.people, 'person')}"
        plots.picture(evidence.alphabet, {found.method: found.theta}, path=plot, title=title)
        remark(f"picture written to {plot}")
    if geojson is not None and not to_screen:
        geojson_file.write(evidence.alphabet, found.theta, geojson)
        remark(f"map written to {geojson}")
    if found.unresolved:
        remark(
            f"{several(found.unresolved, 'direction')} of the distribution without a trace in "
            f"these reports: other distributions explain them as well."
        )
    if found.status in (Status.MAX_STEPS, Status.STALLED):
        ended = f"{found.status}, with a gap of {found.gap:.2g}"
        remark(f"{found.method} did not arrive: {ended}. {found.advice}")
        raise typer.Exit(FAILED)


def check_targets(geojson: Path | None, plot: Path | None, inputs: list[str]) -> None:
    """Refuse, before the work, a map or a picture that could not be written, or over an input."""
    if geojson is not None:
        refuse_overwriting(geojson, inputs, "--geojson")
        check_target(geojson, (".geojson", ".json"), "GeoJSON")
    if plot is not None:
        plots.require_matplotlib()
        if str(plot) == DASH:
            raise ParameterError("--plot -: a picture goes into a file: .png, .svg or .pdf.")
        refuse_overwriting(plot, inputs, "--plot")
        check_target(plot, (".png", ".svg", ".pdf"), "a picture")


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


def describe(found: Estimate, evidence: Evidence) -> dict[str, Any]:
    """Describe an estimate for JSON; an infinite gap is null."""
    alphabet = evidence.alphabet
    return {
        **{name: getattr(found, name) for name in _TOLD},
        "people": evidence.people,
        "alphabet": alphabet.spec(),
        "values": readable(alphabet, np.arange(alphabet.size)),
        "theta": found.theta.tolist(),
    }


def as_rows(found: Estimate, alphabet: Alphabet) -> str:
    """Return CSV: one row a value, with its coordinates on a grid, and its share."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    values = readable(alphabet, np.arange(alphabet.size))
    writer.writerow([*alphabet.axes, "share"])
    for value, share in zip(values, found.theta.tolist(), strict=True):
        writer.writerow([*(value if isinstance(value, tuple) else (value,)), share])
    return text.getvalue()


def show(found: Estimate, evidence: Evidence, rows: int) -> None:
    """Print the certificate and the likeliest values, in the alphabet's order."""
    alphabet, theta = evidence.alphabet, found.theta
    say(f"{several(evidence.people, 'person')}, {alphabet}")
    say(f"{found}\n")
    many = theta.size if rows == 0 else min(rows, theta.size)
    likeliest = np.sort(np.argsort(-theta, kind="stable")[:many])
    largest = max(float(theta.max()), np.finfo(float).tiny)
    values, shares = readable(alphabet, likeliest), theta[likeliest].tolist()
    lines = [
        [*_cells(value), f"{share:8.4%}", "█" * round(_BAR * max(share, 0.0) / largest)]
        for value, share in zip(values, shares, strict=True)
    ]
    table([*alphabet.axes, "share", ""], lines, numbers=range(len(alphabet.axes) + 1))
    if many < theta.size:
        covered = float(theta[likeliest].sum())
        say(
            f"\n{several(many, 'value')} with {covered:.1%} of the people; {theta.size - many:,} "
            f"more with --rows 0, --csv or --json."
        )


def _cells(value: Any) -> list[str]:
    return [f"{number:.10g}" for number in value] if isinstance(value, tuple) else [str(value)]
