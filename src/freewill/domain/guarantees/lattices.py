"""The exact audit of noise on an infinite lattice, on the part that a grid reaches."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.grid import Grid
from freewill.domain.draws.chance import Dyadic
from freewill.domain.guarantees.logarithms import Logarithms, cell_distance
from freewill.errors import several

_NEGLIGIBLE = 42.0
"""e^-42 (1 + 42) < 1e-16: noise further out than 42 / epsilon is lost in the rounding."""
_SUMMED = 1 << 22
"""Cells of the lattice that are added up."""
BEYOND = (
    "The lattice has no last cell: offsets up to {reach} were compared pairwise. Beyond, the "
    "chances are powers and products of the same numbers, and the slack, 2^-64 of each step, "
    "exceeds their rounding."
)
CORNERS = (
    " On 2 x 2 cells every report adds up a quarter of the lattice, which tells less than a cell "
    "of it: the epsilon is that of these sums, as the estimators' law has them, to 1e-12 of it."
)


REMAPPED = (
    " What falls on cells that the grid leaves out is reported as the nearest that is kept: sums "
    "again, of which the epsilon may be smaller."
)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Logarithms of the weights of offsets, [rows, columns], each >= 0."""

    grid: Grid
    logs: list[list[Decimal]]
    rounding: Decimal
    bits: int

    @classmethod
    def of(cls, grid: Grid, table: list[list[Dyadic]], exact: Logarithms) -> "Lattice":
        """Take the logarithms of proposal times acceptance."""
        logs = [[exact.of_dyadic(weight) for weight in row] for row in table]
        largest = max(weight.shift for row in table for weight in row)
        bits = max(weight.numerator.bit_length() for row in table for weight in row)
        return cls(grid, logs, exact.rounding(Decimal(largest)), bits)

    @property
    def entries(self) -> int:
        """How many offsets there are."""
        return len(self.logs) * len(self.logs[0])

    @property
    def reach(self) -> str:
        """How far they go."""
        columns, rows = len(self.logs[0]) - 1, len(self.logs) - 1
        return f"{several(columns, 'column')} and {several(rows, 'row')}"

    def epsilon(self) -> Decimal:
        """Return the largest |log w(o) - log w(o')| / d(o, o'), rounded up.

        Two values and one cell of the lattice are two offsets o, o', whose distance is that of the
        values. Signs do not change a weight, and equal ones bring offsets closest: those >= 0 are
        enough. What is clipped adds up cells, which no ratio grows by.
        """
        worst = Decimal(0)
        cells = [(j, i) for j in range(len(self.logs)) for i in range(len(self.logs[0]))]
        distance = {(j, i): cell_distance(self.grid.cell, i, j) for j, i in cells}
        for place, (j, i) in enumerate(cells):
            for down, aside in cells[:place]:
                difference = abs(self.logs[j][i] - self.logs[down][aside]) + self.rounding
                worst = max(worst, difference / distance[abs(j - down), abs(i - aside)])
        return worst

    def difference(self, mechanism: Any) -> float:
        """Return how far the estimators' law is from the sampler's numbers.

        Between cells that do not lie on the border, ratio by ratio; and all of it against a sum
        over the lattice, where that is short enough.
        """
        ours = np.array([[float(log - self.logs[0][0]) for log in row] for row in self.logs])
        formula = -mechanism.epsilon * np.hypot(
            np.arange(ours.shape[1]) * self.grid.cell[0],
            np.arange(ours.shape[0])[:, None] * self.grid.cell[1],
        )
        differences = [_off(ours, formula), self._inside(mechanism, ours)]
        if not self.unsummed(mechanism.epsilon):
            off = np.abs(mechanism.law() - self._kept(self._summed(mechanism.epsilon)))
            differences.append(float(off.max()))
        return max(differences)

    def _inside(self, mechanism: Any, ours: FloatArray) -> float:
        """Compare log P(z | x) - log P(z | z) with the weights, for z off the border.

        Where cells are left out, for those z that nothing else is remapped to.
        """
        columns, rows = self.grid.columns, self.grid.rows
        row, column = np.divmod(self.grid.within(np.arange(self.grid.size)), columns)
        off_border = (row % (rows - 1) > 0) & (column % (columns - 1) > 0)
        if self.grid.mask is not None:
            off_border &= np.bincount(self.grid.nearest, minlength=self.grid.size) == 1
        inner = np.flatnonzero(off_border)
        if not inner.size:
            return 0.0
        logs = mechanism.operator(inner).log_dense()
        away = ours[np.abs(row[inner, None] - row), np.abs(column[inner, None] - column)]
        return _off(logs - logs[np.arange(inner.size), inner][:, None], away)

    def unsummed(self, epsilon: float) -> str:
        """Say so where the lattice is too wide to be added up for the border's probabilities."""
        cells = math.prod(2.0 * reach + 1 for reach in self._reaches(epsilon))
        if cells <= _SUMMED:
            return ""
        return (
            f" The border's probabilities were not summed anew: at this epsilon that is "
            f"{cells:.2g} cells of the lattice."
        )

    def _reaches(self, epsilon: float) -> list[float]:
        counts = self.grid.columns, self.grid.rows
        return [
            math.ceil(_NEGLIGIBLE / (epsilon * side)) + count
            for side, count in zip(self.grid.cell, counts, strict=True)
        ]

    def _summed(self, epsilon: float) -> FloatArray:
        """Add up the clipped lattice, cell by cell, as the formula says."""
        columns, rows = self.grid.columns, self.grid.rows
        wide, high = (int(reach) for reach in self._reaches(epsilon))
        aside, up = np.arange(-wide, wide + 1), np.arange(-high, high + 1)
        noise = np.exp(
            -epsilon * np.hypot(aside * self.grid.cell[0], up[:, None] * self.grid.cell[1])
        )
        noise /= noise.sum()
        law = np.empty((rows, columns, rows, columns))
        for column in range(columns):
            by_column = _clipped(noise, column + aside, columns)
            for row in range(rows):
                law[row, column] = _clipped(by_column.T, row + up, rows).T
        return law.reshape(rows * columns, rows * columns)

    def _kept(self, law: FloatArray) -> FloatArray:
        """Return the law of the cells that are kept, each report as the nearest of them."""
        if self.grid.mask is None:
            return law
        kept = np.zeros((self.grid.size, self.grid.size))
        np.add.at(kept.T, self.grid.nearest, law[self.grid.cells].T)
        return kept


def _clipped(table: FloatArray, places: IntArray, count: int) -> FloatArray:
    """Add up the columns of a table that are clipped to the same of 0 .. count-1."""
    starts = np.searchsorted(np.clip(places, 0, count - 1), np.arange(count))
    return np.asarray(np.add.reduceat(table, starts, axis=1))


def _off(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the largest difference of logarithms, relative to those above 1."""
    return float((np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))).max())
