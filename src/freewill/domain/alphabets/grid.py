"""Cells of a plane, in kilometres or cut from a latitude/longitude box."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.types import FloatArray, IntArray, Spec, numbers
from freewill.domain.alphabets.base import (
    LARGEST,
    Inside,
    Raster,
    checked_indices,
    checked_integer,
    refuse_vast,
)
from freewill.domain.alphabets.boxes import (
    cell_in_box,
    check_cell_fits,
    checked_bounds,
    checked_cell,
)
from freewill.domain.alphabets.mask import (
    Runs,
    cells_of,
    checked_runs,
    nearest_kept,
    offset_counts,
    summed_distances,
)
from freewill.errors import AlphabetError, several, shown


@dataclass(frozen=True)
class Grid:
    """Cells of a plane, numbered row by row from the south-west corner.

    The index of a cell is row * columns + column. A `mask` leaves cells out, such as those at sea:
    True for each cell that is kept, [row, column]; cells that are kept are then numbered in the
    same order, without gaps. It is held as runs (`checked_runs`).

    `cell` is the side in kilometres, or (width, height) where cells are not square. Without a box,
    points are (east, north) in kilometres from the south-west corner; with one (`Grid.box`), they
    are (latitude, longitude), the cell follows from the box, and one that contradicts it is
    refused.

    Distance is Euclidean, between the centres, in kilometres. So a promise of epsilon a kilometre
    is one between cells, not between the points in them: points of one cell are not told apart at
    all, and two points on either side of an edge, a metre apart, as well as the centres of their
    cells. Where that matters, take smaller cells: noise is by the kilometre and stays the same.

    >>> import freewill as fw
    >>> city = fw.Grid(columns=24, rows=16, cell=0.5)
    >>> city.size, city.encode([(0.1, 0.1), (0.6, 0.1), (0.1, 0.6)])
    (384, array([ 0,  1, 24]))
    >>> coast = fw.Grid(2, 2, cell=0.5, mask=[[False, True], [True, True]])
    >>> coast.size, coast.encode([(0.6, 0.1), (0.1, 0.6)])
    (3, array([0, 1]))
    """

    columns: int
    rows: int
    cell: tuple[float, float]
    bounds: tuple[float, float, float, float] | None = None
    mask: Runs | None = None
    labels: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "km"

    def __init__(
        self,
        columns: int,
        rows: int,
        cell: float | tuple[float, float] | None = None,
        bounds: tuple[float, float, float, float] | None = None,
        mask: Any = None,
    ) -> None:
        object.__setattr__(self, "columns", checked_integer("columns", columns, least=1))
        object.__setattr__(self, "rows", checked_integer("rows", rows, least=1))
        if self.columns * self.rows > LARGEST:
            sides = f"columns={shown(self.columns)}, rows={shown(self.rows)}"
            raise AlphabetError(f"{sides}: must be at most 2^53 cells, which indices still count.")
        object.__setattr__(self, "bounds", None if bounds is None else checked_bounds(bounds))
        if cell is None and self.bounds is not None:
            cell = cell_in_box(self.bounds, self.columns, self.rows)
        object.__setattr__(self, "cell", checked_cell(cell))
        if math.isinf(math.hypot(self.columns * self.cell[0], self.rows * self.cell[1])):
            cells = f"{self.columns} x {self.rows} such cells"
            raise AlphabetError(f"cell={shown(cell)}: {cells} are wider than any number.")
        if self.bounds is not None:
            check_cell_fits(self.cell, self.bounds, self.columns, self.rows)
        object.__setattr__(self, "mask", checked_runs(mask, self.columns, self.rows))

    @classmethod
    def box(
        cls,
        south: float,
        north: float,
        west: float,
        east: float,
        columns: int,
        rows: int,
        cell: float | tuple[float, float] | None = None,
        mask: Any = None,
    ) -> Self:
        """Cut a latitude/longitude box into columns x rows cells.

        The cells' size in kilometres is such that no two cells are further apart in the grid than
        on the earth (`cell_in_box`), so that noise for a distance in the grid is enough
        for the true one. A caller's own size may round it (the paper's San Francisco has cells of
        0.5 km), by at most 1 % upwards: the promise is then exceeded by as much.

        >>> city = Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
        >>> [round(side, 3) for side in city.cell]
        [0.499, 0.498]
        >>> city.encode([(37.76, -122.42)])
        array([208])
        """
        return cls(columns, rows, cell, (south, north, west, east), mask)

    @property
    def size(self) -> int:
        """How many cells there are, k."""
        return self.columns * self.rows if self.mask is None else sum(self.mask[1::2])

    @property
    def plane(self) -> tuple[int, int] | None:
        """(rows, columns), unless cells are left out: `raster` then says where the others lie."""
        return (self.rows, self.columns) if self.mask is None else None

    @property
    def raster(self) -> Raster:
        """All rows and columns, and the cells that are kept among them."""
        return Raster(self.rows, self.columns, self.cells)

    @property
    def whole(self) -> "Grid":
        """The same grid with all its cells."""
        return self if self.mask is None else replace(self, mask=None)

    @cached_property
    def cells(self) -> IntArray:
        """Row * columns + column of each cell, by index."""
        refuse_vast(self)
        return np.arange(self.size) if self.mask is None else cells_of(self.mask)

    @cached_property
    def _indices(self) -> IntArray:
        """The index of each cell of the whole grid, -1 of one that is left out."""
        indices = np.full(self.columns * self.rows, -1, dtype=np.int64)
        indices[self.cells] = np.arange(self.size)
        return indices

    @cached_property
    def nearest(self) -> IntArray:
        """The index of the cell that is kept nearest to each cell of the whole grid."""
        return nearest_kept(self.cells, self.columns, self.rows, self.cell)

    def within(self, indices: Any) -> Any:
        """Return row * columns + column of cells by their indices."""
        return indices if self.mask is None else self.cells[indices]

    @property
    def axes(self) -> tuple[str, str]:
        """What the two numbers of a point are."""
        return ("east_km", "north_km") if self.bounds is None else ("lat", "lon")

    @property
    def extent(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Kilometres east and north of the south-west corner."""
        return (0.0, self.columns * self.cell[0]), (0.0, self.rows * self.cell[1])

    @property
    def reach(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Kilometres as `extent` has them or, in a box, degrees of latitude and of longitude."""
        if self.bounds is None:
            return self.extent
        south, north, west, east = self.bounds
        return (south, north), (west, east)

    @property
    def positions(self) -> FloatArray:
        """Centres of the cells, (east, north) in kilometres from the south-west corner."""
        row, column = np.divmod(self.within(np.arange(self.size)), self.columns)
        return np.column_stack([(column + 0.5) * self.cell[0], (row + 0.5) * self.cell[1]])

    def encode(self, values: Any) -> IntArray:
        """Turn points into the indices of their cells; a point outside is an error."""
        indices, kept = self.encode_inside(values)
        if not kept.all():
            points = np.atleast_2d(values)
            outside = points[~self.whole.encode_inside(values).kept]
            if not len(outside):
                raise AlphabetError(self._left_out(points[~kept]))
            wrong = tuple(float(number) for number in outside[0])
            low, high = self._corners()
            swapped = self.encode_inside([wrong[::-1]]).kept.all()
            # Whoever left such points out would leave out everybody.
            hint = "To leave such points out, use encode_inside."
            hint = f"Are {' and '.join(self.axes)} swapped?" if swapped else hint
            raise AlphabetError(
                f"point {wrong} is outside the grid ({several(len(outside), 'such point')}): "
                f"expected ({', '.join(self.axes)}) in ({low[0]:g}..{high[0]:g}, "
                f"{low[1]:g}..{high[1]:g}). {hint}"
            )
        return indices

    def _left_out(self, points: FloatArray) -> str:
        wrong = tuple(float(number) for number in points[0])
        return (
            f"point {wrong} is in a cell that the grid leaves out "
            f"({several(len(points), 'such point')}): expected one in the "
            f"{several(self.size, 'cell')} that its mask keeps. To leave such points out, use "
            f"encode_inside."
        )

    def encode_inside(self, values: Any) -> Inside:
        """Turn points into cells and drop the points outside, telling which and how many.

        >>> found = Grid(2, 2, cell=1).encode_inside([(0.5, 0.5), (7.0, 0.5)])
        >>> found.indices, found.dropped
        (array([0]), 1)
        """
        wanted = "pairs of numbers, (n, 2)"
        points = np.atleast_2d(numbers(values, "points", wanted, AlphabetError))
        points = points.reshape(0, 2) if points.size == 0 else points
        if points.ndim != 2 or points.shape[1] != 2:
            raise AlphabetError(f"points have shape {points.shape}; expected pairs, (n, 2).")
        low, high = self._corners()
        kept = np.all((points >= low) & (points <= high), axis=1)
        share = (points[kept] - low) / (np.asarray(high) - low)
        if self.bounds is not None:
            share = share[:, ::-1]
        counts = np.array([self.columns, self.rows])
        # A point on the last edge belongs to the last cell.
        column, row = np.minimum((share * counts).astype(np.int64), counts - 1).T
        places = row * self.columns + column
        if self.mask is None:
            return Inside(places, kept)
        indices = self._indices[places]
        kept[kept] = indices >= 0
        return Inside(indices[indices >= 0], kept)

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices into the centres of their cells, in the coordinates that encode takes."""
        places = self.within(checked_indices(indices, self.size))
        row, column = np.divmod(places, self.columns)
        share = np.stack([(column + 0.5) / self.columns, (row + 0.5) / self.rows], axis=-1)
        low, high = self._corners()
        if self.bounds is not None:
            share = share[..., ::-1]
        return np.asarray(low + share * (np.asarray(high) - low))

    def _corners(self) -> tuple[tuple[float, float], tuple[float, float]]:
        first, second = self.reach
        return (first[0], second[0]), (first[1], second[1])

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Euclidean distance between the centres of cells, in kilometres."""
        both = (self.within(np.asarray(some, dtype=np.int64)) for some in (first, second))
        (row, column), (other_row, other_column) = (np.divmod(one, self.columns) for one in both)
        east = (column - other_column) * self.cell[0]
        north = (row - other_row) * self.cell[1]
        return np.asarray(np.hypot(east, north))

    def total_distance(self) -> FloatArray:
        """Sum of the distances from each cell to all cells, by quadrant prefix sums in O(k).

        Where cells are left out, by FFT in O(k log k).
        """
        east, north = self.offsets()
        table = np.hypot(east, north[:, None])
        if self.mask is not None:
            return summed_distances(self.cells, self.columns, self.rows, table)
        # A cell on an axis belongs to two quadrants, the cell itself (at distance 0) to four.
        table[0, :] /= 2
        table[:, 0] /= 2
        quadrant = table.cumsum(axis=0).cumsum(axis=1)
        by_row = quadrant + quadrant[::-1, :]
        return np.asarray(by_row + by_row[:, ::-1]).ravel()

    def transport(self, difference: FloatArray) -> None:
        """Return None: transport in the plane has no formula."""

    @cached_property
    def apart(self) -> tuple[float, float]:
        """The distance of the nearest two cells and of the furthest two, in km; (0, 0) of one.

        >>> Grid(2, 3, cell=(1.0, 2.0)).apart
        (1.0, 4.123105625617661)
        """
        (width, height), (columns, rows) = self.cell, (self.columns, self.rows)
        if self.size < 2:
            return 0.0, 0.0
        if self.mask is None:
            sides = [width] * (columns > 1) + [height] * (rows > 1)
            return min(sides), math.hypot((columns - 1) * width, (rows - 1) * height)
        some = np.nonzero(offset_counts(self.cells, columns, rows))
        lengths = np.sort(np.hypot(some[1] * width, some[0] * height))
        return float(lengths[1]), float(lengths[-1])

    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """Kilometres to the next columns eastward, and to the next rows northward, from 0."""
        refuse_vast(self)
        east, north = (np.arange(count, dtype=np.float64) for count in (self.columns, self.rows))
        return east * self.cell[0], north * self.cell[1]

    def spec(self) -> Spec:
        """Portable description."""
        bounds = None if self.bounds is None else list(self.bounds)
        cells = {"columns": self.columns, "rows": self.rows, "cell": list(self.cell)}
        # A grid with all its cells is described as it was before grids had masks: ids stay.
        mask = {} if self.mask is None else {"mask": list(self.mask)}
        return {"kind": "grid", **cells, "bounds": bounds, **mask}

    def __str__(self) -> str:
        width, height = self.cell
        side = f"{width:.3g}" if width == height else f"{width:.3g} x {height:.3g}"
        some = "" if self.mask is None else f"{self.size} of "
        return f"{some}{self.columns} x {self.rows} cells of {side} km"
