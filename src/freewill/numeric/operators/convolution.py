"""Operator of planar noise that is clipped to a grid: FFT inside, sums to infinity at the border.

The nearest cell of a point outside the grid is its coordinate-wise clip. So an output inside has
P(z | x) = K(z - x), one on an edge the sum of K over the half-line behind it, and one in a corner
the sum over the quarter-plane behind it. No padding to the reach of the noise is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import ByBlocks, Map, Structure
from freewill.numeric.operators.folded_kernel import FoldedKernel, PlanarProducts

_BLOCK = 1 << 14
_FAINT = 1e-15
"""Entries below that, relative to the largest, are dropped: denormals are many times slower."""
_ENTRIES = 1 << 20
"""Entries of the law that are looked up at a time: eight megabytes."""


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
    def exact(self) -> bool:
        """No: an FFT is accurate relative to its largest entry only."""
        return False

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
