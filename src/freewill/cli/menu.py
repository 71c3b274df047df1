"""`freewill menu`: for each level of protection, the mechanism that tells most."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.analysis import watching
from freewill.cli.calibrate import load_prior
from freewill.cli.options import AsJson, numeric, option, parse_alphabet
from freewill.cli.show import say, say_json
from freewill.core.progress import progress
from freewill.stats.planning.menus import checked_promise
from freewill.stats.planning.menus import menu as find

Promised = StrEnum("Promised", ["ldp", "geo", "loss"])
PromiseKind = Annotated[
    Promised,
    option("What a level is: epsilon of LDP, epsilon per unit of distance, or mean distance."),
]
Kinds = Annotated[
    list[str] | None,
    option("Kind of mechanism to consider. Repeatable; default: all.", "--kind", "-k"),
]
Theta = Annotated[
    Path | None, option("The true distribution: JSON of `freewill estimate --json`, or weights.")
]


def menu(
    alphabet: Annotated[
        str,
        typer.Argument(
            help="A line 0..99, a grid 24x16x0.5 (columns, rows, km), labels yes,no or a survey."
        ),
    ],
    level: Annotated[list[float], numeric("Level of protection. Repeatable.", "--level", "-l")],
    promise: PromiseKind = Promised.ldp,
    kind: Kinds = None,
    theta: Theta = None,
    of: Annotated[str, option("Compare errors of: emd, shares, mean or cdf.")] = "emd",
    as_json: AsJson = False,
) -> None:
    """Find the mechanism that tells most at each level of protection.

    Mechanisms at a level keep the same promise. They are ranked by cost: how many times as many
    people a survey needs with them as a survey without privacy, for the same error.

    Example:

        freewill menu 0..99 --level 1 --level 4 --of mean
        freewill menu yes,no,maybe -l 1 -k k-rr -k oue -k subset-selection
    """
    values = parse_alphabet(alphabet)
    truth = None if theta is None else load_prior(theta, values.size)
    with progress("comparing") as show:
        best = find(
            values, level, checked_promise(promise.value), truth, of, watching(show, 1e-9), kind
        )
    if not as_json:
        say(str(best))
        return
    ranked = [(rank, one) for at_a_level in best.offers for rank, one in enumerate(at_a_level)]
    offers = [
        {
            "level": one.level,
            "spec": one.mechanism.spec(),
            "id": one.mechanism.id,
            "cost": one.cost,
            "best": rank == 0,
        }
        for rank, one in ranked
    ]
    say_json({"promise": best.promise, "of": best.of, "truth": best.truth, "offers": offers})
