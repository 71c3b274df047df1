"""Rows that are left out: each is counted under its reason, as often as it stood there."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import freewill as fw
from freewill.domain.outputs import Reason
from freewill.io.decoding import DecodedBlocks, Decoder, Invalid, Refusals
from freewill.io.reading import SurveyCounting, read
from report_cases import (
    BAD,
    GOOD,
    REASONS,
    as_text,
    drawn,
    expected,
    faulty_table,
    good_evidence,
    menu_survey,
    wide_survey,
)

MENU, WIDE = menu_survey(), wide_survey()
SYMBOLS = {"1": 1, "green": 1, "2.0": 2, "3": 3, "grey": 4}


def batch_of(rows, counts=None):
    """Return a batch of (mechanism, report) rows, with a column of counts if there are any."""
    names, reports = ([row[part] for row in rows] for part in (0, 1))
    columns = {"mechanism": pa.array(names, pa.string()), "report": pa.array(reports, pa.string())}
    if counts is not None:
        columns["count"] = pa.array(counts, pa.int64())
    return pa.record_batch(columns)


def tallied(batches, survey=MENU):
    """Return the counts by mechanism and output, and the refused rows by reason."""
    tally = SurveyCounting(survey, 0)
    for batch in batches:
        tally.add(batch)
    groups = [group for group in tally.evidence()[0].groups if group.people]
    counts = {
        (group.name, str(output)): int(count)
        for group in groups
        for output, count in zip(group.outputs, group.counts, strict=True)
    }
    return counts, {part.reason: part.count for part in tally.refusals.invalid()}


def naive(counts):
    """Count the rows of GOOD and BAD one by one."""
    good, bad = Counter(), Counter()
    for (name, report, _), count in zip(GOOD, counts[: len(GOOD)], strict=True):
        output = f"[{int(report, 16)}]" if name == "bits" else str(SYMBOLS[report])
        good[name, output] += count
    for (*_, reason), count in zip(BAD, counts[len(GOOD) :], strict=True):
        bad[str(reason)] += count
    return good, bad


@pytest.mark.parametrize("seed", range(4))
def test_counts_stay_beside_their_rows_where_others_are_invalid(seed):
    rng = np.random.default_rng(seed)
    rows = [*GOOD, *BAD]
    counts = [int(count) for count in rng.integers(1, 1000, len(rows))]
    good, bad = naive(counts)
    order = rng.permutation(len(rows)) if seed else np.arange(len(rows))
    cut = rng.integers(len(rows))
    parts = [order[:cut], order[cut:]]
    batches = [batch_of([rows[n] for n in some], [counts[n] for n in some]) for some in parts]
    assert tallied(batches) == (good, bad)
    assert tallied([batch_of([rows[n] for n in order])]) == naive([1] * len(rows))


@pytest.mark.parametrize("name", ["k", "bits", "true"])
def test_a_batch_of_one_mechanism_keeps_its_counts(name):
    rows = [row for row in [*GOOD, *BAD] if row[0] == name]
    counts = [n + 2 if row[0] == name else 0 for n, row in enumerate([*GOOD, *BAD])]
    good, bad = naive(counts)
    assert tallied([batch_of(rows, [count for count in counts if count])]) == (+good, +bad)


def test_a_decoder_reads_its_own_mechanisms_by_name_and_by_id():
    narrow, wide = (Decoder.of(WIDE, repeats=repeats) for repeats in (True, False))
    for decoder, names in ((narrow, ["geo"]), (wide, ["bits", "sharp"])):
        ids = [WIDE.find(name).id for name in names]
        assert sorted(decoder.mechanisms) == sorted([*names, *ids])
        assert decoder.by_id == {key: WIDE.find(key) for key in ids}
    reports = dict(drawn(WIDE, 300))["bits"]
    rows = [("bits" if n % 2 else WIDE.find("bits").id, as_text(r)) for n, r in enumerate(reports)]
    blocks = DecodedBlocks(wide, [batch_of(rows[:40]), batch_of([]), batch_of(rows[40:])])
    (block,) = list(blocks)
    assert block.mechanism == WIDE.find("bits").id
    assert sorted(map(as_text, block.outputs)) == sorted(map(as_text, reports))
    assert blocks.refused() == []
    blocks = DecodedBlocks(wide, [batch_of([*rows, ("bits", None), ("geo", "1"), ("bits", "ff")])])
    assert sum(block.people for block in blocks) == 100
    assert [(reason, count) for (reason, _), count, _ in blocks.refused()] == [
        (Reason.NO_REPORT, 1),
        (Reason.UNKNOWN_MECHANISM, 1),
        (Reason.WRONG_LENGTH, 1),
    ]


def test_faults_are_counted_and_of_a_duplicate_id_one_row_stays():
    reading = read(faulty_table(), MENU)
    assert {part.reason: part.count for part in reading.invalid} == REASONS
    assert (reading.evidence, reading.duplicates) == (good_evidence(), 2)
    assert reading.refused == sum(REASONS.values())
    assert reading.rows == len(GOOD) + len(BAD)


@pytest.mark.parametrize("flip", [False, True])
def test_of_rows_of_an_id_that_differ_none_counts(flip):
    rows = [("k", "2", "a"), ("k", "1", "a"), ("true", "1", "a"), ("k", "0", "b"), ("k", None, "b")]
    rows += [("k", "0", "b"), ("k", "4", "c"), ("true", "4", "c")]
    rows = rows[::-1] if flip else rows
    names = ["mechanism", "report", "report_id"]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    reading = read(pa.Table.from_arrays(columns, names=names), MENU)
    assert reading.evidence == fw.collect([(MENU.find("k"), [0])])
    assert (reading.rows, reading.duplicates, reading.refused) == (8, 1, 6)
    none, differ = reading.invalid
    assert (none.reason, none.count) == (Reason.NO_REPORT, 1)
    assert (differ.reason, differ.count) == (Reason.CONFLICT, 5)
    assert differ.examples == (
        "report_id 'a', 3 rows: mechanism 'k' or 'true', report '1' or '2'",
        "report_id 'c', 2 rows: mechanism 'k' or 'true', report '4'",
    )


def test_impossible_reports_are_left_out_with_their_counts():
    rows = [("third", "2"), ("third", "0"), ("third", "1"), ("third", "2")]
    counts, refused = tallied([batch_of(rows, [5, 6, 7, 8])])
    assert counts == {("third", "0"): 6, ("third", "1"): 7}
    assert refused == {"report of probability 0": 13}
    tally = SurveyCounting(MENU, 0)
    tally.add(batch_of(rows))
    assert [group.people for group in tally.evidence()[0].groups] == [2]
    assert str(tally.refusals.invalid()[0]) == (
        "2 rows: report of probability 0 (mechanism 'third', report 2, ...)"
    )


def noted(reason, rows, counts=None):
    """Return what refusing (mechanism, report) rows tells."""
    refusals = Refusals()
    names = pa.array([name for name, _ in rows], pa.string())
    reports = pa.array([report for _, report in rows])
    refusals.add(reason, names, reports, counts, np.ones(len(rows), dtype=bool))
    return refusals


def test_examples_are_the_smallest_few_whatever_the_batches():
    reports = np.random.default_rng(0).permutation(40)
    refusals = Refusals()
    for some in np.split(reports, [7, 11, 30]):
        refusals.merge(noted(Reason.OUT_OF_RANGE, [("k", int(n)) for n in some]).parts())
        refusals.merge(noted(Reason.OUT_OF_RANGE, [("k", int(n)) for n in some]).parts())
    (told,) = refusals.invalid()
    assert (told.reason, told.count) == ("report out of range", 80)
    assert told.examples == tuple(f"mechanism 'k', report {n}" for n in range(5))
    assert str(told).endswith("report 3; mechanism 'k', report 4, ...)")


def test_a_row_without_a_report_comes_before_those_with_one():
    rows = [("x", 2), ("x", 1), ("x", None)]
    (told,) = noted(Reason.UNKNOWN_MECHANISM, rows).invalid()
    assert told.examples == tuple(f"mechanism 'x', report {n}" for n in (None, 1, 2))


def test_mechanisms_come_before_reports_in_the_order_of_examples():
    rows = [("b", 1), ("a", 10), ("a", 9), (None, 30), ("b", 1)]
    (told,) = noted(Reason.OUT_OF_RANGE, rows).invalid()
    assert told.examples == (
        "mechanism None, report 30",
        "mechanism 'a', report 9",
        "mechanism 'a', report 10",
        "mechanism 'b', report 1",
    )
    assert told.count == 5
    assert str(Invalid("why", 1000, ("x",))) == "1,000 rows: why (x, ...)"
    assert str(Invalid("why", 1, ("x",))) == "1 row: why (x)"


def test_refused_rows_are_told_in_the_order_of_the_reasons():
    refusals = Refusals()
    for reason in (Reason.STRAY_BITS, Reason.NO_REPORT, Reason.AMBIGUOUS):
        rows = np.array([False, True, True])
        refusals.add(reason, "k", pa.array(["x", "y", "z"]), np.array([100, 10, 1]), rows)
        refusals.add(reason, "k", pa.array(["x", "y", "z"]), None, rows)
    told = refusals.invalid()
    assert [part.reason for part in told] == [
        str(reason) for reason in (Reason.NO_REPORT, Reason.AMBIGUOUS, Reason.STRAY_BITS)
    ]
    assert {part.count for part in told} == {13}
    assert told[0].examples == ("mechanism 'k', report 'y'", "mechanism 'k', report 'z'")


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        (b"ab", "'ab'"),
        (b"a\nb", "610a62"),
        (b"a\xe9", "61e9"),
        (b"\x00\xff", "00ff"),
        ("x" * 58, repr("x" * 58)),
        ("x" * 59, "'" + "x" * 56 + "..."),
        (b"\xff" * 30, "ff" * 30),
        (b"\xff" * 31, "f" * 57 + "..."),
        (None, "None"),
        (-5, "-5"),
    ],
)
def test_a_row_is_shown_in_a_few_letters(report, shown):
    (told,) = noted(Reason.NO_BITS, [("k", report)]).invalid()
    assert told.examples == (f"mechanism 'k', report {shown}",)


def test_names_and_counts_travel_with_the_groups():
    parts = drawn(MENU, 400)
    tally = SurveyCounting(MENU, 0)
    tally.add(batch_of([(name, as_text(report)) for name, some in parts for report in some]))
    groups = {group.name: group for group in tally.evidence()[0].groups}
    assert set(groups) == {"k", "true", "bits", "third"}
    mine = {group.mechanism.id: group for group in expected(MENU, parts).groups}
    assert all(group == mine[group.mechanism.id] for group in groups.values())
