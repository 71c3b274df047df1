"""Operator of planar noise that is clipped to a grid: FFT inside, sums to infinity at the border.

The nearest cell of a point outside the grid is its coordinate-wise clip. So an output inside has
P(z | x) = K(z - x), one on an edge the sum of K over the half-line behind it, and one in a corner
the sum over the quarter-plane behind it. No padding to the reach of the noise is needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import Map, Operator, Structure, Sums
from freewill.numeric.operators.folded_kernel import FoldedKernel

Single = NDArray[np.float32]
Waves = NDArray[np.complexfloating[Any, Any]]

_BLOCK = 1 << 14
_FAINT = 1e-15
"""Entries below that, relative to the largest, are dropped: denormals are many times slower."""
_ENTRIES = 1 << 20
"""Entries of the law that are looked up at a time: eight megabytes."""


@dataclass(frozen=True, eq=False)
class ConvolutionOperator(Operator):
    """Clipped planar noise on observed cells; forward and adjoint in O(k log k).

    Products are accurate to rounding relative to their largest entry, not entry by entry: that
    is the nature of the FFT. `dense`, `sums` and the products `within` an error are accurate entry
    by entry.
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
        """Logarithm of the largest entry of each row, that of the output's own cell."""
        return np.asarray(self.kernel.tops[self._tables])

    @cached_property
    def _tables(self) -> IntArray:
        """Which table each output is looked up in."""
        row, column = np.divmod(self.outputs, self.kernel.columns)
        across = (row == 0) | (row == self.kernel.rows - 1)
        aside = (column == 0) | (column == self.kernel.columns - 1)
        return np.asarray(2 * across + aside)

    @property
    def exact(self) -> bool:
        """No: an FFT is accurate relative to its largest entry only."""
        return False

    @property
    def sharpness(self) -> float:
        """What the noise falls by along the shorter side of a cell."""
        inner = self.kernel.inner
        return float(inner[0, 0] - max(inner[0, 1], inner[1, 0]))

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
        plane = self.plane(weights)
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

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return P theta, with those numbers from the entries that the FFT leaves too rough."""
        fitted = self.forward(theta)
        noise = self.kernel.transforms.noise * float(np.linalg.norm(theta))
        rough = np.flatnonzero(~(error * fitted > noise))
        fitted[rough] = 0.0
        cells = np.flatnonzero(theta)
        some_outputs = self.subset(rough)
        for some in slices(cells.size if rough.size else 0, _ENTRIES // max(1, rough.size)):
            fitted[rough] += some_outputs.dense(cells[some]) @ theta[cells[some]]
        return fitted

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return P' weights, with the rows of the largest weights added from their entries.

        What is left for the FFT has a norm so small that its error is too.
        """
        order = np.argsort(weights)
        norms = np.sqrt(np.cumsum(weights[order] ** 2))
        light = order[self.kernel.transforms.noise * norms <= error]
        rest = np.ones(weights.size, dtype=np.bool_)
        rest[light] = False
        result = self.adjoint(np.where(rest, 0.0, weights))
        for rows, heavy in self._blocks(np.flatnonzero(rest)):
            result += weights[heavy] @ rows
        return result

    def _blocks(self, places: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield some rows as arrays, a few megabytes at a time, each with where they belong."""
        for some in slices(places.size, _ENTRIES // self.shape[1]):
            here = places[some]
            yield self.subset(here).dense(), here

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H, all from the entries."""
        total = Sums.nothing(theta.size, stride)
        for rows, here in self._blocks(np.arange(weights.size)):
            gram = partial(_gram, rows) if stride else None
            total += Sums.of(theta.size, rows @ theta, weights[here], rows.T.dot, gram)
        return total

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return P' diag(weights) P through the dense rows, O(outputs * k^2)."""
        gram = np.zeros((self.shape[1], self.shape[1]))
        for rows, here in self._blocks(np.arange(weights.size)):
            gram += _gram(rows, weights[here])
        return gram

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the product with the squared entries, as accurate as the FFT is."""
        squares = ConvolutionOperator(self.outputs, self.kernel.squared)
        return np.maximum(squares.adjoint(weights), 0.0)

    def gram_map(self, weights: FloatArray) -> Map:
        """Return the product of one such law alone."""
        return PlanarGram([self.kernel], [self.plane(weights)])

    @classmethod
    def gram_maps(cls, weighted: Sequence[tuple[Any, FloatArray]], near: bool) -> list[Map]:
        """Return one map for all laws, which share the transforms of the vector."""
        kernels = [law.kernel for law, _ in weighted]
        return [PlanarGram(kernels, [law.plane(weights) for law, weights in weighted])]

    def plane(self, weights: FloatArray) -> FloatArray:
        """Lay weights of outputs out on the grid."""
        plane = np.bincount(self.outputs, weights, minlength=self.shape[1]).astype(np.float64)
        return plane.reshape(self.kernel.rows, self.kernel.columns)

    def subset(self, places: IntArray) -> "ConvolutionOperator":
        """Return the law of some of the outputs."""
        return ConvolutionOperator(self.outputs[places], self.kernel)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, looked up in the tables."""
        return self._look_up(self.kernel.scaled.ravel(), columns)

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
        first = (self._tables * (wide * tall)).astype(np.int32)
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


def _gram(rows: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(rows.T @ (weights[:, None] * rows))


class PlanarGram:
    """x -> sum over laws of P' diag(weights) P x for planar noise on one grid, to float32.

    The vector is transformed once for all laws, and what they return is added up before it is
    transformed back: two FFTs a law instead of four. float32 halves the time again. Outputs on
    the border have tables of their own (see `ConvolutionOperator`): transforms of one dimension,
    all laws and both sides together.
    """

    def __init__(self, kernels: Sequence[FoldedKernel], planes: Sequence[FloatArray]) -> None:
        transforms = [kernel.transforms for kernel in kernels]
        weights = _single(planes)
        self.plane, self.shape = kernels[0].inner.shape, transforms[0].shape
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
        returned: Waves = fft.rfft(outputs, n=self._length, axis=1).T
        parts = np.ascontiguousarray(returned).view(np.float32).reshape(*returned.shape, 2)
        back = np.ascontiguousarray(np.swapaxes(self._tables, 1, 2) @ parts).view(np.complex64)
        result: Single = fft.irfft(back[:, :, 0], n=self._length, axis=0)[:places].T
        return result


def _single(numbers: Any) -> Single:
    return np.asarray(numbers, dtype=np.float32)
