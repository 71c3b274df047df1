"""`freewill explain`: what the choices of a survey promise to people, in plain words."""

from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.options import AsJson, check_target, load_choices, option
from freewill.cli.overwrites import refuse_overwriting
from freewill.cli.show import remark, say, say_json
from freewill.cli.standard import DASH
from freewill.core.files import whole_file
from freewill.core.progress import progress
from freewill.device.explain import Explanation, SurveyExplanation
from freewill.device.explain import explain as in_words
from freewill.domain.survey import Survey
from freewill.errors import ParameterError


def explain(
    source: Annotated[
        Path,
        typer.Argument(help="A survey, or the JSON spec of one mechanism; - reads standard input."),
    ],
    choice: Annotated[
        str | None, option("Explain this choice alone, by its name or id.", "--choice", "-c")
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, option("Write the picture of the choice, .svg: see --choice.")
    ] = None,
) -> None:
    """Say in plain words what each choice of a survey promises, with a picture.

    Words that people can be shown before they choose: how often a report is the truth, how far off
    it is, how much it can give away, within which distance values stay hidden. A choice that hides
    next to nothing says so first. The exit code is 0 whatever is promised; `freewill audit` holds
    the laws to it.

    Example:

        freewill explain survey.json --choice careful
    """
    if plot is not None:
        if str(plot) == DASH:
            raise ParameterError("--plot -: a picture goes into a file, .svg.")
        refuse_overwriting(plot, [str(source)], "--plot")
        check_target(plot, (".svg",), "a picture of words")
    given: Any = load_choices(source)
    if choice is not None and not isinstance(given, Survey):
        raise ParameterError(f"--choice beside {source}, one mechanism: it has no choices.")
    with progress("explaining"):
        found: Explanation | SurveyExplanation = in_words(given, choice)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        say_json(found.describe())
    else:
        _show(found)


def _show(found: Explanation | SurveyExplanation) -> None:
    """Print choice by choice: a long menu is shown whole."""
    if isinstance(found, Explanation):
        say(str(found))
        return
    head = [text for text in (found.title, found.question) if text]
    parts = [*(["\n".join(head)] if head else []), *map(str, found.choices.values())]
    for place, part in enumerate(parts):
        say(("\n" if place else "") + part)


def _draw(found: Explanation | SurveyExplanation, path: Path) -> None:
    """Write the picture of one choice."""
    alone: Any = found if isinstance(found, Explanation) else next(iter(found.choices.values()))
    if isinstance(found, SurveyExplanation) and len(found) > 1:
        raise ParameterError("--plot: of which choice? Name it by --choice.")
    with whole_file(path) as part:
        part.write_text(alone.svg + "\n", encoding="utf-8")
    remark(f"picture written to {path}")
