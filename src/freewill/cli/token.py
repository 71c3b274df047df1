"""`freewill token`: make a new token for one role of a collector."""

from contextlib import ExitStack, closing
from enum import StrEnum
from typing import Annotated, cast

import typer

from freewill.cli.options import StorePath
from freewill.cli.show import remark, say
from freewill.collector import tokens
from freewill.collector.reading import view_store
from freewill.collector.store import open_store

Role = StrEnum("Role", ["ADMINISTRATOR", "VIEWER", "METRICS"])


def token(
    role: Annotated[Role, typer.Argument(help="Whose token: administrator, viewer or metrics.")],
    store: StorePath = "collector.db",
) -> None:
    """Make a new token for one role of a collector, and print it once.

    It replaces the role's earlier token; the other roles keep theirs. Running servers accept it
    within a second, unless they read this role's token from a file or from the environment. The
    viewer's token reads numbers of people, estimates and the dashboard; the metrics token reads
    GET /v1/metrics only; the administrator's token allows everything.

    Example:

        freewill token viewer --store people.db
    """
    with ExitStack() as holding:
        view_store(store, holding)  # none is made here
    with closing(open_store(store)) as opened:
        if opened.renewal:
            remark(opened.renewal)
        say(f"{role} token, shown this once: {opened.new_token(cast('tokens.Role', role.value))}")
