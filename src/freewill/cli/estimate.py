"""`freewill estimate`: from reports or evidence to the distribution of the true values."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli import analysis, questions
from freewill.cli.analysis import AnyMethod
from freewill.cli.inputs import evidence_of, product_of
from freewill.cli.options import AsJson, Engine, EngineName, Strict, integral, numeric, option
from freewill.cli.show import FAILED, bar_table, remark, room_beside, say, say_json, say_raw, table
from freewill.cli.standard import DASH, check_target
from freewill.core.files import whole_file
from freewill.core.presented import csv_text
from freewill.core.progress import progress
from freewill.core.types import IntArray
from freewill.domain.alphabets.base import attributes_of
from freewill.errors import EvidenceError, ParameterError, printable, several
from freewill.numeric.solvers.likelihood import OnStep, Status
from freewill.present.cross_table import ALL
from freewill.present.distribution import Distribution
from freewill.present.shares import Listed, Shares, advice, heading, is_quick, warning
from freewill.present.words import as_commands, choice_lines, unresolved_text
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import check_choice
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.evidence import Evidence, refuse_vast_joint
from freewill.stats.functionals import refuse_many
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals
from freewill.stats.robust import RobustEstimate

_BAR = 30  # characters of the likeliest value's bar
_LONGEST = 2000  # characters of a verdict, in which mechanisms are named
_LEVEL = 0.95
_FORM = "{:8.4%}"
_MORE = "more with --rows 0, --csv or --json."

Post = StrEnum("Post", ["PROJECT", "NORMALISE", "NONE"])
"""How a solution with negative components becomes a distribution."""


def estimate(
    sources: analysis.Sources,
    survey: analysis.ReportsSurvey = None,
    method: Annotated[
        str,
        option(
            "gibu, em, smooth, shrink, one-step, choice-aware or robust; or inversion, ibu or "
            "debias, which take one mechanism: for several, add -m to average the mechanisms or -r "
            "to average the results, as in inversion-m. The paper's names, as [INV]M, work too.",
            "--method",
            "-m",
        ),
    ] = "gibu",
    of: questions.Of = None,
    given: questions.GivenValues = None,
    only: analysis.Only = None,
    post: Annotated[
        Post | None, option("How inversion and debias remove negative shares (default: project).")
    ] = None,
    tol: Annotated[
        float | None,
        numeric("Stop when the gap is certified to be at most this (default: 0.01 / people)."),
    ] = None,
    delta: Annotated[
        float | None,
        numeric(
            "Stop em when a step increases the log-likelihood by less than this. With it, ibu "
            "takes the steps of em, too."
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
    options = {"post": post and post.value, "tol": tol, "delta": delta, "max_steps": max_steps}
    chosen = AnyMethod.parse(method, **options)
    _check_targets(geojson, plot, plot_choice, analysis.inputs_of(sources, survey), chosen)
    _check_intervals(intervals, level, joint)
    confidence = _LEVEL if level is None else level
    among, wanted = questions.parse_given(given), questions.parse_of(of)
    needed = questions.needed_questions(wanted, among)
    with evidence_of(sources, survey, engine, strict=strict, only=only, of=needed) as read:
        evidence, left_out = read
        records = bool(among or attributes_of(evidence.alphabet))
        if records:
            _refuse_of_one_question(bins=bins, geojson=geojson, plot_choice=plot_choice)
            product_of(evidence, "--given")
            refuse_vast_joint(evidence.alphabet)
            questions.condition(
                among, evidence.alphabet
            )  # read before the work, for it may be misspelt
        groups = analysis.groups_of(bins, evidence.alphabet)
        if intervals:
            several_people(evidence, "--intervals")
        if intervals and not records:
            analysis.refuse_many_shares(groups, bins, "--intervals for {:,} shares")
        _check_pictures(evidence, geojson, plot_choice)
        estimated = chosen.run_shown(evidence)
        shares = _distribution(estimated, wanted, among) if records else Shares(estimated, groups)
        plain = not (to_screen or as_json or as_csv)
        with progress("computing intervals") as show:
            on_step = analysis.watching(show, default_tolerance(evidence))
            sure = _intervals(shares, confidence, joint, on_step) if intervals else None
            unsure = _warning(shares, sure, confidence) if plain or intervals else ""
        doubt = _choice_doubt(estimated, chosen)
    if as_json:
        from freewill.present.document import to_dict  # noqa: PLC0415

        result = estimated if records and not among else shares
        say_json({**to_dict(result, intervals=sure), **left_out})
    elif as_csv:
        say_raw(csv_text(shares.columns(sure)))
    elif isinstance(shares, Distribution):
        _show_records(shares, sure, rows)
    elif plain:
        _show(shares, sure, rows, unsure)
    under = analysis.background_of(survey)
    if plot is not None:
        _draw(shares, sure, plot, analysis.title_of(survey, estimated.people), under)
    _draw_choices(estimated, plot_choice, confidence, under)
    if geojson is not None and isinstance(shares, Shares):
        _write_map(shares, sure, geojson, under)
    _comment(estimated, sure, unsure if not plain else "", doubt)


def _refuse_of_one_question(**options: Any) -> None:
    """Refuse options that are about one question, for an estimate of several."""
    reasons = {
        "bins": "it merges neighbours of one line or grid",
        "geojson": "a map is of one question",
        "plot_choice": "who chooses what is drawn for one question",
    }
    for name, given in options.items():
        if given is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')}: {reasons[name]}, and this is an estimate of several. "
                f"Name one question by --of."
            )


def _intervals(
    shares: Shares | Distribution, level: float, joint: bool, on_step: OnStep
) -> Intervals:
    """Return intervals of shares; refuse, of records, more than there is room for."""
    if isinstance(shares, Distribution):
        size = shares.estimate.alphabet.size
        what = f"--intervals for {several(len(shares), 'share')}, of {several(size, 'record')},"
        refuse_many(len(shares), size, what, "Ask for fewer questions by --of.")
    return shares.intervals(level=level, joint=joint, on_step=on_step)


def _distribution(
    estimated: Estimate, of: tuple[str, ...], given: Mapping[str, list[str]]
) -> Distribution:
    """Return the distribution of some questions, among people with certain answers."""
    if not given:
        return estimated.marginal(*attributes_of(estimated.alphabet))
    among = estimated.given(**questions.condition(given, estimated.alphabet))
    return among.marginal(*of) if of else among


def _check_targets(
    geojson: Path | None,
    plot: Path | None,
    plot_choice: Path | None,
    inputs: list[str],
    method: AnyMethod,
) -> None:
    """Refuse, before the work, a map or a picture that could not be written, or over an input."""
    if geojson is not None:
        check_target(geojson, (".geojson", ".json"), "GeoJSON", inputs, "--geojson")
    analysis.check_picture(plot, inputs)
    analysis.check_picture(plot_choice, inputs, "--plot-choice")
    if plot is not None and plot == plot_choice:
        raise ParameterError(f"--plot and --plot-choice are both {plot}: expected two files.")
    if plot_choice is not None and method.estimator != "choice-aware":
        raise ParameterError(
            f"--plot-choice draws who chooses what, which {method.label} does not tell: add "
            f"--method choice-aware."
        )


def _check_pictures(evidence: Evidence, geojson: Path | None, plot_choice: Path | None) -> None:
    """Refuse, before the work, a map without a place, and a picture with too much in it."""
    if geojson is not None:
        from freewill.present.geojson import check_place  # noqa: PLC0415

        check_place(evidence.alphabet)
    if plot_choice is not None:
        from freewill.present.choices import refuse_crowd  # noqa: PLC0415

        refuse_crowd(evidence.alphabet, len(evidence.groups))


def _draw(
    shares: Shares | Distribution, sure: Intervals | None, path: Path, title: str, under: Any
) -> None:
    """Write the picture: of one question, or of several a heat map or bars beside everybody's."""
    from freewill.present.plots import picture, picture_of  # noqa: PLC0415

    if isinstance(shares, Distribution):
        picture_of(shares, path=path, title=title, intervals=sure)
    else:
        looks = {"intervals": sure, "merged": shares.groups, "background": under}
        picture(shares.estimate, path=path, title=title, **looks)
    analysis.say_drawn(path)


def _draw_choices(estimated: Estimate, path: Path | None, level: float, background: Any) -> None:
    if path is None or not isinstance(estimated, ChoiceAwareEstimate):
        return
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


def _warning(shares: Shares | Distribution, sure: Intervals | None, level: float) -> str:
    """Say how unsure the largest shares are, where people are few; nothing where many."""
    if isinstance(shares, Distribution):
        return ""
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
    from freewill.present.geojson import features  # noqa: PLC0415

    made = features(shares.estimate.alphabet, shares.estimate.theta, shares.groups, sure, under)
    if str(path) == DASH:
        say_json(made)
        return
    with whole_file(path) as part:
        part.write_text(f"{json.dumps(made, allow_nan=False)}\n", encoding="utf-8")
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
    _show_bars(shares, largest, shares.lines(largest, sure, _FORM), sure)
    left = len(shares) - len(largest)
    if left:
        say(
            f"\n{several(len(largest), groups.what)} with "
            f"{float(shares.shares[largest].sum()):.1%} of the people; {left:,} {_MORE}"
        )


def _show_bars(
    shares: Listed,
    places: IntArray,
    table_of: tuple[list[str], list[list[str]]],
    sure: Intervals | None,
) -> None:
    """Print shares with bars, solid up to what they are at least, shaded up to what they may be."""
    heads, lines = table_of
    bars = shares.bars(places, sure, room_beside([heads, *lines], _BAR))
    bar_table(heads, lines, ["█" * solid + "░" * more for solid, more in bars])


def _show_records(asked: Distribution, sure: Intervals | None, rows: int) -> None:
    """Print the certificate and a distribution, as a cross table or value by value."""
    say(f"{several(asked.people, 'person')}, {asked.estimate.alphabet}\n{asked.estimate}\n")
    part = f" ({asked.share:.1%} of the people)" if asked.condition else ""
    say(f"{printable(asked.title)}{part}\n")
    if asked.is_small_table:
        cross = asked.cross() if sure is None else asked.cross(sure.level, sure.joint)
        heads = [" by ".join(cross.attributes), *cross.columns, ALL]
        lines = [[name, *cross.row(row)] for row, name in enumerate([*cross.rows, ALL])]
        table(heads, lines, numbers=range(1, len(heads)))
        return
    places = asked.largest(rows or len(asked))
    _show_bars(asked, places, asked.lines(places, sure, _FORM, ("low", "high")), None)
    if left := len(asked) - len(places):
        say(f"\n{left:,} {_MORE}")
