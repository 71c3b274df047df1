"""Options of surveys of several questions: which of them, given what, and who chose what."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from freewill.cli.options import option, parse_list, parse_pair
from freewill.domain.alphabets.base import Alphabet, attributes_of, encode_texts
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError, closest, none_of, printable, raised_as

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


def questions_of(survey: Survey) -> Mapping[str, Survey]:
    """Return the questions of a survey by their names; the only one of a survey has none."""
    return survey.questions if isinstance(survey, Questionnaire) else {"": survey}


def parse_of(text: str | None, option_name: str = "--of") -> tuple[str, ...]:
    """Read the names of questions between commas; of nothing, none.

    >>> parse_of("age, commute"), parse_of(None)
    (('age', 'commute'), ())
    """
    return () if text is None else tuple(parse_list(text, option_name))


def parse_named(
    texts: Sequence[str], option_name: str, expected: str, names: Collection[str] | None = None
) -> dict[str, str]:
    """Read NAME=TEXT, each name once and, where these are known, one of the names that there are.

    >>> parse_named(["age = 0..99"], "--ask", "a name and the answers, as age=0..99")
    {'age': '0..99'}
    """
    read: dict[str, str] = {}
    for text in texts:
        name, _, rest = (part.strip() for part in text.partition("="))
        if not (name and rest) or (names is not None and name not in names):
            raise ParameterError(
                f"{option_name} {printable(text)}: expected {expected}.{closest(name, names or ())}"
            )
        if name in read:
            raise ParameterError(
                f"{option_name} {printable(text)}: {name!r} comes twice, and may come once: "
                f"expected {expected}."
            )
        read[name] = rest
    return read


def parse_given(texts: Sequence[str] | None) -> dict[str, list[str]]:
    """Read QUESTION=VALUE, or several values between commas.

    >>> parse_given(["commute=bus,car", "vote=yes"])
    {'commute': ['bus', 'car'], 'vote': ['yes']}
    """
    expected = "a question and its value, as commute=bicycle, or several values, as commute=bus,car"
    given = parse_named(texts or (), "--given", expected)
    return {name: parse_list(values, "--given") for name, values in given.items()}


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


def by_question(
    texts: Sequence[str], survey: Survey, option_name: str, what: str = "column"
) -> dict[str, str]:
    """Read QUESTION=TEXT, each question once; of a survey of one question, its text."""
    questions = questions_of(survey)
    if "" not in questions:
        first, listed = next(iter(questions)), ", ".join(questions)
        expected = f"a question and a {what}, as {first}={what.upper()}; the questions are {listed}"
        return parse_named(texts, option_name, expected, questions)
    if len(texts) > 1:
        raise ParameterError(f"{option_name} was given twice: the survey has one question.")
    return dict.fromkeys(questions, *texts) if texts else {}


def chosen_mechanisms(texts: Sequence[str], survey: Survey) -> dict[str, str]:
    """Read QUESTION=NAME, or a NAME alone for all questions, into what is chosen for some."""
    questions = questions_of(survey)
    for_all = [] if "" in questions else [text for text in texts if "=" not in text]
    for_one = [text for text in texts if text not in for_all]
    named = by_question(for_one, survey, "--mechanism", "mechanism")
    chosen = {question: name for name in for_all for question in questions} | named
    for question, name in chosen.items():
        with raised_as(ParameterError, question and f"--mechanism {question}={printable(name)}: "):
            questions[question].find(name)
    return {question: questions[question].names[name] for question, name in chosen.items()}


def parse_shares(texts: Sequence[str], survey: Survey) -> dict[str, dict[str, float]]:
    """Read NAME=WEIGHT, or QUESTION.NAME=WEIGHT, into the shares of each question that is named."""
    weights: dict[str, dict[str, float]] = {}
    questions = {name and f"{name}.": (name, own) for name, own in questions_of(survey).items()}
    listed = [f"{head}{name}" for head, (_, own) in questions.items() for name in own.mechanisms]
    named = {
        f"{head}{called}": (question, own, name)
        for head, (question, own) in questions.items()
        for called, name in own.names.items()
    }
    for text in texts:
        expected = f"NAME=WEIGHT, such as {listed[0]}=0.5"
        called, weight = parse_pair(text, "--share", expected, least=0)
        if called not in named:
            raise ParameterError(none_of("--share of", called, listed))
        question, own, name = named[called]
        weights.setdefault(question, dict.fromkeys(own.mechanisms, 0.0))[name] += weight
    for some in weights.values():
        total = sum(some.values())
        if not 0 < total < math.inf:
            fault = "overflow; take smaller ones" if total else "are all 0; someone must choose"
            raise ParameterError(f"--share: the weights {fault}.")
        some |= {name: weight / total for name, weight in some.items()}
    return weights


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
    some = {name: questionnaire.questions[name] for name in wanted}
    if len(wanted) == 1:
        return some[wanted[0]], shares.get(wanted[0])
    weights = product.weights and {name: product.weights[name] for name in wanted}
    return Questionnaire(some, weights=weights), {name: shares.get(name) for name in wanted}
