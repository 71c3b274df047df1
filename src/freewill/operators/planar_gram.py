"""The product with sum over mechanisms of P' diag(d) P for planar noise on one grid, in float32."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freewill.operators.folded_kernel import FoldedKernel
from freewill.types import FloatArray

Single = NDArray[np.float32]
_FAINT = 1e-15
"""Entries below that, relative to the largest, are dropped: denormals are many times slower."""


class PlanarLaw(NamedTuple):
    """The noise of a mechanism, and the weight of each of its outputs on the grid."""

    kernel: FoldedKernel
    weights: FloatArray


class PlanarGram:
    """x -> sum over laws of P' diag(weights) P x, to float32.

    The vector is transformed once for all laws, and what they return is added up before it is
    transformed back: two FFTs a law instead of four. float32 halves the time again. Outputs on
    the border have tables of their own (see `ConvolutionOperator`), of one dimension.
    """

    def __init__(self, laws: Sequence[PlanarLaw]) -> None:
        kernel = laws[0].kernel
        self.plane = kernel.rows, kernel.columns
        self.shape = kernel.transforms.shape
        self._laws = [_Law.of(law) for law in laws]

    def __call__(self, vector: FloatArray) -> FloatArray:
        """Return the product with a vector."""
        from scipy import fft  # noqa: PLC0415

        (rows, columns), (tall, wide) = self.plane, self.shape
        faint = np.abs(vector) < _FAINT * np.abs(vector).max()
        plane = np.where(faint, 0.0, vector).reshape(self.plane).astype(np.float32)
        along = fft.rfft(plane, n=wide, axis=1)
        across = fft.rfft(plane, n=tall, axis=0)
        both = fft.fft(along, n=tall, axis=0)
        into_both, into_along, into_across = (np.zeros_like(each) for each in (both, along, across))
        result = np.zeros(self.plane, dtype=np.float32)
        buffer = np.empty_like(both)
        for law in self._laws:
            np.multiply(both, law.inner, out=buffer)
            waves = fft.ifft(buffer, axis=0, overwrite_x=True)[:rows]
            inside = fft.irfft(waves, n=wide, axis=1)[:, :columns] * law.inside
            back = fft.fft(fft.rfft(inside, n=wide, axis=1), n=tall, axis=0, overwrite_x=True)
            back *= law.inner
            into_both += back
            for weights, table in law.sides:
                edge = fft.irfft(np.einsum("fi,fi->f", across, table), n=tall)[:rows] * weights
                into_across += fft.rfft(edge, n=tall)[:, None] * table
            for weights, table in law.ends:
                edge = fft.irfft(np.einsum("if,if->f", along, table), n=wide)[:columns] * weights
                into_along += fft.rfft(edge, n=wide) * table
            for weight, table in law.corners:
                result += (weight * np.vdot(table, plane)) * table
        into_both = fft.ifft(into_both, axis=0, overwrite_x=True)[:rows]
        result += fft.irfft(into_both, n=wide, axis=1)[:, :columns]
        result += fft.irfft(into_across, n=tall, axis=0)[:rows]
        result += fft.irfft(into_along, n=wide, axis=1)[:, :columns]
        return result.ravel().astype(np.float64)


class _Law(NamedTuple):
    """Transformed tables and weights: inside, on both sides, at both ends, in the corners."""

    inner: Single
    inside: Single
    sides: list[tuple[Single, Single]]
    ends: list[tuple[Single, Single]]
    corners: list[tuple[np.float32, Single]]

    @classmethod
    def of(cls, law: PlanarLaw) -> "_Law":
        transforms, weights = law.kernel.transforms, law.weights.astype(np.float32)
        inner, side, end, corner = (
            table.astype(np.float32)
            for table in (transforms.inner, transforms.side, transforms.end, transforms.corner)
        )
        bare = weights.copy()
        bare[[0, -1]] = 0.0
        bare[:, [0, -1]] = 0.0
        aside, across = weights.copy(), weights.copy()
        aside[[0, -1]] = 0.0
        across[:, [0, -1]] = 0.0
        return cls(
            inner,
            bare,
            [(aside[:, 0], side), (aside[:, -1], side[:, ::-1])],
            [(across[0], end), (across[-1], end[::-1])],
            [
                (weights[0, 0], corner),
                (weights[0, -1], corner[:, ::-1]),
                (weights[-1, 0], corner[::-1]),
                (weights[-1, -1], corner[::-1, ::-1]),
            ],
        )
