"""Operator of planar noise that is clipped to a grid: FFT inside, sums to infinity at the border.

The nearest cell of a point outside the grid is its coordinate-wise clip. So an output inside has
P(z | x) = K(z - x), one on an edge the sum of K over the half-line behind it, and one in a corner
the sum over the quarter-plane behind it. No padding to the reach of the noise is needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import DenseOperator, Map, Operator, Structure, Sums
from freewill.numeric.operators.folded_kernel import FoldedKernel, PlanarProducts

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
        return np.asarray(self.kernel.products.forward(theta).ravel()[self.outputs])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights."""
        return np.asarray(self.kernel.products.adjoint(self.plane(weights)[None]))

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
            result += rows.adjoint(weights[heavy])
        return result

    def _blocks(self, places: IntArray) -> Iterator[tuple[DenseOperator, IntArray]]:
        """Yield some rows as arrays, a few megabytes at a time, each with where they belong."""
        for some in slices(places.size, _ENTRIES // self.shape[1]):
            here = places[some]
            yield DenseOperator(self.subset(here).dense()), here

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H, all from the entries."""
        total = Sums.nothing(theta.size, stride)
        for rows, here in self._blocks(np.arange(weights.size)):
            total += rows.sums(theta, weights[here], stride)
        return total

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return P' diag(weights) P through the dense rows, O(outputs * k^2)."""
        gram = np.zeros((self.shape[1], self.shape[1]))
        for rows, here in self._blocks(np.arange(weights.size)):
            gram += rows.gram(weights[here])
        return gram

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the product with the squared entries, as accurate as the FFT is."""
        squares = ConvolutionOperator(self.outputs, self.kernel.squared)
        return np.maximum(squares.adjoint(weights), 0.0)

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the product of one such law alone."""
        return _gram_map([(self, weights)])

    @classmethod
    def gram_maps(cls, weighted: Sequence[tuple[Any, FloatArray]], near: bool) -> list[Map]:
        """Return one map for all laws, which share the transforms of the vector."""
        return [_gram_map(weighted)]

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


def _gram_map(weighted: Sequence[tuple[ConvolutionOperator, FloatArray]]) -> Map:
    """Return x -> sum over laws of P' diag(weights) P x for planar noise on one grid, to float32.

    The vector is transformed once for all laws, and what they return is added up before it is
    transformed back: two FFTs a law instead of four. float32 halves the time again.
    """
    products = PlanarProducts([law.kernel.transforms for law, _ in weighted], np.float32)
    planes = np.array([law.plane(weights) for law, weights in weighted], dtype=np.float32)

    def product(vector: FloatArray) -> FloatArray:
        faint = np.abs(vector) < _FAINT * np.abs(vector).max()
        fitted = products.forward(np.where(faint, 0.0, vector))
        fitted *= planes
        return products.adjoint(fitted).astype(np.float64)

    return product
