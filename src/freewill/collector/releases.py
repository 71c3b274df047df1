"""Releases: what is published of a survey, the same for everyone until the next one is due.

Numbers that follow every report can be differenced: who asks before and after somebody answers
reads off what they sent. A release stands still until enough new people have come, and is made at
whole multiples of a period, by the clock: nobody chooses who is in it by asking.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.collector.answers import RefusedError
from freewill.collector.database import Database, Reader, StoreError
from freewill.collector.store import Store
from freewill.collector.surveys import Release, StoredSurvey, people_of, to_bytes
from freewill.core.types import IntArray, Reports
from freewill.domain.draws.noise import CountNoise
from freewill.domain.draws.sources import SystemGenerator
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, several
from freewill.present.rounding import rounded_document, rounded_down
from freewill.stats.fit import Fit, NoisyFit, fit, noisy_evidence

MOST_CELLS = 1 << 16
"""Possible reports of all mechanisms up to which each is counted with noise."""
_LOOK_SECONDS = 60.0
"""After which the clock is looked at again: it may be set, and machines sleep."""
_COPIED = {"counts": ("output", "people"), "pages": ("page", "content"), "days": ("day", "people")}
"""What a release has a copy of: tables, with what tells the rows of a mechanism apart."""


@dataclass(frozen=True)
class ReleaseRule:
    """When a release is made, and with how much noise.

    >>> ReleaseRule(every=3600).tick(7199.5)
    3600
    """

    people: int = 100
    """New people that it takes."""
    every: int = 3600
    """Seconds of which it takes a whole number, counted from 1970."""
    epsilon: float | None = None
    """What all releases together may tell of what a person sent; None for exact counts."""

    @cached_property
    def noise(self) -> CountNoise | None:
        """What is added to counts."""
        return None if self.epsilon is None else CountNoise(self.epsilon)

    def tick(self, now: float) -> int:
        """Return the last moment at which there may be a release."""
        return int(now // self.every) * self.every

    def described(self) -> Any:
        """Return the rule as JSON has it."""
        return {"people": self.people, "every": self.every, "epsilon": self.epsilon}


class _Row(NamedTuple):
    """What the store has of the releases of a survey."""

    tick: int = -1
    """The last moment that was judged, whether there was a release or not."""
    number: int = 0
    made: int = 0
    epsilon: str = ""
    cells: bytes = b""
    """Noisy counts of all possible reports, as whole numbers of 8 bytes."""


@dataclass(eq=False)
class Releases:
    """The last release of each survey, as a source of estimates, and the next ones.

    What the release has of mechanism number n lies in the tables of reports, under -n: with the
    same queries as what is stored now, in memory or not. Where counts are published with noise,
    these rows tell only who was in a release before: each release adds noisy counts of the *new*
    people to those that were published, so that noise protects each person once and for all.
    """

    store: Store
    surveys: Sequence[Survey]
    rule: ReleaseRule = field(default_factory=ReleaseRule)
    min_people: int = 2
    clock: Callable[[], float] = time.time
    made: int = 0
    failures: int = 0

    def __post_init__(self) -> None:
        noised = () if self.exact else self.surveys
        self._cells = {survey.id: cells_of(survey) for survey in noised}
        self._ids = [survey.id for survey in self.surveys]
        self._epsilon = "" if self.rule.epsilon is None else repr(self.rule.epsilon)
        with self.store.view() as view:
            for own in self._ids:
                self._row(view, own)

    def _row(self, view: Reader, own: str) -> _Row:
        query = "SELECT tick, number, made, epsilon, cells FROM releases WHERE survey = ?"
        rows = [_Row(*row) for row in view.rows(query, (own,))] if own in self._ids else []
        row = rows[0] if rows else _Row()
        if row.number and row.epsilon != self._epsilon:
            before, now = (
                f"--release-epsilon {one}" if one else "exact counts"
                for one in (row.epsilon, self._epsilon)
            )
            raise StoreError(
                f"survey {own} has {several(row.number, 'release')} of {before}, and the next one "
                f"would be of {now}: both together would tell more than either promises. Go on as "
                f"before, or serve another survey."
            )
        cells = sum(len(outputs) for _, outputs in self._cells.get(own, ())) if row.number else 0
        if len(row.cells) != 8 * cells or any(type(number) is not int for number in row[:3]):
            raise StoreError(
                f"the store is damaged in what it has of releases of survey {own}: restore it from "
                f"a backup."
            )
        return row

    @property
    def exact(self) -> bool:
        """Whether counts are published as they are."""
        return self.rule.noise is None

    def tick(self) -> None:
        """Make the releases that are due, each in one transaction.

        A survey that cannot be released now is judged again at the next moment.
        """
        for own in self._ids:
            try:
                self.made += self._released(own, self.rule.tick(self.clock()))
            except Exception:  # the next survey is still to be released
                self.failures += 1

    def _released(self, own: str, tick: int) -> bool:
        """Judge a survey at a moment, once whoever asks; say whether there is a new release."""
        with self.store.changing() as database:
            row, stored = self._row(database, own), self.store.survey(database, own)
            if row.tick == tick:
                return False
            new = people_of(database, stored) - people_of(database, _released_part(stored))
            due = new >= self.least(row.number)
            row = row._replace(tick=tick)
            if due:
                cells = self._noised(database, stored, row.cells)
                row = _Row(tick, row.number + 1, tick, self._epsilon, cells)
                for period in stored.periods:
                    for number in period.numbers.values():
                        _copy(database, number)
            database.run("DELETE FROM releases WHERE survey = ?", [(own,)])
            database.run("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?)", [(own, *row)])
        return due

    def least(self, number: int) -> int:
        """Return how many new people the next release takes, after so many releases."""
        return self.rule.people if number else max(self.rule.people, self.min_people)

    def _noised(self, database: Database, stored: StoredSurvey, before: bytes) -> bytes:
        """Return the counts that were published with those of new people, and fresh noise."""
        if self.rule.noise is None:
            return b""
        now, then = (
            np.concatenate(
                [_counts(database, one, m, cells) for m, cells in self._cells[stored.id]]
            )
            for one in (stored, _released_part(stored))
        )
        new = now - then + self.rule.noise.many(len(now), SystemGenerator())
        counts: IntArray = new + np.frombuffer(before or bytes(new.nbytes), "<i8")
        return counts.astype("<i8").tobytes()

    def survey(self, view: Reader, key: str) -> StoredSurvey:
        """Return a survey as the last release has it; by its name, the round that is served."""
        own = self.store.served_round(key)
        row = self._row(view, own)
        stored = self.store.survey(view, own)
        if not row.number:
            advice = (
                f"The first release comes when {several(self.least(0), 'person')} or more have "
                f"answered. The administrator sees what is stored now."
            )
            raise RefusedError(409, "nothing was published of this survey yet", advice)
        release = Release(row.number, row.made)
        if self.rule.noise is None:
            return replace(_released_part(stored), release=release)
        counts, parts = np.frombuffer(row.cells, "<i8").astype(np.int64), []
        for mechanism, outputs in self._cells[own]:
            own_counts, counts = counts[: len(outputs)], counts[len(outputs) :]
            parts.append((mechanism, outputs, own_counts, stored.survey.names[mechanism.id]))
        variance = row.number * self.rule.noise.variance
        evidence = noisy_evidence(stored.survey.alphabet, parts, variance)
        # Without numbers, nothing leads to the exact counts.
        return replace(stored, periods=(), release=release, published=evidence)

    def last(self, view: Reader, key: str) -> Release | None:
        """Return which release of a survey is the last; None before the first."""
        row = self._row(view, self.store.served_round(key))
        return Release(row.number, row.made) if row.number else None

    def fit(self, evidence: Any, start: Any) -> Fit:
        """Fit a distribution to what is published."""
        return fit(evidence, start=start) if self.exact else NoisyFit(evidence, start)

    def people(self, many: int) -> int:
        """Return a number of people as it is shown: rounded down, unless it has noise."""
        return rounded_down(many) if self.exact else many

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an answer as everyone sees it."""
        shown = rounded_document(document) if self.exact else document
        return {**shown, "live": False}


async def releasing(releases: Releases) -> None:
    """Make releases when they are due, until it is cancelled."""
    last = releases.rule.tick(releases.clock())
    while True:
        await asyncio.sleep(
            min(_LOOK_SECONDS, releases.rule.every - releases.clock() % releases.rule.every)
        )
        if (tick := releases.rule.tick(releases.clock())) != last:
            last = tick
            await asyncio.to_thread(releases.tick)


def _released_part(stored: StoredSurvey) -> StoredSurvey:
    """Return the copies that a release has of a survey."""
    copies = (
        replace(one, numbers={key: -number for key, number in one.numbers.items()})
        for one in stored.periods
    )
    return replace(stored, periods=tuple(copies))


def _copy(database: Database, number: int) -> None:
    """Make what the release has of a mechanism equal to what is stored; write what differs."""
    for table, (key, value) in _COPIED.items():
        database.run(
            f"DELETE FROM {table} WHERE mechanism = ? AND {key} NOT IN "
            f"(SELECT {key} FROM {table} WHERE mechanism = ?)",
            [(-number, number)],
        )
        database.run(
            f"INSERT INTO {table} SELECT -mechanism, {key}, {value} FROM {table} AS live "
            f"WHERE mechanism = ? AND NOT EXISTS (SELECT 1 FROM {table} AS copy WHERE "
            f"copy.mechanism = ? AND copy.{key} = live.{key} AND copy.{value} = live.{value}) "
            f"ON CONFLICT (mechanism, {key}) DO UPDATE SET {value} = excluded.{value}",
            [(number, -number)],
        )


def cells_of(survey: Survey) -> list[tuple[Mechanism, Reports]]:
    """Return all possible reports of each mechanism, in an order that the id of a survey fixes.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> cells_of(fw.Survey(coin.alphabet, {"coin": coin}))[0][1]
    array([0, 1])
    """
    if hasattr(survey, "questions"):
        raise ParameterError(
            f"--release-epsilon: noise is added to counts of one question, and survey {survey.id} "
            f"asks several at once. Serve its questions as surveys of their own, or publish exact "
            f"counts of many people, without --release-epsilon."
        )
    cells, many = [], 0
    for name, mechanism in sorted(survey.mechanisms.items(), key=lambda item: item[1].id):
        space = mechanism.output_space
        listable = space.repeats and space.listable
        many += space.places if listable else 0
        if not listable or many > MOST_CELLS:
            raise ParameterError(
                f"--release-epsilon: noise is added to the count of each possible report, "
                f"{MOST_CELLS:,} of a survey at most, and {name} ({mechanism}) has more. Offer "
                f"mechanisms whose reports are values, such as k-RR or geometric noise, over fewer "
                f"values; or publish exact counts of many people, without --release-epsilon."
            )
        outputs = space.all()
        cells.append((mechanism, outputs[mechanism.operator(outputs).possible()]))
    return cells


def _counts(
    database: Reader, stored: StoredSurvey, mechanism: Mechanism, outputs: Reports
) -> IntArray:
    """Return how many people sent each of some outputs."""
    query = "SELECT output, people FROM counts WHERE mechanism = ?"
    people: Counter[bytes] = Counter()
    for period in stored.periods:
        rows = database.rows(query, (period.numbers[mechanism.id],))
        people.update({bytes(one): many for one, many in rows})
    return np.array([people[one] for one in to_bytes(outputs)], dtype=np.int64)
