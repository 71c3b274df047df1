"""Options of surveys of several questions: which of them, given what, and who chose what."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from freewill.cli.options import option, parse_list, parse_pair
from freewill.domain.alphabets.base import Alphabet, attributes_of, encode_texts
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, closest, printable, raised_as

_POINT = "."

Of = Annotated[
    str | None,
    option(
        "With several questions: use only these, as age or age,commute. Answers to all others are "
        "ignored, which saves memory.",
        "--of",
    ),
]
GivenValues = Annotated[
    list[str] | None,
    option(
        "With several questions: only among people with this answer, commute=bicycle, or with one "
        "of several answers, commute=bus,car. Repeatable, once for each question.",
        "--given",
    ),
]


Table = Annotated[
    str | None,
    option("With several questions: the question, or the two questions, to use, as age,commute."),
]


def parse_of(text: str | None, option_name: str = "--of") -> tuple[str, ...]:
    """Read the names of questions between commas; of nothing, none.

    >>> parse_of("age, commute"), parse_of(None)
    (('age', 'commute'), ())
    """
    return () if text is None else tuple(parse_list(text, option_name))


def parse_given(texts: Sequence[str] | None) -> dict[str, list[str]]:
    """Read QUESTION=VALUE, or several values between commas.

    >>> parse_given(["commute=bus,car", "vote=yes"])
    {'commute': ['bus', 'car'], 'vote': ['yes']}
    """
    given: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, values = text.partition("=")
        if not (equals and name.strip() and values.strip()):
            raise ParameterError(
                f"--given {printable(text)}: expected a question and its value, as "
                f"commute=bicycle, or several values, as commute=bus,car."
            )
        if name.strip() in given:
            raise ParameterError(
                f"--given {printable(text)}: {name.strip()!r} comes twice. Put all its values "
                f"behind one equals sign, with commas between them."
            )
        given[name.strip()] = parse_list(values, "--given")
    return given


def needed_questions(of: tuple[str, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all questions that an answer needs reports on; none where all are wanted."""
    twice = [name for name in of if name in given]
    if twice:
        raise ParameterError(
            f"--of and --given both name {twice[0]!r}: of people who all say the same, there is no "
            f"distribution. Leave out one."
        )
    return (*of, *given) if of else ()


def condition(given: Mapping[str, list[str]], alphabet: Alphabet) -> dict[str, Any]:
    """Return the values of each question, read as its alphabet writes them."""
    attributes, read = attributes_of(alphabet), dict[str, Any]()
    for name, texts in given.items():
        if name not in attributes:
            raise ParameterError(
                f"--given {name}=...: no such question; expected some of {', '.join(attributes)}."
                f"{closest(name, attributes)}"
            )
        inside = encode_texts(attributes[name], texts)
        if not inside.kept.all():
            wrong = texts[int(np.argmin(inside.kept))]
            raise ParameterError(
                f"--given {name}={printable(wrong)}: it is no value of {attributes[name]}."
            )
        read[name] = attributes[name].decode(inside.indices).tolist()
    return read


def chosen_mechanisms(texts: Sequence[str], questionnaire: Questionnaire) -> dict[str, str]:
    """Read QUESTION=NAME, or a NAME alone for all questions, into what is chosen for some."""
    chosen: dict[str, str] = {}
    questions = questionnaire.questions
    for text in texts:
        name, equals, called = text.partition("=")
        for question in [name] if equals else [*questions]:
            if question not in questions:
                raise ParameterError(
                    f"--mechanism {printable(text)}: no question {question!r}; expected some of "
                    f"{', '.join(questions)}.{closest(question, questions)}"
                )
            own = questions[question].names
            wanted_name = called if equals else text
            if wanted_name not in own:
                raise ParameterError(
                    f"--mechanism {printable(text)}: {question!r} offers "
                    f"{', '.join(map(repr, questions[question].mechanisms))}, and not "
                    f"{wanted_name!r}.{closest(wanted_name, own)}"
                )
            if question in chosen and equals:
                raise ParameterError(f"--mechanism: {question!r} comes twice; name it once.")
            chosen[question] = own[wanted_name]
    return chosen


def by_question(texts: Sequence[str], questionnaire: Questionnaire, name: str) -> dict[str, str]:
    """Read QUESTION=TEXT, each question once."""
    read: dict[str, str] = {}
    for text in texts:
        question, equals, answer = text.partition("=")
        if not equals or question not in questionnaire.questions or not answer:
            raise ParameterError(
                f"{name} {printable(text)}: expected a question and a column, as "
                f"{next(iter(questionnaire.questions))}=COLUMN; the questions are "
                f"{', '.join(questionnaire.questions)}."
            )
        if question in read:
            raise ParameterError(f"{name}: {question!r} comes twice; name it once.")
        read[question] = answer
    return read


def parse_shares(texts: Sequence[str], questionnaire: Questionnaire) -> dict[str, dict[str, float]]:
    """Read QUESTION.NAME=WEIGHT into shares of each question; unsaid, all are as likely."""
    weights = {
        name: dict.fromkeys(own.mechanisms, 0.0) for name, own in questionnaire.questions.items()
    }
    first = next(iter(questionnaire.questions))
    example = f"{first}{_POINT}{next(iter(questionnaire.questions[first].mechanisms))}=0.5"
    for text in texts:
        expected = f"QUESTION.NAME=WEIGHT, such as {example}"
        place, weight = parse_pair(text, "--share", expected, least=0)
        matching = [
            (question, own.names[place.removeprefix(f"{question}{_POINT}")])
            for question, own in questionnaire.questions.items()
            if place.startswith(f"{question}{_POINT}")
            and place.removeprefix(f"{question}{_POINT}") in own.names
        ]
        if not matching:
            raise ParameterError(f"--share {printable(text)}: expected {expected}.")
        weights[matching[0][0]][matching[0][1]] += weight
    shares = {}
    for question, own in weights.items():
        total = sum(own.values())
        if not math.isfinite(total):
            raise ParameterError("--share: the weights overflow; take smaller ones.")
        even = 1 / len(own)
        shares[question] = {n: (w / total if total else even) for n, w in own.items()}
    return shares


def planned_table(
    questionnaire: Questionnaire, names: tuple[str, ...], share: Sequence[str]
) -> tuple[Survey, Any]:
    """Return the survey of some questions, and the shares of what is chosen for each."""
    product = questionnaire.asked.alphabet
    if not names:
        raise ParameterError(
            f"a plan for several questions: say by --table which one or two of "
            f"{', '.join(product.attributes)} it is for."
        )
    with raised_as(ParameterError, "--table: "):
        wanted = [[*product.attributes][place] for place in product.places(names)]
    shares = parse_shares(share, questionnaire)
    if len(wanted) == 1:
        return questionnaire.questions[wanted[0]], shares[wanted[0]]
    some = {name: questionnaire.questions[name] for name in wanted}
    weights = product.weights and {name: product.weights[name] for name in wanted}
    return Questionnaire(some, weights=weights), {name: shares[name] for name in wanted}
