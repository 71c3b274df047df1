"""`freewill backup`: copy the store of a collector while it is served."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.show import say
from freewill.collector.reading import backup as run
from freewill.errors import several


def backup(
    store: Annotated[str, typer.Argument(help="The store, an SQLite file.")],
    copy: Annotated[Path, typer.Argument(help="The file to write; an older one is replaced.")],
) -> None:
    """Copy the store of a collector to a file, also while `freewill serve` uses it.

    The copy is a snapshot that only its owner may read (mode 600). It is verified before it
    replaces an older copy. Copying with `cp` is not safe while a server runs. For PostgreSQL use
    pg_dump.

    Example:

        freewill backup collector.db backups/collector.db
    """
    people = run(store, copy)
    answers = f"{several(sum(people.values()), 'answer')} to {several(len(people), 'survey')}"
    say(f"{copy}: a copy of {store}, with {answers}; it was read again, and all of it is there.")
