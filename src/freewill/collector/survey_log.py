"""The public log of surveys in a store: written with what it tells, in the same transaction."""

from typing import NamedTuple

from freewill.collector.database import Database, Reader
from freewill.core.types import Spec
from freewill.domain.survey_log import FIRST, SERVED, entry_after

_COLUMNS = "number, what, survey, devices, day, previous"


class Place(NamedTuple):
    """Where a log ends, or where an entry stands in it."""

    number: int
    head: str


def log_end(view: Reader) -> Place:
    """Return the last number and the head of the log."""
    last = list(view.rows("SELECT number, head FROM log ORDER BY number DESC LIMIT 1"))
    return Place(*last[0]) if last else Place(0, FIRST)


def log_entries(view: Reader, first: int, most: int) -> list[Spec]:
    """Return so many entries of the log, from a number on."""
    query = f"SELECT {_COLUMNS} FROM log WHERE number >= ? ORDER BY number LIMIT ?"
    names = _COLUMNS.split(", ")
    return [dict(zip(names, row, strict=True)) for row in view.rows(query, (first, most))]


def add_entry(database: Database, what: str, survey: str, devices: str, day: str) -> Place:
    """Add an entry behind the last one; no other writer is let in meanwhile."""
    number, previous = log_end(database)
    entry, head = entry_after(previous, number + 1, what, survey, devices, day)
    row = (*(entry[name] for name in _COLUMNS.split(", ")), head)
    database.run("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", [row])
    return Place(number + 1, head)


def served(database: Database, survey: str, devices: str, day: str) -> Place:
    """Return where it stands that a survey is served so, adding an entry unless the last says it.

    Another release may write another program for the same mechanism: that is told, too.
    """
    query = (
        "SELECT devices, number, head FROM log WHERE survey = ? AND what = ? "
        "ORDER BY number DESC LIMIT 1"
    )
    for before, number, head in list(database.rows(query, (survey, SERVED))):
        if before == devices:
            return Place(number, head)
    return add_entry(database, SERVED, survey, devices, day)
