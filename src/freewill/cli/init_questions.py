"""`freewill init` for several questions: from options, or prompted for one after the other."""

import typer

from freewill.cli.offers import (
    Level,
    offers,
    promise_on,
    prompt,
    prompt_alphabet,
    prompt_levels,
    prompt_text,
    read_level,
)
from freewill.cli.options import parse_alphabet
from freewill.cli.show import say
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.each import Silent
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, printable

_POINT = "."


def by_options(
    ask: list[str], level: list[str], distance: bool | None, silence: str | None, title: str | None
) -> Questionnaire:
    """Make a survey from NAME=ANSWERS and levels, for all questions or for one."""
    alphabets: dict[str, Alphabet] = {}
    for text in ask:
        name, found, answers = text.partition("=")
        if not (found and name.strip() and answers):
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
