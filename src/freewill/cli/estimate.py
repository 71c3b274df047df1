"""`freewill estimate`: from reports or evidence to the distribution of the true values."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli import analysis
from freewill.cli.analysis import AnyMethod
from freewill.cli.estimate_records import Asked, draw_records, refuse_of_one_question, show_records
from freewill.cli.inputs import evidence_of
from freewill.cli.options import AsJson, Engine, EngineName, Strict, integral, numeric, option
from freewill.cli.questions import GivenValues, Of, needed_questions, parse_given, parse_of
from freewill.cli.show import FAILED, bar_table, remark, room_beside, say, say_json, say_raw
from freewill.cli.standard import DASH, check_target
from freewill.core.presented import csv_text
from freewill.core.progress import progress
from freewill.domain.alphabets.base import attributes_of
from freewill.errors import EvidenceError, ParameterError, printable, several
from freewill.numeric.solvers.likelihood import Status
from freewill.present.shares import Shares, advice, heading, is_quick, warning
from freewill.present.words import as_commands, choice_lines, unresolved_text
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import check_choice
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.evidence import Evidence
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals
from freewill.stats.robust import RobustEstimate

_BAR = 30  # characters of the likeliest value's bar
_LONGEST = 2000  # characters of a verdict, in which mechanisms are named
_LEVEL = 0.95

Post = StrEnum("Post", ["PROJECT", "NORMALISE", "NONE"])
"""How a solution with negative components becomes a distribution."""


def estimate(
    sources: analysis.Sources,
    survey: analysis.ReportsSurvey = None,
    method: Annotated[
        str,
        option(
            "gibu, em, smooth, shrink, one-step, choice-aware, robust, inversion, ibu, debias; "
            "over many mechanisms inversion-m, inversion-r, ibu-m, ibu-r, debias-m, debias-r (the "
            "paper's [INV]M, [IBU]R, [RAP]M ... work too).",
            "--method",
            "-m",
        ),
    ] = "gibu",
    of: Of = None,
    given: GivenValues = None,
    only: analysis.Only = None,
    post: Annotated[
        Post | None, option("How inversion and debias remove negative shares (default: project).")
    ] = None,
    tol: Annotated[float | None, numeric("Gap to certify (default: 0.01 / people).")] = None,
    delta: Annotated[
        float | None,
        numeric(
            "Stop em when a step increases the log-likelihood by less than this; ibu then "
            "iterates as em does."
        ),
    ] = None,
    max_steps: Annotated[int | None, integral("Largest number of steps.", 1)] = None,
    intervals: Annotated[
        bool, option("Add a confidence interval and a standard error to each share.", "--intervals")
    ] = False,
    level: Annotated[
        float | None, numeric("Confidence level of the intervals (default: 0.95).")
    ] = None,
    joint: analysis.Joint = False,
    bins: analysis.Bins = None,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: analysis.Rows = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV: value, share, interval.", "--csv")] = False,
    plot: analysis.Picture = None,
    plot_choice: Annotated[
        Path | None,
        option("With choice-aware, write a picture of who chooses what: .png, .svg or .pdf."),
    ] = None,
    geojson: Annotated[
        Path | None,
        option(
            "Write the cells or bins of a latitude/longitude grid as a map: .geojson, .json or -."
        ),
    ] = None,
) -> None:
    """Reconstruct the distribution of the true values, with a certificate.

    The certificate is about the likelihood: no distribution has a log-likelihood per person that is
    larger by more than the gap. How close the shares are to the truth depends on the number of
    people and on their mechanisms: --intervals gives confidence intervals. All methods except
    choice-aware and the averages of results (-r) assume that people choose their mechanism without
    regard to their value. A note says if a quick test rejects this assumption; `freewill check`
    runs all tests. choice-aware does not need the assumption, and estimates who chooses what.

    With several questions, their joint distribution is estimated; --of restricts it to some
    questions, and --given to people with certain answers. Two questions are shown as a cross table,
    which --plot draws as a heat map.

    The exit code is 1 if the method did not reach its goal: it ran out of steps, stalled, or the
    mechanisms do not allow it.

    Example:

        freewill estimate week.parquet --plot ages.png
        freewill estimate week.parquet --intervals --bins 5 --plot bins.png
        freewill estimate week.parquet -m choice-aware --plot-choice who.png
        freewill estimate reports.csv -s survey.json --only k-rr -m inversion-m
        freewill estimate week.parquet --of age,commute --intervals --plot table.png
        freewill estimate week.parquet --of age --given commute=bicycle
    """
    to_screen = str(geojson) == DASH
    analysis.only_one(json=as_json, csv=as_csv, **{"geojson -": to_screen})
    _check_targets(geojson, plot, plot_choice, analysis.inputs_of(sources, survey))
    options = {"post": post and post.value, "tol": tol, "delta": delta, "max_steps": max_steps}
    chosen = AnyMethod.parse(method, **options)
    _check_intervals(intervals, level, joint)
    if plot_choice is not None and chosen.estimator != "choice-aware":
        raise ParameterError(
            f"--plot-choice draws who chooses what, which {chosen.label} does not tell: add "
            f"--method choice-aware."
        )
    confidence = _LEVEL if level is None else level
    condition = parse_given(given)
    wanted = Asked(parse_of(of), condition, confidence if intervals else None, joint, rows)
    needed = needed_questions(wanted.of, condition)
    with evidence_of(sources, survey, engine, strict=strict, only=only, of=needed) as (
        evidence,
        left_out,
    ):
        if condition or attributes_of(evidence.alphabet):
            refuse_of_one_question(bins=bins, geojson=geojson, plot_choice=plot_choice)
            asked, sure = wanted.answer(evidence, chosen)
            show_records(asked, sure, wanted, as_json=as_json, as_csv=as_csv, left_out=left_out)
            draw_records(asked, sure, plot, analysis.title_of(survey, asked.people))
            _comment(asked.estimate, sure, _choice_doubt(asked.estimate, chosen))
            return
        groups = analysis.groups_of(bins, evidence.alphabet)
        if intervals:
            several_people(evidence, "--intervals")
            analysis.refuse_many_shares(groups, bins, "--intervals for {:,} shares")
        _check_pictures(evidence, geojson, plot_choice)
        estimated = chosen.run_shown(evidence)
        shares = Shares(estimated, groups)
        plain = not (to_screen or as_json or as_csv)
        with progress("computing intervals") as show:
            on_step = analysis.watching(show, default_tolerance(evidence))
            sure = shares.intervals(confidence, joint, on_step) if intervals else None
            unsure = _warning(shares, sure, confidence) if plain or intervals else ""
        doubt = _choice_doubt(estimated, chosen)
    if as_json:
        from freewill.present.document import to_dict  # noqa: PLC0415

        say_json({**to_dict(shares, intervals=sure), **left_out})
    elif as_csv:
        say_raw(csv_text(shares.columns(sure)))
    elif plain:
        _show(shares, sure, rows, unsure)
    under = analysis.background_of(survey)
    if plot is not None:
        _draw(shares, sure, plot, analysis.title_of(survey, estimated.people), under)
    if plot_choice is not None and isinstance(estimated, ChoiceAwareEstimate):
        _draw_choices(estimated, plot_choice, confidence, under)
    if geojson is not None:
        _write_map(shares, sure, geojson, under)
    _comment(estimated, sure, unsure if not plain else "", doubt)


def _check_targets(
    geojson: Path | None, plot: Path | None, plot_choice: Path | None, inputs: list[str]
) -> None:
    """Refuse, before the work, a map or a picture that could not be written, or over an input."""
    if geojson is not None:
        check_target(geojson, (".geojson", ".json"), "GeoJSON", inputs, "--geojson")
    analysis.check_picture(plot, inputs)
    analysis.check_picture(plot_choice, inputs, "--plot-choice")
    if plot is not None and plot == plot_choice:
        raise ParameterError(f"--plot and --plot-choice are both {plot}: expected two files.")


def _check_pictures(evidence: Evidence, geojson: Path | None, plot_choice: Path | None) -> None:
    """Refuse, before the work, a map without a place, and a picture with too much in it."""
    if geojson is not None:
        from freewill.present.geojson import check_place  # noqa: PLC0415

        check_place(evidence.alphabet)
    if plot_choice is not None:
        from freewill.present.choices import refuse_crowd  # noqa: PLC0415

        refuse_crowd(evidence.alphabet, len(evidence.groups))


def _draw(shares: Shares, sure: Intervals | None, path: Path, title: str, under: Any) -> None:
    from freewill.present.plots import picture  # noqa: PLC0415

    looks = {"intervals": sure, "merged": shares.groups, "background": under}
    picture(shares.estimate, path=path, title=title, **looks)
    analysis.say_drawn(path)


def _draw_choices(
    estimated: ChoiceAwareEstimate, path: Path, level: float, background: Any
) -> None:
    from freewill.present.choices import choices  # noqa: PLC0415

    choices(estimated, path=path, level=level, background=background)
    analysis.say_drawn(path, "picture of who chooses what")


def _check_intervals(intervals: bool, level: float | None, joint: bool) -> None:
    """Refuse options of intervals without these, and a level that is none."""
    for name, given in (("level", level is not None), ("joint", joint)):
        if given and not intervals:
            raise ParameterError(f"--{name} says how intervals are made: add --intervals.")
    if level is not None:
        analysis.check_level(level)


def _warning(shares: Shares, sure: Intervals | None, level: float) -> str:
    """Say how unsure the largest shares are, where people are few; nothing where many."""
    # With a choice law one solve is of all values together, and a warning is not worth seconds.
    slow = isinstance(shares.estimate, ChoiceAwareEstimate) and not is_quick(shares.estimate)
    large = {"large": 0} if slow else {}
    return warning(shares, sure, "--intervals tells more.", level, **large)


def _choice_doubt(estimated: Estimate, method: AnyMethod) -> str:
    """Say that the choice was not free where a method assumes it and a quick test rejects it.

    Nothing where the test would take long, or cannot be made: `freewill check` tells.
    """
    evidence = estimated.evidence
    if not method.takes_free_choice or evidence is None or len(evidence.groups) < 2:
        return ""
    says_so_itself = isinstance(estimated, RobustEstimate) and estimated.doubt
    if says_so_itself or not is_quick(estimated):
        return ""
    try:
        with progress("testing free choice"):
            check = check_choice(evidence, start=estimated)
    except EvidenceError:
        return ""
    if check.holds:
        return ""
    return (
        f"{printable(check.verdict, _LONGEST)}. {method.label} takes the choice to be free: "
        f"--method choice-aware does not."
    )


def _write_map(shares: Shares, sure: Intervals | None, path: Path, under: Any) -> None:
    from freewill.present import geojson  # noqa: PLC0415

    alphabet, theta = shares.estimate.alphabet, shares.estimate.theta
    if str(path) == DASH:
        say_json(geojson.features(alphabet, theta, shares.groups, sure, under))
    else:
        geojson.write(alphabet, theta, path, shares.groups, sure, under)
        analysis.say_drawn(path, "map")


def _comment(estimated: Estimate, sure: Intervals | None, *notes: str) -> None:
    """Say what is hardly known and what did not arrive, of which the exit code tells too."""
    for note in filter(None, notes):
        remark(note)
    if sure is not None and sure.advice:
        remark(advice(sure, "--bins"))
    if unresolved := unresolved_text(estimated):
        remark(unresolved)
    if isinstance(estimated, RobustEstimate) and estimated.aside:
        remark(as_commands(estimated.aside))
    if estimated.status in (Status.MAX_STEPS, Status.STALLED):
        ended = f"{estimated.status}, with a gap of {estimated.gap:.2g}"
        remark(f"{estimated.method} did not arrive: {ended}. {as_commands(estimated.advice)}")
        raise typer.Exit(FAILED)


def _show(shares: Shares, sure: Intervals | None, rows: int, unsure: str) -> None:
    """Print the warning, the certificate and the largest shares, in the alphabet's order."""
    estimated, groups = shares.estimate, shares.groups
    if unsure:
        say(f"{unsure}\n")
    say(f"{several(estimated.people, 'person')}, {estimated.alphabet}")
    head = [str(estimated), *choice_lines(estimated), *([] if sure is None else [heading(sure)])]
    say("\n".join(head) + "\n")
    largest = shares.largest(rows or len(shares))
    heads, lines = shares.lines(largest, sure, "{:8.4%}")
    bars = shares.bars(largest, sure, room_beside([heads, *lines], _BAR))
    # Solid up to what shares are at least, and shaded up to what they may be.
    bar_table(heads, lines, ["█" * solid + "░" * more for solid, more in bars])
    left = len(shares) - len(largest)
    if left:
        say(
            f"\n{several(len(largest), groups.what)} with "
            f"{float(shares.shares[largest].sum()):.1%} of the people; "
            f"{left:,} more with --rows 0, --csv or --json."
        )
