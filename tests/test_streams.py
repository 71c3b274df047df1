"""Wide reports wherever they lie: the same sums from everywhere, and an error if they changed."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill import streams
from freewill.estimators.estimate import passes_of
from freewill.operators import Sums
from freewill.reports import read as read_all
from freewill.streams import (
    Block,
    Held,
    Seen,
    Stream,
    StreamPart,
    Summary,
    checksum,
    gathered,
    joined,
    looking,
    refuse_changed,
    row_keys,
    together,
    unchanged,
)
from report_cases import drawn, expected, table_of, wide_survey

SURVEY = wide_survey()
PARTS = drawn(SURVEY, 6000)
HERE = expected(SURVEY, PARTS)
BITS = SURVEY.find("bits")
THETA = np.random.default_rng(1).dirichlet(np.ones(30))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let blocks hold a few hundred reports."""
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 1000)


def left_in(kind, folder):
    """Return the evidence of reports that stay in a file, or in a file of evidence."""
    if kind == "evidence":
        fw.save_evidence(HERE, folder / "e.parquet")
        return fw.load_evidence(folder / "e.parquet", hold=0)
    if kind == "frame":
        return fw.read_reports(table_of(PARTS, "bytes"), SURVEY, hold=0)
    fw.write_reports(folder / f"r.{kind}", PARTS)
    return fw.read_reports(folder / f"r.{kind}", SURVEY, hold=0)


KINDS = ["parquet", "csv", "ndjson", "frame", "evidence"]


@pytest.mark.parametrize("kind", KINDS)
def test_passes_over_files_give_the_sums_of_memory(kind, tmp_path):
    there = left_in(kind, tmp_path)
    assert HERE.held
    assert not there.held
    assert there == HERE
    assert there.people == 6000
    one, other = passes_of(HERE), passes_of(there)
    np.testing.assert_allclose(other.start(), one.start(), rtol=1e-12)
    assert other.log_scale == pytest.approx(one.log_scale, rel=1e-13)
    assert other.rows == one.rows == 4000
    for fresh in (True, False):
        mine, theirs = one.sums(THETA, fresh), other.sums(THETA, fresh)
        assert theirs.value == pytest.approx(mine.value, rel=1e-13)
        np.testing.assert_allclose(theirs.slope, mine.slope, rtol=1e-11)
        assert (theirs.hessian is None) == (not fresh)
        if fresh:
            np.testing.assert_allclose(theirs.hessian, mine.hessian, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_of_reports_that_stay_are_those_of_memory(kind, tmp_path):
    there = left_in(kind, tmp_path)
    found, mine = fw.gibu(there), fw.gibu(HERE)
    assert (str(found.status), found.solver, mine.solver) == ("certified", "passes", "passes")
    assert found.log_likelihood == pytest.approx(mine.log_likelihood, abs=0.02 / 6000)
    bits, mine = there.only(BITS.id), HERE.only(BITS.id)
    shares = np.unpackbits(dict(PARTS)["bits"], axis=1, count=30, bitorder="little").mean(axis=0)
    naive = (shares - BITS.flip) / (1 - 2 * BITS.flip)
    np.testing.assert_allclose(fw.debias(bits, post="none").theta, naive, rtol=0, atol=1e-12)
    # A method that needs all rows at once still gets them.
    one, other = fw.em(bits, delta=1e-4), fw.em(mine, delta=1e-4)
    assert one.steps == other.steps
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)


def test_what_stays_can_be_merged_saved_and_kept_in_part(tmp_path):
    there = left_in("parquet", tmp_path)
    twice = there + there + HERE
    assert twice == HERE + HERE + HERE
    assert passes_of(twice).rows == 12_000
    assert fw.gibu(twice, tol=1e-6).log_likelihood == pytest.approx(
        fw.gibu(HERE, tol=1e-6).log_likelihood, abs=2e-6
    )
    fw.save_evidence(there.only("sharp") + there, tmp_path / "sum.parquet")
    again = fw.load_evidence(tmp_path / "sum.parquet")
    assert again == HERE.only(SURVEY.find("sharp").id) + HERE
    assert again.only("sharp").people == 4000
    names = {group.name for group in again.groups}
    assert names == {"geo", "bits", "sharp"}


def changed_files(path, table):
    """Yield words of the error after each change of a file of reports."""
    parquet.write_table(table.slice(0, 5999), path)
    yield "people then"
    reports = table.column("report").to_pylist()
    first = next(n for n, name in enumerate(table.column("mechanism").to_pylist()) if name != "geo")
    last = len(reports) - 1
    swapped = list(reports)
    swapped[first] = bytes([reports[first][0] ^ 1]) + reports[first][1:]
    swapped[last] = bytes([reports[last][0] ^ 1]) + reports[last][1:]
    names = table.column("mechanism")
    parquet.write_table(pa.table({"mechanism": names, "report": swapped}), path)
    yield "with other reports"
    parquet.write_table(pa.concat_tables([table, table]), path)
    yield "people then"


def test_an_estimate_of_changed_reports_is_an_error(tmp_path):
    table, path = table_of(PARTS, "bytes"), tmp_path / "r.parquet"
    parquet.write_table(table, path)
    evidence = fw.read_reports(path, SURVEY, hold=0)
    for words in changed_files(path, table):
        with pytest.raises(fw.EvidenceError, match=f"changed since they were read.*{words}"):
            fw.gibu(evidence)
        with pytest.raises(fw.EvidenceError, match="changed since they were read"):
            fw.save_evidence(evidence, tmp_path / "e.parquet")
        assert not (tmp_path / "e.parquet").exists()
    # The same reports in another order are the same reports.
    parquet.write_table(table.take(np.random.default_rng(0).permutation(6000)), path)
    assert str(fw.gibu(evidence).status) == "certified"
    path.unlink()
    with pytest.raises(fw.ReportError, match="no such file"):
        fw.gibu(evidence)


def test_an_estimate_of_changed_evidence_is_an_error(tmp_path):
    evidence = left_in("evidence", tmp_path)
    fw.save_evidence(evidence.only("geometric", BITS.id), tmp_path / "e.parquet")
    with pytest.raises(fw.EvidenceError, match=r"epsilon=5\) in .*e.parquet changed"):
        fw.gibu(evidence)
    (tmp_path / "e.parquet").unlink()
    with pytest.raises(fw.EvidenceError, match="no such file"):
        fw.gibu(evidence)


def test_refused_rows_are_told_once_and_passed_over_silently(tmp_path):
    bad = ("bits", np.full((3, 4), 255, dtype=np.uint8))
    fw.write_reports(tmp_path / "r.parquet", [*PARTS, bad])
    found = read_all(tmp_path / "r.parquet", SURVEY, hold=0)
    (stray,) = found.invalid
    assert (stray.count, found.rows, found.evidence.people) == (3, 6003, 6000)
    assert found.evidence == HERE
    assert str(fw.gibu(found.evidence).status) == "certified"


def test_reports_with_ids_count_once_in_every_pass(tmp_path):
    table = table_of(PARTS, "bytes")
    numbered = table.append_column("report_id", pa.array([str(n) for n in range(6000)]))
    parquet.write_table(pa.concat_tables([numbered, numbered.slice(3000)]), tmp_path / "r.parquet")
    found = read_all(tmp_path / "r.parquet", SURVEY, hold=0)
    assert (found.duplicates, found.evidence) == (3000, HERE)
    assert passes_of(found.evidence).sums(THETA, fresh=False).value == pytest.approx(
        passes_of(HERE).sums(THETA, fresh=False).value, rel=1e-13
    )


class Split:
    """A source in two places, the way a cluster has it."""

    held = False

    def __init__(self, block):
        half = len(block.outputs) // 2
        self.halves = [block._replace(outputs=some) for some in np.split(block.outputs, [half])]

    def map(self, work):
        for half in self.halves:
            yield work(Held((half,)))

    def blocks(self):
        yield from self.halves

    def close(self):
        self.halves = []


def test_any_source_will_do_and_results_of_its_places_add_up():
    mechanism = SURVEY.find("bits")
    outputs = dict(PARTS)["bits"]
    source = Split(Block(mechanism.id, outputs))
    stream = Stream(source, mechanism, len(outputs), len(outputs))
    evidence = fw.Evidence(SURVEY.alphabet, (fw.Group(mechanism, None, (stream,)),))
    assert evidence == HERE.only(mechanism.id)
    mine = passes_of(HERE.only(mechanism.id)).sums(THETA, fresh=True)
    found = passes_of(evidence).sums(THETA, fresh=True)
    assert found.value == pytest.approx(mine.value, rel=1e-13)
    np.testing.assert_allclose(found.slope, mine.slope, rtol=1e-12)
    np.testing.assert_allclose(found.hessian, mine.hessian, rtol=1e-5)
    source.halves[1] = source.halves[1]._replace(outputs=source.halves[1].outputs[:-1])
    with pytest.raises(fw.EvidenceError, match=f"{len(outputs):,} people then"):
        passes_of(evidence).sums(THETA, fresh=False)
    with evidence:
        pass
    assert source.halves == []


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
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 8)
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
        assert found.guess.weight == counts.sum()
        np.testing.assert_allclose(found.guess.ones, counts @ ones, rtol=1e-13)
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
    look = looking({BITS.id: BITS, "sharp": SURVEY.find("sharp")})(Refusing([*halves, other]))
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
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 40)
    outputs, counts = dict(PARTS)["bits"][:35], np.arange(1, 36)
    source = Held((Block(BITS.id, outputs, counts),))
    pieces = list(source.blocks())
    assert [len(piece.outputs) for piece in pieces] == [10, 10, 10, 5]
    np.testing.assert_array_equal(np.concatenate([p.outputs for p in pieces]), outputs)
    assert np.concatenate([p.counts for p in pieces]).tolist() == counts.tolist()
    assert {piece.mechanism for piece in pieces} == {BITS.id}
    assert source.refused() == []
    # A report wider than a block is a block of its own.
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 3)
    assert [len(piece.outputs) for piece in source.blocks()] == [1] * 35
    assert list(Held(()).blocks()) == []
    assert list(Held((Block(BITS.id, outputs[:0]),)).blocks()) == []
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 20)
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
    assert guess.weight == 0.25
    assert (guess.base, guess.gain) == (operator.base, operator.gain)
    np.testing.assert_allclose(guess.ones, ones / 8000, rtol=1e-13)
    fitted = operator.dense() @ THETA
    for stride in (0, 1):
        sums = part.sums(THETA, stride)
        assert sums.value == pytest.approx(np.log(fitted).sum() / 8000, rel=1e-12)
        np.testing.assert_allclose(sums.slope, operator.dense().T @ (1 / fitted) / 8000, rtol=1e-11)
        assert (sums.hessian is None) == (stride == 0)
    rows = operator.dense() / fitted[:, None]
    np.testing.assert_allclose(sums.hessian, rows.T @ rows / 8000, rtol=1e-5)


def test_bits_that_tell_nothing_and_symbols_give_no_guess():
    block, geo = Block(BITS.id, dict(PARTS)["bits"]), SURVEY.find("geo")
    summary = Summary.of(block, BITS)
    blind = replace(summary, guess=summary.guess._replace(gain=0.0))
    symbols = Summary.of(Block(geo.id, np.array([1, 2])), geo)
    there = Held((block,))
    found = {
        name: Stream(there, BITS, 2000, 2000, seen)
        for name, seen in (("a", blind), ("b", symbols), ("c", summary))
    }
    assert [guess.gain for guess in StreamPart(there, found, 1).guesses()] == [summary.guess.gain]


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
    monkeypatch.setattr(streams, "checksum", None)
    part.sums(THETA, 0)
    assert sum(block.people for block in unchanged(stream.source, {BITS.id: stream})) == 2000
