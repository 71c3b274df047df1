"""`freewill experiment`: own surveys, truth and methods through the reproduction's runner."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.analysis import AnyMethod
from freewill.cli.options import integral, option
from freewill.cli.show import say
from freewill.errors import ParameterError
from freewill.paper.experiment import Experiment, run_experiment
from freewill.present import canvas

Workers = Annotated[int | None, integral("Number of processes (default: one per core).", 1)]


def checked_run(out: Path) -> str:
    """Refuse, before the work, a run that could not be reported; return the command of it."""
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out {out} is a file: expected a folder, for several files.")
    canvas.require_matplotlib()  # which draws at the very end, after all the work
    return shlex.join(["freewill", *sys.argv[1:]])


def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment, .toml.")],
    out: Annotated[Path, option("The folder for report and results.", "--out", "-o")] = Path(
        "experiment"
    ),
    workers: Workers = None,
) -> None:
    """Run an experiment of your own, and write a report.

    The file names surveys, the true distribution (weights, or a file of values), numbers of people,
    seeds and methods: docs/experiments.md has an example. Results are stored in the folder: an
    interrupted run resumes, and more seeds or methods reuse what is there. The report is a single
    HTML page.

    Example:

        freewill experiment ages.toml --out ages
    """
    command = checked_run(out)
    read = Experiment.load(file, AnyMethod)
    page = run_experiment(read, out, command, workers or os.cpu_count() or 1)
    say(f"report: {page}\nresults: {page.with_name('results.csv')}")
