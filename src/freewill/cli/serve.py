"""`freewill serve`: take in reports over HTTP and show what they tell."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import integral, load_survey, option
from freewill.cli.show import say
from freewill.collector.serving import Settings, Started
from freewill.collector.serving import serve as run
from freewill.errors import ParameterError

_MOST_PORTS = 65535


def serve(
    surveys: Annotated[
        list[Path], typer.Argument(help="The surveys, .json or .toml; `freewill init` makes one.")
    ],
    host: Annotated[str, option("The address to listen at; 0.0.0.0 is all.")] = "127.0.0.1",
    port: Annotated[int, integral("The port to listen at; 0 takes a free one.", 0)] = 8000,
    store: Annotated[
        str, option("Where reports are kept: a file, or postgresql://...")
    ] = "collector.db",
    min_people: Annotated[int, integral("People below whom no estimate is shown.", 2)] = 100,
    public: Annotated[
        bool, option("Let everyone see estimates, and how many chose what.", "--public")
    ] = False,
    new_token: Annotated[
        bool, option("Make a new administrator's token; the old one ends.", "--new-token")
    ] = False,
) -> None:
    """Collect reports for surveys over HTTP, until it is told to end (Ctrl-C, SIGTERM).

    People answer on a page of their own, on which noise is drawn, and you watch on a dashboard.
    A report is acknowledged when it is on the disk, and counts once however often it is sent. Only
    counts, ids and days are kept: no addresses, no times, no order. The first start makes a token
    for the administrator (estimates, evidence, closing a survey) and shows it once. Needs
    `freewill[serve]`; docs/collector.md says what is promised and what is not.

    Example:

        freewill serve survey.json --port 8080 --store people.db
    """
    if port > _MOST_PORTS:
        raise ParameterError(f"--port {port}: expected 0 to {_MOST_PORTS}.")
    offered = {str(path): load_survey(path) for path in surveys}
    settings = Settings(host, port, store, min_people, public, new_token)
    run(offered, settings, _show)
    say("stopped: everything that was acknowledged is in the store.")


def _show(started: Started) -> None:
    for name in started.surveys:
        say(f"{name}: {started.page(name)}")
    if started.token is not None:
        say(
            f"administrator's token, shown this once: {started.token}\n"
            f"keep it where others cannot read it; --new-token makes another."
        )
    say("people answer at these addresses; with /dashboard behind one you watch it. Ctrl-C stops.")
