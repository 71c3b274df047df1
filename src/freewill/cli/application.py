"""The application: its commands, its version and what becomes of errors."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from freewill import __version__
from freewill.cli.audit import audit
from freewill.cli.calibrate import calibrate
from freewill.cli.collect import collect
from freewill.cli.estimate import estimate
from freewill.cli.merge import merge
from freewill.cli.obfuscate import obfuscate
from freewill.cli.reproduce import reproduce
from freewill.cli.show import BAD_INPUT, BUG, FAILED, complain
from freewill.errors import FreewillError, IdentifiabilityError

TRACEBACK = "FREEWILL_TRACEBACK"


class _Guarded(TyperGroup):
    """Turns what the library refuses into one message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except IdentifiabilityError as error:
            complain(str(error))
            raise typer.Exit(FAILED) from None
        except FreewillError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:
            raise  # whoever read the output has stopped, as `head` does
        except OSError as error:
            complain(_reason(error))
            raise typer.Exit(BAD_INPUT) from None


def _reason(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}."


app = typer.Typer(
    name="freewill",
    cls=_Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"freewill {__version__}")
        raise typer.Exit


@app.callback()
def freewill(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Everyone picks their own privacy mechanism; the distribution still comes back.

    People's devices send noisy reports. `collect` counts them into evidence, `merge` adds evidence
    together, and `estimate` reconstructs the distribution of the true values with a certificate.
    `calibrate` and `audit` help to choose mechanisms, and `obfuscate` plays the devices' part.

    Exit codes: 0 all is well; 1 a claim does not hold or an estimate failed; 2 bad usage or bad
    input; 3 a fault of Freewill's own.
    """


COMMANDS = (obfuscate, collect, merge, estimate, calibrate, audit, reproduce)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; a user never sees a traceback unless they ask for one."""
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
