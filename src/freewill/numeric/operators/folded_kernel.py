"""A symmetric noise kernel on a grid, folded at the border: tables, transforms and products."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, slices

_TOGETHER = 1 << 15
"""Numbers of planes that are transformed at a time, which stay in the cache."""
_FAINT = 1e-20
"""Entries below that, relative to the largest, are lost in the rounding of an FFT."""


@dataclass(frozen=True, eq=False)
class FoldedKernel:
    """Logarithms of a symmetric noise kernel and of its sums to infinity, one quadrant each.

    All four tables have shape (rows, columns); entry [j, i] is about the displacement of i
    columns and j rows: `inner` is K itself, `side` the sum over i, i+1, ... at row j, `end` the
    sum over j, j+1, ... at column i, and `corner` both.
    """

    inner: FloatArray
    side: FloatArray
    end: FloatArray
    corner: FloatArray

    @property
    def rows(self) -> int:
        """Rows of the grid."""
        return len(self.inner)

    @property
    def columns(self) -> int:
        """Columns of the grid."""
        return len(self.inner[0])

    @cached_property
    def stacked(self) -> FloatArray:
        """The four tables, [2 * (output on a row edge) + (output on a column edge), j, i]."""
        return np.stack([self.inner, self.side, self.end, self.corner])

    @property
    def tops(self) -> FloatArray:
        """The largest logarithm of each table: that of no displacement."""
        return np.asarray(self.stacked[:, 0, 0])

    @cached_property
    def scaled(self) -> FloatArray:
        """The tables themselves, not their logarithms, each divided by its largest entry."""
        return np.exp(self.stacked - self.tops[:, None, None])

    @cached_property
    def squared(self) -> "FoldedKernel":
        """The squares of all entries."""
        return FoldedKernel(*(2 * self.stacked))

    @cached_property
    def quarter(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The tables (not their logarithms) of a quarter of the noise.

        A displacement along an axis belongs to two quadrants, so that half of it counts here;
        four such quarters make the whole noise.
        """
        inner, side, end, corner = (np.exp(table) for table in self.stacked)
        for table, beyond in ((side, corner), (inner, end)):
            beyond[0] -= table[0] / 2
            table[0] /= 2
        for table, beyond in ((end, corner), (inner, side)):
            beyond[:, 0] -= table[:, 0] / 2
            table[:, 0] /= 2
        return inner, side, end, corner

    @cached_property
    def transforms(self) -> "Transforms":
        """The tables in the frequency domain, for products."""
        return Transforms.of(self)


@dataclass(frozen=True, eq=False)
class Transforms:
    """Fourier transforms of the tables, wrapped so that circular products do not overlap.

    The wrapped tables are even, so that their transforms are real.
    """

    shape: tuple[int, int]
    inner: FloatArray
    side: FloatArray
    end: FloatArray
    corner: FloatArray

    @classmethod
    def of(cls, kernel: FoldedKernel) -> "Transforms":
        """Transform the tables of a kernel."""
        from scipy import fft  # noqa: PLC0415

        tall = fft.next_fast_len(2 * kernel.rows - 1, real=True)
        wide = fft.next_fast_len(2 * kernel.columns - 1, real=True)
        # What is less than rounding beside the largest entry would only be slow, as a denormal.
        inner, side, end, corner = np.where(kernel.scaled < _FAINT, 0.0, kernel.scaled)
        return cls(
            shape=(tall, wide),
            inner=fft.rfft2(_wrap(_wrap(inner, wide, 1), tall, 0)).real,
            side=fft.rfft(_wrap(side, tall, 0), axis=0).real,
            end=fft.rfft(_wrap(end, wide, 1), axis=1).real,
            corner=corner,
        )

    @cached_property
    def noise(self) -> float:
        """Bound on the error of any entry of a product with a vector of norm 1.

        An FFT of N numbers returns its result with an error of about eps log2 N relative to its
        norm (Higham, Accuracy and Stability of Numerical Algorithms, 24.1). There are three on
        the way, and in between the spectrum grows by that of the tables.
        """
        side = np.linalg.norm(np.abs(self.side).max(axis=0))
        end = np.linalg.norm(np.abs(self.end).max(axis=1))
        largest = max(float(np.abs(self.inner).max()), float(side), float(end))
        return 3 * float(np.finfo(np.float64).eps) * math.log2(math.prod(self.shape)) * largest


_Array = NDArray[Any]
_CORNERS = ([0, 0, -1, -1], [0, -1, 0, -1])


class PlanarProducts:
    """Products of several laws on one grid, which share the transforms of a vector.

    Outputs on the border have tables of their own: transforms of one dimension, all laws and both
    opposite edges together. `kind` is the precision, float64 or float32.
    """

    def __init__(self, laws: Sequence[Transforms], kind: type[np.floating[Any]]) -> None:
        self._kind, self._shape, self._plane = kind, laws[0].shape, laws[0].corner.shape
        # Some laws at a time, and each number twice, for the two parts of a complex one.
        self._inner = [
            np.repeat(np.array([law.inner for law in laws[some]], kind), 2, axis=2)
            for some in slices(len(laws), max(1, _TOGETHER // laws[0].inner.size))
        ]
        # A matrix [law and edge, distance from the edge] for each frequency along it.
        sides = [side for law in laws for side in (law.side, law.side[:, ::-1])]
        ends = [end.T for law in laws for end in (law.end, law.end[::-1])]
        self._sides = np.stack(sides, axis=1, dtype=kind, casting="same_kind")
        self._ends = np.stack(ends, axis=1, dtype=kind, casting="same_kind")
        corners = [
            law.corner[::down, ::aside] for law in laws for down in (1, -1) for aside in (1, -1)
        ]
        self._corners = np.array(corners, dtype=kind).reshape(len(corners), -1)

    def forward(self, vector: FloatArray) -> _Array:
        """Return P vector of each law on all cells, [law, row, column]."""
        from scipy import fft  # noqa: PLC0415

        (rows, columns), (tall, wide) = self._plane, self._shape
        flat = vector.astype(self._kind, copy=False)
        plane = flat.reshape(self._plane)
        along = fft.rfft(plane, n=wide, axis=1)
        both = fft.fft(along, n=tall, axis=0)
        planes = np.empty((len(self._corners) // 4, rows, columns), flat.dtype)
        first = 0
        for inner in self._inner:
            products = (both.view(flat.dtype) * inner).view(both.dtype)
            waves = fft.ifft(products, axis=1, overwrite_x=True)[:, :rows]
            some = slice(first, first := first + len(inner))
            planes[some] = fft.irfft(waves, n=wide, axis=2)[:, :, :columns]
        sides = _mixed(self._sides, fft.rfft(plane, n=tall, axis=0), tall)[:rows]
        planes[:, :, [0, -1]] = sides.reshape(rows, -1, 2).swapaxes(0, 1)
        ends = _mixed(self._ends, along.T, wide)[:columns]
        planes[:, [0, -1]] = ends.T.reshape(-1, 2, columns)
        planes[:, *_CORNERS] = (self._corners @ flat).reshape(-1, 4)
        return planes

    def adjoint(self, planes: _Array) -> _Array:
        """Return the sum over laws of P' of their planes, which are overwritten."""
        from scipy import fft  # noqa: PLC0415

        (rows, columns), (tall, wide) = self._plane, self._shape
        corners, planes[:, *_CORNERS] = planes[:, *_CORNERS], 0.0
        sides, planes[:, :, [0, -1]] = planes[:, :, [0, -1]], 0.0
        ends, planes[:, [0, -1]] = planes[:, [0, -1]], 0.0
        total = np.zeros((tall, wide // 2 + 1), np.result_type(planes, np.complex64))
        first = 0
        for inner in self._inner:
            some = planes[first : (first := first + len(inner))]
            waves = fft.fft(fft.rfft(some, n=wide, axis=2), n=tall, axis=1, overwrite_x=True)
            parts = waves.view(planes.dtype)
            parts *= inner
            total += waves.sum(axis=0)
        back = fft.ifft(total, axis=0, overwrite_x=True)[:rows]
        result = fft.irfft(back, n=wide, axis=1)[:, :columns].copy()
        waves = fft.rfft(sides.swapaxes(0, 1).reshape(rows, -1), n=tall, axis=0)
        result += _mixed(self._sides.swapaxes(1, 2), waves, tall)[:rows]
        waves = fft.rfft(ends.reshape(-1, columns), n=wide, axis=1).T
        result += _mixed(self._ends.swapaxes(1, 2), waves, wide)[:columns].T
        flat = result.ravel()
        flat += corners.ravel() @ self._corners
        return flat


def _mixed(tables: _Array, waves: _Array, length: int) -> _Array:
    """Apply a real matrix at each frequency, and transform back: [place, row of the matrix]."""
    from scipy import fft  # noqa: PLC0415

    parts = np.ascontiguousarray(waves).view(tables.dtype).reshape(*waves.shape, 2)
    mixed = np.ascontiguousarray(tables @ parts).view(waves.dtype)[:, :, 0]
    return np.asarray(fft.irfft(mixed, n=length, axis=0))


def _wrap(table: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay displacements 0, 1, ..., m-1 and their mirror images around a circle."""
    moved = np.moveaxis(table, axis, 0)
    circle = np.zeros((length, *moved.shape[1:]))
    circle[: len(moved)] = moved
    circle[length - len(moved) + 1 :] = moved[:0:-1]
    return np.moveaxis(circle, 0, axis)
