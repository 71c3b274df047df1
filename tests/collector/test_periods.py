"""Periods: which days are counted together, where one begins, and that none is lost by it."""

import sqlite3
from contextlib import closing
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.collector import surveys as periods
from freewill.collector.database import StoreError
from freewill.collector.store import open_store
from freewill.collector.surveys import Stored, Upload, border_of, evidence_of, people_of, to_bytes
from freewill.errors import EvidenceError
from freewill.io.evidence_file import load_evidence, save_evidence
from service_cases import ID, SURVEY


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(periods, "FEWEST", 6)
    made = open_store(str(tmp_path / "store.db"))
    yield made
    made.close()


def rows_of(store, many, rng):
    """Return rows of so many people of each mechanism."""
    numbers, rows = store.add(SURVEY), []
    for mechanism in SURVEY.mechanisms.values():
        outputs = mechanism.obfuscate(rng.integers(100, size=many), rng)
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    return rows


def answered(store, history, seed=0):
    """Let so many people of each mechanism answer on each day; return the rows by day."""
    rng = np.random.default_rng(seed)
    by_day = {}
    for day, many in history.items():
        by_day[day] = rows_of(store, many, rng)
        store.write([Upload(ID, by_day[day])], day)
    return by_day


def spans(store):
    """Return the periods of a store with how many people they have."""
    with store.view() as view:
        stored = store.survey(view, ID)
        return [(start, end, people_of(view, some)) for start, end, some in stored.spans]


def test_a_week_with_enough_people_ends_on_sunday(store):
    answered(store, {"2026-11-04": 2, "2026-11-08": 1, "2026-11-09": 1, "2026-11-15": 3})
    assert spans(store) == [("2026-11-02", "2026-11-09", 9), ("2026-11-09", None, 12)]


def test_a_week_of_few_goes_on_and_on_each_day_of_the_next(store):
    """Also when there are enough by Tuesday: then Monday's reports lie in the week before."""
    answered(store, {"2026-11-08": 1, "2026-11-09": 2, "2026-11-10": 5, "2026-11-16": 1})
    assert spans(store) == [("2026-11-02", "2026-11-16", 24), ("2026-11-16", None, 3)]


def test_a_server_whose_clock_is_behind_counts_in_the_period_of_its_day(store, tmp_path):
    answered(store, {"2026-11-08": 2, "2026-11-09": 1})
    answered(store, {"2026-11-08": 3}, seed=1)
    assert spans(store) == [("2026-11-02", "2026-11-09", 15), ("2026-11-09", None, 3)]


def test_a_clock_that_was_ahead_holds_up_no_week_after_it(store):
    answered(store, {"2026-11-04": 3, "2036-11-05": 1, "2026-11-10": 2, "2026-11-17": 1})
    assert spans(store) == [
        ("2026-11-02", "2026-11-09", 9),
        ("2026-11-09", "2026-11-16", 6),
        ("2026-11-16", "2036-11-03", 3),
        ("2036-11-03", None, 3),
    ]


def test_a_first_period_that_begins_too_late_is_begun_earlier(store):
    answered(store, {"2036-11-05": 1, "2026-11-04": 2, "2026-11-10": 2})
    assert spans(store) == [("2026-11-02", "2026-11-09", 9), ("2026-11-09", None, 6)]


def test_what_a_period_has_is_what_came_in_it(store):
    by_day = answered(store, {"2026-11-04": 3, "2026-11-09": 4, "2026-11-17": 2})
    with store.view() as view:
        stored = store.survey(view, ID)
        for rows, (_, _, some) in zip(by_day.values(), stored.spans, strict=True):
            found = evidence_of(view, some)
            assert found.people == len(rows)
            (group,) = found.only("bits").groups
            reports = np.concatenate([outputs for outputs, _ in group.blocks()])
            # The last mechanism of the survey, a third of its people.
            assert sorted(to_bytes(reports)) == sorted(row[1] for row in rows[-len(rows) // 3 :])
        assert evidence_of(view, stored) == store.evidence(ID)
    assert store.evidence(ID).people == 27


def test_a_report_that_is_sent_again_in_the_next_period_counts_once(store):
    by_day = answered(store, {"2026-11-04": 3})
    again = by_day["2026-11-04"]
    assert store.write([Upload(ID, again)], "2026-11-12") == [Stored(0, 9)]
    assert spans(store) == [("2026-11-02", None, 9)]


def test_a_period_that_was_not_kept_is_begun_again(store, monkeypatch):
    answered(store, {"2026-11-04": 3})
    rows = rows_of(store, 1, np.random.default_rng(5))
    monkeypatch.setattr(store, "_add", _failing)
    with pytest.raises(StoreError, match="full"):
        store.write([Upload(ID, rows)], "2026-11-09")
    monkeypatch.undo()
    monkeypatch.setattr(periods, "FEWEST", 6)
    store.write([Upload(ID, rows)], "2026-11-09")
    assert spans(store) == [("2026-11-02", "2026-11-09", 9), ("2026-11-09", None, 3)]


def _failing(*_):
    raise OSError("full")


def test_two_servers_of_one_store_begin_one_period(store, tmp_path):
    other = open_store(str(tmp_path / "store.db"))
    answered(store, {"2026-11-04": 3, "2026-11-09": 1})
    answered(other, {"2026-11-09": 1, "2026-11-16": 2}, seed=1)
    answered(store, {"2026-11-16": 1}, seed=2)
    assert spans(store) == [
        ("2026-11-02", "2026-11-09", 9),
        ("2026-11-09", "2026-11-16", 6),
        ("2026-11-16", None, 9),
    ]
    other.close()


def test_tidying_mixes_each_period_by_itself(store, tmp_path):
    answered(store, {"2026-11-04": 4, "2026-11-09": 5})
    before = store.evidence(ID)
    store.tidy()
    assert store.evidence(ID) == before
    assert [many for _, _, many in spans(store)] == [12, 15]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("SELECT count(DISTINCT mechanism) FROM pages").fetchone() == (2,)


days = st.integers(0, 400).map(lambda n: (date(2026, 1, 1) + timedelta(days=n)).isoformat())


@given(days, st.sampled_from(["day", "week", "month"]))
def test_borders_are_where_calendars_have_them(day, every):
    border = date.fromisoformat(border_of(every, day))
    assert border <= date.fromisoformat(day)
    assert {"day": True, "week": border.weekday() == 0, "month": border.day == 1}[every]
    assert border_of(every, border.isoformat()) == border.isoformat()
    steps = (date.fromisoformat(day) - border).days
    assert steps <= {"day": 0, "week": 6, "month": 30}[every]


def test_what_was_taken_before_is_known_in_what_the_period_has_grown_to(store, tmp_path):
    """Nothing in the counts shows it; compared, they would seem to differ half as much."""
    answered(store, {"2026-11-04": 200})
    before = store.evidence(ID)
    answered(store, {"2026-11-05": 200}, seed=1)
    after = store.evidence(ID)
    assert before.periods[0].evidence != after.periods[0].evidence
    for one, other in [(before, after), (before.only("bits"), after.only("bits"))]:
        with pytest.raises(EvidenceError, match="people in common"):
            fw.compare(one, other)
    answered(store, {"2026-11-12": 200}, seed=2)
    weeks = store.evidence(ID)
    first, second = weeks.between(last="2026-11-08"), weeks.between("2026-11-09")
    fw.compare(first, second)
    with pytest.raises(EvidenceError, match="people in common"):
        fw.compare(before, first)
    save_evidence(before, tmp_path / "before.parquet")
    with pytest.raises(EvidenceError, match="people in common"):
        fw.compare(load_evidence(tmp_path / "before.parquet"), first)


def test_a_store_with_more_periods_than_any_is_refused(store, monkeypatch):
    answered(store, {"2026-11-04": 3, "2026-11-10": 3, "2026-11-17": 3})
    monkeypatch.setattr(periods, "_MOST", 2)
    with pytest.raises(StoreError, match="more than 2 periods"):
        store.evidence(ID)
