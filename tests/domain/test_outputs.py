"""Output spaces against the plainest reading of a report: one row at a time, in Python."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.outputs import Bits, Decoded, Reason, Symbols

SIZES = [1, 2, 7, 8, 9, 12, 15, 16, 17, 20, 21, 64, 65]
NARROW = [size for size in SIZES if size <= 20]
MENU = Symbols(fw.Categorical(["red", "7", "2", "blue"]))
"""The label "2" is index 2 too; the label "7" is beyond all indices."""
STARS = Symbols(fw.Categorical(["1", "0", "x"]))


def naive_bits(space: Bits, report: int | str | bytes) -> list[int] | Reason:
    """Read one report of bits: its bytes, or why it has none."""
    if isinstance(report, int):
        return Reason.NO_BITS
    digits = isinstance(report, str)
    if len(report.encode() if digits else report) != (2 if digits else 1) * space.width:
        return Reason.WRONG_LENGTH
    if digits and not re.fullmatch("[0-9a-fA-F]*", report):
        return Reason.NO_BITS
    row = bytes.fromhex(report) if digits else report
    return Reason.STRAY_BITS if int.from_bytes(row, "little") >> space.size else list(row)


def naive_symbol(space: Symbols, report: int | str) -> int | Reason:
    """Read one report of a symbol: its index, or why it has none."""
    meant: set[int] = set()
    if isinstance(report, int):
        meant = {report}
    else:
        whole = re.fullmatch(r"(0|[1-9][0-9]{0,17})(\.0+)?", report)
        meant = {int(whole[1])} if whole else set()
        meant |= {n for n, label in enumerate(space.alphabet.labels) if label == report}
    if len(meant) != 1:
        return Reason.AMBIGUOUS if meant else Reason.NO_SYMBOL
    (found,) = meant
    return found if 0 <= found < space.size else Reason.OUT_OF_RANGE


def check(found: Decoded, naive: list) -> None:
    """Compare a decoded column with its rows read one by one."""
    assert found.good.tolist() == [not isinstance(row, Reason) for row in naive]
    assert found.outputs.tolist() == [row for row in naive if not isinstance(row, Reason)]
    reasons = {row for row in naive if isinstance(row, Reason)}
    assert {reason: rows.tolist() for reason, rows in found.bad.items()} == {
        reason: [row is reason for row in naive] for reason in reasons
    }


def patterns(size: int, count: int) -> np.ndarray:
    """Return random packed bits, with the first and the last pattern among them."""
    rng = np.random.default_rng(size)
    bits = rng.integers(2, size=(count, size), dtype=np.uint8)
    bits[0], bits[1] = 0, 1
    return np.packbits(bits, axis=1, bitorder="little")


def as_number(row: np.ndarray) -> int:
    return int.from_bytes(row.tobytes(), "little")


@pytest.mark.parametrize("size", SIZES)
def test_bits_take_as_few_bytes_as_hold_them(size):
    space = Bits(size)
    assert space.width == len(f"{(1 << size) - 1:x}".zfill(2)) + 1 >> 1
    assert space.last_byte == (1 << size) - 1 >> 8 * (space.width - 1)
    assert space.empty().shape == (0, space.width)
    assert space.empty().dtype == np.uint8
    assert space.repeats == (size <= 20)
    assert space.listable == (size <= 16)
    assert str(space) == ("1 bit" if size == 1 else f"{size} bits")


@pytest.mark.parametrize("size", NARROW)
def test_narrow_bits_are_numbers_and_back(size):
    space, packed = Bits(size), patterns(size, 300)
    numbers = space.numbers(packed)
    assert numbers.tolist() == [as_number(row) for row in packed]
    back = space._from_numbers(numbers)
    np.testing.assert_array_equal(back, packed)
    assert back.flags.c_contiguous
    assert back.dtype == np.uint8


@pytest.mark.parametrize("size", [1, 8, 9, 12])
def test_all_patterns_are_listed_once_in_order(size):
    assert [as_number(row) for row in Bits(size).all()] == list(range(2**size))


@pytest.mark.parametrize("size", [1, 8, 9, 17, 20])
@pytest.mark.parametrize("counted", [True, False])
def test_patterns_are_counted_as_often_as_told(size, counted):
    space, packed = Bits(size), patterns(size, 200)
    counts = np.arange(200) % 3 if counted else None
    naive: dict[int, int] = {}
    for place, row in enumerate(packed):
        naive[as_number(row)] = naive.get(as_number(row), 0) + (place % 3 if counted else 1)
    counter = space.counter()
    half = slice(0, 90), slice(90, 200)
    for some in half:
        counter.add(packed[some], None if counts is None else counts[some])
    outputs, found = counter.result()
    assert [as_number(row) for row in outputs] == sorted(n for n in naive if naive[n])
    assert found.tolist() == [naive[as_number(row)] for row in outputs]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        (np.zeros((3, 2), np.int64), "type int64 and shape"),
        (np.zeros(2, np.uint8), r"shape \(2,\)"),
        (np.zeros((2, 2, 1), np.uint8), r"shape \(2, 2, 1\)"),
        (np.zeros((3, 3), np.uint8), r"expected uint8, \(n, 2\): 12 bits"),
        (
            np.array([[255, 15], [0, 16], [0, 255]], np.uint8),
            "report 1 of r has bits beyond the 12",
        ),
    ],
)
def test_other_arrays_are_no_bits(reports, words):
    with pytest.raises(fw.AlphabetError, match=words):
        Bits(12).checked(reports, "r")
    good = np.array([[255, 15]], np.uint8)
    assert Bits(12).checked(good, "r") is good


BYTES = [b"\x01\x02", b"\xff\x0f", b"\xff\x10", b"", b"\x01", b"\x01\x02\x03", b"\x00\x00"]
TEXTS = ["0102", "fF0f", "ff10", "", "01", "010203", "0g00", "g000", "00:0", "zzff", "ff0é", "0000"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_bits_are_read_like_one_row_at_a_time(kind):
    reports = BYTES if kind in (pa.binary(), pa.large_binary()) else TEXTS
    space = Bits(12)
    for rows in (reports, reports[:2], reports[3:4], [], reports * 3):
        found = space.decode(pa.array(rows, kind))
        check(found, [naive_bits(space, row) for row in rows])
        assert found.outputs.shape[1:] == (2,)
    # A slice starts somewhere in the memory of the whole.
    check(space.decode(pa.array(reports, kind).slice(1, 1)), [naive_bits(space, reports[1])])
    check(
        space.decode(pa.array(reports, kind).slice(5)), [naive_bits(space, r) for r in reports[5:]]
    )


def test_numbers_are_no_bits():
    for rows in ([], [1, 2, 3]):
        check(Bits(12).decode(pa.array(rows, pa.int64())), [Reason.NO_BITS] * len(rows))


@pytest.mark.parametrize("size", SIZES)
def test_bits_travel_as_bytes_and_as_texts(size):
    space, packed = Bits(size), patterns(size, 40)
    assert space.encode(packed).to_pylist() == [row.tobytes() for row in packed]
    assert space.encode(packed).type == pa.binary()
    assert space.texts(packed).to_pylist() == [row.tobytes().hex() for row in packed]
    # Rows that do not lie side by side are written as they read.
    apart = packed[::-2]
    none = apart[:0]
    columns = [space.encode(apart), space.texts(apart), space.encode(none), space.texts(none)]
    for column in columns:
        np.testing.assert_array_equal(space.decode(column).outputs, apart[: len(column)])


INDICES = [
    "0",
    "3",
    "4",
    "3.0",
    "3.000",
    "2.0",
    "7",
    "7.0",
    "01",
    "00",
    "+1",
    "-1",
    "1.5",
    "1.",
    "",
]
LABELS = ["red", "blue", "green", "Red", " red", "2", "é", "9" * 18, "9" * 19, "1", "x"]


@pytest.mark.parametrize("space", [MENU, STARS])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_symbols_are_read_like_one_row_at_a_time(space, kind):
    texts = INDICES + LABELS
    for rows in (texts, ["0.0", "3"], []):
        column = pa.array([row.encode() for row in rows], pa.binary()).cast(kind)
        check(space.decode(column), [naive_symbol(space, row) for row in rows])


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint16()])
def test_integers_are_indices(kind):
    rows = [0, 3, 4, 100] + ([-1] if kind != pa.uint16() else [])
    for some in (rows, [3, 0], []):
        found = MENU.decode(pa.array(some, kind))
        check(found, [naive_symbol(MENU, row) for row in some])
        assert found.outputs.dtype == np.int64


@given(st.lists(st.sampled_from(INDICES + LABELS), max_size=12))
def test_any_column_of_symbols_is_read_row_by_row(rows):
    check(MENU.decode(pa.array(rows, pa.string())), [naive_symbol(MENU, row) for row in rows])


@given(st.lists(st.text("019afF g", max_size=6) | st.sampled_from(TEXTS), max_size=12))
def test_any_column_of_bits_is_read_row_by_row(rows):
    space = Bits(12)
    check(space.decode(pa.array(rows, pa.string())), [naive_bits(space, row) for row in rows])


def test_symbols_list_count_and_write_their_indices():
    assert (MENU.size, MENU.all().tolist(), MENU.empty().tolist()) == (4, [0, 1, 2, 3], [])
    assert MENU.empty().dtype == np.int64
    assert (MENU.listable, MENU.repeats, MENU.packed) == (True, True, False)
    assert (Bits(3).listable, Bits(3).repeats, Bits(3).packed) == (True, True, True)
    counter = MENU.counter()
    counter.add(np.array([3, 1, 3]), None)
    counter.add(np.array([1, 0, 3]), np.array([5, 0, 2]))
    outputs, counts = counter.result()
    assert (outputs.tolist(), counts.tolist()) == ([1, 3], [6, 4])
    assert MENU.encode(np.array([2, 0])).type == pa.int64()
    assert MENU.encode(np.array([2, 0])).to_pylist() == [2, 0]
    assert MENU.texts(np.array([2, 0])).to_pylist() == ["2", "0"]
    assert str(MENU) == f"values of {MENU.alphabet}"


def test_symbols_stand_on_one_axis():
    assert MENU.checked([0, 3], "m").tolist() == [0, 3]
    for wrong, words in (([4], "output of m"), ([-1], "output of m"), ([[1]], "expected one axis")):
        with pytest.raises(fw.AlphabetError, match=words):
            MENU.checked(wrong, "m")
