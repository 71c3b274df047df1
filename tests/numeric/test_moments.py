"""What a report tells: moments against the law written out, bits and all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.core.types import FloatArray
from freewill.numeric.operators.moments import BitMoments, ListedMoments
from freewill.numeric.operators.sampled import SampledLaw
from profiles import examples

LINE, CITY, MENU = fw.Linear(0, 5), fw.Grid(3, 2, cell=0.5), fw.Categorical(list("abcdef"))
EPSILONS = st.floats(-7, 2.6).map(lambda power: 10.0**power)


def listed(mechanism: fw.Mechanism, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return all scores a/p - 1 and the probabilities p, from the law in long doubles."""
    law = mechanism.law().T.astype(np.longdouble)
    shares = law @ theta
    known = shares > 0
    return (law[known] / shares[known, None] - 1).astype(float), shares[known].astype(float)


def thetas(seed: int, rough: float) -> FloatArray:
    """Return a distribution that is the more uneven the rougher."""
    drawn = np.random.default_rng(seed).dirichlet(np.full(6, 1 / (1 + rough)))
    return np.asarray((drawn + 1e-6) / (drawn + 1e-6).sum())


KINDS = [
    lambda epsilon: fw.KRR(MENU, epsilon),
    lambda epsilon: fw.Geometric(LINE, epsilon),
    lambda epsilon: fw.PlanarGeometric(CITY, epsilon),
    lambda epsilon: fw.RAPPOR(LINE, epsilon),
]


@pytest.mark.parametrize("kind", KINDS, ids=["k-rr", "geometric", "planar", "rappor"])
@given(power=st.floats(-2, 1.2), seed=st.integers(0, 99), rough=st.floats(0, 20))
@examples(60)
def test_moments_are_those_of_the_law(kind, power, seed, rough):
    mechanism, theta = kind(10.0**power), thetas(seed, rough)
    scores, shares = listed(mechanism, theta)
    moments = mechanism.moments(theta)
    wanted = (scores.T * shares) @ scores
    scale = np.abs(wanted).max()
    assert moments.information() == pytest.approx(wanted, abs=1e-9 * scale)
    assert moments.diagonal() == pytest.approx(np.diag(wanted), abs=1e-9 * (1 + scale))
    rows = np.random.default_rng(seed).standard_normal((3, 6))
    for row in rows:
        assert moments.product(row) == pytest.approx(wanted @ row, abs=1e-8 * (1 + scale))
    rows -= rows.mean(axis=1, keepdims=True)
    third = shares @ (scores @ rows.T) ** 3
    size = shares @ np.abs(scores @ rows.T) ** 3
    found = moments.powers(rows)
    assert found[0] == pytest.approx(shares @ (scores @ rows.T) ** 2, rel=1e-7, abs=1e-9 * scale)
    assert np.all(np.abs(found[1] - third) <= 1e-8 * size)


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.Shokri(fw.Linear(0, 14), 2.0),
        fw.Matrix(LINE, np.hstack([fw.KRR(LINE, 1.0).law(), np.zeros((6, 2))])),
    ],
    ids=["shokri", "matrix"],
)
def test_outputs_that_never_come_tell_nothing(mechanism):
    size = mechanism.alphabet.size
    assert np.any(mechanism.law().sum(axis=0) == 0)
    theta = np.random.default_rng(1).dirichlet(np.ones(size))
    scores, shares = listed(mechanism, theta)
    wanted, moments = (scores.T * shares) @ scores, mechanism.moments(theta)
    assert moments.information() == pytest.approx(wanted, abs=1e-9)
    assert moments.diagonal() == pytest.approx(np.diag(wanted), abs=1e-9)
    row = np.random.default_rng(2).standard_normal(size)
    assert moments.product(row) == pytest.approx(wanted @ row, abs=1e-9)
    row -= row.mean()
    third = shares @ (scores @ row) ** 3
    assert mechanism.moments(theta).powers(row[None])[1] == pytest.approx([third])
    assert moments.powers(row[None])[1] == pytest.approx([third])


@pytest.mark.parametrize("kind", KINDS, ids=["k-rr", "geometric", "planar", "rappor"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 50.0, 300.0])
def test_the_ends_of_the_range_keep_their_digits(kind, epsilon):
    theta = thetas(3, 1.0)
    matrix = kind(epsilon).moments(theta).information()
    assert np.all(np.isfinite(matrix))
    assert matrix @ theta == pytest.approx(np.zeros(6), abs=1e-7 * np.abs(matrix).max())
    if epsilon < 1:
        # Information falls as the square of epsilon: a hundred times smaller is still right.
        finer = kind(epsilon / 100).moments(theta).information()
        assert finer * 1e4 == pytest.approx(matrix, rel=1e-3, abs=1e-6 * np.abs(matrix).max())
    else:
        # The truth itself: 1/theta on the diagonal.
        assert matrix == pytest.approx(np.diag(1 / theta) - 1, rel=1e-6)


def test_bits_are_never_listed():
    wide = fw.RAPPOR(fw.Linear(0, 999), epsilon=3.0)
    moments = wide.moments(np.full(1000, 1e-3))
    assert isinstance(moments, BitMoments)
    assert moments.response(0) is None
    assert isinstance(fw.KRR(LINE, 1.0).moments(np.full(6, 1 / 6)), ListedMoments)
    direction = np.zeros(1000)
    direction[[0, 1]] = 1, -1
    variance = float(direction @ moments.product(direction))
    # What 1e5 reports that are really drawn say of the same.
    values = np.random.default_rng(1).integers(1000, size=100_000)
    operator = wide.operator(wide.obfuscate(values, np.random.default_rng(0)))
    scores = operator.forward(direction) / operator.forward(np.full(1000, 1e-3))
    error = np.std(scores**2) / np.sqrt(100_000)
    assert abs(np.mean(scores**2) - variance) < 4 * error


def test_no_drawn_output_counts_for_less_than_a_tenth_of_what_it_did():
    """Sums of eight outputs cannot be made 1: one of them would count for less than nothing."""
    bits = fw.RAPPOR(LINE, 1.0)
    drawn = bits.obfuscate(np.arange(8) % 6, np.random.default_rng(1))
    operator = bits.operator(np.unique(drawn, axis=0))
    before = 1 / (8 * operator.forward(np.full(6, 1 / 6)))
    shares = SampledLaw(operator).mass / before
    assert shares.min() == pytest.approx(0.1)
    assert shares.max() > 1


def test_sums_of_each_bit_vanish_as_time_goes_by():
    """E_p e^(-t gain T), T = sum v_x theta_x, over all outputs written out."""
    theta = thetas(3, 2.0)
    bits = fw.RAPPOR(LINE, 2.0)
    moments = bits.moments(theta)
    rows = np.arange(64)[:, None] >> np.arange(6) & 1
    chance = np.where(rows, moments.flip, 1 - moments.flip).prod(axis=1)
    law = chance * (1 + moments.gain * rows @ theta) / (1 + moments.gain * moments.flip)
    assert law.sum() == pytest.approx(1)
    for time in (0.0, 0.5, 3.0):
        expected = law @ np.exp(-time * moments.gain * rows @ theta)
        assert moments.fading(time) == pytest.approx(expected, rel=1e-12)
