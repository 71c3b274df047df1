"""Options that several commands share, and how their texts are read."""

import math
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from freewill.cli.standard import DASH, INPUT, called
from freewill.core.texts import number, parsed, whole
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, Categorical, Linear, attributes_of, refuse_vast
from freewill.domain.alphabets.grid import Grid
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.registry import from_spec
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, SpecError, SurveyError, printable, several, shown

Engine = StrEnum("Engine", ["DUCKDB", "SPARK"])


def option(text: str, *spellings: str, **settings: Any) -> Any:
    """Return an option by what it is for; spelled like its parameter unless told otherwise."""
    return typer.Option(*spellings, help=text, **settings)


def as_number(text: Any) -> float:
    """Read what an option takes as a number."""
    value = number(text) if isinstance(text, str) else text
    if value is None:
        raise typer.BadParameter(f"{shown(text)} is not a number such as 10, 0.5 or 1e-9.")
    return float(value)


def numeric(text: str, *spellings: str) -> Any:
    """Return an option that takes a number."""
    return option(text, *spellings, parser=as_number)


def integral(text: str, least: int) -> Any:
    """Return an option that takes an integer, and none that is smaller than `least`."""

    def integer(text: Any) -> int:
        value = whole(text) if isinstance(text, str) else text
        if value is None or value < least:
            raise typer.BadParameter(
                f"{shown(text)} is not an integer of at most 64 bits, >= {least}."
            )
        return int(value)

    return option(text, parser=integer)


SurveyPath = Annotated[Path, option("The survey file, .json or .toml.", "--survey", "-s")]
StoredSurveyPath = Annotated[
    Path,
    option(
        "The survey file, .json or .toml; with a store, also the survey's id or name.",
        "--survey",
        "-s",
    ),
]
StorePath = Annotated[
    str, option("Where reports are stored: an SQLite file or postgresql://...", "--store")
]
EvidencePath = Annotated[Path, option("The evidence file to write, .parquet or -.", "--out", "-o")]
EngineName = Annotated[Engine, option("The engine that counts reports.")]
AsJson = Annotated[bool, option("Print JSON.", "--json")]
Strict = Annotated[bool, option("Fail if any row is invalid.", "--strict")]
Equal = Annotated[
    bool, option("Accept sources that look like copies of each other but are not.", "--equal")
]
SurveyOrSpec = Annotated[
    Path,
    typer.Argument(help="A survey, or the JSON spec of one mechanism; - reads standard input."),
]

# No more digits than integers that a machine counts with.
_LINE = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?::([0-9]{1,18}))?(?: ?\[(.{1,30})\])?")
_BOX = re.compile(r"([0-9]{1,18})x([0-9]{1,18})@([0-9.eE+,-]{1,160})")
_GRID = re.compile(r"([0-9]{1,18})x([0-9]{1,18})x([0-9.eE+-]{1,40})")

_LISTED = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|(?!\s*")([^,]*))(?=,|$)')
"""A text of a list, in quotes or without."""


def parse_alphabet(text: str) -> Alphabet:
    """Read an alphabet: a survey's file, a line 0..99[year], a grid 24x16x0.5, or labels yes,no.

    A vector of it must fit in memory.

    >>> print(parse_alphabet("0..99"), "|", parse_alphabet("24x16x0.5"), "|", parse_alphabet("a,b"))
    0..99 | 24 x 16 cells of 0.5 km | 2 labels
    """
    alphabet: Alphabet
    if text.endswith((".json", ".toml")):
        alphabet = Survey.load(text).alphabet
        if attributes := list(attributes_of(alphabet)):
            raise ParameterError(
                f"{printable(text)} asks {several(len(attributes), 'question')} "
                f"({', '.join(attributes)}), and this is about one. Give the answers of one, as "
                f"0..99 or yes,no."
            )
    elif line := _LINE.fullmatch(text):
        first, last, step, unit = line.groups()
        alphabet = Linear(int(first), int(last), int(step or 1), unit or "")
    elif grid := _GRID.fullmatch(text) or _BOX.fullmatch(text):
        alphabet = _grid(int(grid[1]), int(grid[2]), grid[3].split(","), text)
    elif "," in text:
        alphabet = Categorical(parse_list(text, "--alphabet"))
    else:
        raise ParameterError(
            f"--alphabet {printable(text)}: expected a line such as 0..99 (or "
            f"1900..2020:10[year]), a grid such as 24x16x0.5 (columns, rows, km a cell), a map "
            f"such as 24x16@37.7,37.8,-122.5,-122.3 (south, north, west, east), labels such as "
            f"yes,no or a survey's file."
        )
    refuse_vast(alphabet)
    return alphabet


def parse_list(text: str, name: str) -> list[str]:
    """Read texts between commas, as in a line of CSV: quotes protect commas and blanks.

    >>> parse_list('car (alone), "car, shared", 5" pipe', "--alphabet")
    ['car (alone)', 'car, shared', '5" pipe']
    """
    texts: list[str] = []
    end = -1
    while end < len(text):
        item = _LISTED.match(text, end + 1)
        if item is None:
            raise ParameterError(
                f"{name} {printable(text)}: text {len(texts) + 1} begins with a quote that does "
                f"not end it. In quotes a quote stands twice, and behind them comes a comma: "
                f'"car, shared", """big"" car".'
            )
        quoted, plain = item.groups()
        if not (quoted or plain or "").strip():
            raise ParameterError(
                f"{name} {printable(text)}: text {len(texts) + 1} is empty. Take out the comma too "
                f"many, or put a text that has commas in quotes."
            )
        texts.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        end = item.end()
    return texts


def parse_pair(
    text: str, option_name: str, expected: str, least: float = -math.inf
) -> tuple[str, float]:
    """Read NAME=NUMBER; the name may have equals signs of its own.

    >>> parse_pair("a=b=0.5", "--share", "a name and a share, careful=0.3")
    ('a=b', 0.5)
    """
    name, _, written = text.rpartition("=")
    value = number(written)
    if not name or value is None or value < least:
        raise ParameterError(f"{option_name} {printable(text)}: expected {expected}.")
    return name, value


def _grid(columns: int, rows: int, numbers: list[str], text: str) -> Alphabet:
    """Return cells of so many km or, between four edges in degrees, a map."""
    try:
        if "@" not in text:
            return Grid(columns, rows, as_number(numbers[0]))
        if len(numbers) != 4:
            raise typer.BadParameter("expected four edges: south, north, west, east.")
        south, north, west, east = map(as_number, numbers)
        return Grid.box(south, north, west, east, columns, rows)
    except (ValueError, typer.BadParameter) as error:
        raise ParameterError(f"--alphabet {printable(text)}: {error}") from None


def load_survey(path: Path) -> Survey:
    """Read the survey of reports or values, which leave no room for it on standard input."""
    if str(path) == DASH:
        raise ParameterError(f"--survey -: expected a file, .json or .toml; {INPUT} is for rows.")
    return Survey.load(path)


def load_choices(path: Path) -> Survey | Mechanism:
    """Read a survey, or the mechanism that its spec describes."""
    if path.suffix.lower() != ".toml":
        spec = load_json(path)
        if isinstance(spec, dict) and "mechanism" in spec:
            return from_spec(spec)
        if str(path) == DASH:
            try:
                return Survey.from_spec(spec)
            except SurveyError as error:
                raise SurveyError(f"survey {INPUT}: {error}") from None
    return Survey.load(path)


def load_json(path: Path) -> Any:
    """Read a JSON file, or standard input for `-`, or say why it cannot be read."""
    name = called(path)
    with sys.stdin.buffer if str(path) == DASH else path.open("rb") as file:
        content = file.read(SURVEY_FILE_BYTES + 1)
    try:
        advice = "Is it the right file?"
        refuse_beyond(SURVEY_FILE_BYTES, len(content), f"JSON in {name}", advice, SpecError)
        return parsed(content, ".json")
    except SurveyError as error:
        raise SpecError(f"{name}: {error}") from None
