"""Operator of several independent reports of one value: products of rows, entry by entry."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.blocks import ByBlocks

_HELD = 1 << 24
"""Entries, 128 MiB of them, up to which the rows are made once, and kept."""
_BLOCK = 1 << 21
"""Entries that are made at once."""


@dataclass(frozen=True, eq=False)
class RowProduct(ByBlocks):
    """P(y | x) = product over the parts of P_i(y_i | x), O(outputs * k) a product.

    Row j is the product of the rows `which[i][j]` of the factors. Logarithms are added and the
    largest of a row taken off before it is made: two reports that contradict each other at an
    epsilon of 700 leave numbers near 1, where the product of their rows has only zeros. Beyond 16
    million entries rows are made anew for each product, block by block.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> coin = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> both = RowProduct((coin, coin), (np.array([0, 0]), np.array([0, 1])))
    >>> np.exp(both.log_dense())
    array([[0.5625, 0.0625],
           [0.1875, 0.1875]])
    """

    factors: Sequence[Operator]
    which: Sequence[IntArray]

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.which[0].size, self.factors[0].shape[1]

    def _logs(self, part: slice) -> FloatArray:
        """Return log P(y | x) of some outputs: each row of a factor is made once."""
        total = np.zeros((self.which[0][part].size, self.shape[1]))
        for factor, which in zip(self.factors, self.which, strict=True):
            places, again = np.unique(which[part], return_inverse=True)
            total += factor.subset(places).log_dense()[again]
        return total

    def _made(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield outputs, the logarithms of their factors, and their rows."""
        for part in slices(self.shape[0], max(1, _BLOCK // self.shape[1])):
            rows = self._logs(part)
            largest = rows.max(axis=1, initial=-np.inf)
            scale = np.where(np.isfinite(largest), largest, 0.0)
            rows -= scale[:, None]
            yield part, scale, np.exp(rows, out=rows)

    @cached_property
    def _held(self) -> tuple[FloatArray, FloatArray | None]:
        """The logarithms of all factors and, where they take little memory, all rows."""
        held = self.shape[0] * self.shape[1] <= _HELD
        scale, whole = np.empty(self.shape[0]), np.empty(self.shape if held else 0)
        for part, some, rows in self._made():
            scale[part] = some
            if held:
                whole[part] = rows
        return scale, whole if held else None

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the largest entry of each row."""
        return self._held[0]

    def _blocks(self, places: IntArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield outputs and their rows: all at once, or some at a time."""
        whole = self._held[1]
        if whole is not None:
            yield slice(None), whole
            return
        for part, _, rows in self._made():
            yield part, rows

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta."""
        fitted = np.empty(self.shape[0])
        for part, rows in self._blocks():
            fitted[part] = rows @ theta
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights."""
        total = np.zeros(self.shape[1])
        for part, rows in self._blocks():
            total += weights[part] @ rows
        return total

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        total = np.zeros(self.shape[1])
        for part, rows in self._blocks():
            total += np.einsum("j,jx,jx->x", weights[part], rows, rows)
        return total

    def subset(self, places: IntArray) -> "RowProduct":
        """Return the law of some of the outputs."""
        return RowProduct(self.factors, [which[places] for which in self.which])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        rows = [rows if columns is None else rows[:, columns] for _, rows in self._blocks()]
        if len(rows) == 1:
            return rows[0]
        width = self.shape[1] if columns is None else len(columns)
        return np.concatenate([np.empty((0, width)), *rows])

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), a sum over the parts."""
        return self._logs(slice(None))
