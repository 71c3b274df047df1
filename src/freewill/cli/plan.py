"""`freewill plan`: how many people a survey needs, and how good its answers will be."""

from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.analysis import Bins, Picture, check_picture, groups_of, inputs_of, show_result
from freewill.cli.calibrate import load_prior
from freewill.cli.options import AsJson, integral, numeric, option, parse_pair
from freewill.cli.questions import Table, parse_of, planned_table
from freewill.cli.show import FAILED, remark
from freewill.core.progress import progress
from freewill.domain.alphabets.base import attributes_of
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError, shown
from freewill.stats import functionals
from freewill.stats.planning.plan import plan as predict
from freewill.stats.planning.truths import is_emd


def plan(
    survey: Annotated[Path, typer.Argument(help="The survey, .json or .toml.")],
    share: Annotated[
        list[str] | None,
        option("Share of people who choose a mechanism: careful=0.3. Repeatable; default: equal."),
    ] = None,
    theta: Annotated[
        Path | None,
        option(
            "Distribution to plan for: JSON of `freewill estimate --json` or of a collector, or "
            "a list of weights (default: the worst of several typical ones)."
        ),
    ] = None,
    people: Annotated[
        list[int] | None, integral("Number of people. Repeatable; default: 100 to a million.", 2)
    ] = None,
    target: Annotated[
        float | None,
        numeric(
            "The error to reach: an EMD or, with --bins or another --of, half the width of the "
            "widest 95 % interval."
        ),
    ] = None,
    of: Annotated[
        str, option("Predict errors of: emd (earth mover's distance), shares, mean or cdf.")
    ] = "emd",
    table: Table = None,
    bins: Bins = None,
    as_json: AsJson = False,
    plot: Picture = None,
) -> None:
    """Predict the errors of a survey, and how many people it needs.

    The EMD is the earth mover's distance between the true distribution and the maximum likelihood
    estimate, averaged over surveys: in the unit of the values on a line, in kilometres on a grid.

    With several questions, --table names the one or two questions to plan for, and --share sets the
    share of a mechanism of one question: age.careful=0.3. Errors are predicted for the shares in
    this table and, if the survey has weights, for its EMD.

    The exit code is 1 if no number of people reaches the target.

    Example:

        freewill plan survey.json --share careful=0.3 --share relaxed=0.7 --target 0.5
        freewill plan survey.json --of mean --target 1 --plot plan.png
    """
    check_picture(plot, inputs_of([str(survey)], theta))
    offered = Survey.load(survey)
    shares = None if not share else parse_shares(share)
    if isinstance(offered, Questionnaire):
        offered, shares = planned_table(offered, parse_of(table, "--table"), share or [])
        of = "shares" if is_emd(of) and attributes_of(offered.alphabet) else of
    elif table is not None:
        raise ParameterError("--table is for several questions: the survey has one. Leave it out.")
    truth = None if theta is None else load_prior(theta, offered.alphabet.size)
    wanted: Any = of
    if bins is not None:
        if not is_emd(of):
            raise ParameterError("--of and --bins were both given: take one of them.")
        wanted = functionals.of_groups(groups_of(bins, offered.alphabet))
    with progress("planning") as show:
        planned = predict(offered, shares, truth, people or None, target, wanted, show)
    show_result(planned, plot, as_json=as_json)
    if planned.advice and as_json:
        remark(planned.advice)
    if target is not None and planned.needed is None:
        raise typer.Exit(FAILED)


def parse_shares(texts: list[str]) -> dict[str, float]:
    """Read shares such as careful=0.3; the name may have equals signs of its own.

    >>> parse_shares(["careful=0.25", "a=b=0.75"])
    {'careful': 0.25, 'a=b': 0.75}
    """
    shares: dict[str, float] = {}
    for text in texts:
        name, share = parse_pair(text, "--share", "a name and a share, careful=0.3")
        if name in shares:
            raise ParameterError(f"--share {shown(name)} is given twice: one share for each name.")
        shares[name] = share
    return shares
