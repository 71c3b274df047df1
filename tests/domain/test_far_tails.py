"""No output is out of reach: for each, a stream of bytes is made that leads to it."""

import numpy as np
import pytest

import freewill as fw
from draw_cases import decided, stepped
from freewill.domain.draws.sources import GivenBytes

LINE = fw.Linear(0, 99)
CITY = fw.Grid(24, 16, cell=1.0)


def reached(mechanism, value, stream):
    """What the mechanism reports on exactly these bytes."""
    source = GivenBytes(stream)
    report = mechanism.draw(value, source)
    assert source.used == len(stream)
    return report


@pytest.mark.parametrize(
    ("epsilon", "stride"),
    [
        pytest.param(0.5, 1, marks=pytest.mark.later),
        (2.0, 1),
        (20.0, 9),
        pytest.param(1e4, 33, marks=pytest.mark.later),
    ],
)
def test_geometric_reaches_all_of_the_line(epsilon, stride):
    """0..99 at epsilon 2: all 10,000 pairs; e^-990,000 is reached as well."""
    mechanism = fw.Geometric(LINE, epsilon)
    for value in range(0, 100, stride):
        for report in range(0, 100, stride):
            step = report - value
            assert reached(mechanism, value, stepped(mechanism.steps, step)) == report


def test_geometric_ends_are_reached_from_beyond():
    mechanism = fw.Geometric(LINE, 2.0)
    for value in (0, 50, 99):
        assert reached(mechanism, value, stepped(mechanism.steps, 10**6)) == 99
        assert reached(mechanism, value, stepped(mechanism.steps, -(10**6))) == 0


@pytest.mark.parametrize("epsilon", [45.0, 300.0, 700.0])
def test_krr_reaches_every_value(epsilon):
    mechanism = fw.KRR(LINE, epsilon)
    replaced = decided(mechanism.replaced, True)
    assert len(replaced) >= epsilon / np.log(256) - 1
    for report in range(100):
        assert reached(mechanism, 17, replaced + bytes([report])) == report
    assert reached(mechanism, 17, decided(mechanism.replaced, False)) == 17


@pytest.mark.parametrize("epsilon", [120.0, pytest.param(700.0, marks=pytest.mark.later)])
def test_rappor_reaches_every_pattern(epsilon):
    mechanism = fw.RAPPOR(fw.Linear(0, 9), epsilon)
    flip, keep = (decided(mechanism.flipped, outcome) for outcome in (True, False))
    for pattern, row in enumerate(mechanism.outputs()):
        for value in (0, 7):
            flips = [(pattern >> v & 1) ^ (v == value) for v in range(10)]
            stream = b"".join(flip if flipped else keep for flipped in flips)
            np.testing.assert_array_equal(reached(mechanism, value, stream), row)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_planar_reaches_every_cell(epsilon):
    """24 x 16 at 10 per cell: from every corner and from the middle to all 384 cells."""
    mechanism = fw.PlanarGeometric(CITY, epsilon)
    across, along = mechanism.noise.steps
    for value in (0, 23, 24 * 15, 24 * 16 - 1, 24 * 7 + 11):
        row, column = divmod(value, 24)
        for report in range(384):
            up, aside = (report // 24 - row), (report % 24 - column)
            accepted = mechanism.noise.acceptance(abs(aside), abs(up))
            stream = stepped(across, aside) + stepped(along, up) + decided(accepted, True)
            assert reached(mechanism, value, stream) == report


def test_a_rejected_proposal_is_made_anew():
    mechanism = fw.PlanarGeometric(CITY, 1.0)
    across, along = mechanism.noise.steps
    accepted = mechanism.noise.acceptance(3, 0)
    stream = stepped(across, 3) + stepped(along, 0) + decided(accepted, False)
    stream += stepped(across, -1) + stepped(along, 1)
    # At (1, 1) of square cells G is 0, or next to it.
    stream += decided(mechanism.noise.acceptance(1, 1), True)
    assert reached(mechanism, 24 * 7 + 11, stream) == 24 * 8 + 10


@pytest.mark.parametrize("rare", [1e-17, 1e-100, 5e-324])
def test_the_rarest_entry_of_a_matrix_is_reached(rare):
    """The first index of the table is V = 0; the last of three is V = S - 1, to the last bit."""
    for law, report in (([[rare, 0.25, 0.75]], 0), ([[0.75, 0.25, rare]], 2)):
        mechanism = fw.Matrix(fw.Linear(0, 0), law)
        (weights,) = mechanism.weights()
        assert all(weights)
        bits = (sum(weights) - 1).bit_length()
        last = 0 if report == 0 else sum(weights) - 1
        stream = last.to_bytes(-(-bits // 8), "big")
        source = GivenBytes(stream)
        assert mechanism.draw(0, source) == report
        assert source.used > 6


def test_weights_of_all_pairs_are_positive_where_doubles_gave_none():
    """Geometric on 0..2 at epsilon 20 could not send 2 from 0; at .5 on 0..99, 756 pairs failed."""
    for mechanism in (fw.Geometric(fw.Linear(0, 2), 20.0), fw.Geometric(LINE, 0.5)):
        assert all(weight > 0 for row in mechanism.weights() for weight in row)
