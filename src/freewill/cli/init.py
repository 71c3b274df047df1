"""`freewill init`: make a survey by answering a few questions, also over a map."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from freewill.cli.options import AsJson, as_number, option, parse_alphabet, parse_list, parse_pair
from freewill.cli.questions import parse_named, questions_of
from freewill.cli.show import say, say_json, table
from freewill.cli.standard import check_target
from freewill.core.texts import LONGEST_TITLE, checked_text, parsed
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, Linear
from freewill.domain.alphabets.grid import Grid
from freewill.domain.cover import Cover
from freewill.domain.maps import MapGrid, map_grid
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.family import Family
from freewill.domain.metrics import diameter
from freewill.domain.survey import Questionnaire, Survey
from freewill.domain.survey_texts import slug
from freewill.errors import FreewillError, ParameterError, SurveyError, printable, raised_as, why
from freewill.errors import several as counted
from freewill.stats.planning.menus import Promise, candidates

_NAMES = ("careful", "balanced", "relaxed")
_EPSILONS = (0.5, 1.0, 2.0)
_SHARES = (0.2, 0.1, 0.05)
"""Of the largest distance: how far reports lie from the truth, on average."""
Level = tuple[str, float | tuple[float, float]]
"""A name, and a number or a range of epsilons."""
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
    of_map, many = (cell, cells, map_name), bool(ask or several)
    one_way = all(one is None for one in (alphabet, question, districts)) and not (ask and several)
    faults = {
        f"{out} is there already: choose another name, or give --force.": out.exists()
        and not force,
        "--cell, --cells and --map-name are of a map: give --map as well.": districts is None
        and any(one is not None for one in of_map),
        "--ask, --several and --alphabet (with --question) each say what is asked: take one of "
        "them.": many and not one_way,
        "--map and --alphabet each say where people are: take one.": districts is not None
        and alphabet is not None,
        "--silence is for several questions: who says nothing to the only one sends nothing. Leave "
        "it out, or give --ask.": silence is not None and not many,
    }
    for fault, there in faults.items():
        if there:
            raise ParameterError(fault)
    levels = [read_level(text) for text in level or ()]
    survey: Survey
    if ask:
        survey = _asked(ask, levels, distance, silence, title)
    elif several:
        survey = _prompted(title)
    elif districts is not None:
        made = read_map(districts, cell, cells, map_name, mask=mask)
        texts: dict[str, Any] = {"title": title, "background": made.background}
        survey = _question(made.grid, levels, distance, question=question, **texts)
        if not as_json:
            say_map(made, districts)
    else:
        if alphabet is None:
            question = question or _prompt_text("The question, as people read it", "question")
            title = title or _prompt_text("A title for their page", "title")
        values = _prompt_alphabet() if alphabet is None else parse_alphabet(alphabet)
        survey = _question(values, levels, distance, title=title, question=question)
    if cover is not None:
        survey = _covered(survey, cover)
    survey = _named(survey, name)
    survey.save(out)
    if as_json:
        say_json({"out": str(out), "survey": survey.spec()})
        return
    questions = questions_of(survey)
    rows = [
        [*filter(None, [asked]), name, brief(made), made.guarantee().short]
        for asked, own in questions.items()
        for name, made in own.mechanisms.items()
    ]
    table(["question", "name", "mechanism", "promise"][-len(rows[0]) :], rows)
    if cover is not None:
        covers = ", ".join(sorted({str(own.cover) for own in questions.values()}))
        say(f"\nWhich one is used is drawn from what is chosen: {covers}.")
    say(f"\nsurvey written to {out}; next: freewill serve {out}")


def _asked(
    ask: list[str],
    levels: list[Level],
    distance: bool | None,
    silence: str | None,
    title: str | None,
) -> Questionnaire:
    """Make a survey from NAME=ANSWERS and levels: QUESTION.NAME is of one question, else of all."""
    named = parse_named(ask, "--ask", "a name and the answers, as age=0..99")
    alphabets = {name: parse_alphabet(answers) for name, answers in named.items()}
    own: dict[str, list[Level]] = {name: [] for name in alphabets}
    for name, number in levels:
        of_one = [question for question in alphabets if name.startswith(f"{question}.")]
        for question in of_one or alphabets:
            own[question].append((name.removeprefix(f"{question}."), number))
    questions = {}
    for name, alphabet in alphabets.items():
        if not own[name]:
            say(f"{name}: {alphabet}")
        questions[name] = _question(alphabet, own[name], distance, silence)
    return Questionnaire(questions, title)


def _prompted(title: str | None) -> Questionnaire:
    """Prompt for questions until no more is named."""
    title = title or _prompt_text("A title for their page", "title")
    questions: dict[str, Survey] = {}
    while True:
        ends = " (Enter: no more)" if questions else ", such as age"

        def named(text: str) -> str:
            if text in questions or (not text and not questions):
                raise ParameterError("expected a name that no question has yet.")
            return text

        name = _prompt(f"A short name of question {len(questions) + 1}{ends}", named, "")
        if not name:
            return Questionnaire(questions, title)
        question = _prompt_text("The question, as people read it", "question")
        alphabet = _prompt_alphabet()
        levels = _prompt_levels(alphabet, promise_on(alphabet, None))
        silent = typer.confirm("May people leave it unanswered?", default=True)
        silence = _prompt("name for no answer", str, "no answer") if silent else None
        questions[name] = _question(alphabet, levels, None, silence, question=question)


def _question(
    alphabet: Alphabet,
    levels: list[Level],
    distance: bool | None,
    silence: str | None = None,
    **texts: Any,
) -> Survey:
    """Make a survey of one question, prompting for levels where there are none."""
    promise = promise_on(alphabet, distance)
    offered: dict[str, Mechanism] = {}
    for given, number in levels or _prompt_levels(alphabet, promise):
        name = given.strip()
        if name in offered:
            raise ParameterError(f"level {printable(name)!r} was named twice: names must differ.")
        offered[name] = offer(alphabet, number, promise)
    if silence is not None:
        if silence in offered:
            raise ParameterError(f"--silence {silence!r} is the name of a level too: rename one.")
        offered[silence] = Silent(alphabet)
    return Survey(alphabet, offered, **texts)


def _named(survey: Survey, name: str | None) -> Survey:
    """Give a survey a short name: the one given, or one made of what people read."""
    texts = (survey.title, survey.question, *questions_of(survey))
    own = name or slug(next(filter(None, texts), ""))
    if not own:
        return survey
    if isinstance(survey, Questionnaire):
        return Questionnaire(survey.questions, survey.title, name=own)
    return replace(survey, name=own)


def _covered(survey: Survey, text: str) -> Survey:
    """Cover the choices of a survey, or those of each of its questions."""
    epsilon, _, towards = text.partition(",")
    if isinstance(survey, Questionnaire):
        parts = {name: _covered(own, text) for name, own in survey.questions.items()}
        return Questionnaire(parts, survey.title)
    way: Any = towards.strip() or "any"
    return replace(survey, mechanisms=Cover(survey.mechanisms, as_number(epsilon), way))


def promise_on(alphabet: Alphabet, distance: bool | None) -> Promise:
    """Return what levels mean: mean distances where values have these, unless told."""
    near = isinstance(alphabet, Linear | Grid) and alphabet.size > 1
    if distance and not near:
        raise ParameterError(
            "--distance: words have no distances between them. Give levels as epsilons."
        )
    return "loss" if (near if distance is None else distance) else "ldp"


def offer(alphabet: Alphabet, level: float | tuple[float, float], promise: Promise) -> Mechanism:
    """Return the mechanism that a level stands for, or the family that a range of epsilons does.

    Of k-RR and RAPPOR the one whose estimate of a rare value's share has the smaller variance,
    q (1 - q) / (p - q)^2 with p of a true and q of a false report: with s = e^(epsilon / 2), k-RR
    where k < s^3 + s^2 + s + 2. A family is of the kind for the middle of its range.

    >>> import freewill as fw
    >>> print(offer(fw.Categorical(["yes", "no"]), 1.0, "ldp"), offer(fw.Linear(0, 99), 1.0, "ldp"))
    k-rr(2 labels, epsilon=1) rappor(0..99, epsilon=1)
    >>> print(offer(fw.Categorical(["yes", "no"]), (0.5, 4.0), "ldp"))
    family of k-rr(2 labels, epsilon=0.5 to 4, step=0.5)
    """
    if isinstance(level, tuple):
        if promise == "loss":
            raise ParameterError(
                f"a level of {level[0]:g}..{level[1]:g}: a range is of epsilons, and levels are "
                f"mean distances here. Give --epsilon."
            )
        middle = math.sqrt(max(level[0] * level[1], 0.0))
        return Family(type(offer(alphabet, middle or 1.0, promise)), alphabet, level)
    mechanisms = {each.name: each for each in candidates(alphabet, level, promise)}
    if promise == "loss":
        return list(mechanisms.values())[-1]
    root = math.exp(min(level, 700) / 2)
    few = alphabet.size < ((root + 1) * root + 1) * root + 2
    return mechanisms["k-rr" if few or "rappor" not in mechanisms else "rappor"]


def read_level(text: str) -> Level:
    """Read NAME=NUMBER, or NAME=LOW..HIGH for a range of epsilons."""
    expected = "a name and a number, as careful=0.5, or a range, as yours=0.1..5"
    name, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if not (equals and dots):
        return parse_pair(text, "--level", expected)
    pair = [parse_pair(f"{name}={end}", "--level", expected)[1] for end in (low, high)]
    return name, (pair[0], pair[1])


def _prompt(text: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Prompt until the answer can be read, and say why it cannot."""
    while True:
        answer = typer.prompt(text, default, type=str, show_default=bool(default))
        try:
            return read(answer.strip())
        except (FreewillError, typer.BadParameter) as error:
            say(f"  {error}")


def _prompt_alphabet() -> Alphabet:
    """Prompt for what people may answer."""
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


def _prompt_levels(alphabet: Alphabet, promise: Promise) -> list[Level]:
    """Prompt for levels of privacy, and a name for each."""
    if promise == "loss":
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
        f"; {counted(whole - grid.size, 'cell')} that no area overlaps left out"
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
        f"It lies under the map on the page: {counted(named, 'named feature')}, "
        f"{counted(after, 'position')} of {before:,}."
    )
    if not named and made.properties:
        listed = ", ".join(map(printable, made.properties[:20]))
        say(f"Nothing is named. --map-name takes names from another property: {listed}.")
    if made.unread:
        say(f"{counted(made.unread, 'feature')} without a shape of its own left out.")
    say("")
