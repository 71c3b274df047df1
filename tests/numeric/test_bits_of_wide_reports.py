"""RAPPOR beyond one byte: where the own bit goes, what is refused, how many outputs are listed."""

import numpy as np
import pytest

import freewill as fw

SIZES = [2, 7, 8, 9, 15, 16, 17, 20, 64, 65, 200]


@pytest.mark.parametrize("size", SIZES)
def test_with_hardly_any_flips_a_report_is_the_value_itself(size):
    """At epsilon 400 a bit flips once in e^200 draws: the report is the own bit alone."""
    mechanism = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=400.0)
    packed = mechanism.obfuscate(np.arange(size), np.random.default_rng(0))
    assert packed.shape == (size, -(-size // 8))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, :size], np.eye(size, dtype=np.uint8))
    assert not bits[:, size:].any()


@pytest.mark.parametrize("size", [9, 20])
def test_every_bit_flips_at_the_rate_of_the_law(size):
    mechanism = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=2.0)
    packed = mechanism.obfuscate(np.full(40_000, size - 1), np.random.default_rng(1))
    shares = np.unpackbits(packed, axis=1, bitorder="little")[:, :size].mean(axis=0)
    expected = np.full(size, 1 / (1 + np.e))
    expected[-1] = np.e / (1 + np.e)
    np.testing.assert_allclose(shares, expected, atol=0.014)


@pytest.mark.parametrize("size", [3, 9, 12, 20])
def test_bits_beyond_the_alphabet_are_refused_in_the_row_where_they_are(size):
    mechanism = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=1.0)
    reports = np.zeros((4, mechanism.output_space.width), dtype=np.uint8)
    reports[:, 0] = 5
    mechanism.operator(reports)
    reports[2, -1] |= 1 << size % 8
    with pytest.raises(fw.AlphabetError, match="report 2 of rappor has bits beyond"):
        mechanism.operator(reports)


@pytest.mark.parametrize("size", [2, 8, 9, 16])
def test_all_outputs_are_listed_in_order(size):
    outputs = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=1.0).outputs()
    assert outputs.shape == (2**size, -(-size // 8))
    places = 256 ** np.arange(outputs.shape[1])
    np.testing.assert_array_equal(outputs @ places, np.arange(2**size))


def test_seventeen_bits_are_not_listed():
    with pytest.raises(fw.LawError, match=r"2\^17 patterns"):
        fw.RAPPOR(fw.Linear(0, 16), epsilon=1.0).outputs()


@pytest.mark.parametrize("size", [2, 9, 20])
def test_witnesses_have_every_number_of_bits(size):
    witnesses = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=1.0).witnesses()
    assert np.bitwise_count(witnesses).sum(axis=1).tolist() == list(range(size + 1))


@pytest.mark.parametrize("size", [9, 20])
def test_products_ignore_the_padding(size):
    mechanism = fw.RAPPOR(fw.Linear(0, size - 1), epsilon=1.0)
    reports = mechanism.obfuscate(np.arange(size), np.random.default_rng(2))
    operator, theta = mechanism.operator(reports), np.random.default_rng(3).random(size)
    bits = np.unpackbits(reports, axis=1, bitorder="little")[:, :size]
    rows = np.exp(-1.0) + (1 - np.exp(-1.0)) * bits
    np.testing.assert_allclose(operator.forward(theta), rows @ theta, rtol=1e-13)
    np.testing.assert_allclose(operator.adjoint(theta), rows.T @ theta, rtol=1e-13)
