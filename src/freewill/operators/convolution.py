"""Operator of planar noise that is clipped to a grid: FFT inside, sums to infinity at the border.

The nearest cell of a point outside the grid is its coordinate-wise clip. So an output inside has
P(z | x) = K(z - x), one on an edge the sum of K over the half-line behind it, and one in a corner
the sum over the quarter-plane behind it. No padding to the reach of the noise is needed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.operators.base import Products, Structure
from freewill.slices import slices
from freewill.types import FloatArray, IntArray

_BLOCK = 1 << 14


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

    @cached_property
    def flat(self) -> FloatArray:
        """The tables themselves, not their logarithms, end to end: for looking entries up."""
        return np.exp(self.stacked).ravel()

    @cached_property
    def quarter(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The tables (not their logarithms) of a quarter of the noise.

        A displacement along an axis belongs to two quadrants, so that half of it counts here;
        four such quarters make the whole noise.
        """
        inner, side, end, corner = (np.exp(table) for table in self.stacked)
        corner[0] -= side[0] / 2
        corner[:, 0] -= (end[:, 0] - inner[:, 0] / 2 * (np.arange(self.rows) == 0)) / 2
        side[:, 0] -= inner[:, 0] / 2
        side[0] /= 2
        end[0] -= inner[0] / 2
        end[:, 0] /= 2
        inner[0] /= 2
        inner[:, 0] /= 2
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
        inner = _wrap(_wrap(np.exp(kernel.inner), wide, 1), tall, 0)
        return cls(
            shape=(tall, wide),
            inner=fft.rfft2(inner).real,
            side=fft.rfft(_wrap(np.exp(kernel.side), tall, 0), axis=0).real,
            end=fft.rfft(_wrap(np.exp(kernel.end), wide, 1), axis=1).real,
            corner=np.exp(kernel.corner),
        )


def _wrap(table: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay displacements 0, 1, ..., m-1 and their mirror images around a circle."""
    moved = np.moveaxis(table, axis, 0)
    circle = np.zeros((length, *moved.shape[1:]))
    circle[: len(moved)] = moved
    circle[length - len(moved) + 1 :] = moved[:0:-1]
    return np.moveaxis(circle, 0, axis)


@dataclass(frozen=True, eq=False)
class ConvolutionOperator(Products):
    """Clipped planar noise on observed cells; forward and adjoint in O(k log k).

    Products are accurate to rounding relative to their largest entry, not entry by entry: that
    is the nature of the FFT. `dense` is accurate entry by entry.
    """

    outputs: IntArray
    kernel: FoldedKernel
    structure: ClassVar[Structure] = "planar"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, cells)."""
        return self.outputs.size, self.kernel.rows * self.kernel.columns

    @property
    def log_scale(self) -> FloatArray:
        """Zero: the rows are probabilities."""
        return np.zeros(self.outputs.size)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta at the observed cells."""
        from scipy import fft  # noqa: PLC0415

        rows, columns = self.kernel.rows, self.kernel.columns
        transforms = self.kernel.transforms
        tall, wide = transforms.shape
        plane = theta.reshape(rows, columns)
        along = fft.rfft(plane, n=wide, axis=1)
        across = fft.rfft(plane, n=tall, axis=0)
        result = fft.irfft2(fft.fft(along, n=tall, axis=0) * transforms.inner, s=(tall, wide))
        result = result[:rows, :columns].copy()
        for edge, table in ((0, transforms.side), (-1, transforms.side[:, ::-1])):
            result[:, edge] = fft.irfft((across * table).sum(axis=1), n=tall)[:rows]
        for edge, table in ((0, transforms.end), (-1, transforms.end[::-1])):
            result[edge, :] = fft.irfft((along * table).sum(axis=0), n=wide)[:columns]
        for row, column, table in self._corners():
            result[row, column] = np.vdot(table, plane)
        return result.ravel()[self.outputs]

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights."""
        from scipy import fft  # noqa: PLC0415

        rows, columns = self.kernel.rows, self.kernel.columns
        transforms = self.kernel.transforms
        tall, wide = transforms.shape
        plane = np.bincount(self.outputs, weights, minlength=rows * columns).reshape(rows, columns)
        inside = np.zeros_like(plane)
        inside[1:-1, 1:-1] = plane[1:-1, 1:-1]
        result = fft.irfft2(fft.rfft2(inside, s=(tall, wide)) * transforms.inner, s=(tall, wide))
        result = result[:rows, :columns].copy()

        edges = np.zeros((rows, 2))
        edges[1:-1] = plane[1:-1, [0, -1]]
        west, east = fft.rfft(edges, n=tall, axis=0).T[:, :, None]
        spectrum = west * transforms.side + east * transforms.side[:, ::-1]
        result += fft.irfft(spectrum, n=tall, axis=0)[:rows]

        edges = np.zeros((2, columns))
        edges[:, 1:-1] = plane[[0, -1], 1:-1]
        south, north = fft.rfft(edges, n=wide, axis=1)[:, None, :]
        spectrum = south * transforms.end + north * transforms.end[::-1]
        result += fft.irfft(spectrum, n=wide, axis=1)[:, :columns]

        for row, column, table in self._corners():
            result += plane[row, column] * table
        return result.ravel()

    def _corners(self) -> list[tuple[int, int, FloatArray]]:
        table = self.kernel.transforms.corner
        return [
            (0, 0, table),
            (0, -1, table[:, ::-1]),
            (-1, 0, table[::-1]),
            (-1, -1, table[::-1, ::-1]),
        ]

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return P' diag(weights) P through the dense rows, O(outputs * k^2)."""
        rows = self.dense()
        return np.asarray(rows.T @ (weights[:, None] * rows))

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, looked up in the tables."""
        return self._look_up(self.kernel.flat, columns)

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), finite however far y is from x."""
        return self._look_up(self.kernel.stacked.ravel(), None)

    def _look_up(self, tables: FloatArray, columns: IntArray | None) -> FloatArray:
        """Read each entry off the tables, a few cells at a time so that all stays in cache.

        The array is laid out cell by cell: a column generator asks for few cells of many outputs.
        """
        wide, tall = self.kernel.columns, self.kernel.rows
        cells = np.arange(self.shape[1]) if columns is None else columns
        row, column = np.divmod(self.outputs.astype(np.int32), np.int32(wide))
        cell_row, cell_column = np.divmod(cells.astype(np.int32)[:, None], np.int32(wide))
        table = 2 * ((row == 0) | (row == tall - 1)) + ((column == 0) | (column == wide - 1))
        first = (table * (wide * tall)).astype(np.int32)
        entries = np.empty((cells.size, self.outputs.size))
        height = max(1, _BLOCK // max(1, self.outputs.size))
        places, aside = np.empty((2, height, self.outputs.size), dtype=np.int32)
        for some in slices(cells.size, height):
            here = slice(0, len(cells[some]))
            np.abs(np.subtract(cell_row[some], row, out=places[here]), out=places[here])
            np.abs(np.subtract(cell_column[some], column, out=aside[here]), out=aside[here])
            places *= np.int32(wide)
            places += aside
            places += first
            # Places are within the tables; any mode but "raise" writes without a second copy.
            np.take(tables, places[here], out=entries[some], mode="clip")
        return np.asarray(entries.T)
