"""How long a store of an older version takes to be made anew, and what kills leave of it.

`python -m benchmarks.renewal [PEOPLE] [VERSION] [KILLS]`
"""

import hashlib
import os
import secrets
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

import freewill as fw
from freewill.collector import database
from freewill.collector.ids import Ids
from freewill.collector.rounds import canonical_of
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from freewill.collector.surveys import filled, new_pages, row_width, to_bytes
from freewill.domain.survey import Survey

LINE = fw.Linear(0, 99)
SURVEY = Survey(
    LINE,
    {"geometric": fw.Geometric(LINE, 0.1), "bits": fw.RAPPOR(LINE, 2.0)},
    question="How old are you?",
)
SPEC = canonical_of(SURVEY.with_laws())
OLD_ID = hashlib.sha256(SPEC.encode()).hexdigest()[:32]
"""The survey as it was in stores of versions 2 and 3, texts and all."""
DAYS = [f"2026-{month:02d}-{day:02d}" for month in range(1, 11) for day in range(1, 29)]
WORDS = {"bytes": "BLOB", "integer": "INTEGER", "keyed": " WITHOUT ROWID"}


def old_store(path: Path, people: int, version: int) -> None:
    """Make a store of an older version: half of the people are counted, the others in pages."""
    made = Sqlite(path)
    numbers = Store(made).add(SURVEY)
    rng = np.random.default_rng(0)
    with made.writing():
        held = Ids(made)
        held.refresh()
        held.add(rng.integers(-(2**63), 2**63, people))
        held.settle()
        for mechanism in SURVEY.mechanisms.values():
            number, many = numbers[mechanism.id], people // 2
            by_day = rng.multinomial(many, [1 / len(DAYS)] * len(DAYS)).tolist()
            rows = [(number, day, some) for day, some in zip(DAYS, by_day, strict=True)]
            made.run("INSERT INTO days VALUES (?, ?, ?)", rows)
            if mechanism.output_space.repeats:
                counts = rng.multinomial(many, [1 / LINE.size] * LINE.size).tolist()
                outputs = to_bytes(np.arange(LINE.size))
                rows = [(number, out, some) for out, some in zip(outputs, counts, strict=True)]
                made.run("INSERT INTO counts VALUES (?, ?, ?)", rows)
            else:
                reports = mechanism.obfuscate(rng.integers(LINE.size, size=many), rng)
                full, rest = filled(b"".join(to_bytes(reports)), row_width(mechanism))
                pages = [*new_pages(number, full), (number, 0, rest)]
                made.run("INSERT INTO pages VALUES (?, ?, ?)", pages)
    made.rewrite()
    made.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        aged(connection, version)


def aged(connection: sqlite3.Connection, version: int) -> None:
    """Make the tables those of an older version."""
    tables = database.tables(version)
    numbers = connection.execute("SELECT number, mechanism FROM mechanisms").fetchall()
    gone = ["surveys", "mechanisms", "aliases"]
    connection.execute("BEGIN")
    if version == 2:
        gone += ["log", "releases", "reports"]
        connection.create_function("marked", 1, lambda keys: keys + keys[: len(keys) // 2])
        connection.execute("UPDATE settled SET content = marked(content)")
    for name in gone:
        connection.execute(f"DROP TABLE {name}")
        if name in tables:
            connection.execute(tables[name].format(**WORDS))
    connection.execute("INSERT INTO surveys VALUES (?, ?, NULL)", (OLD_ID, SPEC))
    rows = [(number, OLD_ID, key) for number, key in numbers]
    connection.executemany("INSERT INTO mechanisms VALUES (?, ?, ?)", rows)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")
    connection.execute("VACUUM")


def content(path: Path) -> tuple[int, tuple[int, ...]]:
    """Return the version of a store, and how many people and ids it has, after a check of it."""
    queries = (
        "SELECT sum(people) FROM days",
        "SELECT sum(people) FROM counts",
        "SELECT sum(length(content)) FROM pages",
        "SELECT sum(length(content)) FROM settled",
    )
    with closing(sqlite3.connect(path)) as connection:
        ((version,),) = connection.execute("PRAGMA user_version")
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        *people, settled = (connection.execute(query).fetchone()[0] for query in queries)
        columns = len(connection.execute("SELECT * FROM mechanisms").description)
        assert columns == (4 if version == database.SCHEMA_VERSION else 3)
        return version, (*people, settled // (12 if version == 2 else 8))


def killed(path: Path, moment: float) -> None:
    """Open a store in a process that is killed after so many seconds."""
    process = os.fork()
    if process == 0:
        try:
            Sqlite(path).close()
        finally:
            os._exit(0)
    time.sleep(moment)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main(people: int, version: int, kills: int) -> None:
    """Make one, open it, and tell what that took and what kills in the middle left."""
    with tempfile.TemporaryDirectory() as folder:
        path, kept = Path(folder, "store.db"), Path(folder, "kept.db")
        old_store(path, people, version)
        _, before = content(path)
        size = path.stat().st_size
        os.link(path, kept)
        path.unlink()
        path.write_bytes(kept.read_bytes())
        cpu, clock = time.process_time(), time.perf_counter()
        Sqlite(path).close()
        took, spent = time.perf_counter() - clock, time.process_time() - cpu
        assert content(path) == (database.SCHEMA_VERSION, before)
        print(
            f"{people:,} people, version {version}, {size / 1e6:.0f} MB: made anew in {took:.1f} s "
            f"by the clock, {spent:.1f} s of CPU; nothing lost"
        )
        left = []
        for moment in sorted(secrets.SystemRandom().uniform(0, took) for _ in range(kills)):
            path.write_bytes(kept.read_bytes())
            for beside in path.parent.glob("store.db[.-]*"):
                beside.unlink()
            killed(path, moment)
            found, after = content(path)
            assert after == before
            left.append(found)
        counts = {one: left.count(one) for one in sorted(set(left))}
        print(f"{kills} kills in the middle left stores of version {counts}, none between")
        clock = time.perf_counter()
        store = Store(Sqlite(path))
        store.add(SURVEY)
        with store.view() as view:
            (period,) = store.survey(view, SURVEY.id).periods
        assert period.start == DAYS[0]
        store.tidy()
        store.close()
        took = time.perf_counter() - clock
        print(f"put in order at the end of the server in {took:.1f} s")


if __name__ == "__main__":
    given = [int(float(text)) for text in sys.argv[1:]]
    main(*given, *(10_000_000, 3, 12)[len(given) :])
