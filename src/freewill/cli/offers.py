"""Levels of privacy as mechanisms, for one question or several: from options, or prompted for."""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import typer

from freewill.cli.options import as_number, parse_alphabet, parse_list, parse_pair
from freewill.cli.show import say
from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.family import Family
from freewill.domain.metrics import diameter
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, SurveyError, printable
from freewill.stats.planning.menus import Promise, candidates

_NAMES = ("careful", "balanced", "relaxed")
_EPSILONS = (0.5, 1.0, 2.0)
_SHARES = (0.2, 0.1, 0.05)
"""Of the largest distance: how far reports lie from the truth, on average."""
LDP: Promise = "ldp"
LOSS: Promise = "loss"
Level = tuple[str, float | tuple[float, float]]
"""A name, and a number or a range of epsilons."""
T = TypeVar("T")


def promise_on(alphabet: Alphabet, distance: bool | None) -> Promise:
    """Return what levels mean: mean distances where values have these, unless told."""
    near = isinstance(alphabet, Linear | Grid) and alphabet.size > 1
    if distance and not near:
        raise ParameterError(
            "--distance: words have no distances between them. Give levels as epsilons."
        )
    return LOSS if (near if distance is None else distance) else LDP


def offers(alphabet: Alphabet, levels: Iterable[Level], promise: Promise) -> dict[str, Mechanism]:
    """Return the mechanism of each level, by its name."""
    offered: dict[str, Mechanism] = {}
    for given, number in levels:
        name = given.strip()
        if name in offered:
            raise ParameterError(f"level {printable(name)!r} was named twice: names must differ.")
        offered[name] = (
            offer_range(alphabet, number, promise)
            if isinstance(number, tuple)
            else offer(alphabet, number, promise)
        )
    return offered


def offer(alphabet: Alphabet, level: float, promise: Promise) -> Mechanism:
    """Return the mechanism that a level stands for.

    Of k-RR and RAPPOR the one whose estimate of a rare value's share has the smaller variance,
    q (1 - q) / (p - q)^2 with p of a true and q of a false report: with s = e^(epsilon / 2), k-RR
    where k < s^3 + s^2 + s + 2.

    >>> import freewill as fw
    >>> print(offer(fw.Categorical(["yes", "no"]), 1.0, "ldp"), offer(fw.Linear(0, 99), 1.0, "ldp"))
    k-rr(2 labels, epsilon=1) rappor(0..99, epsilon=1)
    """
    mechanisms = {each.name: each for each in candidates(alphabet, level, promise)}
    if promise == LOSS:
        return list(mechanisms.values())[-1]
    root = math.exp(min(level, 700) / 2)
    few = alphabet.size < ((root + 1) * root + 1) * root + 2
    return mechanisms["k-rr" if few or "rappor" not in mechanisms else "rappor"]


def read_level(text: str) -> tuple[str, float | tuple[float, float]]:
    """Read NAME=NUMBER, or NAME=LOW..HIGH for a range of epsilons."""
    expected = "a name and a number, as careful=0.5, or a range, as yours=0.1..5"
    name, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if not (equals and dots):
        return parse_pair(text, "--level", expected)
    pair = [parse_pair(f"{name}={end}", "--level", expected)[1] for end in (low, high)]
    return name, (pair[0], pair[1])


def offer_range(alphabet: Alphabet, ends: tuple[float, float], promise: Promise) -> Mechanism:
    """Return the family that a range of epsilons stands for, of the kind for its middle.

    >>> import freewill as fw
    >>> print(offer_range(fw.Categorical(["yes", "no"]), (0.5, 4.0), "ldp"))
    family of k-rr(2 labels, epsilon=0.5 to 4, step=0.5)
    """
    if promise == LOSS:
        raise ParameterError(
            f"a level of {ends[0]:g}..{ends[1]:g}: a range is of epsilons, and levels are mean "
            f"distances here. Give --epsilon."
        )
    middle = math.sqrt(max(ends[0] * ends[1], 0.0))
    kind = type(offer(alphabet, middle or 1.0, promise))
    return Family(kind, alphabet, ends)


def prompt(text: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Prompt until the answer can be read, and say why it cannot."""
    while True:
        answer = typer.prompt(text, default, type=str, show_default=bool(default))
        try:
            return read(answer.strip())
        except (FreewillError, typer.BadParameter) as error:
            say(f"  {error}")


def prompt_alphabet() -> Alphabet:
    """Prompt for what people may answer."""
    say(
        "What may people answer?\n"
        "  numbers on a line     0..99[year], or 1920..2020:10 in steps\n"
        '  words                 yes,no,won\'t say; "car, shared" in quotes for its comma\n'
        "  places on a plane     24x16x0.5 (columns, rows, km a cell)\n"
        "  places on a map       24x16@37.72,37.79,-122.52,-122.38 (south, north, west, east)"
    )
    return prompt("answers", parse_alphabet)


def prompt_text(what: str, name: str) -> str | None:
    """Prompt for a text, which may be left out."""

    def read(text: str) -> str | None:
        return checked_text(text, name, LONGEST_TITLE, SurveyError) if text else None

    return prompt(f"{what} (Enter: none)", read, "")


def prompt_levels(alphabet: Alphabet, promise: Promise) -> list[tuple[str, float]]:
    """Prompt for levels of privacy, and a name for each."""
    if promise == LOSS:
        far = diameter(alphabet)
        usual = [float(f"{share * far:.2g}") for share in _SHARES]
        say("How far should a report lie from the truth, on average? One number for each level.")
    else:
        usual = list(_EPSILONS)
        say("What epsilon for each level? The smaller, the more private.")

    def read(texts: str) -> list[float]:
        numbers = [as_number(text) for text in parse_list(texts, "levels")]
        for number in numbers:
            offer(alphabet, number, promise)  # refused here if it cannot be made
        return numbers

    default = ",".join(f"{number:g}" for number in usual)
    numbers = prompt("levels, the most private first", read, default)
    say("A name for each level, as people read it:")
    names = [*_NAMES, *(f"level {number:g}" for number in numbers[len(_NAMES) :])]
    return [
        (prompt(f"name for {number:g}", str, name) or name, number)
        for name, number in zip(names, numbers, strict=False)
    ]


_POINT = "."


def by_options(
    ask: list[str], level: list[str], distance: bool | None, silence: str | None, title: str | None
) -> Questionnaire:
    """Make a survey from NAME=ANSWERS and levels, for all questions or for one."""
    alphabets: dict[str, Alphabet] = {}
    for text in ask:
        name, equals, answers = text.partition("=")
        if not (equals and name.strip() and answers):
            raise ParameterError(
                f"--ask {printable(text)}: expected a name and the answers, as age=0..99."
            )
        if name.strip() in alphabets:
            raise ParameterError(f"--ask {name.strip()!r} comes twice: names must differ.")
        alphabets[name.strip()] = parse_alphabet(answers)
    levels = _levels(level, alphabets)
    questions = {}
    for name, alphabet in alphabets.items():
        promise = promise_on(alphabet, distance)
        if not levels[name]:
            say(f"{name}: {alphabet}")
        own = levels[name] or prompt_levels(alphabet, promise)
        questions[name] = _question(alphabet, own, distance, silence, None)
    return Questionnaire(questions, title)


def _levels(texts: list[str], alphabets: dict[str, Alphabet]) -> dict[str, list[Level]]:
    """Read levels: QUESTION.NAME=NUMBER is of one question, any other of all."""
    levels: dict[str, list[Level]] = {name: [] for name in alphabets}
    for text in texts:
        name, number = read_level(text)
        own = [question for question in alphabets if name.startswith(f"{question}{_POINT}")]
        for question in own or alphabets:
            levels[question].append((name.removeprefix(f"{question}{_POINT}"), number))
    return levels


def by_prompts(title: str | None) -> Questionnaire:
    """Ask for questions until no more is named."""
    title = title or prompt_text("A title for their page", "title")
    questions: dict[str, Survey] = {}
    while True:
        ends = " (Enter: no more)" if questions else ", such as age"

        def named(text: str) -> str:
            if text in questions or (not text and not questions):
                raise ParameterError("expected a name that no question has yet.")
            return text

        name = prompt(f"A short name of question {len(questions) + 1}{ends}", named, "")
        if not name:
            return Questionnaire(questions, title)
        question = prompt_text("The question, as people read it", "question")
        alphabet = prompt_alphabet()
        levels: list[Level] = [*prompt_levels(alphabet, promise_on(alphabet, None))]
        silent = typer.confirm("May people leave it unanswered?", default=True)
        silence = prompt("name for no answer", str, "no answer") if silent else None
        questions[name] = _question(alphabet, levels, None, silence, question)


def _question(
    alphabet: Alphabet,
    levels: list[Level] | list[tuple[str, float]],
    distance: bool | None,
    silence: str | None,
    question: str | None,
) -> Survey:
    offered = offers(alphabet, levels, promise_on(alphabet, distance))
    if silence is not None:
        if silence in offered:
            raise ParameterError(f"--silence {silence!r} is the name of a level too: rename one.")
        offered[silence] = Silent(alphabet)
    return Survey(alphabet, offered, question=question)
