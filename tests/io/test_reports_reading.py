"""One call from reports to evidence: what it counts, where it leaves them, what it shows."""

import threading
import time
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import freewill as fw
from freewill.io import reading
from freewill.io.engines.base import TableSource
from freewill.io.reading import InvalidReports, read, read_reports
from report_cases import as_text, drawn, expected, menu_survey, table_of, wide_survey

WIDE, MENU = wide_survey(), menu_survey()
PARTS = drawn(WIDE, 300)


def test_a_reading_says_what_it_read():
    rows = [("k", "1")] * 1200 + [("k", "9"), ("x", "1"), ("x", "1")]
    columns = {"mechanism": [row[0] for row in rows], "report": [row[1] for row in rows]}
    found = read(pa.table(columns), MENU)
    assert (found.rows, found.duplicates, found.refused) == (1203, 0, 3)
    lines = str(found).splitlines()
    assert lines[:4] == [
        "1,203 rows, 0 duplicates, 3 invalid",
        "  2 rows: unknown mechanism (mechanism 'x', report '1', ...)",
        "  1 row: report out of range (mechanism 'k', report '9')",
        "1,200 people, 1 mechanism, alphabet " + str(MENU.alphabet),
    ]
    assert found.evidence.groups[0].name == "k"
    ids = [str(n // 2) for n in range(len(rows))]
    half = read(pa.table({**columns, "report_id": ids}), MENU)
    assert half.rows == 1203
    assert half.duplicates == half.rows - half.evidence.people - half.refused
    # Each pair of rows has one id: 600 of the same, one that differ and a single one.
    assert (half.evidence.people, half.refused) == (600, 3)


def test_strict_and_warnings_name_the_source(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("mechanism,report\nk,1\nk,9\n")
    words = "1 of 2 rows of .*r.csv is invalid: 1 row: report out of range"
    with pytest.raises(fw.ReportError, match=words):
        read(path, MENU, strict=True)
    with pytest.raises(fw.ReportError, match=words):
        read_reports(str(path), MENU, strict=True)
    for source in (path, str(path)):
        with pytest.warns(InvalidReports, match=words) as caught:
            assert read_reports(source, MENU).people == 1
        assert caught[0].filename == __file__
    with pytest.warns(InvalidReports, match="1 of 2 rows of the reports is invalid"):
        read_reports([path], MENU)
    path.write_text("mechanism,report\nk,1\n")
    assert read_reports(path, MENU, strict=True).people == 1


def test_a_survey_may_be_a_file(tmp_path):
    MENU.save(tmp_path / "s.json")
    table = pa.table({"mechanism": ["k"], "report": [1]})
    assert read_reports(table, tmp_path / "s.json") == fw.collect([(MENU.find("k"), [1])])
    assert read_reports(table, str(tmp_path / "s.json")).people == 1


def test_wide_reports_are_brought_here_up_to_so_many_bytes():
    table = table_of(PARTS, "bytes")
    # 200 reports of 30 bits, 4 bytes each.
    assert read_reports(table, WIDE, hold=800).held
    left = read_reports(table, WIDE, hold=799)
    assert not left.held
    assert left == read_reports(table, WIDE, hold=800) == expected(WIDE, PARTS)
    assert {group.name: (group.people, group.rows) for group in left.groups if group.streams} == {
        "bits": (100, 100),
        "sharp": (100, 100),
    }
    (source,) = {id(s.source): s.source for g in left.groups for s in g.streams}.values()
    assert source.table is None
    here = read_reports(table, WIDE)
    assert sorted(map(as_text, here.only("bits").groups[0].outputs)) == sorted(
        map(as_text, dict(PARTS)["bits"])
    )


def test_what_is_brought_here_is_let_go_there(monkeypatch):
    closed = []
    monkeypatch.setattr(TableSource, "close", lambda source: closed.append(source.what))
    left = read_reports(table_of(PARTS, "bytes"), WIDE, hold=0)
    assert (left.held, closed) == (False, [])
    assert read_reports(table_of(PARTS, "bytes"), WIDE).held
    assert len(closed) == 1


def test_bits_of_few_patterns_are_counted_beside_the_symbols():
    parts = drawn(MENU, 400)
    assert read_reports(table_of(parts, "text"), MENU) == expected(MENU, parts)
    only = [part for part in parts if part[0] == "bits"]
    assert read_reports(table_of(only, "bytes"), MENU) == expected(MENU, only)
    wide = [part for part in PARTS if part[0] != "geo"]
    assert read_reports(table_of(wide, "bytes"), WIDE) == expected(WIDE, wide)


class Slow:
    """An engine's session that says how far it got."""

    def __init__(self):
        self.stopped = threading.Event()

    def progress(self):
        return 1.5

    def interrupt(self):
        self.stopped.set()


class Watched:
    """A table that is watched."""

    def __init__(self):
        self.session = Slow()


def test_work_that_is_watched_returns_what_it_found():
    shares, table = [], Watched()
    threads = []

    def work():
        threads.append(threading.current_thread())
        time.sleep(0.25)
        while len(threads) > 1 and not shares:  # on a busy machine, nobody has looked yet
            time.sleep(0.01)
        return 7

    assert reading._watched(table, [work], None) == [7]
    assert threads == [threading.main_thread()]
    assert reading._watched(table, [work], shares.append) == [7]
    assert threads[1] is not threading.main_thread()
    assert set(shares) == {1.0}
    assert 1 <= len(shares) <= 20
    with pytest.raises(ZeroDivisionError):
        reading._watched(table, [lambda: 1 / 0], shares.append)
    assert not table.session.stopped.is_set()


def test_an_interrupt_stops_the_engine_too():
    table = Watched()

    def interrupted(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reading._watched(table, [lambda: table.session.stopped.wait(5)], interrupted)
    assert table.session.stopped.is_set()


def test_parts_of_the_work_are_shares_of_the_whole(monkeypatch):
    shares, table = [], Watched()
    running = cycle([True, True, True, False])
    monkeypatch.setattr(
        reading, "wait", lambda works, timeout: SimpleNamespace(not_done=next(running))
    )
    monkeypatch.setattr(table.session, "progress", cycle([0.0, 0.5, 2.0]).__next__)
    assert reading._watched(table, [lambda: 7] * 4, shares.append) == [7] * 4
    assert shares == [0, 0.125, 0.25, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.75, 0.875, 1.0]


@pytest.mark.parametrize(
    ("survey", "numbered", "steps"),
    [(MENU, False, 2), (MENU, True, 5), (WIDE, False, 2), (WIDE, True, 4)],
)
def test_every_step_of_a_reading_is_shown(survey, numbered, steps, monkeypatch):
    """Symbols are one step, few bits another, wide bits one; ids double those and add one."""
    asked, shown = [], []
    watched = reading._watched

    def counting(table, works, show):
        asked.append(len(works))
        return watched(table, works, show)

    monkeypatch.setattr(reading, "_watched", counting)
    parts = drawn(survey, 200)
    table = table_of(parts, "bytes")
    if numbered:
        table = table.append_column("report_id", pa.array(np.arange(len(table)).astype(str)))
    assert read(table, survey, show=shown.append).evidence == expected(survey, parts)
    assert asked == [steps]
    assert shown[-1] == 1.0


@pytest.mark.slow
def test_the_same_file_gives_the_same_digits_every_time(tmp_path):
    survey = wide_survey()
    fw.write_reports(tmp_path / "r.parquet", drawn(survey, 40_000))
    for hold in (0, 1 << 30):
        found = {
            fw.gibu(fw.read_reports(tmp_path / "r.parquet", survey, hold=hold)).theta.tobytes()
            for _ in range(4)
        }
        assert len(found) == 1
