"""`freewill reproduce`: the paper's figures and tables, run again."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.experiment import Workers, checked_run
from freewill.cli.options import option
from freewill.cli.show import remark, say, table
from freewill.errors import ParameterError
from freewill.paper import places
from freewill.paper.panels import FULL, PANELS, QUICK, STUDIES, plan
from freewill.paper.places import Crowd
from freewill.paper.reproduce import reproduce as run
from freewill.paper.verdicts import Judgement


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...",
            help="Figures 2 to 14 (or one panel: 11b), table1, table2, em, selections, flips. "
            "All by default.",
        ),
    ] = None,
    quick: Annotated[bool, option("Use fewer sizes and seeds.", "--quick")] = False,
    data: Annotated[
        list[Path] | None,
        option(
            "Real data: check-ins (latitude, longitude, or SNAP's Gowalla file) for the city, or "
            "values for the line 0..99. By default the city is synthetic."
        ),
    ] = None,
    download: Annotated[
        bool, option("Download SNAP's Gowalla check-ins for the city.", "--download")
    ] = False,
    out: Annotated[Path, option("The folder for report and results.", "--out", "-o")] = Path(
        "reproduction"
    ),
    workers: Workers = None,
    listed: Annotated[bool, option("List the figures and stop.", "--list")] = False,
) -> None:
    """Reproduce the paper's figures and tables, and write a report.

    Results are stored in the folder: an interrupted run resumes, and a larger run reuses the
    results of a smaller one. Where a verdict is close, more seeds are run; if it stays open, it is
    marked undecided. The report is a single HTML page.

    Example:

        freewill reproduce --quick
        freewill reproduce 7 11b table2 --data checkins.csv.gz --out san-francisco
    """
    if listed:
        rows = [[p.figure, p.mixture.title, ", ".join(m.label for m in p.methods)] for p in PANELS]
        rows += [[name, text, ""] for name, text in STUDIES.items()]
        table(["figure", "shows", "methods"], rows)
        return
    command = checked_run(out)
    chosen = plan(figures or (), QUICK if quick else FULL)
    paths = [*(data or ()), *([places.download()] if download else ())]
    city, line = _places(paths)
    outcome = run(chosen, out, city, line, command, workers)
    if outcome.judgements:
        _verdicts(outcome.judgements)
    say(f"report: {outcome.page}\ntables: {outcome.summary}\nresults: {outcome.table}")


def _places(paths: list[Path]) -> tuple[Crowd | None, Crowd | None]:
    """Read the data files: at most one of points, and one of values."""
    crowds: dict[str, Crowd] = {}
    for path in paths:
        crowd = places.load(path)
        if crowd.kind in crowds:
            raise ParameterError(
                f"{path}: a second file of {crowd.kind} was given. Take one of them."
            )
        remark("; ".join((str(crowd), *crowd.notes)))
        crowds[crowd.kind] = crowd
    if "points" not in crowds:
        remark(f"{places.synthetic_city()}; give real points with --data or --download")
    return crowds.get("points"), crowds.get("values")


def _verdicts(judgements: tuple[Judgement, ...]) -> None:
    marks = {True: "yes", False: "NO", None: "open"}
    rows = [
        [
            f"{judged.entry.table}: {judged.entry.row}",
            judged.entry.column,
            judged.entry.paper,
            judged.word,
            marks[judged.agrees],
            ", ".join("-" if ratio.refused else str(ratio) for ratio in judged.ratios),
        ]
        for judged in judgements
    ]
    table(["table", "method", "paper", "here", "agree", "EMD / GIBU ± standard error"], rows)
