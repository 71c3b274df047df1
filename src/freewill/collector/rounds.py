"""Which survey it is: by its law, its name and its question, in a store that has several.

An id is the hash of a law: texts may be mended. Surveys of one name are *rounds* of one survey,
each with a law of its own, over the same values.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from freewill.collector import database as databases
from freewill.collector.database import FIRST_WITH_PERIODS, Database, Reader, StoreError
from freewill.collector.surveys import StoredSurvey, not_itself, stored_under
from freewill.core.texts import read_json, same_words
from freewill.core.types import Spec
from freewill.domain.survey import Survey
from freewill.domain.survey_log import CLOSED, FIRST, SERVED, entry_after
from freewill.errors import FreewillError, printable, several, shown

_NAMED = 5
"""Surveys of a store that a message names."""
_MOST_ROUNDS = 100
"""Rounds of a name: each is read anew, from a file that anybody may have made."""
_COLUMNS = "number, what, survey, devices, day, previous"
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


def texts_of(survey: Survey) -> str:
    """Return what people read of a survey as a store keeps it: title and questions, as JSON."""
    asked = getattr(survey, "questions", {"": survey})
    questions = {name: own.question for name, own in asked.items() if own.question}
    return json.dumps({"title": survey.title, "questions": questions}, sort_keys=True)


def taken_in(database: Database, survey: Survey, *, mended: bool = False) -> str:
    """Take in a survey, or the texts of one that is there; return what the keys of its ids hash.

    That is the same for all rounds of a name: a report that is sent to two of them counts once.
    """
    own, texts = survey.id, texts_of(survey)
    query = "SELECT texts, head FROM surveys WHERE id = ?"
    for before, head in list(database.rows(query, (own,))):
        if not mended and (other := _another_question(survey, before)):
            raise StoreError(
                f"survey {own} of {database.name} asks {other}: the same values and mechanisms, "
                f"and so the same survey, unless it is told apart. If the words were mended, give "
                f'--mended; if it is another question, give it a "name" of its own.'
            )
        database.run("UPDATE surveys SET texts = ? WHERE id = ?", [(texts, own)])
        return str(head)
    head = own
    if survey.name:
        query = "SELECT id, law, head FROM surveys WHERE name = ?"
        for other, law, first in list(database.rows(query, (survey.name,))):
            _same_values(survey, survey_of(law, other, first))
            head = str(first)
    row = (own, survey.canonical, texts, survey.name or "", head, None)
    database.run("INSERT INTO surveys VALUES (?, ?, ?, ?, ?, ?)", [row])
    return head


def _same_values(survey: Survey, other: Survey) -> None:
    if other.alphabet != survey.alphabet:
        raise StoreError(
            f'"name": {shown(survey.name)} is in the store with other values, {other.alphabet}, '
            f"and these are {survey.alphabet}: rounds of one survey add up, and need the same "
            f"values. Give this one another name."
        )


def _another_question(survey: Survey, texts: str) -> str:
    """Return what a store says that is asked, if it differs and nothing else tells surveys apart.

    A name does, and an id of each question.
    """
    asked: Mapping[str, Survey] = getattr(survey, "questions", {"": survey})
    if survey.name or all(own.question_id for own in asked.values()):
        return ""
    return _other_words(survey, texts)


def asked_before(view: Reader, survey: Survey) -> str:
    """Say what a survey of this name asked until now, if no round of it asked the same.

    Its words may have been mended; or a file was copied, and kept its name.
    """
    query = "SELECT texts FROM surveys WHERE name = ? AND name <> '' ORDER BY id LIMIT ?"
    rows = view.rows(query, (survey.name or "", _MOST_ROUNDS))
    others = [_other_words(survey, texts) for (texts,) in rows]
    if not all(others) or not others:
        return ""
    return (
        f"{shown(survey.name)} asked {others[0]}: it is the same survey, whose answers add up. If "
        f"it is another question, stop, and give it a name of its own."
    )


def _other_words(survey: Survey, texts: str) -> str:
    """Return what a store says that is asked, if it differs from what is asked now."""
    now, before = _words(texts_of(survey)), _words(texts)
    names = sorted(now.keys() | before.keys())
    differ = [name for name in names if now.get(name) != before.get(name)]
    if not differ:
        return ""
    was, given = (shown(some.get(differ[0], "nothing")) for some in (before, now))
    return f"{was}, and not {given}"


def _words(texts: str) -> dict[str, str]:
    """Return the questions that people read, by name; of a survey without any, its title."""
    content = read_json(texts)
    fields = content if isinstance(content, dict) else {}
    questions, title = fields.get("questions"), fields.get("title")
    words = questions if isinstance(questions, dict) and questions else {"": title}
    return {name: same_words(text) for name, text in words.items() if isinstance(text, str)}


def stored_survey(view: Reader, survey: Survey) -> StoredSurvey | None:
    """Return a survey as a store has it, if it does, with all rounds of its name.

    Where an older version kept surveys apart that differ in texts alone, the one that asks the
    same is taken.
    """
    if view.version < FIRST_WITH_PERIODS:
        return _old_survey(view, survey)
    law = survey.canonical
    query = "SELECT id, law, texts, closed_on FROM surveys WHERE id = ? OR law = ? LIMIT ?"
    rows = list(view.rows(query, (survey.id, law, _MOST_ROUNDS)))
    if any(text != law for _, text, _, _ in rows):
        raise not_itself(survey.id)
    # Of those that ask the same, the one with this id.
    rows.sort(key=lambda row: (bool(_another_question(survey, row[2])), row[0] != survey.id))
    for own, _, texts, closed in rows:
        if other := _another_question(survey, texts):
            raise StoreError(
                f"survey {own} in the store asks {other}: the same values and mechanisms. Give "
                f"--survey {own} to read it all the same. Nothing was written."
            )
        return with_rounds(view, stored_under(view, own, survey, closed))
    return None


def _old_survey(view: Reader, survey: Survey) -> StoredSurvey | None:
    """Return a survey of a store of an older version, where texts were part of the id."""
    spec = canonical_of(survey.with_laws())
    own = hashlib.sha256(spec.encode()).hexdigest()[:32]
    for text, closed in view.rows("SELECT spec, closed FROM surveys WHERE id = ?", (own,)):
        if text != spec:
            raise not_itself(own)
        return stored_under(view, own, survey, closed)
    return None


def canonical_of(spec: Spec) -> str:
    """Return a description in one spelling."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def other_rounds(view: Reader, own: str, survey: Survey) -> list[tuple[StoredSurvey, str]]:
    """Return the other rounds of a survey, the earliest first, without their texts.

    Beside each is what the keys of its ids hash.
    """
    if not survey.name:
        return []
    query = "SELECT id, law, head FROM surveys WHERE name = ? AND id <> ? ORDER BY id LIMIT ?"
    rounds = []
    rows = list(view.rows(query, (survey.name, own, _MOST_ROUNDS + 1)))
    if len(rows) > _MOST_ROUNDS:
        what = f"more than {_MOST_ROUNDS} other rounds of {shown(survey.name)}"
        raise StoreError(f"the store has {what}: give the next one another name.")
    for other, law, head in rows:
        before = survey_of(law, other, head)
        _same_values(survey, before)
        rounds.append((stored_under(view, other, before), head))
    return sorted(rounds, key=lambda one: one[0].periods[0].start)


def with_rounds(view: Reader, stored: StoredSurvey) -> StoredSurvey:
    """Return a survey with the periods of all rounds of its name.

    A mechanism of an earlier round is called as it is now, where it is on offer still; where its
    name is another's, the number of the round tells them apart.
    """
    names = {mechanism.id: name for name, mechanism in stored.survey.mechanisms.items()}
    periods = [*stored.periods]
    for number, (other, _) in enumerate(other_rounds(view, stored.id, stored.survey), 1):
        for name, mechanism in other.survey.mechanisms.items():
            taken = name in names.values()
            names.setdefault(mechanism.id, f"{name} (round {number})" if taken else name)
        offered = {names[mechanism.id]: mechanism for mechanism in other.survey.mechanisms.values()}
        periods += (replace(period, offered=offered) for period in other.periods)
    return replace(stored, periods=tuple(sorted(periods, key=attrgetter("start"))))


def stored_by(view: Reader, key: str) -> StoredSurvey | None:
    """Return the survey of a store that has this id or, with all its rounds, this name."""
    if view.version < FIRST_WITH_PERIODS:
        query, values = "SELECT id, spec, '', closed FROM surveys WHERE id = ?", [key]
    else:
        query = (
            "SELECT surveys.id, law, head, closed_on FROM surveys LEFT JOIN mechanisms ON survey = "
            "surveys.id WHERE surveys.id = ? OR (name = ? AND name <> '') ORDER BY period DESC "
            "LIMIT 1"
        )
        values = [key, key]
    for own, law, head, closed in view.rows(query, values):
        survey = survey_of(law, own, head)
        stored = stored_under(view, own, survey, closed)
        return stored if own == key else with_rounds(view, stored)
    return None


@lru_cache(64)
def survey_of(law: str, own: str, head: str) -> Survey:
    """Return the survey that a store has under an id, without its texts.

    The id is the hash of its law, or one that an older version gave it.
    """
    try:
        if own in (head, hashlib.sha256(law.encode()).hexdigest()[:32]):
            return Survey.from_spec(read_json(law))
    except (FreewillError, ValueError, TypeError, AttributeError):
        pass
    raise not_itself(own)


def surveys_in_words(view: Reader) -> str:
    """Say in words which surveys a store has, those with the most people first."""
    query = (
        "SELECT surveys.id, coalesce(sum(people), 0) AS everyone FROM surveys "
        "LEFT JOIN mechanisms ON mechanisms.survey = surveys.id "
        "LEFT JOIN days ON days.mechanism = mechanisms.number "
        "GROUP BY surveys.id ORDER BY everyone DESC, surveys.id LIMIT ?"
    )
    largest = [(str(own), int(people)) for own, people in view.rows(query, (_NAMED + 1,))]
    if not largest:
        return "it has no survey yet"
    texts = [
        f"{printable(own, 40)} {_called(view, own)}({several(people, 'person')})"
        for own, people in largest[:_NAMED]
    ]
    more = " and others" if len(largest) > _NAMED else ""
    return f"it has {', '.join(texts)}{more}"


def _called(view: Reader, own: str) -> str:
    """Return what people read of a survey, its name, title or question, where it has any."""
    columns = "spec, ''" if view.version < FIRST_WITH_PERIODS else "texts, name"
    with suppress(ValueError):
        for text, name in view.rows(f"SELECT {columns} FROM surveys WHERE id = ?", (own,)):
            content = read_json(text)
            fields: dict[str, Any] = content if isinstance(content, dict) else {}
            asked = fields.get("questions")
            first = next(iter(asked.values()), None) if isinstance(asked, dict) else None
            words = name or fields.get("title") or fields.get("question") or first
            return f"{shown(words)} " if isinstance(words, str) else ""
    return ""


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
    before = databases.tables(version) if version else {}
    for statement in _WITHOUT_MARKS if "mark" in before.get("reports", "") else ():
        database.execute(statement)
    surveys, numbers = _before(database) if before else ([], [])
    for name in ("surveys", "mechanisms") if before else ():
        database.execute(f"DROP TABLE {name}")
        del before[name]
    for name, statement in databases.tables().items():
        if name not in before:
            database.execute(statement.format(**database.words))
    ids = _taken_in(database, surveys)
    rows = [(number, ids.get(own, own), *rest) for number, own, *rest in numbers]
    database.run("INSERT INTO mechanisms VALUES (?, ?, ?, ?)", rows)
    if version:
        became = (
            f"{database.name} was of version {version}, and is of {databases.SCHEMA_VERSION} now."
        )
        database.renewal = f"{became} {database.renewal}".strip()


def _before(database: Database) -> tuple[list[_Old], list[tuple[int, str, str, str]]]:
    """Return what older versions had: surveys, and the numbers of all mechanisms.

    These with the first day of the first period of their survey.
    """
    query = (
        "SELECT survey, sum(people), min(day) FROM mechanisms JOIN days ON days.mechanism = "
        "mechanisms.number GROUP BY survey"
    )
    days = {own: (int(people), str(day)) for own, people, day in database.rows(query)}
    rows = list(database.rows("SELECT id, spec, closed FROM surveys ORDER BY id"))
    surveys = [
        _Old(own, spec, day, days.get(own, (0, ""))[0], _read(spec)) for own, spec, day in rows
    ]
    rows = list(database.rows("SELECT number, survey, mechanism FROM mechanisms"))
    return surveys, [(number, own, key, days.get(own, (0, ""))[1]) for number, own, key in rows]


def _read(spec: Any) -> Survey | None:
    try:
        return Survey.from_spec(read_json(spec))
    except (FreewillError, ValueError, TypeError):
        return None


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
