"""PostgreSQL as the database of a store, which several collectors may share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from freewill.errors import ParameterError, first_line
from freewill.service.database import SCHEMA_VERSION, TABLES, Reader, Rows, refuse_version
from freewill.service.refusals import StoreBusyError, StoreError, StoreFullError

PREFIXES = ("postgresql://", "postgres://")
_WORDS = {"bytes": "BYTEA", "integer": "BIGINT", "keyed": ""}
_LOCK = 0x46574C31
"""The advisory lock that writers of a store take: one at a time, as in SQLite."""
_KEYS = ("reports", "runs", "settled", "counts", "pages", "days")
_VERSION = "INSERT INTO facts VALUES ('version', %s)"


def _psycopg() -> Any:
    try:
        import psycopg  # noqa: PLC0415
    except ImportError as error:
        raise ParameterError(
            f"{first_line(error)}: a store in PostgreSQL needs psycopg and libpq: pip install "
            f"'freewill[postgres]', and install libpq5 or psycopg-binary."
        ) from None
    return psycopg


class Postgres:
    """A database of PostgreSQL; its commits are durable as the server's own settings say."""

    def __init__(self, url: str) -> None:
        self.url, self._psycopg = url, _psycopg()
        with explained(self._psycopg, str(self)):
            self._connection = self._connected()
        try:
            self._make_tables()
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Any:
        return self._psycopg.connect(self.url, autocommit=True, connect_timeout=10)

    def _make_tables(self) -> None:
        with self.writing():
            ((there,),) = self.rows("SELECT to_regclass('facts') IS NOT NULL")
            if not there:
                for statement in TABLES.format(**_WORDS).split(";"):
                    self._connection.execute(statement)
                self._connection.execute(_VERSION, (str(SCHEMA_VERSION).encode(),))
            check_version(self, str(self))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all that is done meanwhile, durably, or none of it; one writer at a time."""
        with explained(self._psycopg, str(self)):
            if self._connection.closed:
                # The database was away, and may be back.
                self._connection.close()
                self._connection = self._connected()
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                yield

    def trial(self, statement: str, rows: Rows) -> bool:
        """Insert rows, and say whether all of them were new; if any was not, insert none."""
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.executemany(_asked(statement), rows)
                if cursor.rowcount != len(rows):
                    raise _SomeKnownError
        except _SomeKnownError:
            return False
        return True

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of values."""
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_asked(statement), rows)

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds."""
        return iter(self._connection.execute(_asked(query), values).fetchall())

    def among(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield what a query that ends in `IN` finds for any number of values."""
        return self.rows(f"{query.removesuffix('IN')} = ANY(?)", (list(values),))

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """View the store as it is now, on a connection of its own."""
        with reading(self.url) as view:
            yield view

    def rewrite(self) -> None:
        """Write the tables anew in the order of their keys."""
        with explained(self._psycopg, str(self)):
            for name in _KEYS:
                self._connection.execute(f"CLUSTER {name} USING {name}_pkey")

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def __str__(self) -> str:
        return shown_url(self.url)


class _SomeKnownError(Exception):
    """Some rows were there: the trial is undone."""


class _Snapshot:
    """A connection in a transaction that only reads."""

    def __init__(self, connection: Any, psycopg: Any, name: str) -> None:
        self._connection, self._psycopg, self._name = connection, psycopg, name

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds, in pieces: pages may be more than memory holds."""
        with explained(self._psycopg, self._name), self._connection.cursor() as cursor:
            yield from cursor.stream(_asked(query), values)


@contextmanager
def reading(url: str) -> Iterator[Reader]:
    """View a store as it is now; whoever writes to it meanwhile is neither seen nor hindered."""
    psycopg, name = _psycopg(), shown_url(url)
    with explained(psycopg, name):
        connection = psycopg.connect(url, connect_timeout=10)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
    try:
        view = _Snapshot(connection, psycopg, name)
        check_version(view, name)
        yield view
    finally:
        connection.close()


def check_version(view: Reader, name: str) -> None:
    """Refuse a database without a store, and a store of another release."""
    ((there,),) = view.rows("SELECT to_regclass('facts') IS NOT NULL")
    if not there:
        raise StoreError(f"{name} has no store yet: `freewill serve` makes it.")
    ((version,),) = view.rows("SELECT fact FROM facts WHERE name = 'version'")
    refuse_version(name, int(bytes(version)))


def shown_url(url: str) -> str:
    """Return an address without the password that may stand in it.

    >>> shown_url("postgresql://me:secret@host/people")
    'postgresql://host/people'
    """
    parts = urlsplit(url)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


def _asked(query: str) -> str:
    """Return a query with the placeholders of psycopg."""
    return query.replace("?", "%s")


@contextmanager
def explained(psycopg: Any, name: str) -> Iterator[None]:
    """Turn what PostgreSQL says into errors that say what to do."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise StoreFullError(
            f"{name} cannot be written to ({first_line(error)}): nothing was stored. Make room."
        ) from None
    except psycopg.OperationalError as error:
        raise StoreBusyError(f"{name} cannot be reached ({first_line(error)}).") from None
    except psycopg.Error as error:
        raise StoreError(f"{name} cannot be used as a store: {first_line(error)}.") from None
