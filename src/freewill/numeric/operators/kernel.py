"""One pass over bit reports: (packed block, theta) -> (L, g, H), a function of arrays alone."""

from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits
from freewill.numeric.operators.bit_products import (
    add_by_byte,
    bit_sums,
    by_bit,
    byte_columns,
    byte_tables,
    looked_up,
    row_sums,
    unpacked_blocks,
)

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

    L and g are summed in float64, O(reports * k / 8): a byte of bits is looked up in a table of the
    256 sums that it can stand for, and adds to one of 256 sums. H comes from about one report in
    `stride` (1: from all) by float32 products, O(reports * k^2 / stride): its errors cost steps,
    but the certificate does not rest on H.
    """
    size, width, total = theta.size, packed.shape[1], float(theta.sum())
    value, level = 0.0, 0.0
    tables, totals = byte_tables(theta, width), np.zeros((width, 256))
    told, fitted = np.empty(len(weights), dtype=np.bool_), np.empty(len(weights))
    for rows, block in byte_columns(packed):
        columns = np.ascontiguousarray(block)
        told[rows] = np.bitwise_or.reduce(columns, axis=0) > 0
        bases = np.where(told[rows], base, 1.0)
        here = fitted[rows] = bases * total + gain * looked_up(tables, columns)
        if not np.all(here > 0):
            return Sums.impossible(size)
        ratio = weights[rows] / here
        value += float(weights[rows] @ np.log(here))
        level += float(ratio @ bases)
        add_by_byte(totals, columns, ratio)
    slope = level + gain * by_bit(totals, size)
    hessian = None
    if stride:
        curvature = weights / fitted**2
        hessian = _hessian(packed[told], curvature[told], size, base, gain, stride)
        hessian += float(curvature[~told].sum())
    return Sums(value, slope, hessian)


def _hessian(
    packed: PackedBits, curvature: FloatArray, size: int, base: float, gain: float, stride: int
) -> FloatArray:
    """Return P' diag(curvature) P; the curvature of a report is w / p^2."""
    if stride > 1 and curvature.size:
        chosen, curvature = _sample(packed, curvature, size, base, gain, stride)
        packed = packed[chosen]
    both, product = np.zeros((size, size)), np.empty((size, size), dtype=np.float32)
    roots = np.sqrt(curvature).astype(np.float32)
    for rows, bits in unpacked_blocks(packed, size, np.float32, _MATRIX_ENTRIES):
        scaled = np.multiply(bits, roots[rows, None], out=bits)
        both += np.matmul(scaled.T, scaled, out=product)
    half = base * gain * both.diagonal() + base**2 * curvature.sum() / 2
    both *= gain**2
    # One sum for both halves of the matrix: symmetric to the last bit, it travels as one of them.
    both += np.add.outer(half, half)
    return both


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
    diagonal = base**2 * curvature.sum() + extra * bit_sums(packed, curvature, size)
    inverse = 1 / np.maximum(diagonal, 1e-12 * diagonal.max())
    leverage = curvature * (base**2 * inverse.sum() + extra * row_sums(packed, inverse))
    chance = np.minimum(1.0, leverage + (1 + leverage / leverage.mean()) / (2 * stride))
    running = np.cumsum(chance) + 0.5
    chosen = np.flatnonzero(np.floor(running) > np.floor(running - chance))
    return chosen, curvature[chosen] / chance[chosen]
