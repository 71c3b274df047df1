"""`freewill compare`: how two days, two districts, or treatment and control differ."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.differences import Differences, Of
from freewill.cli.estimate import check_targets, load
from freewill.cli.methods import watching
from freewill.cli.options import AsJson, Engine, EngineName, Strict, integral, numeric, option
from freewill.cli.same_people import refuse_shared_files
from freewill.cli.show import remark, say_json, say_raw
from freewill.cli.standard import called, standard_input
from freewill.core.progress import progress
from freewill.errors import ParameterError
from freewill.present import plots
from freewill.stats.compare import compare as compared
from freewill.stats.estimators.estimate import default_tolerance
from freewill.stats.information import several_people
from freewill.stats.same_people import Body, refuse_shared


def compare(
    one: Annotated[str, typer.Argument(help="Evidence; or reports, read by --survey; or -.")],
    other: Annotated[str, typer.Argument(help="The same, of other people.")],
    survey: Annotated[
        Path | None, option("The survey that the reports belong to.", "--survey", "-s")
    ] = None,
    of: Annotated[Of, option("What to compare: shares is every value's share.")] = Of.SHARES,
    bins: Annotated[
        int | None,
        integral("Merge so many neighbouring values of a line; of a grid, squares of cells.", 1),
    ] = None,
    level: Annotated[float, numeric("How often intervals hold the truth.")] = 0.95,
    joint: Annotated[
        bool, option("Make intervals that hold all differences at once.", "--joint")
    ] = False,
    equal: Annotated[
        bool, option("Compare what seems to be of the same people, and is of others.", "--equal")
    ] = False,
    engine: EngineName = Engine.DUCKDB,
    strict: Strict = False,
    rows: Annotated[int, integral("Differences to print, the largest; 0 prints all.", 0)] = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, option("Print CSV: what, difference and the rest.", "--csv")] = False,
    plot: Annotated[Path | None, option("Draw a picture: .png, .svg or .pdf.")] = None,
) -> None:
    """Tell whether two bodies of evidence differ, and by how much.

    First comes a test that both have one distribution: "they differ" where its p-value is below
    1 - level; "no difference is shown" never means that there is none. Then their earth mover's
    distance, or total variation where values are labels, and the largest differences, OTHER less
    ONE; those whose intervals do not hold 0 come before all others. The two must be of different
    people: a file beside itself, a copy, equal evidence, and evidence that the other was merged or
    collected from are refused. Their mechanisms need not be the same, their alphabet must. `one`
    and `other` are each kept within what they can be, and the difference is of the estimates before
    that.

    The exit code is 0 whether they differ or not: `differ` in `--json` tells scripts.

    Example:

        freewill compare monday.parquet tuesday.parquet --bins 10 --plot days.png
        freewill compare 'monday/*.csv' 'tuesday/*.csv' -s survey.json --of mean --json
    """
    if as_json and as_csv:
        raise ParameterError("--json and --csv were given together: take one of them.")
    asked = Differences(of, bins, level)
    check_targets(None, plot, [one, other, *([] if survey is None else [str(survey)])])
    names = called(one), called(other)
    refuse_shared_files(one, other, reports=survey is not None, equal=equal)
    with standard_input([one, other]) as files:
        (first, lost), (second, more) = (
            load([file], survey, engine, strict=strict) for file in files
        )
        for evidence, name in zip((first, second), names, strict=True):
            several_people(evidence, f"a comparison, of {name},")
        if not equal:
            refuse_shared(Body(first, names[0]), Body(second, names[1]), "--equal")
        asked.check(first.alphabet)
        with progress("comparing") as show:
            told = watching(show, default_tolerance(first))
            wanted = asked.functionals(first.alphabet)
            found = compared(first, second, wanted, level, joint, told, equal=True)
    if as_json:
        losses = {"losses": [lost, more]} if survey is not None else {}
        say_json({**asked.describe(found, names), **losses})
    elif as_csv:
        say_raw(asked.as_rows(found))
    else:
        asked.show(found, names, rows)
    if plot is not None:
        title = f"{found.verdict}; {asked.apart(found)}"
        stems = [Path(name).stem for name in names]
        apart = stems if stems[0] != stems[1] else list(names)
        groups = asked.groups(first.alphabet)
        plots.comparison(found, path=plot, names=apart, title=title, merged=groups)
        remark(f"picture written to {plot}")
    if found.advice:
        remark(found.advice)
