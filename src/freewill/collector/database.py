"""What a store asks of a database: transactions kept or undone whole, and a few queries."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from freewill.errors import FreewillError

Rows: TypeAlias = Sequence[tuple[Any, ...]]

SCHEMA_VERSION = 4
FIRST_WITH_PERIODS = 4
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, fact {bytes} NOT NULL){keyed};
CREATE TABLE surveys (
    id TEXT PRIMARY KEY, law TEXT NOT NULL, texts TEXT NOT NULL, name TEXT NOT NULL,
    head TEXT NOT NULL, closed_on TEXT
){keyed};
CREATE TABLE aliases (old TEXT PRIMARY KEY, survey TEXT NOT NULL){keyed};
CREATE TABLE mechanisms (
    number {integer} PRIMARY KEY, survey TEXT NOT NULL, mechanism TEXT NOT NULL,
    period TEXT NOT NULL, UNIQUE (survey, mechanism, period)
);
CREATE TABLE reports (id {integer} PRIMARY KEY);
CREATE TABLE runs (run {integer} PRIMARY KEY, content {bytes} NOT NULL);
CREATE TABLE settled (bucket {integer} PRIMARY KEY, content {bytes} NOT NULL);
CREATE TABLE counts (
    mechanism {integer}, output {bytes}, people {integer} NOT NULL,
    PRIMARY KEY (mechanism, output)
){keyed};
CREATE TABLE pages (
    mechanism {integer}, page {integer}, content {bytes} NOT NULL, PRIMARY KEY (mechanism, page)
){keyed};
CREATE TABLE days (
    mechanism {integer}, day TEXT, people {integer} NOT NULL, PRIMARY KEY (mechanism, day)
){keyed};
CREATE TABLE log (
    number {integer} PRIMARY KEY, what TEXT NOT NULL, survey TEXT NOT NULL, devices TEXT NOT NULL,
    day TEXT NOT NULL, previous TEXT NOT NULL, head TEXT NOT NULL
);
CREATE TABLE releases (
    survey TEXT PRIMARY KEY, tick {integer} NOT NULL, number {integer} NOT NULL,
    made {integer} NOT NULL, epsilon TEXT NOT NULL, cells {bytes} NOT NULL
){keyed}
"""
"""The tables, with the words that databases differ in left out.

No table tells when, from where or in which order a report came, but for its period: `reports`,
`runs` and `settled` have keys of ids (`ids.py`) in their order, and nothing of what came
with them; `counts` how many people sent an output; `pages` the reports that do not repeat
(`surveys.py`); `days` how many people chose a mechanism on a day. `mechanisms` has the numbers
under which these lie, of each period its own. `surveys` has what an id is the hash
of (`law`), what people read, and what the keys of its ids begin with (`head`: the id of the first
round, or that of an older version); `aliases` the ids that surveys had in older versions
(`rounds.py`). `log` tells which surveys were served and closed, for everyone to see
(`rounds.py`); `releases` what is published of a survey, beside copies of its rows under the
negative numbers of its mechanisms (`releases.py`).
"""
OLD_VERSIONS = (2, 3)
"""The versions that are still read, and made anew by who opens them to write."""
READ_VERSIONS = (*OLD_VERSIONS, SCHEMA_VERSION)
_OLD_NAMES = (
    *("facts", "surveys", "mechanisms", "reports", "runs", "settled", "counts", "pages", "days"),
    *("log", "releases"),
)
"""The tables of version 3; version 2 had not the last two, ..."""
_OLD_TABLES = """
CREATE TABLE surveys (id TEXT PRIMARY KEY, spec TEXT NOT NULL, closed TEXT){keyed};
CREATE TABLE mechanisms (
    number {integer} PRIMARY KEY, survey TEXT NOT NULL, mechanism TEXT NOT NULL,
    UNIQUE (survey, mechanism)
)
"""
"""... both had these in the place of ours, ..."""
_MARKED_REPORTS = "CREATE TABLE reports (id {integer} PRIMARY KEY, mark {integer} NOT NULL)"
"""... and version 2 this."""


def tables(version: int = SCHEMA_VERSION) -> dict[str, str]:
    """Return the statements that make the tables of a version, by the names of the tables."""
    first = version == min(OLD_VERSIONS)
    texts = [TABLES, *[_OLD_TABLES] * (version in OLD_VERSIONS), *[_MARKED_REPORTS] * first]
    statements = (statement.strip() for text in texts for statement in text.split(";"))
    made = {statement.split()[2]: statement for statement in statements}
    if version in OLD_VERSIONS:
        made = {name: made[name] for name in (_OLD_NAMES[:-2] if first else _OLD_NAMES)}
    return made


class StoreError(FreewillError, ValueError):
    """A store that cannot be opened, read or written to."""


class StoreFullError(StoreError):
    """A store on a disk that is full or fails: what was being written may be lost, no more."""


class StoreBusyError(StoreError):
    """A store that another process holds, or that cannot be reached just now."""


class StoreVersionError(StoreError):
    """A store of another release."""

    def __init__(self, name: str, version: int) -> None:
        advice = "Update freewill" if version > SCHEMA_VERSION else "Use the release that made it"
        super().__init__(
            f"{name} is a store of version {version}; this release reads versions "
            f"{min(OLD_VERSIONS)} to {SCHEMA_VERSION}. {advice}: the store was left as it is."
        )


class Reader(Protocol):
    """A view of the store as it was at one moment."""

    version: int
    """Of its tables."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; `?` stands for values."""


class Database(Reader, Protocol):
    """A database with one writer at a time, in SQL that SQLite and PostgreSQL both understand."""

    name: str
    """Where it lies, as messages say it."""
    words: dict[str, str]
    """Its own words in the tables."""
    version: int = SCHEMA_VERSION
    renewal: str = ""
    """What was done to a store of an older version, in words."""
    _connection: Any

    def _create_tables(self, version: int) -> None:
        """Make the tables of a new store (version 0), or those of an older version ours."""
        # It knows surveys and the log, which know databases.
        from freewill.collector.rounds import create_tables  # noqa: PLC0415

        create_tables(self, version)

    def execute(self, statement: str) -> None:
        """Run a statement without values, within a transaction."""
        self._connection.execute(statement)

    def writing(self) -> AbstractContextManager[None]:
        """Keep all that is done meanwhile, durably, or none of it; no other writer is let in."""

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of values."""

    def among(self, query: str, values: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends in `IN`, for any number of whole numbers."""

    def snapshot(self) -> AbstractContextManager[Reader]:
        """View the store as it is now; what is written meanwhile is not seen."""

    def rewrite(self) -> None:
        """Write the tables anew in the order of their keys: nothing of how they grew remains."""

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def __str__(self) -> str:
        return self.name
