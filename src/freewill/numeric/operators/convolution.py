"""Operator of planar noise that is clipped to a grid: FFT inside, sums to infinity at the border.

The nearest cell of a point outside the grid is its coordinate-wise clip. So an output inside has
P(z | x) = K(z - x), one on an edge the sum of K over the half-line behind it, and one in a corner
the sum over the quarter-plane behind it. No padding to the reach of the noise is needed.

With an epsilon of its own for every row, rows are arrays, from the tables of a few epsilons: their
logarithms, with epsilon times the distance added back, are smooth functions of log epsilon, and a
polynomial through Chebyshev's points has them to rounding.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import ByBlocks, DenseOperator, Map, Structure

_BLOCK = 1 << 14
_FAINT = 1e-15
"""Entries below that, relative to the largest, are dropped: denormals are many times slower."""
_ENTRIES = 1 << 20
"""Entries of the law that are looked up at a time: eight megabytes."""
_TOGETHER = 1 << 15
"""Numbers of planes that are transformed at a time, which stay in the cache."""
_LOST = 1e-20
"""Entries below that, relative to the largest, are lost in the rounding of an FFT."""
_POINTS = (32, 48, 64, 96, 128, 192)
"""How many points are tried, the fewest first."""
_CLOSE = 1e-12
"""By how much logarithms may be off, between points."""

_Array = NDArray[Any]
_CORNERS = ([0, 0, -1, -1], [0, -1, 0, -1])


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
        inner, side, end, corner = np.where(kernel.scaled < _LOST, 0.0, kernel.scaled)
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


@dataclass(frozen=True, eq=False)
class ConvolutionOperator(ByBlocks):
    """Clipped planar noise on observed cells; forward and adjoint in O(k log k) a kernel.

    Products are accurate to rounding relative to their largest entry, not entry by entry: that
    is the nature of the FFT. `dense`, `sums` and the products `within` an error are accurate entry
    by entry.
    """

    outputs: IntArray
    kernels: Sequence[FoldedKernel]
    which: IntArray
    """The kernel of each output; it does not fall."""
    structure: ClassVar[Structure] = "planar"
    exact: ClassVar[bool] = False
    """An FFT is accurate relative to its largest entry only."""

    @property
    def plane(self) -> tuple[int, int]:
        """(rows, columns) of the grid."""
        return self.kernels[0].rows, self.kernels[0].columns

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, cells)."""
        return self.outputs.size, math.prod(self.plane)

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the largest entry of each row, that of the output's own cell."""
        return np.concatenate([kernel.tops for kernel in self.kernels])[self.tables]

    @cached_property
    def tables(self) -> IntArray:
        """Which table each output is looked up in: four a kernel."""
        rows, columns = self.plane
        row, column = np.divmod(self.outputs, columns)
        across = (row == 0) | (row == rows - 1)
        aside = (column == 0) | (column == columns - 1)
        return np.asarray(4 * self.which + 2 * across + aside)

    @property
    def sharpness(self) -> FloatArray:
        """What the noise falls by along the shorter side of a cell."""
        inner = np.array([kernel.inner[:2, :2] for kernel in self.kernels])
        falls = inner[:, 0, 0] - np.maximum(inner[:, 0, 1], inner[:, 1, 0])
        return np.asarray(falls[self.which])

    @cached_property
    def _products(self) -> PlanarProducts:
        return PlanarProducts([kernel.transforms for kernel in self.kernels], np.float64)

    @cached_property
    def _noises(self) -> FloatArray:
        """Bounds on the error of a product with a vector of norm 1, a kernel."""
        return np.array([kernel.transforms.noise for kernel in self.kernels])

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta at the observed cells."""
        return np.asarray(self._products.forward(theta).ravel()[self._places])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights."""
        return np.asarray(self._products.adjoint(self.planes(weights)))

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return P theta, with those numbers from the entries that the FFT leaves too rough."""
        fitted = self.forward(theta)
        noise = self._noises[self.which] * float(np.linalg.norm(theta))
        rough = np.flatnonzero(~(error * fitted > noise))
        fitted[rough] = 0.0
        cells = np.flatnonzero(theta)
        some_outputs = self.subset(rough)
        for some in slices(cells.size if rough.size else 0, _ENTRIES // max(1, rough.size)):
            fitted[rough] += some_outputs.dense(cells[some]) @ theta[cells[some]]
        return fitted

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return P' weights, with the rows of the largest weights added from their entries.

        What is left for the FFT has a norm so small that its error is too. The error of several
        kernels is at most the sum of noise times norm, and that of adding them up.
        """
        order = np.argsort(weights)
        norms = np.sqrt(np.cumsum(weights[order] ** 2))
        noise = float(np.linalg.norm(self._noises)) * (1 + (len(self.kernels) - 1) / 30)
        light = order[noise * norms <= error]
        rest = np.ones(weights.size, dtype=np.bool_)
        rest[light] = False
        result = self.adjoint(np.where(rest, 0.0, weights))
        for heavy, rows in self._blocks(np.flatnonzero(rest)):
            result += weights[heavy] @ rows
        return result

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the product with the squared entries, as accurate as the FFT is."""
        squares = replace(self, kernels=[kernel.squared for kernel in self.kernels])
        return np.maximum(squares.adjoint(weights), 0.0)

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return x -> P' diag(weights) P x to float32, which halves the time.

        The vector is transformed once for all kernels, and what they return is added up before it
        is transformed back: two FFTs a kernel instead of four.
        """
        products = PlanarProducts([kernel.transforms for kernel in self.kernels], np.float32)
        planes = self.planes(weights).astype(np.float32)

        def product(vector: FloatArray) -> FloatArray:
            faint = np.abs(vector) < _FAINT * np.abs(vector).max()
            fitted = products.forward(np.where(faint, 0.0, vector))
            fitted *= planes
            return products.adjoint(fitted).astype(np.float64)

        return product

    @cached_property
    def _places(self) -> IntArray:
        """Where each output is on the planes of all kernels."""
        return np.asarray(self.which * self.shape[1] + self.outputs)

    def planes(self, weights: FloatArray) -> FloatArray:
        """Lay weights of outputs out on the grid, [kernel, row, column]."""
        flat = np.bincount(self._places, weights, len(self.kernels) * self.shape[1])
        return flat.astype(np.float64, copy=False).reshape(-1, *self.plane)

    def subset(self, places: IntArray) -> "ConvolutionOperator":
        """Return the law of some of the outputs."""
        there, which = np.unique(self.which[places], return_inverse=True)
        kernels = [self.kernels[place] for place in there] or self.kernels[:1]
        return ConvolutionOperator(self.outputs[places], kernels, which)

    @cached_property
    def _scaled(self) -> FloatArray:
        return np.concatenate([kernel.scaled.ravel() for kernel in self.kernels])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, looked up in the tables."""
        return self._look_up(self._scaled, columns)

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), finite however far y is from x."""
        tables = np.concatenate([kernel.stacked.ravel() for kernel in self.kernels])
        return self._look_up(tables, None)

    def _look_up(self, tables: FloatArray, columns: IntArray | None) -> FloatArray:
        """Read each entry off the tables, a few cells at a time so that all stays in cache.

        The array is laid out cell by cell: a column generator asks for few cells of many outputs.
        """
        tall, wide = self.plane
        cells = np.arange(self.shape[1]) if columns is None else columns
        kind = np.int32 if tables.size < 1 << 31 else np.int64
        row, column = np.divmod(self.outputs.astype(kind), kind(wide))
        cell_row, cell_column = np.divmod(cells.astype(kind)[:, None], kind(wide))
        first = (self.tables * (wide * tall)).astype(kind)
        entries = np.empty((cells.size, self.outputs.size))
        height = max(1, _BLOCK // max(1, self.outputs.size))
        places, aside = np.empty((2, height, self.outputs.size), dtype=kind)
        for some in slices(cells.size, height):
            here = slice(0, len(cells[some]))
            np.abs(np.subtract(cell_row[some], row, out=places[here]), out=places[here])
            np.abs(np.subtract(cell_column[some], column, out=aside[here]), out=aside[here])
            places *= kind(wide)
            places += aside
            places += first
            # Places are within the tables; any mode but "raise" writes without a second copy.
            np.take(tables, places[here], out=entries[some], mode="clip")
        return np.asarray(entries.T)


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
