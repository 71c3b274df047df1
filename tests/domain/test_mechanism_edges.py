"""Mechanisms at their edges: ids, limits, refusals, and noise on long thin grids."""

import hashlib

import numpy as np
import pytest
from scipy.special import logsumexp

import freewill as fw
from freewill.domain.mechanisms import base
from freewill.domain.mechanisms.matrix import average

LINE = fw.Linear(0, 3)


def test_an_id_is_the_hash_of_the_sorted_spec():
    """Written out: files name mechanisms by it, so that it must never change."""
    spec = (
        '{"alphabet":{"first":0,"kind":"linear","last":3,"step":1},'
        '"epsilon":1.0,"mechanism":"k-rr","version":1}'
    )
    assert fw.KRR(LINE, 1.0).id == hashlib.sha256(spec.encode()).hexdigest()[:16]


def test_the_largest_law_is_listed_and_none_beyond(monkeypatch):
    mechanism = fw.KRR(LINE, 1.0)
    monkeypatch.setattr(base, "_LAW_LIMIT", 16)
    assert mechanism.law().shape == (4, 4)
    monkeypatch.setattr(base, "_LAW_LIMIT", 15)
    with pytest.raises(fw.LawError, match="which never lists them"):
        mechanism.law()


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR])
def test_epsilons_up_to_the_largest(kind):
    assert kind(LINE, 700.0).epsilon == 700.0
    assert isinstance(kind(LINE, 1).epsilon, float)
    for epsilon in (0.0, -1.0, 700.1, np.inf, np.nan):
        with pytest.raises(fw.ParameterError, match="epsilon="):
            kind(LINE, epsilon)


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR, fw.Geometric])
def test_one_value_is_too_few(kind):
    with pytest.raises(fw.AlphabetError, match="at least 2"):
        kind(fw.Linear(0, 0), 1.0)


def test_one_value_is_enough_for_what_promises_nothing():
    only = fw.Linear(5, 5)
    assert fw.Identity(only).law().tolist() == [[1.0]]
    assert fw.Matrix(only, [[0.5, 0.5]], outputs=LINE.__class__(0, 1)).law().shape == (1, 2)
    assert fw.Matrix(LINE, np.ones((4, 1)), outputs=only).law().shape == (4, 1)


@pytest.mark.parametrize(
    ("kind", "alphabet", "wanted"),
    [
        (fw.Geometric, fw.Grid(2, 2, cell=1.0), "expected a Linear alphabet"),
        (fw.PlanarGeometric, LINE, "expected a Grid"),
        (fw.KRR, "abc", "expected an alphabet"),
        (fw.RAPPOR, None, "expected an alphabet"),
    ],
)
def test_the_wrong_kind_of_alphabet(kind, alphabet, wanted):
    with pytest.raises(fw.AlphabetError, match=wanted):
        kind(alphabet, 1.0)


def test_matrices_and_losses_on_no_alphabet():
    with pytest.raises(fw.AlphabetError, match="expected an alphabet"):
        fw.Matrix([0, 1], np.eye(2))
    with pytest.raises(fw.AlphabetError, match="the outputs of matrix on"):
        fw.Matrix(fw.Linear(0, 1), np.eye(2), outputs=["a", "b"])
    with pytest.raises(fw.AlphabetError, match="expected an alphabet"):
        fw.Shokri([0, 1], quality_loss=1.0)


@pytest.mark.parametrize(
    "law",
    [
        np.full((4, 2, 1), 0.5),
        np.full(4, 1.0),
        np.full((3, 2), 0.5),
        np.empty((4, 0)),
        [[0.5, 0.5]] * 3 + [[np.nan, 1.0]],
        [[0.5, 0.5]] * 3 + [[np.inf, 1.0]],
        [[0.5, 0.5]] * 3 + [[-0.5, 1.5]],
        [[0.5, 0.5]] * 3 + [[0.5, 0.5 + 1e-6]],
        [[0.5, 0.5]] * 3 + [[0.5, 0.5 - 1e-6]],
    ],
    ids=str,
)
def test_one_wrong_row_makes_no_law(law):
    with pytest.raises(fw.LawError):
        fw.Matrix(LINE, law)


def test_the_average_of_one_is_itself():
    matrix = fw.Matrix(LINE, np.full((4, 2), 0.5))
    evidence = fw.collect([(matrix, [0, 1, 1])])
    estimate = fw.combine_mechanisms(evidence, fw.ibu)
    np.testing.assert_allclose(estimate.theta, fw.ibu(evidence).theta)


def clipped_noise(grid: fw.Grid, epsilon: float, value: int, output: int, reach: float) -> float:
    """Sum the noise over every lattice point whose nearest cell is the output, in logarithms."""
    east, north = (np.arange(-round(reach / side), round(reach / side) + 1) for side in grid.cell)
    log_noise = -epsilon * np.hypot(east * grid.cell[0], (north * grid.cell[1])[:, None])
    row, column = divmod(value, grid.columns)
    to_row = np.clip(row + north, 0, grid.rows - 1)
    to_column = np.clip(column + east, 0, grid.columns - 1)
    there = to_row[:, None] * grid.columns + to_column == output
    return float(logsumexp(log_noise[there]) - logsumexp(log_noise))


@pytest.mark.parametrize("shape", [(30, 3, (4.0, 0.5)), (3, 30, (0.5, 4.0)), (4, 4, (3.0, 0.5))])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_far_entries_of_thin_grids_are_accurate_too(shape, epsilon):
    """Far from a value the noise falls slowly to the side: the sums must reach further there."""
    grid = fw.Grid(shape[0], shape[1], cell=shape[2])
    mechanism = fw.PlanarGeometric(grid, epsilon)
    logs = mechanism.operator(mechanism.outputs()).log_dense()
    last, east, north = grid.size - 1, grid.columns - 1, grid.size - grid.columns
    for value, output in ((0, 0), (0, east), (0, north), (0, last), (last, 1), (last, 0)):
        exact = clipped_noise(grid, epsilon, value, output, reach=400.0)
        assert logs[output, value] == pytest.approx(exact, abs=1e-9)


def test_a_negative_zero_is_a_zero():
    plain = fw.Matrix(fw.Linear(0, 1), [[1.0, 0.0], [0.5, 0.5]])
    signed = fw.Matrix(fw.Linear(0, 1), [[1.0, -0.0], [0.5, 0.5]])
    assert plain == signed
    assert hash(plain) == hash(signed)
    assert plain.id == signed.id


@pytest.mark.parametrize("mechanism", [fw.Geometric(LINE, 1.0), fw.KRR(LINE, 0.7)], ids=str)
def test_one_mechanism_is_its_own_average(mechanism):
    assert average([mechanism], [5]) is mechanism


def test_parameters_of_other_packages_make_the_same_mechanisms():
    menu, line = fw.Categorical(["a", "b", "c", "d"]), fw.Linear(0, 9)
    for probability in (0.26, 0.5, 0.9, 1 - 1e-12):
        made = fw.KRR.of_probability(menu, probability)
        assert made.truths()[0] == pytest.approx(probability, rel=1e-12)
    for flip in (1e-12, 0.1, 0.25, 0.499):
        assert fw.RAPPOR.of_flip(line, flip).flip == pytest.approx(flip, rel=1e-9)
    assert fw.Geometric.of_scale(line, 0.5) == fw.Geometric(line, 2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fw.KRR.of_probability(fw.Linear(0, 3), 0.25), "must be above 1 / 4"),
        (lambda: fw.KRR.of_probability(fw.Linear(0, 3), 1.0), "> 0 and < 1"),
        (lambda: fw.KRR.of_probability("0..3", 0.5), "expected an alphabet"),
        (lambda: fw.RAPPOR.of_flip(fw.Linear(0, 3), 0.5), "must be below 1/2"),
        (lambda: fw.RAPPOR.of_flip(fw.Linear(0, 3), "0.1"), "> 0 and < 1"),
        (lambda: fw.Geometric.of_scale(fw.Linear(0, 3), 0), "must be a number > 0"),
        (lambda: fw.Geometric.of_scale(fw.Linear(0, 3), float("inf")), "must be a number > 0"),
    ],
)
def test_parameters_that_tell_nothing_are_refused(make, message):
    with pytest.raises(fw.FreewillError, match=message):
        make()


def test_bits_of_other_packages_are_received():
    line, rng = fw.Linear(0, 19), np.random.default_rng(0)
    bits = fw.OUE(line, 1.0)
    packed = bits.obfuscate(rng.integers(20, size=30), rng)
    rows = np.unpackbits(packed, axis=1, count=20, bitorder="little")
    for kind in (np.float64, np.int64, np.bool_):
        np.testing.assert_array_equal(bits.received(rows.astype(kind)), packed)
    sets = fw.SubsetSelection(line, 1.0)
    drawn = sets.obfuscate(rng.integers(20, size=30), rng)
    named = np.unpackbits(drawn, axis=1, count=20, bitorder="little")
    members = np.stack([np.flatnonzero(row) for row in named])[:, ::-1]
    np.testing.assert_array_equal(sets.received(members), drawn)


@pytest.mark.parametrize(
    "rows",
    [np.zeros(20), np.zeros((2, 21)), np.full((2, 20), 2), np.array([[3, 3]]), np.array([[0, 20]]),
     np.array([[0.5, 3.0]]), np.array([[-1, 3]])],
    ids=["one row", "too wide", "twos", "twice", "beyond", "halves", "below"],
)  # fmt: skip
def test_rows_that_are_no_bits_are_refused(rows):
    with pytest.raises(fw.AlphabetError, match=r"expected rows of 20 numbers|stands twice"):
        fw.SubsetSelection(fw.Linear(0, 19), 1.0).received(rows)
