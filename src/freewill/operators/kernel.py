"""One pass over bit reports: (packed block, theta) -> (L, g, H), a function of arrays alone."""

from dataclasses import dataclass

import numpy as np

from freewill.slices import slices
from freewill.types import FloatArray, IntArray, PackedBits

_VECTOR_ENTRIES = 1 << 16
"""Entries of a block of float64: half a megabyte, which stays in the cache between two products."""
_MATRIX_ENTRIES = 1 << 21
"""Entries of a block of float32: large enough for the matrix product to run at full speed."""


@dataclass(frozen=True, eq=False)
class Sums:
    """L = sum w log p without the rows' own factors, g = P'(w/p), H = P' diag(w/p^2) P.

    They add up over blocks of reports. H is None where it was not asked for, and where an output
    has no probability at theta: L is then -inf.
    """

    value: float
    slope: FloatArray
    hessian: FloatArray | None

    @classmethod
    def nothing(cls, size: int, stride: int) -> "Sums":
        """Return the sums of no reports."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)) if stride else None)

    @classmethod
    def impossible(cls, size: int) -> "Sums":
        """Return the sums where an observed output has probability 0."""
        return cls(-np.inf, np.full(size, np.inf), None)

    def __add__(self, other: "Sums") -> "Sums":
        hessian = None
        if self.hessian is not None and other.hessian is not None:
            hessian = self.hessian + other.hessian
        return Sums(self.value + other.value, self.slope + other.slope, hessian)


def kernel(
    packed: PackedBits,
    weights: FloatArray,
    theta: FloatArray,
    base: float,
    gain: float,
    stride: int = 0,
) -> Sums:
    """Return L, g and, unless `stride` is 0, H of a block of bit reports: rows base + gain * bits.

    A row without a bit is 1 everywhere: its factor is the caller's.

    L and g are summed in float64, O(reports * k). H comes from about one report in `stride`
    (1: from all) by float32 products, O(reports * k^2 / stride): its errors cost steps, but the
    certificate does not rest on H.
    """
    size = theta.size
    value, level, ones = 0.0, 0.0, np.zeros(size)
    told, fitted = packed.any(axis=1), np.empty(len(weights))
    bases = np.where(told, base, 1.0)
    # Blocks that stay in the cache between the two products are worth a factor of two.
    for rows in slices(len(weights), _VECTOR_ENTRIES // size):
        bits = _unpack(packed[rows], size).astype(np.float64)
        fitted[rows] = bases[rows] * theta.sum() + gain * (bits @ theta)
        if not np.all(fitted[rows] > 0):
            return Sums.impossible(size)
        ratio = weights[rows] / fitted[rows]
        value += float(weights[rows] @ np.log(fitted[rows]))
        level += float(ratio @ bases[rows])
        ones += ratio @ bits
    hessian = None
    if stride:
        curvature = weights / fitted**2
        hessian = _hessian(packed[told], curvature[told], size, base, gain, stride)
        hessian += float(curvature[~told].sum())
    return Sums(value, level + gain * ones, hessian)


def _hessian(
    packed: PackedBits, curvature: FloatArray, size: int, base: float, gain: float, stride: int
) -> FloatArray:
    """Return P' diag(curvature) P; the curvature of a report is w / p^2."""
    if stride > 1 and curvature.size:
        chosen, curvature = _sample(packed, curvature, size, base, gain, stride)
        packed = packed[chosen]
    both = np.zeros((size, size))
    roots = np.sqrt(curvature).astype(np.float32)
    for rows in slices(len(curvature), _MATRIX_ENTRIES // size):
        scaled = _unpack(packed[rows], size) * roots[rows, None]
        both += scaled.T @ scaled
    own = base * gain * both.diagonal()
    return np.asarray(gain**2 * both + np.add.outer(own, own) + base**2 * curvature.sum())


def _sample(
    packed: PackedBits, curvature: FloatArray, size: int, base: float, gain: float, stride: int
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
    for rows in slices(len(curvature), _VECTOR_ENTRIES // size):
        ones += curvature[rows].astype(np.float32) @ _unpack(packed[rows], size).astype(np.float32)
    diagonal = base**2 * curvature.sum() + extra * ones
    inverse = 1 / np.maximum(diagonal, 1e-12 * diagonal.max())
    leverage = np.full(len(curvature), base**2 * inverse.sum())
    for rows in slices(len(curvature), _VECTOR_ENTRIES // size):
        bits = _unpack(packed[rows], size).astype(np.float32)
        leverage[rows] += extra * (bits @ inverse.astype(np.float32))
    leverage *= curvature
    chance = np.minimum(1.0, leverage + (1 + leverage / leverage.mean()) / (2 * stride))
    running = np.cumsum(chance) + 0.5
    chosen = np.flatnonzero(np.floor(running) > np.floor(running - chance))
    return chosen, curvature[chosen] / chance[chosen]


def _unpack(packed: PackedBits, size: int) -> PackedBits:
    return np.unpackbits(packed, axis=1, count=size, bitorder="little")
