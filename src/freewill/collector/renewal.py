"""How a store is made, and how one of an older version becomes one of ours, all or nothing."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from freewill.collector.database import SCHEMA_VERSION, Database, tables
from freewill.collector.rounds import texts_of
from freewill.collector.survey_log import add_entry
from freewill.core.texts import read_json
from freewill.domain.survey import Survey
from freewill.domain.survey_log import CLOSED
from freewill.errors import FreewillError

_WITHOUT_MARKS = (
    "ALTER TABLE reports DROP COLUMN mark",
    # Keys of 8 bytes each were followed by marks of 4.
    *(
        f"UPDATE {name} SET content = substr(content, 1, length(content) / 3 * 2) "
        "WHERE length(content) > 0"  # of nothing, SQLite makes NULL
        for name in ("runs", "settled")
    ),
)
"""What takes away what version 2 had beside each id, a mark of its report.

A server of an older release that still runs asks with each upload for what is no longer there, the
marks or the column `closed`: it is refused, and writes nothing into tables that it no longer
understands.
"""


class _Old(NamedTuple):
    """A survey as versions 2 and 3 had it, with what it is now."""

    id: str
    spec: str
    closed: str | None
    people: int
    survey: Survey | None
    """None where it is none, whoever wrote it."""


def create_tables(database: Database, version: int) -> None:
    """Make the tables of a new store (version 0), or those of an older version ours.

    Counts, pages and keys stay where they are: what was there is the first period. In
    O(surveys + mechanisms), and from version 2 in O(ids).
    """
    before = tables(version) if version else {}
    for statement in _WITHOUT_MARKS if "mark" in before.get("reports", "") else ():
        database.execute(statement)
    surveys, numbers = (_surveys(database), _numbers(database)) if before else ([], [])
    for name in ("surveys", "mechanisms") if before else ():
        database.execute(f"DROP TABLE {name}")
        del before[name]
    for name, statement in tables().items():
        if name not in before:
            database.execute(statement.format(**database.words))
    ids = _taken_in(database, surveys)
    rows = [(number, ids.get(own, own), *rest) for number, own, *rest in numbers]
    database.run("INSERT INTO mechanisms VALUES (?, ?, ?, ?)", rows)
    if version:
        became = f"{database.name} was of version {version}, and is of {SCHEMA_VERSION} now."
        database.renewal = f"{became} {database.renewal}".strip()


def _surveys(database: Database) -> list[_Old]:
    query = (
        "SELECT survey, sum(people) FROM mechanisms JOIN days ON days.mechanism = "
        "mechanisms.number GROUP BY survey"
    )
    people: Counter[str] = Counter({own: int(many) for own, many in database.rows(query)})
    rows = list(database.rows("SELECT id, spec, closed FROM surveys ORDER BY id"))
    return [_Old(own, spec, day, people[own], _read(spec)) for own, spec, day in rows]


def _read(spec: Any) -> Survey | None:
    try:
        return Survey.from_spec(read_json(spec))
    except (FreewillError, ValueError, TypeError):
        return None


def _numbers(database: Database) -> list[tuple[int, str, str, str]]:
    """Return the numbers of all mechanisms, with the first day of each survey's first period."""
    query = (
        "SELECT survey, min(day) FROM mechanisms JOIN days ON days.mechanism = mechanisms.number "
        "GROUP BY survey"
    )
    days = dict(database.rows(query))
    rows = list(database.rows("SELECT number, survey, mechanism FROM mechanisms"))
    return [(number, own, key, days.get(own) or "") for number, own, key in rows]


def _taken_in(database: Database, surveys: Iterable[_Old]) -> dict[str, str]:
    """Take in old surveys, and return their ids by those of then, which texts were part of.

    Of several that differ in texts alone, that with the most people has the id now, and the others
    keep theirs: whether they asked for the same thing nobody here can tell.
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for old in sorted(surveys, key=lambda one: (-one.people, one.id)):
        now = old.survey.id if old.survey else old.id
        own = ids[old.id] = old.id if now in taken else now
        taken.add(own)
        law = old.survey.canonical if old.survey else old.spec
        texts = texts_of(old.survey) if old.survey else "{}"
        row = (own, law, texts, "", old.id, old.closed)
        database.run("INSERT INTO surveys VALUES (?, ?, ?, ?, ?, ?)", [row])
        if own != old.id:
            database.run("INSERT INTO aliases VALUES (?, ?)", [(old.id, own)])
            database.run("UPDATE releases SET survey = ? WHERE survey = ?", [(own, old.id)])
            if old.closed:
                add_entry(database, CLOSED, own, "", old.closed)
    return ids
