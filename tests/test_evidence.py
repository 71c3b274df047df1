"""Counting reports, merging evidence in any order, keeping it on disk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
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
        ([(KRR, [1], [-2])], "count -2 of output 1 of k-rr"),
        ([(KRR, [1], [0.5])], "count 0.5 of output 1 of k-rr"),
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
