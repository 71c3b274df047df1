"""Maps of reports, reports that may be nothing, and what cannot be composed."""

import math

import numpy as np
import pytest

import freewill as fw
from composed_cases import composed_law, two_kinds
from freewill.domain.alphabets.groups import coarser
from freewill.domain.outputs import Reason, Symbols
from freewill.domain.packed_outputs import Bits, Maybe, Records

LINE = fw.Linear(0, 3)


# Maps --------------------------------------------------------------------------------------------


def test_maps_may_be_written_in_many_ways():
    noise = fw.Geometric(fw.Linear(0, 4), 1.0)
    bins = noise.then(coarser(noise.alphabet, 2))
    assert bins.output_alphabet == fw.Categorical(["0..1", "2..3", "4..4"])
    assert bins.map == noise.then([0, 0, 1, 1, 2]).map == (0, 0, 1, 1, 2)
    matrix = noise.then(np.eye(3)[[0, 0, 1, 1, 2]])
    np.testing.assert_allclose(matrix.law(), bins.law(), rtol=1e-15)
    same = noise.then(lambda value: min(value, 3))
    assert same.output_alphabet == noise.alphabet
    assert same.quality_loss() == pytest.approx(
        (same.law() * fw.distances(noise.alphabet)).sum() / 5
    )
    named = noise.then(lambda value: "low" if value < 2 else "high")
    assert named.output_alphabet == fw.Categorical(["low", "high"])
    other = noise.then(lambda value: 10 * value, fw.Linear(0, 40, step=10))
    np.testing.assert_allclose(other.law(), noise.law(), rtol=1e-14)
    assert noise.then(coarser(noise.alphabet, {"few": [0, 1]})).output_alphabet.labels == (
        "few",
        "the rest",
    )


def test_a_function_of_bits_takes_the_values_that_are_set():
    bits = fw.RAPPOR(fw.Categorical(["a", "b", "c"]), 1.0)
    first = bits.then(lambda named: named[0] if named else "none")
    assert first.output_alphabet.labels == ("none", "a", "b", "c")
    np.testing.assert_allclose(first.law(), composed_law(first), rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0, 1, 1], "a map of length 3: expected an index for each of 4 outputs"),
        ([0, 1, 1, -1], "outside"),
        ([0.5, 1, 1, 1], "expected integers"),
        (np.ones((3, 2)) / 2, r"map of shape \(3, 2\): expected \(4, outputs\), one row an output"),
        (np.ones((4, 2)), "row 0 of the map sums to 2"),
        ([[0.5, 0.5], [1.0]] * 2, "rows of equal length"),
        (3, "expected an index for each of 4 outputs, groups"),
        (lambda value: None, "the map gives None"),
        (coarser(fw.Linear(0, 9), 2), "groups of 0..9 for reports that are values of 0..3"),
    ],
)
def test_maps_that_are_wrong_are_refused(given, message):
    with pytest.raises(fw.FreewillError, match=message):
        fw.KRR(LINE, 1.0).then(given)


def test_outputs_must_fit_the_map():
    with pytest.raises(fw.LawError, match="3 columns to 4 outputs"):
        fw.KRR(LINE, 1.0).then(np.ones((4, 3)) / 3, LINE)
    with pytest.raises(fw.AlphabetError, match="outside"):
        fw.KRR(LINE, 1.0).then([0, 1, 2, 3], fw.Categorical(["a", "b"]))
    with pytest.raises(fw.AlphabetError, match="expected an alphabet"):
        fw.KRR(LINE, 1.0).then([0, 1, 1, 1], "ab")


@pytest.mark.parametrize(
    "mechanism",
    [fw.RAPPOR(fw.Linear(0, 29), 1.0), fw.LocalHashing(LINE, 1.0)],
    ids=["wide bits", "hashing"],
)
def test_what_cannot_be_listed_is_not_mapped(mechanism):
    with pytest.raises(fw.LawError, match="cannot be listed: a map names an output for each"):
        mechanism.then([0, 1])


def test_records_take_no_function():
    with pytest.raises(fw.ParameterError, match="Write an index for each of outputs"):
        two_kinds(4, 1.0).then(lambda value: value)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [0, -0.1, 1.1, math.nan, math.inf, "half", None, True])
def test_chances_outside_0_to_1_are_refused(chance):
    with pytest.raises(fw.ParameterError, match="must be a number > 0 and <= 1"):
        fw.Perhaps(fw.KRR(LINE, 1.0), chance)


def test_parts_must_be_two_mechanisms_of_one_alphabet():
    one = fw.KRR(LINE, 1.0)
    with pytest.raises(fw.ParameterError, match="both of 1 mechanism: expected at least two"):
        fw.Both(one)
    with pytest.raises(fw.ParameterError, match="expected at least two"):
        fw.Both()
    with pytest.raises(fw.AlphabetError, match="must be on the same alphabet"):
        fw.Both(one, fw.KRR(fw.Linear(0, 4), 1.0))
    for wrong in (fw.KRR, 1.0, "k-rr", None):
        with pytest.raises(fw.ParameterError, match="expected a mechanism"):
            fw.Both(one, wrong)
        with pytest.raises(fw.ParameterError, match="expected a mechanism"):
            fw.Perhaps(wrong, 0.5)
        with pytest.raises(fw.ParameterError, match="expected a mechanism"):
            fw.Then(wrong, [0, 1])


def test_spaces_without_bytes_cannot_be_parts():
    class Foreign(fw.KRR):
        @property
        def output_space(self):
            return object()

    with pytest.raises(fw.ParameterError, match="cannot be a part of a report"):
        fw.Perhaps(Foreign(LINE, 1.0), 0.5)


# Reports that may be nothing ---------------------------------------------------------------------

SPACES = [
    Symbols(fw.Linear(0, 299)),
    Bits(12),
    Records((Symbols(LINE), Bits(3))),
    Maybe(Symbols(LINE)),
]


@pytest.mark.parametrize("inner", SPACES, ids=str)
def test_nothing_and_reports_are_written_read_and_counted(inner):
    space = Maybe(inner)
    every = space.all()
    assert len(every) == space.places == inner.places + 1
    np.testing.assert_array_equal(space.numbers(every), np.arange(space.places))
    np.testing.assert_array_equal(space.numbered(np.arange(space.places)), every)
    for column in (space.encode(every), space.texts(every)):
        decoded = space.decode(column)
        assert decoded.good.all()
        np.testing.assert_array_equal(decoded.outputs, every)
    counter = space.counter()
    counter.add(np.repeat(every[:3], [1, 2, 3], axis=0), None)
    outputs, counts = counter.result()
    np.testing.assert_array_equal(outputs, every[:3])
    np.testing.assert_array_equal(counts, [1, 2, 3])


def test_rows_that_are_neither_nothing_nor_a_report_are_refused():
    space = Maybe(Symbols(LINE))
    rows = np.array([[0, 0], [0, 1], [1, 3], [1, 4], [2, 0]], dtype=np.uint8)
    np.testing.assert_array_equal(space.strays(rows), [False, True, False, True, True])
    decoded = space.decode(space.encode(rows))
    np.testing.assert_array_equal(decoded.bad[Reason.WRONG_PART], space.strays(rows))
    with pytest.raises(fw.AlphabetError, match="report 1 of perhaps is 0001: expected 0000, or 01"):
        space.checked(rows, "perhaps")


def test_rows_of_bytes_are_not_taken_for_rows_of_bits():
    both, rng = two_kinds(4, 1.0), np.random.default_rng(0)
    reports = both.obfuscate([0, 1], rng)
    with pytest.raises(fw.FreewillError, match="hexadecimal"):
        both.received(reports)
    np.testing.assert_array_equal(both.received(both.written(reports)), reports)
