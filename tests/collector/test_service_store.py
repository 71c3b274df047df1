"""The store: what is counted, what is known again, and that nothing tells when it came."""

import os
import secrets
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.collector.answers import RefusedError
from freewill.collector.database import StoreBusyError, StoreError, StoreFullError
from freewill.collector.ids import keys_of
from freewill.collector.reading import read_store
from freewill.collector.rounds import surveys_in_words
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from freewill.collector.surveys import (
    Stored,
    StorePages,
    Upload,
    evidence_of,
    filled,
    from_bytes,
    page_rows,
    people_by_day,
    people_of,
    to_bytes,
)
from freewill.domain.survey import Survey
from freewill.stats.collect import collect
from service_cases import LINE, SHY, SURVEY, small_places, stored_ids

ID = SURVEY.id


@pytest.fixture
def store(tmp_path):
    made = Store(Sqlite(tmp_path / "store.db"))
    yield made
    made.close()


def rows_of(store, survey, many, rng):
    """Return checked reports of simulated people, and the same for the library."""
    numbers = store.add(survey)
    rows, parts = [], []
    for mechanism in survey.mechanisms.values():
        outputs = mechanism.obfuscate(rng.integers(survey.alphabet.size, size=many), rng)
        parts.append((mechanism, outputs))
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    order = rng.permutation(len(rows))
    return [rows[place] for place in order], collect(parts)


@pytest.mark.parametrize("survey", [SURVEY, SHY])
def test_counts_grow_into_the_evidence_that_the_library_collects(store, survey):
    rng = np.random.default_rng(1)
    survey = SURVEY if survey is SURVEY else Survey(SHY.alphabet, {
        name: SHY.mechanisms[name] for name in ("coin", "narrow")
    })  # fmt: skip
    rows, expected = rows_of(store, survey, 3000, rng)
    own = survey.id
    for start in range(0, len(rows), 700):
        some = rows[start : start + 700]
        assert store.write([Upload(own, some)], "2026-01-01") == [Stored(len(some), 0)]
    found = store.evidence(own)
    assert found == expected
    assert {group.name for group in found.groups} == set(survey.mechanisms)
    store.tidy()
    assert store.evidence(own) == expected


IDS = st.integers(0, 5).map(lambda one: bytes([one]) * 16)
OUTPUTS = st.integers(0, 2).map(lambda one: to_bytes(np.array([one]))[0])
UPLOADS = st.lists(
    st.lists(st.tuples(st.integers(0, 1), OUTPUTS, IDS), min_size=1, max_size=5), max_size=6
)


@given(groups=st.lists(UPLOADS, max_size=4), secret=st.binary(min_size=32, max_size=32))
@small_places()
def test_uploads_are_counted_as_a_naive_collector_counts_them(tmp_path_factory, groups, secret):
    """A dictionary of ids and reports, upload by upload: known, new, or two of one upload."""
    line = fw.Linear(0, 2)
    survey = Survey(line, {"a": fw.KRR(line, 1.0), "b": fw.KRR(line, 2.0)})
    store = Store(Sqlite(tmp_path_factory.mktemp("store") / "store.db"))
    store._secret = secret
    numbers = sorted(store.add(survey).values())
    kept, expected, found = {}, [], []
    for group in groups:
        uploads = [[(numbers[m], output, own) for m, output, own in rows] for rows in group]
        found += store.write([Upload(survey.id, rows) for rows in uploads], "2026-01-01")
        for rows in uploads:
            own, clash = {}, []
            for place, (number, output, report_id) in enumerate(rows):
                before = own.setdefault(report_id, (number, output))
                clash += [place] if before != (number, output) else []
            new = len(own.keys() - kept.keys())
            kept = kept if clash else own | kept
            expected.append(clash or Stored(new, len(rows) - new))
    told = [
        [place for place, _ in one.faults] if isinstance(one, RefusedError) else one
        for one in found
    ]
    assert told == expected
    counts = Counter(kept.values())
    with store.view() as view:
        assert {(m, bytes(o)): n for m, o, n in view.rows("SELECT * FROM counts")} == counts
        assert people_of(view, store.survey(view, survey.id)) == len(kept)
        assert len(stored_ids(view)) == len(kept)
    store.close()


def content(path):
    """Return the bytes of a file of SQLite but for the counters of its changes."""
    found = bytearray(path.read_bytes())
    for start in (24, 40, 92):
        found[start : start + 4] = bytes(4)
    return bytes(found)


@pytest.mark.parametrize("places", [nullcontext, small_places])
def test_the_order_in_which_reports_came_leaves_no_trace(tmp_path, places):
    """Whatever the order and the grouping, the file is the same to its last byte."""
    with places():
        files = list(files_of_the_same(tmp_path))
    assert files[0] == files[1] == files[2]


def files_of_the_same(folder):
    """Yield the files of three stores that took the same reports in other orders and groups."""
    rng, secret = np.random.default_rng(2), secrets.token_bytes(32)
    rows = None
    for number in range(3):
        path = folder / f"{number}.db"
        store = Store(Sqlite(path))
        numbers = store.add(SURVEY)
        with store.changing():
            store._database.run("UPDATE facts SET fact = ? WHERE name = 'secret'", [(secret,)])
        store._secret = secret
        store.add(SURVEY)
        if rows is None:
            rows, _ = rows_of(store, SURVEY, 300, rng)  # fewer bits than fill a page
            assert len(numbers) == 3
        mixed = [rows[place] for place in rng.permutation(len(rows))]
        step = int(rng.integers(50, 400))
        for start in range(0, len(mixed), step):
            store.write([Upload(ID, mixed[start : start + step])], "2026-01-01")
        store.tidy()
        store.close()
        yield content(path)


def test_pages_mix_early_and_late_reports(store):
    """Reports that came first are not those of any page, once the store was put in order."""
    (number,) = store.add(Survey(LINE, {"bits": SURVEY.mechanisms["bits"]})).values()
    own = Survey(LINE, {"bits": SURVEY.mechanisms["bits"]}).id
    rng = np.random.default_rng(3)
    for batch in range(20):  # the first byte of a report says when it came
        raw = rng.integers(0, 256, (1000, 13), dtype=np.uint8)
        raw[:, 0], raw[:, -1] = batch, 0
        rows = [(number, one.tobytes(), rng.bytes(16)) for one in raw]
        store.write([Upload(own, rows)], "2026-01-01")
    with store.view() as view:
        for (page,) in view.rows("SELECT content FROM pages"):
            full, rest = filled(bytes(page), 13)
            assert bytes(page) == b"".join([*full, rest])
    store.tidy()
    with store.view() as view:
        full = view.rows("SELECT content FROM pages WHERE page <> 0 ORDER BY mechanism, page")
        for (page,) in full:
            batches = np.frombuffer(page[::13], dtype=np.uint8)
            if len(batches) == page_rows(13):
                # Of 1,260 rows about 63 of each batch; all of one batch would be 1,000.
                assert np.bincount(batches, minlength=20).max() < 130
        sizes = [len(page) for (page,) in view.rows("SELECT content FROM pages")]
    assert min(sizes) > 0
    assert sum(sizes) == 20_000 * 13


def test_nothing_is_kept_of_when_and_where(store, tmp_path):
    rows, _ = rows_of(store, SURVEY, 10, np.random.default_rng(4))
    store.write([Upload(ID, rows)], "2026-01-01")
    connection = sqlite3.connect(tmp_path / "store.db")
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    tables = dict(connection.execute(query))
    ids = {"reports", "runs", "settled"}
    grown = {"counts", "pages", "days"}
    others = {"facts", "surveys", "aliases", "mechanisms", "releases", "log"}
    assert set(tables) == others | grown | ids
    for words in ("time", "address", "agent", "ip"):
        assert not any(words in sql.lower().split() for sql in tables.values())
    for name in grown:
        assert "WITHOUT ROWID" in tables[name]
    with store.view() as view:
        days = people_by_day(view, store.survey(view, ID))
    assert days == {name: {"2026-01-01": 10} for name in SURVEY.mechanisms}
    with store.view() as view:
        assert set(stored_ids(view)) == set(keys_of(store._heads, rows).tolist())
    connection.close()
    raw = (tmp_path / "store.db").read_bytes() + (tmp_path / "store.db-wal").read_bytes()
    assert not any(own in raw for _, _, own in rows)
    assert (tmp_path / "store.db").stat().st_mode & 0o077 == 0


def test_a_closed_survey_takes_no_new_report_and_knows_the_old_ones(store):
    rows, _ = rows_of(store, SURVEY, 2, np.random.default_rng(5))
    store.write([Upload(ID, rows[:3])], "2026-01-01")
    store.close_survey(ID, "2026-01-02")
    store.close_survey(ID, "2026-01-03")
    late, again, mixed = store.write(
        [Upload(ID, rows[3:]), Upload(ID, rows[:3]), Upload(ID, rows)], "2026-01-03"
    )
    assert (late.status, mixed.status) == (410, 410)
    assert "2026-01-02" in late.error
    assert again == Stored(0, 3)
    assert store.evidence(ID).people == 3


def test_a_full_disk_stores_nothing(store):
    rows, _ = rows_of(store, SURVEY, 2000, np.random.default_rng(6))
    store.write([Upload(ID, rows[:10])], "2026-01-01")
    connection = store._database._connection
    ((size,),) = connection.execute("PRAGMA page_count")
    connection.execute(f"PRAGMA max_page_count = {size + 5}")
    with pytest.raises(StoreFullError, match="Make room"):
        store.write([Upload(ID, rows)], "2026-01-01")
    assert store.evidence(ID).people == 10
    connection.execute("PRAGMA max_page_count = 1000000")
    assert store.write([Upload(ID, rows)], "2026-01-01") == [Stored(len(rows) - 10, 10)]


def test_a_store_that_another_process_holds_says_so(store, tmp_path, monkeypatch):
    rows, _ = rows_of(store, SURVEY, 1, np.random.default_rng(7))
    store._database._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match="another process"):
        store.write([Upload(ID, rows)], "2026-01-01")
    other.execute("ROLLBACK")
    other.close()
    assert store.write([Upload(ID, rows)], "2026-01-01") == [Stored(3, 0)]


def test_stores_that_are_none_are_refused_and_left_as_they_are(tmp_path):
    names = ("newer", "older", "foreign", "damaged")
    newer, older, foreign, damaged = (tmp_path / f"{name}.db" for name in names)
    for path, version in ((newer, 9), (older, 1)):
        Store(Sqlite(path)).close()
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE mine (a)")
    connection.commit()
    connection.close()
    damaged.write_bytes(b"what is this? " * 100)
    for path, told in (
        (newer, "version 9.*Update"),
        (older, "version 1.*release that made it"),
        (foreign, "no store of"),
        (damaged, "damaged"),
    ):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=told):
            Sqlite(path)
        with pytest.raises(StoreError, match=told), ExitStack() as stack:
            read_store(path, SURVEY, stack)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="directory"):
        Sqlite(tmp_path / "no folder" / "a.db")
    with pytest.raises(StoreError, match="no such store"):
        read_store(tmp_path / "none.db", SURVEY, ExitStack())


def test_a_changed_survey_or_count_in_the_file_is_noticed(store, tmp_path):
    rows, _ = rows_of(store, SURVEY, 5, np.random.default_rng(8))
    store.write([Upload(ID, rows)], "2026-01-01")
    numbers = {name: store.add(SURVEY)[m.id] for name, m in SURVEY.mechanisms.items()}
    right = (7).to_bytes(8, "little")
    for number, table, what in (
        (numbers["relaxed"], "counts", ((200).to_bytes(8, "little"), 1)),
        (numbers["relaxed"], "counts", (b"123", 1)),
        (numbers["relaxed"], "counts", (right, -1)),
        (numbers["relaxed"], "counts", (right, "many")),
        (numbers["relaxed"], "counts", ((7).to_bytes(16, "little"), 1)),
        (numbers["bits"], "pages", (5, b"1234")),
        (numbers["bits"], "pages", (5, b"\xff" * 13)),
    ):
        with store.changing():
            row = [(number, *what)]
            store._database.run(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row)
        with pytest.raises(StoreError, match="damaged"):
            store.evidence(ID)
        with store.changing():
            column = "output" if table == "counts" else "page"
            store._database.run(f"DELETE FROM {table} WHERE {column} = ?", [(what[0],)])
    assert store.evidence(ID).people
    with store.changing():
        store._database.run("UPDATE surveys SET law = replace(law, ?, ?)", [("0.1", "0.2")])
    with pytest.raises(StoreError, match="not what its id says"), ExitStack() as stack:
        read_store(tmp_path / "store.db", SURVEY, stack)


def test_wide_reports_beyond_what_is_held_are_passed_over_in_the_store(store):
    rng = np.random.default_rng(9)
    rows, expected = rows_of(store, SURVEY, 4000, rng)
    store.write([Upload(ID, rows)], "2026-01-01")
    with store.view() as view:
        left = evidence_of(view, store.survey(view, ID), hold=100)
        assert not left.held
        assert left == expected
        # What comes meanwhile is not seen by this view.
        more, _ = rows_of(store, SURVEY, 50, rng)
        store.write([Upload(ID, more)], "2026-01-01")
        found = fw.gibu(left)
    assert np.allclose(found.theta, fw.gibu(expected).theta, atol=1e-6)
    assert store.evidence(ID).people == expected.people + 150
    assert str(StorePages(None, 1, None)) == "the store"


def test_outputs_are_read_back_as_they_were():
    for mechanism in (*SURVEY.mechanisms.values(), *SHY.mechanisms.values()):
        rng = np.random.default_rng(10)
        outputs = mechanism.obfuscate(rng.integers(mechanism.alphabet.size, size=50), rng)
        found = from_bytes(b"".join(to_bytes(outputs)), mechanism)
        assert found.dtype == outputs.dtype
        assert np.array_equal(found, outputs)


@given(rows=st.lists(st.binary(min_size=3, max_size=3), max_size=40))
def test_pages_hold_each_row_once(rows):
    full_rows = page_rows(3)
    content = b"".join(rows) * (full_rows // 20)
    full, rest = filled(content, 3)
    assert all(len(page) == 3 * full_rows for page in full)
    assert len(rest) < 3 * full_rows
    found = Counter(page[at : at + 3] for page in [*full, rest] for at in range(0, len(page), 3))
    assert found == Counter(content[at : at + 3] for at in range(0, len(content), 3))


def test_two_processes_may_share_a_file(tmp_path):
    one, other = (Store(Sqlite(tmp_path / "store.db")) for _ in range(2))
    rows, expected = rows_of(one, SURVEY, 500, np.random.default_rng(11))
    other.add(SURVEY)
    for start in range(0, len(rows), 100):
        for store in (one, other):
            store.write([Upload(ID, rows[start : start + 100])], "2026-01-01")
    assert one.evidence(ID) == other.evidence(ID) == expected
    one.close()
    other.close()


FULL = """
import resource, sys
import numpy as np
from freewill.collector.database import StoreFullError
from freewill.collector.surveys import Upload
from freewill.collector.store import open_store
from service_cases import SURVEY
from test_service_store import ID, rows_of
store = open_store(sys.argv[1])
rows, _ = rows_of(store, SURVEY, 2000, np.random.default_rng(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
stored, full = 0, 0
for start in range(0, len(rows), 50):
    try:
        (outcome,) = store.write([Upload(ID, rows[start : start + 50])], "2026-01-01")
        stored += outcome.stored
    except StoreFullError:
        full += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert full and stored == store.evidence(ID).people, (full, stored)
(outcome,) = store.write([Upload(ID, rows)], "2026-01-01")
assert (outcome.stored, outcome.known) == (len(rows) - stored, stored)
assert store.evidence(ID).people == len(rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files by POSIX means")
def test_a_file_that_may_not_grow_keeps_whole_groups_and_goes_on_when_it_may(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "store.db")]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **paths}
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(("many", "others"), [(5, False), (6, True)])
def test_a_store_is_told_by_five_surveys_and_by_whether_there_are_others(store, many, others):
    for last in range(1, many + 1):
        line = fw.Linear(0, last)
        store.add(Survey(line, {"a": fw.KRR(line, 1.0)}))
    with store.view() as view:
        assert surveys_in_words(view).endswith(" and others") == others
