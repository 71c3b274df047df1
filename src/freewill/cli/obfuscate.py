"""`freewill obfuscate`: play the part of people's devices, on a file of true values."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from freewill.cli.obfuscate_answers import Choosing, announced, draw_answers, offered_name
from freewill.cli.options import AsJson, SurveyPath, integral, load_survey, option, parse_pair
from freewill.cli.show import remark, say, say_json, table
from freewill.cli.standard import check_target, is_standard_output, standard_input, standard_output
from freewill.cli.values import encode, read_columns
from freewill.core.progress import progress
from freewill.core.types import BoolArray, IntArray
from freewill.domain.draws.sources import SystemGenerator
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, several, shown
from freewill.io.writing import write_reports


def obfuscate(
    values: Annotated[
        Path, typer.Argument(help="The true values: .csv, .parquet, .ndjson or - (CSV or NDJSON).")
    ],
    survey: SurveyPath,
    out: Annotated[
        Path, option("The reports file to write: .parquet, .csv, .ndjson or -.", "--out", "-o")
    ],
    column: Annotated[
        list[str] | None,
        option(
            "The column of values, by name or, without a header, by number: 1. For a grid give "
            "two columns: latitude and longitude, or km east and km north. With several "
            "questions, QUESTION=COLUMN for each column that is not named after its question.",
            "--column",
            "-c",
        ),
    ] = None,
    choice: Annotated[
        list[str] | None,
        option(
            "The column with the name of each person's mechanism; with several questions, "
            "QUESTION=COLUMN, repeatable."
        ),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        option(
            "The mechanism that everybody uses; with several questions, QUESTION=NAME, "
            "repeatable, or one NAME for all questions."
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        option(
            "The column with each person's own epsilon, for families of mechanisms; without it, "
            "epsilons are drawn uniformly from the levels of the family."
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        option(
            "NAME=WEIGHT: the share of people who choose a mechanism. Equal by default. With "
            "several questions, QUESTION.NAME=WEIGHT."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        integral(
            "Seed for reproducible tests and simulations. Never use it for real people: whoever "
            "guesses the seed can remove the noise.",
            0,
        ),
    ] = None,
    drop_outside: Annotated[
        bool, option("Leave out people whose value is not in the alphabet.", "--drop-outside")
    ] = False,
    as_json: AsJson = False,
) -> None:
    r"""Turn true values into noisy reports, as people's devices would: for trials and tests.

    Each person uses one mechanism of the survey: the one named in the `--choice` column, or one
    drawn at random with the given shares. For a family of mechanisms, the `--epsilon` column has
    each person's epsilon. With several questions, each has a column of values, and people choose a
    mechanism for each. If the survey has a cover, the mechanism that is used and reported is drawn
    at random, with probabilities that depend on the one chosen. Noise comes from the operating
    system's random generator. Reports are shuffled within each mechanism, so that no row reveals
    whose it was. With `-` as output, reports are CSV, and messages go to standard error.

    Example:

        freewill obfuscate ages.csv --survey survey.json --column age \
            --share careful=3 --share relaxed=1 --out reports.parquet
        freewill obfuscate people.csv -s questions.json --mechanism age=careful -o reports.csv
    """
    inputs = [path for path in (values, survey) if not path.is_dir()]
    check_target(out, (".parquet", ".csv", ".ndjson"), "a file of reports", inputs)
    aside = is_standard_output(out, as_json=as_json, binary=False)
    offered = load_survey(survey)
    rng = SystemGenerator() if seed is None else np.random.default_rng(seed)
    if isinstance(offered, Questionnaire):
        refuse_epsilon(epsilon)
        choosing = Choosing.of(offered, mechanism or [], choice or [], share or [])
        with (
            standard_input([str(values)]) as (source,),
            progress("obfuscating"),
            standard_output(out, ".csv") as target,
        ):
            answers = draw_answers(
                Path(source), offered, column or [], choosing, rng, drop_outside=drop_outside
            )
            write_reports(target, answers.parts, survey=offered)
        people: dict[str, dict[str, int]] = {
            name: dict.fromkeys(own.mechanisms, 0) for name, own in offered.questions.items()
        }
        for chosen_names, reports in answers.parts:
            for question, name in chosen_names.items():
                people[question][name] += len(reports)
        _show(people, answers.dropped, offered, out, seed, as_json=as_json, aside=aside)
        return
    column = _columns_of_one(column, choice, mechanism, share)
    names = list(offered.mechanisms)
    with standard_input([str(values)]) as (source,):
        chosen_by = choice or []
        texts = [*column, *chosen_by] if offered.alphabet.labels else chosen_by
        wanted = _epsilon_columns(epsilon, offered)
        given = read_columns(Path(source), [*column, *chosen_by, *wanted], texts)
    indices, kept = encode(
        offered.alphabet, given[: len(column)], column, drop_outside=drop_outside
    )
    choosing = Choosing(
        {"": offered.names[offered_name(mechanism[0], offered)]} if mechanism else {},
        {"": choice[0]} if choice else {},
        {"": parse_shares(share or [], offered)},
    )
    own_choices = given[len(column)][kept] if choice else None
    chosen = announced(choosing.chosen("", offered, own_choices, len(indices), rng), offered, rng)
    order = rng.permutation(len(indices))
    indices, chosen = indices[order], chosen[order]
    epsilons = given[-1][kept][order] if wanted else None
    with progress("obfuscating"), standard_output(out, ".csv") as target:
        parts = [
            (name, _drawn(offered.mechanisms[name], indices, chosen == number, epsilons, rng))
            for number, name in enumerate(names)
        ]
        write_reports(target, parts, survey=offered)
    people = {"": {name: len(reports) for name, reports in parts}}
    _show(people, int((~kept).sum()), offered, out, seed, as_json=as_json, aside=aside)


def _show(
    people: Mapping[str, Mapping[str, int]],
    dropped: int,
    offered: Survey,
    out: Path,
    seed: int | None,
    *,
    as_json: bool,
    aside: bool,
) -> None:
    """Say how many people chose what, of several questions for each."""
    if seed is not None:
        remark(
            f"drawn with the seed {seed}: whoever guesses it takes the noise off these reports. "
            f"They are for tests and simulations, and protect nobody."
        )
    if as_json:
        given = people.get("", people)
        say_json({"out": str(out), "people": given, "dropped": dropped, "seed": seed})
        return
    questions = getattr(offered, "questions", {"": offered})
    rows = [
        [*filter(None, [question]), name, brief(made), f"{people[question][name]:,}", promise]
        for question, own in questions.items()
        for name, made in own.mechanisms.items()
        for promise in [made.guarantee().short]
    ]
    heads = ["question", "name", "mechanism", "people", "promise"][-len(rows[0]) :]
    table(heads, rows, numbers=(len(heads) - 2,), stderr=aside)
    if not aside:
        reports = several(sum(next(iter(people.values())).values()), "report")
        which = "" if "" in people else f" on {several(len(people), 'question')}"
        say(f"\n{reports}{which} written to {out}")
    if dropped:
        remark(f"left out: {several(dropped, 'person')} outside {offered.alphabet}.")


def _columns_of_one(
    column: list[str] | None,
    choice: list[str] | None,
    mechanism: list[str] | None,
    share: list[str] | None,
) -> list[str]:
    """Return the columns of one question, after checking the options that go with it."""
    if not column:
        raise ParameterError("--column is missing: which column has the values? --column age")
    given = {"--choice": choice, "--mechanism": mechanism, "--share": share}
    ways = [name for name, texts in given.items() if texts]
    if len(ways) > 1:
        raise ParameterError(f"{' and '.join(ways)} were both given: take one of them.")
    for name in ("--choice", "--mechanism"):
        if len(given[name] or ()) > 1:
            raise ParameterError(f"{name} was given twice: the survey has one question.")
    return column


def refuse_epsilon(epsilon: str | None) -> None:
    """Refuse a column of epsilons for several questions."""
    if epsilon is not None:
        raise ParameterError(
            f"--epsilon {shown(epsilon)}: families, of which people choose an epsilon, are not yet "
            f"mixed with other mechanisms question by question. Leave it out."
        )


def parse_shares(texts: list[str], survey: Survey) -> NDArray[np.float64]:
    """Read NAME=WEIGHT texts into one share for each mechanism; none given means equal shares."""
    names = list(survey.mechanisms)
    weights = [0.0 if texts else 1.0] * len(names)
    for text in texts:
        name, weight = parse_pair(text, "--share", f"NAME=WEIGHT, such as {names[0]}=0.5", least=0)
        weights[names.index(survey.names[offered_name(name, survey)])] += weight
    total = sum(weights)
    if not 0 < total < math.inf:
        fault = "overflow; take smaller ones" if total else "are all 0; someone must choose"
        raise ParameterError(f"--share: the weights {fault}.")
    return np.array(weights) / total


def _epsilon_columns(epsilon: str | None, survey: Survey) -> list[str]:
    """Return the column of epsilons, if there is one and a mechanism to use them."""
    if epsilon is not None and not any(m.chooses_epsilon for m in survey.mechanisms.values()):
        raise ParameterError(
            f"--epsilon {shown(epsilon)}: no mechanism of the survey lets people choose an "
            f"epsilon. A family does: docs/families.md."
        )
    return [] if epsilon is None else [epsilon]


def _drawn(
    mechanism: Mechanism,
    indices: IntArray,
    who: BoolArray,
    epsilons: NDArray[Any] | None,
    rng: np.random.Generator,
) -> Any:
    """Draw the reports of some people, each at their own epsilon where they have one."""
    if epsilons is None or not mechanism.chooses_epsilon:
        return mechanism.obfuscate(indices[who], rng)
    family: Any = mechanism
    return family.obfuscate(indices[who], rng, epsilon=epsilons[who])
