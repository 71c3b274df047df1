"""`freewill init`: make a survey by answering a few questions."""

import math
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import (
    AsJson,
    as_number,
    check_target,
    option,
    parse_alphabet,
    parse_list,
)
from freewill.cli.show import say, say_json, table
from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, SurveyError, printable
from freewill.stats.distance import diameter
from freewill.stats.planning.menus import Promise, candidates

_NAMES = ("careful", "balanced", "relaxed")
_EPSILONS = (0.5, 1.0, 2.0)
_SHARES = (0.2, 0.1, 0.05)
"""Of the largest distance: how far reports lie from the truth, on average."""
_LDP: Promise = "ldp"
_LOSS: Promise = "loss"


def init(
    out: Annotated[Path, typer.Argument(help="Where the survey goes, .json.")],
    alphabet: Annotated[
        str | None,
        option(
            "What people may answer: 0..99, yes,no (quotes protect commas), 24x16x0.5 (cells, km), "
            "or 24x16@south,north,west,east (degrees).",
            "--alphabet",
            "-a",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        option(
            "A level of protection by its name in words, as careful=0.5; many times.",
            "--level",
            "-l",
        ),
    ] = None,
    distance: Annotated[
        bool | None,
        option(
            "Levels are distances that reports lie from the truth on average, or epsilons.",
            "--distance/--epsilon",
        ),
    ] = None,
    question: Annotated[
        str | None, option("The question, as people read it on their page.", "--question", "-q")
    ] = None,
    title: Annotated[str | None, option("The title of that page.", "--title")] = None,
    force: Annotated[bool, option("Replace a file that is there.", "--force")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a survey, by questions or by options, so that nobody writes JSON by hand.

    What is not given as an option is asked for; question and title, which may be left out, where
    the answers are. At each level people are offered one mechanism: on
    lines and maps, with levels as distances, geometric noise that moves a report so far on average;
    with levels as epsilons, k-RR where there are few values and RAPPOR where there are many.

    Example:

        freewill init survey.json
        freewill init ages.json -a "0..99[year]" -l careful=20 -l relaxed=5 -q "How old are you?"
    """
    check_target(out, (".json",), "a survey")
    if out.exists() and not force:
        raise ParameterError(f"{out} is there already: choose another name, or give --force.")
    if alphabet is None:
        question = question or _asked_text("The question, as people read it", "question")
        title = title or _asked_text("A title for their page", "title")
    values = _asked_alphabet() if alphabet is None else parse_alphabet(alphabet)
    promise = _promise(values, distance)
    levels = _asked_levels(values, promise) if not level else [_parsed(one) for one in level]
    _refuse_twice(levels)
    offered = {name: offer(values, number, promise) for name, number in levels}
    survey = Survey(values, offered, title, question)
    survey.save(out)
    if as_json:
        say_json({"out": str(out), "survey": survey.spec()})
        return
    rows = [[name, brief(one), one.guarantee().short] for name, one in offered.items()]
    table(["name", "mechanism", "promise"], rows)
    say(f"\nsurvey written to {out}; next: freewill serve {out}")


def offer(alphabet: Alphabet, level: float, promise: Promise) -> Mechanism:
    """Return the mechanism that a level stands for.

    Of k-RR and RAPPOR the one whose estimate of a rare value's share has the smaller variance,
    q (1 - q) / (p - q)^2 with p of a true and q of a false report: with s = e^(epsilon / 2), k-RR
    where k < s^3 + s^2 + s + 2.

    >>> import freewill as fw
    >>> print(offer(fw.Categorical(["yes", "no"]), 1.0, "ldp"), offer(fw.Linear(0, 99), 1.0, "ldp"))
    k-rr(2 labels, epsilon=1) rappor(0..99, epsilon=1)
    """
    found = {one.name: one for one in candidates(alphabet, level, promise)}
    if promise == _LOSS:
        return list(found.values())[-1]
    root = math.exp(min(level, 700) / 2)
    few = alphabet.size < ((root + 1) * root + 1) * root + 2
    return found["k-rr" if few or "rappor" not in found else "rappor"]


def _promise(alphabet: Alphabet, distance: bool | None) -> Promise:
    near = isinstance(alphabet, Linear | Grid) and alphabet.size > 1
    if distance and not near:
        raise ParameterError(
            "--distance: words have no distances between them. Give levels as epsilons."
        )
    return _LOSS if (near if distance is None else distance) else _LDP


def _asked_alphabet() -> Alphabet:
    say(
        "What may people answer?\n"
        "  numbers on a line     0..99[year], or 1920..2020:10 in steps\n"
        '  words                 yes,no,won\'t say; "car, shared" in quotes for its comma\n'
        "  places on a plane     24x16x0.5 (columns, rows, km a cell)\n"
        "  places on a map       24x16@37.72,37.79,-122.52,-122.38 (south, north, west, east)"
    )
    while True:
        try:
            return parse_alphabet(typer.prompt("answers", type=str).strip())
        except FreewillError as error:
            say(f"  {error}")


def _asked_text(what: str, name: str) -> str | None:
    """Ask for a text, which may be left out."""
    while True:
        text = str(typer.prompt(f"{what} (Enter: none)", "", type=str, show_default=False)).strip()
        try:
            return checked_text(text, name, LONGEST_TITLE, SurveyError) if text else None
        except FreewillError as error:
            say(f"  {error}")


def _asked_levels(alphabet: Alphabet, promise: Promise) -> list[tuple[str, float]]:
    if promise == _LOSS:
        far = diameter(alphabet)
        usual = [float(f"{share * far:.2g}") for share in _SHARES]
        say("How far should a report lie from the truth, on average? One number a level of choice.")
    else:
        usual = list(_EPSILONS)
        say("How much may a report tell (epsilon: the smaller, the more private)? One a level.")
    default = ",".join(f"{one:g}" for one in usual)
    while True:
        texts = typer.prompt("levels, the most private first", default, type=str)
        try:
            numbers = [as_number(text) for text in parse_list(texts, "levels")]
            for one in numbers:
                offer(alphabet, one, promise)
        except (FreewillError, typer.BadParameter) as error:
            say(f"  {error}")
            continue
        break
    say("What should people read? A word or two for each level.")
    return [(_asked_name(place, number), number) for place, number in enumerate(numbers)]


def _asked_name(place: int, number: float) -> str:
    usual = _NAMES[place] if place < len(_NAMES) else f"level {number:g}"
    return str(typer.prompt(f"words for {number:g}", usual, type=str)).strip() or usual


def _parsed(text: str) -> tuple[str, float]:
    name, mark, number = text.rpartition("=")
    try:
        if not mark:
            raise typer.BadParameter("no =")
        return name.strip(), as_number(number.strip())
    except typer.BadParameter:
        raise ParameterError(
            f"--level {printable(text)}: expected words and a number, as careful=0.5."
        ) from None


def _refuse_twice(levels: list[tuple[str, float]]) -> None:
    names = [name for name, _ in levels]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"level {printable(twice)!r} was named twice: names must differ.")
