"""Blocks, checksums and summaries of reports, against plain sums in Python."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import Sums
from freewill.stats import groups
from freewill.stats.estimators.estimate import passes_of
from freewill.stats.groups import (
    Block,
    Held,
    Seen,
    Stream,
    StreamPart,
    Summary,
    checksum,
    gathered,
    joined,
    refuse_changed,
    row_keys,
    summarising,
    together,
    unchanged,
)
from streams_cases import BITS, PARTS, SURVEY, THETA, Split


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let blocks hold a few hundred reports."""
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 1000)


def test_counts_weigh_reports_as_often_as_they_say():
    mechanism, outputs = SURVEY.find("bits"), dict(PARTS)["bits"][:500]
    counts = np.random.default_rng(0).integers(1, 5, 500)
    counted = fw.collect([(mechanism, outputs, counts)])
    spelled = fw.collect([(mechanism, np.repeat(outputs, counts, axis=0))])
    assert counted == spelled
    one, other = (passes_of(e).sums(THETA, fresh=True) for e in (counted, spelled))
    assert isinstance(one, Sums)
    assert one.value == pytest.approx(other.value, rel=1e-13)
    np.testing.assert_allclose(one.slope, other.slope, rtol=1e-12)


def test_blocks_are_gathered_to_a_size_and_keep_every_report_and_count():
    rng = np.random.default_rng(0)
    blocks = [
        Block("ab"[n % 2], rng.integers(256, size=(n, 4)).astype(np.uint8), None if n % 3 else ones)
        for n in range(1, 40)
        for ones in [np.full(n, 2)]
    ]
    found = list(gathered(blocks))
    assert len(found) < 10
    assert all(block.outputs.nbytes < 1000 + 39 * 4 for block in found)
    for name in "ab":
        mine = [block for block in found if block.mechanism == name]
        whole = together([block for block in blocks if block.mechanism == name])
        assert together(mine).people == whole.people
        np.testing.assert_array_equal(together(mine).outputs, whole.outputs)
        assert checksum(together(mine)) == checksum(whole)


def test_a_block_that_is_full_goes_on_at_once(monkeypatch):
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 8)
    rows = np.arange(20, dtype=np.uint8).reshape(5, 4)
    found = list(gathered(Block("a", rows[[n]]) for n in range(5)))
    assert [block.outputs[:, 0].tolist() for block in found] == [[0, 4], [8, 12], [16]]


def test_gathered_blocks_do_not_share_memory_that_is_used_again():
    memory = np.zeros((3, 4), dtype=np.uint8)

    def reused():
        for value in (1, 2):
            memory[:] = value
            yield Block("a", memory)

    (block,) = gathered(reused())
    assert block.outputs[:, 0].tolist() == [1, 1, 1, 2, 2, 2]


def naive_checksum(rows, counts):
    """Hash row by row with Python's integers, as `row_keys` says."""
    total, mask = 0, 2**64 - 1
    for row, count in zip(rows, counts, strict=True):
        content, key = bytes(row), 0
        for first in range(0, len(content), 8):
            word = int.from_bytes(content[first : first + 8], "little")
            key = (key + word) * 0x9E3779B97F4A7C15 & mask
            key ^= key >> 29
        total += (key * 0xBF58476D1CE4E5B9 & mask) * int(count)
    return total & mask


@pytest.mark.parametrize("width", [1, 3, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("counted", [True, False])
def test_checksums_are_sums_of_a_hash_of_every_report(width, counted):
    rng = np.random.default_rng(width)
    rows = rng.integers(256, size=(50, width)).astype(np.uint8)
    counts = rng.integers(1, 2**40, 50) if counted else None
    found = checksum(Block("a", rows, counts))
    assert found == naive_checksum(rows, np.ones(50) if counts is None else counts)
    # Rows that do not lie side by side, and numbers in the place of bytes.
    assert checksum(Block("a", rows[::-1], None if counts is None else counts[::-1])) == found
    numbers = rng.integers(1 << 40, size=(9, width))
    assert checksum(Block("a", numbers)) == naive_checksum(numbers, np.ones(9))
    assert checksum(Block("a", numbers[:, 0])) == naive_checksum(numbers[:, :1].copy(), np.ones(9))


def test_keys_of_many_reports_are_those_of_each():
    """Keys are made 16,384 rows at a time; they must not depend on where a row stands."""
    rows = np.arange(40_000, dtype="<u4").view(np.uint8).reshape(-1, 4)
    keys = row_keys(rows)
    assert len(np.unique(keys)) == 40_000
    places = [0, 1, 16_383, 16_384, 16_385, 32_768, 39_999]
    assert [int(keys[n]) for n in places] == [naive_checksum(rows[[n]], [1]) for n in places]


def test_reports_that_trade_words_or_bits_have_another_checksum():
    rng = np.random.default_rng(3)
    words = rng.integers(2**63, size=(2, 3), dtype=np.uint64)
    whole = checksum(Block("a", words.view(np.uint8).reshape(2, -1)))
    for column in range(3):
        other = words.copy()
        other[:, column] = other[::-1, column]
        assert checksum(Block("a", other.view(np.uint8).reshape(2, -1))) != whole
        for bit in range(64):
            other = words ^ np.array([[1], [1]], np.uint64) * (
                (np.arange(3) == column).astype(np.uint64) << np.uint64(bit)
            )
            assert checksum(Block("a", other.view(np.uint8).reshape(2, -1))) != whole


def test_summaries_and_what_passes_saw_add_up():
    rng = np.random.default_rng(0)
    outputs = BITS.obfuscate(rng.integers(30, size=200), rng)
    counts = rng.integers(1, 9, 200)
    whole = Summary.of(Block(BITS.id, outputs, counts), BITS)
    parts = [Block(BITS.id, outputs[some], counts[some]) for some in (slice(0, 70), slice(70, 200))]
    one, two = (Summary.of(part, BITS) for part in parts)
    assert (whole.seen.people, whole.rows, whole.bytes) == (counts.sum(), 200, 800)
    both = one + two
    assert (both.seen, both.rows, both.bytes) == (whole.seen, whole.rows, whole.bytes)
    ones = np.unpackbits(outputs, axis=1, count=30, bitorder="little")
    for found in (whole, one + two):
        assert found.log_scale == pytest.approx(counts @ BITS.operator(outputs).log_scale)
        np.testing.assert_allclose(found.ones, counts @ ones, rtol=1e-13)
        theta = BITS.debiased(counts @ ones / counts.sum())
        np.testing.assert_allclose(found.guess.total / found.guess.precision, theta, atol=1e-12)
    assert Seen.of(parts[0]) + Seen.of(parts[1]) == whole.seen
    assert Seen(1, 2**64 - 1) + Seen(2, 3) == Seen(3, 2)
    geo = SURVEY.find("geo")
    symbols = Summary.of(Block(geo.id, np.array([1, 2])), geo)
    assert (symbols + symbols).guess is None
    assert (symbols + symbols).seen.checksum == 2 * symbols.seen.checksum % 2**64


def test_looks_add_up_by_mechanism_and_keep_what_was_refused():
    outputs = dict(PARTS)["bits"]
    halves = [Block(BITS.id, some) for some in (outputs[:900], outputs[900:])]
    other = Block("sharp", outputs[:5])
    look = summarising({BITS.id: BITS, "sharp": SURVEY.find("sharp")})(Refusing([*halves, other]))
    assert look.summaries[BITS.id].seen == Seen.of(Block(BITS.id, outputs))
    assert look.summaries["sharp"].seen.people == 5
    assert look.refused == ["a row"]
    twice = look + look
    assert twice.summaries["sharp"].seen.people == 10
    assert twice.refused == ["a row", "a row"]


class Refusing(list):
    """Blocks of which some rows were refused."""

    def refused(self):
        return ["a row"]


def test_streams_in_memory_are_joined_and_others_stay_apart():
    outputs = dict(PARTS)["bits"]
    here = [
        Stream(Held((Block(BITS.id, some, counts),)), BITS, people, len(some))
        for some, counts, people in [
            (outputs[:10], None, 10),
            (outputs[10:30], np.full(20, 3), 60),
        ]
    ]
    there = Stream(Split(Block(BITS.id, outputs)), BITS, 2000, 2000)
    assert joined([there]) == (there,)
    assert joined([here[0], there]) == (here[0], there)
    one, other = joined([here[0], there, here[1]])
    assert other is there
    assert (one.people, one.rows, one.mechanism) == (70, 30, BITS)
    assert one.summary.seen.people == 70
    assert joined([]) == ()


def test_blocks_put_together_keep_the_count_of_every_report():
    outputs = dict(PARTS)["bits"]
    plain, counted = Block("a", outputs[:3]), Block("a", outputs[3:5], np.array([4, 5]))
    assert together([plain]) is plain
    assert together([plain, plain]).counts is None
    assert together([plain, counted]).counts.tolist() == [1, 1, 1, 4, 5]
    assert together([counted, plain]).counts.tolist() == [4, 5, 1, 1, 1]
    assert together([plain, counted]).people == 12
    assert together([plain, counted]).weights.tolist() == [1, 1, 1, 4, 5]
    assert plain.weights.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(together([plain, counted]).outputs, outputs[:5])


def test_memory_is_passed_over_in_pieces_with_their_counts(monkeypatch):
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 40)
    outputs, counts = dict(PARTS)["bits"][:35], np.arange(1, 36)
    source = Held((Block(BITS.id, outputs, counts),))
    pieces = list(source.blocks())
    assert [len(piece.outputs) for piece in pieces] == [10, 10, 10, 5]
    np.testing.assert_array_equal(np.concatenate([p.outputs for p in pieces]), outputs)
    assert np.concatenate([p.counts for p in pieces]).tolist() == counts.tolist()
    assert {piece.mechanism for piece in pieces} == {BITS.id}
    assert source.refused() == []
    # A report wider than a block is a block of its own.
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 3)
    assert [len(piece.outputs) for piece in source.blocks()] == [1] * 35
    assert list(Held(()).blocks()) == []
    assert list(Held((Block(BITS.id, outputs[:0]),)).blocks()) == []
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 20)
    small = Held((Block("a", np.arange(35, dtype=np.uint8).reshape(-1, 1)),))
    assert [len(piece.outputs) for piece in small.blocks()] == [20, 15]


def test_parts_of_a_likelihood_weigh_their_reports_by_everyone():
    outputs = dict(PARTS)["bits"]
    stream = Stream(Split(Block(BITS.id, outputs)), BITS, 2000, 2000)
    part = StreamPart(stream.source, {BITS.id: stream}, 8000)
    assert (part.rows, part.weight) == (2000, 0.25)
    operator = BITS.operator(outputs)
    assert part.log_scale == pytest.approx(operator.log_scale.sum() / 8000, rel=1e-12)
    (guess,) = part.guesses()
    ones = np.unpackbits(outputs, axis=1, count=30, bitorder="little").sum(axis=0)
    np.testing.assert_allclose(
        guess.total / guess.precision, BITS.debiased(ones / 2000), atol=1e-12
    )
    assert guess.precision == pytest.approx(operator.guess(np.ones(2000)).precision / 8000)
    fitted = operator.dense() @ THETA
    for stride in (0, 1):
        sums = part.sums(THETA, stride)
        assert sums.value == pytest.approx(np.log(fitted).sum() / 8000, rel=1e-12)
        np.testing.assert_allclose(sums.slope, operator.dense().T @ (1 / fitted) / 8000, rtol=1e-11)
        assert (sums.hessian is None) == (stride == 0)
    rows = operator.dense() / fitted[:, None]
    np.testing.assert_allclose(sums.hessian, rows.T @ rows / 8000, rtol=1e-5)


def test_symbols_give_no_guess():
    block, geo = Block(BITS.id, dict(PARTS)["bits"]), SURVEY.find("geo")
    summary = Summary.of(block, BITS)
    symbols = Summary.of(Block(geo.id, np.array([1, 2])), geo)
    there = Held((block,))
    found = {
        name: Stream(there, BITS, 2000, 2000, seen)
        for name, seen in (("b", symbols), ("c", summary))
    }
    (guess,) = StreamPart(there, found, 1).guesses()
    assert guess.precision == summary.guess.precision


def test_changed_reports_are_told_by_people_and_by_content():
    outputs = dict(PARTS)["bits"]
    stream = Stream(Split(Block(BITS.id, outputs)), BITS, 2000, 2000)
    seen = Seen.of(Block(BITS.id, outputs))
    refuse_changed(stream.source, {BITS.id: stream}, {BITS.id: seen, "other": Seen(1, 1)})
    for now, words in (
        ({BITS.id: replace(seen, checksum=1)}, "2,000 people then, 2,000 now, with other rep"),
        ({BITS.id: replace(seen, people=1999)}, r"2,000 people then, 1,999 now\. "),
        ({}, r"2,000 people then, 0 now\. Read them again"),
    ):
        with pytest.raises(fw.EvidenceError, match=words):
            refuse_changed(stream.source, {BITS.id: stream}, now)


def test_blocks_of_other_mechanisms_of_a_source_are_passed_by():
    outputs = dict(PARTS)["bits"]
    source = Split(Block(BITS.id, outputs))
    stream = Stream(source, BITS, 2000, 2000, Summary.of(Block(BITS.id, outputs), BITS))
    source.halves.insert(1, Block("other", outputs[:7]))
    found = list(unchanged(source, {BITS.id: stream}))
    assert [block.mechanism for block in found] == [BITS.id, BITS.id]
    assert StreamPart(source, {BITS.id: stream}, 2000).sums(THETA, 0).value == pytest.approx(
        np.log(BITS.operator(outputs).dense() @ THETA).mean(), rel=1e-12
    )
    source.halves.pop()
    with pytest.raises(fw.EvidenceError, match="2,000 people then, 1,000 now"):
        list(unchanged(source, {BITS.id: stream}))


def test_reports_in_memory_are_not_hashed_by_a_pass(monkeypatch):
    outputs = dict(PARTS)["bits"]
    stream = Stream(Held((Block(BITS.id, outputs),)), BITS, 2000, 2000)
    part = StreamPart(stream.source, {BITS.id: stream}, 2000)
    part.sums(THETA, 0)
    monkeypatch.setattr(groups, "checksum", None)
    part.sums(THETA, 0)
    assert sum(block.people for block in unchanged(stream.source, {BITS.id: stream})) == 2000
