"""Values as people read and write them: what is reported, written and read back is the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.alphabets.base import encode_texts, readable, texts
from report_cases import ALPHABETS, CITY


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=str)
def test_every_value_is_read_back(alphabet):
    everything = np.arange(alphabet.size)
    values = readable(alphabet, everything)
    np.testing.assert_array_equal(alphabet.encode(values), everything)
    written = texts(alphabet, everything)
    found, kept = encode_texts(alphabet, written)
    assert kept.all()
    np.testing.assert_array_equal(found, everything)
    assert len(set(written)) == alphabet.size


@given(
    st.floats(-89, 88),
    st.floats(1e-6, 1),
    st.floats(-179, 178),
    st.floats(1e-6, 1),
    st.integers(1, 30),
    st.integers(1, 30),
)
def test_every_cell_of_any_box_is_read_back(south, tall, west, wide, columns, rows):
    grid = fw.Grid.box(south, south + tall, west, west + wide, columns, rows)
    everything = np.arange(grid.size)
    np.testing.assert_array_equal(grid.encode(readable(grid, everything)), everything)
    np.testing.assert_array_equal(encode_texts(grid, texts(grid, everything)).indices, everything)


def test_texts_are_what_a_person_would_write():
    assert texts(fw.Linear(1, 100), [40]) == ["41"]
    assert texts(CITY, [208]) == ["37.76094 -122.42153"]
    kept = encode_texts(
        CITY, ["37.76, -122.42", "37.76 -122.42", "37.76", "", "nan nan", "0 0"]
    ).kept
    assert kept.tolist() == [True, True, False, False, False, False]
    assert not encode_texts(
        fw.Linear(1, 100), ["0", "101", "1.5", "", "inf", "1 2", "x"]
    ).kept.any()
    assert encode_texts(fw.Linear(1, 100), []).indices.size == 0


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=str)
def test_a_report_is_the_value_of_the_index_that_obfuscate_draws(alphabet):
    """One value or many, drawn by the same law: the same reports from the same seed."""
    mechanisms = [fw.Identity(alphabet)]
    if alphabet.size > 1:
        mechanisms += [fw.KRR(alphabet, 1.0), fw.RAPPOR(alphabet, 1.0)]
    indices = np.arange(alphabet.size)[:50]
    values = readable(alphabet, indices)
    for mechanism in mechanisms:
        drawn = mechanism.obfuscate(indices, np.random.default_rng(3))
        reports = mechanism.report(values, np.random.default_rng(3))
        assert isinstance(reports, list)
        np.testing.assert_array_equal(mechanism.received(reports), drawn)
        one = mechanism.report(values[0], np.random.default_rng(3))
        alone = mechanism.obfuscate(indices[:1], np.random.default_rng(3))
        np.testing.assert_array_equal(mechanism.received(one), alone)
        np.testing.assert_array_equal(mechanism.received([one]), alone)
        assert mechanism.report([]) == []
        evidence = fw.collect([(mechanism, mechanism.received(reports))])
        assert evidence.people == len(values)


def test_what_a_person_gets_back():
    ages, menu = fw.Linear(1, 100), fw.Categorical(["yes", "no"])
    assert fw.Identity(ages).report(41) == 41
    assert type(fw.Identity(ages).report(np.int64(41))) is int
    assert fw.Identity(menu).report("no") == "no"
    assert fw.Identity(CITY).report((37.761, -122.421)) == (37.76094, -122.42153)
    assert fw.RAPPOR(fw.Linear(0, 9), 700.0).report(9) == "0002"
    law = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    other = fw.Matrix(menu, law, outputs=fw.Categorical(["a", "b", "c"]))
    assert other.report(["yes", "no"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("mechanism", "value", "words"),
    [
        (fw.KRR(fw.Linear(1, 100), 1.0), 0, ("0 is not in", "from 1 to 100")),
        (fw.KRR(fw.Linear(1, 100), 1.0), 101, ("101 is not in", "from 1 to 100")),
        (fw.KRR(fw.Linear(1, 100), 1.0), "41", ("'41'", "expected integers")),
        (fw.KRR(fw.Categorical(["yes", "no"]), 1.0), "yse", ("'yse'", "Did you mean 'yes'?")),
        (fw.KRR(fw.Categorical(["yes", "no"]), 1.0), 1, ("1 is not in", "'yes', 'no'")),
        (fw.PlanarGeometric(CITY, 1.0), (-122.42, 37.76), ("lat and lon swapped?",)),
        (fw.PlanarGeometric(CITY, 1.0), (0, 0), ("outside the grid", "(lat, lon)")),
        (fw.PlanarGeometric(CITY, 1.0), 208, ("pairs",)),
    ],
)
def test_values_outside_are_refused_in_their_own_words(mechanism, value, words):
    with pytest.raises(fw.AlphabetError) as caught:
        mechanism.report(value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("reports", ["zz", "00", "000000", ["0000", "00"], ["ffff"], 7, [7], b"00"])
def test_bits_that_are_none_are_refused(reports):
    with pytest.raises(fw.AlphabetError, match="rappor"):
        fw.RAPPOR(fw.Linear(0, 9), 1.0).received(reports)
