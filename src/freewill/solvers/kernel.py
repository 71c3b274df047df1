"""One pass over bit reports: (packed block, theta) -> (L, g, H), a function of arrays alone."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from freewill.types import FloatArray, IntArray, PackedBits

_VECTOR_ENTRIES = 1 << 16
_MATRIX_ENTRIES = 1 << 21


class Sums(NamedTuple):
    """L = sum w log p without the rows' own factors, g = P'(w/p), H = P' diag(w/p^2) P."""

    value: float
    slope: FloatArray
    hessian: FloatArray | None


def kernel(
    packed: PackedBits,
    weights: FloatArray,
    theta: FloatArray,
    base: float,
    gain: float,
    stride: int = 0,
) -> Sums:
    """Return L, g and, unless `stride` is 0, H of a block of bit reports: rows base + gain * bits.

    A function of arrays alone. L and g are summed in float64, O(reports * k). H comes from about
    one report in `stride` (1: from all) by float32 products, O(reports * k^2 / stride): its
    errors cost steps, but the certificate does not rest on H.
    """
    size = theta.size
    value, ratios, ones = 0.0, 0.0, np.zeros(size)
    fitted = np.empty(len(weights))
    # Blocks that stay in the cache between the two products are worth a factor of two.
    for rows in _blocks(len(weights), _VECTOR_ENTRIES // size):
        bits = _unpack(packed[rows], size).astype(np.float64)
        fitted[rows] = base * theta.sum() + gain * (bits @ theta)
        if fitted[rows].min() <= 0:
            return Sums(-np.inf, np.full(size, np.inf), None)
        ratio = weights[rows] / fitted[rows]
        value += float(weights[rows] @ np.log(fitted[rows]))
        ratios += float(ratio.sum())
        ones += ratio @ bits
    bends = weights / fitted**2
    hessian = _curvature(packed, bends, size, base, gain, stride) if stride else None
    return Sums(value, base * ratios + gain * ones, hessian)


def _curvature(
    packed: PackedBits, bends: FloatArray, size: int, base: float, gain: float, stride: int
) -> FloatArray:
    if stride > 1 and bends.size:
        chosen, bends = _sample(packed, bends, size, base, gain, stride)
        packed = packed[chosen]
    both = np.zeros((size, size))
    roots = np.sqrt(bends).astype(np.float32)
    for rows in _blocks(len(bends), _MATRIX_ENTRIES // size):
        scaled = _unpack(packed[rows], size) * roots[rows, None]
        both += scaled.T @ scaled
    own = base * gain * both.diagonal()
    return np.asarray(gain**2 * both + np.add.outer(own, own) + base**2 * bends.sum())


def _sample(
    packed: PackedBits, bends: FloatArray, size: int, base: float, gain: float, stride: int
) -> tuple[IntArray, FloatArray]:
    """Choose about one row in `stride`, half evenly and half by its leverage, and weigh it up.

    The leverage of a row is its share in the diagonal of H, summed over the diagonal: at large
    epsilons a few reports carry all the curvature of a rare value, and drawn evenly they would be
    missed. A row that carries a value alone is always in, for at most k rows more. Systematic, a
    row each time the running sum of the chances passes a whole number: no randomness is needed
    and every stretch of the rows has its share.
    """
    extra = gain * (2 * base + gain)
    ones = np.zeros(size)
    for rows in _blocks(len(bends), _VECTOR_ENTRIES // size):
        ones += bends[rows].astype(np.float32) @ _unpack(packed[rows], size).astype(np.float32)
    diagonal = base**2 * bends.sum() + extra * ones
    inverse = 1 / np.maximum(diagonal, 1e-12 * diagonal.max())
    leverage = np.full(len(bends), base**2 * inverse.sum())
    for rows in _blocks(len(bends), _VECTOR_ENTRIES // size):
        bits = _unpack(packed[rows], size).astype(np.float32)
        leverage[rows] += extra * (bits @ inverse.astype(np.float32))
    leverage *= bends
    chance = np.minimum(1.0, leverage + (1 + leverage / leverage.mean()) / (2 * stride))
    running = np.cumsum(chance) + 0.5
    chosen = np.flatnonzero(np.floor(running) > np.floor(running - chance))
    return chosen, bends[chosen] / chance[chosen]


def _unpack(packed: PackedBits, size: int) -> PackedBits:
    return np.unpackbits(packed, axis=1, count=size, bitorder="little")


def _blocks(rows: int, height: int) -> Iterator[slice]:
    height = max(1, height)
    return (slice(first, first + height) for first in range(0, rows, height))
