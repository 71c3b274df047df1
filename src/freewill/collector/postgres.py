"""PostgreSQL as the database of a store, which several collectors may share."""

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from queue import Empty, LifoQueue
from typing import Any
from urllib.parse import urlsplit

from freewill.collector import database
from freewill.collector.database import Reader, Rows, StoreBusyError, StoreError, StoreFullError
from freewill.errors import ParameterError, first_line

PREFIXES = ("postgresql://", "postgres://")
MOST_READERS = 8
"""Connections of one collector that read at once: a server has a hundred, for all of them."""
_WAIT_SECONDS = 10
_FETCHED = 256
"""Rows that come at once, 4 MiB of pages: they may be more than memory holds."""
_PATIENCE = {
    "connect_timeout": _WAIT_SECONDS,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Seconds, and milliseconds, after which a server that says nothing is taken to be gone."""
_TURN = 0x46574C31
"""The advisory lock that writers of a store take: one at a time, as in SQLite."""
_PRESENT = 0x46574C32
"""The advisory lock that collectors share as long as they run: who gets it alone is the last."""
_BEGIN = f"BEGIN; SELECT pg_advisory_xact_lock({_TURN})"
_WRITING = f"""
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
_READING = """
SET default_transaction_isolation TO 'repeatable read';
SET default_transaction_read_only TO on;
SET idle_in_transaction_session_timeout TO 0
"""
"""Of a connection that reads: a view stays as it is while an estimate is made from it."""
_KEYS = {
    "reports": "id",
    "runs": "run",
    "settled": "bucket",
    "counts": "people",
    "pages": "mechanism",
    "days": "people",
}
"""The tables that grow, and a column of each that is small."""
_VERSION = (
    "INSERT INTO facts VALUES ('version', %s) ON CONFLICT (name) DO UPDATE SET fact = excluded.fact"
)
_WORDS = {"bytes": "BYTEA", "integer": "BIGINT", "keyed": ""}
_VALUES = re.compile(r"VALUES \([?, ]*\)")
_TYPES = {int: "bigint", bytes: "bytea", str: "text"}


class Postgres(database.Database):
    """A database of PostgreSQL, each commit of which is on its disk before it returns."""

    words = _WORDS

    def __init__(self, url: str) -> None:
        self._readers = Readers(url)
        self.name = self._readers.name
        self._connection = self._readers.connected(_WRITING)
        try:
            with self.writing():
                ((there,),) = self.rows("SELECT to_regclass('facts') IS NOT NULL")
                version = _checked_version(self, self.name) if there else 0
                if version in database.OLD_VERSIONS:
                    self._copy(version)
                if version != database.SCHEMA_VERSION:
                    self._create_tables(version)
                    self._connection.execute(_VERSION, (str(database.SCHEMA_VERSION).encode(),))
        except BaseException:
            self.close()
            raise

    def _copy(self, version: int) -> None:
        """Copy the tables to a schema of their own, in the transaction that makes them anew."""
        schema = f"freewill_version_{version}"
        try:
            self._connection.execute(f"CREATE SCHEMA {schema}")
        except _psycopg().errors.InsufficientPrivilege as error:
            raise StoreError(
                f"{self.name} is of version {version}, and its tables cannot be copied before they "
                f"are made anew ({first_line(error)}): GRANT CREATE ON DATABASE to who serves it."
            ) from None
        except _psycopg().errors.DuplicateSchema:
            raise StoreError(
                f"{self.name} is of version {version}, and has a schema {schema} with a copy of "
                f"before: look at it, and rename or drop it."
            ) from None
        for table in database.tables(version):
            self._connection.execute(f"CREATE TABLE {schema}.{table} (LIKE {table} INCLUDING ALL)")
            self._connection.execute(f"INSERT INTO {schema}.{table} SELECT * FROM {table}")
        self.renewal = f"Its schema {schema} is a copy as it was: drop it when all is well."

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all that is done meanwhile, durably, or none of it; one writer at a time.

        Where the line breaks while the commit is on its way, nobody here knows whether it was kept.
        That is told as a failure, and is safe: what comes again with the same ids counts once. The
        next turn starts when the server is done with this one, one way or the other.
        """
        with _explained(self.name):
            try:
                self._begin()
                yield
                status = self._connection.execute("COMMIT").statusmessage
                if status != "COMMIT":  # of a transaction that failed, PostgreSQL makes a ROLLBACK
                    raise StoreBusyError(f"{self.name} answered COMMIT by {status}: try again.")
            except BaseException:
                with suppress(_psycopg().Error):
                    if not self._connection.closed:
                        self._connection.execute("ROLLBACK")
                raise

    def _begin(self) -> None:
        """Take the turn, on a new connection if the database was away and is back."""
        try:
            if not self._connection.closed:
                self._connection.execute(_BEGIN)
                return
        except _psycopg().OperationalError:
            if not self._connection.closed:
                raise
        self._connection = self._readers.connected(_WRITING)
        self._connection.execute(_BEGIN)

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row, all in one step if it inserts them."""
        if not rows:
            return
        with self._connection.cursor() as cursor:
            if len(rows) > 1 and _VALUES.search(statement):
                types = tuple(_TYPES[type(value)] for value in rows[0])
                arrays = [_array(column) for column in zip(*rows, strict=True)]
                cursor.execute(_widened(statement, types), arrays)
            elif len(rows) == 1:
                cursor.execute(_translated(statement), rows[0])
            else:
                cursor.executemany(_translated(statement), rows)

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        with _explained(self.name):
            return iter(self._connection.execute(_translated(query), values).fetchall())

    def among(self, query: str, values: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends in `IN`, for any number of whole numbers."""
        return self.rows(f"{query.removesuffix('IN')} = ANY(?::bigint[])", (_array(values),))

    def snapshot(self) -> AbstractContextManager[Reader]:
        """View the store as it is now, on a connection of its own."""
        return self._readers.view()

    def rewrite(self) -> None:
        """Write the tables anew in the order of their keys, if no other collector is at work.

        Rows carry the number of the transaction that made them (`xmin`), also after CLUSTER: all of
        them are made again in a single one before.
        """
        with self.writing():
            # From here on this one counts as gone. Of two that end at once, the second is the last.
            self._connection.execute(f"SELECT pg_advisory_unlock_shared({_PRESENT})")
            ((last,),) = self.rows(f"SELECT pg_try_advisory_lock({_PRESENT})")
            if not last:
                return
            for name, column in _KEYS.items():
                self._connection.execute(f"UPDATE {name} SET {column} = {column}")
        with _explained(self.name):
            for name in _KEYS:
                self._connection.execute(f"CLUSTER {name} USING {name}_pkey")
            self._connection.execute(f"SELECT pg_advisory_unlock({_PRESENT})")

    def close(self) -> None:
        """Let go of the database."""
        self._readers.close()
        super().close()


@contextmanager
def reading(url: str) -> Iterator[Reader]:
    """View a store as it is now; whoever writes to it meanwhile is neither seen nor hindered."""
    with closing(Readers(url)) as readers, readers.view() as view:
        yield view


class Readers:
    """Views of a store, over at most so many connections, which are used again."""

    def __init__(self, url: str) -> None:
        self._address, self.name = _address(url), shown_url(url)
        self._idle: LifoQueue[Any] = LifoQueue()
        """Of each reader its connection, None before it has any."""
        for _ in range(MOST_READERS):
            self._idle.put(None)
        self._closed = False

    def connected(self, settings: str) -> Any:
        """Return a new connection with some settings."""
        with _explained(self.name):
            connection = _psycopg().connect(**self._address, autocommit=True)
            try:
                connection.execute(settings)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextmanager
    def view(self) -> Iterator[Reader]:
        """View the store as it is now, in a transaction that only reads."""
        try:
            connection = self._idle.get(timeout=_WAIT_SECONDS)
        except Empty:
            message = f"{self.name} is read by {MOST_READERS} others: try again."
            raise StoreBusyError(message) from None
        try:
            view = None
            if connection is not None:
                with suppress(StoreBusyError):  # it broke meanwhile: a new one takes its place
                    view = Snapshot(connection, self.name)
            if view is None:
                connection = self.connected(_READING)
                connection.autocommit = False
                view = Snapshot(connection, self.name)
            yield view
        finally:
            if connection is not None:
                with suppress(_psycopg().Error):
                    connection.rollback()
                if self._closed or connection.closed:
                    connection.close()
                    connection = None
            self._idle.put(connection)

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        for connection in list(self._idle.queue):
            if connection is not None:
                connection.close()


class Snapshot:
    """A connection in a transaction that only reads, of the moment at which it is checked."""

    version = 0

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self._name = connection, name
        self._numbers = itertools.count()
        try:
            self.version = _checked_version(self, name)
        except BaseException:
            connection.close()
            raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, in pieces; several queries may be under way at once."""
        with (
            _explained(self._name),
            self._connection.cursor(name=f"view{next(self._numbers)}") as cursor,
        ):
            cursor.itersize = _FETCHED
            yield from cursor.execute(_translated(query), values)


def _checked_version(view: Reader, name: str) -> int:
    """Return the version of a store; refuse what is none, or of another release."""
    ((there,),) = view.rows("SELECT to_regclass('facts') IS NOT NULL")
    if not there:
        raise StoreError(f"{name} has no store yet: `freewill serve` makes it.")
    facts = [bytes(row[0]) for row in view.rows("SELECT fact FROM facts WHERE name = 'version'")]
    version = int(facts[0]) if facts and facts[0].isdigit() else 0
    if not version:
        raise StoreError(
            f"{name} has a table `facts` that is none of ours: name a database of its own."
        )
    if version not in database.READ_VERSIONS:
        raise database.StoreVersionError(name, version)
    # A view in the place of a table may have no end.
    names = database.tables(version).keys()
    ours = ", ".join(f"to_regclass('{own}')" for own in names)
    query = f"SELECT relname FROM pg_class WHERE relkind = 'r' AND oid IN ({ours})"
    missing = names - {row[0] for row in view.rows(query)}
    if missing:
        raise StoreError(
            f"{name} has no table {min(missing)}, or a view in its place: it is damaged, or "
            f"somebody changed it. Restore it from a backup."
        )
    return version


@cache
def _psycopg() -> Any:
    """Return the module, or say what to install."""
    try:
        import psycopg  # noqa: PLC0415
    except ImportError as error:
        raise ParameterError(
            f"{first_line(error)}: a store in PostgreSQL needs psycopg and libpq: pip install "
            f"'freewill[postgres]', and install libpq5 or psycopg-binary."
        ) from None
    return psycopg


def shown_url(url: str) -> str:
    """Return an address without the password that may stand in it.

    >>> shown_url("postgresql://me:secret@host/people")
    'postgresql://host/people'
    """
    try:
        parts = urlsplit(url)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "postgresql://"


def _address(url: str) -> dict[str, Any]:
    """Return the parts of an address; what libpq says of a wrong one may show the password."""
    psycopg = _psycopg()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError, ValueError):
        parts = {}
    if not parts or "@" in str(parts.get("host", "")):
        raise ParameterError(
            f"{shown_url(url)}: no address of a database. Expected postgresql://user@host/people, "
            f"with %40 for @, %2F for / and %25 for % in names and passwords."
        )
    return {**_PATIENCE, "client_encoding": "UTF8", **parts}


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what PostgreSQL says into errors that say what to do."""
    psycopg = _psycopg()
    errors = psycopg.errors
    try:
        yield
    except psycopg.Error as error:
        kind, words = StoreError, "cannot be used as a store: {}."
        if isinstance(error, errors.DiskFull):
            kind, words = StoreFullError, "cannot be written to ({}). Make room on its disk."
        elif isinstance(error, errors.LockNotAvailable):
            kind, words = StoreBusyError, "is held by another process ({}): try again."
        elif isinstance(
            error,
            psycopg.OperationalError | psycopg.InterfaceError | errors.ReadOnlySqlTransaction,
        ):
            kind, words = StoreBusyError, "cannot be reached ({})."
        raise kind(f"{name} {words.format(first_line(error))}") from None


def _translated(query: str) -> str:
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
