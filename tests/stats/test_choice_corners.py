"""Choice-aware estimates and robust ones of few people, few values, many groups, blind laws."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import freewill as fw
from choice_cases import MIXED, chosen, slope_of
from freewill.numeric.operators.moments import ListedMoments

TEN = fw.Linear(0, 9)
WIDE, SHARP = fw.Geometric(TEN, 0.5), fw.KRR(TEN, 2.0)
LABELS = fw.Categorical([f"label {place}" for place in range(200)])
ONE, TWO = fw.Linear(5, 5), fw.Linear(0, 1)
SMALL, THIN = fw.Grid(2, 2, cell=1.0), fw.Grid(1, 3, cell=1.0)


def uniform(*mechanisms: Any, people: int = 600, seed: int = 0) -> fw.Evidence:
    """Return reports of people who have any value and choose any mechanism."""
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    return fw.collect([(m, m.obfuscate(rng.integers(size, size=people), rng)) for m in mechanisms])


def many_groups() -> fw.Evidence:
    line = fw.Linear(0, 19)
    sharp = [fw.KRR(line, 0.5 + i / 10) for i in range(25)]
    wide = [fw.Geometric(line, 0.05 + i / 20) for i in range(25)]
    return uniform(*sharp, *wide, people=20)


CORNERS: dict[str, Any] = {
    "two people": lambda: fw.collect([(WIDE, [3]), (SHARP, [4])]),
    "one in a group": lambda: fw.collect([(WIDE, [3])]) + uniform(SHARP),
    "one output in a group": lambda: fw.collect([(WIDE, [3], [500])]) + uniform(SHARP),
    "one output in each": lambda: fw.collect([(WIDE, [3], [500]), (SHARP, [8], [500])]),
    "the same output": lambda: fw.collect([(WIDE, [3], [500]), (SHARP, [3], [500])]),
    "fifty groups": many_groups,
    "200 labels": lambda: uniform(fw.KRR(LABELS, 3.0), fw.KRR(LABELS, 5.0)),
    "200 labels and bits": lambda: uniform(fw.RAPPOR(LABELS, 3.0), fw.KRR(LABELS, 5.0)),
    "2 x 2 cells": lambda: uniform(fw.PlanarGeometric(SMALL, 1.0), fw.KRR(SMALL, 2.0)),
    "1 x 3 cells": lambda: uniform(fw.Identity(THIN), fw.KRR(THIN, 2.0)),
    "one value": lambda: uniform(fw.Identity(ONE), fw.Matrix(ONE, [[0.3, 0.7]])),
    "two values": lambda: uniform(fw.KRR(TWO, 1.0), fw.KRR(TWO, 2.0)),
    "sure of all": lambda: fw.collect(
        [(fw.KRR(TEN, 30.0), [2], [500]), (fw.KRR(TEN, 25.0), [7], [500])]
    ),
    "identity": lambda: uniform(fw.Identity(TEN), SHARP),
    "a law twice": lambda: uniform(fw.Identity(TEN), fw.Matrix(TEN, np.eye(10))),
    "nearly a law twice": lambda: uniform(SHARP, fw.KRR(TEN, 2.0 + 1e-9)),
    "blind": lambda: uniform(fw.KRR(TEN, 1e-9), fw.KRR(TEN, 2e-9)),
    "all but blind": lambda: uniform(SHARP, fw.Geometric(TEN, 1e-6)),
    "all but sure": lambda: uniform(fw.KRR(TEN, 700.0), fw.Geometric(TEN, 700.0)),
    "a million millions": lambda: fw.collect(
        [(WIDE, np.arange(10), np.full(10, 10**11)), (SHARP, np.arange(10), np.arange(1, 11))]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_has_a_law_and_intervals(name: str) -> None:
    evidence = CORNERS[name]()
    aware = fw.choice_aware(evidence)
    assert aware.status == fw.Status.CERTIFIED
    assert aware.theta.sum() == pytest.approx(1)
    assert aware.choice.shape == (evidence.alphabet.size, len(evidence.groups))
    np.testing.assert_allclose(aware.choice.sum(axis=1), 1)
    low, high = aware.choice_intervals()
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    told = aware.intervals()
    assert np.all((told.low >= 0) & (told.low <= told.high) & (told.high <= 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [one for one in CORNERS if one != "200 labels and bits"])
# Half of the reports on one output look forged and may be honest, which is told.
def test_a_corner_keeps_more_reports_than_it_sets_aside(name: str) -> None:
    evidence = CORNERS[name]()
    safe = fw.robust(evidence)
    assert safe.theta.sum() == pytest.approx(1)
    assert safe.kept.people > evidence.people / 2
    told = safe.intervals()
    assert np.all((told.low >= 0) & (told.low <= told.high) & (told.high <= 1))


def test_laws_that_are_one_under_two_names_are_told_apart_by_their_people() -> None:
    """c is known where both groups tell their people's values, whatever their laws."""
    rng = np.random.default_rng(3)
    values = rng.integers(10, size=20_000)
    hides = rng.random(20_000) < values / 9
    one, other = fw.Identity(TEN), fw.Matrix(TEN, np.eye(10))
    evidence = fw.collect(
        [(one, one.obfuscate(values[~hides], rng)), (other, other.obfuscate(values[hides], rng))]
    )
    aware = fw.choice_aware(evidence)
    place = aware.mechanisms.index(other)
    assert not aware.blind
    np.testing.assert_allclose(aware.choice[:, place], np.arange(10) / 9, atol=0.03)
    np.testing.assert_allclose(aware.theta, np.bincount(values) / 20_000, atol=1e-3)


def test_what_is_the_same_for_all_bases_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a free choice, one matrix a mechanism; and none for intervals before they are asked."""
    calls: list[int] = []
    whole = ListedMoments.information

    def counted(self: ListedMoments) -> Any:
        calls.append(1)
        return whole(self)

    monkeypatch.setattr(ListedMoments, "information", counted)
    evidence = chosen(MIXED, np.full(12, 1 / 12), slope_of(12, 3, 0.0), 1000, 3)
    aware = fw.choice_aware(evidence)
    assert aware.is_free
    assert len(aware.fits) > 5
    assert len(calls) == 2 * len(MIXED)  # of the test, and of the model
    steps: list[fw.Step] = []
    aware.intervals("mean", on_step=steps.append)
    assert len(calls) == 3 * len(MIXED)  # each group by itself
    assert [step.share for step in steps] == [1.0]
    aware.choice_intervals()
    aware.intervals("mean")
    assert len(calls) == 4 * len(MIXED)


def test_the_share_done_is_told_basis_by_basis() -> None:
    steps: list[fw.Step] = []
    evidence = chosen(MIXED, np.full(12, 1 / 12), slope_of(12, 3), 1000, 3)
    fw.choice_aware(evidence, on_step=steps.append)
    shares = [step.share or 0.0 for step in steps]
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < 0.2
    assert 0.8 < shares[-1] <= 1


@pytest.mark.parametrize(
    ("mechanisms", "basis", "words"),
    [
        (
            [fw.KRR(LABELS, 2 + i / 10) for i in range(10)],
            None,
            "1,791 coefficients: at most 1,000 are fitted. Keep at most 6 mechanisms "
            "(evidence.only), or give basis an array of functions",
        ),
        (
            [fw.KRR(TWO, 0.5 + i / 1000) for i in range(1002)],
            None,
            "1,001 coefficients: at most 1,000 are fitted. Keep at most 1,001 mechanisms "
            "(evidence.only).",
        ),
        (MIXED, 13, "basis=13: more functions than the 12 values"),
        (MIXED, "quadratics", "Did you mean 'quadratic'?"),
        ([fw.KRR(SMALL, 1.0), fw.KRR(SMALL, 2.0)], 3, "basis=3: more functions than the 2 values"),
        ([fw.KRR(TWO, 1.0), fw.KRR(TWO, 2.0)], "quadratic", "more functions than the 2 values"),
        (
            [fw.KRR(fw.Linear(0, 4999), 1.0), fw.KRR(fw.Linear(0, 4999), 2.0)],
            None,
            "the information of 2 mechanisms on 5,000 values needs",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, mechanisms: list[Any], basis: Any, words: str
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the work began")

    # By its name the module is hidden behind the function.
    monkeypatch.setattr(import_module("freewill.stats.choice.aware"), "gibu", never)
    with pytest.raises(fw.ParameterError) as refused:
        fw.choice_aware(fw.collect([(one, [0, 1]) for one in mechanisms]), basis)
    assert words in str(refused.value)


def test_functions_that_labels_share_fit_many_mechanisms() -> None:
    """As the refusal of too many coefficients says."""
    ten = [fw.KRR(LABELS, 2 + i / 10) for i in range(10)]
    aware = fw.choice_aware(uniform(*ten, people=100), np.arange(200) % 2)
    assert aware.choice.shape == (200, 10)


def test_an_estimate_made_by_hand_has_no_intervals() -> None:
    aware = fw.choice_aware(uniform(WIDE, SHARP))
    with pytest.raises(fw.EvidenceError, match="made by hand"):
        replace(aware, together=None).intervals("mean")
