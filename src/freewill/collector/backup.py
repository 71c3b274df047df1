"""Copies of a store in a file: made while it is served, and read again before they are kept."""

import sqlite3
from contextlib import closing
from pathlib import Path

from freewill.collector import postgres
from freewill.collector.database import FIRST_WITH_PERIODS, Reader, StoreError
from freewill.collector.rounds import stored_by
from freewill.collector.sqlite import beside, reading, reading_mode
from freewill.collector.surveys import evidence_of
from freewill.core.files import checked_path, whole_file
from freewill.core.texts import read_json
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, SpecError, first_line

_OWN = 0o600


def backup(store: str, target: str | Path) -> dict[str, int]:
    """Copy a store to a file that its user alone may read; return people by survey.

    The copy is of one moment, whoever writes meanwhile, and written in the order of its keys. It is
    read again, every count of it, and takes the place of an older one after that alone.
    """
    if store.startswith(postgres.PREFIXES):
        raise StoreError(
            f"{postgres.shown_url(store)}: a database of PostgreSQL is copied by its own tools, "
            f"while it is served: umask 077; pg_dump --format=custom --file=backup.dump ADDRESS."
        )
    path, copy = checked_path(store, StoreError), checked_path(target, StoreError)
    if not path.exists():
        raise StoreError(f"{path}: there is no such store.")
    if copy.is_dir() or copy.name == "-":
        raise StoreError(f"{copy}: expected the name of a file for the copy, which is read again.")
    if copy.resolve() in beside(path.resolve()) or (copy.exists() and copy.samefile(path)):
        raise StoreError(
            f"{copy} is the store itself, or its journal: name another file for the copy."
        )
    with reading(path) as before:
        least = people_by_survey(before)
    try:
        with whole_file(copy, _OWN) as part:
            _copied(path, part)
            people = _read_again(part)
            lost = [own for own, many in least.items() if people.get(own, 0) < many]
            if lost:
                raise StoreError(f"survey {lost[0]} has fewer people in the copy than before it.")
    except (sqlite3.Error, FreewillError) as error:
        raise StoreError(
            f"{copy}: no copy of {path} was made, and what was there is left as it is: "
            f"{first_line(error)}"
        ) from None
    return people


def _copied(path: Path, part: Path) -> None:
    address = f"{path.absolute().as_uri()}{reading_mode(path)}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("VACUUM INTO ?", (str(part),))


def _read_again(part: Path) -> dict[str, int]:
    with closing(sqlite3.connect(f"{part.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        ((verdict,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if verdict != "ok":
        raise StoreError(f"what was written is damaged ({verdict}).")
    with reading(part) as view:
        return people_by_survey(view)


def people_by_survey(view: Reader) -> dict[str, int]:
    """Return how many people answered each survey, after reading all that the store counts."""
    people = {}
    column = "spec" if view.version < FIRST_WITH_PERIODS else "law"
    for own, law in list(view.rows(f"SELECT id, {column} FROM surveys ORDER BY id")):
        try:
            Survey.from_spec(read_json(law))
        except SpecError:
            continue  # with a class of somebody's own, which is not known here
        stored = stored_by(view, own)
        if stored is None:
            raise StoreError(f"survey {own} in the store is not what its id says.")
        people[own] = evidence_of(view, stored).people
    return people
