"""Cells of a plane, in kilometres or cut from a latitude/longitude box, all of them or some.

What a degree is on the earth, which cells a mask keeps, as runs, and how far those are apart.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.types import FloatArray, IntArray, Spec, array_of, numbers
from freewill.domain.alphabets.base import (
    LARGEST,
    Inside,
    Raster,
    checked_indices,
    checked_integer,
    refuse_vast,
)
from freewill.errors import AlphabetError, FreewillError, several, shown

EARTH_RADIUS_KM = 6378.137
EARTH_ECCENTRICITY_SQUARED = 0.00669437999014
"""Both of the WGS 84 ellipsoid."""
MEAN_RADIUS_KM = 6371.0
"""Of the sphere that haversine formulas take the earth for."""
_LONGER, _SHORTER = 1.01, 0.9
"""By which factors a cell that the caller gives may differ from what its box makes it."""


def kilometres_per_degree(latitude: float) -> tuple[float, float]:
    """Length of a degree (northward, eastward) at a latitude, on the WGS 84 ellipsoid.

    >>> [round(length, 3) for length in kilometres_per_degree(0.0)]
    [110.574, 111.319]
    """
    phi = np.radians(latitude)
    flattened = 1 - EARTH_ECCENTRICITY_SQUARED * np.sin(phi) ** 2
    meridian = EARTH_RADIUS_KM * (1 - EARTH_ECCENTRICITY_SQUARED) / flattened**1.5
    parallel = EARTH_RADIUS_KM / np.sqrt(flattened) * np.cos(phi)
    return float(np.radians(meridian)), float(np.radians(parallel))


def cell_in_box(
    bounds: tuple[float, float, float, float], columns: int, rows: int
) -> tuple[float, float]:
    """Return the width and height of cells whose centres are no further apart than on the earth.

    Let M be the radius of curvature along the meridian at the latitude of the box nearest to the
    equator: no shortest way between two of its points comes nearer, and M only grows towards the
    poles. Then the earth is nowhere smaller than M^2 dphi^2 + N^2 cos^2(phi) dlambda^2, N = 6371
    km: a sphere of radius M on which longitudes are stretched by N / M. On it, with c the smallest
    cos(phi) of all centres and f(t) = 2 asin(c sin(t / 2)),

        sin^2(d / 2M) >= sin^2(dphi / 2) + sin^2(f(dlambda) / 2)   (haversine), hence
        d^2 >= M^2 (dphi^2 + f(dlambda)^2),

    as sin^2(sqrt(s) / 2) is concave in s. And f is concave: f(t) >= t f(T) / T up to the distance T
    between the first column and the last. M is never taken larger than 6371 km, so that the
    distance on that sphere, too, is never overstated.

    >>> [round(side) for side in cell_in_box((35.0, 71.0, -10.0, 40.0), columns=50, rows=36)]
    [36, 111]
    """
    south, north, west, east = np.radians(bounds)
    nearest = 0.0 if south <= 0 <= north else min(abs(south), abs(north))
    meridian = np.degrees(kilometres_per_degree(float(np.degrees(nearest)))[0])
    radius = min(meridian, MEAN_RADIUS_KM)
    half_row = (north - south) / rows / 2
    # By the distance from the pole: the cosine would lose the last digits of a latitude near it.
    from_pole = np.pi / 2 - max(abs(south + half_row), abs(north - half_row))
    smallest = np.sin(from_pole)
    wide = (east - west) / columns
    apart = (columns - 1) * wide
    stretch = MEAN_RADIUS_KM / radius if apart * MEAN_RADIUS_KM / radius <= np.pi else 1.0
    ratio = smallest * stretch
    if apart > 0:
        ratio = 2 * np.arcsin(smallest * np.sin(apart * stretch / 2)) / apart
    # A little less, for the rounding of all this.
    unit = radius * (1 - 1e-12)
    return float(unit * wide * ratio), float(unit * 2 * half_row)


def check_cell_fits(
    cell: tuple[float, float], bounds: tuple[float, float, float, float], columns: int, rows: int
) -> None:
    """Refuse a cell that its box contradicts: metres for kilometres, or one side for two."""
    fitting = cell_in_box(bounds, columns, rows)
    if all(_SHORTER <= own / fit <= _LONGER for own, fit in zip(cell, fitting, strict=True)):
        return
    south, north, west, east = bounds
    raise AlphabetError(
        f"cell={cell[0]:g} x {cell[1]:g} km contradicts the box {south:g}..{north:g} north, "
        f"{west:g}..{east:g} east: its {columns} x {rows} cells are {fitting[0]:.6g} x "
        f"{fitting[1]:.6g} km (width x height). Noise for a wrong distance breaks the promise: "
        f"leave the cell out, or give it in kilometres, rounded by at most 1 %."
    )


def checked_cell(cell: Any) -> tuple[float, float]:
    """Return the width and height of a cell, in km."""
    wanted = "a side > 0, or (width, height), in km"
    try:
        sides = numbers(cell, "cell")
    except FreewillError:
        sides = np.empty(0)
    if sides.shape not in ((), (2,)) or not np.all(np.isfinite(sides) & (sides > 0)):
        raise AlphabetError(f"cell={shown(cell)}: must be {wanted}.")
    width, height = np.broadcast_to(sides, 2).tolist()
    return width, height


def checked_bounds(bounds: Any) -> tuple[float, float, float, float]:
    """Return the edges of a box, in degrees."""
    wanted = "(south, north, west, east), in degrees"
    edges = numbers(bounds, "bounds", wanted, AlphabetError)
    if edges.shape != (4,):
        raise AlphabetError(f"bounds={shown(bounds)}: expected {wanted}.")
    south, north, west, east = edges.tolist()
    named = (("south", south, "north", north, 90), ("west", west, "east", east, 180))
    for first, low, second, high, most in named:
        if not -most <= low < high <= most:
            expected = f"expected -{most} <= {first} < {second} <= {most}. Bounds are {wanted}."
            raise AlphabetError(f"{first}={low}, {second}={high}: {expected}")
    return south, north, west, east


MOST_CELLS = 1 << 20
"""Of a grid with a mask: each of its cells is looked at."""

Runs = tuple[int, ...]


def checked_runs(mask: Any, columns: int, rows: int) -> Runs | None:
    """Return a mask as runs: cells left out, kept, left out, ... by turns, row by row from south.

    A mask is that already, or an array of True and False, [row, column], with row 0 in the south.
    None where all cells are kept.

    >>> checked_runs([[False, True], [True, True]], columns=2, rows=2)
    (1, 3)
    >>> checked_runs([0, 4], columns=2, rows=2)
    """
    if mask is None:
        return None
    wanted = (
        f"True for each cell that is kept, an array of {rows} x {columns} (rows, from south), or "
        f"how many cells are left out, kept, left out, ... by turns, {columns * rows} in all"
    )
    if columns * rows > MOST_CELLS:
        raise AlphabetError(
            f"a mask on {columns} x {rows} cells: at most 2^20 cells may have one. Take larger "
            f"cells, or leave the mask out."
        )
    runs = _runs(mask, (rows, columns))
    if runs is None or sum(runs) != columns * rows:
        raise AlphabetError(f"mask={shown(mask)}: expected {wanted}.")
    if len(runs) == 1:
        raise AlphabetError("the mask leaves out every cell: keep at least one.")
    return None if runs == (0, columns * rows) else runs


def _runs(mask: Any, shape: tuple[int, int]) -> Runs | None:
    """Return the runs of a table, or runs that are given as such; None of anything else."""
    table = array_of(mask)
    if table.dtype == np.bool_:
        changes = np.flatnonzero(np.diff(table.ravel(), prepend=False))
        runs = np.diff([0, *changes, table.size])
        return tuple(runs.tolist()) if table.shape == shape else None
    with suppress(FreewillError):
        given = numbers(mask, "mask")
        if given.ndim == 1 and given.size and np.all(given == np.floor(given)):
            # Only the first may be 0, so that there is one way.
            least = np.arange(given.size) > 0
            if np.all((given >= least) & (given <= MOST_CELLS)):
                return tuple(given.astype(int).tolist())
    return None


def cells_of(runs: Runs) -> IntArray:
    """Return the places of the cells that are kept, which rise.

    >>> cells_of((1, 2, 2, 1))
    array([1, 2, 5])
    """
    lengths = np.array(runs)
    return np.flatnonzero(np.repeat(np.arange(lengths.size) % 2 == 1, lengths))


def nearest_kept(cells: IntArray, columns: int, rows: int, sides: Sequence[float]) -> IntArray:
    """Return, for each cell of the plane, the index of the nearest one that is kept.

    By the distance of the centres, (columns apart * width)^2 + (rows apart * height)^2 in doubles;
    of equally near ones the one furthest west, then furthest south. In O(cells * columns).

    >>> nearest_kept(np.array([0, 5]), 3, 2, (1.0, 1.0))
    array([0, 0, 1, 0, 1, 1])
    """
    index = np.full(rows * columns, -1, dtype=np.int64)
    index[cells] = np.arange(cells.size)
    kept = (index >= 0).reshape(rows, columns)
    # The nearest row that is kept in each column, of two the southern one.
    up = np.arange(rows)[:, None]
    below = np.maximum.accumulate(np.where(kept, up, -4 * rows), axis=0)
    above = np.minimum.accumulate(np.where(kept, up, 4 * rows)[::-1], axis=0)[::-1]
    row = np.where(up - below <= above - up, below, above)
    north = np.square((row - up) * sides[1])
    north[:, ~kept.any(axis=0)] = np.inf
    across = np.arange(columns)
    east = np.square((across[:, None] - across) * sides[0])
    nearest = np.empty((rows, columns), dtype=np.int64)
    for place in range(rows):
        column = np.argmin(east + north[place], axis=1)
        nearest[place] = index[row[place, column] * columns + column]
    return nearest.ravel()


def offset_counts(
    cells: IntArray, columns: int, rows: int, others: IntArray | None = None
) -> FloatArray:
    """Return how many ordered pairs of kept cells are j rows and i columns apart, [j, i].

    With `others`, pairs of one of the cells and one of these.

    By FFT, rounded: whole numbers, exactly. O(K log K) for K cells.

    >>> offset_counts(np.array([0, 1, 2]), 2, 2)
    array([[3., 2.],
           [2., 2.]])
    """
    planes = np.zeros((2, 2 * rows, 2 * columns))
    for plane, some in zip(planes, (cells, cells if others is None else others), strict=True):
        plane[np.divmod(some, columns)] = 1.0
    one, other = np.fft.rfft2(planes)
    pairs = np.rint(np.fft.irfft2(np.conj(one) * other, s=planes.shape[1:]))
    pairs[1:rows] += pairs[:rows:-1]
    pairs[:, 1:columns] += pairs[:, :columns:-1]
    return np.asarray(pairs[:rows, :columns])


def summed_distances(cells: IntArray, columns: int, rows: int, lengths: FloatArray) -> FloatArray:
    """Return the sum of the distances from each kept cell to all, by FFT; `lengths` are [j, i]."""
    tall, wide = 2 * rows, 2 * columns
    plane = np.zeros((tall, wide))
    plane[np.divmod(cells, columns)] = 1.0
    around = np.zeros((tall, wide))
    around[:rows, :columns] = lengths
    around[rows + 1 :] = around[rows - 1 : 0 : -1]
    around[:, columns + 1 :] = around[:, columns - 1 : 0 : -1]
    product = np.fft.rfft2(plane) * np.fft.rfft2(around)
    return np.asarray(np.fft.irfft2(product, s=plane.shape)[np.divmod(cells, columns)])


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
        columns = checked_integer("columns", columns, least=1)
        rows = checked_integer("rows", rows, least=1)
        if columns * rows > LARGEST:
            sides = f"columns={shown(columns)}, rows={shown(rows)}"
            raise AlphabetError(f"{sides}: must be at most 2^53 cells, which indices still count.")
        bounds = None if bounds is None else checked_bounds(bounds)
        given = cell
        if cell is None and bounds is not None:
            given = cell_in_box(bounds, columns, rows)
        width, height = cell = checked_cell(given)
        if math.isinf(math.hypot(columns * width, rows * height)):
            cells = f"{columns} x {rows} such cells"
            raise AlphabetError(f"cell={shown(given)}: {cells} are wider than any number.")
        if bounds is not None:
            check_cell_fits(cell, bounds, columns, rows)
        runs = checked_runs(mask, columns, rows)
        vars(self).update(columns=columns, rows=rows, cell=cell, bounds=bounds, mask=runs)

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
        if kept.all():
            return indices
        points = np.atleast_2d(values)
        refused = points[~self.whole.encode_inside(values).kept]
        hint = "To leave such points out, use encode_inside."
        if len(refused):
            (low, south), (high, north) = np.transpose(self.reach)
            where = "outside the grid"
            wanted = f"({', '.join(self.axes)}) in ({low:g}..{high:g}, {south:g}..{north:g})"
            # Whoever left swapped points out would leave out everybody.
            if self.encode_inside([refused[0][::-1]]).kept.all():
                hint = f"Are {' and '.join(self.axes)} swapped?"
        else:
            refused = points[~kept]
            where = "in a cell that the grid leaves out"
            wanted = f"one in the {several(self.size, 'cell')} that its mask keeps"
        wrong, many = tuple(map(float, refused[0])), several(len(refused), "such point")
        raise AlphabetError(f"point {wrong} is {where} ({many}): expected {wanted}. {hint}")

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
        low, high = np.transpose(self.reach)
        kept = np.all((points >= low) & (points <= high), axis=1)
        share = (points[kept] - low) / (high - low)
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
        low, high = np.transpose(self.reach)
        if self.bounds is not None:
            share = share[..., ::-1]
        return np.asarray(low + share * (high - low))

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
