"""A map for other programs: the cells of a latitude/longitude box with their shares, as GeoJSON."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet
from freewill.atomic import whole_file
from freewill.errors import AlphabetError, ParameterError, several
from freewill.types import numbers

_DIGITS = 9
"""Of a degree: a tenth of a millimetre."""


def features(alphabet: Alphabet, theta: ArrayLike) -> dict[str, Any]:
    """Return a FeatureCollection (RFC 7946): one rectangle a cell, with its share of the people.

    Positions are (longitude, latitude) on WGS 84, rings run anticlockwise, neighbours share their
    edges to the last digit. Each feature has `index`, `column`, `row` and `share`.

    >>> import freewill as fw
    >>> box = fw.Grid.box(37.0, 38.0, -123.0, -121.0, columns=2, rows=1)
    >>> features(box, [0.25, 0.75])["features"][1]["geometry"]["coordinates"]
    [[[-122.0, 37.0], [-121.0, 37.0], [-121.0, 38.0], [-122.0, 38.0], [-122.0, 37.0]]]
    """
    if alphabet.axes != ("lat", "lon") or alphabet.plane is None:
        raise AlphabetError(
            f"{alphabet} has no place on the earth: GeoJSON is for a grid with bounds in degrees "
            f"(Grid.box, or the field bounds of a survey)."
        )
    shares = numbers(theta, "theta", several(alphabet.size, "share"))
    if shares.shape != (alphabet.size,) or not np.all(np.isfinite(shares)):
        raise ParameterError(
            f"theta has shape {shares.shape}: expected a finite share for each of the "
            f"{several(alphabet.size, 'cell')}."
        )
    (south, north), (west, east) = alphabet.reach
    rows, columns = alphabet.plane
    x = np.linspace(west, east, columns + 1).round(_DIGITS).tolist()
    y = np.linspace(south, north, rows + 1).round(_DIGITS).tolist()
    found = []
    for index, share in enumerate(shares.tolist()):
        row, column = divmod(index, columns)
        (left, right), (low, high) = x[column : column + 2], y[row : row + 2]
        ring = [[left, low], [right, low], [right, high], [left, high], [left, low]]
        place = {"index": index, "column": column, "row": row, "share": share}
        shape = {"type": "Polygon", "coordinates": [ring]}
        found.append({"type": "Feature", "geometry": shape, "properties": place})
    return {"type": "FeatureCollection", "features": found}


def write(alphabet: Alphabet, theta: ArrayLike, path: str | Path) -> None:
    """Write the features to a file, which appears when it is complete."""
    text = json.dumps(features(alphabet, theta), allow_nan=False)
    with whole_file(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
