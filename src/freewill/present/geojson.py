"""A map for other programs: cells or districts of a latitude/longitude box, as GeoJSON."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import portable
from freewill.core.types import IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import Blocks, Groups, as_groups, merged_weights
from freewill.errors import AlphabetError, ParameterError
from freewill.present.canvas import finite_weights, has_neighbours
from freewill.present.shares import check_intervals
from freewill.stats.intervals import Intervals

_DIGITS = 9
"""Of a degree: a tenth of a millimetre."""


def features(
    alphabet: Alphabet,
    theta: ArrayLike,
    merged: int | Groups = 1,
    intervals: Intervals | None = None,
    background: Any = None,
) -> dict[str, Any]:
    """Return a FeatureCollection (RFC 7946): one rectangle a cell, with its share of the people.

    Positions are (longitude, latitude) on WGS 84, rings run anticlockwise, neighbours share their
    edges to the last digit. Each feature has `index`, `column`, `row` and `share`. `merged` makes
    districts of so many columns and rows of cells (or of `domain.alphabets.groups`); they have
    the column and the row of their south-west cell, and how many `columns` and `rows` they are of.
    With `intervals` of what is drawn each has `point`, `low`, `high` and `standard_error`, which is
    null where nothing is known. The features of a survey's `background` come first, so that they
    are drawn below; then all have a `layer`, background or cells, by which programs tell them
    apart. Cells that a grid leaves out are none.

    >>> import freewill as fw
    >>> box = fw.Grid.box(37.0, 38.0, -123.0, -121.0, columns=2, rows=1)
    >>> features(box, [0.25, 0.75])["features"][1]["geometry"]["coordinates"]
    [[[-122.0, 37.0], [-121.0, 37.0], [-121.0, 38.0], [-122.0, 38.0], [-122.0, 37.0]]]
    >>> features(box, [0.25, 0.75], merged=2)["features"][0]["properties"]
    {'index': 0, 'column': 0, 'row': 0, 'columns': 2, 'rows': 1, 'share': 1.0}
    """
    check_place(alphabet)
    weights = finite_weights(theta, "theta", alphabet)
    groups = as_groups(alphabet, merged)
    if not has_neighbours(groups):
        raise ParameterError("sets of cells are no rectangles: expected districts, or every cell.")
    whole = groups if isinstance(groups, Blocks) else Blocks(alphabet, 1, 1)
    (first_rows, first_columns), (end_rows, end_columns) = whole.spans(np.arange(whole.count))
    columns: dict[str, Any] = {"index": range(whole.count)}
    columns |= {"column": first_columns, "row": first_rows}
    if isinstance(groups, Blocks):
        columns |= {"columns": end_columns - first_columns, "rows": end_rows - first_rows}
    columns["share"] = merged_weights(groups, weights)
    if intervals is not None:
        check_intervals(intervals, alphabet, whole.count)
        columns |= intervals.columns()
    rings = _rings(alphabet, (first_columns, end_columns), (first_rows, end_rows))
    rows = zip(*portable(columns).values(), strict=True)
    under = _under(background)
    layer = {"layer": "cells"} if under else {}
    cells = [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [ring]},
            "properties": {**layer, **dict(zip(columns, row, strict=True))},
        }
        for ring, row in zip(rings, rows, strict=True)
    ]
    return {"type": "FeatureCollection", "features": [*under, *cells]}


def _under(background: Any) -> list[dict[str, Any]]:
    """Return the features of a background, marked as such; a picture has none."""
    below = (background or {}).get("geojson", {}).get("features", [])
    return [
        {**one, "properties": {"layer": "background", **(one.get("properties") or {})}}
        for one in below
    ]


def check_place(alphabet: Alphabet) -> None:
    """Refuse an alphabet that is nowhere on the earth."""
    if alphabet.axes != ("lat", "lon"):
        raise AlphabetError(
            f"{alphabet} has no place on the earth: GeoJSON is for a grid with bounds in degrees "
            f"(Grid.box, or the field bounds of a survey)."
        )


def _rings(
    alphabet: Alphabet, columns: tuple[IntArray, IntArray], rows: tuple[IntArray, IntArray]
) -> Iterator[list[list[float]]]:
    """Yield the corners of rectangles, each from its first column and row to their ends."""
    (south, north), (west, east) = alphabet.reach
    grid: Any = alphabet
    x = np.linspace(west, east, grid.columns + 1).round(_DIGITS)
    y = np.linspace(south, north, grid.rows + 1).round(_DIGITS)
    sides = (x[columns[0]], x[columns[1]], y[rows[0]], y[rows[1]])
    for left, right, low, up in zip(*(side.tolist() for side in sides), strict=True):
        yield [[left, low], [right, low], [right, up], [left, up], [left, low]]
