"""Files that claim to be stores: what somebody may hand over, and what a fault of a disk leaves."""

import hashlib
import os
import sqlite3
from contextlib import closing

import numpy as np

import freewill as fw
from freewill.collector import database
from freewill.collector.rounds import canonical_of
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from freewill.collector.surveys import Upload, to_bytes

LINE = fw.Linear(0, 99)
SURVEY = fw.Survey(
    LINE,
    {"coin": fw.KRR(LINE, 1.0), "noise": fw.Geometric(LINE, 0.1), "bits": fw.RAPPOR(LINE, 2.0)},
    question="How old are you?",
)
ID = SURVEY.id
PEOPLE = 90


def honest(path):
    """Make a store of 30 people for each mechanism, over two days."""
    store = Store(Sqlite(path))
    numbers, rng = store.add(SURVEY), np.random.default_rng(0)
    for day in ("2026-01-01", "2026-01-02"):
        rows = []
        for mechanism in SURVEY.mechanisms.values():
            outputs = mechanism.obfuscate(rng.integers(100, size=PEOPLE // 6), rng)
            rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
        store.write([Upload(ID, rows)], day)
    store.close()
    return {name: numbers[one.id] for name, one in SURVEY.mechanisms.items()}


def changed(*statements, values=()):
    """Return a maker of a store that was changed by statements of SQL; {coin} is a number."""

    def make(path):
        numbers = honest(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = OFF")
            for statement in statements:
                needed = values if "?" in statement else ()
                connection.execute(statement.format(**numbers), needed)

    return make


OLD_SPEC = canonical_of(SURVEY.with_laws())
OLD_ID = hashlib.sha256(OLD_SPEC.encode()).hexdigest()[:32]
"""What the survey was in stores of versions 2 and 3, with its texts."""


def aged(path, *statements, version=2):
    """Make a store what one of an older version was: that of 2 has a mark behind each id."""
    if not path.exists():
        honest(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        numbers = connection.execute("SELECT number, survey, mechanism FROM mechanisms").fetchall()
        renewed = {"surveys", "mechanisms"}
        if version == 2:
            renewed |= {"reports"}
            connection.create_function("marked", 1, lambda keys: keys + b"mark" * (len(keys) // 8))
            for table in ("runs", "settled"):
                connection.execute(f"UPDATE {table} SET content = marked(content)")
            loose = connection.execute("SELECT id FROM reports").fetchall()
        old = database.tables(version)
        for (name,) in connection.execute("SELECT name FROM sqlite_schema").fetchall():
            if name in renewed or (name not in old and not name.startswith("sqlite_")):
                connection.execute(f"DROP TABLE {name}")
        for name in sorted(renewed):
            words = {"bytes": "BLOB", "integer": "INTEGER", "keyed": " WITHOUT ROWID"}
            connection.execute(old[name].format(**words))
        if version == 2:
            connection.executemany("INSERT INTO reports VALUES (?, 7)", loose)
        connection.execute("INSERT INTO surveys VALUES (?, ?, NULL)", (OLD_ID, OLD_SPEC))
        rows = [(number, own.replace(ID, OLD_ID), key) for number, own, key in numbers]
        connection.executemany("INSERT INTO mechanisms VALUES (?, ?, ?)", rows)
        connection.execute(f"PRAGMA user_version = {version}")
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")


def schema(old, new):
    """Return a maker of a store whose schema was rewritten in place, as no statement could."""
    return changed(
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET {old} WHERE {new}",
        "PRAGMA writable_schema = OFF",
    )


def bytes_changed(change):
    def make(path):
        honest(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        content = bytearray(path.read_bytes())
        path.write_bytes(change(content))

    return make


def _beside(end, make):
    def made(path):
        changed()(path)
        make(path.with_name(path.name + end))

    return made


def _many_surveys(path):
    changed()(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) "
            "INSERT INTO surveys SELECT printf('%032x', i), '{}', '{}', '', '', NULL FROM n"
        )
        connection.commit()


def _many_others(path):
    _many_surveys(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM surveys WHERE id = ?", (ID,))


def _no_tables(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)"


def view(table, *columns):
    """Return a maker that puts a view without end in the place of a table."""
    return changed(
        f"DROP TABLE {table}",
        f"CREATE VIEW {table} AS {ENDLESS} SELECT {', '.join(columns)} FROM n",
    )


def _root(path):
    """Let two tables be one tree."""
    schema(
        "rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'days')", "name = 'counts'"
    )(path)


def _tree(path):
    """Make pages of `pages` a tree that leads to the same leaf a hundred times on each level."""
    numbers = honest(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = OFF")
        rows = [(numbers["bits"], 1 + place, bytes(13 * 3)) for place in range(4000)]
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'pages'")
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    start = (root - 1) * size
    assert content[start] == 2  # an inner page of an index
    cells = int.from_bytes(content[start + 3 : start + 5], "big")
    pointers = content[start + 12 : start + 12 + 2 * cells]
    places = [start + int.from_bytes(pointers[at : at + 2], "big") for at in range(0, 2 * cells, 2)]
    for at in places:
        content[at : at + 4] = content[places[0] : places[0] + 4]
    path.write_bytes(content)


REFUSED = {
    # What is no file of SQLite at all.
    "fifo": (os.mkfifo, "is a pipe or device"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a pipe or device"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "text": (lambda path: path.write_text("mechanism,report\n" * 99), "does not begin as a file"),
    "empty": (lambda path: path.touch(), "has no store yet"),
    "zeros": (lambda path: path.write_bytes(bytes(1 << 16)), "does not begin as a file"),
    "fifo as journal": (_beside("-journal", os.mkfifo), "-journal is a pipe or device"),
    "fifo as wal": (_beside("-wal", os.mkfifo), "-wal is a pipe or device"),
    "folder as shm": (_beside("-shm", os.mkdir), "-shm is a folder"),
    # Files of SQLite that are no stores.
    "no tables": (_no_tables, "has no store yet"),
    "another application": (changed("PRAGMA application_id = 7"), "no store of Freewill's"),
    "another version": (changed("PRAGMA user_version = 99"), "version 99.*Update"),
    # Schemas that differ.
    "schema that is no text": (
        bytes_changed(
            lambda content: content.replace(b"CREATE TABLE counts", b"CREATE TA\xe6LE counts")
        ),
        "its schema is no text",
    ),
    "view of counts": (view("counts", "i AS mechanism", "x'00' AS output", "1 AS people"), "view"),
    "view of facts": (view("facts", "'a' AS name", "x'00' AS fact"), "view facts is none"),
    "view of surveys": (view("surveys", "'a' AS id", "'b' AS law", "NULL AS closed_on"), "view"),
    "view of the schema": (
        changed(
            "PRAGMA writable_schema = ON",
            "INSERT INTO sqlite_schema VALUES ('view', 'sqlite_master', 'sqlite_master', 0, "
            f"'CREATE VIEW sqlite_master AS {ENDLESS} SELECT 1 FROM n')",
        ),
        "damaged|cannot be used|malformed",
    ),
    "new tables, marked as old": (changed("PRAGMA user_version = 2"), "table aliases is none"),
    "new tables, marked as those before": (
        changed("PRAGMA user_version = 3"),
        "table aliases is none",
    ),
    "old tables, marked as new": (
        lambda path: aged(path, "PRAGMA user_version = 4"),
        "table mechanisms is none",
    ),
    "trigger in old tables": (
        lambda path: aged(path, "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN SELECT 1; END"),
        "trigger t is none",
    ),
    "more in old tables": (
        lambda path: aged(path, "CREATE TABLE more (a)"),
        "table more is none.*of version 2",
    ),
    "trigger": (
        changed("CREATE TRIGGER t AFTER INSERT ON days BEGIN DELETE FROM counts; END"),
        "trigger t is none",
    ),
    "index": (changed("CREATE INDEX i ON counts (people)"), "index i is none"),
    "extra table": (changed("CREATE TABLE more (a)"), "table more is none"),
    "statistics of another shape": (
        changed(
            "ANALYZE",
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlite_stat1(tbl,idx,stat,more)' "
            "WHERE name = 'sqlite_stat1'",
        ),
        "table sqlite_stat1 is none",
    ),
    "virtual table": (changed("CREATE VIRTUAL TABLE v USING fts5(a)"), "table v.* is none"),
    "missing table": (changed("DROP TABLE days"), "it has no table days"),
    "extra column": (changed("ALTER TABLE days ADD COLUMN more TEXT"), "table days is none"),
    "missing column": (changed("ALTER TABLE surveys DROP COLUMN closed_on"), "surveys is none"),
    "generated column": (
        changed(
            "DROP TABLE days",
            "CREATE TABLE days (mechanism INTEGER, day TEXT, people INTEGER AS (7), "
            "PRIMARY KEY (mechanism, day)) WITHOUT ROWID",
        ),
        "table days is none",
    ),
    "many tables": (
        changed(*(f"CREATE TABLE more{place} (a)" for place in range(99))),
        "is none of a store",
    ),
    "two tables of one tree": (_root, "two of its tables are one"),
    "long statement": (
        changed("CREATE TABLE more (a DEFAULT '" + "x" * 100_000 + "')"),
        "damaged|cannot be used",
    ),
    # Content that contradicts itself.
    "negative": (changed("UPDATE counts SET people = -people"), "damaged in what it has of"),
    "huge": (changed(f"UPDATE counts SET people = {2**62}"), "damaged in what it has of"),
    "float": (changed("UPDATE counts SET people = people + 0.5"), "damaged in what it has of"),
    "text count": (changed("UPDATE counts SET people = 'many'"), "damaged in what it has of"),
    "blob count": (changed("UPDATE counts SET people = x'01'"), "damaged in what it has of"),
    "one more": (
        changed("UPDATE counts SET people = people + 1 WHERE mechanism = {coin}"),
        "k-rr.* reports of 30 people by day",
    ),
    "fewer days": (changed("DELETE FROM days WHERE day = '2026-01-02'"), "30 reports of 15 people"),
    "no days": (changed("DELETE FROM days"), "30 reports of 0 people"),
    "no counts": (changed("DELETE FROM counts"), "0 reports of 30 people"),
    "no pages": (changed("DELETE FROM pages"), "0 reports of 30 people"),
    "negative days": (changed("UPDATE days SET people = -15"), "damaged in what it has of"),
    "huge days": (changed(f"UPDATE days SET people = {2**62}"), "damaged in what it has of"),
    "text days": (changed("UPDATE days SET people = 'x'"), "damaged in what it has of"),
    "day that is none": (
        changed("UPDATE days SET day = 'soon' WHERE day = '2026-01-02'"),
        "Invalid isoformat",
    ),
    "output beyond the space": (
        changed(
            "UPDATE counts SET output = ? WHERE output IN (SELECT max(output) FROM counts)",
            values=((999).to_bytes(8, "little"),),
        ),
        "damaged in what it has of",
    ),
    "output too long": (
        changed("INSERT INTO counts VALUES ({coin}, zeroblob(100000), 1)"),
        "of 100,000 bytes",
    ),
    "output as text": (changed("INSERT INTO counts VALUES ({coin}, 'a', 1)"), "keys that are none"),
    "output null": (
        changed(
            "DROP TABLE counts",
            "CREATE TABLE counts (mechanism INTEGER, output BLOB, people INTEGER)",
            "INSERT INTO counts VALUES (1, NULL, NULL)",
        ),
        "table counts is none",
    ),
    "page as number": (
        changed("UPDATE pages SET content = 1000000000000"),
        "damaged in what it has of",
    ),
    "page as text": (changed("UPDATE pages SET content = 'abc'"), "damaged in what it has of"),
    "page of zeros": (
        changed("INSERT INTO pages VALUES ({bits}, 9, zeroblob(13000000))"),
        "a page of 13,000,000",
    ),
    "page of a part": (changed("INSERT INTO pages VALUES ({bits}, 9, x'00')"), "damaged in what"),
    "page more": (
        changed("INSERT INTO pages VALUES ({bits}, 9, zeroblob(26))"),
        "32 reports of 30 people",
    ),
    "page with stray bits": (
        changed("INSERT INTO pages VALUES ({bits}, 9, ?)", values=(b"\xff" * 13,)),
        "damaged in",
    ),
    "no mechanisms": (changed("DELETE FROM mechanisms"), "not what its id says"),
    "mechanism less": (
        changed("DELETE FROM mechanisms WHERE number = {coin}"),
        "not what its id says",
    ),
    "mechanism more": (
        changed(f"INSERT INTO mechanisms VALUES (99, '{ID}', 'x', '2025-12-29')"),
        "not what its id says",
    ),
    "period of a part": (
        changed("UPDATE mechanisms SET period = '2026-01-05' WHERE number = {coin}"),
        "not what its id says",
    ),
    "period that is none": (
        changed("UPDATE mechanisms SET period = 'soon'"),
        "not what its id says",
    ),
    "another survey's text": (
        changed("UPDATE surveys SET law = replace(law, '0.1', '0.2')"),
        "not what its id says",
    ),
    "deep survey": (
        changed(f"UPDATE surveys SET id = 'b', law = '', texts = '{'[' * 200_000}'"),
        "is not in the store",
    ),
    "survey as blob": (
        changed("UPDATE surveys SET id = x'00', law = x'00', texts = x'00'"),
        "is not in",
    ),
    "survey with escapes": (
        changed(
            "UPDATE surveys SET id = 'b' || char(27) || '[2J', law = '', "
            'texts = \'{{"title": "a\\u001b[2J"}}\''
        ),
        "is not in the store",
    ),
    "many other surveys": (_many_others, "is not in the store"),
    # Faults of a disk.
    "cut to a half": (bytes_changed(lambda content: content[: len(content) // 2]), "damaged|used"),
    "cut to a page": (bytes_changed(lambda content: content[:4096]), "damaged|used"),
    "cut in the head": (bytes_changed(lambda content: content[:50]), "damaged|used"),
    "zeros in the middle": (
        bytes_changed(lambda content: content[:4096] + bytes(len(content) - 4096)),
        "damaged|used",
    ),
    "ones in the middle": (
        bytes_changed(lambda content: content[:4096] + b"\xff" * (len(content) - 4096)),
        "damaged|used",
    ),
    "a tree that leads round": (_tree, "damaged"),
}
"""Makers of what is refused, with the words that say why."""


def _wal(path):
    """Leave the last reports in the journal, as a server that was killed does."""
    honest(path)
    content = path.read_bytes()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("UPDATE facts SET fact = x'00' WHERE name = 'none'")
    connection.execute("INSERT INTO facts VALUES ('more', x'00')")
    journal = path.with_name(path.name + "-wal").read_bytes()
    connection.close()
    path.write_bytes(content)
    path.with_name(path.name + "-wal").write_bytes(journal)


def _backup(path):
    """Copy a store as docs/collector.md says."""
    original = path.with_name("original.db")
    honest(original)
    with closing(sqlite3.connect(original, isolation_level=None)) as connection:
        connection.execute("VACUUM INTO ?", (str(path),))


READ = {
    "statistics": changed("ANALYZE"),
    "statistics that lie": changed(
        "ANALYZE", "UPDATE sqlite_stat1 SET stat = '1000000000 1000000000 unordered'"
    ),
    "honest": honest,
    "of version 2": aged,
    "of version 3": lambda path: aged(path, version=3),
    "without a journal": changed(),
    "a journal beside it": _wal,
    "a foreign journal": _beside("-wal", lambda path: path.write_bytes(b"no journal " * 999)),
    "an empty journal": _beside("-wal", lambda path: path.touch()),
    "a backup": _backup,
    "a vacuumed one": changed("PRAGMA page_size = 65536", "VACUUM"),
    "whole floats": changed("UPDATE counts SET people = people + 0.0"),
    "many surveys": _many_surveys,
    "a foreign survey": changed("INSERT INTO surveys VALUES ('a', '[[[', '[[[', '', '', 7)"),
}
"""Makers of what is read, and as it was."""
