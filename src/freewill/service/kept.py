"""What a store keeps, read at one moment: surveys, people by day, and evidence from counts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

from freewill.errors import FreewillError, first_line
from freewill.evidence import Evidence, Group, assemble, grouped, refuse_impossible
from freewill.mechanisms import Mechanism
from freewill.outputs import checked_counts
from freewill.service.database import Reader
from freewill.service.refusals import StoreError
from freewill.service.surveys import from_bytes, survey_id
from freewill.streams import HELD_BYTES, Block, Look, Stream, Work, gathered, looking
from freewill.survey import Survey


@dataclass(frozen=True)
class Kept:
    """A survey as it stands in a store."""

    id: str
    survey: Survey
    numbers: dict[str, int]
    """Of its mechanisms, by their ids."""
    closed: str | None
    """The day on which it was closed."""


def kept_surveys(view: Reader) -> dict[str, Kept]:
    """Return all surveys by their ids; each is what its id says."""
    numbers: dict[str, dict[str, int]] = {}
    for survey, mechanism, number in view.rows("SELECT survey, mechanism, number FROM mechanisms"):
        numbers.setdefault(survey, {})[mechanism] = number
    found = {}
    for own, spec, closed in view.rows("SELECT id, spec, closed FROM surveys ORDER BY id"):
        try:
            survey = Survey.from_spec(json.loads(spec))
            fine = survey_id(survey) == own
        except (FreewillError, ValueError, RecursionError):
            fine = False
        if not fine:
            raise StoreError(
                f"survey {own!r} in the store is not what its id says: the store is damaged, or "
                f"of another release. Restore it from a backup."
            )
        found[own] = Kept(own, survey, numbers.get(own, {}), closed)
    return found


def people_by_day(view: Reader, kept: Kept) -> dict[str, dict[str, int]]:
    """Return how many people chose each mechanism, by its name, on each day."""
    found: dict[str, dict[str, int]] = {name: {} for name in kept.survey.mechanisms}
    query = "SELECT day, people FROM days WHERE mechanism = ? ORDER BY day"
    for name, mechanism in kept.survey.mechanisms.items():
        for day, people in view.rows(query, (kept.numbers[mechanism.id],)):
            found[name][day] = people
    return found


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
    for name, mechanism in kept.survey.mechanisms.items():
        number = kept.numbers[mechanism.id]
        if mechanism.output_space.repeats:
            groups.append(_counted(view, number, mechanism, name))
        elif _page_bytes(view, number) <= hold:
            groups.append(_brought(view, number, mechanism, name))
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
    return assemble(kept.survey.alphabet, groups)


def _counted(view: Reader, number: int, mechanism: Mechanism, name: str) -> Group:
    query = "SELECT output, people FROM counts WHERE mechanism = ?"
    rows = list(view.rows(query, (number,)))
    with _undamaged(mechanism):
        outputs = from_bytes(b"".join(bytes(row[0]) for row in rows), mechanism)
        counts = checked_counts([row[1] for row in rows], str(mechanism))
        if len(outputs) != len(counts):
            raise ValueError("another number of outputs than of counts")
        checked = mechanism.output_space.checked(outputs, mechanism.name)
        group = grouped(mechanism, [(checked, counts)], name)
        refuse_impossible(group)
    return group


@contextmanager
def _undamaged(mechanism: Mechanism) -> Iterator[None]:
    """Refuse what only a damaged store can hold: what was stored was checked, once."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"the store is damaged in what it has of {mechanism} ({first_line(error)}): restore "
            f"it from a backup."
        ) from None


def _page_bytes(view: Reader, number: int) -> int:
    query = "SELECT coalesce(sum(length(content)), 0) FROM pages WHERE mechanism = ?"
    ((size,),) = view.rows(query, (number,))
    return int(size)


def _brought(view: Reader, number: int, mechanism: Mechanism, name: str) -> Group:
    blocks = list(StorePages(view, {number: mechanism}).blocks())
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
        query = "SELECT content FROM pages WHERE mechanism = ? ORDER BY page"
        for number, mechanism in self.mechanisms.items():
            space = mechanism.output_space
            for (content,) in self.view.rows(query, (number,)):
                with _undamaged(mechanism):
                    outputs = from_bytes(bytes(content), mechanism)
                    outputs = space.checked(outputs, mechanism.name)
                if len(outputs):
                    yield Block(mechanism.id, outputs)

    def refused(self) -> list[Any]:
        """Nothing: what is stored was checked."""
        return []

    def close(self) -> None:
        """Leave the view to whoever opened it."""

    def __str__(self) -> str:
        return "the store"
