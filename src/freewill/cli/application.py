"""The application: its commands, its version and what becomes of errors."""

import ast
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from freewill.cli.show import BAD_INPUT, BUG, FAILED, complain
from freewill.errors import FreewillError, IdentifiabilityError, printable, why

COMMANDS = (
    *("init", "plan", "serve", "qr", "token", "backup", "verify"),
    *("obfuscate", "periods", "collect", "merge"),
    *("estimate", "compare", "trend", "check"),
    *("menu", "compare-mechanisms", "calibrate", "audit", "explain"),
    *("experiment", "reproduce"),
)
TRACEBACK = "FREEWILL_TRACEBACK"
_LONGEST_USAGE = 2000
_LOOKS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def command(name: str) -> Callable[..., None]:
    """Import the function behind a command."""
    own = module(name)
    function: Callable[..., None] = getattr(import_module(f"freewill.cli.{own}"), own)
    if not gc.isenabled():
        # What is imported stays: no collection, the one at the end either, need look through it.
        gc.freeze()
        gc.enable()
    return function


def module(name: str) -> str:
    """Return the module of a command, and the function in it.

    >>> module("compare-mechanisms")
    'compare_mechanisms'
    """
    return name.replace("-", "_")


def _words(shown_type: str) -> str | None:
    """Return what typer tells of a type in the words of the reference.

    >>> _words("<list[float]>"), _words("<bool>"), _words("<duckdb|spark>")
    ('number ...', None, 'duckdb|spark')
    """
    kind = shown_type.strip("<>")
    if kind.startswith("list["):
        return f"{_words(kind[5:-1])} ..."
    names = {"str": "text", "float": "number", "int": "integer", "int range": "integer"}
    return None if kind in ("bool", "") else names.get(kind, kind.replace("Path", "path"))


_UsageError: Any = typer.BadParameter.__bases__[0]
"""Of click, which newer releases of typer bring along under another name."""


@contextmanager
def _harmless() -> Iterator[None]:
    """Let what is said of bad usage, in which arguments are quoted, do nothing to the terminal."""
    try:
        yield
    except _UsageError as error:
        error.message = printable(error.message, _LONGEST_USAGE)
        raise


class _InWords:
    """Lets help say what an option takes in words; a flag takes nothing, and says nothing."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            # Newer releases of typer have it, and "<bool>" there.
            if shown_type := getattr(parameter, "display_type_rich", None):
                parameter.display_type_rich = lambda ctx, f=shown_type: _words(f(ctx=ctx) or "")
        return parameters


class _Command(_InWords, TyperCommand):
    """A command as it is run."""


class _OnDemand(TyperCommand):
    """A command whose module, with all that it imports, is loaded when it is run."""

    def _docstring(self) -> str | None:
        """Return what help lists: read from the source, it costs no import."""
        own = module(self.name or "")
        source = Path(__file__).with_name(f"{own}.py").read_text(encoding="utf-8")
        functions = (part for part in ast.parse(source).body if isinstance(part, ast.FunctionDef))
        return ast.get_docstring(next(part for part in functions if part.name == own))

    help = property(_docstring, lambda *_: None)

    def make_context(self, info_name: Any, *arguments: Any, **options: Any) -> Any:
        alone = typer.Typer(**_LOOKS)
        alone.command(cls=_Command)(command(self.name or info_name))
        return typer.main.get_command(alone).make_context(info_name, *arguments, **options)


class _Commands(_InWords, TyperGroup):
    """Lists the commands, and turns what the library refuses into one message and an exit code."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands.update({name: _OnDemand(name) for name in COMMANDS})

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _harmless():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _harmless():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read the output has stopped, as `head` does
        except (FreewillError, OSError) as error:
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                text = f"{printable(str(error.filename))}: {why(error)}."
            complain(text)
            failed = isinstance(error, IdentifiabilityError)
            raise typer.Exit(FAILED if failed else BAD_INPUT) from None


app = typer.Typer(name="freewill", cls=_Commands, no_args_is_help=True, **_LOOKS)


def _version(asked: bool) -> None:
    if asked:
        from freewill import __version__  # noqa: PLC0415

        typer.echo(f"freewill {__version__}")
        raise typer.Exit


@app.callback()
def freewill(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Estimate distributions from noisy reports of people who each choose their privacy mechanism.

    `init` makes a survey, and `serve` collects noisy reports from people's devices over HTTP;
    `verify` checks that a collector shows everyone the same surveys. `collect` counts reports into
    evidence, and `merge` adds evidence together. `estimate` reconstructs the distribution of the
    true values by maximum likelihood, with a certificate. `compare` tests whether two bodies of
    evidence differ, `trend` whether anything changes over days, weeks or months, and `check`
    whether the assumptions hold. `plan` computes how many people are needed. `menu`,
    `compare-mechanisms`, `calibrate` and `audit` help to choose mechanisms, `explain` says what
    they promise in plain words, and `obfuscate` simulates devices. `experiment` and `reproduce`
    compare methods.

    Exit codes: 0 success; 1 a guarantee or check fails, or an estimate does not converge; 2 invalid
    usage or input; 3 an internal error.
    """


class _NoPandas:
    """Says that pandas is not installed, which PyArrow loads where it is and no command needs."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Refuse pandas, and leave all else to the next finder."""
        if name == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=name)


def _load_when_used(name: str) -> None:
    """Let a module that SciPy imports and does not use load when something in it is used."""
    spec = find_spec(name)
    if spec is None or spec.loader is None or name in sys.modules:
        return
    spec.loader = LazyLoader(spec.loader)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    parent, _, own = name.rpartition(".")
    setattr(sys.modules[parent], own, module)


def _start_quickly() -> None:
    """Load nothing that commands do not need: half a second of 1.2, in a small estimate.

    Nor look for garbage until a command is loaded: .1 s of .65.
    """
    gc.disable()
    if not any("spark" in argument for argument in sys.argv):
        sys.meta_path.insert(0, _NoPandas)
    # Two copies of OpenBLAS start threads that spin until they fall asleep: .2 s for nothing.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    for name in ("numpy.f2py", "numpy.testing"):
        _load_when_used(name)


def main() -> None:
    """Run the command line; a user never sees a traceback unless they ask for one."""
    _start_quickly()
    try:
        app(prog_name="freewill")
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        complain(
            f"unexpected {type(error).__name__}: {error}\n"
            f"This is a fault of Freewill's own. Set {TRACEBACK}=1 and run the command again for "
            f"the details that a bug report needs."
        )
        sys.exit(BUG)
