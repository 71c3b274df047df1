"""`freewill obfuscate`: play the part of people's devices, on a file of true values."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from freewill.cli.options import AsJson, SurveyPath, integral, load_survey, option
from freewill.cli.questions import by_question, chosen_mechanisms, parse_shares, questions_of
from freewill.cli.show import remark, say, say_json, table
from freewill.cli.standard import check_target, is_standard_output, standard_input, standard_output
from freewill.cli.values import encode, read_columns
from freewill.core.progress import progress
from freewill.core.types import BoolArray, IntArray
from freewill.domain.draws.sources import SystemGenerator
from freewill.domain.draws.tables import Table, whole_weights
from freewill.domain.mechanisms.base import brief
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import AlphabetError, ParameterError, raised_as, several, shown
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
    choosing = Choosing(
        chosen_mechanisms(mechanism or [], offered),
        by_question(choice or [], offered, "--choice"),
        parse_shares(share or [], offered),
    )
    choosing.refuse_two(questions_of(offered))
    columns = _columns(column or [], offered)
    epsilons = _epsilon_columns(epsilon, offered)
    rng = SystemGenerator() if seed is None else np.random.default_rng(seed)
    with (
        standard_input([str(values)]) as (source,),
        progress("obfuscating"),
        standard_output(out, ".csv") as target,
    ):
        parts, dropped = _drawn(
            Path(source), offered, columns, choosing, epsilons, rng, drop_outside=drop_outside
        )
        write_reports(target, ((names.get("", names), own) for names, own in parts), survey=offered)
    people = {
        question: dict.fromkeys(own.mechanisms, 0)
        for question, own in questions_of(offered).items()
    }
    for names, drawn in parts:
        for question, name in names.items():
            people[question][name] += len(drawn)
    if seed is not None:
        remark(
            f"drawn with the seed {seed}: whoever guesses it takes the noise off these reports. "
            f"They are for tests and simulations, and protect nobody."
        )
    if as_json:
        counts = people.get("", people)
        say_json({"out": str(out), "people": counts, "dropped": dropped, "seed": seed})
        return
    _show(people, offered, stderr=aside)
    if not aside:
        reports = several(sum(next(iter(people.values())).values()), "report")
        which = "" if "" in people else f" on {several(len(people), 'question')}"
        say(f"\n{reports}{which} written to {out}")
    if dropped:
        remark(f"left out: {several(dropped, 'person')} outside {offered.alphabet}.")


def _show(people: Mapping[str, Mapping[str, int]], offered: Survey, *, stderr: bool) -> None:
    """Print how many people chose what, of several questions for each."""
    rows = [
        [*filter(None, [question]), name, brief(made), f"{many:,}", made.guarantee().short]
        for question, own in questions_of(offered).items()
        for (name, made), many in zip(
            own.mechanisms.items(), people[question].values(), strict=True
        )
    ]
    heads = ["question", "name", "mechanism", "people", "promise"][-len(rows[0]) :]
    table(heads, rows, numbers=(len(heads) - 2,), stderr=stderr)


class Choosing(NamedTuple):
    """How people choose, by question: one mechanism for all, a column of names, or by chance."""

    named: Mapping[str, str]
    columns: Mapping[str, str]
    shares: Mapping[str, Mapping[str, float]]

    def refuse_two(self, questions: Iterable[str]) -> None:
        """Refuse two ways to choose for one question."""
        for question in questions:
            ways = zip(("--mechanism", "--choice", "--share"), self, strict=True)
            given = [way for way, some in ways if question in some]
            if len(given) > 1:
                what = f"{' and '.join(given)} both say what is chosen"
                raise ParameterError(
                    f"{what}{question and f' for {question!r}'}: take one of them."
                )

    def used(
        self, question: str, own: Survey, given: Mapping[str, Any], people: int, rng: Any
    ) -> IntArray:
        """Return the place of the mechanism that each person uses for a question."""
        names = list(own.mechanisms)
        if question in self.named:
            chosen = np.full(people, names.index(self.named[question]))
        elif question in self.columns:
            head = question and f"--choice {question}={self.columns[question]}: "
            with raised_as(ParameterError, head):
                chosen = _places(given[self.columns[question]], own)
        else:
            shares = self.shares.get(question, dict.fromkeys(names, 1 / len(names)))
            chosen = Table.of(whole_weights(np.array([*shares.values()]))).many(people, rng)
        if own.cover is None:
            return chosen
        announced: IntArray = own.cover.announcement.obfuscate(chosen, rng)
        return announced


def _places(choices: Any, own: Survey) -> IntArray:
    """Turn the names that people chose into places in the survey."""
    try:
        names = choices.astype(str)
    except ValueError:  # bytes of no text, lists
        raise ParameterError(
            f"--choice: {shown(choices[0])} names no mechanism; expected a column of names."
        ) from None
    every = list(own.mechanisms)
    present, where = np.unique(names, return_inverse=True)
    for name in present.tolist():
        own.find(name)
    places = [every.index(own.names[name]) for name in present.tolist()]
    return np.array(places, dtype=np.int64)[where]


def _columns(given: list[str], survey: Survey) -> dict[str, list[str]]:
    """Return the columns of each question: its own name, unless told; of a grid two are told."""
    if not isinstance(survey, Questionnaire):
        if not given:
            raise ParameterError("--column is missing: which column has the values? --column age")
        return {"": given}
    named = by_question(given, survey, "--column")
    columns = {}
    for name, own in survey.questions.items():
        axes = own.alphabet.axes
        wanted = named.get(name, name)
        columns[name] = wanted.split(",") if len(axes) > 1 and name in named else [wanted]
        if len(columns[name]) != len(axes):
            raise AlphabetError(
                f"question {name!r}: values of {own.alphabet} stand in "
                f"{several(len(axes), 'column')}. Give "
                f"--column {name}={','.join(axis.upper() for axis in axes)}."
            )
    return columns


def _epsilon_columns(epsilon: str | None, survey: Survey) -> list[str]:
    """Return the column of epsilons, if there is one and a mechanism to use them."""
    if epsilon is None:
        return []
    if isinstance(survey, Questionnaire):
        raise ParameterError(
            f"--epsilon {shown(epsilon)}: families, of which people choose an epsilon, are not yet "
            f"mixed with other mechanisms question by question. Leave it out."
        )
    if not any(made.chooses_epsilon for made in survey.mechanisms.values()):
        raise ParameterError(
            f"--epsilon {shown(epsilon)}: no mechanism of the survey lets people choose an "
            f"epsilon. A family does: docs/families.md."
        )
    return [epsilon]


def _drawn(
    path: Path,
    survey: Survey,
    columns: Mapping[str, list[str]],
    choosing: Choosing,
    epsilon: list[str],
    rng: Any,
    *,
    drop_outside: bool,
) -> tuple[list[tuple[dict[str, str], Any]], int]:
    """Read true values, and draw everybody's reports in random order, by what they chose.

    Say how many people were left out.
    """
    questions = questions_of(survey)
    labels = (some for question, some in columns.items() if questions[question].alphabet.labels)
    texts = [*chain.from_iterable(labels), *choosing.columns.values()]
    names = [*chain.from_iterable(columns.values()), *choosing.columns.values(), *epsilon]
    given = dict(zip(names, read_columns(path, names, texts), strict=True))
    values, kept = _encoded(columns, given, survey, drop_outside)
    given = {name: given[name][kept] for name in (*choosing.columns.values(), *epsilon)}
    chosen = {
        question: choosing.used(question, own, given, values.size, rng)
        for question, own in questions.items()
    }
    order = rng.permutation(values.size)
    which = np.zeros(values.size, dtype=np.int64)
    for question, own in questions.items():
        combined = which * len(own.mechanisms) + chosen[question]
        which = (np.cumsum(np.bincount(combined) > 0) - 1)[combined]
    # Of all who chose alike, any one tells what they chose.
    anyone = np.zeros(which.max() + 1, dtype=np.int64)
    anyone[which] = np.arange(which.size)
    which, parts = which[order], []
    for number, person in enumerate(anyone.tolist()):
        picked = {name: [*own.mechanisms][chosen[name][person]] for name, own in questions.items()}
        mechanism: Any = (
            survey.chosen(picked)
            if isinstance(survey, Questionnaire)
            else survey.mechanisms[picked[""]]
        )
        who = order[which == number]
        more = {}
        if epsilon and mechanism.chooses_epsilon:
            more["epsilon"] = given[epsilon[0]][who]
        parts.append((picked, mechanism.obfuscate(values[who], rng, **more)))
    return parts, int((~kept).sum())


def _encoded(
    columns: Mapping[str, list[str]], given: Mapping[str, Any], survey: Survey, drop_outside: bool
) -> tuple[IntArray, BoolArray]:
    """Return the value, or the record, of everybody whose values are inside, and who that is."""
    kept, parts = np.ones(len(next(iter(given.values()))), dtype=np.bool_), []
    for question, some in columns.items():
        alphabet = questions_of(survey)[question].alphabet
        with raised_as(AlphabetError, question and f"question {question!r}: "):
            inside = encode(alphabet, [given[one] for one in some], some, drop_outside=drop_outside)
        own = np.zeros(kept.size, dtype=np.int64)
        own[inside.kept] = inside.indices
        parts.append(own)
        kept &= inside.kept
    if not kept.any():
        raise AlphabetError(
            "nobody is left: every person has a value outside the alphabet of some question. Is "
            "it the right survey, and are these the right columns?"
        )
    records: Any = survey.alphabet
    return records.joined([own[kept] for own in parts]) if len(parts) > 1 else parts[0][kept], kept
