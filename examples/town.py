"""A made-up town by the sea as GeoJSON, to try maps on: `python examples/town.py > town.geojson`.

Nine districts of Havenmouth, an island among them, the sea, a river, streets and places. Nothing of
it is real: it lies in the middle of the Bay of Biscay.
"""

import json
import math
from typing import Any

SOUTH, WEST = 46.2, -4.6
"""The south-west corner, in degrees."""
KM_NORTH, KM_EAST = 111.15, 77.16
"""Kilometres of a degree there."""
NAMES = (
    ("Westcliff", "Old Harbour", "Mill Quay", "Eastsands"),
    ("Highfield", "Abbey", "Northgate", "Saltmarsh"),
)
PLACES = {
    "Town Hall": (3.3, 3.0),
    "Central Station": (5.0, 3.9),
    "Lighthouse": (1.0, 1.75),
    "Hospital": (7.2, 3.4),
    "University": (2.6, 5.3),
}

Position = tuple[float, float]


def coast(x: float) -> float:
    """How far north of the corner the sea reaches, in kilometres."""
    return 1.7 + 0.35 * math.sin(1.1 * x) - 0.5 * math.exp(-((x - 3.4) ** 2)) - 0.08 * x


def border(number: int, y: float) -> float:
    """How far east the borders of districts run; the middle one is the river."""
    return (0.5, 2.2, 4.2, 6.3, 8.7)[number] + 0.25 * math.sin(1.3 * y + number)


def middle(x: float) -> float:
    """Where the northern districts begin."""
    return 3.9 + 0.2 * math.sin(0.9 * x)


def district(row: int, column: int, steps: int = 24) -> list[Position]:
    """Return the ring of a district, anticlockwise from its south-western corner."""
    low, high = (coast, middle) if row == 0 else (middle, lambda x: 6.3 + 0.15 * math.sin(x))
    ends = [(low(border(n, 2.0 + 2 * row)), high(border(n, 4.5))) for n in (column, column + 1)]
    shares = [step / steps for step in range(steps + 1)]
    right = [y0 + s * (y1 - y0) for (y0, y1) in ends[1:] for s in shares]
    left = [y0 + s * (y1 - y0) for (y0, y1) in ends[:1] for s in shares]
    east = [(border(column + 1, y), y) for y in right]
    west = [(border(column, y), y) for y in reversed(left)]
    (x0, _), (x1, _) = west[-1], east[0]
    south = [(x0 + s * (x1 - x0), low(x0 + s * (x1 - x0))) for s in shares[1:-1]]
    (x0, _), (x1, _) = east[-1], west[0]
    north = [(x0 + s * (x1 - x0), high(x0 + s * (x1 - x0))) for s in shares[1:-1]]
    return [west[-1], *south, *east, *north, *west]


def island() -> list[Position]:
    """Return the ring of Gull Island."""
    turns = [step * math.pi / 12 for step in range(25)]
    return [
        (6.6 + 0.55 * math.cos(t), 0.45 + 0.22 * math.sin(t) * (2 + math.cos(t)) / 2) for t in turns
    ]


def feature(kind: str, name: str, form: str, coordinates: Any) -> dict[str, Any]:
    """Return a feature of a kind, with its positions in degrees."""

    def placed(nested: Any) -> Any:
        if isinstance(nested, list):
            return [placed(one) for one in nested]
        x, y = nested
        return [round(WEST + x / KM_EAST, 6), round(SOUTH + y / KM_NORTH, 6)]

    properties = {"name": name, "kind": kind} if name else {"kind": kind}
    geometry = {"type": form, "coordinates": placed(coordinates)}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def town() -> dict[str, Any]:
    """Return Havenmouth as a FeatureCollection."""
    along = [0.1 * step for step in range(93)]
    sea = [(0.0, 0.0), (9.2, 0.0), *[(x, coast(x)) for x in reversed(along)], (0.0, 0.0)]
    river = [(border(2, y), y) for y in [1.1 + 0.1 * step for step in range(53)]]
    streets = [
        [(x, middle(x) - 0.9) for x in along[8:84]],
        [(x, middle(x) + 1.1) for x in along[6:86]],
        *([(border(n, y) + 0.9, y) for y in [2.0 + 0.2 * s for s in range(21)]] for n in range(4)),
    ]
    features = [feature("water", "The Sound", "Polygon", [sea])]
    features += [
        feature("area", name, "Polygon", [district(row, column)])
        for row, names in enumerate(NAMES)
        for column, name in enumerate(names)
    ]
    features += [feature("area", "Gull Island", "Polygon", [island()])]
    features += [feature("water", "River Haven", "LineString", river)]
    features += [feature("road", "", "LineString", street) for street in streets]
    features += [feature("place", name, "Point", at) for name, at in PLACES.items()]
    return {"type": "FeatureCollection", "features": features}


if __name__ == "__main__":
    print(json.dumps(town()))
