"""What commands print: tables, JSON and complaints."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freewill.core.presented import portable
from freewill.errors import printable

FAILED, BAD_INPUT, BUG = 1, 2, 3
"""Exit codes: a claim or an estimate failed; bad usage or bad input; a fault of our own."""

_LONGEST, _LONGEST_CELL = 10_000, 400  # characters: names and paths may come from anywhere
_PIPE_WIDTH = 120  # where no terminal says how wide it is, the widest table still fits


def console(*, stderr: bool = False) -> Console:
    """Return an output: as wide as the terminal, and wide enough for tables in a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


def complain(message: str) -> None:
    """Print one error message to standard error."""
    _note("error: ", "bold red", message)


def remark(message: str) -> None:
    """Print something the user should know, to standard error."""
    _note("note: ", "bold yellow", message)


def _note(head: str, style: str, message: str) -> None:
    text = printable(message, _LONGEST, lines=True)
    console(stderr=True).print(Text.assemble((head, style), text), soft_wrap=True)


def say(message: str, *, stderr: bool = False) -> None:
    """Print a text, whatever names are in it: as it is but for what would steer the terminal."""
    console(stderr=stderr).print(Text(printable(message, _LONGEST, lines=True)), soft_wrap=True)


def say_json(content: Mapping[str, Any]) -> None:
    """Print JSON; numbers that JSON does not have become null."""
    text = json.dumps(portable(content), indent=2, ensure_ascii=False, allow_nan=False)
    # Only texts have such characters, and JSON has an escape for each.
    harmless = text.replace("\n", "").isprintable()
    typer.echo(text if harmless else "".join(map(_json_escape, text)))


def say_raw(text: str) -> None:
    """Print data for other programs as they are, to a terminal only what does not steer it."""
    shown = printable(text, len(text), lines=True) if sys.stdout.isatty() else text
    typer.echo(shown, nl=False)


def _json_escape(letter: str) -> str:
    if letter == "\n" or printable(letter) == letter:
        return letter
    return json.dumps(letter)[1:-1] if ord(letter) != 127 else "\\u007f"


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    *,
    stderr: bool = False,
) -> None:
    """Print a table; the columns in `numbers` are aligned to the right."""
    drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        drawn.add_column(head, justify="right" if place in numbers else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell, _LONGEST_CELL)) for cell in row))
    console(stderr=stderr).print(drawn)


def bar_table(heads: list[str], rows: list[list[str]], bars: list[str]) -> None:
    """Print a table of numbers with a bar at the end of each row."""
    lines = [[*row, bar] for row, bar in zip(rows, bars, strict=True)]
    table([*heads, ""], lines, numbers=range(len(heads)))


def room_beside(lines: Sequence[Sequence[str]], most: int) -> int:
    """Return how long bars may be beside these columns, each with two spaces after it."""
    taken = sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True))
    return max(0, min(most, console().width - taken - 2))
