"""`freewill collect`: count reports into evidence."""

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from freewill.cli.contents import describe, evidence_table
from freewill.cli.options import (
    AsJson,
    Engine,
    EngineName,
    EvidencePath,
    Strict,
    SurveyPath,
    check_target,
    is_standard_output,
    load_survey,
    option,
)
from freewill.cli.overwrites import refuse_overwriting
from freewill.cli.show import remark, say, say_json, table
from freewill.cli.standard import standard_input, standard_output
from freewill.collector.stores import is_store, read_store, shown_store
from freewill.core.progress import progress
from freewill.domain.survey import Survey
from freewill.errors import ReportError, several
from freewill.io import Reading, read, save_evidence
from freewill.io.copies import refuse_copies


def collect(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Reports: files, folders, patterns in quotes ('day-*.csv'), or -; or the store of "
            "`freewill serve`, .db or postgresql://."
        ),
    ],
    survey: SurveyPath,
    out: EvidencePath,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    equal: Annotated[
        bool, option("Count files of equal content, which are no copies of each other.", "--equal")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count reports into evidence, which is all that an estimate needs.

    Rows that cannot be right are left out, counted by reason and shown; `--strict` refuses the
    source instead, as is done where no row is right. Rows that share a `report_id` count once if
    they are the same, and not at all if they differ. A file that is named twice is read once, and
    two files of equal content without a `report_id` are refused: everyone in them would count
    twice. `-` is standard input or output; what is told
    goes to standard error then.

    Example:

        freewill collect 'reports/*.parquet' --survey survey.json --out monday.parquet
    """
    refuse_overwriting(out, [*sources, survey])
    check_target(out, (".parquet",), "evidence")
    aside = is_standard_output(out, as_json=as_json)
    with standard_input(sources) as files, standard_output(out, ".parquet") as target:
        offered = load_survey(survey)
        with ExitStack() as holding:
            reading = _from_store(files, offered, holding) or read_with_progress(
                files, offered, engine, strict=strict, equal=equal
            )
            save_evidence(reading.evidence, target)
    if as_json:
        say_json({"out": str(out), **describe(reading.evidence), **losses(reading)})
        return
    evidence_table(reading.evidence, stderr=aside)
    show_losses(reading)
    if not aside:
        say(f"\nevidence written to {out}")


def _from_store(sources: list[str], survey: Survey, holding: ExitStack) -> Reading | None:
    """Read the store of a server, if that is the source; it may be running meanwhile."""
    stores = [source for source in sources if is_store(source)]
    if not stores:
        return None
    if len(sources) > 1:
        raise ReportError(
            f"{shown_store(stores[0])} is a server's store, which is read by itself. Collect the "
            f"others apart, and add the evidence together with `freewill merge`."
        )
    evidence = read_store(stores[0], survey, holding)
    return Reading(evidence, evidence.people, 0, ())


def read_with_progress(
    sources: list[str], survey: Survey, engine: Engine, *, strict: bool, equal: bool = False
) -> Reading:
    """Read reports, showing how far it got; each file must be another one."""
    if not equal:
        refuse_copies(sources)
    with progress("reading reports") as show:
        reading = read(sources, survey, engine=engine.value, strict=strict, show=show)
    _refuse_nobody(reading)
    return reading


def _refuse_nobody(reading: Reading) -> None:
    """Refuse files without rows, and rows of which none counts: what is wrong is wrong with all."""
    if reading.evidence.people:
        return
    fault = "there is no row of reports, and evidence of nobody is of no use"
    if reading.rows:
        reasons = "; ".join(map(str, reading.invalid))
        fault = f"none of {several(reading.rows, 'row')} is a report of this survey: {reasons}"
    raise ReportError(
        f"{fault}. Is it the right survey, and are these the right files? Nothing was written."
    )


def losses(reading: Reading) -> dict[str, Any]:
    """Describe what was left out, for JSON."""
    return {
        "rows": reading.rows,
        "duplicates": reading.duplicates,
        "invalid": [
            {"reason": kind.reason, "count": kind.count, "examples": list(kind.examples)}
            for kind in reading.invalid
        ],
    }


def show_losses(reading: Reading) -> None:
    """Print the rows that were left out, by reason, to standard error."""
    if reading.duplicates:
        once = reading.duplicates == 1
        verbs = ("repeats", "was") if once else ("repeat", "were")
        many = several(reading.duplicates, "row")
        remark(f"{many} {verbs[0]} a report_id and {verbs[1]} counted once.")
    if reading.invalid:
        verb = "is" if reading.refused == 1 else "are"
        many = several(reading.rows, "row")
        remark(f"{reading.refused:,} of {many} {verb} invalid and left out:")
        rows = [
            [f"{kind.count:,}", kind.reason, "; ".join(kind.examples)] for kind in reading.invalid
        ]
        table(["invalid rows", "reason", "examples"], rows, numbers=(0,), stderr=True)
