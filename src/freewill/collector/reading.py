"""Reading a store from outside, though its collector runs: as it is now, and nothing is changed."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from freewill.collector import postgres, sqlite
from freewill.collector.database import FIRST_WITH_PERIODS, Reader, StoreError
from freewill.collector.rounds import stored_by, stored_survey, surveys_in_words
from freewill.collector.sqlite import beside, reading, reading_mode
from freewill.collector.surveys import StoredSurvey, evidence_of, people_of, read_days
from freewill.core.files import checked_path, whole_file
from freewill.core.texts import read_json
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, SpecError, first_line, shown
from freewill.stats.evidence import Evidence

_OWN = 0o600


def shown_store(where: str) -> str:
    """Return where a store lies, without a password.

    >>> shown_store("people.db"), shown_store("postgresql:///people?password=secret")
    ('people.db', 'postgresql:///people')
    """
    return postgres.shown_url(where) if where.startswith(postgres.PREFIXES) else where


def view_store(where: str, holding: ExitStack) -> Reader:
    """View a store as it is now, for as long as the stack."""
    if where.startswith(postgres.PREFIXES):
        return holding.enter_context(postgres.reading(where))
    path = Path(where)
    if not path.exists():
        raise StoreError(f"{path}: there is no such store.")
    return holding.enter_context(sqlite.reading(path))


def read_store(
    where: str | Path, survey: Survey | str, holding: ExitStack, period: str | None = None
) -> Evidence:
    """Return the evidence of one survey of a store, which stays open as long as the stack.

    The survey, or its id or name in the store; of one that has a name, all rounds. `period` is
    "last" or the first and the last day of some periods, `2026-11-02..2026-11-15`. A server may be
    writing to it meanwhile. A survey that is not in the store, or that nobody has answered yet, is
    refused: what is counted of it would be nobody.
    """
    view = view_store(str(where), holding)
    stored = _found(view, where, survey)
    if period == "last":
        stored = [some for _, _, some in stored.spans][-1] if stored.spans else stored
    elif period is not None:
        stored = stored.within(read_days(period))
    evidence = evidence_of(view, stored)
    if not evidence.people:
        raise _unmatched(view, where, survey, "has no people yet in")
    return evidence


def periods_in(
    where: str | Path, survey: Survey | str
) -> tuple[str, list[tuple[str, str | None, int]]]:
    """Return the id of a survey, and of its periods the first day, that of the next, and people."""
    with ExitStack() as holding:
        view = view_store(str(where), holding)
        stored = _found(view, where, survey)
        spans = [(start, end, people_of(view, some)) for start, end, some in stored.spans]
        if not spans:
            raise _unmatched(view, where, survey, "has no people yet in")
        return stored.id, spans


def _found(view: Reader, where: str | Path, survey: Survey | str) -> StoredSurvey:
    stored = stored_by(view, survey) if isinstance(survey, str) else stored_survey(view, survey)
    if stored is None:
        raise _unmatched(view, where, survey, "is not in")
    return stored


def _unmatched(view: Reader, where: str | Path, survey: Survey | str, fault: str) -> StoreError:
    """Return the error of a survey that nobody answered, which says those that there are."""
    if isinstance(survey, str):
        called, advice = shown(survey), "its id or name, or a file of it, .json or .toml"
    else:
        called, advice = survey.id, "the file that was served, texts apart, or its id or name"
    return StoreError(
        f"survey {called} {fault} the store {shown_store(str(where))}: {surveys_in_words(view)}. "
        f"Expected a survey that was served and answered: {advice}. Nothing was written."
    )


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
