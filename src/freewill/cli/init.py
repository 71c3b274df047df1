"""`freewill init`: make a survey by answering a few questions."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from freewill.cli.options import AsJson, as_number, option, parse_alphabet, parse_list, parse_pair
from freewill.cli.show import say, say_json, table
from freewill.cli.standard import check_target
from freewill.core.texts import LONGEST_TITLE, checked_text
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.family import Family
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, SurveyError, printable
from freewill.stats.difference import diameter
from freewill.stats.planning.menus import Promise, candidates

_NAMES = ("careful", "balanced", "relaxed")
_EPSILONS = (0.5, 1.0, 2.0)
_SHARES = (0.2, 0.1, 0.05)
"""Of the largest distance: how far reports lie from the truth, on average."""
_LDP: Promise = "ldp"
_LOSS: Promise = "loss"
T = TypeVar("T")


def init(
    out: Annotated[Path, typer.Argument(help="The survey file to write, .json.")],
    alphabet: Annotated[
        str | None,
        option(
            "The possible answers: 0..99, yes,no (quotes protect commas), 24x16x0.5 (columns, "
            "rows, km), or 24x16@south,north,west,east (degrees).",
            "--alphabet",
            "-a",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        option(
            "A privacy level to offer, NAME=NUMBER: careful=0.5. With --epsilon also a range from "
            "which people choose their own, NAME=LOW..HIGH: yours=0.1..5.",
            "--level",
            "-l",
        ),
    ] = None,
    distance: Annotated[
        bool | None,
        option(
            "Whether levels are mean distances between report and true value, or epsilons.",
            "--distance/--epsilon",
        ),
    ] = None,
    question: Annotated[
        str | None, option("The question shown to participants.", "--question", "-q")
    ] = None,
    title: Annotated[str | None, option("The title of the participants' page.", "--title")] = None,
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a survey file.

    Prompts for whatever is not given as an option. Title and question are optional, and prompted
    for only together with the answers. Each level offers one mechanism. On lines and maps, levels
    are mean distances by default, and the mechanism adds geometric noise of that mean distance.
    With epsilons it is k-RR or RAPPOR, whichever estimates rare values more precisely.

    Example:

        freewill init survey.json
        freewill init ages.json -a "0..99[year]" -l careful=20 -l relaxed=5 -q "How old are you?"
    """
    check_target(out, (".json",), "a survey")
    if out.exists() and not force:
        raise ParameterError(f"{out} is there already: choose another name, or give --force.")
    if alphabet is None:
        question = question or _prompt_text("The question, as people read it", "question")
        title = title or _prompt_text("A title for their page", "title")
    values = _prompt_alphabet() if alphabet is None else parse_alphabet(alphabet)
    near = isinstance(values, Linear | Grid) and values.size > 1
    if distance and not near:
        raise ParameterError(
            "--distance: words have no distances between them. Give levels as epsilons."
        )
    promise = _LOSS if (near if distance is None else distance) else _LDP
    levels = [_level(text) for text in level or ()]
    offered: dict[str, Mechanism] = {}
    for given, number in levels or _prompt_levels(values, promise):
        name = given.strip()
        if name in offered:
            raise ParameterError(f"level {printable(name)!r} was named twice: names must differ.")
        offered[name] = (
            offer_range(values, number, promise)
            if isinstance(number, tuple)
            else offer(values, number, promise)
        )
    survey = Survey(values, offered, title, question)
    survey.save(out)
    if as_json:
        say_json({"out": str(out), "survey": survey.spec()})
        return
    rows = [[name, brief(made), made.guarantee().short] for name, made in offered.items()]
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
    mechanisms = {each.name: each for each in candidates(alphabet, level, promise)}
    if promise == _LOSS:
        return list(mechanisms.values())[-1]
    root = math.exp(min(level, 700) / 2)
    few = alphabet.size < ((root + 1) * root + 1) * root + 2
    return mechanisms["k-rr" if few or "rappor" not in mechanisms else "rappor"]


def _level(text: str) -> tuple[str, float | tuple[float, float]]:
    """Read NAME=NUMBER, or NAME=LOW..HIGH for a range of epsilons."""
    expected = "a name and a number, as careful=0.5, or a range, as yours=0.1..5"
    name, found, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if not (found and dots):
        return parse_pair(text, "--level", expected)
    pair = [parse_pair(f"{name}={end}", "--level", expected)[1] for end in (low, high)]
    return name, (pair[0], pair[1])


def offer_range(alphabet: Alphabet, ends: tuple[float, float], promise: Promise) -> Mechanism:
    """Return the family that a range of epsilons stands for, of the kind for its middle.

    >>> import freewill as fw
    >>> print(offer_range(fw.Categorical(["yes", "no"]), (0.5, 4.0), "ldp"))
    family of k-rr(2 labels, epsilon=0.5 to 4, step=0.5)
    """
    if promise == _LOSS:
        raise ParameterError(
            f"a level of {ends[0]:g}..{ends[1]:g}: a range is of epsilons, and levels are mean "
            f"distances here. Give --epsilon."
        )
    middle = math.sqrt(max(ends[0] * ends[1], 0.0))
    kind = type(offer(alphabet, middle or 1.0, promise))
    return Family(kind, alphabet, ends)


def _prompt(text: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Prompt until the answer can be read, and say why it cannot."""
    while True:
        answer = typer.prompt(text, default, type=str, show_default=bool(default))
        try:
            return read(answer.strip())
        except (FreewillError, typer.BadParameter) as error:
            say(f"  {error}")


def _prompt_alphabet() -> Alphabet:
    say(
        "What may people answer?\n"
        "  numbers on a line     0..99[year], or 1920..2020:10 in steps\n"
        '  words                 yes,no,won\'t say; "car, shared" in quotes for its comma\n'
        "  places on a plane     24x16x0.5 (columns, rows, km a cell)\n"
        "  places on a map       24x16@37.72,37.79,-122.52,-122.38 (south, north, west, east)"
    )
    return _prompt("answers", parse_alphabet)


def _prompt_text(what: str, name: str) -> str | None:
    """Prompt for a text, which may be left out."""

    def read(text: str) -> str | None:
        return checked_text(text, name, LONGEST_TITLE, SurveyError) if text else None

    return _prompt(f"{what} (Enter: none)", read, "")


def _prompt_levels(alphabet: Alphabet, promise: Promise) -> list[tuple[str, float]]:
    if promise == _LOSS:
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
    numbers = _prompt("levels, the most private first", read, default)
    say("A name for each level, as people read it:")
    names = [*_NAMES, *(f"level {number:g}" for number in numbers[len(_NAMES) :])]
    return [
        (_prompt(f"name for {number:g}", str, name) or name, number)
        for name, number in zip(names, numbers, strict=False)
    ]
