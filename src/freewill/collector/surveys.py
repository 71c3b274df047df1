"""A survey in a store: how its reports lie there, and what is read of them at one moment.

Reports that repeat are counted. Those that do not lie in pages: rows of equal length, in an order
that is mute.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from freewill.collector.database import FIRST_WITH_PERIODS, Database, Reader, StoreError
from freewill.core.types import Reports, checked_counts, slices
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, first_line, several, shown
from freewill.stats import groups
from freewill.stats.evidence import Evidence, assemble, digest, merge, with_periods
from freewill.stats.groups import Block, Group, Stream, Work, gathered, grouped, summarising

PAGE_BYTES = 1 << 14
"""Bytes of a page: it is written anew with each commit until it is full."""
OPEN = 0
"""The number of the page that is not full yet; all others have random ones."""
MIN_PEOPLE = 100
"""People below whom no estimate is shown."""
Row: TypeAlias = tuple[int, bytes, bytes]
"""A report that was checked: the number of its mechanism, its output, and its id.

A plain tuple, for a batch makes tens of thousands of them.
"""
FEWEST = 100
"""People whom a period has before another one begins."""
_MOST = 1 << 13
"""Periods of a survey: days of 22 years."""
_SHOWN = 8
"""Periods that a message names."""


@dataclass(frozen=True)
class Period:
    """Days whose reports are counted together, under numbers of their own."""

    start: str
    """Its first day; nothing before the first report."""
    offered: Mapping[str, Mechanism]
    """The mechanisms by their names."""
    numbers: Mapping[str, int]
    """Of the mechanisms, by their ids."""


def every_of(survey: Survey) -> str:
    """Return by which periods a survey is counted: days, weeks (also if left out), months, none."""
    return survey.period or "week"


def border_of(every: str, day: str) -> str:
    """Return the last day, up to some day, on which a period may begin.

    >>> [border_of(every, "2026-11-18") for every in ("day", "week", "month", "none")]
    ['2026-11-18', '2026-11-16', '2026-11-01', '']
    """
    if every == "none":
        return ""
    on = date.fromisoformat(day)
    if every == "week":
        on -= timedelta(days=on.weekday())
    return (on.replace(day=1) if every == "month" else on).isoformat()


def numbers_of(view: Reader, own: str, offered: int) -> dict[str, dict[str, int]]:
    """Return the numbers of a survey's mechanisms by the first days of its periods, in order."""
    period = "''" if view.version < FIRST_WITH_PERIODS else "period"
    query = (
        f"SELECT {period} AS start, mechanism, number FROM mechanisms WHERE survey = ? "
        f"ORDER BY start, number LIMIT ?"
    )
    rows = list(view.rows(query, (own, _MOST * offered + 1)))
    if len(rows) > _MOST * offered:
        raise StoreError(f"survey {own} has more than {_MOST:,} periods in the store: too many.")
    by_period = groupby(rows, itemgetter(0))
    return {start: {key: number for _, key, number in some} for start, some in by_period}


class Days(NamedTuple):
    """Days that are asked about: the first and the last one, nothing where all are meant."""

    first: str = ""
    last: str = ""

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


EVER = Days()


def read_days(text: str) -> Days:
    """Read the days that a command names.

    >>> read_days("2026-11-02..2026-11-15"), read_days("2026-11-02..").last
    (Days(first='2026-11-02', last='2026-11-15'), '')
    """
    first, dots, last = text.partition("..")
    if not dots or text == ".." or not all(not day or is_day(day) for day in (first, last)):
        raise ParameterError(
            f"--period {shown(text)}: expected last, or the first and the last day of some "
            f"periods, such as 2026-11-02..2026-11-15, one of which may be left out. `freewill "
            f"periods` lists them."
        )
    return Days(first, last)


def chosen(periods: Sequence[tuple[str, str | None]], days: Days, today: str) -> list[str]:
    """Return the first days of the periods of some days; refuse days that cut one, or have none.

    >>> weeks = [("2026-11-02", "2026-11-09"), ("2026-11-09", None)]
    >>> chosen(weeks, Days("2026-11-02", "2026-11-08"), "2026-11-18")
    ['2026-11-02']
    >>> chosen(weeks, Days("2026-11-04"), "2026-11-18")
    Traceback (most recent call last):
    freewill.errors.ParameterError: 2026-11-04..: within a period, and what came in one is not told
    apart. Periods: 2026-11-02..2026-11-08, 2026-11-09.. (until now).
    """
    latest = days.last or "9999-12-31"
    whole = [(start, day_before(end) if end else max(start, today)) for start, end in periods]
    picked = [(start, last) for start, last in whole if start <= latest and last >= days.first]
    cut = any(start < days.first or last > latest for start, last in picked)
    if cut or not picked:
        named = [
            f"{start}..{day_before(end) if end else ' (until now)'}"
            for start, end in periods[-_SHOWN:]
        ]
        fault = "within a period, and what came in one is not told apart" if cut else "nobody"
        if days.first > latest:
            fault = "the first day is after the last"
        more = "..., " if len(periods) > _SHOWN else ""
        raise ParameterError(f"{days}: {fault}. Periods: {more}{', '.join(named) or 'none yet'}.")
    return [start for start, _ in picked]


def day_before(day: str) -> str:
    """Return the day before.

    >>> day_before("2026-03-01")
    '2026-02-28'
    """
    return (date.fromisoformat(day) - timedelta(days=1)).isoformat()


def not_itself(own: str) -> StoreError:
    """Return the error of a survey that its id does not fit."""
    return StoreError(
        f"survey {own} in the store is not what its id says: the store is damaged, or of another "
        f"release. Restore it from a backup."
    )


def is_day(text: str) -> bool:
    """Say whether a text is a day.

    >>> is_day("2026-11-02"), is_day("2026-11-31")
    (True, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@dataclass(frozen=True)
class Upload:
    """Reports for one survey that are stored together, or not at all."""

    survey: str
    rows: Sequence[Row]


class Stored(NamedTuple):
    """How many reports of an upload were new, and how many had been stored before."""

    stored: int
    known: int


def today() -> str:
    """Return the day, in UTC: all that is ever kept of when a report came.

    >>> len(today())
    10
    """
    return datetime.now(UTC).date().isoformat()


def row_width(mechanism: Mechanism) -> int:
    """Return how many bytes a report of a mechanism takes in a store.

    >>> import freewill as fw
    >>> row_width(fw.RAPPOR(fw.Linear(0, 99), 1.0)), row_width(fw.KRR(fw.Linear(0, 99), 1.0))
    (13, 8)
    """
    empty = mechanism.output_space.empty()
    return empty.itemsize * int(np.prod(empty.shape[1:], dtype=np.int64))


def to_bytes(outputs: Reports) -> list[bytes]:
    """Return outputs as a store keeps them: the bytes of each, the lowest first."""
    rows = np.ascontiguousarray(outputs, dtype=outputs.dtype.newbyteorder("<"))
    width = rows.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
    content = rows.tobytes()
    return [content[start : start + width] for start in range(0, len(content), width)]


def from_bytes(content: bytes, mechanism: Mechanism) -> Reports:
    """Return the outputs of a mechanism that lie one behind the other.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> from_bytes(b"".join(to_bytes(np.array([1, 0]))), coin)
    array([1, 0])
    """
    empty = mechanism.output_space.empty()
    flat: Any = np.frombuffer(content, dtype=empty.dtype.newbyteorder("<"))
    outputs: Reports = flat.astype(empty.dtype, copy=False).reshape(-1, *empty.shape[1:])
    return outputs


def page_rows(width: int) -> int:
    """Return how many rows of so many bytes a full page has.

    >>> page_rows(13), page_rows(1 << 20)
    (1260, 1)
    """
    return max(1, PAGE_BYTES // width)


def filled(content: bytes, width: int) -> tuple[list[bytes], bytes]:
    """Split rows into full pages and the rest, each in the order of its bytes, which is mute.

    Which rows fill a page is drawn, so that not even a page has those that came first.

    >>> filled(b"cdabef", 2)
    ([], b'abcdef')
    """
    rows, full = np.frombuffer(content, dtype=np.dtype((np.void, width))), page_rows(width)
    if len(rows) >= full:
        drawn = np.frombuffer(secrets.token_bytes(8 * len(rows)), dtype=np.uint64)
        rows = rows[np.argsort(drawn)]
    pages = [np.sort(rows[some]).tobytes() for some in slices(len(rows), full)]
    rest = pages.pop() if len(rows) % full else b""
    return pages, rest


def new_pages(number: int, contents: Iterable[bytes]) -> list[tuple[int, int, bytes]]:
    """Return rows for the pages of a mechanism, by random numbers, none of them the open one's."""
    return [(number, secrets.randbits(62) + 1, content) for content in contents]


class Release(NamedTuple):
    """Which release of a survey, from 1 on, and when it was made, in seconds since 1970."""

    number: int
    made: int

    def described(self) -> Any:
        """Return the release as JSON has it.

        >>> Release(3, 1794999600).described()
        {'number': 3, 'made': '2026-11-18T11:00:00Z'}
        """
        made = datetime.fromtimestamp(self.made, UTC).isoformat()
        return {"number": self.number, "made": made.replace("+00:00", "Z")}


@dataclass(frozen=True)
class StoredSurvey:
    """A survey as it stands in a store."""

    id: str
    survey: Survey
    periods: tuple[Period, ...]
    """In their order; where it has rounds, of all of them."""
    closed: str | None
    """The day on which it was closed."""
    until: str | None = None
    """The first day after its periods; None where the last one goes on."""
    release: Release | None = None
    """What of it is published; None for all that is stored now."""
    published: Evidence | None = None
    """What is published in the place of what was counted."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of all mechanisms in all periods: what tells it from others, and other days of it."""
        return tuple(number for period in self.periods for number in period.numbers.values())

    @property
    def spans(self) -> list[tuple[str, str | None, "StoredSurvey"]]:
        """Its periods: the first day, that of the next one, and what all rounds have of it.

        The last one goes on.
        """
        begun = sorted((one for one in self.periods if one.start), key=attrgetter("start"))
        by_start = [(start, tuple(some)) for start, some in groupby(begun, attrgetter("start"))]
        ends = [*(start for start, _ in by_start[1:]), self.until]
        return [
            (start, end, replace(self, periods=some, until=end))
            for (start, some), end in zip(by_start, ends, strict=False)
        ]

    def within(self, days: Days) -> "StoredSurvey":
        """Return what it has of some days, which no period may reach beyond."""
        if days == EVER:
            return self
        some = chosen([(start, end) for start, end, _ in self.spans], days, today())
        picked = [(end, one) for start, end, one in self.spans if start in some]
        periods = chain.from_iterable(one.periods for _, one in picked)
        return replace(self, periods=tuple(periods), until=picked[-1][0])


def stored_under(view: Reader, own: str, survey: Survey, closed: str | None = None) -> StoredSurvey:
    """Return what a store has of a survey under an id, after checking that all of it is there."""
    ids = {mechanism.id for mechanism in survey.mechanisms.values()}
    numbers = numbers_of(view, own, len(ids))
    fine = (
        isinstance(start, str)
        and (not start or is_day(start))
        and some.keys() == ids
        and all(type(number) is int for number in some.values())
        for start, some in numbers.items()
    )
    if not numbers or not all(fine):
        raise not_itself(own)
    if view.version < FIRST_WITH_PERIODS:
        # It does not say it: the first day on which somebody answered.
        query = "SELECT min(day) FROM days WHERE mechanism = ?"
        days = [day for number in numbers[""].values() for (day,) in view.rows(query, (number,))]
        numbers = {min(filter(is_day, filter(None, days)), default=""): numbers[""]}
    periods = (Period(start, survey.mechanisms, some) for start, some in numbers.items())
    return StoredSurvey(own, survey, tuple(periods), closed)


def people_by_day(view: Reader, stored: StoredSurvey) -> dict[str, dict[str, int]]:
    """Return how many people chose each mechanism, by its name, on each day."""
    by_name: dict[str, Counter[str]] = {name: Counter() for name in stored.survey.mechanisms}
    for period in stored.periods:
        for name, days in _days_of(view, period).items():
            by_name.setdefault(name, Counter()).update(days)
    return {name: dict(sorted(days.items())) for name, days in by_name.items()}


def _days_of(view: Reader, period: Period) -> dict[str, dict[str, int]]:
    """Return the same of one period."""
    query = "SELECT day, people FROM days WHERE mechanism = ? ORDER BY day"
    by_name = {}
    for name, mechanism in period.offered.items():
        with _undamaged(mechanism):
            rows = dict(_ordered(view.rows(query, (period.numbers[mechanism.id],)), str))
            for day in rows:
                date.fromisoformat(day)
            counts = checked_counts(list(rows.values()), "its days").tolist()
        by_name[name] = dict(zip(rows, counts, strict=True))
    return by_name


def _ordered(rows: Iterable[tuple[Any, Any]], kind: type) -> Iterator[tuple[Any, Any]]:
    """Yield rows whose keys are of a kind and rise: a damaged tree may lead round in a circle."""
    before: Any = None
    for key, content in rows:
        if not isinstance(key, kind) or (before is not None and not key > before):
            raise ValueError("keys that are none, or not in their order")
        before = key
        yield key, content


def days_of(stored: StoredSurvey) -> dict[str, str | None]:
    """Return which days the periods of a survey cover, as JSON has it; the last one may go on."""
    starts = [start for start, _, _ in stored.spans]
    return {"from": min(starts, default=None), "to": stored.until and day_before(stored.until)}


def chosen_of(view: Reader, stored: StoredSurvey) -> dict[str, int]:
    """Return how many people chose each mechanism, by its name."""
    if stored.published is not None:
        chosen = {group.name: group.people for group in stored.published.groups}
        return {name: chosen.get(name, 0) for name in stored.survey.mechanisms}
    return {name: sum(days.values()) for name, days in people_by_day(view, stored).items()}


def people_of(view: Reader, stored: StoredSurvey) -> int:
    """Return how many people answered a survey."""
    return sum(chosen_of(view, stored).values())


def evidence_of(view: Reader, stored: StoredSurvey, hold: int = groups.HELD_BYTES) -> Evidence:
    """Return the evidence of a survey: counts, and pages of reports that do not repeat.

    Pages come into memory if those of a mechanism are at most `hold` bytes; else solvers pass over
    them where they lie, for as long as the view is open.
    """
    if stored.published is not None:
        return stored.published
    days = [_days_of(view, period) for period in stored.periods]
    whole: Counter[str] = Counter()
    for period, by_name in zip(stored.periods, days, strict=True):
        for name, mechanism in period.offered.items():
            whole[mechanism.id] += sum(by_name[name].values()) * row_width(mechanism)
    alphabet = stored.survey.alphabet
    facts = [fact for (fact,) in view.rows("SELECT fact FROM facts WHERE name = 'secret'")]
    # What no other store has; nothing of one that somebody took it from.
    key = b"".join(bytes(fact) for fact in facts if isinstance(fact, bytes | memoryview))
    parts: dict[str, list[Evidence]] = {}
    for period, by_name in zip(stored.periods, days, strict=True):
        own = [
            _group_of(view, period, name, sum(by_name[name].values()), whole[mechanism.id] <= hold)
            for name, mechanism in period.offered.items()
        ]
        evidence = _known_again(assemble(alphabet, own), key, period)
        parts.setdefault(period.start, []).append(evidence)
    spans = [(start, end, merge(parts[start])) for start, end, _ in stored.spans]
    return with_periods(spans) if spans else assemble(alphabet, [])


def _known_again(evidence: Evidence, key: bytes, period: Period) -> Evidence:
    """Return the evidence of a period with a digest by which it is known when it has grown.

    Later counts hold earlier ones, which nothing in the numbers need show: whoever compares them is
    told that they are of the same people. The store's key is in it, so that it tells nothing else.
    """
    if not key or not evidence.people:
        return evidence
    own = digest(digest(key).encode(), b"%d" % min(period.numbers.values()))
    return replace(evidence, parts=evidence.digests | {own})


def _group_of(view: Reader, period: Period, name: str, people: int, held: bool) -> Group:
    """Return what a period has of a mechanism, in memory or where it lies."""
    mechanism = period.offered[name]
    pages = StorePages(view, period.numbers[mechanism.id], mechanism)
    with _undamaged(mechanism):
        if mechanism.output_space.repeats:
            group = _counted(view, pages.number, mechanism, name)
        elif held or not people:
            group = pages.brought(name, people)
        else:
            group = pages.left(name)
        # Both grow with each commit.
        if group.people != people:
            counts = f"{several(group.people, 'report')} of {several(people, 'person')}"
            raise ValueError(f"{counts} by day")
    return group


def _counted(view: Reader, number: int, mechanism: Mechanism, name: str) -> Group:
    query = "SELECT output, people FROM counts WHERE mechanism = ? ORDER BY output"
    width = row_width(mechanism)
    outputs, people = [], []
    for output, count in _ordered(view.rows(query, (number,)), bytes):
        if len(output) != width:
            raise ValueError(f"an output of {several(len(output), 'byte')}")
        outputs.append(output)
        people.append(count)
    counts = checked_counts(people, str(mechanism))
    distinct = from_bytes(b"".join(outputs), mechanism)
    checked = mechanism.output_space.checked(distinct, mechanism.name)
    group = grouped(mechanism, [(checked, counts)], name)
    if not group.possible.all():
        raise ValueError("an output of probability 0")
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


@dataclass(frozen=True)
class StorePages:
    """Reports of a mechanism that do not repeat, in the pages of a store, read anew each time."""

    view: Reader
    number: int
    mechanism: Mechanism
    held: ClassVar[bool] = False

    def brought(self, name: str, people: int) -> Group:
        """Return the reports in memory."""
        outputs: list[tuple[Reports, None]] = []
        rows = 0
        for block in self.blocks():
            outputs.append((block.outputs, None))
            rows += len(block.outputs)
            if rows > people:
                break  # more than by day, which is refused, and maybe than memory holds
        return grouped(self.mechanism, outputs, name)

    def left(self, name: str) -> Group:
        """Return the reports where they lie."""
        (first,) = self.map(summarising({self.mechanism.id: self.mechanism}))
        seen = first.summaries.get(self.mechanism.id)
        if seen is None:
            raise ValueError("no reports")
        stream = Stream(self, self.mechanism, seen.seen.people, seen.rows, seen)
        return Group(self.mechanism, None, (stream,), name)

    def map(self, work: Work) -> Iterator[Any]:
        """Do the work here, while the pages stream by."""
        yield work(self)

    def blocks(self) -> Iterator[Block]:
        """Yield the reports as they stream by."""
        return gathered(self._blocks(), copy=False)

    __iter__ = blocks

    def _blocks(self) -> Iterator[Block]:
        query = "SELECT page, content FROM pages WHERE mechanism = ? ORDER BY page"
        space, width = self.mechanism.output_space, row_width(self.mechanism)
        with _undamaged(self.mechanism):
            for _, content in _ordered(self.view.rows(query, (self.number,)), int):
                if not isinstance(content, bytes):
                    raise ValueError("a page that is none")
                if len(content) > page_rows(width) * width:
                    raise ValueError(f"a page of {several(len(content), 'byte')}")
                outputs = space.checked(from_bytes(content, self.mechanism), self.mechanism.name)
                if len(outputs):
                    yield Block(self.mechanism.id, outputs)

    def refused(self) -> list[Any]:
        """Nothing: what is stored was checked."""
        return []

    def close(self) -> None:
        """Leave the view to whoever opened it."""

    def __str__(self) -> str:
        return "the store"


def placed(database: Database, survey: Survey, day: str, is_now: bool = False) -> dict[int, int]:
    """Return under which numbers reports of a day count, by the numbers of the first period.

    A period begins on a border if the one before had enough people by then. That follows from what
    is stored, so that several collectors agree on it, and those that come later on the same day. So
    does one of a round that is served now (`is_now`) where another round of its name was, and began
    one, since: what comes today is none of the days before that. A clock that was ahead for a while
    has begun periods in days to come, which hold up none before them; it may have begun the first.
    """
    own, every = survey.id, every_of(survey)
    numbers = numbers_of(database, own, len(survey.mechanisms))
    first = next(iter(numbers))
    last = max((start for start in numbers if start <= day), default=first)
    border = border_of(every, day)
    query = (
        "SELECT coalesce(max(period), '') FROM mechanisms JOIN surveys ON surveys.id = survey "
        "WHERE name = ? AND period > ? AND period <= ?"
    )
    ((others,),) = database.rows(query, ((is_now and survey.name) or None, last, day))
    begins = max(border, others)
    query = "SELECT coalesce(sum(people), 0) FROM days WHERE mechanism = ? AND day < ?"
    places = [(number, border) for number in numbers[last].values()]
    before = (int(people) for place in places for (people,) in database.rows(query, place))
    if not last or last > day:
        begin = "UPDATE mechanisms SET period = ? WHERE survey = ? AND period = ?"
        database.run(begin, [(border or day, own, last)])
    elif begins > last and (others or sum(before) >= FEWEST):
        last, numbers[begins] = begins, added(database, own, sorted(numbers[first]), begins)
    return {number: numbers[last][key] for key, number in numbers[first].items()}


def added(database: Database, own: str, mechanisms: Sequence[str], start: str) -> dict[str, int]:
    """Give numbers to the mechanisms of a new period."""
    ((last,),) = database.rows("SELECT coalesce(max(number), 0) FROM mechanisms")
    numbers = {key: int(last) + place for place, key in enumerate(mechanisms, 1)}
    rows = [(number, own, key, start) for key, number in numbers.items()]
    database.run("INSERT INTO mechanisms VALUES (?, ?, ?, ?)", rows)
    return numbers
