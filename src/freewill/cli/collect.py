"""`freewill collect`: count reports into evidence."""

from collections import Counter
from contextlib import ExitStack
from typing import Annotated

import typer

from freewill.cli import options
from freewill.cli.inputs import losses, read_with_progress, show_losses
from freewill.cli.show import say, say_json, table
from freewill.cli.standard import check_target, is_standard_output, standard_input, standard_output
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.mechanisms.base import brief
from freewill.errors import several
from freewill.io.evidence_file import save_evidence
from freewill.stats.evidence import Evidence

_COMBINATIONS = 20
"""Combinations of mechanisms up to which each is listed."""


def collect(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Reports: files, folders, patterns in quotes ('day-*.csv') or -; or the store of "
            "`freewill serve` (.db, postgresql://)."
        ),
    ],
    survey: options.StoredSurveyPath,
    out: options.EvidencePath,
    engine: options.EngineName = options.Engine.DUCKDB,
    strict: options.Strict = False,
    equal: options.Equal = False,
    period: Annotated[
        str | None,
        options.option(
            "With a store: collect only the periods from the first to the last of these days "
            "(2026-11-02..2026-11-15), or only the last period (last). With files: the days on "
            "which their reports were made, which the evidence then records."
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Count reports into evidence, which is all that an estimate needs.

    Invalid rows are left out and listed by reason; with `--strict`, or if no row is valid, the
    command fails. Rows with the same `report_id` count once if they are equal, and not at all if
    they differ. A file named twice is read once. Two files of equal content without a `report_id`
    are refused, because everyone in them would count twice. With `-` as output, messages go to
    standard error. With a store, --survey may also be a survey's id or name. `freewill periods`
    lists the periods of a store; --period must name whole periods.

    Examples
    --------
        freewill collect 'reports/*.parquet' --survey survey.json --out monday.parquet
        freewill collect collector.db --survey commute --period last --out week.parquet
    """
    check_target(out, (".parquet",), "evidence", [*sources, survey])
    aside = is_standard_output(out, as_json=as_json)
    with (
        standard_input(sources) as files,
        standard_output(out, ".parquet") as target,
        ExitStack() as holding,
    ):
        reading = read_with_progress(
            files, survey, engine, holding, strict=strict, equal=equal, period=period
        )
        save_evidence(reading.evidence, target)
    if as_json:
        say_json({**reading.evidence.to_dict(), "out": str(out), **losses(reading)})
        return
    evidence_table(reading.evidence, stderr=aside)
    show_losses(reading)
    if not aside:
        say(f"\nevidence written to {out}")


def evidence_table(evidence: Evidence, *, stderr: bool = False) -> None:
    """Print how many people chose what."""
    many = several(len(evidence.groups), "mechanism")
    say(f"{several(evidence.people, 'person')}, {many}, {evidence.alphabet}\n", stderr=stderr)
    if attributes_of(evidence.alphabet) and len(evidence.groups) > _COMBINATIONS:
        _question_table(evidence, stderr=stderr)
        return
    rows = []
    for group in evidence.groups:
        name, promise = group.name or group.mechanism.id, group.mechanism.guarantee().short
        counts = [f"{group.people:,}", f"{group.rows:,}"]
        rows.append([name, brief(group.mechanism), *counts, promise])
    heads = ["name", "mechanism", "people", "outputs", "promise"]
    table(heads, rows, numbers=(2, 3), stderr=stderr)


def _question_table(evidence: Evidence, *, stderr: bool) -> None:
    """Print how many people chose what for each question, where combinations are many."""
    people: Counter[tuple[str, str, str]] = Counter()
    for group in evidence.groups:
        words, parts = group.name.split(JOINED), getattr(group.mechanism, "by_name", {})
        named = words if len(words) == len(parts) else [part.name for part in parts.values()]
        for (question, part), name in zip(parts.items(), named, strict=True):
            people[question, name, brief(part)] += group.people
    rows = [[*what, f"{many:,}"] for what, many in sorted(people.items())]
    table(["question", "name", "mechanism", "people"], rows, numbers=(3,), stderr=stderr)
