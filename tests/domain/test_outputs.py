"""Output spaces against the plainest reading of a report: one row at a time, in Python."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.outputs import Decoded, Hashed, Reason, Symbols
from freewill.domain.packed_outputs import Bits, Records, Subsets

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
    back = space.numbered(numbers)
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


LEAVES = st.one_of(
    st.integers(1, 70_000).map(lambda size: Symbols(fw.Linear(0, size - 1))),
    st.integers(1, 24).map(Bits),
    st.integers(2, 300).map(Hashed),
    st.integers(2, 12).map(lambda size: Subsets(size, size // 2)),
)


def naive_part(space, rng):
    """Draw an output of a space, beside its bytes."""
    match space:
        case Symbols():
            index = int(rng.integers(space.size))
            length = 1
            while 256**length < space.size:
                length += 1
            return index, index.to_bytes(length, "little")
        case Hashed():
            pair = int(rng.integers(1 << 32)), int(rng.integers(space.size))
            return list(pair), b"".join(number.to_bytes(4, "little") for number in pair)
        case Subsets():
            chosen = rng.permutation(space.size)[: space.length]
            number = sum(1 << int(place) for place in chosen)
        case _:
            number = int(rng.integers(1 << space.size))
    row = number.to_bytes(-(-space.size // 8), "little")
    return list(row), row


@given(st.lists(LEAVES, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_records_are_their_parts_byte_for_byte(spaces, seed):
    rng, record = np.random.default_rng(seed), Records(tuple(spaces))
    drawn = [[naive_part(space, rng) for space in spaces] for _ in range(5)]
    rows = np.array([list(b"".join(own for _, own in row)) for row in drawn], dtype=np.uint8)
    assert record.width == rows.shape[1]
    assert record.checked(rows, "record") is rows
    parts = record.split(rows)
    assert [part.tolist() for part in parts] == [
        [row[place][0] for row in drawn] for place in range(len(spaces))
    ]
    assert np.array_equal(record.joined(parts), rows)
    assert np.array_equal(record.decode(record.encode(rows)).outputs, rows)
    assert np.array_equal(record.decode(record.texts(rows)).outputs, rows)
    nested = Records((record, spaces[0]))
    both = nested.joined([rows, parts[0]])
    assert np.array_equal(nested.split(both)[0], rows)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(0, 1 << 20), min_size=1, max_size=30),
)
def test_records_are_counted_as_tuples_are(sizes, chosen):
    record = Records((Bits(3), *(Symbols(fw.Linear(0, size - 1)) for size in sizes)))
    every = record.all()
    assert len(every) == record.places == len({row.tobytes() for row in every})
    assert np.array_equal(record.numbers(every), np.arange(record.places))
    assert np.array_equal(record.numbered(np.arange(record.places)), every)
    rows = every[np.array(chosen) % record.places]
    counter = record.counter()
    counter.add(rows, None)
    outputs, counts = counter.result()
    naive = Counter(map(bytes, rows))
    assert dict(zip(map(bytes, outputs), counts.tolist(), strict=True)) == naive


def test_records_say_which_part_is_wrong():
    record = Records((Symbols(fw.Linear(0, 99)), Bits(4)))
    good, high, stray = [5, 15], [100, 0], [0, 16]
    decoded = record.decode(pa.array([bytes(good).hex(), bytes(high).hex(), bytes(stray).hex()]))
    assert decoded.good.tolist() == [True, False, False]
    assert decoded.bad == {Reason.WRONG_PART: pytest.approx([False, True, True])}
    with pytest.raises(fw.FreewillError, match=r"report 1 of pair has a part 1 out of range: .*99"):
        record.checked(np.array([good, high], dtype=np.uint8), "pair")
    with pytest.raises(fw.FreewillError, match=r"part 2 out of range: expected 4 bits"):
        record.checked(np.array([stray], dtype=np.uint8), "pair")
    with pytest.raises(fw.FreewillError, match=r"shape \(1, 3\); expected uint8, \(n, 2\)"):
        record.checked(np.zeros((1, 3), dtype=np.uint8), "pair")


def test_records_repeat_where_few_outputs_do():
    narrow, wide = Symbols(fw.Linear(0, 4095)), Bits(21)
    assert Records((narrow, narrow)).repeats
    assert not Records((narrow, narrow, Bits(1))).repeats
    assert not Records((Bits(1), wide)).repeats
    assert not Records((narrow, Bits(5))).listable
    assert Records((narrow, Bits(4))).listable
    with pytest.raises(fw.LawError, match="cannot be listed"):
        Records((narrow, Bits(5))).all()
    with pytest.raises(fw.ParameterError, match="cannot be a part of a report"):
        Records((object(),))
