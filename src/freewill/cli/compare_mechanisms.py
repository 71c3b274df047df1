"""`freewill compare-mechanisms`: mechanisms side by side on the same simulated people."""

from typing import Annotated

import typer

from freewill.cli.analysis import Picture, check_picture, inputs_of, show_result, watching
from freewill.cli.calibrate import load_prior
from freewill.cli.menu import Kinds, Promised, PromiseKind, Theta
from freewill.cli.options import AsJson, integral, numeric, option, parse_alphabet
from freewill.core.progress import progress
from freewill.domain.mechanisms.base import Mechanism, needed_beside_epsilon
from freewill.domain.mechanisms.registry import kind_named, kinds
from freewill.domain.survey import Survey
from freewill.errors import ParameterError
from freewill.stats.planning.mechanisms import compare_mechanisms as compare
from freewill.stats.planning.menus import candidates, checked_kinds, checked_promise, possible


def compare_mechanisms(
    alphabet: Annotated[
        str,
        typer.Argument(
            help="A line 0..99, a grid 24x16x0.5 (columns, rows, km), labels yes,no; or a survey, "
            "whose mechanisms are compared unless --level is given."
        ),
    ],
    level: Annotated[
        float | None, numeric("Level of protection of all mechanisms.", "--level", "-l")
    ] = None,
    promise: PromiseKind = Promised.ldp,
    kind: Kinds = None,
    theta: Theta = None,
    people: Annotated[int, integral("Number of people.", 2)] = 10_000,
    runs: Annotated[int, integral("Number of simulated surveys.", 1)] = 20,
    mixture: Annotated[
        bool, option("Also compare a survey in which all mechanisms are chosen equally often.")
    ] = False,
    as_json: AsJson = False,
    plot: Picture = None,
) -> None:
    """Compare mechanisms on the same simulated people.

    For each mechanism, as if everybody chose it: the errors of the certified estimate (earth
    mover's distance, mean squared error), the information in a report relative to a true answer,
    how often the best guess of a person's value is right, bytes per report, and the time to draw
    and to estimate.

    Example:

        freewill compare-mechanisms 0..99 --level 2
        freewill compare-mechanisms survey.json --mixture --plot mechanisms.png
    """
    check_picture(plot, inputs_of([], theta))
    values = parse_alphabet(alphabet)
    truth = None if theta is None else load_prior(theta, values.size)
    offered: Survey | list[Mechanism]
    if level is not None and kind:
        offered = candidates(values, level, checked_promise(promise.value), checked_kinds(kind))
    elif level is not None:
        every = tuple(one for one in map(kind_named, kinds()) if not needed_beside_epsilon(one))
        offered = possible(every, values, level, checked_promise(promise.value))
    elif kind or not alphabet.endswith((".json", ".toml")):
        raise ParameterError("no --level: expected the epsilon, or loss, that all are given.")
    else:
        offered = Survey.load(alphabet)
    with progress("simulating") as show:
        comparison = compare(offered, truth, people, runs, mixture, watching(show, 1e-9))
    show_result(comparison, plot, as_json=as_json)
