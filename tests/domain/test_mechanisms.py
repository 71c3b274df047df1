"""What single mechanisms do beyond the contract that all of them share."""

import numpy as np
import pytest

import freewill as fw
from contract import city, line, menu

LAW = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]


def test_matrix_keeps_the_law_it_was_given():
    mechanism = fw.Matrix(fw.Linear(0, 1), LAW)
    np.testing.assert_array_equal(mechanism.law(), LAW)
    assert mechanism.spec()["law"] == LAW
    assert mechanism.output_alphabet == fw.Linear(0, 2)
    assert fw.Matrix(menu(2), np.eye(2)).output_alphabet == menu(2)
    assert fw.Matrix(menu(2), LAW, outputs=menu(3)).output_alphabet == menu(3)


def test_matrix_cannot_be_changed_from_outside():
    law = np.array(LAW)
    mechanism = fw.Matrix(fw.Linear(0, 1), law)
    law[0, 0] = 7.0
    np.testing.assert_array_equal(mechanism.law(), LAW)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.matrix[0, 0] = 7.0


def test_matrices_differ_by_law_and_outputs():
    plain = fw.Matrix(fw.Linear(0, 1), LAW)
    assert plain != fw.Matrix(fw.Linear(1, 2), LAW)
    assert plain != fw.Matrix(fw.Linear(0, 1), LAW, outputs=menu(3))
    assert plain != fw.Matrix(fw.Linear(0, 1), LAW[::-1])


def test_equal_matrices_have_equal_names():
    """-0.0 equals 0.0, so it must not make another mechanism."""
    plain = fw.Matrix(fw.Linear(0, 1), np.eye(2))
    signed = fw.Matrix(fw.Linear(0, 1), [[1.0, -0.0], [-0.0, 1.0]])
    assert plain == signed
    assert hash(plain) == hash(signed)
    assert plain.id == signed.id


def test_matrix_never_draws_impossible_outputs_at_the_end():
    """Rounding of the cumulated row must not open a door to the zeros behind it."""
    law = np.append(np.full(10, 0.1), np.zeros(3))
    mechanism = fw.Matrix(fw.Linear(0, 0), [law])

    class Stuck:
        """A generator of one word: the largest or the smallest uniform number."""

        def __init__(self, largest):
            self.largest = largest

        def integers(self, low, high, size=None, dtype=None):
            return np.full(size or (), high - 1 if self.largest else low, dtype=dtype)

    assert mechanism.obfuscate([0], Stuck(largest=True)).tolist() == [9]
    assert mechanism.obfuscate([0], Stuck(largest=False)).tolist() == [0]


def test_identity_reports_the_truth_in_a_new_array():
    values = np.arange(5)
    reports = fw.Identity(line(5)).obfuscate(values, np.random.default_rng(0))
    np.testing.assert_array_equal(reports, values)
    reports[0] = 3
    assert values[0] == 0


def test_rappor_reports_are_packed():
    """One bit a value, eight a byte, none beyond the alphabet."""
    mechanism = fw.RAPPOR(fw.Linear(0, 99), 1.0)
    reports = mechanism.obfuscate(np.zeros(50_000, dtype=int), np.random.default_rng(0))
    assert reports.shape == (50_000, 13)
    assert reports.dtype == np.uint8
    assert reports[:, -1].max() == 0b1111
    bits = np.unpackbits(reports, axis=1, count=100, bitorder="little").mean(axis=0)
    kept = 1 / (1 + np.exp(-0.5))
    assert bits[0] == pytest.approx(kept, abs=0.011)
    np.testing.assert_allclose(bits[1:], 1 - kept, rtol=0, atol=0.011)


def test_rappor_audits_without_listing_its_outputs():
    found = fw.audit(fw.RAPPOR(fw.Linear(0, 99), 2.0))
    assert found.holds
    assert found.tight


def test_planar_noise_is_symmetric():
    """Turning the city around turns the law around."""
    law = fw.PlanarGeometric(city(4), 0.8).law().reshape(4, 5, 4, 5)
    np.testing.assert_allclose(law, law[::-1, :, ::-1], rtol=1e-13)
    np.testing.assert_allclose(law, law[:, ::-1, :, ::-1], rtol=1e-13)


@pytest.mark.parametrize("epsilon", [200.0, 700.0])
@pytest.mark.parametrize(
    ("kind", "alphabet"),
    [
        (fw.KRR, line(5)),
        (fw.Geometric, line(5)),
        (fw.PlanarGeometric, city(4)),
        (fw.RAPPOR, line(5)),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value),
)
def test_huge_epsilons_keep_their_promise(kind, alphabet, epsilon):
    """Close to the smallest double, the law still does not contradict the guarantee."""
    mechanism = kind(alphabet, epsilon)
    np.testing.assert_allclose(mechanism.law().sum(axis=1), 1, rtol=0, atol=1e-12)
    assert fw.audit(mechanism).holds


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (fw.KRR(fw.Linear(0, 99), 3.54), "k-rr(0..99, epsilon=3.54)"),
        (fw.Identity(fw.Linear(0, 99)), "identity(0..99)"),
        (fw.Matrix(fw.Linear(0, 1), LAW), "matrix(0..1, 3 outputs)"),
    ],
)
def test_short_names(mechanism, text):
    assert str(mechanism) == text


def test_exponential_is_more_private_than_it_promises():
    """On labels all n_x are equal, so that half of epsilon is enough."""
    found = fw.audit(fw.Exponential(menu(4), 1.0))
    assert found.epsilon == pytest.approx(0.5)
