"""`freewill init`: make a survey by answering a few questions, also over a map."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.offers import (
    by_options,
    by_prompts,
    offers,
    promise_on,
    prompt_alphabet,
    prompt_levels,
    prompt_text,
    read_level,
)
from freewill.cli.options import AsJson, as_number, option, parse_alphabet
from freewill.cli.show import say, say_json, table
from freewill.cli.standard import check_target
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.cover import Cover
from freewill.domain.maps import MapGrid, map_grid
from freewill.domain.mechanisms.base import brief
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey, parsed
from freewill.domain.survey_texts import slug
from freewill.errors import FreewillError, ParameterError, printable, raised_as, several, why


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
    districts: Annotated[
        Path | None,
        option(
            "A map, .geojson in degrees. Square cells over its areas become the possible answers, "
            "and the page shows the map below them. Instead of --alphabet (docs/maps.md).",
            "--map",
        ),
    ] = None,
    cell: Annotated[float | None, option("With --map: the side of a cell in km.")] = None,
    cells: Annotated[
        int | None, option("With --map: approximate number of cells (default: 1,000).")
    ] = None,
    map_name: Annotated[
        str | None, option("With --map: the property that contains names (default: name).")
    ] = None,
    mask: Annotated[
        bool, option("With --map: leave out cells that no area overlaps.", "--mask/--no-mask")
    ] = True,
    level: Annotated[
        list[str] | None,
        option(
            "A privacy level to offer, NAME=NUMBER: careful=0.5. With --epsilon, NAME=LOW..HIGH "
            "is a range in which people choose their own epsilon: yours=0.1..5. With several "
            "questions, QUESTION.NAME=NUMBER is a level of one question.",
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
    name: Annotated[
        str | None,
        option(
            "Short name for the survey's address, such as commute-2026, which stays when texts "
            "are corrected (default: made from the title or the question)."
        ),
    ] = None,
    ask: Annotated[
        list[str] | None,
        option(
            "One of several questions, NAME=ANSWERS: age=0..99. Repeatable; instead of --alphabet."
        ),
    ] = None,
    silence: Annotated[
        str | None,
        option(
            "With several questions: let people skip each one; the choice to skip is shown "
            "under this name."
        ),
    ] = None,
    several: Annotated[
        bool, option("Prompt for several questions, one after the other.", "--several")
    ] = False,
    cover: Annotated[
        str | None,
        option(
            "Also protect which level a person chose, EPSILON or EPSILON,protection: the level "
            "that is used is drawn at random, with probabilities that depend on the choice "
            "(docs/cover.md). With several questions, this applies to each."
        ),
    ] = None,
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a survey file.

    Prompts for whatever is not given as an option. Title and question are optional, and prompted
    for only if --alphabet is missing as well. Each level offers one mechanism. On lines and maps,
    levels are mean distances by default, and the mechanism adds geometric noise of that mean
    distance. With --epsilon the mechanism is k-RR or RAPPOR, whichever estimates rare values more
    precisely.

    With --ask or --several, the survey has several questions (docs/several-questions.md). People
    choose a level for each and, with --silence, may leave it unanswered.

    Example:

        freewill init survey.json
        freewill init ages.json -a "0..99[year]" -l careful=20 -l relaxed=5 -q "How old are you?"
        freewill init homes.json --map districts.geojson --cell 0.5 -l careful=2 -l relaxed=0.5
        freewill init both.json --ask age=0..99 --ask commute=car,bus --epsilon -l shy=1 -l open=4
    """
    check_target(out, (".json",), "a survey")
    if out.exists() and not force:
        raise ParameterError(f"{out} is there already: choose another name, or give --force.")
    survey: Survey
    if districts is None and any(one is not None for one in (cell, cells, map_name)):
        raise ParameterError("--cell, --cells and --map-name are of a map: give --map as well.")
    if ask or several:
        given = (alphabet, question, districts)
        if any(one is not None for one in given) or (ask and several):
            raise ParameterError(
                "--ask, --several and --alphabet (with --question) each say what is asked: take "
                "one of them."
            )
        levels = level or []
        survey = by_options(ask, levels, distance, silence, title) if ask else by_prompts(title)
    else:
        if silence is not None:
            raise ParameterError(
                "--silence is for several questions: who says nothing to the only one sends "
                "nothing. Leave it out, or give --ask."
            )
        if districts is not None and alphabet is not None:
            raise ParameterError("--map and --alphabet each say where people are: take one.")
        made = None if districts is None else read_map(districts, cell, cells, map_name, mask=mask)
        survey = _of_one_question(alphabet, made, level, distance, question, title)
        if made is not None and not as_json:
            say_map(made, districts)
    if cover is not None:
        survey = _covered(survey, cover)
    survey = _named(survey, name)
    survey.save(out)
    if as_json:
        say_json({"out": str(out), "survey": survey.spec()})
        return
    questions = getattr(survey, "questions", {"": survey})
    rows = [
        [*([asked] if asked else []), name, brief(made), made.guarantee().short]
        for asked, own in questions.items()
        for name, made in own.mechanisms.items()
    ]
    covers = {str(own.cover) for own in questions.values()}
    heads = ["name", "mechanism", "promise"]
    table(heads if len(rows[0]) == len(heads) else ["question", *heads], rows)
    if cover is not None:
        say(f"\nWhich one is used is drawn from what is chosen: {', '.join(sorted(covers))}.")
    say(f"\nsurvey written to {out}; next: freewill serve {out}")


def _of_one_question(
    alphabet: str | None,
    on_map: MapGrid | None,
    level: list[str] | None,
    distance: bool | None,
    question: str | None,
    title: str | None,
) -> Survey:
    """Make a survey of one question, prompting for what is not given."""
    if alphabet is None and on_map is None:
        question = question or prompt_text("The question, as people read it", "question")
        title = title or prompt_text("A title for their page", "title")
    values: Alphabet
    if on_map is not None:
        values = on_map.grid
    else:
        values = prompt_alphabet() if alphabet is None else parse_alphabet(alphabet)
    promise = promise_on(values, distance)
    levels = [read_level(text) for text in level or ()]
    offered = offers(values, levels or prompt_levels(values, promise), promise)
    under = None if on_map is None else on_map.background
    return Survey(values, offered, title, question, background=under)


def _named(survey: Survey, name: str | None) -> Survey:
    """Give a survey a short name: the one given, or one made of what people read."""
    texts = (survey.title, survey.question, *getattr(survey, "questions", ()))
    own = name or slug(next(filter(None, texts), ""))
    if not own:
        return survey
    if isinstance(survey, Questionnaire):
        return Questionnaire(dict(survey.questions), survey.title, name=own)
    return replace(survey, name=own)


def _covered(survey: Survey, text: str) -> Survey:
    """Cover the choices of a survey, or those of each of its questions."""
    epsilon, _, towards = text.partition(",")
    if isinstance(survey, Questionnaire):
        parts = {name: _covered(own, text) for name, own in survey.questions.items()}
        return Questionnaire(parts, survey.title)
    way: Any = towards.strip() or "any"
    return replace(survey, mechanisms=Cover(survey.mechanisms, as_number(epsilon), way))


def read_map(
    path: Path, cell: float | None, cells: int | None, name: str | None, *, mask: bool
) -> MapGrid:
    """Read a GeoJSON file, and lay a grid over it."""
    try:
        advice = "Leave out what nobody looks for."
        refuse_beyond(SURVEY_FILE_BYTES, path.stat().st_size, f"map {path}", advice, ParameterError)
        content = path.read_bytes()
    except FileNotFoundError:
        raise ParameterError(f"{path}: there is no such map.") from None
    except OSError as error:
        raise FreewillError(f"{path} cannot be read: {why(error)}.") from None
    with raised_as(ParameterError, f"map {path}: "):
        return map_grid(parsed(content, ".json"), cell, cells, mask=mask, name=name)


def say_map(made: MapGrid, path: Path | None) -> None:
    """Say what was made of a map."""
    grid = made.grid
    whole = grid.columns * grid.rows
    outside = (
        f"; {several(whole - grid.size, 'cell')} that no area overlaps left out"
        if grid.mask is not None
        else "; no cell left out"
    )
    before, after = made.positions
    (south, north), (west, east) = grid.reach
    say(f"{path}: {grid}{outside}.")
    say(f"It reaches from {south:.4f} to {north:.4f} north, {west:.4f} to {east:.4f} east.")
    features = made.background["geojson"]["features"]
    named = sum(bool(one["properties"].get("name")) for one in features)
    say(
        f"It lies under the map on the page: {several(named, 'named feature')}, "
        f"{several(after, 'position')} of {before:,}."
    )
    if not named and made.properties:
        listed = ", ".join(map(printable, made.properties[:20]))
        say(f"Nothing is named. --map-name takes names from another property: {listed}.")
    if made.unread:
        say(f"{several(made.unread, 'feature')} without a shape of its own left out.")
    say("")
