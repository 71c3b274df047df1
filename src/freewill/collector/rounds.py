"""Which survey it is: by its law, its name and its question, in a store that has several.

An id is the hash of a law: texts may be mended. Surveys of one name are *rounds* of one survey,
each with a law of its own, over the same values.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from freewill.collector.database import FIRST_WITH_PERIODS, Database, Reader, StoreError
from freewill.collector.periods import not_itself, periods_of
from freewill.collector.surveys import StoredSurvey
from freewill.core.texts import read_json, same_words
from freewill.core.types import Spec
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, printable, several, shown

_NAMED = 5
"""Surveys of a store that a message names."""
_MOST_ROUNDS = 100
"""Rounds of a name: each is read anew, from a file that anybody may have made."""


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
    if {name: same_words(text) for name, text in now.items()} == {
        name: same_words(text) for name, text in before.items()
    }:
        return ""
    names = sorted(now.keys() | before.keys())
    differ = [name for name in names if now.get(name) != before.get(name)]
    was, given = (shown(some.get(differ[0], "nothing")) for some in (before, now))
    return f"{was}, and not {given}"


def _words(texts: str) -> dict[str, str]:
    """Return the questions that people read, by name; of a survey without any, its title."""
    content = read_json(texts)
    fields = content if isinstance(content, dict) else {}
    questions, title = fields.get("questions"), fields.get("title")
    words = questions if isinstance(questions, dict) and questions else {"": title}
    return {name: text for name, text in words.items() if isinstance(text, str)}


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
        periods = periods_of(view, own, survey.mechanisms)
        return with_rounds(view, StoredSurvey(own, survey, periods, closed))
    return None


def _old_survey(view: Reader, survey: Survey) -> StoredSurvey | None:
    """Return a survey of a store of an older version, where texts were part of the id."""
    spec = canonical_of(survey.with_laws())
    own = hashlib.sha256(spec.encode()).hexdigest()[:32]
    for text, closed in view.rows("SELECT spec, closed FROM surveys WHERE id = ?", (own,)):
        if text != spec:
            raise not_itself(own)
        return StoredSurvey(own, survey, periods_of(view, own, survey.mechanisms), closed)
    return None


def canonical_of(spec: Spec) -> str:
    """Return a description in one spelling."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def other_rounds(
    view: Reader, own: str, survey: Survey
) -> list[tuple[Survey, dict[str, int], str]]:
    """Return the other rounds of a survey, the earliest first, without their texts.

    Beside each are the numbers of its first period, and what the keys of its ids hash.
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
        first = periods_of(view, other, before.mechanisms)[0]
        rounds.append((first.start, before, dict(first.numbers), head))
    return [(*one,) for _, *one in sorted(rounds, key=itemgetter(0))]


def with_rounds(view: Reader, stored: StoredSurvey) -> StoredSurvey:
    """Return a survey with the periods of all rounds of its name.

    A mechanism of an earlier round is called as it is now, where it is on offer still; where its
    name is another's, the number of the round tells them apart.
    """
    names = {mechanism.id: name for name, mechanism in stored.survey.mechanisms.items()}
    periods = [*stored.periods]
    for number, (other, _, _) in enumerate(other_rounds(view, stored.id, stored.survey), 1):
        offered = _renamed(other.mechanisms, names, number)
        some = periods_of(view, other.id, other.mechanisms)
        periods += (replace(period, offered=offered) for period in some)
    return replace(stored, periods=tuple(sorted(periods, key=attrgetter("start"))))


def _renamed(
    offered: Mapping[str, Mechanism], names: dict[str, str], number: int
) -> dict[str, Mechanism]:
    """Return mechanisms by names that no other has; those join the names, by id."""
    for name, mechanism in offered.items():
        if mechanism.id not in names:
            taken = name in names.values()
            names[mechanism.id] = f"{name} (round {number})" if taken else name
    return {names[mechanism.id]: mechanism for mechanism in offered.values()}


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
        stored = StoredSurvey(own, survey, periods_of(view, own, survey.mechanisms), closed)
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
    if view.version < FIRST_WITH_PERIODS:
        query = "SELECT spec, '' FROM surveys WHERE id = ?"
    else:
        query = "SELECT texts, name FROM surveys WHERE id = ?"
    with suppress(ValueError):
        for text, name in view.rows(query, (own,)):
            content = read_json(text)
            fields: dict[str, Any] = content if isinstance(content, dict) else {}
            asked = fields.get("questions")
            first = next(iter(asked.values()), None) if isinstance(asked, dict) else None
            words = name or fields.get("title") or fields.get("question") or first
            return f"{shown(words)} " if isinstance(words, str) else ""
    return ""
