"""How long a store of an older version takes to be made anew, and what kills leave of it.

`python -m benchmarks.renewal [PEOPLE] [VERSION] [KILLS] [postgresql://user@host/database]`: in a
file of SQLite, or in a database of its own on that server, which is dropped after it.
"""

import hashlib
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import freewill as fw
from benchmarks.collector import ADDRESS, store_for
from freewill.collector import database, postgres, sqlite
from freewill.collector.database import Database, Reader
from freewill.collector.ids import Ids
from freewill.collector.rounds import canonical_of
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


@dataclass(frozen=True)
class Place:
    """Where a store lies, beside a copy of what it was when it was old."""

    where: str

    @property
    def by_address(self) -> bool:
        """Whether it is a database of PostgreSQL."""
        return self.where.startswith(postgres.PREFIXES)

    def opened(self) -> Database:
        """Open it, or make it; one of an older version is made anew."""
        return postgres.Postgres(self.where) if self.by_address else sqlite.Sqlite(self.where)

    def reading(self) -> AbstractContextManager[Reader]:
        """View it as it is."""
        if self.by_address:
            return postgres.reading(self.where)
        return sqlite.reading(Path(self.where))

    def keep(self) -> None:
        """Keep a copy of it as it is."""
        self._copied("store", "kept")

    def bring_back(self) -> None:
        """Put the copy in its place."""
        self._copied("kept", "store")

    def _copied(self, source: str, target: str) -> None:
        if not self.by_address:
            paths = {"store": Path(self.where), "kept": Path(f"{self.where}.kept")}
            for beside in paths["store"].parent.glob("store.db-*"):
                beside.unlink()
            paths[target].write_bytes(paths[source].read_bytes())
            return
        import psycopg  # noqa: PLC0415

        own = urlsplit(self.where).path[1:]
        names = {"store": own, "kept": f"{own}_kept"}
        with psycopg.connect(ADDRESS[0], autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {names[target]} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {names[target]} TEMPLATE {names[source]}")

    def size(self) -> int:
        """Return its bytes."""
        if not self.by_address:
            return Path(self.where).stat().st_size
        with self.reading() as view:
            ((size,),) = view.rows("SELECT pg_database_size(current_database())")
        return int(size)


@contextmanager
def place() -> Iterator[Place]:
    """Yield a place of its own, and clear it away."""
    with tempfile.TemporaryDirectory() as folder, store_for(Path(folder)) as where:
        own = Place(where)
        yield own
        if own.by_address:
            import psycopg  # noqa: PLC0415

            with psycopg.connect(ADDRESS[0], autocommit=True) as connection:
                kept = f"{urlsplit(where).path[1:]}_kept"
                connection.execute(f"DROP DATABASE IF EXISTS {kept} WITH (FORCE)")


def old_store(own: Place, people: int, version: int) -> None:
    """Make a store of an older version: half of the people are counted, the others in pages."""
    made = own.opened()
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
    with made.writing():
        age(made, version)
    made.rewrite()
    made.close()


def age(made: Database, version: int) -> None:
    """Make the tables those of an older version."""
    tables = database.tables(version)
    numbers = list(made.rows("SELECT number, mechanism FROM mechanisms"))
    gone = ["surveys", "mechanisms", "aliases"]
    if version == 2:
        gone += ["log", "releases", "reports"]
        for bucket, keys in list(made.rows("SELECT bucket, content FROM settled")):
            marked = bytes(keys) + bytes(len(keys) // 2)
            made.run("UPDATE settled SET content = ? WHERE bucket = ?", [(marked, bucket)])
    for name in gone:
        made.execute(f"DROP TABLE {name}")
        if name in tables:
            made.execute(tables[name].format(**made.words))
    made.run("INSERT INTO surveys VALUES (?, ?, ?)", [(OLD_ID, SPEC, None)])
    rows = [(number, OLD_ID, key) for number, key in numbers]
    made.run("INSERT INTO mechanisms VALUES (?, ?, ?)", rows)
    if isinstance(made, postgres.Postgres):
        fact = (str(version).encode(),)
        made.run("UPDATE facts SET fact = ? WHERE name = 'version'", [fact])
    else:
        made.execute(f"PRAGMA user_version = {version}")


def content(own: Place) -> tuple[int, tuple[int, ...]]:
    """Return the version of a store, and how many people and ids it has, after a check of it."""
    queries = (
        "SELECT sum(people) FROM days",
        "SELECT sum(people) FROM counts",
        "SELECT sum(length(content)) FROM pages",
        "SELECT sum(length(content)) FROM settled",
    )
    with own.reading() as view:
        if not own.by_address:
            assert list(view.rows("PRAGMA quick_check")) == [("ok",)]
        *people, settled = (int(number) for query in queries for (number,) in view.rows(query))
        columns = {len(row) for row in view.rows("SELECT * FROM mechanisms")}
        assert columns == {4 if view.version == database.SCHEMA_VERSION else 3}
        return view.version, (*people, settled // (12 if view.version == 2 else 8))


def killed(own: Place, moment: float) -> None:
    """Open a store in a process that is killed after so many seconds."""
    process = os.fork()
    if process == 0:
        try:
            own.opened().close()
        finally:
            os._exit(0)
    time.sleep(moment)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main(people: int, version: int, kills: int) -> None:
    """Make one, open it, and tell what that took and what kills in the middle left."""
    with place() as own:
        old_store(own, people, version)
        _, before = content(own)
        size = own.size()
        own.keep()
        cpu, clock = time.process_time(), time.perf_counter()
        own.opened().close()
        took, spent = time.perf_counter() - clock, time.process_time() - cpu
        assert content(own) == (database.SCHEMA_VERSION, before)
        print(
            f"{people:,} people, version {version}, {size / 1e6:.0f} MB: made anew in {took:.1f} s "
            f"by the clock, {spent:.1f} s of CPU; nothing lost"
        )
        left = []
        for moment in sorted(secrets.SystemRandom().uniform(0, took) for _ in range(kills)):
            own.bring_back()
            killed(own, moment)
            found, after = content(own)
            assert after == before
            left.append(found)
        counts = {one: left.count(one) for one in sorted(set(left))}
        print(f"{kills} kills in the middle left stores of version {counts}, none between")
        clock = time.perf_counter()
        store = Store(own.opened())
        store.add(SURVEY)
        with store.view() as view:
            (period,) = store.survey(view, SURVEY.id).periods
        assert period.start == DAYS[0]
        store.tidy()
        store.close()
        took = time.perf_counter() - clock
        print(f"put in order at the end of the server in {took:.1f} s")


if __name__ == "__main__":
    ADDRESS += [text for text in sys.argv[1:] if text.startswith(postgres.PREFIXES)]
    given = [int(float(text)) for text in sys.argv[1:] if text not in ADDRESS]
    main(*given, *(10_000_000, 3, 12)[len(given) :])
