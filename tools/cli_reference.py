"""The reference of the command line, made from the commands' own signatures.

`python -m tools.cli_reference > docs/cli.md` writes it; a test holds the file to it.
"""

import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

from freewill.cli.application import COMMANDS, command, freewill

_HEAD = """\
# The command line

Made by `python -m tools.cli_reference > docs/cli.md`; the tests hold this page to the commands.
`freewill COMMAND --help` shows the same in the terminal.
"""
_KINDS = {str: "text", Path: "path", int: "integer", float: "number", bool: ""}


def reference() -> str:
    """Return the whole page, in Markdown."""
    texts = {name: inspect.cleandoc(command(name).__doc__ or "") for name in COMMANDS}
    parts = [_HEAD, inspect.cleandoc(freewill.__doc__ or ""), ""]
    parts += ["| command | what it does |", "| --- | --- |"]
    parts += [f"| [`{n}`](#freewill-{n}) | {text.splitlines()[0]} |" for n, text in texts.items()]
    for name, text in texts.items():
        parts += ["", f"## freewill {name}", "", text, ""]
        parts += ["| | | |", "| --- | --- | --- |", *_parameters(command(name))]
    return "\n".join(parts) + "\n"


def _parameters(function: Callable[..., None]) -> list[str]:
    hints = get_type_hints(function, include_extras=True)
    rows = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = get_args(hints[name])
        meaning = (info.help or "").replace("|", "\\|") + _default(parameter.default)
        rows.append(f"| {_spelling(name, info)} | {_kind(kind)} | {meaning} |")
    return rows


def _spelling(name: str, info: Any) -> str:
    if isinstance(info, ArgumentInfo):
        return f"`{name.upper()}`"
    # Inside Annotated, typer keeps the first spelling where a default would stand.
    named = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    options = named or [f"--{name.replace('_', '-')}"]
    return ", ".join(f"`{option}`" for option in options)


def _kind(kind: Any) -> str:
    """Say what a parameter takes: nothing for a flag, its choices, or the kind of text."""
    if NoneType in get_args(kind):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is list:
        return f"{_kind(get_args(kind)[0])}, may repeat"
    if issubclass(kind, StrEnum):
        return ", ".join(f"`{choice.value}`" for choice in kind)
    return _KINDS[kind]


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return " Required."
    if default is None or default is False or default == "":
        return ""
    return f" By default `{default}`."


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
