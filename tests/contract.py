"""What every mechanism is held to: one entry a mechanism, with an oracle for its law.

An oracle writes the law down from the paper's formula, naively and without the library's own
code. A new mechanism adds one `Entry` to `ENTRIES` and inherits all tests of
`test_mechanism_contract.py`.
"""

import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

import freewill as fw
from freewill.domain.mechanisms.registry import REGISTRY

_NEGLIGIBLE = 42.0
"""e^-42 (1 + 42) < 1e-16: planar noise further out than 42 / epsilon is lost in the rounding."""


@dataclass(frozen=True)
class Entry:
    """A mechanism, its oracle and what the paper says about its guarantee.

    `build(size, epsilon)` gives the mechanism at a size from 2 to 10. `oracle(mechanism)` gives
    its law, rows: alphabet, columns: `mechanism.outputs()`. `tight` says that no smaller epsilon
    than the promised one is true; None where that depends. `oracle_from` is the least epsilon at
    which the oracle is affordable; below, the law is held to its properties alone.
    """

    name: str
    build: Callable[[int, float], Any]
    oracle: Callable[[Any], np.ndarray]
    tight: bool | None
    oracle_from: float = 0.0

    def __str__(self) -> str:
        return self.name


# Alphabets -------------------------------------------------------------------------------------


def line(size: int) -> fw.Linear:
    return fw.Linear(-3, size - 4)


def wide_line(size: int) -> fw.Linear:
    return fw.Linear(10, 10 + 3 * (size - 1), step=3)


def menu(size: int) -> fw.Categorical:
    return fw.Categorical([f"label {number}" for number in range(size)])


def city(size: int) -> fw.Grid:
    return fw.Grid(columns=size + 1, rows=size, cell=0.5)


def oblong_city(size: int) -> fw.Grid:
    return fw.Grid(columns=size, rows=size + 1, cell=(0.7, 0.4))


def naive_distance(alphabet: Any, first: int, second: int) -> float:
    """Distance between the values at two indices, from the definition of each alphabet."""
    if isinstance(alphabet, fw.Categorical):
        return float(first != second)
    if isinstance(alphabet, fw.Linear):
        return float(abs(first - second) * alphabet.step)
    rows = abs(first // alphabet.columns - second // alphabet.columns)
    columns = abs(first % alphabet.columns - second % alphabet.columns)
    return math.sqrt((columns * alphabet.cell[0]) ** 2 + (rows * alphabet.cell[1]) ** 2)


# Oracles ---------------------------------------------------------------------------------------


def krr_law(mechanism: Any) -> np.ndarray:
    """Eq. 1."""
    size, odds = mechanism.alphabet.size, math.exp(mechanism.epsilon)
    law = np.empty((size, size))
    for x in range(size):
        for z in range(size):
            law[x, z] = (odds if z == x else 1.0) / (size - 1 + odds)
    return law


def geometric_law(mechanism: Any) -> np.ndarray:
    """Eqs. 2 and 3, with distances of step * |z - x|."""
    size, step, epsilon = mechanism.alphabet.size, mechanism.alphabet.step, mechanism.epsilon
    law = np.empty((size, size))
    for x in range(size):
        for z in range(size):
            constant = 1 / (1 + math.exp(-epsilon * step))
            if 0 < z < size - 1:
                constant *= 1 - math.exp(-epsilon * step)
            law[x, z] = constant * math.exp(-epsilon * step * abs(z - x))
    return law


def planar_law(mechanism: Any) -> np.ndarray:
    """Section II-C: noise on a wide window of the infinite grid, each point clipped, added up."""
    grid, epsilon = mechanism.alphabet, mechanism.epsilon
    columns, rows = grid.columns, grid.rows
    aside = _window(epsilon * grid.cell[0], columns)
    up = _window(epsilon * grid.cell[1], rows)
    east, north = np.meshgrid(aside * grid.cell[0], up * grid.cell[1])
    noise = np.exp(-epsilon * np.sqrt(east**2 + north**2))
    noise /= noise.sum()
    law = np.empty((grid.size, grid.size))
    for column in range(columns):
        by_column = noise @ _lands_on(column + aside, columns)
        for row in range(rows):
            by_cell = _lands_on(up + row, rows).T @ by_column
            law[row * columns + column] = by_cell.ravel()
    return law


def _window(decay: float, count: int) -> np.ndarray:
    """Displacements along one axis that matter from any of `count` places."""
    reach = math.ceil(_NEGLIGIBLE / decay) + count
    return np.arange(-reach, reach + 1)


def _lands_on(places: np.ndarray, count: int) -> np.ndarray:
    """Entry [t, z] is 1 where the nearest of 0 .. count-1 to place t is z."""
    return (np.clip(places, 0, count - 1)[:, None] == np.arange(count)).astype(float)


def rappor_law(mechanism: Any) -> np.ndarray:
    """Eq. 12, bit by bit: bit x of a report is bit x % 8 of its byte x // 8."""
    size, half = mechanism.alphabet.size, math.exp(mechanism.epsilon / 2)
    reports = mechanism.outputs().tolist()
    law = np.empty((size, len(reports)))
    for x in range(size):
        for column, report in enumerate(reports):
            probability = 1.0
            for bit in range(size):
                sent = report[bit // 8] >> (bit % 8) & 1
                probability *= (half if sent == (bit == x) else 1.0) / (1 + half)
            law[x, column] = probability
    return law


def unary_law(chances: Callable[[float], tuple[float, float]]) -> Callable[[Any], np.ndarray]:
    """Wang et al. 2017, section 4.3, bit by bit: the own is set with p, any other with q."""

    def law(mechanism: Any) -> np.ndarray:
        size, (p, q) = mechanism.alphabet.size, chances(mechanism)
        reports = mechanism.outputs().tolist()
        rows = np.empty((size, len(reports)))
        for x in range(size):
            for column, report in enumerate(reports):
                sent = [report[bit // 8] >> (bit % 8) & 1 for bit in range(size)]
                own = p if sent[x] else 1 - p
                others = math.prod(q if sent[y] else 1 - q for y in range(size) if y != x)
                rows[x, column] = own * others
        return rows

    return law


def subset_law(mechanism: Any) -> np.ndarray:
    """Ye and Barg 2018, eq. 3, over the listed sets."""
    size, odds, length = mechanism.alphabet.size, math.exp(mechanism.epsilon), mechanism.length
    reports = mechanism.outputs().tolist()
    total = math.comb(size - 1, length - 1) * odds + math.comb(size - 1, length)
    law = np.empty((size, len(reports)))
    for x in range(size):
        for column, report in enumerate(reports):
            law[x, column] = (odds if report[x // 8] >> (x % 8) & 1 else 1.0) / total
    return law


def hadamard_law(mechanism: Any) -> np.ndarray:
    """Acharya, Sun and Zhang 2019, section 4, by a matrix that is doubled from [[1]]."""
    size, odds = mechanism.alphabet.size, math.exp(mechanism.epsilon)
    matrix = np.ones((1, 1))
    while len(matrix) < size + 1:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    chances = np.where(matrix[1 : size + 1] > 0, odds, 1.0) / (1 + odds)
    return chances * 2 / len(matrix)


def oue_chances(mechanism: Any) -> tuple[float, float]:
    return 0.5, 1 / (math.exp(mechanism.epsilon) + 1)


def the_chances(mechanism: Any) -> tuple[float, float]:
    """Section 4.2: Laplace noise of scale 2 / epsilon exceeds the threshold."""
    half, cut = mechanism.epsilon / 2, mechanism.threshold
    return 1 - math.exp(half * (cut - 1)) / 2, math.exp(-half * cut) / 2


def some_unary(size: int, epsilon: float) -> fw.Unary:
    """An asymmetric one, of a little more than epsilon."""
    return fw.Unary(menu(size), p=0.25, q=1 / (1 + 3 * math.exp(epsilon * (1 + 1e-12))))


def identity_law(mechanism: Any) -> np.ndarray:
    size = mechanism.alphabet.size
    return np.array([[float(z == x) for z in range(size)] for x in range(size)])


def staircase_law(mechanism: Any) -> np.ndarray:
    """Noise of the discrete staircase on a wide window, each place clipped, added up."""
    size, epsilon = mechanism.alphabet.size, mechanism.epsilon
    steps = size - 1
    reach = steps * (math.ceil(_NEGLIGIBLE / epsilon) + 2)
    noise = np.arange(-reach, reach + 1)
    far = np.abs(noise)

    def chances(width: int) -> np.ndarray:
        weights = np.exp(-epsilon * (far // steps + (far % steps >= width)))
        return weights / weights.sum()

    width = min(range(1, steps + 1), key=lambda width: chances(width) @ far)
    if mechanism.gamma is not None:
        width = max(1, round(mechanism.gamma * steps))
    return np.array([chances(width) @ _lands_on(x + noise, size) for x in range(size)])


def square_wave_law(mechanism: Any) -> np.ndarray:
    """p near the value, q elsewhere, by the paper's b, p and q for buckets."""
    size, odds, epsilon = mechanism.alphabet.size, math.exp(mechanism.epsilon), mechanism.epsilon
    b = math.floor(size * (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon)))
    b = b if mechanism.reach is None else mechanism.reach
    q = 1 / ((2 * b + 1) * odds + size - 1)
    return np.array(
        [[odds * q if abs(y - b - x) <= b else q for y in range(size + 2 * b)] for x in range(size)]
    )


def planar_laplace_law(mechanism: Any) -> np.ndarray:
    """Integrals of the continuous noise over the cells of a wide window, each clipped, added up."""
    grid, epsilon = mechanism.alphabet, mechanism.epsilon
    (width, height), columns, rows = grid.cell, grid.columns, grid.rows
    counts = [
        _window(epsilon * side, n).size // 2 + 1 for side, n in ((width, columns), (height, rows))
    ]
    quarter = _cell_masses(epsilon, grid.cell, counts, 1 + int(epsilon * max(grid.cell) / 2))
    near = [min(count, 3) for count in counts]
    quarter[: near[1], : near[0]] = _cell_masses(epsilon, grid.cell, near, 8 + int(epsilon / 2))
    # In polar coordinates the centre has no kink: of its four quarters each is two triangles.
    quarter[0, 0] = 4 * (
        _triangle(epsilon, width / 2, height / 2) + _triangle(epsilon, height / 2, width / 2)
    )
    noise = np.block([[quarter[:0:-1, :0:-1], quarter[:0:-1]], [quarter[:, :0:-1], quarter]])
    aside, up = (np.arange(1 - count, count) for count in counts)
    law = np.empty((grid.size, grid.size))
    for column in range(columns):
        by_column = noise @ _lands_on(column + aside, columns)
        for row in range(rows):
            law[row * columns + column] = (_lands_on(up + row, rows).T @ by_column).ravel()
    return law


def _cell_masses(epsilon: float, cell: Any, counts: list[int], panels: int) -> np.ndarray:
    """Gauss rules on equal panels of each cell with offsets from 0 on, [row, column]."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    inside = ((nodes + 1) / 2 + np.arange(panels)[:, None]).ravel() / panels - 0.5
    masses = np.tile(weights / 2 / panels, panels)
    x = (np.arange(counts[0])[:, None] + inside) * cell[0]
    total = np.empty((counts[1], counts[0]))
    for row in range(counts[1]):
        y = (row + inside) * cell[1]
        density = np.exp(-epsilon * np.hypot(x[:, :, None], y))
        total[row] = np.einsum("cij,i,j->c", density, masses, masses)
    return total * epsilon**2 / (2 * math.pi) * cell[0] * cell[1]


def _triangle(epsilon: float, along: float, aside: float) -> float:
    """The mass between the centre and the far side of a quarter, angle by angle."""
    nodes, weights = np.polynomial.legendre.leggauss(100)
    half = math.atan2(aside, along) / 2
    reach = epsilon * along / np.cos(half * (nodes + 1))
    return float(half * weights @ (-np.expm1(-reach) - reach * np.exp(-reach))) / (2 * math.pi)


def rate_distortion_law(mechanism: Any) -> np.ndarray:
    """q_y e^(-beta d(x, y)) / Z_x, with the q of its description."""
    spec, size = mechanism.spec(), mechanism.alphabet.size
    law = np.empty((size, size))
    for x in range(size):
        terms = [
            spec["marginal"][y] * math.exp(-spec["beta"] * naive_distance(mechanism.alphabet, x, y))
            for y in range(size)
        ]
        law[x] = [term / sum(terms) for term in terms]
    return law


def given_law(mechanism: Any) -> np.ndarray:
    """The matrix in the description; `test_mechanisms.py` checks that it is the caller's."""
    return np.array(mechanism.spec()["law"])


def exponential_law(mechanism: Any) -> np.ndarray:
    """P(z | x) proportional to e^(-epsilon d(x, z) / 2)."""
    size = mechanism.alphabet.size
    law = np.empty((size, size))
    for x in range(size):
        terms = [
            math.exp(-mechanism.epsilon * naive_distance(mechanism.alphabet, x, z) / 2)
            for z in range(size)
        ]
        law[x] = [term / sum(terms) for term in terms]
    return law


# Laws without a formula ------------------------------------------------------------------------


def _rows(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)


def square_matrix(size: int, epsilon: float) -> fw.Matrix:
    """An asymmetric law: rows of uneven weights between 1 and e^epsilon."""
    x, z = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    return fw.Matrix(line(size), _rows(np.exp(epsilon * ((2 * x + 3 * z) % 5) / 4)))


def wide_matrix(size: int, epsilon: float) -> fw.Matrix:
    """More outputs than values."""
    x, z = np.meshgrid(np.arange(size), np.arange(size + 3), indexing="ij")
    return fw.Matrix(menu(size), _rows(np.exp(epsilon * ((x + 2 * z) % 7) / 6)))


def narrow_matrix(size: int, epsilon: float) -> fw.Matrix:
    """Fewer outputs than values, and named ones."""
    x, z = np.meshgrid(np.arange(size), np.arange(2), indexing="ij")
    weights = np.exp(epsilon * ((x + z) % 3) / 2)
    return fw.Matrix(line(size), _rows(weights), outputs=fw.Categorical(["low", "high"]))


def sparse_matrix(size: int, epsilon: float) -> fw.Matrix:
    """Each value reaches itself and the next one only; the last output is never seen."""
    law = np.zeros((size, size + 1))
    for x in range(size):
        law[x, x] += 1 / (1 + math.exp(-epsilon))
        law[x, (x + 1) % size] += 1 - 1 / (1 + math.exp(-epsilon))
    return fw.Matrix(line(size), law)


def shokri(alphabet: Any, epsilon: float, selection: str) -> fw.Shokri:
    """Some threshold for each epsilon: close to Qmax for small ones, to 0 for large ones."""
    size = alphabet.size
    blind = min(
        sum(naive_distance(alphabet, x, z) for x in range(size)) / size for z in range(size)
    )
    return fw.Shokri(alphabet, blind / (1 + epsilon), selection=selection)


def shokri_by_three(size: int, epsilon: float) -> fw.Shokri:
    """A line with steps of 3."""
    return shokri(wide_line(size), epsilon, "max-entropy")


def coin_law(mechanism: Any) -> np.ndarray:
    """The truth, or one of the best blind guesses."""
    alphabet = mechanism.alphabet
    size = alphabet.size
    blind = [sum(naive_distance(alphabet, x, z) for x in range(size)) / size for z in range(size)]
    best = [z for z in range(size) if blind[z] < min(blind) * (1 + 1e-12)]
    share = mechanism.quality_loss_limit / min(blind)
    law = np.zeros((size, size))
    for x in range(size):
        law[x, x] += 1 - share
        law[x, best] += share / len(best)
    return law


def solved_law(mechanism: Any) -> np.ndarray:
    """The law as solved; `test_shokri.py` holds it against other solvers."""
    return np.array(mechanism.as_matrix().spec()["law"])


def three_quarters_law(mechanism: Any) -> np.ndarray:
    """Bit by bit: the own is set with 3/4, any other with 3 / (e^epsilon + 3)."""
    size, other = mechanism.alphabet.size, 3 / (math.exp(mechanism.epsilon) + 3)
    reports = mechanism.outputs().tolist()
    law = np.empty((size, len(reports)))
    for x in range(size):
        for column, report in enumerate(reports):
            chances = [0.75 if bit == x else other for bit in range(size)]
            sent = [report[bit // 8] >> (bit % 8) & 1 for bit in range(size)]
            each = (p if one else 1 - p for p, one in zip(chances, sent, strict=True))
            law[x, column] = math.prod(each)
    return law


def load_from_docs(name: str) -> Any:
    """A module of docs/, which newcomers copy; what it registers is left to the tests."""
    path, known = Path(__file__).parent.parent / "docs" / f"{name}.py", dict(REGISTRY)
    found = importlib.util.spec_from_file_location(f"copied_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = sys.modules[f"copied_{name}"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    for more in REGISTRY.keys() - known:
        del REGISTRY[more]
    return module


Exponential = load_from_docs("skeleton").Exponential
ThreeQuarters = load_from_docs("three_quarters").ThreeQuarters


ENTRIES = (
    Entry("k-rr on a line", lambda k, e: fw.KRR(line(k), e), krr_law, tight=True),
    Entry("k-rr on labels", lambda k, e: fw.KRR(menu(k), e), krr_law, tight=True),
    Entry("k-rr on a grid", lambda k, e: fw.KRR(oblong_city(k), e), krr_law, tight=True),
    Entry("geometric", lambda k, e: fw.Geometric(line(k), e), geometric_law, tight=True),
    Entry("geometric by 3", lambda k, e: fw.Geometric(wide_line(k), e), geometric_law, tight=True),
    Entry(
        "planar geometric",
        lambda k, e: fw.PlanarGeometric(city(k), e),
        planar_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry(
        "planar geometric, oblong cells",
        lambda k, e: fw.PlanarGeometric(oblong_city(k), e),
        planar_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry("rappor on a line", lambda k, e: fw.RAPPOR(line(k), e), rappor_law, tight=True),
    Entry("rappor on labels", lambda k, e: fw.RAPPOR(menu(k), e), rappor_law, tight=True),
    Entry("unary", some_unary, unary_law(lambda m: (m.p, m.q)), tight=True),
    Entry("oue on a line", lambda k, e: fw.OUE(line(k), e), unary_law(oue_chances), tight=True),
    Entry("oue on labels", lambda k, e: fw.OUE(menu(k), e), unary_law(oue_chances), tight=True),
    Entry(
        "the", lambda k, e: fw.THE(line(k), e, threshold=0.75), unary_law(the_chances), tight=False
    ),
    Entry("subset", lambda k, e: fw.SubsetSelection(line(k), e), subset_law, tight=True),
    Entry(
        "long subsets", lambda k, e: fw.SubsetSelection(menu(k), e, k - 1), subset_law, tight=True
    ),
    Entry("hadamard", lambda k, e: fw.HadamardResponse(line(k), e), hadamard_law, tight=True),
    Entry("square matrix", square_matrix, given_law, tight=True),
    Entry("wide matrix", wide_matrix, given_law, tight=True),
    Entry("narrow matrix", narrow_matrix, given_law, tight=True),
    Entry("matrix with zeros", sparse_matrix, given_law, tight=True),
    Entry("identity", lambda k, e: fw.Identity(city(k)), identity_law, tight=True),
    Entry("shokri", lambda k, e: shokri(line(k), e, "max-entropy"), solved_law, tight=True),
    Entry(
        "shokri by 3", lambda k, e: shokri(wide_line(k), e, "max-entropy"), solved_law, tight=True
    ),
    Entry("shokri, vertex", lambda k, e: shokri(line(k), e, "vertex"), solved_law, tight=True),
    Entry("exponential", lambda k, e: fw.Exponential(line(k), e), exponential_law, tight=False),
    Entry(
        "exponential on labels",
        lambda k, e: fw.Exponential(menu(k), e),
        exponential_law,
        tight=False,
    ),
    Entry(
        "exponential on a grid",
        lambda k, e: fw.Exponential(oblong_city(k), e),
        exponential_law,
        tight=False,
    ),
    Entry(
        "planar laplace",
        lambda k, e: fw.PlanarLaplace(city(k), e),
        planar_laplace_law,
        tight=False,
        oracle_from=2.0,
    ),
    Entry(
        "planar laplace, oblong cells",
        lambda k, e: fw.PlanarLaplace(oblong_city(k), e),
        planar_laplace_law,
        tight=False,
        oracle_from=2.0,
    ),
    Entry(
        "staircase",
        lambda k, e: fw.Staircase(line(k), e),
        staircase_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry(
        "staircase by 3, wide stairs",
        lambda k, e: fw.Staircase(wide_line(k), e, gamma=0.6),
        staircase_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry("square wave", lambda k, e: fw.SquareWave(wide_line(k), e), square_wave_law, tight=True),
    Entry(
        "square wave of reach 2",
        lambda k, e: fw.SquareWave(line(k), e, reach=2),
        square_wave_law,
        tight=True,
    ),
    Entry(
        "blahut-arimoto",
        lambda k, e: fw.BlahutArimoto(line(k), e),
        rate_distortion_law,
        tight=None,
    ),
    Entry(
        "blahut-arimoto on a grid",
        lambda k, e: fw.BlahutArimoto(city(k), e),
        rate_distortion_law,
        tight=None,
    ),
    Entry("optimal geo", lambda k, e: fw.OptimalGeo(line(k), e), given_law, tight=None),
    Entry("optimal geo on labels", lambda k, e: fw.OptimalGeo(menu(k), e), given_law, tight=None),
    Entry("skeleton on a line", lambda k, e: Exponential(line(k), e), exponential_law, tight=False),
    Entry("skeleton on a grid", lambda k, e: Exponential(city(k), e), exponential_law, tight=False),
    Entry(
        "skeleton of bits", lambda k, e: ThreeQuarters(line(k), e), three_quarters_law, tight=True
    ),
)


# Judges ----------------------------------------------------------------------------------------


def naive_epsilon(law: np.ndarray, alphabet: Any, kind: str) -> float:
    """The smallest true epsilon, over all outputs and all pairs of values."""
    worst = 0.0
    for first in range(len(law)):
        for second in range(len(law)):
            for left, right in zip(law[first], law[second], strict=True):
                if first == second or left == 0:
                    continue
                ratio = math.inf if right == 0 else math.log(left / right)
                apart = naive_distance(alphabet, first, second) if kind == "geo" else 1.0
                worst = max(worst, ratio / apart)
    return worst


def naive_adversary_loss(law: np.ndarray, alphabet: Any) -> float:
    """What the best guess on each output loses under a uniform prior."""
    size = len(law)
    return sum(
        min(
            sum(law[x, y] * naive_distance(alphabet, x, z) for x in range(size)) / size
            for z in range(size)
        )
        for y in range(law.shape[1])
    )


def naive_loss(law: np.ndarray, alphabet: Any, prior: np.ndarray) -> float:
    """E d(x, z), term by term."""
    return sum(
        prior[x] * law[x, z] * naive_distance(alphabet, x, z)
        for x in range(len(law))
        for z in range(len(law))
    )


def count_reports(mechanism: Any, reports: np.ndarray) -> np.ndarray:
    """How often each of `mechanism.outputs()` was reported."""
    place = {output.tobytes(): index for index, output in enumerate(mechanism.outputs())}
    counts = np.zeros(len(place))
    for report, count in zip(*np.unique(reports, axis=0, return_counts=True), strict=True):
        counts[place[report.tobytes()]] = count
    return counts


def g_test(counts: np.ndarray, law: np.ndarray, least: float = 10.0) -> float:
    """p-value of the counts under the law, cells of small expectation merged.

    1 where everything falls into one cell, so that there is nothing to test.
    """
    expected = counts.sum() * law
    merged: list[tuple[float, float]] = [(0.0, 0.0)]
    for cell in np.argsort(expected):
        if merged[-1][1] >= least:
            merged.append((0.0, 0.0))
        merged[-1] = (merged[-1][0] + counts[cell], merged[-1][1] + expected[cell])
    observed, wanted = np.array(merged).T
    seen = observed > 0
    statistic = 2 * float(np.sum(observed[seen] * np.log(observed[seen] / wanted[seen])))
    return float(chi2.sf(statistic, len(merged) - 1)) if len(merged) > 1 else 1.0
