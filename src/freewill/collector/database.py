"""What a store asks of a database: transactions kept or undone whole, and a few queries."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from freewill.errors import FreewillError

Rows: TypeAlias = Sequence[tuple[Any, ...]]

SCHEMA_VERSION = 3
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, fact {bytes} NOT NULL){keyed};
CREATE TABLE surveys (id TEXT PRIMARY KEY, spec TEXT NOT NULL, closed TEXT){keyed};
CREATE TABLE mechanisms (
    number {integer} PRIMARY KEY, survey TEXT NOT NULL, mechanism TEXT NOT NULL,
    UNIQUE (survey, mechanism)
);
CREATE TABLE reports (id {integer} PRIMARY KEY, mark {integer} NOT NULL);
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
CREATE TABLE releases (
    survey TEXT PRIMARY KEY, tick {integer} NOT NULL, number {integer} NOT NULL,
    made {integer} NOT NULL, epsilon TEXT NOT NULL, cells {bytes} NOT NULL
){keyed}
"""
"""The tables, with the words that databases differ in left out.

No table tells when, from where or in which order a report came: `reports`, `runs` and `settled`
have keys of ids and marks (`marks.py`, `ids.py`), in the order of the keys; `counts` how many
people sent an output; `pages` the reports that do not repeat (`surveys.py`); `days` how many people
chose a mechanism on a day. `releases` has what is published of a survey, beside copies of its rows
under the negative numbers of its mechanisms (`releases.py`).
"""

NAMES = tuple(re.findall(r"CREATE TABLE (\w+)", TABLES))


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
            f"{name} is a store of version {version}; this release reads version "
            f"{SCHEMA_VERSION}. {advice}: the store was left as it is."
        )


class Reader(Protocol):
    """A view of the store as it was at one moment."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; `?` stands for values."""


class Database(Reader, Protocol):
    """A database with one writer at a time, in SQL that SQLite and PostgreSQL both understand."""

    name: str
    """Where it lies, as messages say it."""
    words: dict[str, str]
    """Its own words in the tables."""
    _connection: Any

    def _create_tables(self) -> None:
        for statement in TABLES.format(**self.words).split(";"):
            self._connection.execute(statement)

    def writing(self) -> AbstractContextManager[None]:
        """Keep all that is done meanwhile, durably, or none of it; no other writer is let in."""

    def run(self, statement: str, rows: Rows) -> int:
        """Run a statement for each row of values, and return how many rows it changed."""

    def trial(self, statement: str, rows: Rows) -> bool:
        """Insert rows, and say whether all of them were new; if any was not, insert none."""
        self._connection.execute("SAVEPOINT trial")
        all_new = self.run(statement, rows) == len(rows)
        if not all_new:
            self._connection.execute("ROLLBACK TO trial")
        # Else SQLite would go on to copy each page before it changes.
        self._connection.execute("RELEASE trial")
        return all_new

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
