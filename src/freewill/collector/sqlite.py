"""SQLite as the database of a store: one file beside the server, no other set-up."""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from freewill.collector.database import SCHEMA_VERSION, TABLES, Reader, Rows
from freewill.collector.refusals import StoreBusyError, StoreError, StoreFullError
from freewill.collector.untrusted import APPLICATION, WORDS, Limits, has_tables, refuse_irregular
from freewill.core.files import checked_path
from freewill.errors import first_line, why

_WAIT_SECONDS = 10.0
_CACHE_KIB = 1 << 13
"""Pages in memory, 8 MiB: the system keeps the others."""
_CHECKPOINT_PAGES = 1 << 13
"""Pages of the journal, 32 MiB, after which they move into the file."""
_CHUNK = 500
"""Values that one query looks for."""
_AT_ONCE = (64, 8, 1)
"""Rows of one step."""
_VALUES = re.compile(r"VALUES (\([?, ]*\))")


class Sqlite:
    """A file of SQLite, in WAL mode, each commit of which is on the disk before it returns."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = checked_path(path, StoreError)
        with _explained(self.path):
            refuse_irregular(self.path)
        new = not self.path.exists() or not self.path.stat().st_size
        if new and not create:
            raise StoreError(f"{self.path}: there is no such store.")
        with _explained(self.path):
            if new:
                # The file, and the journal beside it, are the user's own.
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            else:
                with _looked_at(self.path):
                    pass
            self._connection = _connected(self.path)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            self._connection.execute("PRAGMA secure_delete = FAST")
        try:
            self._make_tables()
        except BaseException:
            self.close()
            raise

    def _make_tables(self) -> None:
        with self.writing():
            ((version,),) = self.rows("PRAGMA user_version")
            if version == 0:
                for statement in TABLES.format(**WORDS).split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all that is done meanwhile, durably, or none of it."""
        with _explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk has undone it already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def trial(self, statement: str, rows: Rows) -> bool:
        """Insert rows, and say whether all of them were new; if any was not, insert none."""
        self._connection.execute("SAVEPOINT trial")
        all_new = self._run(statement, rows) == len(rows)
        if not all_new:
            self._connection.execute("ROLLBACK TO trial")
        self._connection.execute("RELEASE trial")
        return all_new

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of values."""
        self._run(statement, rows)

    def _run(self, statement: str, rows: Rows) -> int:
        """Run a statement for each row, many of them in one step, and return how many changed.

        Between steps Python's lock is given back: who steps row by row waits for it at each row
        while the event loop is busy.
        """
        changed = done = 0
        for size in _AT_ONCE if _VALUES.search(statement) else (1,):
            whole = done + (len(rows) - done) // size * size
            if whole > done:
                flat = [
                    tuple(chain.from_iterable(rows[start : start + size]))
                    for start in range(done, whole, size)
                ]
                changed += self._connection.executemany(_widened(statement, size), flat).rowcount
                done = whole
        return changed

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds."""
        return _Snapshot(self.path, self._connection).rows(query, values)

    def among(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield what a query that ends in `IN` finds for any number of values."""
        for start in range(0, len(values), _CHUNK):
            some = values[start : start + _CHUNK]
            yield from self.rows(f"{query} ({', '.join('?' * len(some))})", some)

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """View the store as it is now, on a connection of its own."""
        with reading(self.path) as view:
            yield view

    def rewrite(self) -> None:
        """Write the file anew in the order of the keys, and empty the journal."""
        with _explained(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __str__(self) -> str:
        return str(self.path)


@cache
def _widened(statement: str, size: int) -> str:
    """Return a statement for so many rows at once.

    >>> _widened("INSERT INTO a VALUES (?, ?) ON CONFLICT DO NOTHING", 2)
    'INSERT INTO a VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING'
    """
    return _VALUES.sub(lambda found: f"VALUES {', '.join([found[1]] * size)}", statement)


class _Snapshot:
    """A connection in a transaction that only reads."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, limits: Limits | None = None
    ) -> None:
        self._path, self._connection, self._limits = path, connection, limits

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds."""
        with _explained(self._path):
            if self._limits is None:
                yield from self._connection.execute(query, values)
                return
            self._limits.row()
            for row in self._connection.execute(query, values):
                yield row
                self._limits.row()


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """View a file as it is now; whoever writes to it meanwhile is neither seen nor hindered.

    All that is read is of a store, whoever made the file: it is checked in the same transaction.
    """
    with _looked_at(path) as view:
        if view is None:
            raise StoreError(f"{path} has no store yet: `freewill serve` makes it.")
        yield view


@contextmanager
def _looked_at(path: Path) -> Iterator[Reader | None]:
    """Yield a view of a file with our tables, None for one without any; refuse all others."""
    with _explained(path):
        refuse_irregular(path)
        connection = _connected(path, "?mode=ro")
    try:
        with _explained(path):
            limits = Limits(connection)
            # The moment is that of the first look.
            connection.execute("BEGIN")
            has_store = has_tables(connection, path)
            limits.allow_surveys()
        yield _Snapshot(path, connection, limits) if has_store else None
    finally:
        connection.close()


def _connected(path: Path, how: str = "") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}{how}",
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into errors that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        told = first_line(error)
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise StoreFullError(
                f"{path} cannot be written to ({told}). Make room on the disk."
            ) from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreBusyError(
                f"{path} is held by another process ({told}): try again."
            ) from None
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise StoreError(
                f"{path} is no store, or it is damaged ({told}): expected a file that `freewill "
                f"serve` made. Restore it from a backup, or name another file."
            ) from None
        if code in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG):
            raise StoreError(
                f"{path} is damaged, or somebody changed it: it asks for more work or memory than "
                f"any store ({told}). Restore it from a backup."
            ) from None
        raise StoreError(f"{path} cannot be used as a store: {told}.") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be used as a store: {why(error)}.") from None
