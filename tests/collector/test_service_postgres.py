"""The store in PostgreSQL: the same counts, from several collectors at once."""

import sys
import threading
from contextlib import ExitStack

import numpy as np
import pytest

from cli_cases import refused
from freewill.collector.database import StoreBusyError, StoreError
from freewill.collector.postgres import MOST_READERS, shown_url
from freewill.collector.reading import read_store
from freewill.collector.releases import Releases
from freewill.collector.store import open_store
from freewill.collector.surveys import Stored, Upload, evidence_of, people_by_day
from freewill.collector.tokens import token_digest
from freewill.errors import ParameterError
from postgres_cases import needs_postgres, rows_of, server, sql, url
from service_cases import ID, SHY, SURVEY, small_places, stored_ids

__all__ = ["server", "url"]
pytestmark = needs_postgres


CARELESS = {"default_transaction_isolation": "serializable", "synchronous_commit": "off"}
"""What a server may be set to, with which turns would not see each other, nor commits last."""


@small_places(scale=40)
@pytest.mark.parametrize("settings", [{}, CARELESS])
def test_several_collectors_count_each_report_once(url, settings):
    """Three of them take the same uploads at the same time, in different orders."""
    for name, value in settings.items():
        sql(url, f"ALTER ROLE freewill SET {name} TO '{value}'")
    stores = [open_store(url) for _ in range(3)]
    for name in settings:
        sql(url, f"ALTER ROLE freewill RESET {name}")
    rows, expected = rows_of(stores[0], 1000, np.random.default_rng(0))
    uploads = [Upload(ID, rows[start : start + 60]) for start in range(0, len(rows), 60)]
    found = []

    def feed(store, order):
        store.add(SURVEY)
        for place in order:
            found.extend(store.write([uploads[place]], "2026-01-01"))

    orders = [np.random.default_rng(seed).permutation(len(uploads)) for seed in range(3)]
    threads = [
        threading.Thread(target=feed, args=pair) for pair in zip(stores, orders, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.stored for one in found) == len(rows)
    assert sum(one.known for one in found) == 2 * len(rows)
    assert list(stores[0]._database.rows("SHOW synchronous_commit")) == [("on",)]
    with stores[0].view() as view:
        assert len(set(stored_ids(view))) == len(stored_ids(view)) == len(rows)
    for store in stores:
        assert store.evidence(ID) == expected
        store.close()
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected


def test_collectors_cross_into_the_next_week_together(url):
    """Whose clock is a little behind counts in the week that it says; nobody is lost or doubled."""
    stores = [open_store(url) for _ in range(2)]
    rows, expected = rows_of(stores[0], 400, np.random.default_rng(4))
    stores[1].add(SURVEY)
    stores[0].write([Upload(ID, rows[:300])], "2026-11-04")
    start = threading.Barrier(2)

    def write(place):
        start.wait(30)
        some = rows[300 + place :: 2]
        for number in range(0, len(some), 10):
            late = number > 150 + 100 * place
            stores[place].write([Upload(ID, some[number : number + 10])], _DAYS[late])

    threads = [threading.Thread(target=write, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        with store.view() as view:
            spans = store.survey(view, ID).spans
            assert [(first, end) for first, end, _ in spans] == [
                ("2026-11-02", "2026-11-09"),
                ("2026-11-09", None),
            ]
            for (first, _, some), last in zip(spans, _DAYS, strict=True):
                days = [*people_by_day(view, some).values()]
                assert all(first <= day <= last for own in days for day in own)
        assert store.evidence(ID) == expected
        store.close()
    with ExitStack() as stack:
        parts = [read_store(url, ID, stack, period) for period in ("..2026-11-08", "last")]
    assert parts[0] + parts[1] == expected


_DAYS = ("2026-11-08", "2026-11-09")


def test_collectors_share_releases_of_which_one_is_made_an_hour(url):
    stores, hour = [open_store(url) for _ in range(2)], [0]
    rows, _ = rows_of(stores[0], 400, np.random.default_rng(1))
    stores[1].add(SURVEY)
    every = [Releases(one, [SURVEY], clock=lambda: 3600.0 * hour[0]) for one in stores]
    for start in (0, 700):
        stores[0].write([Upload(ID, rows[start : start + 700])], "2026-01-01")
        hour[0] += 1
        threads = [threading.Thread(target=one.tick) for one in every]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for source, store in zip(every, stores, strict=True):
            assert source.failures == 0
            with store.view() as view:
                stored = source.survey(view, ID)
                assert stored.release.number == hour[0]
                assert evidence_of(view, stored, sys.maxsize) == store.evidence(ID)
    assert sum(one.made for one in every) == 2
    for store in stores:
        store.tidy()
        store.close()


def test_collectors_that_start_at_once_make_one_store_and_one_token(url):
    start, found = threading.Barrier(4), []

    def begin():
        start.wait(30)
        store = open_store(url)
        found.append((store, store.new_token(first=True)))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (token,) = [token for _, token in found if token]
    hashes = {"administrator": token_digest(token)}
    assert [store.token_hashes() for store, _ in found] == [hashes] * 4
    for store, _ in found:
        store.close()


GROWING = {
    "settled": "bucket",
    "counts": "mechanism, output",
    "days": "mechanism, day",
    "pages": "mechanism, page",
}
"""Tables that are not empty in the end, with their keys."""


@small_places(scale=40)
def test_the_last_collector_leaves_no_trace_of_when_reports_came(url):
    """Neither where rows lie nor the transactions that made them tell; others are not held up."""
    stores = [open_store(url) for _ in range(2)]
    rows, expected = rows_of(stores[0], 1500, np.random.default_rng(5))
    stores[1].add(SURVEY)
    for start in range(0, len(rows), 300):
        stores[start // 300 % 2].write([Upload(ID, rows[start : start + 300])], "2026-01-01")
    assert len(sql(url, "SELECT DISTINCT xmin FROM counts")) > 1
    stores[0].tidy()  # the other one is at work
    assert len(sql(url, "SELECT DISTINCT xmin FROM counts")) > 1
    stores[0].close()
    stores[1].tidy()
    for table, key in GROWING.items():
        found = sql(url, f"SELECT {key} FROM {table} ORDER BY ctid")
        assert found == sql(url, f"SELECT {key} FROM {table} ORDER BY {key}")
        assert found
    made = " UNION ".join(f"SELECT xmin::text FROM {table}" for table in GROWING)
    assert len(sql(url, made)) == 1
    assert stores[1].evidence(ID) == expected
    stores[1].close()


def test_views_are_few_stay_as_they_are_and_hold_queries_at_once(url):
    store = open_store(url)
    rows, expected = rows_of(store, 3000, np.random.default_rng(6))
    store.write([Upload(ID, rows[:-1])], "2026-01-01")
    with store.view() as view:
        store.write([Upload(ID, rows[-1:])], "2026-01-01")
        assert evidence_of(view, store.survey(view, ID), hold=0).people == len(rows) - 1
        pairs = [view.rows("SELECT output FROM counts ORDER BY output") for _ in range(2)]
        assert all(one == other for one, other in zip(*pairs, strict=True))
        next(view.rows("SELECT output FROM counts"))  # left unread
    with store.view() as view:
        assert evidence_of(view, store.survey(view, ID), hold=0).people == len(rows)
    together = threading.Barrier(MOST_READERS)
    counted = []

    def look(_):
        with store.view() as view:
            together.wait(30)
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            counted.extend(view.rows(query))

    threads = [threading.Thread(target=look, args=(n,)) for n in range(3 * MOST_READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(counted) == {(MOST_READERS + 1,)}
    assert store.evidence(ID) == expected
    store.close()


def test_who_holds_the_turn_too_long_is_not_waited_for(url):
    import psycopg  # noqa: PLC0415

    store = open_store(url)
    rows, _ = rows_of(store, 2, np.random.default_rng(1))
    assert list(store._database.rows("SHOW lock_timeout")) == [("10s",)]
    assert list(store._database.rows("SHOW idle_in_transaction_session_timeout")) == [("1min",)]
    store._database._connection.execute("SET lock_timeout TO '50ms'")
    other = open_store(url)
    with other.changing(), pytest.raises(StoreBusyError, match="held by another"):
        store.write([Upload(ID, rows)], "2026-01-01")
    assert store.write([Upload(ID, rows)], "2026-01-01") == [Stored(len(rows), 0)]
    with psycopg.connect(url) as reader:
        reader.execute("SELECT * FROM days")
        other.close()
        with pytest.raises(StoreBusyError, match="held by another"):
            store.tidy()
    store.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE counts SET people = people + 1", r"damaged in what .* people by day"),
        ("DELETE FROM pages", r"damaged in what .*0 reports of 4 people by day"),
        ("UPDATE days SET people = -1", r"damaged in what .*count -1"),
        ("DELETE FROM mechanisms", "not what its id says"),
        ("DROP TABLE counts; CREATE VIEW counts AS SELECT 1 AS mechanism", "no table counts, or a"),
        ("DROP TABLE days", "no table days"),
    ],
)
def test_a_database_that_contradicts_itself_is_refused(url, statement, words):
    store = open_store(url)
    rows, _ = rows_of(store, 4, np.random.default_rng(1))
    store.write([Upload(ID, rows)], "2026-01-01")
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack).people == len(rows)
    store._database._connection.execute(statement)
    store.close()
    with pytest.raises(StoreError, match=words), ExitStack() as stack:
        read_store(url, SURVEY, stack)


def test_conflicts_closed_surveys_and_newer_stores(url):
    store = open_store(url)
    rows, _ = rows_of(store, 4, np.random.default_rng(1))
    assert store.write([Upload(ID, rows[:9])], "2026-01-01") == [Stored(9, 0)]
    other = (rows[0][0], b"something else", rows[0][2])
    conflict, known, fine = store.write(
        [Upload(ID, [rows[0], other]), Upload(ID, [other]), Upload(ID, rows[8:10])], "2026-01-02"
    )
    assert conflict.status == 422
    assert known == Stored(0, 1)
    assert fine == Stored(1, 1)
    store.close_survey(ID, "2026-01-02")
    late, again = store.write([Upload(ID, rows[10:]), Upload(ID, rows[:2])], "2026-01-03")
    assert (late.status, again) == (410, Stored(0, 2))
    assert store.evidence(ID).people == 10
    words = f"not in the store postgresql://.*: it has {ID} .10 people"
    with pytest.raises(StoreError, match=words), ExitStack() as stack:
        read_store(url, SHY, stack)
    store.add(SHY)
    words = f"no people yet in the store .*: it has {ID} .10 people., {SHY.id} .0 people"
    with pytest.raises(StoreError, match=words), ExitStack() as stack:
        read_store(url, SHY, stack)
    with store.changing():
        store._database.run("UPDATE facts SET fact = ? WHERE name = 'version'", [(b"9",)])
    store.close()
    with pytest.raises(StoreError, match="version 9") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


AGED = """
CREATE TABLE before (id TEXT PRIMARY KEY, spec TEXT NOT NULL, closed TEXT);
INSERT INTO before SELECT id, law, closed_on FROM surveys;
DROP TABLE surveys;
DROP TABLE aliases;
ALTER TABLE before RENAME TO surveys;
ALTER TABLE mechanisms DROP COLUMN period;
UPDATE facts SET fact = '3' WHERE name = 'version'
"""
"""Makes a store what one of version 3 was."""
OLDER = """
DROP TABLE log;
DROP TABLE releases;
ALTER TABLE reports ADD COLUMN mark BIGINT NOT NULL DEFAULT 7;
UPDATE runs SET content = content || decode(repeat('00', length(content) / 2), 'hex');
UPDATE settled SET content = content || decode(repeat('00', length(content) / 2), 'hex');
UPDATE facts SET fact = '2' WHERE name = 'version'
"""
"""Makes a store what one of version 2 was."""


@pytest.mark.parametrize("version", [2, 3])
@small_places()
def test_an_old_store_is_made_anew_in_one_transaction(url, version):
    store = open_store(url)
    rows, expected = rows_of(store, 20, np.random.default_rng(2))
    for size in (50, 5, 5):
        store.write([Upload(ID, rows[:size])], "2026-01-01")
        rows = rows[size:] or rows
    with store.view() as view:
        keys = sorted(stored_ids(view))
    store.close()
    sql(url, AGED)
    if version == 2:
        sql(url, OLDER)
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected
    sql(url, "ALTER TABLE settled RENAME TO gone")
    with pytest.raises(StoreError, match="no table settled"):
        open_store(url)
    sql(url, "ALTER TABLE gone RENAME TO settled")
    copy = f"freewill_version_{version}"
    sql(url, f"CREATE SCHEMA {copy}")
    with pytest.raises(StoreError, match=f"{copy} with a copy of before"):
        open_store(url)
    sql(url, f"DROP SCHEMA {copy}")
    store = open_store(url)
    assert f"was of version {version}, and is of 4 now" in store.renewal
    assert copy in store.renewal
    store.add(SURVEY)
    with store.view() as view:
        assert sorted(stored_ids(view)) == keys
    assert store.write([Upload(ID, rows)], "2026-01-02") == [Stored(0, len(rows))]
    store.tidy()
    assert store.evidence(ID) == expected
    store.close()
    # The way back: the copy takes the place of the tables.
    sql(url, f"ALTER SCHEMA public RENAME TO newer; ALTER SCHEMA {copy} RENAME TO public")
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected
    open_store(url).close()
    with ExitStack() as stack:
        assert read_store(url, SURVEY, stack) == expected


WRONG = [
    "postgresql://me:secret@[::1/people",
    "postgresql://me:p%zzsecret@host/people",
    "postgresql://me:p@secret@host/people",
    "postgresql://me:secret@host/people?nothing=secret",
    "postgresql://me:secret@host:port/people",
]


@pytest.mark.parametrize("address", WRONG)
def test_wrong_addresses_are_told_without_the_password(address, tmp_path):
    with pytest.raises((ParameterError, StoreBusyError)) as told:
        open_store(address)
    assert "secret" not in str(told.value)
    SURVEY.save(tmp_path / "survey.json")
    out = ("-s", tmp_path / "survey.json", "-o", tmp_path / "evidence.parquet")
    assert "secret" not in refused("collect", address, *out)
    assert "secret" not in refused("collect", address, "more.csv", *out)


def test_what_cannot_be_reached_says_so_without_the_password():
    with pytest.raises(StoreBusyError, match="cannot be reached") as told:
        open_store("postgresql://me:secret@127.0.0.1:1/people")
    assert "secret" not in str(told.value)
    assert shown_url("postgres://a:b@c:5/d") == "postgresql://c/d"


def test_a_database_of_somebody_else_is_left_alone(url):
    with pytest.raises(StoreError, match="no store yet"), ExitStack() as stack:
        read_store(url, SURVEY, stack)
    sql(url, "CREATE TABLE facts (name TEXT, fact BYTEA)")
    with pytest.raises(StoreError, match="none of ours"):
        open_store(url)
    assert sql(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(1,)]
