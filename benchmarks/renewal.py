"""How long a store of version 2 takes to be made anew: `python -m benchmarks.renewal [IDS]`."""

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from freewill.collector.ids import Ids
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store


def old_store(path: Path, ids: int) -> None:
    """Make a store of version 2, with so many ids and a mark of a report beside each."""
    made = Sqlite(path)
    Store(made)
    with made.writing():
        held = Ids(made)
        held.refresh()
        held.add(np.random.default_rng(0).integers(-(2**63), 2**63, ids))
    made.rewrite()
    made.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("marked", 1, lambda keys: keys + keys[: len(keys) // 2])
        connection.execute("BEGIN")
        connection.execute("UPDATE settled SET content = marked(content)")
        connection.execute("DROP TABLE reports")
        connection.execute("CREATE TABLE reports (id INTEGER PRIMARY KEY, mark INTEGER NOT NULL)")
        connection.execute("PRAGMA user_version = 2")
        connection.execute("COMMIT")
        connection.execute("VACUUM")


def main(ids: int) -> None:
    """Make one, open it, and tell what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        old_store(path, ids)
        before, cpu, clock = path.stat().st_size, time.process_time(), time.perf_counter()
        Sqlite(path).close()
        took, spent = time.perf_counter() - clock, time.process_time() - cpu
        tidied = time.perf_counter()
        store = Store(Sqlite(path))
        store.tidy()
        store.close()
        print(
            f"{ids:,} ids, {before / 1e6:.0f} MB: made anew in {took:.1f} s by the clock, "
            f"{spent:.1f} s of CPU; put in order at the end of the server in "
            f"{time.perf_counter() - tidied:.1f} s, {path.stat().st_size / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if sys.argv[1:] else 10_000_000)
