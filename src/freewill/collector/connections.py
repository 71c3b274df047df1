"""Connections to PostgreSQL: addresses without their passwords, a few readers kept, errors."""

import itertools
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from freewill.collector.database import NAMES, Reader, refuse_version
from freewill.collector.refusals import StoreBusyError, StoreError, StoreFullError
from freewill.errors import ParameterError, first_line

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
_READING = """
SET default_transaction_isolation TO 'repeatable read';
SET default_transaction_read_only TO on;
SET idle_in_transaction_session_timeout TO 0
"""
"""Of a connection that reads: a view stays as it is while an estimate is made from it."""

_OURS = ", ".join(f"to_regclass('{name}')" for name in NAMES)


@cache
def load_psycopg() -> Any:
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


def address_of(url: str) -> dict[str, Any]:
    """Return the parts of an address; what libpq says of a wrong one may show the password."""
    psycopg = load_psycopg()
    try:
        found = psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError, ValueError):
        found = {}
    if not found or "@" in str(found.get("host", "")):
        raise ParameterError(
            f"{shown_url(url)}: no address of a database. Expected postgresql://user@host/people, "
            f"with %40 for @, %2F for / and %25 for % in names and passwords."
        )
    return {**_PATIENCE, "client_encoding": "UTF8", **found}


def connected(address: dict[str, Any], autocommit: bool) -> Any:
    """Return a new connection."""
    return load_psycopg().connect(**address, autocommit=autocommit)


class Readers:
    """Views of a store, over at most so many connections, which are used again."""

    def __init__(self, address: dict[str, Any], name: str) -> None:
        self._address, self._name = address, name
        self._free = threading.BoundedSemaphore(MOST_READERS)
        self._idle: deque[Any] = deque()
        self._closed = False

    @contextmanager
    def view(self) -> Iterator[Reader]:
        """View the store as it is now, in a transaction that only reads."""
        if not self._free.acquire(timeout=_WAIT_SECONDS):
            raise StoreBusyError(f"{self._name} is read by {MOST_READERS} others: try again.")
        try:
            connection, view = self._opened()
            try:
                yield view
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    def _opened(self) -> tuple[Any, Reader]:
        """Return a connection and its view; those that broke while they were idle are left."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._new()
            try:
                return connection, self._looked(connection)
            except StoreBusyError:
                connection.close()

    def _new(self) -> tuple[Any, Reader]:
        with explained(self._name):
            connection = connected(self._address, autocommit=True)
        try:
            with explained(self._name):
                connection.execute(_READING)
                connection.autocommit = False
            return connection, self._looked(connection)
        except BaseException:
            connection.close()
            raise

    def _looked(self, connection: Any) -> Reader:
        view = Snapshot(connection, self._name)
        # The moment is that of the first look.
        check_version(view, self._name)
        return view

    def _put_back(self, connection: Any) -> None:
        with suppress(load_psycopg().Error):
            connection.rollback()
        if self._closed or connection.closed:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class Snapshot:
    """A connection in a transaction that only reads."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self._name = connection, name
        self._numbers = itertools.count()

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds, in pieces; several queries may be under way at once."""
        with (
            explained(self._name),
            self._connection.cursor(name=f"view{next(self._numbers)}") as cursor,
        ):
            cursor.itersize = _FETCHED
            yield from cursor.execute(query.replace("?", "%s"), values)


def check_version(view: Reader, name: str) -> None:
    """Refuse a database without a store, and a store of another release."""
    ((there,),) = view.rows("SELECT to_regclass('facts') IS NOT NULL")
    if not there:
        raise StoreError(f"{name} has no store yet: `freewill serve` makes it.")
    found = [bytes(row[0]) for row in view.rows("SELECT fact FROM facts WHERE name = 'version'")]
    version = int(found[0]) if found and found[0].isdigit() else 0
    if not version:
        raise StoreError(
            f"{name} has a table `facts` that is none of ours: name a database of its own."
        )
    refuse_version(name, version)
    # A view in the place of a table may have no end.
    query = f"SELECT relname FROM pg_class WHERE relkind = 'r' AND oid IN ({_OURS})"
    missing = {*NAMES} - {row[0] for row in view.rows(query)}
    if missing:
        raise StoreError(
            f"{name} has no table {min(missing)}, or a view in its place: it is damaged, or "
            f"somebody changed it. Restore it from a backup."
        )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what PostgreSQL says into errors that say what to do."""
    psycopg = load_psycopg()
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise StoreFullError(
            f"{name} cannot be written to ({first_line(error)}). Make room on its disk."
        ) from None
    except psycopg.errors.LockNotAvailable as error:
        raise StoreBusyError(
            f"{name} is held by another process ({first_line(error)}): try again."
        ) from None
    except (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        psycopg.errors.ReadOnlySqlTransaction,
    ) as error:
        raise StoreBusyError(f"{name} cannot be reached ({first_line(error)}).") from None
    except psycopg.Error as error:
        raise StoreError(f"{name} cannot be used as a store: {first_line(error)}.") from None
