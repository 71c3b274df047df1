"""`freewill serve`: take in reports over HTTP and show what they tell."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import StorePath, integral, load_survey, numeric, option
from freewill.cli.show import BAD_INPUT, remark, say
from freewill.collector.answers import checked_origins
from freewill.collector.journal import Journal
from freewill.collector.releases import ReleaseRule
from freewill.collector.serving import serve as run
from freewill.collector.tokens import Role, sources
from freewill.domain.programs import undrawable
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import FreewillError, ParameterError, printable

Log = StrEnum("Log", ["TEXT", "JSON"])
_MOST_PORTS = 65535
_PERIOD = re.compile("([1-9][0-9]{0,3})([mhd])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400}


def seconds_of(text: str) -> int:
    """Read a period.

    >>> seconds_of("15m"), seconds_of("1h"), seconds_of("7d")
    (900, 3600, 604800)
    """
    period = _PERIOD.fullmatch(text)
    if period is None:
        raise ParameterError(
            f"--release-every {printable(text)}: expected a period such as 15m, 1h or 1d."
        )
    return int(period[1]) * _SECONDS[period[2]]


def serve(
    surveys: Annotated[
        list[Path], typer.Argument(help="Survey files, .json or .toml (see `freewill init`).")
    ],
    host: Annotated[str, option("The address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, integral("The port to listen on; 0 for any free one.", 0)] = 8000,
    store: StorePath = "collector.db",
    min_people: Annotated[
        int, integral("Show estimates only of at least this many people.", 2)
    ] = 100,
    public: Annotated[
        bool, option("Publish estimates and counts, in periodic releases.", "--public")
    ] = False,
    release_people: Annotated[
        int, integral("Smallest number of new people in a release.", 1)
    ] = 100,
    release_every: Annotated[
        str, option("Time between releases: 15m, 1h, 1d. With 1h, releases are made on the hour.")
    ] = "1h",
    release_epsilon: Annotated[
        float | None,
        numeric(
            "Add noise to published counts, so that all releases together reveal no more than "
            "this epsilon of what a person sent."
        ),
    ] = None,
    new_token: Annotated[bool, option("Replace the administrator's token.", "--new-token")] = False,
    token_file: Annotated[
        Path | None, option("A file with the administrator's token; read again when it changes.")
    ] = None,
    viewer_token_file: Annotated[
        Path | None,
        option(
            "A file with the viewer's token, for numbers of people, estimates and the dashboard."
        ),
    ] = None,
    metrics_token_file: Annotated[
        Path | None, option("A file with the token for GET /v1/metrics.")
    ] = None,
    mended: Annotated[
        bool,
        option("Treat a question whose wording was corrected as the same question.", "--mended"),
    ] = False,
    allow_origin: Annotated[
        list[str] | None,
        option("An origin whose pages may send reports: https://app.example.org; repeatable."),
    ] = None,
    drain_seconds: Annotated[
        int,
        integral(
            "Seconds to keep serving after SIGTERM, while the health check already answers 503.", 0
        ),
    ] = 0,
    log: Annotated[Log, option("What is written to standard error: text or json.")] = Log.TEXT,
) -> None:
    """Run a server that collects reports over HTTP, until Ctrl-C or SIGTERM.

    Participants answer on a web page, which adds the noise in their browser; a dashboard shows the
    results. A survey with a `name` keeps its address when its texts are corrected or its mechanisms
    change. Other mechanisms start a new round; the evidence of all rounds is added together. A
    report is acknowledged when it is on disk, and counts once however often it is sent. The store
    holds counts by period, the ids of reports, and days; it holds no addresses, no times of day and
    no order. Requires `freewill[serve]`; docs/collector.md has the details.

    The first start prints the administrator's token, once: it is needed for estimates and evidence,
    and to close a survey. `freewill token` makes tokens of other roles. Tokens may also be read
    from files, or from the environment: FREEWILL_ADMIN_TOKEN, FREEWILL_VIEWER_TOKEN and
    FREEWILL_METRICS_TOKEN hold tokens; the same names with _FILE at their end hold paths of files.

    Example:

        freewill serve survey.json --port 8080 --store people.db
    """
    journal = Journal(_write_line) if log is Log.JSON else None
    with _told(journal):
        if port > _MOST_PORTS:
            raise ParameterError(f"--port {port}: expected 0 to {_MOST_PORTS}.")
        offered = {str(path): load_survey(path) for path in surveys}
        note = journal.remark if journal else remark
        for text in _undrawable(offered):
            note(text)
        files: dict[Role, Path | None] = {
            "administrator": token_file,
            "viewer": viewer_token_file,
            "metrics": metrics_token_file,
        }
        named = sources(files, os.environ)
        rule = ReleaseRule(release_people, seconds_of(release_every), release_epsilon)
        if not public and rule != ReleaseRule():
            raise ParameterError(
                "--release-people, --release-every and --release-epsilon are about what is "
                "published, and nothing is. Add --public, or leave them out."
            )
        run(
            *(offered, _show, host, port, store, min_people),
            *(public, new_token, rule, named, mended),
            remark=note,
            origins=checked_origins(allow_origin or ()),
            drain_seconds=drain_seconds,
            log=_write_line if journal else None,
        )
    say("stopped: everything that was acknowledged is in the store.")


def _undrawable(offered: dict[str, Survey]) -> Iterator[str]:
    """Yield what people cannot choose on the page, for no browser can draw it."""
    for name, survey in offered.items():
        questions = survey.questions if isinstance(survey, Questionnaire) else {"": survey}
        for asked, own in questions.items():
            if fault := undrawable(own.mechanisms):
                yield f"{name}: {asked and f'question {asked!r}: '}{fault}"


@contextmanager
def _told(journal: Journal | None) -> Iterator[None]:
    """Write an error as a line of a journal, where there is one: nothing else reads its lines."""
    try:
        yield
    except (FreewillError, OSError) as error:
        if journal is None:
            raise
        journal.say("failed", why=str(error))
        raise typer.Exit(BAD_INPUT) from None


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _show(pages: dict[str, str], token: str | None) -> None:
    for name, page in pages.items():
        say(f"{name}: {page}")
    if token is not None:
        say(
            f"administrator's token, shown this once: {token}\n"
            f"keep it where others cannot read it; --new-token makes another."
        )
    say("people answer at these addresses; with /dashboard behind one you watch it. Ctrl-C stops.")
