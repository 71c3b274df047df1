"""Periods: the days whose reports a store counts together, and apart from those of other days.

Each period of a survey has numbers of its own for the mechanisms, under which counts and pages lie.
A period that few answer goes on until the next border, so that each has some people to hide among.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from freewill.collector.database import FIRST_WITH_PERIODS, Database, Reader, StoreError
from freewill.errors import ParameterError, shown

if TYPE_CHECKING:
    from freewill.domain.mechanisms.base import Mechanism
    from freewill.domain.survey import Survey

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
    offered: "Mapping[str, Mechanism]"
    """The mechanisms by their names."""
    numbers: Mapping[str, int]
    """Of the mechanisms, by their ids."""


def every_of(survey: "Survey") -> str:
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
    if view.version < FIRST_WITH_PERIODS:
        query = "SELECT '', mechanism, number FROM mechanisms WHERE survey = ? LIMIT ?"
    else:
        query = (
            "SELECT period, mechanism, number FROM mechanisms WHERE survey = ? "
            "ORDER BY period, number LIMIT ?"
        )
    rows = list(view.rows(query, (own, _MOST * offered + 1)))
    if len(rows) > _MOST * offered:
        raise StoreError(f"survey {own} has more than {_MOST:,} periods in the store: too many.")
    by_period = groupby(rows, itemgetter(0))
    return {start: {key: number for _, key, number in some} for start, some in by_period}


def periods_of(view: Reader, own: str, offered: "Mapping[str, Mechanism]") -> tuple[Period, ...]:
    """Return the periods of a survey in a store, after checking that all of it is there."""
    ids = {mechanism.id for mechanism in offered.values()}
    numbers = numbers_of(view, own, len(ids))
    for start, some in numbers.items():
        fine = isinstance(start, str) and some.keys() == ids and (not start or is_day(start))
        if not fine or any(type(number) is not int for number in some.values()):
            raise not_itself(own)
    if not numbers:
        raise not_itself(own)
    if view.version < FIRST_WITH_PERIODS:
        numbers = {_first_day(view, numbers[""].values()): numbers[""]}
    return tuple(Period(start, offered, some) for start, some in numbers.items())


def spans_of(periods: Iterable[Period]) -> list[tuple[str, str | None, list[Period]]]:
    """Return the periods of all rounds by their first days, each until the next; the last goes on.

    >>> [(start, end) for start, end, _ in spans_of([Period("2026-11-16", {}, {})])]
    [('2026-11-16', None)]
    """
    begun = sorted((one for one in periods if one.start), key=attrgetter("start"))
    by_start = [(start, list(some)) for start, some in groupby(begun, attrgetter("start"))]
    ends = [*(start for start, _ in by_start[1:]), None]
    return [(start, end, some) for (start, some), end in zip(by_start, ends, strict=False)]


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


def _first_day(view: Reader, numbers: Iterable[int]) -> str:
    """Return the first day on which somebody answered, of periods that do not say it."""
    query = "SELECT min(day) FROM days WHERE mechanism = ?"
    days = [day for number in numbers for (day,) in view.rows(query, (number,))]
    return min(filter(is_day, filter(None, days)), default="")


class Places:
    """Under which numbers reports count today, looked up once a day for each survey.

    Called within a transaction of `database`: what it finds is kept when that is (`keep`). `served`
    has the rounds that people are asked to answer, by their names.
    """

    def __init__(self, database: Database, served: Mapping[str, str]) -> None:
        self._database, self._served = database, served
        self._day = ""
        self._numbers: dict[str, dict[int, int]] = {}
        """By the survey."""
        self._kept = True

    def of(self, surveys: "Iterable[Survey]", day: str) -> dict[int, int]:
        """Return the numbers of today's periods of some surveys, by those of their first ones."""
        if day != self._day or not self._kept:
            self._day, self._numbers = day, {}
        self._kept = False
        numbers: dict[int, int] = {}
        for survey in surveys:
            if survey.id not in self._numbers:
                now = self._served.get(survey.name or "") == survey.id
                self._numbers[survey.id] = placed(self._database, survey, day, now)
            numbers |= self._numbers[survey.id]
        return numbers

    def keep(self) -> None:
        """Know that the transaction was not undone."""
        self._kept = True


def placed(database: Database, survey: "Survey", day: str, is_now: bool = False) -> dict[int, int]:
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
    others = _begun_by_others(database, survey.name, last, day) if survey.name and is_now else ""
    begins = max(border, others)
    if not last or last > day:
        begin = "UPDATE mechanisms SET period = ? WHERE survey = ? AND period = ?"
        database.run(begin, [(border or day, own, last)])
    elif begins > last and (others or _people_before(database, numbers[last], border) >= FEWEST):
        last, numbers[begins] = begins, added(database, own, sorted(numbers[first]), begins)
    return {number: numbers[last][key] for key, number in numbers[first].items()}


def _begun_by_others(view: Reader, name: str, last: str, day: str) -> str:
    """Return the first day of the latest period of a name that began since; nothing of none."""
    query = (
        "SELECT coalesce(max(period), '') FROM mechanisms JOIN surveys ON surveys.id = survey "
        "WHERE name = ? AND period > ? AND period <= ?"
    )
    ((start,),) = view.rows(query, (name, last, day))
    return str(start)


def added(database: Database, own: str, mechanisms: Sequence[str], start: str) -> dict[str, int]:
    """Give numbers to the mechanisms of a new period."""
    ((last,),) = database.rows("SELECT coalesce(max(number), 0) FROM mechanisms")
    numbers = {key: int(last) + place for place, key in enumerate(mechanisms, 1)}
    rows = [(number, own, key, start) for key, number in numbers.items()]
    database.run("INSERT INTO mechanisms VALUES (?, ?, ?, ?)", rows)
    return numbers


def _people_before(view: Reader, numbers: Mapping[str, int], border: str) -> int:
    query = "SELECT coalesce(sum(people), 0) FROM days WHERE mechanism = ? AND day < ?"
    some = (row for number in numbers.values() for row in view.rows(query, (number, border)))
    return sum(int(people) for (people,) in some)
