"""Products of the operators: linear on a line, by FFT in the plane, beside the dense matrix."""

from collections.abc import Iterator

import numpy as np

import freewill as fw
from benchmarks.harness import Figure, Row, best, clock, compared, isolated, limited

_SIZES = (1_000, 4_000, 10_000, 100_000, 1_000_000)
_DENSE_UP_TO = 4_000
# From 10^5 to 10^6 the vectors leave the cache; a quadratic product would take 10 times longer
# an element.
_LINEAR = 3
_EPSILON = 0.19


def line_products(name: str, size: int) -> Iterator[tuple[str, Figure, Figure | None]]:
    """Yield product, our time and, where the matrix fits, the dense product's."""
    line = fw.Linear(0, size - 1)
    mechanism = fw.KRR(line, epsilon=3.0) if name == "k-RR" else fw.Geometric(line, epsilon=0.1)
    operator = mechanism.operator(mechanism.outputs())
    vector = np.random.default_rng(0).dirichlet(np.ones(size))
    dense = operator.dense() if size <= _DENSE_UP_TO else None
    for product, ours in (("forward", operator.forward), ("adjoint", operator.adjoint)):
        clocks = [clock(lambda ours=ours: ours(vector))]
        if dense is not None:
            matrix = dense if product == "forward" else dense.T
            clocks.append(clock(lambda matrix=matrix: matrix @ vector))
        times = best(*clocks, repeats=7)
        yield product, times[0], times[1] if dense is not None else None


def line_rows(name: str) -> Iterator[Row]:
    """Yield the rows of a mechanism on a line: time by size, then growth."""
    by_size: dict[tuple[str, int], Figure] = {}
    for size in _SIZES:
        for product, ours, theirs in line_products(name, size):
            by_size[product, size] = ours
            what = f"{name} {product}, k={size:,}"
            if theirs is not None:
                yield compared(what, ours, "dense product", theirs)
            else:
                yield limited(what, ours, 0.1 if size == 1_000_000 else None)
    for product in ("forward", "adjoint"):
        small, large = (
            Figure(by_size[product, size].value / size, "s") for size in (100_000, 1_000_000)
        )
        what = f"{name} {product}, time an element, k=1,000,000"
        ratio = small.value / large.value
        asked, met = f"linear: ratio > 1/{_LINEAR}", ratio > 1 / _LINEAR
        yield Row(what, large, "k=100,000", small, ratio, asked, met)


def krr() -> Iterator[Row]:
    """Products of k-RR."""
    yield from line_rows("k-RR")


def geometric() -> Iterator[Row]:
    """Products of the geometric mechanism."""
    yield from line_rows("geometric")


def window_law(grid: fw.Grid, epsilon: float, reach: int) -> np.ndarray:
    """Return the planar law by adding up the noise over a square window around each cell."""
    steps = np.arange(-reach, reach + 1)
    east, north = steps * grid.cell[0], steps * grid.cell[1]
    noise = np.exp(-epsilon * np.hypot(east, north[:, None]))
    noise /= noise.sum()
    law = np.empty((grid.rows, grid.columns, grid.rows, grid.columns))
    for row in range(grid.rows):
        # Displacements up to -row are clipped to row 0, those from rows-1-row on to the last.
        starts = np.append(0, np.arange(1, grid.rows) - row + reach)
        by_row = np.add.reduceat(noise, starts, axis=0)
        for column in range(grid.columns):
            starts = np.append(0, np.arange(1, grid.columns) - column + reach)
            law[row, column] = np.add.reduceat(by_row, starts, axis=1)
    return law.reshape(grid.size, grid.size)


def planar_law() -> Iterator[Row]:
    """Law of the planar geometric mechanism on 24 x 16 cells."""
    grid = fw.Grid(24, 16, cell=0.5)
    # exp(-epsilon * 600 cells) is 1e-25: nothing that matters lies beyond this window.
    reach = 600
    what = f"planar geometric 24 x 16, epsilon {_EPSILON}"
    ours, theirs = best(
        clock(lambda: fw.PlanarGeometric(grid, _EPSILON).law()),
        clock(lambda: window_law(grid, _EPSILON, reach)),
        repeats=3,
    )
    window = f"sum over {2 * reach + 1} x {2 * reach + 1} cells"
    ratio = theirs.value / ours.value
    yield Row(f"{what}: law", ours, window, theirs, ratio, "< 0.5 s", ours.value < 0.5)
    gap = np.abs(fw.PlanarGeometric(grid, _EPSILON).law() - window_law(grid, _EPSILON, reach))
    yield limited(f"{what}: largest difference to that sum", Figure(float(gap.max()), ""), 1e-10)


def planar_products(columns: int, rows: int) -> float:
    """Build a planar mechanism and take both products: all that the memory row measures."""
    mechanism = fw.PlanarGeometric(fw.Grid(columns, rows, cell=0.05), _EPSILON)
    operator = mechanism.operator(mechanism.outputs())
    theta = np.full(mechanism.alphabet.size, 1 / mechanism.alphabet.size)
    return float(operator.adjoint(operator.forward(theta)).sum())


def planar_large() -> Iterator[Row]:
    """Products of the planar geometric mechanism on 240 x 160 cells."""
    grid = fw.Grid(240, 160, cell=0.05)
    mechanism = fw.PlanarGeometric(grid, _EPSILON)
    operator = mechanism.operator(mechanism.outputs())
    theta = np.random.default_rng(0).dirichlet(np.ones(grid.size))
    forward, adjoint, build = best(
        clock(lambda: operator.forward(theta)),
        clock(lambda: operator.adjoint(theta)),
        clock(lambda: planar_products(240, 160)),
    )
    what = "planar geometric 240 x 160"
    yield limited(f"{what}: forward", forward, 0.2)
    yield limited(f"{what}: adjoint", adjoint, 0.2)
    yield limited(f"{what}: built, one forward, one adjoint", build)
    memory = isolated(planar_products, 240, 160).memory
    yield limited(f"{what}: peak memory of that", memory, 500e6)


BENCHMARKS = (krr, geometric, planar_law, planar_large)
