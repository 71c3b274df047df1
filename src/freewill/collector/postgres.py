"""PostgreSQL as the database of a store, which several collectors may share."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from freewill.collector.connections import (
    Readers,
    address_of,
    check_version,
    connected,
    explained,
    load_psycopg,
    shown_url,
)
from freewill.collector.database import SCHEMA_VERSION, TABLES, Reader, Rows
from freewill.collector.refusals import StoreBusyError

PREFIXES = ("postgresql://", "postgres://")
_WORDS = {"bytes": "BYTEA", "integer": "BIGINT", "keyed": ""}
_TURN = 0x46574C31
"""The advisory lock that writers of a store take: one at a time, as in SQLite."""
_PRESENT = 0x46574C32
"""The advisory lock that collectors share as long as they run: who gets it alone is the last."""
_BEGIN = f"BEGIN; SELECT pg_advisory_xact_lock({_TURN})"
_SETTINGS = f"""
SET default_transaction_isolation TO 'read committed';
SET default_transaction_read_only TO off;
SET lock_timeout TO '10s';
SET idle_in_transaction_session_timeout TO '60s';
SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
SELECT pg_advisory_lock_shared({_PRESENT})
"""
"""Of a connection that writes, whatever the server's own are.

A transaction must see what others committed before its turn came, a commit is on the disk before it
is acknowledged, and who holds the lock and is cut off from the network does not hold it for long.
"""
_KEYS = {
    "reports": "mark",
    "runs": "run",
    "settled": "bucket",
    "counts": "people",
    "pages": "mechanism",
    "days": "people",
}
"""The tables that grow, and a column of each that is small."""
_VERSION = "INSERT INTO facts VALUES ('version', %s)"
_VALUES = re.compile(r"VALUES \([?, ]*\)")
_TYPES = {int: "bigint", bytes: "bytea", str: "text"}


class Postgres:
    """A database of PostgreSQL, each commit of which is on its disk before it returns."""

    def __init__(self, url: str) -> None:
        self.address, self._name = address_of(url), shown_url(url)
        self._psycopg = load_psycopg()
        self._readers = Readers(self.address, self._name)
        with explained(self._name):
            self._connection = self._connected()
        try:
            self._make_tables()
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Any:
        connection = connected(self.address, autocommit=True)
        try:
            connection.execute(_SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self) -> None:
        with self.writing():
            ((there,),) = self.rows("SELECT to_regclass('facts') IS NOT NULL")
            if not there:
                for statement in TABLES.format(**_WORDS).split(";"):
                    self._connection.execute(statement)
                self._connection.execute(_VERSION, (str(SCHEMA_VERSION).encode(),))
            check_version(self, self._name)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all that is done meanwhile, durably, or none of it; one writer at a time.

        Where the line breaks while the commit is on its way, nobody here knows whether it was kept.
        That is told as a failure, and is safe: what comes again with the same ids counts once. The
        next turn starts when the server is done with this one, one way or the other.
        """
        with explained(self._name):
            try:
                self._begin()
                yield
                told = self._connection.execute("COMMIT").statusmessage
                if told != "COMMIT":  # of a transaction that failed, PostgreSQL makes a ROLLBACK
                    raise StoreBusyError(f"{self._name} answered COMMIT by {told}: try again.")
            except BaseException:
                with contextlib.suppress(self._psycopg.Error):
                    if not self._connection.closed:
                        self._connection.execute("ROLLBACK")
                raise

    def _begin(self) -> None:
        """Take the turn, on a new connection if the database was away and is back."""
        try:
            if not self._connection.closed:
                self._connection.execute(_BEGIN)
                return
        except self._psycopg.OperationalError:
            if not self._connection.closed:
                raise
        self._connection.close()
        self._connection = self._connected()
        self._connection.execute(_BEGIN)

    def trial(self, statement: str, rows: Rows) -> bool:
        """Insert rows, and say whether all of them were new; if any was not, insert none."""
        self._connection.execute("SAVEPOINT trial")
        all_new = self._run(statement, rows) == len(rows)
        if not all_new:
            self._connection.execute("ROLLBACK TO trial")
        return all_new

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of values."""
        self._run(statement, rows)

    def _run(self, statement: str, rows: Rows) -> int:
        """Run a statement for each row, all in one step if it inserts them; return how many."""
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            if len(rows) > 1 and _VALUES.search(statement):
                types = tuple(_TYPES[type(value)] for value in rows[0])
                arrays = [_array(column) for column in zip(*rows, strict=True)]
                cursor.execute(_widened(statement, types), arrays)
            elif len(rows) == 1:
                cursor.execute(_asked(statement), rows[0])
            else:
                cursor.executemany(_asked(statement), rows)
            return int(cursor.rowcount)

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds."""
        with explained(self._name):
            return iter(self._connection.execute(_asked(query), values).fetchall())

    def among(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield what a query that ends in `IN` finds for any number of whole numbers."""
        return self.rows(f"{query.removesuffix('IN')} = ANY(?::bigint[])", (_array(values),))

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """View the store as it is now, on a connection of its own."""
        with self._readers.view() as view:
            yield view

    def rewrite(self) -> None:
        """Write the tables anew in the order of their keys, if no other collector is at work.

        Rows carry the number of the transaction that made them (`xmin`), also after CLUSTER: all of
        them are made again in a single one before.
        """
        with self.writing():
            if not self._is_last():
                return
            for name, column in _KEYS.items():
                self._connection.execute(f"UPDATE {name} SET {column} = {column}")
        with explained(self._name):
            for name in _KEYS:
                self._connection.execute(f"CLUSTER {name} USING {name}_pkey")
            self._connection.execute(f"SELECT pg_advisory_unlock({_PRESENT})")

    def _is_last(self) -> bool:
        """Say whether no other collector is at work; from here on this one counts as gone.

        Of two that end at once, the second to ask is the last.
        """
        self._connection.execute(f"SELECT pg_advisory_unlock_shared({_PRESENT})")
        ((last,),) = self.rows(f"SELECT pg_try_advisory_lock({_PRESENT})")
        return bool(last)

    def close(self) -> None:
        """Let go of the database."""
        self._readers.close()
        self._connection.close()

    def __str__(self) -> str:
        return self._name


@contextmanager
def reading(url: str) -> Iterator[Reader]:
    """View a store as it is now; whoever writes to it meanwhile is neither seen nor hindered."""
    readers = Readers(address_of(url), shown_url(url))
    with contextlib.closing(readers), readers.view() as view:
        yield view


def _asked(query: str) -> str:
    """Return a query with the placeholders of psycopg."""
    return query.replace("?", "%s")


@cache
def _widened(statement: str, types: tuple[str, ...]) -> str:
    """Return a statement that inserts the rows of arrays, one array a column.

    >>> _widened("INSERT INTO a VALUES (?, ?) ON CONFLICT DO NOTHING", ("bigint", "text"))
    'INSERT INTO a SELECT * FROM unnest(%s::bigint[], %s::text[]) ON CONFLICT DO NOTHING'
    """
    arrays = ", ".join(f"%s::{kind}[]" for kind in types)
    return _VALUES.sub(f"SELECT * FROM unnest({arrays})", statement)


def _array(values: Sequence[Any]) -> Any:
    """Return values of one type as an array; numbers as a text, in a quarter of the time.

    >>> _array((3, -1))
    '{3,-1}'
    """
    if values and isinstance(values[0], int):
        return "{" + ",".join(map(str, values)) + "}"
    return list(values)
