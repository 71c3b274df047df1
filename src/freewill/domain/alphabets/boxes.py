"""Boxes of latitudes and longitudes: how large their cells are on the earth, and their checks."""

from typing import Any

import numpy as np

from freewill.core.types import numbers
from freewill.errors import AlphabetError, FreewillError, shown

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
