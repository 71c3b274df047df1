"""`freewill audit`: recompute what mechanisms promise, from their laws."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from freewill.cli.options import AsJson, SurveyOrSpec, load_choices, option
from freewill.cli.show import FAILED, say, say_json, table
from freewill.cli.standard import called
from freewill.cli.values import encode, read_columns
from freewill.core.progress import progress
from freewill.core.texts import number
from freewill.core.types import FloatArray
from freewill.domain.guarantees.audit import audit as recompute
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.leakage import leakage as measure
from freewill.domain.mechanisms.base import is_mechanism
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError, printable, several

_CLAIM = re.compile(
    r"([0-9.][^-]*(?:e-[0-9]+)?)-(?:(ldp)|(geo)(?:-[^ ]*)?(?: per (.+))?)", re.IGNORECASE
)


def audit(
    source: SurveyOrSpec,
    claim: Annotated[
        str | None, option("The guarantee to verify: 1.5-ldp, 0.1-geo or 0.1-geo per km.")
    ] = None,
    exact: Annotated[
        bool,
        option(
            "Prove the guarantee exactly, from the sampler's integers (small alphabets).", "--exact"
        ),
    ] = False,
    leakage: Annotated[
        bool,
        option(
            "Also measure what a report reveals: right guesses, mutual information, capacity.",
            "--leakage",
        ),
    ] = False,
    choice: Annotated[
        Path | None,
        option(
            "Who chooses what, a .csv, .parquet or .ndjson file: audit the choice with the report."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the privacy guarantee of every mechanism of a survey.

    The epsilon is recomputed from the mechanism's probabilities and compared with its own guarantee
    or with `--claim`. The exit code is 1 if a guarantee does not hold, or if rounding makes that
    undecidable. With `--exact` nothing is rounded: the integers that devices draw from prove which
    outputs are possible and what epsilon they give.

    A warning marks a guarantee that holds but protects little: more than 90 % of reports equal the
    true value or determine it, or epsilon is above 5 (an epsilon per unit of distance is multiplied
    by the mean distance of two values first). Warnings do not change the exit code.

    With `--leakage`, a second table shows what a report reveals under a uniform prior: the
    probability of guessing the value before and after the report, the mutual information in bits,
    and the capacity, its maximum over all priors (docs/leakage.md).

    With several questions, the mechanisms of each are verified; what a person reveals in all is the
    sum over the questions (docs/several-questions.md). If the survey has a cover, it is verified as
    well: what the mechanism that was used and the report reveal together (docs/cover.md).

    `--choice` audits the choice together with the report, because the collector sees both. The file
    has a row for each value, in a column `value` (or the coordinates of a map), and a column for
    each mechanism: the share of the people of that value who choose it. The exit code is 1 if the
    pair reveals more than is promised of the report alone (docs/choice-aware.md).

    Example:

        freewill audit survey.json --claim 4-ldp
        freewill audit survey.json --choice who.csv
    """
    if choice is not None:
        _audit_choice(source, choice, claim, as_json=as_json, alone=exact or leakage)
        return
    guarantee = None if claim is None else parse_claim(claim)
    choices = load_choices(source)
    named = _named(choices, Path(called(source)).stem)
    if guarantee is not None and guarantee.kind == "geo":  # between choices there is no distance
        named = {name: each for name, each in named.items() if is_mechanism(each)}
    with progress("auditing"):
        results = {name: recompute(each, guarantee, exact=exact) for name, each in named.items()}
        leaked = {n: measure(m) for n, m in named.items() if is_mechanism(m)} if leakage else {}
    holds = all(result.holds for result in results.values())
    if as_json:
        audits = {name: result.describe() for name, result in results.items()}
        for name, measured in leaked.items():
            audits[name]["leakage"] = measured.describe()
        say_json({"holds": holds, "audits": audits})
    else:
        rows = [[name, *result.row()] for name, result in results.items()]
        by = ("the sampler gives", "looked at") if exact else ("the law gives", "worst case")
        table(["name", "claimed", by[0], "verdict", by[1]], rows)
        if leaked:
            say("")
            heads = ["right guesses", "success rate", "bits told", "capacity", "min-capacity"]
            table(["name", *heads], [[name, *each.row()] for name, each in leaked.items()])
        for name, result in results.items():
            for text in result.warnings:
                say(f"\nwarning: {name}: {text}")
    if not holds:
        raise typer.Exit(FAILED)


def _audit_choice(
    source: Path, path: Path, claim: str | None, *, as_json: bool, alone: bool
) -> None:
    """Audit what the choices of a survey tell with their reports."""
    survey = load_choices(source)
    several_questions = isinstance(survey, Questionnaire)
    if not isinstance(survey, Survey) or several_questions or claim is not None or alone:
        raise ParameterError(
            f"--choice {path}: expected a survey of one question, and none of --claim, --exact "
            f"and --leakage, which are about the report of one mechanism alone."
        )
    with progress("auditing"):
        result = recompute(survey, choice=_law(survey, path))
    if as_json:
        say_json(result.to_dict())
    else:
        rows = [[name, *result.row(name)] for name in survey.mechanisms]
        table(["name", "promised", "choice and report", "verdict", "worst case"], rows)
    if not result.holds:
        raise typer.Exit(FAILED)


def _law(survey: Survey, path: Path) -> Mapping[str, FloatArray]:
    """Read who chooses what: a row a value, a column a mechanism."""
    alphabet, names = survey.alphabet, list(survey.mechanisms)
    axes = list(alphabet.axes)
    texts = axes if alphabet.labels else []
    columns = read_columns(path, [*axes, *names], texts)
    indices = encode(alphabet, columns[: len(axes)], axes, drop_outside=False).indices
    if sorted(indices.tolist()) != list(range(alphabet.size)):
        named = several(len(np.unique(indices)), "value")
        raise ParameterError(
            f"{path} has {several(len(indices), 'row')} of {named}: expected one row for each of "
            f"{several(alphabet.size, 'value')} of {alphabet}."
        )
    order = np.argsort(indices)
    return {name: own[order] for name, own in zip(names, columns[len(axes) :], strict=True)}


def _named(given: Any, alone: str) -> dict[str, Any]:
    """Return what is audited: the mechanisms of a survey, question by question, or one alone.

    A cover comes before them: where a mechanism has its name, the mechanism's audit is shown.
    """
    if isinstance(given, Questionnaire):
        return {
            f"{question}: {name}": audited
            for question, own in given.questions.items()
            for name, audited in _named(own, alone).items()
        }
    if not isinstance(given, Survey):
        return {alone: given}
    return {**({str(given.cover): given.cover} if given.cover else {}), **given.mechanisms}


def parse_claim(text: str) -> Guarantee:
    """Read a claim such as 1.5-ldp.

    >>> parse_claim("0.1-geo"), parse_claim("0.1-geo per km")
    (Guarantee(kind='geo', epsilon=0.1, unit=''), Guarantee(kind='geo', epsilon=0.1, unit='km'))
    """
    parts = _CLAIM.fullmatch(text)
    epsilon = None if parts is None else number(parts[1])
    if parts is None or epsilon is None:
        raise ParameterError(
            f"--claim {printable(text)}: expected a number and a kind: 1.5-ldp or 0.1-geo."
        )
    return Guarantee("geo" if parts[3] else "ldp", epsilon, parts[4] or "")
