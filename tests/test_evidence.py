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


def test_bit_reports_are_counted_exactly_even_when_their_keys_collide() -> None:
    multiplier = 0x9E3779B97F4A7C15
    bits = fw.RAPPOR(fw.Linear(0, 127), 1.0)
    words = np.array([[5, 7], [6, (7 - multiplier) % 2**64], [5, 7], [1, 2]], dtype=np.uint64)
    evidence = fw.collect([(bits, words.view(np.uint8))])
    group = evidence.groups[0]
    found = {
        tuple(row.view(np.uint64).tolist()): n
        for row, n in zip(group.outputs, group.counts, strict=True)
    }
    assert found == {(5, 7): 2, (6, (7 - multiplier) % 2**64): 1, (1, 2): 1}
    assert fw.collect([(bits, words[::-1].copy().view(np.uint8))]) == evidence


def test_evidence_survives_the_disk(tmp_path) -> None:
    evidence = simulated(MIXTURES["a bit of everything"], random_truth(12, 2), 500, 3)
    evidence.save(tmp_path / "evidence.npz")
    assert fw.Evidence.load(tmp_path / "evidence.npz") == evidence


def test_a_damaged_file_is_refused(tmp_path) -> None:
    path = tmp_path / "evidence.npz"
    path.write_bytes(b"PK\x03\x04 not evidence")
    with pytest.raises(fw.EvidenceError, match="damaged"):
        fw.Evidence.load(path)
    with pytest.raises(fw.EvidenceError, match="no such file"):
        fw.Evidence.load(tmp_path / "nowhere.npz")


def test_a_summary_names_people_mechanisms_and_distinct_outputs() -> None:
    evidence = fw.collect([(fw.KRR(LINE, 1.0), [3, 3, 4])])
    assert "3 people" in str(evidence)
    assert "2 distinct outputs" in str(evidence)
    assert "k-rr(0..11, epsilon=1)" in str(evidence)


KRR = fw.KRR(LINE, 1.0)
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
