"""`freewill plan`: how many people a survey needs, and how good its answers will be."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.calibrate import load_prior
from freewill.cli.options import AsJson, as_number, check_target, integral, numeric, option
from freewill.cli.overwrites import refuse_overwriting
from freewill.cli.show import FAILED, remark, say, say_json, table
from freewill.cli.standard import DASH
from freewill.core.progress import progress
from freewill.domain.alphabets.groups import checked_plane
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, several, shown
from freewill.present import plots
from freewill.stats import functionals
from freewill.stats.planning.inputs import is_emd
from freewill.stats.planning.plan import Plan
from freewill.stats.planning.plan import plan as predict


def plan(
    survey: Annotated[Path, typer.Argument(help="The survey, .json or .toml.")],
    share: Annotated[
        list[str] | None,
        option("How many choose a mechanism, as careful=0.3; many times. Equal shares without."),
    ] = None,
    theta: Annotated[
        Path | None,
        option(
            "The truth to plan for, as `estimate --json` writes it; the worst of a few without."
        ),
    ] = None,
    people: Annotated[
        list[int] | None,
        integral("A number of people; may be given many times. 100 to a million without.", 2),
    ] = None,
    target: Annotated[
        float | None,
        numeric("An EMD to reach; with --bins or another --of, half of the widest 95 % interval."),
    ] = None,
    of: Annotated[
        str, option("Predict errors of: emd (earth mover's distance), shares, mean or cdf.")
    ] = "emd",
    bins: Annotated[
        int | None,
        integral("Ask for so many neighbouring values of a line, squares of cells of a grid.", 1),
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, option("Draw the curve: .png, .svg or .pdf.")] = None,
) -> None:
    """Say how good a survey's answers will be, and how many people they need.

    The EMD is the earth mover's distance between the truth and the most likely distribution, in
    years on a line of ages and in kilometres on a grid, averaged over surveys.
    The exit code is 1 where no number of people reaches the target.

    Example:

        freewill plan survey.json --share careful=0.3 --share relaxed=0.7 --target 0.5
        freewill plan survey.json --of mean --target 1 --plot plan.png
    """
    if plot is not None:
        plots.require_matplotlib()
        if str(plot) == DASH:
            raise ParameterError("--plot -: a picture goes into a file: .png, .svg or .pdf.")
        inputs = [str(one) for one in (survey, theta) if one is not None]
        refuse_overwriting(plot, inputs, "--plot")
        check_target(plot, (".png", ".svg", ".pdf"), "a picture")
    offered = Survey.load(survey)
    shares = None if not share else parse_shares(share)
    truth = None if theta is None else load_prior(theta, offered.alphabet.size)
    wanted = _wanted(of, bins, offered)
    with progress("planning") as show:
        found = predict(offered, shares, truth, people or None, target, wanted, show)
    if as_json:
        say_json(describe(found))
    else:
        _show(found)
    if plot is not None:
        plots.planned(found, path=plot)
        remark(f"picture written to {plot}")
    if found.advice:
        remark(found.advice)
    if target is not None and found.needed is None:
        raise typer.Exit(FAILED)


def parse_shares(texts: list[str]) -> dict[str, float]:
    """Read shares such as careful=0.3; the name may have equals signs of its own.

    >>> parse_shares(["careful=0.25", "a=b=0.75"])
    {'careful': 0.25, 'a=b': 0.75}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, sign, share = text.rpartition("=")
        if not sign or not name:
            raise ParameterError(
                f"--share {shown(text)}: expected a name and a share, careful=0.3."
            )
        if name in found:
            raise ParameterError(f"--share {shown(name)} is given twice: one share for each name.")
        found[name] = as_number(share)
    return found


def _wanted(of: str, bins: int | None, survey: Survey) -> Any:
    if bins is None:
        return of
    if not is_emd(of):
        raise ParameterError("--of and --bins were both given: take one of them.")
    checked_plane(survey.alphabet)
    line = len(survey.alphabet.axes) == 1
    return functionals.bins(bins) if line else functionals.districts(bins)


def describe(found: Plan) -> dict[str, Any]:
    """Describe a plan for JSON; what is infinite or unknown is null."""
    columns = ("people", "emd", "emd_low", "emd_high", "emd_error")
    rows = [
        {
            **{name: getattr(found, name)[place].item() for name in columns},
            "simulated": found.simulated[place],
            "standard_error": found.standard_error[place].tolist(),
        }
        for place in range(len(found.people))
    ]
    mechanisms = {
        name: {"share": share, "worth": found.worth[name], "cost": found.cost[name]}
        for name, share in found.shares.items()
    }
    return {
        "alphabet": found.alphabet.spec(),
        "truth": found.truth,
        "theta": found.theta.tolist(),
        "mechanisms": mechanisms,
        "of": list(found.of),
        "expected": rows,
        "target": found.target,
        "target_of": "emd" if found.by_emd else "half_width",
        "needed": found.needed,
        "advice": found.advice,
    }


def _show(found: Plan) -> None:
    """Print the errors to expect, what people of each mechanism are worth, and who is needed."""
    say(f"{found.alphabet}, planned for: {found.truth}\n")
    single = len(found.of) == 1
    errors = [f"std error of {found.of[0]}"] if single else ["std error, median", "largest"]
    rows = []
    for place, people in enumerate(found.people.tolist()):
        distance = [found.emd[place], found.emd_low[place], found.emd_high[place]]
        spread = [found.typical_error[place]]
        spread += [] if single else [found.largest_error[place]]
        rows.append([f"{people:,}", *(_number(number) for number in (*distance, *spread))])
    heads = ["people", "EMD", "90 % of surveys: from", "to", *errors]
    table(heads, rows, numbers=range(len(heads)))
    say("")
    rows = [
        [name, f"{share:.4g}", _number(found.worth[name]), _number(found.cost[name])]
        for name, share in found.shares.items()
    ]
    heads = ["mechanism", "share", "one more is worth", "if all chose it"]
    table(heads, rows, numbers=(1, 2, 3))
    say("Worth: in average people. If all chose it: times the people that no privacy needs.")
    if found.needed is not None:
        say(f"\nFor {found.goal}: {several(found.needed, 'person')}.")


def _number(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else "-"
