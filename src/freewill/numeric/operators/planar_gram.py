"""The product with sum over mechanisms of P' diag(d) P for planar noise on one grid, in float32."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray
from freewill.numeric.operators.folded_kernel import FoldedKernel

Single = NDArray[np.float32]
Waves = NDArray[np.complexfloating[Any, Any]]

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
    the border have tables of their own (see `ConvolutionOperator`): transforms of one dimension,
    all laws and both sides together.
    """

    def __init__(self, laws: Sequence[PlanarLaw]) -> None:
        kernel = laws[0].kernel
        self.plane = kernel.rows, kernel.columns
        self.shape = kernel.transforms.shape
        transforms = [law.kernel.transforms for law in laws]
        weights = np.array([law.weights for law in laws], dtype=np.float32)
        # Each number twice, for the two parts of a complex one.
        self._inner = [np.repeat(_single(each.inner), 2, axis=1) for each in transforms]
        self._inside = weights.copy()
        self._inside[:, [0, -1]] = 0.0
        self._inside[:, :, [0, -1]] = 0.0
        sides = [[each.side, each.side[:, ::-1]] for each in transforms]
        ends = [[each.end.T, each.end.T[:, ::-1]] for each in transforms]
        bare = np.moveaxis(weights[:, :, [0, -1]], 2, 1).copy()
        bare[:, :, [0, -1]] = 0.0
        self._sides = _Edges(_single(sides), bare, self.shape[0])
        bare = weights[:, [0, -1]]
        bare[:, :, [0, -1]] = 0.0
        self._ends = _Edges(_single(ends), bare, self.shape[1])
        corners = [
            each.corner[::down, ::aside]
            for each in transforms
            for down in (1, -1)
            for aside in (1, -1)
        ]
        self._corners = _single(corners).reshape(len(corners), -1)
        self._corner_weights = weights[:, [0, 0, -1, -1], [0, -1, 0, -1]].ravel()

    def __call__(self, vector: FloatArray) -> FloatArray:
        """Return the product with a vector."""
        from scipy import fft  # noqa: PLC0415

        (rows, columns), (tall, wide) = self.plane, self.shape
        faint = np.abs(vector) < _FAINT * np.abs(vector).max()
        flat = _single(np.where(faint, 0.0, vector))
        plane = flat.reshape(self.plane)
        along: Waves = fft.rfft(plane, n=wide, axis=1)
        both: Waves = fft.fft(along, n=tall, axis=0)
        total, buffer = np.zeros_like(both), np.empty_like(both)
        for inner, weights in zip(self._inner, self._inside, strict=True):
            np.multiply(both.view(np.float32), inner, out=buffer.view(np.float32))
            waves: Waves = fft.ifft(buffer, axis=0, overwrite_x=True)[:rows]
            inside = fft.irfft(waves, n=wide, axis=1)[:, :columns] * weights
            waves = fft.fft(fft.rfft(inside, n=wide, axis=1), n=tall, axis=0, overwrite_x=True)
            parts = waves.view(np.float32)
            parts *= inner
            total += waves
        back: Waves = fft.ifft(total, axis=0, overwrite_x=True)[:rows]
        result = fft.irfft(back, n=wide, axis=1)[:, :columns].copy()
        result += self._sides(fft.rfft(plane, n=tall, axis=0), rows).T
        result += self._ends(along.T, columns)
        result = result.ravel()
        result += (self._corner_weights * (self._corners @ flat)) @ self._corners
        return result.astype(np.float64)


class _Edges:
    """Two opposite edges of all laws: outputs along them, values at every distance from them."""

    def __init__(self, tables: Single, weights: Single, length: int) -> None:
        # From [law, edge, frequency, distance] to a matrix [law and edge, distance] a frequency.
        flat = tables.reshape(-1, *tables.shape[2:])
        self._tables = np.ascontiguousarray(np.moveaxis(flat, 1, 0))
        self._weights = weights.reshape(-1, weights.shape[-1])
        self._length = length

    def __call__(self, waves: Waves, places: int) -> Single:
        """Return what the edges add, [distance, place], from transforms [frequency, distance]."""
        from scipy import fft  # noqa: PLC0415

        parts = np.ascontiguousarray(waves).view(np.float32).reshape(*waves.shape, 2)
        at_edges = np.ascontiguousarray(self._tables @ parts).view(np.complex64)[:, :, 0]
        outputs = fft.irfft(at_edges, n=self._length, axis=0)[:places].T * self._weights
        spread: Waves = fft.rfft(outputs, n=self._length, axis=1).T
        parts = np.ascontiguousarray(spread).view(np.float32).reshape(*spread.shape, 2)
        back = np.ascontiguousarray(np.swapaxes(self._tables, 1, 2) @ parts).view(np.complex64)
        found: Single = fft.irfft(back[:, :, 0], n=self._length, axis=0)[:places].T
        return found


def _single(numbers: Any) -> Single:
    return np.asarray(numbers, dtype=np.float32)
