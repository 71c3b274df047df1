"""What lies under a map in a picture: areas, water, roads and names, or a picture with its box."""

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.maps import Feature
from freewill.domain.survey_texts import Background

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WATER, LAND, BORDER, ROAD, NAME = "#CFE3F1", "#F4F2EC", "#6B7280", "#9AA1AB", "#22272E"
_UNDER, _ABOVE, _NAMES = 0.5, 1.5, 2.5
"""Where things are drawn: cells are at 1."""
_MOST_NAMES = 40
_LONGEST = 24
_TRIED = 16
"""Places along each side of a shape that are tried for its name."""


def draw_under(
    axes: "Axes", background: Background, extent: tuple[float, float, float, float]
) -> None:
    """Draw a background under the cells, its borders and names above them."""
    west, east, south, north = extent
    if background.image is not None:
        _draw_picture(axes, background)
    # The largest first: an island lies on the sea, a lake on its district.
    for feature in sorted(background.features, key=_area, reverse=True):
        if feature.form == "Polygon":
            _draw_area(axes, feature)
        elif feature.form == "LineString":
            water = feature.kind == "water"
            looks: dict[str, Any] = {"color": WATER if water else ROAD, "zorder": _ABOVE}
            for line in feature.parts:
                axes.plot(*line.T, linewidth=2.2 if water else 0.7, **looks)
    _draw_names(axes, background)
    if background.attribution:
        text = background.attribution.replace("$", r"\$")
        corner: dict[str, Any] = {"xycoords": "axes fraction", "ha": "right", "va": "bottom"}
        axes.annotate(text, (1, 0), fontsize=5.5, color=BORDER, zorder=_NAMES, **corner)
    axes.set_xlim(west, east)
    axes.set_ylim(south, north)


def _draw_picture(axes: "Axes", background: Background) -> None:
    from matplotlib.image import imread  # noqa: PLC0415

    content = BytesIO(background.image or b"")
    heads = {b"\x89PNG": "png", b"RIFF": "webp"}
    kind = heads.get(content.getvalue()[:4], "jpg")
    axes.imshow(imread(content, format=kind), extent=background.box, zorder=_UNDER)


def _draw_area(axes: "Axes", feature: Feature) -> None:
    from matplotlib.patches import PathPatch  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    vertices = np.concatenate(feature.parts)
    codes = np.full(len(vertices), Path.LINETO)
    codes[np.cumsum([0, *map(len, feature.parts[:-1])])] = Path.MOVETO
    water = feature.kind == "water"
    looks = {"facecolor": WATER if water else LAND, "edgecolor": "none", "zorder": _UNDER}
    axes.add_patch(PathPatch(Path(vertices, codes), **looks))
    if not water:
        looks = {"edgecolor": BORDER, "linewidth": 0.6, "zorder": _ABOVE}
        axes.add_patch(PathPatch(Path(vertices, codes), fill=False, **looks))


def _draw_names(axes: "Axes", background: Background) -> None:
    """Write the names of the largest areas and water, and of places."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415

    named = [one for one in background.features if one.name and one.form != "LineString"]
    for feature in sorted(named, key=_area, reverse=True)[:_MOST_NAMES]:
        x, y = centre_of(feature)
        shown = feature.name if len(feature.name) <= _LONGEST else f"{feature.name[:_LONGEST]}…"
        style = "italic" if feature.kind == "water" else "normal"
        looks: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True, "style": style}
        text = axes.text(x, y, shown.replace("$", r"\$"), fontsize=6.5, color=NAME, **looks)
        text.set_path_effects([withStroke(linewidth=1.8, foreground="white", alpha=0.85)])
        text.set_zorder(_NAMES)


def _area(feature: Feature) -> float:
    """Return the area of the largest ring; places come after areas."""
    return max(abs(ring_area(part)) for part in feature.parts)


def ring_area(ring: FloatArray) -> float:
    """Return the area within a ring, positive where it runs anticlockwise.

    >>> ring_area(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [0.0, 0.0]]))
    2.0
    """
    (x, y), (right, up) = ring[:-1].T, ring[1:].T
    return float(np.sum(x * up - right * y) / 2) if len(ring) > 2 else 0.0


def centre_of(feature: Feature) -> tuple[float, float]:
    """Return where a feature's name goes: well inside its largest ring, or at its point.

    Of places on a lattice over the ring, the one furthest from its sides.
    """
    part = max(feature.parts, key=lambda ring: abs(ring_area(ring)))
    low, high = part.min(axis=0), part.max(axis=0)
    shares = np.arange(1, _TRIED) / _TRIED
    lattice = [
        (x, y)
        for x in low[0] + shares * np.ptp(part[:, 0])
        for y in low[1] + shares * np.ptp(part[:, 1])
    ]
    inside = [point for point in lattice if feature.holds(point)]
    x, y = max(inside, key=lambda point: _room(part, point), default=(low + high) / 2)
    return float(x), float(y)


def _room(ring: FloatArray, point: tuple[float, float]) -> float:
    """Return how far a point is from the nearest side of a ring."""
    sides = np.diff(ring, axis=0)
    squares = np.maximum(np.sum(sides**2, axis=1), np.finfo(float).tiny)
    along = np.clip(np.sum((point - ring[:-1]) * sides, axis=1) / squares, 0, 1)
    return float(np.hypot(*(ring[:-1] + along[:, None] * sides - point).T).min())
