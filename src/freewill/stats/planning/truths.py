"""A few truths to plan for when nobody knows the truth yet."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet

_WIDE = 0.1
"""Standard deviation of a peak, as a share of the length of each axis."""


def truths(alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return distributions that differ in what makes estimation hard, by name.

    On lines and grids: uniform; one peak in the middle; two peaks, at a quarter and at three
    quarters of the way; all people at one value, the middle; half of them at each end. Without
    geometry: uniform; shares that fall as 1, 1/2, 1/3, ...; two values; one value.

    >>> import freewill as fw
    >>> list(truths(fw.Linear(0, 9)))
    ['uniform', 'one peak', 'two peaks', 'one value', 'both ends']
    >>> {name: theta.tolist() for name, theta in truths(fw.Categorical(["a", "b"])).items()}
    {'uniform': [0.5, 0.5], 'few common values': [0.666..., 0.333...], 'one value': [1.0, 0.0]}
    """
    size = alphabet.size
    found = {"uniform": np.ones(size)}
    if alphabet.plane is None:
        found["few common values"] = 1 / np.arange(1.0, size + 1)
        found["two values"] = _at(size, 0, min(1, size - 1))
        found["one value"] = _at(size, 0)
    else:
        rows, columns = alphabet.plane
        north, east = np.divmod(np.arange(size), columns)
        along = (east + 0.5) / columns, (north + 0.5) / rows
        found["one peak"] = _peak(along, 0.5, rows > 1)
        found["two peaks"] = _peak(along, 0.25, rows > 1) + _peak(along, 0.75, rows > 1)
        found["one value"] = _at(size, (rows // 2) * columns + columns // 2)
        found["both ends"] = _at(size, 0, size - 1)
    return _distinct({name: weights / weights.sum() for name, weights in found.items()})


def _peak(along: tuple[FloatArray, FloatArray], centre: float, plane: bool) -> FloatArray:
    """Return a normal peak, with the same place and width on each axis."""
    east, north = along
    square = (east - centre) ** 2 + (north - centre) ** 2 * plane
    # From its top: the peak is there, however narrow it is beside a cell.
    return np.asarray(np.exp(-(square - square.min()) / (2 * _WIDE**2)))


def _at(size: int, *places: int) -> FloatArray:
    weights = np.zeros(size)
    weights[list(places)] = 1.0
    return weights


def _distinct(found: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Leave out what is the same as one before: small alphabets have no room for all."""
    kept: dict[str, FloatArray] = {}
    for name, theta in found.items():
        if not any(np.allclose(theta, other) for other in kept.values()):
            kept[name] = theta
    return kept
