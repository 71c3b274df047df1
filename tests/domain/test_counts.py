"""Counts: whole numbers of people that add up exactly, or an error; never a number gone wrong."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import freewill as fw
from freewill.core.types import MOST_PEOPLE, checked_counts, people_in
from freewill.errors import EvidenceError
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.io.reading import SurveyCounting
from freewill.stats.groups import Block, together

LINE, WIDE = fw.Linear(0, 9), fw.Linear(0, 29)
KRR, BITS = fw.KRR(LINE, 1.0), fw.RAPPOR(WIDE, 1.0)
ROWS = np.arange(8, dtype=np.uint8).reshape(2, 4) % 4
PARTS = {"counted": (KRR, [3, 4]), "kept": (BITS, ROWS)}
NUMBERS = st.one_of(
    st.integers(-(2**80), 2**80),
    st.integers(0, 100),
    st.sampled_from([0, 1, 2**31, 2**32, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63, 2**64]),
    st.floats(),
    st.floats(0, 100).map(round),
)


def whole(number: float) -> bool:
    """Say, one number at a time, whether it is a count."""
    return number == number and 0 <= number <= MOST_PEOPLE and int(number) == number  # noqa: PLR0124


@given(st.lists(NUMBERS, min_size=1, max_size=4))
def test_counts_are_exact_or_refused(numbers: list) -> None:
    # What NumPy makes of the list is what is judged: [2**53 + 1, 0.5] are two floats.
    given_numbers = np.asarray(numbers).tolist()
    if all(map(whole, given_numbers)):
        assert checked_counts(numbers, "k").tolist() == [int(number) for number in given_numbers]
    else:
        with pytest.raises(EvidenceError, match="expected whole numbers"):
            checked_counts(numbers, "k")


@pytest.mark.parametrize(
    "counts",
    [["1", "2"], [b"1", b"2"], [True, False], [None, 1], [1j, 2], [[1], [2, 3]], [{}, 1], "12"],
    ids=str,
)
@pytest.mark.parametrize("kind", PARTS)
def test_what_is_no_number_is_no_count(counts: object, kind: str) -> None:
    with pytest.raises(EvidenceError, match=r"counts of (k-rr|rappor)"):
        fw.collect([(*PARTS[kind], counts)])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_sums_are_those_of_python(numbers: list[int]) -> None:
    assert people_in(np.array(numbers, dtype=np.int64)) == sum(numbers)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(
    "counts",
    [
        [2**62, 2**62],
        [2**63, 1],
        [1e19, 1],
        [np.inf, 1],
        [-1, 1],
        [0.5, 1],
        [2**70, 1],
        [np.nan, 1],
    ],
    ids=str,
)
def test_no_count_vanishes_or_wraps_around(kind: str, counts: list) -> None:
    with pytest.raises(EvidenceError, match=r"count .* at place 0"):
        fw.collect([(*PARTS[kind], counts)])


@pytest.mark.parametrize("kind", PARTS)
def test_sums_beyond_the_limit_are_refused_wherever_they_are_made(kind: str) -> None:
    part = PARTS[kind]
    most = fw.collect([(*part, [MOST_PEOPLE - 1, 1])])
    assert most.people == MOST_PEOPLE
    one = fw.collect([(*part, [1, 0])])
    for add in (lambda: most + one, lambda: fw.merge([most] * 1025), lambda: one + most):
        with pytest.raises(EvidenceError, match=r"people in the .*expected at most 2"):
            add()
    with pytest.raises(EvidenceError, match="people in the"):
        fw.collect([(*part, [MOST_PEOPLE, 0]), (*part, [1, 0])])
    with pytest.raises(EvidenceError, match="people in the"):
        fw.collect([(*part, [MOST_PEOPLE, MOST_PEOPLE])])


def test_mechanisms_together_stay_within_the_limit() -> None:
    other = fw.KRR(LINE, 2.0)
    with pytest.raises(EvidenceError, match="in the evidence: expected at most"):
        fw.collect([(KRR, [1], [MOST_PEOPLE]), (other, [1], [1])])
    full = fw.collect([(KRR, [1], [MOST_PEOPLE])])
    with pytest.raises(EvidenceError, match="in the evidence: expected at most"):
        full + fw.collect([(other, [1])])


def test_blocks_put_together_keep_every_digit() -> None:
    large = np.array([MOST_PEOPLE - 1, 3])
    block = together([Block("k", ROWS, large), Block("k", ROWS)])
    assert block.counts is not None
    assert block.counts.tolist() == [MOST_PEOPLE - 1, 3, 1, 1]


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(
    "counts", [[2**62, 2**62], [2**63 - 1, 1], [MOST_PEOPLE, 1], [-(2**62), 1]]
)
def test_files_of_evidence_with_counts_that_cannot_be(
    tmp_path: Path, kind: str, counts: list[int]
) -> None:
    path = tmp_path / "e.parquet"
    save_evidence(fw.collect([(*PARTS[kind], [2, 1])]), path)
    table = parquet.read_table(path)
    place = table.column_names.index("count")
    parquet.write_table(table.set_column(place, "count", pa.array(counts, pa.int64())), path)
    for hold in (0, 1 << 30):
        with pytest.raises(EvidenceError, match=r"damaged|people in the"):
            load_evidence(path, hold=hold)


def test_batches_of_counted_rows_do_not_wrap_around() -> None:
    tally = SurveyCounting(fw.Survey(LINE, {"k": KRR}), 0)
    batch = pa.record_batch(
        {"mechanism": ["k"], "report": pa.array([3]), "count": pa.array([2**52])}
    )
    tally.add(batch)
    tally.add(batch)
    with pytest.raises(EvidenceError, match="people in the counts of one mechanism"):
        tally.add(batch)
