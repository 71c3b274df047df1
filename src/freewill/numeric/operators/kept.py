"""Operator of planar noise on some cells of a grid, reports elsewhere remapped to the nearest."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.numeric.operators.base import DenseOperator, Structure
from freewill.numeric.operators.blocks import ByBlocks
from freewill.numeric.operators.convolution import ConvolutionOperator
from freewill.numeric.operators.mapped import log_sums


@dataclass(frozen=True, eq=False)
class KeptOperator(ByBlocks):
    """P(y | x) = sum over the cells z that are remapped to y of the noise P(z | x).

    `inner` is the noise at all such z, `rows` the row of each, which does not fall; `cells` are
    those of the plane that are values, and observed outputs repeat rows as `which` says. Products
    are those of the inner law, O(K log K) for K cells of the plane; `dense` and what is made of it
    are accurate entry by entry, for terms have one sign.
    """

    inner: ConvolutionOperator
    rows: IntArray
    cells: IntArray
    which: IntArray
    structure: ClassVar[Structure] = "planar"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.which.size, self.cells.size

    @property
    def exact(self) -> bool:
        """No: an FFT is accurate relative to its largest entry only."""
        return False

    @property
    def sharpness(self) -> FloatArray:
        """That of the inner law."""
        return np.asarray(self.inner.sharpness[self._firsts][self.which])

    @cached_property
    def _firsts(self) -> IntArray:
        """Where each row begins among the inner outputs; each has one at least."""
        return np.flatnonzero(np.diff(self.rows, prepend=-1))

    @cached_property
    def _scales(self) -> FloatArray:
        """Logarithm of the largest factor of the inner outputs of each row."""
        return np.asarray(np.maximum.reduceat(self.inner.log_scale, self._firsts))

    @cached_property
    def _factors(self) -> FloatArray:
        """What an inner output counts in the units of its row."""
        return np.asarray(np.exp(self.inner.log_scale - self._scales[self.rows]))

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return np.asarray(self._scales[self.which]) if self.which.size else np.empty(0)

    def _gathered(self, inner: FloatArray) -> FloatArray:
        if not self.which.size:
            return np.empty(0)
        return np.asarray(np.add.reduceat(self._factors * inner, self._firsts)[self.which])

    def _spread(self, weights: FloatArray) -> FloatArray:
        if not self.which.size:
            return np.empty(0)
        summed = np.bincount(self.which, weights, self._firsts.size)
        return np.asarray(self._factors * summed[self.rows])

    def _everywhere(self, theta: FloatArray) -> FloatArray:
        plane = np.zeros(self.inner.shape[1])
        plane[self.cells] = theta
        return plane

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return sums of the inner product."""
        return self._gathered(self.inner.forward(self._everywhere(theta)))

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this relative error."""
        return self._gathered(self.inner.forward_within(self._everywhere(theta), error))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the inner product of spread weights, at the values."""
        return np.asarray(self.inner.adjoint(self._spread(weights))[self.cells])

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this (absolute) error."""
        return np.asarray(self.inner.adjoint_within(self._spread(weights), error)[self.cells])

    def possible(self) -> BoolArray:
        """Say that every output is: noise reaches everywhere."""
        return np.ones(self.which.size, dtype=np.bool_)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the squares by FFT where a row is one of the noise; of other rows, its entries."""
        single = np.diff(self._firsts, append=self.rows.size) == 1
        alone = single[self.which] if self.which.size else np.empty(0, dtype=np.bool_)
        alone_weights = self._spread(np.where(alone, weights, 0.0)) * self._factors
        diagonal = self.inner.gram_diagonal(alone_weights)[self.cells]
        others = np.flatnonzero(~alone)
        for places, rows in self._blocks(others):
            diagonal = diagonal + DenseOperator(rows).gram_diagonal(weights[places])
        return np.asarray(diagonal)

    def subset(self, places: IntArray) -> "KeptOperator":
        """Return the law of some of the outputs."""
        present, which = np.unique(self.which[places], return_inverse=True)
        kept = np.flatnonzero(np.isin(self.rows, present))
        rows = np.searchsorted(present, self.rows[kept])
        return replace(self, inner=self.inner.subset(kept), rows=rows, which=which)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, summed from the entries of the noise."""
        cells = self.cells if columns is None else self.cells[columns]
        if not self.which.size:
            return np.empty((0, cells.size))
        entries = self.inner.dense(cells) * self._factors[:, None]
        return np.asarray(np.add.reduceat(entries, self._firsts, axis=0)[self.which])

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), added up from the largest term: far tails do not underflow."""
        if not self.which.size:
            return np.empty(self.shape)
        logs = self.inner.log_dense()[:, self.cells]
        return np.asarray(log_sums(logs, self._firsts)[self.which])
