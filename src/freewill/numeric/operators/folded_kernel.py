"""A symmetric noise kernel on a grid, folded at the border: its tables and their transforms."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray

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


def _wrap(table: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay displacements 0, 1, ..., m-1 and their mirror images around a circle."""
    moved = np.moveaxis(table, axis, 0)
    circle = np.zeros((length, *moved.shape[1:]))
    circle[: len(moved)] = moved
    circle[length - len(moved) + 1 :] = moved[:0:-1]
    return np.moveaxis(circle, 0, axis)
