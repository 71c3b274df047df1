"""`freewill audit`: recompute what mechanisms promise, from their laws."""

import re
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import AsJson, load_mechanisms, option
from freewill.cli.show import FAILED, say, say_json, table
from freewill.core.progress import progress
from freewill.core.texts import number
from freewill.domain.guarantees.audit import audit as recompute
from freewill.domain.guarantees.promises import Guarantee
from freewill.errors import ParameterError, printable

_CLAIM = re.compile(
    r"([0-9.][^-]*(?:e-[0-9]+)?)-(?:(ldp)|(geo)(?:-[^ ]*)?(?: per (.+))?)", re.IGNORECASE
)


def audit(
    source: Annotated[
        Path,
        typer.Argument(help="A survey, or the JSON spec of one mechanism; - reads standard input."),
    ],
    claim: Annotated[
        str | None,
        option("What to hold each law to, e.g. 1.5-ldp, 0.1-geo or 0.1-geo per km."),
    ] = None,
    exact: Annotated[
        bool,
        option(
            "Prove the claim from the whole numbers that the sampler draws from, for small "
            "alphabets.",
            "--exact",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hold every mechanism of a survey to its promise, recomputed from its law.

    Each mechanism is held to its own promise unless `--claim` names another. The exit code is 1
    if any claim does not hold, or cannot be told for the rounding of the law's numbers. With
    `--exact` nothing is rounded: the numbers that devices draw from are written out, and prove
    which outputs can be drawn and what epsilon they give.

    A warning says where a promise is empty in human terms, whether or not it holds: reports that
    are the true value in more than 90 % of cases, or an epsilon above 5 (times the mean distance
    of two values, where it is per unit of distance). Warnings leave the exit code as it is.

    Example:

        freewill audit survey.json --claim 4-ldp
    """
    held = None if claim is None else parse_claim(claim)
    mechanisms = load_mechanisms(source)
    with progress("auditing"):
        found = {
            name: recompute(mechanism, held, exact=exact) for name, mechanism in mechanisms.items()
        }
    holds = all(result.holds for result in found.values())
    if as_json:
        audits = {name: result.describe() for name, result in found.items()}
        say_json({"holds": holds, "audits": audits})
    else:
        rows = [[name, *result.row()] for name, result in found.items()]
        by = ("the sampler gives", "looked at") if exact else ("the law gives", "worst case")
        table(["name", "claimed", by[0], "verdict", by[1]], rows)
        _warn({name: result.warnings for name, result in found.items()})
    if not holds:
        raise typer.Exit(FAILED)


def _warn(warnings: dict[str, tuple[str, ...]]) -> None:
    """Print, with the verdicts, where a promise is empty in human terms."""
    lines = [f"warning: {name}: {text}" for name, texts in warnings.items() for text in texts]
    if lines:
        say("\n" + "\n".join(lines))


def parse_claim(text: str) -> Guarantee:
    """Read a claim such as 1.5-ldp.

    >>> parse_claim("0.1-geo"), parse_claim("0.1-geo per km")
    (Guarantee(kind='geo', epsilon=0.1, unit=''), Guarantee(kind='geo', epsilon=0.1, unit='km'))
    """
    found = _CLAIM.fullmatch(text)
    epsilon = None if found is None else number(found[1])
    if found is None or epsilon is None:
        raise ParameterError(
            f"--claim {printable(text)}: expected a number and a kind: 1.5-ldp or 0.1-geo."
        )
    return Guarantee("geo" if found[3] else "ldp", epsilon, found[4] or "")
