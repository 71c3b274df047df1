"""Counting reports, merging evidence in any order, keeping it on disk."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.stats.groups import Block, Held, Stream, Summary
from problems import LINE, MIXTURES, random_truth, simulated


@pytest.mark.parametrize("name", ["geometric and k-RR", "a bit of everything", "RAPPOR"])
def test_merging_in_any_order_gives_the_same_evidence(name: str) -> None:
    days = [simulated(MIXTURES[name], random_truth(12, 1), 300, seed) for seed in range(3)]
    one, two, three = days
    together = (one + two) + three
    assert together == three + (two + one)
    assert together.people == 900
    both = fw.collect([(g.mechanism, g.outputs, g.counts) for day in days for g in day.groups])
    assert both == together


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(0, 40))
def test_splitting_the_reports_changes_nothing(reports: list[int], cut: int) -> None:
    mechanism = fw.KRR(fw.Linear(0, 4), 1.0)
    whole = fw.collect([(mechanism, np.array(reports))])
    first = np.array(reports[:cut], dtype=np.int64)
    rest = np.array(reports[cut:], dtype=np.int64)
    assert fw.collect([(mechanism, first), (mechanism, rest)]) == whole
    assert dict(zip(whole.groups[0].outputs, whole.groups[0].counts, strict=True)) == {
        value: reports.count(value) for value in set(reports)
    }


KRR = fw.KRR(LINE, 1.0)
WIDE = fw.RAPPOR(fw.Linear(0, 127), 1.0)
WORDS = np.array([[5, 7], [6, 8], [5, 7], [1, 2]], dtype=np.uint64)


def wide(words: np.ndarray, counts: list[int] | None = None) -> fw.Evidence:
    return fw.collect([(WIDE, np.ascontiguousarray(words).view(np.uint8), counts)])


def test_wide_bits_are_kept_as_they_came_and_equal_in_any_order_and_count() -> None:
    evidence = wide(WORDS)
    np.testing.assert_array_equal(evidence.groups[0].outputs, WORDS.view(np.uint8))
    assert evidence.groups[0].counts.tolist() == [1, 1, 1, 1]
    assert wide(WORDS[::-1]) == evidence
    assert wide(WORDS[1:], [1, 2, 1]) == evidence
    assert wide(WORDS[:2], [2, 1]) + wide(WORDS[3:]) == evidence


@pytest.mark.parametrize(
    "other",
    [
        wide(WORDS[:3]),
        wide(WORDS, [1, 1, 1, 2]),
        wide(WORDS, [2, 1, 1, 0]),
        # Two reports that exchange a word, or a bit.
        wide(np.array([[5, 8], [6, 7], [5, 7], [1, 2]], dtype=np.uint64)),
        wide(np.array([[4, 7], [7, 8], [5, 7], [1, 2]], dtype=np.uint64)),
        fw.collect([(fw.RAPPOR(fw.Linear(0, 127), 2.0), WORDS.view(np.uint8))]),
    ],
)
def test_other_wide_bits_are_other_evidence(other: fw.Evidence) -> None:
    assert other != wide(WORDS)


def test_counted_groups_differ_by_outputs_and_by_counts() -> None:
    evidence = fw.collect([(KRR, [3, 3, 4])])
    assert evidence == fw.collect([(KRR, [4, 3, 3])])
    assert evidence != fw.collect([(KRR, [3, 4, 4])])
    assert evidence != fw.collect([(KRR, [3, 3, 5])])
    assert evidence != fw.collect([(fw.KRR(LINE, 2.0), [3, 3, 4])])


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17, 20, 21, 64, 65])
def test_bits_of_every_width_are_counted_or_kept_exactly(size: int) -> None:
    rng = np.random.default_rng(size)
    bits = fw.RAPPOR(fw.Linear(0, max(1, size - 1)), 1.0)
    reports = bits.obfuscate(rng.integers(bits.alphabet.size, size=400), rng)
    group = fw.collect([(bits, reports)]).groups[0]
    found: dict[bytes, int] = {}
    for row, count in zip(group.outputs, group.counts, strict=True):
        found[row.tobytes()] = found.get(row.tobytes(), 0) + int(count)
    naive: dict[bytes, int] = {}
    for row in reports:
        naive[row.tobytes()] = naive.get(row.tobytes(), 0) + 1
    assert found == naive
    if bits.output_space.repeats:
        order = [int.from_bytes(row.tobytes(), "little") for row in group.outputs]
        assert order == sorted(set(order))


def test_merging_many_adds_each_once_whatever_repeats() -> None:
    rng = np.random.default_rng(0)
    plain = fw.KRR(WIDE.alphabet, 1.0)
    parts = [(plain, rng.integers(128, size=50)) for _ in range(20)]
    parts += [(WIDE, WIDE.obfuscate(rng.integers(128, size=30), rng)) for _ in range(20)]
    whole = fw.collect(parts)
    assert whole.people == 20 * 50 + 20 * 30
    assert fw.merge(fw.collect([part]) for part in parts) == whole
    assert fw.merge(fw.collect([part]) for part in parts[:20]) == whole.only("k-rr")
    with pytest.raises(fw.EvidenceError, match="nothing to merge"):
        fw.merge([])


def test_what_is_merged_with_itself_counts_twice() -> None:
    once = wide(WORDS)
    twice = once + once
    assert twice.people == 8
    assert twice == wide(WORDS, [2, 2, 2, 2])
    assert [block.people for block in twice.blocks()] == [8]


def test_only_keeps_what_is_named_and_says_what_there_is() -> None:
    two = fw.KRR(LINE, 2.0)
    evidence = fw.collect([(KRR, [1]), (two, [2]), (fw.Geometric(LINE, 1.0), [3])])
    assert evidence.only(two.id) == fw.collect([(two, [2])])
    assert evidence.only("k-rr", "geometric") == evidence
    with pytest.raises(fw.EvidenceError, match=r"no mechanism 'rappor'.*has geometric, k-rr"):
        evidence.only("k-rr", "rappor")
    with pytest.raises(fw.EvidenceError, match="expected names"):
        evidence.only()


def test_a_summary_names_people_mechanisms_and_distinct_outputs() -> None:
    evidence = fw.collect([(fw.KRR(LINE, 1.0), [3, 3, 4])])
    assert "3 people" in str(evidence)
    assert "2 distinct outputs" in str(evidence)
    assert "k-rr(0..11, epsilon=1)" in str(evidence)


BLIND = fw.Matrix(fw.Linear(0, 1), [[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "nothing to collect"),
        ([(KRR, [1], [-2])], "count -2 at place 0 of k-rr"),
        ([(KRR, [1], [0.5])], "count 0.5 at place 0 of k-rr"),
        ([(KRR, [1], [np.nan])], "count nan"),
        ([(KRR, [1, 2], [3])], "one count an output"),
        ([(KRR, [12])], "k-rr.* cannot produce.*12"),
        ([(KRR, [0.5])], "k-rr.* cannot produce"),
        ([(fw.RAPPOR(LINE, 1.0), np.zeros((3, 5), np.uint8))], "rappor.* cannot produce"),
        ([(BLIND, [1])], "output 1 of matrix.*probability 0 whatever the true value"),
        ([(KRR, [1]), (fw.KRR(fw.Linear(0, 4), 1.0), [1])], "another alphabet"),
    ],
)
def test_reports_that_cannot_be_are_refused(parts: list, words: str) -> None:
    with pytest.raises(fw.EvidenceError, match=words):
        fw.collect(parts)


def test_evidence_over_other_alphabets_does_not_merge() -> None:
    other = fw.collect([(fw.KRR(fw.Linear(0, 4), 1.0), [1])])
    with pytest.raises(fw.EvidenceError, match="alphabets must be the same"):
        fw.collect([(KRR, [1])]) + other


ESTIMATORS = [fw.gibu, fw.em, fw.inversion, fw.ibu, fw.debias]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_evidence_without_people_is_refused(estimator) -> None:
    empty = fw.collect([(KRR, [], [])])
    assert empty.people == 0
    with pytest.raises((fw.EvidenceError, fw.ParameterError), match=r"people|mechanism"):
        estimator(empty)


def test_a_group_knows_its_people_its_rows_and_its_law() -> None:
    counted = fw.collect([(KRR, [3, 3, 4])]).groups[0]
    assert (counted.people, counted.rows, counted.held) == (3, 2, True)
    np.testing.assert_array_equal(counted.operator.dense(), KRR.operator(np.array([3, 4])).dense())
    assert counted.structure == "symbols"
    assert (counted.summary.seen.people, counted.summary.rows) == (3, 2)
    kept = wide(WORDS, [1, 2, 3, 4]).groups[0]
    assert (kept.people, kept.rows, kept.held) == (10, 4, True)
    assert kept.counts.tolist() == [1, 2, 3, 4]
    assert kept.counts.dtype == np.int64
    assert kept.structure == "bits"
    assert kept.operator.shape == (4, 128)
    assert (kept.summary.seen.people, kept.summary.rows) == (10, 4)
    told = wide(WORDS).groups[0]
    assert told.structure == "bits"
    assert "_rows" not in vars(told)


def test_groups_are_equal_by_mechanism_and_reports_however_they_are_kept() -> None:
    table = fw.collect([(KRR, [3, 3, 4])]).groups[0]
    block = Block(KRR.id, np.array([4, 3, 3]))
    stream = fw.Group(KRR, None, (Stream(Held((block,)), KRR, 3, 3),))
    assert table == stream
    assert stream == table
    other = Block(KRR.id, np.array([4, 4, 3]))
    assert table != fw.Group(KRR, None, (Stream(Held((other,)), KRR, 3, 3),))
    assert table != "a group"
    assert hash(table) == hash(stream)
    assert hash(table) != hash(fw.collect([(KRR, [3, 3, 4, 4])]).groups[0])
    assert hash(table) != hash(fw.collect([(fw.KRR(LINE, 2.0), [3, 3, 4])]).groups[0])


def test_evidence_is_listed_line_by_line() -> None:
    both = fw.collect([(WIDE, WORDS.view(np.uint8)), (fw.KRR(WIDE.alphabet, 1.0), [5] * 1234)])
    named = fw.Evidence(
        both.alphabet, tuple(replace(g, name=g.mechanism.name) for g in both.groups)
    )
    assert str(named).splitlines() == [
        "1,238 people, 2 mechanisms, alphabet 0..127",
        "         1,234 people           1 distinct output   k-rr: k-rr(0..127, epsilon=1)",
        "             4 people           4 reports           rappor: rappor(0..127, epsilon=1)",
    ]
    assert "reports           rappor(0..127" in str(both)
    assert both.mechanisms == (fw.KRR(WIDE.alphabet, 1.0), WIDE)


def test_weights_are_shares_of_all_people_in_the_order_of_the_operator() -> None:
    both = fw.collect([(fw.KRR(WIDE.alphabet, 1.0), [5, 5, 7]), (WIDE, WORDS.view(np.uint8))])
    np.testing.assert_allclose(both.weights, np.array([2, 1, 1, 1, 1, 1]) / 7, rtol=1e-15)
    parts = [group.operator.dense() for group in both.groups]
    np.testing.assert_array_equal(both.operator.dense(), np.concatenate(parts))


def test_groups_stand_in_an_order_that_does_not_depend_on_how_they_came() -> None:
    law = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    mechanisms = [
        fw.RAPPOR(LINE, 1.0),
        fw.KRR(LINE, 2.0),
        fw.KRR(LINE, 1.0),
        *(fw.Matrix(LINE, np.roll(law, shift, axis=1)) for shift in range(3)),
        fw.Geometric(LINE, 1.0),
    ]
    rng = np.random.default_rng(1)
    parts = [(m, m.obfuscate(rng.integers(12, size=9), rng)) for m in mechanisms]
    keys = sorted((m.name, str(m), m.id) for m in mechanisms)
    for _ in range(4):
        found = fw.collect([parts[n] for n in rng.permutation(len(parts))])
        assert [(m.name, str(m), m.id) for m in found.mechanisms] == keys
    nobody = fw.collect([(KRR, [3], [0]), (fw.KRR(LINE, 2.0), [1])])
    assert nobody.mechanisms == (fw.KRR(LINE, 2.0),)


def test_outputs_with_a_count_of_nothing_are_gone() -> None:
    evidence = fw.collect([(KRR, [3, 4, 3], [2, 0, 1])])
    assert evidence.groups[0].outputs.tolist() == [3]
    assert evidence.groups[0].counts.tolist() == [3]
    kept = wide(WORDS, [0, 1, 0, 5]).groups[0]
    np.testing.assert_array_equal(kept.outputs, WORDS[[1, 3]].view(np.uint8))
    assert kept.counts.tolist() == [1, 5]
    assert (kept.rows, kept.people) == (2, 6)
    assert wide(WORDS, [0, 0, 0, 0]).groups == ()
    some = fw.collect([(WIDE, WORDS.view(np.uint8), [0] * 4), (WIDE, WORDS.view(np.uint8))])
    assert some == wide(WORDS)
    assert fw.collect([(WIDE, []), (WIDE, WORDS.view(np.uint8)), (WIDE, [])]) == wide(WORDS)
    assert fw.collect([(WIDE, [])]).people == 0


def named(evidence: fw.Evidence, *names: str) -> fw.Evidence:
    groups = zip(evidence.groups, names, strict=True)
    return fw.Evidence(evidence.alphabet, tuple(replace(group, name=n) for group, n in groups))


def test_names_of_the_survey_travel_and_find_what_they_name() -> None:
    one = named(fw.collect([(KRR, [1]), (fw.KRR(LINE, 2.0), [2])]), "b", "c")
    assert one.only("b").mechanisms == (KRR,)
    assert one.only("c", "b") == one
    with pytest.raises(fw.EvidenceError, match=r"no mechanism 'd', 'e' in the .* has b, c: expec"):
        one.only("d", "b", "e")
    with pytest.raises(fw.EvidenceError, match="which has none"):
        fw.Evidence(LINE, ()).only("d")
    other = named(fw.collect([(KRR, [3])]), "a")
    nameless = fw.collect([(KRR, [4])])
    for several in ([one, other, nameless], [nameless, other, one]):
        merged = fw.merge(several)
        assert [group.name for group in merged.groups] == ["a", "c"]
        assert merged.groups[0].outputs.tolist() == [1, 3, 4]
    bits = named(wide(WORDS), "w")
    assert (wide(WORDS) + bits).groups[0].name == "w"
    assert fw.merge([bits]).groups[0] is bits.groups[0]


class Elsewhere:
    """Reports that are not in memory, and that count how often they are let go."""

    held: ClassVar[bool] = False

    def __init__(self, *kept: Block) -> None:
        self.kept = kept
        self.closed = 0

    def blocks(self) -> Iterator[Block]:
        return iter(self.kept)

    def map(self, work: Any) -> Iterator[Any]:
        yield work(Held(self.kept))

    def close(self) -> None:
        self.closed += 1


def test_sources_are_listed_once_with_all_their_mechanisms() -> None:
    two = fw.RAPPOR(WIDE.alphabet, 2.0)
    packed = WORDS.view(np.uint8)
    blocks = {WIDE: Block(WIDE.id, packed), two: Block(two.id, packed[:3])}
    source = Elsewhere(*blocks.values())
    streams = [
        Stream(source, mechanism, block.people, block.people, Summary.of(block, mechanism))
        for mechanism, block in blocks.items()
    ]
    there = fw.Evidence(WIDE.alphabet, tuple(fw.Group(s.mechanism, None, (s,)) for s in streams))
    assert not there.held
    assert not there.groups[0].held
    assert there.sources() == [(source, {WIDE.id: streams[0], two.id: streams[1]})]
    assert there.groups[1].outputs.tolist() == packed[:3].tolist()
    here = wide(WORDS) + fw.collect([(fw.KRR(WIDE.alphabet, 1.0), [5])])
    assert here.held
    mixed = there + there + here
    assert [s for s, _ in mixed.sources()].count(source) == 2
    assert len(mixed.sources()) == 3
    assert [sorted(by) for s, by in mixed.sources() if s is source] == [
        sorted([WIDE.id, two.id])
    ] * 2
    seen: dict[str, int] = {}
    for block in mixed.blocks():
        seen[block.mechanism] = seen.get(block.mechanism, 0) + block.people
    assert seen == {WIDE.id: 12, two.id: 6, fw.KRR(WIDE.alphabet, 1.0).id: 1}
    with mixed as entered:
        assert entered is mixed
    assert source.closed == 4


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ((KRR, [1, 2, 3], [1, 1, -2]), "count -2 at place 2 of k-rr"),
        ((KRR, [1, 2, 3], [1.0, 2.5, -2.0]), r"count 2\.5 at place 1 of k-rr"),
        ((KRR, [1, 2], [[1, 2]]), r"2 outputs of k-rr.* with counts of shape \(1, 2\)"),
        ((KRR, [1, 2], 3), r"counts of shape \(\)"),
        ((KRR, [[1, 2]]), "expected one axis"),
        ((KRR, [[]]), "cannot produce"),
        ((WIDE, np.empty((0, 3), np.uint8)), "cannot produce"),
    ],
)
def test_counts_and_shapes_that_cannot_be_are_named(part: tuple, words: str) -> None:
    with pytest.raises(fw.EvidenceError, match=words):
        fw.collect([part])


def test_impossible_outputs_are_named_with_their_counts() -> None:
    with pytest.raises(fw.EvidenceError, match=r"output 1 of matrix.* was reported 3 times"):
        fw.collect([(BLIND, [0, 1, 1, 0, 1])])
    with pytest.raises(fw.EvidenceError, match=r"output 1 of matrix.* was reported 1 time,"):
        fw.collect([(fw.KRR(BLIND.alphabet, 1.0), [0]), (BLIND, [1])])
    assert fw.collect([(BLIND, [0, 0])]).people == 2
    nothing = fw.collect(
        [(KRR, []), (fw.KRR(LINE, 2.0), np.array([1.0, 2.0]).astype(int), [2.0, 1.0])]
    )
    assert nothing.groups[0].counts.tolist() == [2, 1]
    assert nothing.groups[0].counts.dtype == np.int64
