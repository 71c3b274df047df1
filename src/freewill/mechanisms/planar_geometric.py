"""The truncated geometric mechanism on a grid."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Grid, checked_indices
from freewill.errors import AlphabetError
from freewill.guarantees import Guarantee
from freewill.lattice import tail_rule
from freewill.mechanisms.base import Mechanism, checked_alphabet, checked_epsilon
from freewill.operators import ConvolutionOperator, FoldedKernel
from freewill.types import FloatArray, IntArray, Reports

_NEGLIGIBLE = 50.0


@dataclass(frozen=True)
class PlanarGeometric(Mechanism):
    """Add noise over the infinite grid, then report the nearest cell (section II-C).

    P(z | x) = lambda e^(-epsilon d(x, z)) over all of Z x Z, each z outside the alphabet
    remapped to its nearest cell. The mass that falls on the border is summed to infinity.
    Promises epsilon-geo-indistinguishability per kilometre, tightly on any grid beyond 2 x 2.
    Products cost O(k log k).

    >>> import freewill as fw
    >>> city = fw.PlanarGeometric(fw.Grid(24, 16, cell=0.5), epsilon=0.19)
    >>> round(city.quality_loss(), 3)
    4.996
    """

    alphabet: Grid
    epsilon: float
    name: ClassVar[str] = "planar-geometric"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Grid, self.name)
        if min(self.alphabet.columns, self.alphabet.rows) < 2:
            raise AlphabetError(
                f"{self.name} on {self.alphabet}: it needs at least 2 columns and 2 rows. "
                f"For a single row, use Geometric on a Linear alphabet."
            )
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, self.name))

    @cached_property
    def kernel(self) -> FoldedKernel:
        """The noise and its sums to infinity: sampler, law and loss all come from here."""
        return _folded_noise(self.alphabet, self.epsilon)

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Draw a displacement, capped where every further one is clipped to the same cell."""
        columns, rows = self.alphabet.columns, self.alphabet.rows
        truth = checked_indices(values, self.alphabet.size, "value")
        drawn = np.searchsorted(self._cumulative, rng.random(truth.shape), side="right")
        down, aside = np.divmod(drawn, columns)
        signs = rng.integers(0, 4, truth.shape)
        row, column = np.divmod(truth, columns)
        row = np.clip(row + np.where(signs & 1, down, -down), 0, rows - 1)
        column = np.clip(column + np.where(signs & 2, aside, -aside), 0, columns - 1)
        return np.asarray(row * columns + column)

    @cached_property
    def _cumulative(self) -> FloatArray:
        inner, side, end, corner = self.kernel.quarter
        capped = inner.copy()
        capped[:, -1] = side[:, -1]
        capped[-1, :] = end[-1, :]
        capped[-1, -1] = corner[-1, -1]
        cumulative = np.cumsum(capped)
        return np.asarray(cumulative / cumulative[-1])

    def operator(self, outputs: Reports) -> ConvolutionOperator:
        """Return the law of these outputs."""
        symbols = self.output_space.checked(outputs, self.name)
        return ConvolutionOperator(symbols, self.kernel)

    def guarantee(self) -> Guarantee:
        """epsilon-geo-indistinguishability."""
        return Guarantee.never_understated("geo", self.epsilon)

    def losses(self) -> FloatArray:
        """Add up the four quadrants around each cell by prefix sums, O(k)."""
        east, north = self.alphabet.offsets()
        distance = np.hypot(east, north[:, None])
        inner, side, end, corner = (table * distance for table in self.kernel.quarter)
        # Entry [j, i] of `quadrant`: the grid ends i columns and j rows away.
        quadrant = (
            _before(_before(inner, 0), 1) + _before(side, axis=0) + _before(end, axis=1) + corner
        )
        by_row = quadrant + quadrant[::-1]
        return (by_row + by_row[:, ::-1]).ravel()


def _before(table: FloatArray, axis: int) -> FloatArray:
    """Return the sum of all earlier entries along an axis."""
    return np.asarray(np.cumsum(table, axis=axis) - table)


def _folded_noise(grid: Grid, epsilon: float) -> FoldedKernel:
    """Tabulate log lambda e^(-epsilon d) and its sums over half-lines and quarter-planes."""
    east, north = grid.offsets()
    width, height = grid.columns * grid.cell[0], grid.rows * grid.cell[1]
    # At an offset y to the side, exp(-epsilon hypot(t, y)) falls by exp(-50) within this reach.
    radius = _NEGLIGIBLE / epsilon
    reach = np.sqrt(radius**2 + 2 * radius * max(width, height))
    far_east, east_weights = tail_rule(reach / grid.cell[0])
    far_north, north_weights = tail_rule(reach / grid.cell[1])
    far_east = width + far_east * grid.cell[0]
    far_north = height + far_north * grid.cell[1]

    inner = -epsilon * np.hypot(east, north[:, None])
    beyond_east = _log_sum(-epsilon * np.hypot(far_east, north[:, None]), east_weights, axis=1)
    beyond_north = _log_sum(
        -epsilon * np.hypot(east, far_north[:, None]), north_weights[:, None], axis=0
    )
    beyond_both = _log_sum(
        -epsilon * np.hypot(far_east, far_north[:, None]), east_weights * north_weights[:, None]
    )
    side = _from_here_on(inner, beyond_east, axis=1)
    end = _from_here_on(inner, beyond_north, axis=0)
    north_of_east = _from_here_on(beyond_east, beyond_both, axis=0)
    corner = _from_here_on(end, north_of_east, axis=1)
    tables = FoldedKernel(inner, side, end, corner)
    total = np.log(4 * tables.quarter[3][0, 0])
    return FoldedKernel(inner - total, side - total, end - total, corner - total)


def _log_sum(log_terms: FloatArray, weights: FloatArray, axis: int | None = None) -> FloatArray:
    """Return log of the weighted sum of exp(log_terms), which may all underflow."""
    largest = log_terms.max(axis=axis, keepdims=True)
    total = (weights * np.exp(log_terms - largest)).sum(axis=axis)
    return np.asarray(np.log(total) + largest.reshape(total.shape))


def _from_here_on(log_terms: FloatArray, log_tail: FloatArray, axis: int) -> FloatArray:
    """Return log of (each term + all later ones + the tail) along an axis."""
    tail = np.expand_dims(log_tail, axis)
    terms = np.concatenate([tail, np.flip(log_terms, axis)], axis)
    sums = np.logaddexp.accumulate(terms, axis=axis)
    return np.flip(np.delete(sums, 0, axis), axis)
