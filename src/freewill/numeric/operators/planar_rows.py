"""Planar noise with an epsilon of its own for every row, from the tables of a few epsilons.

The logarithms of the tables of clipped planar noise, with epsilon times the distance added back,
are smooth functions of log epsilon: a polynomial through Chebyshev's points has them to rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import DenseOperator

_POINTS = (32, 48, 64, 96, 128, 192)
"""How many points are tried, the fewest first."""
_CLOSE = 1e-12
"""By how much logarithms may be off, between points."""

Tables = Callable[[float], FloatArray]
"""log P of clipped noise at an epsilon, [table, row, column], as a `FoldedKernel` stacks them."""


def planar_rows(
    tables: Tables, lengths: FloatArray, epsilons: FloatArray, outputs: IntArray, log_share: float
) -> DenseOperator | None:
    """Return the law of outputs with an epsilon a row; `lengths` are distances, [row, column].

    Each row is divided by its largest entry.

    None where no polynomial is close to the tables. O(outputs k) exponentials, and as many numbers
    in memory; the tables of some 50 epsilons.
    """
    if not outputs.size:
        return DenseOperator(np.empty((0, lengths.size)))
    smooth = _interpolated(lambda e: tables(e) + e * lengths, epsilons)
    if smooth is None:
        return None
    weights, points = smooth
    tall, wide = lengths.shape
    rows, log_scale = np.empty((outputs.size, lengths.size)), np.empty(outputs.size)
    order = np.argsort(outputs, kind="stable")
    there, firsts = np.unique(outputs[order], return_index=True)
    every_row, every_column = np.divmod(np.arange(lengths.size), wide)
    for output, own in zip(there.tolist(), np.split(order, firsts[1:]), strict=True):
        row, column = divmod(output, wide)
        table = points[:, 2 * (row in (0, tall - 1)) + (column in (0, wide - 1))]
        places = np.abs(every_row - row) * wide + np.abs(every_column - column)
        logs = weights[own] @ table.reshape(len(points), -1)[:, places]
        logs -= np.multiply.outer(epsilons[own], lengths.ravel()[places])
        log_scale[own] = logs[:, output]
        rows[own] = np.exp(logs - logs[:, output, None])
    return DenseOperator(rows, log_scale + log_share)


def _interpolated(function: Any, places: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return weights [place, point] and a function's arrays at points: their product has all.

    The barycentric formula at Chebyshev's points of log x, as many as it takes.
    """
    low, high = np.log(places.min()), np.log(places.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 1e-9)
    for count in _POINTS:
        angles = (2 * np.arange(count) + 1) * np.pi / (2 * count)
        points = np.array([function(float(x)) for x in np.exp(middle + half * np.cos(angles))])
        between = np.cos(angles[:-1] + np.pi / (2 * count))[:: max(1, count // 8)]
        exact = np.array([function(float(x)) for x in np.exp(middle + half * between)])
        near = np.tensordot(_barycentric(between, angles), points, 1)
        if np.abs(near - exact).max() <= _CLOSE:
            return _barycentric((np.log(places) - middle) / half, angles), points
    return None


def _barycentric(places: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the weights of the polynomial through Chebyshev's points, [place, point]."""
    apart = places[:, None] - np.cos(angles)
    hit: Any = np.abs(apart) < 1e-15
    weights = (-1.0) ** np.arange(angles.size) * np.sin(angles) / np.where(hit, 1.0, apart)
    weights = np.where(hit.any(axis=1)[:, None], hit, weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
