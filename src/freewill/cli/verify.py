"""`freewill verify`: whether a collector shows everyone the same surveys."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import AsJson, load_survey, option
from freewill.cli.show import FAILED, say, say_json, table
from freewill.collector.verify import verified
from freewill.core.progress import progress


def verify(
    address: Annotated[
        str, typer.Argument(help="The address of a collector, http:// or https://.")
    ],
    seen: Annotated[
        Path | None,
        option(
            "A file that remembers where the log ended, for the next run; it is created if missing."
        ),
    ] = None,
    head: Annotated[
        str | None, option("The head of the log that somebody else was shown, to compare with.")
    ] = None,
    survey: Annotated[
        Path | None, option("A survey file, .json or .toml, that must be among those served.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that a collector shows everyone the same surveys.

    A collector keeps a public log of the surveys that it has served and closed, in which every
    entry contains a hash of the one before. This command checks that the chain is whole; that every
    survey which is served hashes to its id; that the log contains it, with all parameters that
    devices use; and, with `--seen`, that entries were only added since the last run. Two people who
    see the same head were shown the same surveys (docs/collector.md).

    The exit code is 1 if anything is wrong. If the collector does not answer, it is 2.

    Example:

        freewill verify https://example.org --seen example.json
    """
    offered = None if survey is None else load_survey(survey)
    with progress("asking for surveys") as show:
        log = verified(address, seen, head, offered, show)
    if as_json:
        say_json(log.describe())
    else:
        rows = [[own, "differs" if fault else "in the log"] for own, fault in log.surveys.items()]
        table(["survey", "verdict"], rows)
        say(f"\nlog of surveys: {log.number}: {log.head or 'nothing yet'}")
        faults = [f"{own}: {fault}" for own, fault in log.surveys.items() if fault]
        for text in (*log.faults, *faults):
            say(f"wrong: {text}")
        for text in log.notes:
            say(f"note: {text}")
        say(
            "verified: whoever sees the same head was shown the same surveys."
            if log.holds
            else "NOT verified."
        )
    if not log.holds:
        raise typer.Exit(FAILED)
