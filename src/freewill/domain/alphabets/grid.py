"""Cells of a plane, in kilometres or cut from a latitude/longitude box."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.types import FloatArray, IntArray, Spec, numbers
from freewill.domain.alphabets.base import (
    LARGEST,
    Inside,
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


@dataclass(frozen=True)
class Grid:
    """Cells of a plane, numbered row by row from the south-west corner.

    The index of a cell is row * columns + column. `cell` is the side in kilometres, or
    (width, height) where cells are not square. Without a box, points are (east, north) in
    kilometres from the south-west corner; with one (`Grid.box`), they are (latitude, longitude),
    the cell follows from the box, and one that contradicts it is refused.

    Distance is Euclidean, between the centres, in kilometres. So a promise of epsilon a kilometre
    is one between cells, not between the points in them: points of one cell are not told apart at
    all, and two points on either side of an edge, a metre apart, as well as the centres of their
    cells. Where that matters, take smaller cells: noise is by the kilometre and stays the same.

    >>> city = Grid(columns=24, rows=16, cell=0.5)
    >>> city.size, city.encode([(0.1, 0.1), (0.6, 0.1), (0.1, 0.6)])
    (384, array([ 0,  1, 24]))
    """

    columns: int
    rows: int
    cell: tuple[float, float]
    bounds: tuple[float, float, float, float] | None = None
    labels: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "km"

    def __init__(
        self,
        columns: int,
        rows: int,
        cell: float | tuple[float, float] | None = None,
        bounds: tuple[float, float, float, float] | None = None,
    ) -> None:
        object.__setattr__(self, "columns", checked_integer("columns", columns, least=1))
        object.__setattr__(self, "rows", checked_integer("rows", rows, least=1))
        if self.columns * self.rows > LARGEST:
            sides = f"columns={shown(self.columns)}, rows={shown(self.rows)}"
            raise AlphabetError(f"{sides}: must be at most 2^53 cells, which indices still count.")
        object.__setattr__(self, "bounds", None if bounds is None else _checked_bounds(bounds))
        if cell is None and self.bounds is not None:
            cell = cell_in_box(self.bounds, self.columns, self.rows)
        object.__setattr__(self, "cell", _checked_cell(cell))
        if math.isinf(math.hypot(self.columns * self.cell[0], self.rows * self.cell[1])):
            cells = f"{self.columns} x {self.rows} such cells"
            raise AlphabetError(f"cell={shown(cell)}: {cells} are wider than any number.")
        if self.bounds is not None:
            _check_cell_fits(self.cell, self.bounds, self.columns, self.rows)

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
        return cls(columns, rows, cell, (south, north, west, east))

    @property
    def size(self) -> int:
        """How many cells there are, k."""
        return self.columns * self.rows

    @property
    def plane(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.columns

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
        row, column = np.divmod(np.arange(self.size), self.columns)
        return np.column_stack([(column + 0.5) * self.cell[0], (row + 0.5) * self.cell[1]])

    def encode(self, values: Any) -> IntArray:
        """Turn points into the indices of their cells; a point outside is an error."""
        indices, kept = self.encode_inside(values)
        if not kept.all():
            wrong = tuple(float(number) for number in np.atleast_2d(values)[~kept][0])
            (low, high), outside = self._corners(), int((~kept).sum())
            swapped = self.encode_inside([wrong[::-1]]).kept.all()
            # Whoever left such points out would leave out everybody.
            hint = "To leave such points out, use encode_inside."
            hint = f"Are {' and '.join(self.axes)} swapped?" if swapped else hint
            raise AlphabetError(
                f"point {wrong} is outside the grid ({several(outside, 'such point')}): expected "
                f"({', '.join(self.axes)}) in ({low[0]:g}..{high[0]:g}, {low[1]:g}..{high[1]:g})."
                f" {hint}"
            )
        return indices

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
        return Inside(row * self.columns + column, kept)

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices into the centres of their cells, in the coordinates that encode takes."""
        row, column = np.divmod(checked_indices(indices, self.size), self.columns)
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
        row, column = np.divmod(np.asarray(first, dtype=np.int64), self.columns)
        other_row, other_column = np.divmod(np.asarray(second, dtype=np.int64), self.columns)
        east = (column - other_column) * self.cell[0]
        north = (row - other_row) * self.cell[1]
        return np.asarray(np.hypot(east, north))

    def total_distance(self) -> FloatArray:
        """Sum of the distances from each cell to all cells, by quadrant prefix sums in O(k)."""
        east, north = self.offsets()
        table = np.hypot(east, north[:, None])
        # A cell on an axis belongs to two quadrants, the cell itself (at distance 0) to four.
        table[0, :] /= 2
        table[:, 0] /= 2
        quadrant = table.cumsum(axis=0).cumsum(axis=1)
        by_row = quadrant + quadrant[::-1, :]
        return np.asarray(by_row + by_row[:, ::-1]).ravel()

    def transport(self, difference: FloatArray) -> None:
        """Return None: transport in the plane has no formula."""

    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """Kilometres to the next columns eastward, and to the next rows northward, from 0."""
        refuse_vast(self)
        east, north = (np.arange(count, dtype=np.float64) for count in (self.columns, self.rows))
        return east * self.cell[0], north * self.cell[1]

    def spec(self) -> Spec:
        """Portable description."""
        bounds = None if self.bounds is None else list(self.bounds)
        cells = {"columns": self.columns, "rows": self.rows, "cell": list(self.cell)}
        return {"kind": "grid", **cells, "bounds": bounds}

    def __str__(self) -> str:
        width, height = self.cell
        side = f"{width:.3g}" if width == height else f"{width:.3g} x {height:.3g}"
        return f"{self.columns} x {self.rows} cells of {side} km"


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


def _check_cell_fits(
    cell: tuple[float, float],
    bounds: tuple[float, float, float, float],
    columns: int,
    rows: int,
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


def _checked_cell(cell: Any) -> tuple[float, float]:
    wanted = "a side > 0, or (width, height), in km"
    try:
        sides = numbers(cell, "cell")
    except FreewillError:
        sides = np.empty(0)
    if sides.shape not in ((), (2,)) or not np.all(np.isfinite(sides) & (sides > 0)):
        raise AlphabetError(f"cell={shown(cell)}: must be {wanted}.")
    width, height = np.broadcast_to(sides, 2).tolist()
    return width, height


def _checked_bounds(bounds: Any) -> tuple[float, float, float, float]:
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
