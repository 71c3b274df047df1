"""SQLite as the database of a store: one file beside the server, no other set-up.

The file may be handed over by somebody, and the text of a schema is code: a table may be a view
that never ends, a trigger may change what is written. So nothing is asked but of the very tables
that we make, and of these with limits.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from freewill.collector import database
from freewill.collector.database import Reader, Rows, StoreBusyError, StoreError, StoreFullError
from freewill.core.files import checked_path, whole_file
from freewill.core.types import SURVEY_FILE_BYTES
from freewill.errors import first_line, printable, why

_WAIT_SECONDS = 10.0
_SETTINGS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",  # a commit is on the disk before it is acknowledged
    "cache_size": -(1 << 13),  # KiB of pages in memory: the system keeps the others
    "wal_autocheckpoint": 1 << 13,  # pages of the journal, 32 MiB, that then move into the file
    "secure_delete": "FAST",  # what is deleted is overwritten
}
"""Of the connection that writes."""
_READING = {"query_only": "ON", "trusted_schema": "OFF", "cell_size_check": "ON"}
"""Of connections that read."""
_CHUNK = 500
"""Values that one query looks for."""
_AT_ONCE = (64, 8, 1)
"""Rows of one step."""
_VALUES = re.compile(r"VALUES (\([?, ]*\))")
_APPLICATION = 0x46574C31
"""The mark of our files, "FWL1", in the head of the file where `file` looks for it."""
_WORDS = {"bytes": "BLOB", "integer": "INTEGER", "keyed": " WITHOUT ROWID"}
_MAGIC = b"SQLite format 3\0"
_SCHEMA = "SELECT type, name, tbl_name, rtrim(sql, char(10)), rootpage FROM sqlite_schema LIMIT ?"
"""Without the ends of lines behind a statement, which one of version 2 has."""
_STATISTICS = {
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (
        ("sqlite_stat1", "tbl,idx,stat"),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    )
}
"""What ANALYZE adds, by which SQLite chooses how to look things up, and nothing else."""
_TEXT_BYTES = 1 << 16
"""Of a statement of a schema; ours have some hundred."""
_STEPS, _MOST_STEPS = 1 << 16, 1 << 27
"""Instructions between two calls of `View._is_endless`, and between two rows: two seconds."""


class Sqlite(database.Database):
    """A file of SQLite, in WAL mode, each commit of which is on the disk before it returns."""

    words = _WORDS

    def __init__(self, path: str | Path) -> None:
        self.path = checked_path(path, StoreError)
        self.name = str(self.path)
        with _explained(self.path):
            _refuse_irregular(self.path)
            if self.path.exists() and self.path.stat().st_size:
                View(self.path).close()
            else:
                # The file, and the journal beside it, are the user's own.
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = _connected(self.path, "", _SETTINGS)
            self._file = _identity(self.path)
        try:
            with self.writing():
                ((version,),) = self.rows("PRAGMA user_version")
                if version in database.OLD_VERSIONS:
                    self._copy(f"{self.path}.version-{version}")
                if version != database.SCHEMA_VERSION:
                    self._create_tables(version)
                    self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION}")
        except BaseException:
            self.close()
            raise

    def _copy(self, name: str) -> None:
        """Copy the file to another, which appears whole; nobody else writes meanwhile."""
        with (
            whole_file(name, 0o600) as part,
            closing(_connected(self.path, "?mode=ro", {})) as connection,
            closing(_connected(part, "", {"journal_mode": "OFF"})) as copy,
        ):
            connection.backup(copy)
        self.renewal = f"{name} is a copy as it was: remove it when all is well."

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all that is done meanwhile, durably, or none of it."""
        with _explained(self.path):
            # SQLite would go on writing to a file that nobody finds again.
            if _identity(self.path) != self._file:
                raise StoreFullError(
                    f"{self.path} was moved, removed or replaced while it was open: put it back, "
                    f"or restore it from a backup, and start `freewill serve` again."
                )
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk has undone it already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def run(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row, many of them in one step.

        Between steps Python's lock is given back: who steps row by row waits for it at each row
        while the event loop is busy.
        """
        done = 0
        for size in _AT_ONCE if _VALUES.search(statement) else (1,):
            whole = done + (len(rows) - done) // size * size
            flat = [
                tuple(chain.from_iterable(rows[start : start + size]))
                for start in range(done, whole, size)
            ]
            if flat:
                self._connection.executemany(_widened(statement, size), flat)
            done = whole

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        with _explained(self.path):
            yield from self._connection.execute(query, values)

    def among(self, query: str, values: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends in `IN`, for any number of values."""
        for start in range(0, len(values), _CHUNK):
            some = values[start : start + _CHUNK]
            yield from self.rows(f"{query} ({', '.join('?' * len(some))})", some)

    def snapshot(self) -> AbstractContextManager[Reader]:
        """View the store as it is now, on a connection of its own."""
        return reading(self.path)

    def rewrite(self) -> None:
        """Write the file anew in the order of the keys, and empty the journal."""
        with _explained(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@cache
def _widened(statement: str, size: int) -> str:
    """Return a statement for so many rows at once.

    >>> _widened("INSERT INTO a VALUES (?, ?) ON CONFLICT DO NOTHING", 2)
    'INSERT INTO a VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING'
    """
    return _VALUES.sub(lambda match: f"VALUES {', '.join([match[1]] * size)}", statement)


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """View a file as it is now; whoever writes to it meanwhile is neither seen nor hindered.

    All that is read is of a store, whoever made the file: it is checked in the same transaction.
    """
    with _explained(path):
        _refuse_irregular(path)
        view = View(path)
    with closing(view):
        if not view.version:
            raise StoreError(f"{path} has no store yet: `freewill serve` makes it.")
        yield view


class View:
    """A file in a transaction that only reads: no writing, no long texts, no work without end."""

    def __init__(self, path: Path) -> None:
        self._path, self._connection = path, _connected(path, reading_mode(path), _READING)
        self._left = _MOST_STEPS // _STEPS
        try:
            for limit in (sqlite3.SQLITE_LIMIT_LENGTH, sqlite3.SQLITE_LIMIT_SQL_LENGTH):
                self._connection.setlimit(limit, _TEXT_BYTES)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            self._connection.set_progress_handler(self._is_endless, _STEPS)
            # The view is of the moment of the first query.
            self._connection.execute("BEGIN")
            self.version = _version_of(self._connection, path)
            # Texts may be as long as a survey, once the tables are known to be ours.
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SURVEY_FILE_BYTES)
        except BaseException:
            self.close()
            raise

    def _is_endless(self) -> bool:
        self._left -= 1
        return self._left < 0

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; there are so many steps for each."""
        with _explained(self._path):
            self._left = _MOST_STEPS // _STEPS
            for row in self._connection.execute(query, values):
                yield row
                self._left = _MOST_STEPS // _STEPS

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def _connected(path: Path, mode: str, settings: dict[str, Any]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}{mode}",
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        for name, value in settings.items():
            connection.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


def beside(path: Path) -> list[Path]:
    """Return what SQLite opens: the file, and what may lie beside it."""
    return [Path(f"{path}{end}") for end in ("", "-wal", "-shm", "-journal")]


def reading_mode(path: Path) -> str:
    """Return how a file is opened by those who only read it.

    SQLite makes a file beside it all the same, but where nobody can write and no journal lies.
    """
    if hasattr(os, "statvfs") and os.statvfs(path).f_flag & os.ST_RDONLY:
        return "?mode=ro" if any(map(Path.exists, beside(path)[1:])) else "?mode=ro&immutable=1"
    return "?mode=ro"


def _identity(path: Path) -> tuple[int, int] | None:
    """Return by what the system knows a file; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _refuse_irregular(path: Path) -> None:
    """Refuse what is there and no file of SQLite, before SQLite opens it: a pipe would hold it."""
    for part in beside(path):
        if part.exists() and not stat.S_ISREG(part.stat().st_mode):
            raise StoreError(
                f"{part} is a {'folder' if part.is_dir() else 'pipe or device'}: expected the file "
                f"of a store, which `freewill serve` makes."
            )
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head not in (b"", _MAGIC):
            raise StoreError(f"{path} {_NO_STORE.format('it does not begin as a file of SQLite')}")


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a database with the tables of a store; 0 where it has none at all.

    Refuse a database of something else, a store of another release, and one with tables that differ
    from ours, with views, triggers or indices.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    ours = _ours(version if version in database.READ_VERSIONS else database.SCHEMA_VERSION)
    most = len(ours) + len(_STATISTICS)
    schema = connection.execute(_SCHEMA, (most + 1,)).fetchall()
    if not schema:
        return 0
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != _APPLICATION:
        raise StoreError(
            f"{path} is a database, but no store of Freewill's: name another file, or none yet."
        )
    if version not in database.READ_VERSIONS:
        raise database.StoreVersionError(str(path), version)
    tables = {row[:4] for row in schema} - _STATISTICS
    roots = {row[4] for row in schema}
    if tables != ours or len(roots) != len(schema):
        raise StoreError(
            f"{path} is damaged, or somebody changed it: {_difference(tables, ours)}. Expected the "
            f"tables that `freewill serve` makes, of version {version}, and nothing else. Restore "
            f"it from a backup; it was left as it is."
        )
    return int(version)


@cache
def _ours(version: int) -> frozenset[tuple[Any, ...]]:
    """Return the schema of a store of a version, in the spelling of SQLite."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in database.tables(version).values():
            connection.execute(statement.format(**_WORDS))
        return frozenset(row[:4] for row in connection.execute(_SCHEMA, (99,)))


def _difference(tables: set[tuple[Any, ...]], ours: frozenset[tuple[Any, ...]]) -> str:
    for kind, name, *_ in sorted(tables - ours, key=str):
        return f"its {printable(str(kind))} {printable(str(name))} is none of a store"
    missing = sorted(row[1] for row in ours - tables)
    return f"it has no table {missing[0]}" if missing else "two of its tables are one"


_FULL = "cannot be written to ({}). Make room on the disk."
_HELD = "is held by another process ({}): try again."
_NO_STORE = (
    "is no store, or it is damaged ({}): expected a file that `freewill serve` made. Restore it "
    "from a backup, or name another file."
)
_CLOSED = (
    "cannot be opened ({}): SQLite makes files beside it, so that whoever serves or reads a store "
    "must be able to write into its folder. Or take a copy, by `freewill backup`."
)
_ENDLESS = (
    "is damaged, or somebody changed it: it asks for more work or memory than any store ({}). "
    "Restore it from a backup."
)
_FAULTS: tuple[tuple[set[int], type[StoreError], str], ...] = (
    ({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}, StoreFullError, _FULL),
    ({sqlite3.SQLITE_CANTOPEN}, StoreError, _CLOSED),
    ({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, StoreBusyError, _HELD),
    ({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}, StoreError, _NO_STORE),
    ({sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG}, StoreError, _ENDLESS),
)
_UNUSABLE = "cannot be used as a store: {}."


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into errors that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        faults = ((kind, words) for codes, kind, words in _FAULTS if code in codes)
        kind, words = next(faults, (StoreError, _UNUSABLE))
        raise kind(f"{path} {words.format(first_line(error))}") from None
    except UnicodeDecodeError:  # in what SQLite says of a damaged schema
        raise StoreError(f"{path} {_NO_STORE.format('its schema is no text')}") from None
    except OSError as error:
        raise StoreError(f"{path} {_UNUSABLE.format(why(error))}") from None
