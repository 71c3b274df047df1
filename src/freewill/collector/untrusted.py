"""A file of SQLite that somebody handed over: what is checked before any query of ours meets it.

The text of a schema is code: a table may be a view that never ends, a trigger may change what is
written. So nothing is asked but of the very tables that we make, and of these with limits.
"""

import sqlite3
import stat
from functools import cache
from pathlib import Path
from typing import Any

from freewill.collector.database import SCHEMA_VERSION, TABLES, refuse_version
from freewill.collector.refusals import StoreError
from freewill.core.types import SURVEY_FILE_BYTES
from freewill.errors import printable

APPLICATION = 0x46574C31
"""The mark of our files, "FWL1", in the head of the file where `file` looks for it."""
WORDS = {"bytes": "BLOB", "integer": "INTEGER", "keyed": " WITHOUT ROWID"}
_MAGIC = b"SQLite format 3\0"
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite opens: the file, and what may lie beside it. A pipe would let it wait for ever."""
_SCHEMA = "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema LIMIT ?"
_TEXT_BYTES = 1 << 16
"""Of a statement of a schema; ours have some hundred."""
_STEPS, _MOST_STEPS = 1 << 16, 1 << 27
"""Instructions of SQLite after which it is looked at, and those between two rows: two seconds."""


def refuse_irregular(path: Path) -> None:
    """Refuse what is there and no file of SQLite, before SQLite opens it."""
    for end in _BESIDE:
        part = path.with_name(path.name + end)
        if part.exists() and not stat.S_ISREG(part.stat().st_mode):
            raise StoreError(
                f"{part} is a {'folder' if part.is_dir() else 'pipe or device'}: expected the file "
                f"of a store, which `freewill serve` makes."
            )
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head not in (b"", _MAGIC):
            raise StoreError(
                f"{path} is no store, or it is damaged (it does not begin as a file of SQLite): "
                f"expected a file that `freewill serve` made. Restore it from a backup, or name "
                f"another file."
            )


class Limits:
    """What a connection that only reads may do: no writing, no long texts, no work without end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _TEXT_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _TEXT_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection, self._left = connection, 0
        self.row()
        connection.set_progress_handler(self._went_on, _STEPS)

    def row(self) -> None:
        """Take note that a row came."""
        self._left = _MOST_STEPS // _STEPS

    def _went_on(self) -> bool:
        self._left -= 1
        return self._left < 0

    def allow_surveys(self) -> None:
        """Let texts be as long as a survey, once the tables are known to be ours."""
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SURVEY_FILE_BYTES)


def has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Say whether a database has the tables of a store, and these alone, or none at all.

    Refuse a database of something else, a store of another release, and one with tables that differ
    from ours, with views, triggers or indices.
    """
    schema = connection.execute(_SCHEMA, (len(_ours()) + 1,)).fetchall()
    if not schema:
        return False
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise StoreError(
            f"{path} is a database, but no store of Freewill's: name another file, or none yet."
        )
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    refuse_version(str(path), version)
    found = {row[:4] for row in schema}
    roots = {row[4] for row in schema}
    if found != _ours() or len(roots) != len(schema):
        raise StoreError(
            f"{path} is damaged, or somebody changed it: {_difference(found)}. Expected the "
            f"tables that `freewill serve` makes, of version {SCHEMA_VERSION}, and nothing else. "
            f"Restore it from a backup; it was left as it is."
        )
    return True


@cache
def _ours() -> frozenset[tuple[Any, ...]]:
    """Return the schema of a new store, in the spelling of SQLite."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(TABLES.format(**WORDS))
        return frozenset(row[:4] for row in connection.execute(_SCHEMA, (99,)))
    finally:
        connection.close()


def _difference(found: set[tuple[Any, ...]]) -> str:
    for kind, name, *_ in sorted(found - _ours(), key=str):
        return f"its {printable(str(kind))} {printable(str(name))} is none of a store"
    missing = sorted(row[1] for row in _ours() - found)
    return f"it has no table {missing[0]}" if missing else "two of its tables are one"
