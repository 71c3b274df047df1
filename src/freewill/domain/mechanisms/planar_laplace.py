"""Planar Laplace noise on a grid, each cell with the mass that the continuous noise has there."""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import Any, ClassVar, Literal

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import check_plane
from freewill.domain.alphabets.grid import Grid
from freewill.domain.mechanisms.matrix import NoisyTable, checked_table

_NODES = 20
_LONGEST = 12.0
"""Of a panel, in units of 1 / epsilon: Gauss rules are exact to rounding within it."""
_HALVINGS = 16
"""Of a cell's side towards the centre, where e^-r has its only kink."""
_NEGLIGIBLE = 50.0


@dataclass(frozen=True)
class PlanarLaplace(NoisyTable):
    """Add planar Laplace noise to the centre of one's cell, then report the cell that it falls in.

    The noise has the density epsilon^2 / (2 pi) e^(-epsilon r) at distance r (Andres, Bordenabe,
    Chatzikokolakis and Palamidessi, CCS 2013). P(z | x) is its integral over the cell z; what
    falls outside the grid, or on cells that it leaves out, is reported as the nearest cell.
    Promises epsilon-geo-indistinguishability per kilometre between cells, by the distance of their
    centres: reporting the cell is a function of the point, which has it. The promise is that of the
    numbers that are drawn, for they are made for an epsilon that is smaller by their rounding; it
    needs none of the widening that drawing points in floating point does.

    Integrals are Gauss rules on panels that shrink towards the centre, exact to some 1e-14. The
    table takes O(k^2), 32 MiB at the most, 2,048 cells; products cost O(outputs * k).
    `PlanarGeometric` is its twin on the lattice: it has products in O(k log k) for any size.

    >>> import freewill as fw
    >>> city = fw.PlanarLaplace(fw.Grid(24, 16, cell=0.5), epsilon=0.19)
    >>> round(city.quality_loss(), 3), str(city.guarantee())
    (4.997, '0.19-geo-indistinguishability per km')
    """

    alphabet: Grid
    epsilon: float
    name: ClassVar[str] = "planar-laplace"
    on: ClassVar[Any] = Grid
    promise: ClassVar[Literal["geo"]] = "geo"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_table(self.alphabet.whole, self.on, self.name)
        check_plane(self.alphabet, self.name)

    def _law(self) -> FloatArray:
        grid = self.alphabet
        counts = grid.columns, grid.rows
        sides = [self.inner_epsilon * side for side in grid.cell]
        longest = hypot(*(side * n for side, n in zip(sides, counts, strict=True)))
        # At an offset y to the side, e^-hypot(t, y) falls by e^-50 within this reach.
        reach = float(np.sqrt(_NEGLIGIBLE**2 + 2 * _NEGLIGIBLE * longest))
        # The same on both axes, so that no panel is long beside its distance from the centre.
        finest = min(sides) * 2.0**-_HALVINGS
        (east, across), (north, along) = (
            _axis(side, count, finest, reach) for side, count in zip(sides, counts, strict=True)
        )
        # The noise that moves by so many rows and columns (the last: or more), to one side.
        offsets = along @ np.exp(-np.hypot(east, north[:, None])) @ across.T
        # [column of x, column of z, row of x, row of z].
        landed = _landed(np.moveaxis(_landed(offsets), 0, -1))
        law = landed.transpose(2, 0, 3, 1).reshape(grid.whole.size, grid.whole.size)
        return law if grid.mask is None else _remapped(law[grid.cells], grid)


def _remapped(law: FloatArray, grid: Grid) -> FloatArray:
    """Add up what falls on cells that are left out at the nearest that is kept."""
    order = np.argsort(grid.nearest, kind="stable")
    firsts = np.searchsorted(grid.nearest[order], np.arange(1, grid.size))
    # Each row of a copy in memory, which NumPy adds up in pairs: in a loop, rounding would grow.
    parts = (np.ascontiguousarray(law[:, cells]) for cells in np.split(order, firsts))
    return np.stack([part.sum(axis=1) for part in parts], axis=1)


def _axis(side: float, count: int, finest: float, reach: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes along an axis, and their weights in each cell, [offset, node].

    The offsets are 0 to count - 1, then all that is beyond. The cell around the centre lies on both
    sides of it, and counts twice.
    """
    start = side * (count - 0.5)
    halved = 0.5 * side * 2.0 ** -np.arange(_doublings(finest, side), -1.0, -1.0)
    doubled = start * 2.0 ** np.arange(_doublings(start, start + reach) + 1.0)
    cells = [side * np.array([offset - 0.5, offset + 0.5]) for offset in range(1, count)]
    breaks = [np.append(0.0, halved), *cells, np.minimum(doubled, start + reach)]
    rules = [[_gauss(*ends) for ends in pairwise(each.tolist())] for each in breaks]
    nodes = [np.concatenate([nodes for nodes, _ in panels]) for panels in rules]
    weights = np.zeros((count + 1, sum(map(len, nodes))))
    first = 0
    for offset, panels in enumerate(rules):
        masses = np.concatenate([masses for _, masses in panels])
        weights[offset, first : (first := first + masses.size)] = masses
    weights[0] *= 2
    return np.concatenate(nodes), weights


def _doublings(low: float, high: float) -> int:
    """Return how often a length is doubled until it is at least another."""
    return max(1, int(np.ceil(np.log2(high / low))))


def _gauss(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights on panels between two ends."""
    nodes, masses = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(low, high, 1 + max(1, int(np.ceil((high - low) / _LONGEST))))
    centre, half = (edges[1:, None] + edges[:-1, None]) / 2, np.diff(edges)[:, None] / 2
    return (centre + half * nodes).ravel(), (half * masses).ravel()


def _landed(offsets: FloatArray) -> FloatArray:
    """Return how the last axis leads from one place to another, [..., from, to].

    Noise beyond an end is reported as the end: all offsets to this side that reach it.
    """
    count = offsets.shape[-1] - 1
    place = np.arange(count)
    landed = offsets[..., np.abs(place[:, None] - place)]
    at_least = np.cumsum(offsets[..., ::-1], axis=-1)[..., ::-1]
    landed[..., 0] = at_least[..., :-1]
    landed[..., -1] = at_least[..., -2::-1]
    return landed
