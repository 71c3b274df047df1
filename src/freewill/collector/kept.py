"""What a store keeps, read at one moment: surveys, people by day, and evidence from counts."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import add
from typing import Any, ClassVar

from freewill.collector.database import Reader
from freewill.collector.pages import page_rows
from freewill.collector.refusals import StoreError
from freewill.collector.surveys import canonical, from_bytes, row_width, survey_id
from freewill.core.texts import read_json
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs.base import checked_counts
from freewill.domain.survey import Survey
from freewill.errors import first_line, printable, several, shown
from freewill.stats.evidence import Evidence, Group, assemble, grouped, refuse_impossible
from freewill.stats.streams import HELD_BYTES, Block, Look, Stream, Work, gathered, looking

_NAMED = 5
"""Surveys of a store that a message names."""


@dataclass(frozen=True)
class Kept:
    """A survey as it stands in a store."""

    id: str
    survey: Survey
    numbers: dict[str, int]
    """Of its mechanisms, by their ids."""
    closed: str | None
    """The day on which it was closed."""


def kept_survey(view: Reader, survey: Survey) -> Kept | None:
    """Return a survey as a store has it, if it does: what is stored under its id is the survey."""
    own, spec = survey_id(survey), canonical(survey)
    found = list(view.rows("SELECT spec, closed FROM surveys WHERE id = ?", (own,)))
    if not found:
        return None
    offered = {mechanism.id for mechanism in survey.mechanisms.values()}
    query = "SELECT mechanism, number FROM mechanisms WHERE survey = ? LIMIT ?"
    numbers = dict(view.rows(query, (own, len(offered) + 1)))
    fine = numbers.keys() == offered and all(type(number) is int for number in numbers.values())
    (stored, closed), *_ = found
    if stored != spec or not fine:
        raise StoreError(
            f"survey {own} in the store is not what its id says: the store is damaged, or of "
            f"another release. Restore it from a backup."
        )
    return Kept(own, survey, numbers, closed)


def holdings(view: Reader) -> str:
    """Say in words which surveys a store has, those with the most people first."""
    query = (
        "SELECT surveys.id, coalesce(sum(people), 0) AS everyone FROM surveys "
        "LEFT JOIN mechanisms ON mechanisms.survey = surveys.id "
        "LEFT JOIN days ON days.mechanism = mechanisms.number "
        "GROUP BY surveys.id ORDER BY everyone DESC, surveys.id LIMIT ?"
    )
    found = [(str(own), int(people)) for own, people in view.rows(query, (_NAMED + 1,))]
    if not found:
        return "it has no survey yet"
    texts = [
        f"{printable(own, 40)} {_called(view, own)}({several(people, 'person')})"
        for own, people in found[:_NAMED]
    ]
    more = " and others" if len(found) > _NAMED else ""
    return f"it has {', '.join(texts)}{more}"


def _called(view: Reader, own: str) -> str:
    """Return what people read of a survey, its title or question, where it has any."""
    with suppress(ValueError):
        for (spec,) in view.rows("SELECT spec FROM surveys WHERE id = ?", (own,)):
            told = read_json(spec)
            words = told.get("title") or told.get("question") if isinstance(told, dict) else None
            return f"{shown(words)} " if isinstance(words, str) else ""
    return ""


def people_by_day(view: Reader, kept: Kept) -> dict[str, dict[str, int]]:
    """Return how many people chose each mechanism, by its name, on each day."""
    return {
        name: _days(view, kept.numbers[mechanism.id], mechanism)
        for name, mechanism in kept.survey.mechanisms.items()
    }


def _days(view: Reader, number: int, mechanism: Mechanism) -> dict[str, int]:
    query = "SELECT day, people FROM days WHERE mechanism = ? ORDER BY day"
    with _undamaged(mechanism):
        rows = list(_ordered(view.rows(query, (number,)), str))
        for day, _ in rows:
            date.fromisoformat(day)
        counts = checked_counts([people for _, people in rows], "its days").tolist()
    return {day: people for (day, _), people in zip(rows, counts, strict=True)}


def _ordered(rows: Iterable[tuple[Any, Any]], kind: type) -> Iterator[tuple[Any, Any]]:
    """Yield rows whose keys are of a kind and rise: a damaged tree may lead round in a circle."""
    before: Any = None
    for key, content in rows:
        if not isinstance(key, kind) or (before is not None and not key > before):
            raise ValueError("keys that are none, or not in their order")
        before = key
        yield key, content


def people_of(view: Reader, kept: Kept) -> int:
    """Return how many people answered a survey."""
    query = (
        "SELECT coalesce(sum(people), 0) FROM days JOIN mechanisms "
        "ON days.mechanism = mechanisms.number WHERE survey = ?"
    )
    ((people,),) = view.rows(query, (kept.id,))
    return int(people)


def evidence_of(view: Reader, kept: Kept, hold: int = HELD_BYTES) -> Evidence:
    """Return the evidence of a survey: counts, and pages of reports that do not repeat.

    Pages come into memory if they are at most `hold` bytes; else solvers pass over them where they
    lie, for as long as the view is open.
    """
    groups = []
    left: dict[int, Mechanism] = {}
    days = people_by_day(view, kept)
    everyone = {name: sum(people.values()) for name, people in days.items()}
    for name, mechanism in kept.survey.mechanisms.items():
        number = kept.numbers[mechanism.id]
        if mechanism.output_space.repeats:
            groups.append(_counted(view, number, mechanism, name))
        elif everyone[name] * row_width(mechanism) <= hold:
            groups.append(_brought(view, number, mechanism, name, everyone[name]))
        else:
            left[number] = mechanism
    if left:
        source = StorePages(view, left)
        look: Look = reduce(add, source.map(looking({m.id: m for m in left.values()})))
        for mechanism in left.values():
            seen = look.summaries[mechanism.id]
            stream = Stream(source, mechanism, seen.seen.people, seen.rows, seen)
            name = kept.survey.names[mechanism.id]
            groups.append(Group(mechanism, None, (stream,), name))
    for group in groups:
        with _undamaged(group.mechanism):
            _refuse_difference(group.people, everyone[group.name])
    return assemble(kept.survey.alphabet, groups)


def _refuse_difference(reports: int, people: int) -> None:
    """Refuse reports that are not as many as the people by day, which grow with them."""
    if reports != people:
        raise ValueError(f"{several(reports, 'report')} of {several(people, 'person')} by day")


def _counted(view: Reader, number: int, mechanism: Mechanism, name: str) -> Group:
    query = "SELECT output, people FROM counts WHERE mechanism = ? ORDER BY output"
    width = row_width(mechanism)
    with _undamaged(mechanism):
        outputs, people = [], []
        for output, count in _ordered(view.rows(query, (number,)), bytes):
            if len(output) != width:
                raise ValueError(f"an output of {several(len(output), 'byte')}")
            outputs.append(output)
            people.append(count)
        counts = checked_counts(people, str(mechanism))
        found = from_bytes(b"".join(outputs), mechanism)
        checked = mechanism.output_space.checked(found, mechanism.name)
        group = grouped(mechanism, [(checked, counts)], name)
        refuse_impossible(group)
    return group


@contextmanager
def _undamaged(mechanism: Mechanism) -> Iterator[None]:
    """Refuse what only a damaged store can hold: what was stored was checked, once."""
    try:
        yield
    except StoreError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"the store is damaged in what it has of {mechanism} ({first_line(error)}): restore "
            f"it from a backup."
        ) from None


def _brought(view: Reader, number: int, mechanism: Mechanism, name: str, people: int) -> Group:
    blocks: list[Block] = []
    rows = 0
    for block in StorePages(view, {number: mechanism}).blocks():
        blocks.append(block)
        rows += len(block.outputs)
        if rows > people:
            break  # more than by day, which is refused, and maybe than memory holds
    return grouped(mechanism, [(block.outputs, None) for block in blocks], name)


@dataclass(frozen=True)
class StorePages:
    """Reports that do not repeat, in the pages of a store, read anew for each pass."""

    view: Reader
    mechanisms: dict[int, Mechanism]
    held: ClassVar[bool] = False

    def map(self, work: Work) -> Iterator[Any]:
        """Do the work here, while the pages stream by."""
        yield work(self)

    def __iter__(self) -> Iterator[Block]:
        return gathered(self._blocks(), copy=False)

    def blocks(self) -> Iterator[Block]:
        """Yield the reports as they stream by."""
        return iter(self)

    def _blocks(self) -> Iterator[Block]:
        query = "SELECT page, content FROM pages WHERE mechanism = ? ORDER BY page"
        for number, mechanism in self.mechanisms.items():
            space = mechanism.output_space
            width = row_width(mechanism)
            with _undamaged(mechanism):
                for _, content in _ordered(self.view.rows(query, (number,)), int):
                    if not isinstance(content, bytes):
                        raise ValueError("a page that is none")
                    if len(content) > page_rows(width) * width:
                        raise ValueError(f"a page of {several(len(content), 'byte')}")
                    outputs = space.checked(from_bytes(content, mechanism), mechanism.name)
                    if len(outputs):
                        yield Block(mechanism.id, outputs)

    def refused(self) -> list[Any]:
        """Nothing: what is stored was checked."""
        return []

    def close(self) -> None:
        """Leave the view to whoever opened it."""

    def __str__(self) -> str:
        return "the store"
