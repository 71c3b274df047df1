"""`freewill explain`: what the choices of a survey promise to people, in plain words."""

import math
from pathlib import Path
from typing import Annotated, Any

from freewill.cli.options import AsJson, SurveyOrSpec, load_choices, option
from freewill.cli.questions import by_question
from freewill.cli.show import remark, say, say_json
from freewill.cli.standard import DASH, check_target
from freewill.core.files import whole_file
from freewill.core.progress import progress
from freewill.device.explain import Explanation, QuestionnaireExplanation, SurveyExplanation
from freewill.device.explain import explain as in_words
from freewill.device.words import survey_texts
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError


def explain(
    source: SurveyOrSpec,
    choice: Annotated[
        str | None,
        option(
            "Explain only this choice, by name or id; with several questions, QUESTION=NAME.",
            "--choice",
            "-c",
        ),
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, option("Write a picture of one choice (see --choice): .svg.")
    ] = None,
    language: Annotated[
        str | None,
        option(
            "Language of the texts: de, en, es, fr, it or pt (default: the survey's own).",
            "--language",
            "-l",
        ),
    ] = None,
) -> None:
    """Say in plain words what each choice of a survey promises.

    The texts are for people who are about to choose: how often a report is true, how far off it is
    on average, how much it can reveal, and within which distance values stay indistinguishable. A
    choice that hides almost nothing says so first. The exit code is always 0; `freewill audit`
    verifies the guarantees. With several questions, each is explained, and then the most that all
    answers of a person reveal together.

    Example:

        freewill explain survey.json --choice careful
    """
    if plot is not None:
        if str(plot) == DASH:
            raise ParameterError("--plot -: a picture goes into a file, .svg.")
        check_target(plot, (".svg",), "a picture of words", [source], "--plot")
    choices: Any = load_choices(source)
    if choice is not None and not isinstance(choices, Survey):
        raise ParameterError(f"--choice beside {source}, one mechanism: it has no choices.")
    if isinstance(choices, Questionnaire) and (choice is not None or plot is not None):
        named = by_question([choice or ""], choices, "--choice", "choice")
        ((question, choice),) = named.items()
        choices = choices.questions[question]
    with progress("explaining"):
        explanation: Any = in_words(choices, choice, language=language)
    if plot is not None:
        _draw(explanation, plot)
    if isinstance(explanation, QuestionnaireExplanation):
        _explain_questions(explanation, choices, language, as_json=as_json)
    elif as_json:
        say_json(explanation.describe())
    else:
        _show(explanation)


def _explain_questions(
    whole: QuestionnaireExplanation, given: Questionnaire, language: str | None, *, as_json: bool
) -> None:
    """Print what each question's choices promise, and the most that all answers tell."""
    total = given.asked.guarantee()
    if as_json:
        questions = [{"name": name, **own.describe()} for name, own in whole.questions.items()]
        say_json({**whole.describe(), "questions": questions, "together": total.describe()})
        return
    if whole.title:
        say(f"{whole.title}\n")
    for name, own in whole.questions.items():
        say(f"{name}\n")
        _show(own)
        say("")
    said = survey_texts(given, language).words
    if total.epsilon == math.inf:
        say(said.say("", "together", "infinite"))
    else:
        say(said.say("", "together", "most", sum=said.in_digits(total.epsilon, 4, "up")))


def _show(explanation: Explanation | SurveyExplanation) -> None:
    """Print choice by choice: a long menu is shown whole."""
    if isinstance(explanation, Explanation):
        say(str(explanation))
        return
    head = explanation.head.values()
    parts = [*(["\n".join(head)] if head else []), *map(str, explanation.choices.values())]
    for place, part in enumerate(parts):
        say(("\n" if place else "") + part)


def _draw(explanation: Explanation | SurveyExplanation, path: Path) -> None:
    """Write the picture of one choice."""
    if isinstance(explanation, SurveyExplanation):
        first, *others = explanation.choices.values()
        if others:
            raise ParameterError("--plot: of which choice? Name it by --choice.")
        explanation = first
    with whole_file(path) as part:
        part.write_text(f"{explanation.svg}\n", encoding="utf-8")
    remark(f"picture written to {path}")
