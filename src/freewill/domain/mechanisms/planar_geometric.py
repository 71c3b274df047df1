"""The truncated geometric mechanism on a grid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports, slices
from freewill.domain.alphabets.base import check_plane
from freewill.domain.alphabets.grid import Grid, offset_counts
from freewill.domain.draws.chance import Dyadic
from freewill.domain.draws.noise import LatticeNoise, offsets
from freewill.domain.draws.sources import Source
from freewill.domain.mechanisms.base import LARGEST_EXPONENT, Noisy, Rows, row_by_row
from freewill.errors import ParameterError
from freewill.numeric.operators.around import KeptOperator, log_sums
from freewill.numeric.operators.base import DenseOperator, Operator
from freewill.numeric.operators.convolution import ConvolutionOperator, FoldedKernel, planar_rows
from freewill.numeric.quadrature import gauss

_NEGLIGIBLE = 50.0
_FLAT = 1e-18
"""An exponent that rounding does not notice."""
_HALF = 0.5
_FEW_KERNELS = 64
"""Epsilons up to which each has a kernel of its own."""
_LEAST_EACH = 2.0**-40
"""The same at which whole steps still fit 63 bits."""
_LEAST_DECAY = 1e-290
"""Epsilon times a cell's side at which the sums still fit doubles."""
_BLOCK = 1 << 21
"""Entries of a law that are looked up at once: 16 MiB."""
_SINGLE = 64
_NODES = 20


@dataclass(frozen=True)
class PlanarGeometric(Noisy):
    """Add noise over the infinite grid, then report the nearest cell (section II-C).

    P(z | x) = lambda e^(-epsilon d(x, z)) over all of Z x Z, each z outside the alphabet
    remapped to its nearest cell. The mass that falls on the border is summed to infinity.
    Promises epsilon-geo-indistinguishability per kilometre, tightly on any grid beyond 2 x 2.
    Products cost O(k log k). Where the grid leaves cells out, what falls on them is remapped to the
    nearest that is kept, which tells no more (`kept_cells.py`).

    >>> import freewill as fw
    >>> city = fw.PlanarGeometric(fw.Grid(24, 16, cell=0.5), epsilon=0.19)
    >>> round(city.quality_loss(), 3)
    4.996
    """

    alphabet: Grid
    epsilon: float
    name: ClassVar[str] = "planar-geometric"
    full_rank: ClassVar[bool] = True
    on: ClassVar[Any] = Grid
    promise: ClassVar[Literal["geo"]] = "geo"

    def _largest_epsilon(self) -> float:
        """Return what the widest distance allows, on a grid that is a plane."""
        check_plane(self.alphabet, self.name)
        grid = self.alphabet
        widest = max(grid.columns * grid.cell[0], grid.rows * grid.cell[1])
        return LARGEST_EXPONENT / widest

    def __post_init__(self) -> None:
        super().__post_init__()
        grid = self.alphabet
        if grid.mask is not None:
            # Nothing is proved of the sums over cells that are left out: estimators look at them.
            vars(self)["full_rank"] = False
        if self.epsilon * min(grid.cell) < _LEAST_DECAY:
            raise ParameterError(
                f"epsilon={self.epsilon!r} for {self.name} on {grid}: epsilon times a cell's side "
                f"must be >= {_LEAST_DECAY:g}, below which the noise reaches further than numbers "
                f"count. Is the cell in kilometres, and epsilon per kilometre?"
            )

    @cached_property
    def kernel(self) -> FoldedKernel:
        """The noise and its sums to infinity: law and loss come from here."""
        return _folded_noise(self.alphabet, self.epsilon)

    @cached_property
    def falls(self) -> FoldedKernel:
        """The tables relative to their first entries: what an audit and moments ask for."""
        return _log_falls(self.alphabet, self.epsilon, self.kernel)

    @cached_property
    def noise(self) -> LatticeNoise:
        """The chances of which all reports are made."""
        return LatticeNoise.of(self.epsilon, self.alphabet.cell)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw a displacement on the infinite grid, and clip."""
        columns, rows = self.alphabet.columns, self.alphabet.rows
        moved = self.noise.many(truth.size, (columns - 1, rows - 1), rng)
        return _clipped(truth, moved.reshape(2, *truth.shape), self.alphabet)

    @classmethod
    def reports_of_rows(
        cls, rows: Rows, truth: IntArray, rng: np.random.Generator
    ) -> IntArray | None:
        """Do the same with an epsilon a row, none so small that a step would not fit a number."""
        grid = rows.alphabet
        if float(rows.epsilons.min()) * min(grid.cell) < _LEAST_EACH:
            return None
        reach = grid.columns - 1, grid.rows - 1
        moved = offsets(rows.each, grid.cell, reach, lambda row: rows.of(row).noise, rng)
        return _clipped(truth, moved, grid)

    def _report(self, value: int, source: Source) -> int:
        """Draw one displacement, and clip."""
        columns, rows = self.alphabet.columns, self.alphabet.rows
        row, column = divmod(int(self.alphabet.within(value)), columns)
        aside, up = self.noise.draw(source)
        row, column = min(max(row + up, 0), rows - 1), min(max(column + aside, 0), columns - 1)
        place = row * columns + column
        return place if self.alphabet.mask is None else int(self.alphabet.nearest[place])

    def lattice(self, columns: int, rows: int) -> list[list[Dyadic]]:
        """Multiply the chances of both steps and of the coin, [row offset][column offset]."""
        noise = self.noise
        aside, up = noise.steps
        by_column = [aside.chance(i) for i in range(columns + 1)]
        by_row = [up.chance(j) for j in range(rows + 1)]
        return [
            [
                across.times(along).times(noise.acceptance(i, j))
                for i, across in enumerate(by_column)
            ]
            for j, along in enumerate(by_row)
        ]

    @classmethod
    def stacked(
        cls, mechanisms: "Sequence[PlanarGeometric]", outputs: Sequence[Reports]
    ) -> Operator:
        """Return the law of these outputs."""
        rows, symbols = row_by_row(mechanisms, outputs)
        kernels, grid = [each.kernel for each in mechanisms], rows.alphabet
        if grid.mask is None:
            return ConvolutionOperator(symbols, kernels, rows.which)
        present, again = np.unique(rows.which * grid.size + symbols, return_inverse=True)
        kernel, output = np.divmod(present, grid.size)
        cells, parts = _remapped_to(grid, output)
        noise, entries = ConvolutionOperator(cells, kernels, kernel[parts]), np.arange(cells.size)
        return KeptOperator(noise, parts, entries, np.ones(cells.size), again, grid.cells)

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> DenseOperator | None:
        """Return the law of outputs with an epsilon a row, where there are many."""
        grid = rows.alphabet
        if grid.mask is not None or (outputs.size and rows.epsilons.size <= _FEW_KERNELS):
            return None
        east, north = grid.offsets()
        lengths = np.hypot(east, north[:, None])

        def tables(epsilon: float) -> FloatArray:
            return _folded_noise(grid, epsilon).stacked

        return planar_rows(tables, lengths, rows.each, outputs, rows.log_share)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return the logarithms of the tables relative to their first entries.

        Of cells z that are remapped to y, with shares w_z and what the noise falls by, f_z(x):
        log(sum w_z e^f_z(x)), by log1p where that hardly falls, so that no small difference is
        lost.
        """
        symbols, grid = self.output_space.checked(outputs, self.name), self.alphabet
        if grid.mask is None:
            return ConvolutionOperator(symbols, [self.falls], np.zeros_like(symbols)).log_dense()
        cells, rows = _remapped_to(grid, symbols)
        if not cells.size:
            return np.empty((0, grid.size))
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        none = np.zeros_like(cells)
        logs = ConvolutionOperator(cells, [self.falls], none).log_dense()[:, grid.cells]
        tops = ConvolutionOperator(cells, [self.kernel], none).log_scale
        shares = tops - log_sums(tops[:, None], firsts)[rows, 0]
        fall = np.add.reduceat(np.exp(shares)[:, None] * np.expm1(logs), firsts, axis=0)
        little = fall > -_HALF
        far = log_sums(logs + shares[:, None], firsts)
        return np.where(little, np.log1p(np.where(little, fall, 0.0)), far)

    def truths(self) -> FloatArray:
        """Return the noise that stays in a cell, with all that is clipped or remapped to it."""
        grid, kernel = self.alphabet, self.kernel
        if grid.mask is not None:
            cells, rows = _remapped_to(grid, np.arange(grid.size))
            law = ConvolutionOperator(cells, [kernel], np.zeros_like(cells))
            own = np.divmod(grid.cells[rows], grid.columns)
            away = np.abs(np.subtract(np.divmod(cells, grid.columns), own))
            logs = kernel.stacked[law.tables, *away]
            return np.asarray(np.bincount(rows, np.exp(logs), grid.size), dtype=np.float64)
        inner, side, end, corner = np.exp(kernel.tops)
        chances = np.full((grid.rows, grid.columns), inner)
        chances[:, [0, -1]] = side
        chances[[0, -1], :] = end
        chances[np.ix_([0, -1], [0, -1])] = corner
        return chances.ravel()

    def losses(self) -> FloatArray:
        """Add up the four quadrants around each cell by prefix sums, O(k).

        O(k^2) where the grid leaves cells out, a few rows at a time.
        """
        grid = self.alphabet
        if grid.mask is not None:
            total, every = np.zeros(grid.size), np.arange(grid.size)
            for some, chances in _rows(grid, self.operator, every):
                total += (chances * grid.distance(some[:, None], every)).sum(axis=0)
            return total
        east, north = grid.offsets()
        distance = np.hypot(east, north[:, None])
        inner, side, end, corner = (table * distance for table in self.kernel.quarter)
        # Entry [j, i] of `quadrant`: the grid ends i columns and j rows away.
        quadrant = (
            _before(_before(inner, 0), 1) + _before(side, axis=0) + _before(end, axis=1) + corner
        )
        by_row = quadrant + quadrant[::-1]
        return (by_row + by_row[:, ::-1]).ravel()


def _clipped(truth: IntArray, moved: IntArray, grid: Grid) -> IntArray:
    """Return the nearest cells to those that cells are moved to, [columns or rows, which]."""
    row, column = np.divmod(grid.within(truth), grid.columns)
    row = np.clip(row + moved[1], 0, grid.rows - 1)
    column = np.clip(column + moved[0], 0, grid.columns - 1)
    places = np.asarray(row * grid.columns + column)
    return places if grid.mask is None else np.asarray(grid.nearest[places])


def _before(table: FloatArray, axis: int) -> FloatArray:
    """Return the sum of all earlier entries along an axis."""
    return np.asarray(np.cumsum(table, axis=axis) - table)


def _axes(grid: Grid, epsilon: float) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Lay out the columns and the rows, and the nodes that sum over all that is beyond them.

    Of each axis the offsets within the grid, the nodes, and logarithms of how many offsets a node
    stands for. Lengths are in units of 1 / epsilon, in which none is too large or too small.
    """
    sides = [epsilon * side for side in grid.cell]
    counts = grid.columns, grid.rows
    longest = max(side * count for side, count in zip(sides, counts, strict=True))
    # At an offset y to the side, exp(-hypot(t, y)) falls by exp(-50) within this reach.
    reach = np.sqrt(_NEGLIGIBLE**2 + 2 * _NEGLIGIBLE * longest)
    axes = []
    for side, count in zip(sides, counts, strict=True):
        nodes, weights = tail_rule(reach / side, _FLAT / side)
        within = side * np.arange(count, dtype=np.float64)
        axes.append((within, side * count + side * nodes, np.log(weights)))
    return axes


def _folded_noise(grid: Grid, epsilon: float) -> FoldedKernel:
    """Tabulate log lambda e^(-epsilon d) and its sums over half-lines and quarter-planes."""
    (east, far_east, log_east), (north, far_north, log_north) = _axes(grid, epsilon)
    up, far_up, log_up = north[:, None], far_north[:, None], log_north[:, None]
    inner = -np.hypot(east, up)
    beyond_east = _log_sum(log_east - np.hypot(far_east, up), axis=1)
    beyond_north = _log_sum(log_up - np.hypot(east, far_up), axis=0)
    beyond_both = _log_sum(log_east + log_up - np.hypot(far_east, far_up))
    side = _from_here_on(inner, beyond_east, axis=1)
    end = _from_here_on(inner, beyond_north, axis=0)
    north_of_east = _from_here_on(beyond_east, beyond_both, axis=0)
    corner = _from_here_on(end, north_of_east, axis=1)
    # First by the largest sum, which alone may be too large a number.
    tables = _scaled(FoldedKernel(inner, side, end, corner), float(corner[0, 0]))
    return _scaled(tables, float(np.log(4 * tables.quarter[3][0, 0])))


def _log_falls(grid: Grid, epsilon: float, tables: FoldedKernel) -> FoldedKernel:
    """Return the tables relative to their first entries, accurate where they hardly fall.

    Sums over half-lines and quarter-planes differ by less than their rounding where epsilon is
    small. What they fall by is itself a sum of positive terms: those left behind and, at a row
    further off, exp(-t) - exp(-hypot(t, y)) = exp(-t) (1 - exp(-y^2 / (hypot(t, y) + t))).
    """
    (east, far_east, log_east), (north, far_north, log_north) = _axes(grid, epsilon)
    inner, side, end, corner = tables.stacked
    of_side = _fall_aside(north, east, far_east, log_east)[:, None]
    of_end = _fall_aside(east, north, far_north, log_north)
    of_side = of_side + _before(np.exp(inner - side[0, 0]), axis=1)
    of_end = of_end + _before(np.exp(inner - end[0, 0]), axis=0)
    of_corner = _before(np.exp(side[:, :1] - corner[0, 0]), axis=0)
    of_corner = of_corner + _before(np.exp(end - corner[0, 0]), axis=1)
    sums = (_log_fall(t, fall) for t, fall in ((side, of_side), (end, of_end), (corner, of_corner)))
    return FoldedKernel(-np.hypot(east, north[:, None]), *sums)


def _fall_aside(
    aside: FloatArray, along: FloatArray, far: FloatArray, log_weights: FloatArray
) -> FloatArray:
    """Return by what share the sum over a half-line falls, at each offset to its side."""
    places = np.concatenate([along, far])
    logs = np.concatenate([np.zeros(along.size), log_weights]) - places
    further = np.hypot(places, aside[:, None]) + places
    slope = np.divide(aside[:, None], further, out=np.zeros_like(further), where=further > 0)
    rise = aside[:, None] * slope
    shares = np.exp(logs - _log_sum(logs))
    return np.asarray((shares * -np.expm1(-rise)).sum(axis=1))


def _log_fall(table: FloatArray, fall: FloatArray) -> FloatArray:
    """Return log(1 - fall) where that is accurate, and the difference of logarithms elsewhere."""
    small = fall < _HALF
    return np.where(small, np.log1p(-np.where(small, fall, 0.0)), table - table[0, 0])


def _scaled(tables: FoldedKernel, total: float) -> FoldedKernel:
    return FoldedKernel(*(table - total for table in tables.stacked))


def _log_sum(log_terms: FloatArray, axis: int | None = None) -> FloatArray:
    """Return log of the sum of exp(log_terms), which may all underflow or overflow."""
    largest = log_terms.max(axis=axis, keepdims=True)
    total = np.exp(log_terms - largest).sum(axis=axis)
    return np.asarray(np.log(total) + largest.reshape(total.shape))


def _from_here_on(log_terms: FloatArray, log_tail: FloatArray, axis: int) -> FloatArray:
    """Return log of (each term + all later ones + the tail) along an axis."""
    tail = np.expand_dims(log_tail, axis)
    terms = np.concatenate([tail, np.flip(log_terms, axis)], axis)
    sums = np.logaddexp.accumulate(terms, axis=axis)
    return np.flip(np.delete(sums, 0, axis), axis)


def tail_rule(reach: float, flat: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return nodes t and weights w with sum(w f(t)) = f(0) + f(1) + f(2) + ...

    Made for functions like exp(-rate * hypot(start + t, y)) that are negligible from `reach` on:
    the first 64 integers are nodes of weight 1; then come blocks of doubling length, each summed
    by the Gauss rule of its own counting measure (discrete Chebyshev polynomials, 20 nodes: exact
    up to degree 39). All weights are positive, so nothing cancels and small sums keep their
    relative accuracy. Where the function is constant to rounding up to `flat`, one node stands for
    all integers from 64 to there.

    >>> nodes, weights = tail_rule(50 / 1e-4)
    >>> exact = 1 / -np.expm1(-1e-4)
    >>> nodes.size, bool(abs(weights @ np.exp(-1e-4 * nodes) / exact - 1) < 1e-14)
    (324, True)
    """
    nodes = [np.arange(_SINGLE, dtype=np.float64)]
    weights = [np.ones(_SINGLE)]
    block = float(_SINGLE)
    if flat > 2 * block:
        length = float(np.floor(flat)) - block
        nodes.append(np.array([block + length / 2]))
        weights.append(np.array([length]))
        block += length
    while block < reach:
        offsets, masses = _counting_gauss(block)
        nodes.append(block + offsets)
        weights.append(masses)
        block *= 2
    return np.concatenate(nodes), np.concatenate(weights)


def _counting_gauss(length: float) -> tuple[FloatArray, FloatArray]:
    """Gauss rule for the sum over 0, 1, ..., length-1."""
    order = np.arange(1, _NODES, dtype=np.float64)
    # In units of the length, whose square may be too large a number.
    beta = order**2 * (1 - (order / length) ** 2) / (4 * (4 * order**2 - 1))
    # The diagonal, the centre of the block, is added afterwards: nodes keep their digits relative
    # to the block.
    nodes, weights = gauss(np.zeros(_NODES), np.sqrt(beta))
    return nodes * length + (length - 1) / 2, np.asarray(length * weights)


def _remapped_to(grid: Grid, outputs: IntArray) -> tuple[IntArray, IntArray]:
    """Return all cells of the whole grid that are remapped to outputs, and the place of these."""
    order = np.argsort(grid.nearest, kind="stable")
    starts = np.searchsorted(grid.nearest[order], np.arange(grid.size + 1))
    counts = np.diff(starts)[outputs]
    rows = np.repeat(np.arange(outputs.size), counts)
    along = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[starts[outputs][rows] + along], rows


def kept_offsets(grid: Grid, kernel: FoldedKernel, law: Any) -> FloatArray:
    """Return how often reports are j rows and i columns away from the truth, over all cells.

    Entry [j, i] is the mean of P(y | x) over the values x, summed over such y. Cells inside that
    nothing else is remapped to have the noise itself, and only such pairs are counted, by FFT; the
    others, along the coast, are added up: O(K log K + coast * k).
    """
    row, column = np.divmod(grid.cells, grid.columns)
    inside = (row % (grid.rows - 1) > 0) & (column % (grid.columns - 1) > 0)
    inside &= np.bincount(grid.nearest, minlength=grid.size) == 1
    pairs = offset_counts(grid.cells, grid.columns, grid.rows, grid.cells[inside])
    sums = (pairs * np.exp(kernel.inner)).ravel()
    for some, chances in _rows(grid, law, np.flatnonzero(~inside)):
        away = np.abs(row[some, None] - row) * grid.columns + np.abs(column[some, None] - column)
        sums += np.bincount(away.ravel(), chances.ravel(), sums.size)
    return (sums / grid.size).reshape(grid.rows, grid.columns)


def _rows(grid: Grid, law: Any, outputs: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield some of the outputs at a time, and their law, [output, value]."""
    for some in slices(outputs.size, _BLOCK // grid.size):
        operator = law(outputs[some])
        yield outputs[some], np.exp(operator.log_scale)[:, None] * operator.dense()
