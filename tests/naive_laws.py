"""Laws written down from their formulas, naively and without the library's own code."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import freewill as fw

_NEGLIGIBLE = 42.0
"""e^-42 (1 + 42) < 1e-16: planar noise further out than 42 / epsilon is lost in the rounding."""

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


def coast(size: int) -> fw.Grid:
    """The north-eastern part of a grid, with a bay and an island."""
    sides = range(size + 1)
    kept = [[c + 2 * r > 2 and (c, r) != (2, size) for c in sides] for r in sides]
    kept[0][0] = size > 3
    return fw.Grid(columns=size + 1, rows=size + 1, cell=(0.7, 0.4), mask=kept)


def naive_distance(alphabet: Any, first: int, second: int) -> float:
    """Distance between the values at two indices, from the definition of each alphabet."""
    if isinstance(alphabet, fw.Categorical):
        return float(first != second)
    if isinstance(alphabet, fw.Linear):
        return float(abs(first - second) * alphabet.step)
    first, second = (kept_cells(alphabet)[index] for index in (first, second))
    rows = abs(first // alphabet.columns - second // alphabet.columns)
    columns = abs(first % alphabet.columns - second % alphabet.columns)
    return math.sqrt((columns * alphabet.cell[0]) ** 2 + (rows * alphabet.cell[1]) ** 2)


# Oracles ---------------------------------------------------------------------------------------


def kept_cells(grid: Any) -> list[int]:
    """The places of the cells that are kept, run by run."""
    cells, place = [], 0
    for number, length in enumerate(grid.mask or (0, grid.columns * grid.rows)):
        cells += range(place, place + length) if number % 2 else ()
        place += length
    return cells


def remapped_law(grid: Any, whole: np.ndarray) -> np.ndarray:
    """Rows of the cells that are kept; reports elsewhere as the nearest, westernmost, southmost."""
    cells = kept_cells(grid)
    law = np.zeros((len(cells), len(cells)))
    (width, height), columns = grid.cell, grid.columns

    def away(place: int, cell: int) -> tuple[float, int, int]:
        (row, column), (up, aside) = divmod(place, columns), divmod(cell, columns)
        return ((aside - column) * width) ** 2 + ((up - row) * height) ** 2, aside, up

    for place in range(columns * grid.rows):
        nearest = min(range(len(cells)), key=lambda index: away(place, cells[index]))
        law[:, nearest] += whole[cells, place]
    return law


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
    law = np.empty((rows * columns, rows * columns))
    for column in range(columns):
        by_column = noise @ _lands_on(column + aside, columns)
        for row in range(rows):
            by_cell = _lands_on(up + row, rows).T @ by_column
            law[row * columns + column] = by_cell.ravel()
    return remapped_law(grid, law)


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
    """Acharya, Sun and Zhang 2019, section 5, by matrices that are doubled from [[1]]."""
    size, odds, blocks = mechanism.alphabet.size, math.exp(mechanism.epsilon), mechanism.blocks
    matrix = np.ones((1, 1))
    while len(matrix) < size / blocks + 1:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    order = len(matrix)
    law = np.ones((size, blocks * order))
    for x in range(size):
        block, row = x % blocks, 1 + x // blocks
        for column in range(order):
            if matrix[row, column] > 0:
                law[x, block * order + column] = odds
    return law / (order / 2 * (odds + 2 * blocks - 1))


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
    law = np.empty((rows * columns, rows * columns))
    for column in range(columns):
        by_column = noise @ _lands_on(column + aside, columns)
        for row in range(rows):
            law[row * columns + column] = (_lands_on(up + row, rows).T @ by_column).ravel()
    return remapped_law(grid, law)


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


def family_of(kind):
    """Three levels of a kind on a line, up to the epsilon that is asked for."""
    return lambda k, e: fw.Family(kind, line(k), (e / 3, e))


def family_law(oracle):
    """A level drawn evenly, then the law of its member: blocks of columns side by side."""

    def law(family):
        low, high = family.epsilon
        count = round((high - low) / family.step) + 1
        exact = [Fraction(repr(number)) for number in (low, family.step)]
        epsilons = [float(exact[0] + level * exact[1]) for level in range(count - 1)] + [high]
        members = [family.kind(family.alphabet, e, **family.held) for e in epsilons]
        return np.hstack([oracle(member) / count for member in members])

    return law
