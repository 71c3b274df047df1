"""Operator of independent reports about several attributes: a Kronecker product of their laws."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.errors import LawError
from freewill.numeric.operators.base import Operator

_TABLE = 1 << 24
"""Numbers, 128 MiB of them, up to which a table has a place for every combination of outputs."""
_BLOCK = 1 << 21
"""Entries of rows that are made at once where it would have more."""


@dataclass(frozen=True, eq=False)
class KroneckerOperator(Operator):
    """P(y | x) = product over attributes i of P_i(y_i | x_i), for values x = (x_1, .., x_d).

    Values are numbered by mixed radix, the last attribute fastest. Observed output j has the rows
    `which[i][j]` of the factors, of which each distinct output of an attribute has one. Products go
    axis by axis over tables of all combinations of these, O(k (k_1 + .. + k_d)) where there are
    about as many outputs as values; where combinations are too many, row by row, in blocks of
    bounded memory. All terms have one sign: entries are as exact as those of the factors.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> coin = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> pair = KroneckerOperator((coin, coin), (np.array([0, 1]), np.array([1, 1])))
    >>> pair.dense()
    array([[0.1875, 0.5625, 0.0625, 0.1875],
           [0.0625, 0.1875, 0.1875, 0.5625]])
    >>> pair.forward(np.array([0.5, 0.0, 0.0, 0.5]))
    array([0.1875, 0.3125])
    """

    factors: Sequence[Operator]
    which: Sequence[IntArray]

    def __post_init__(self) -> None:
        if not self.factors or len(self.factors) != len(self.which):
            raise LawError(
                f"a product of {len(self.factors)} laws with rows of {len(self.which)}: expected "
                f"at least one law, and the rows of each."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.which[0].size, math.prod(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(factor.shape[1] for factor in self.factors)

    @cached_property
    def _outputs(self) -> tuple[int, ...]:
        """How many rows each factor has."""
        return tuple(factor.shape[0] for factor in self.factors)

    @cached_property
    def _rows(self) -> tuple[FloatArray, ...]:
        """The rows of all factors, as arrays."""
        return tuple(factor.dense() for factor in self.factors)

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row, a sum over the attributes."""
        each = zip(self.factors, self.which, strict=True)
        return np.asarray(sum(factor.log_scale[which] for factor, which in each))

    @cached_property
    def _tabled(self) -> bool:
        """Whether a table of all combinations, on the way between values and outputs, is small."""
        sides = zip(self.sizes, self._outputs, strict=True)
        return math.prod(max(pair) for pair in sides) <= _TABLE

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield outputs, and their rows as an array."""
        for part in slices(self.shape[0], _BLOCK // max(1, self.shape[1])):
            yield part, _outer(np.multiply, self._rows, [which[part] for which in self.which])

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta."""
        if self._tabled:
            return np.asarray(_along(theta.reshape(self.sizes), self._rows)[tuple(self.which)])
        fitted = np.empty(self.shape[0])
        for part, rows in self._blocks():
            fitted[part] = rows @ theta
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights."""
        return self._spread(weights, lambda rows: rows)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the same with squared factors, whose products are the squared rows."""
        return self._spread(weights, lambda rows: rows * rows)

    def _spread(
        self, weights: FloatArray, changed: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        if self._tabled:
            places = np.ravel_multi_index(tuple(self.which), self._outputs)
            table = np.asarray(np.bincount(places, weights, math.prod(self._outputs)), np.float64)
            matrices = [changed(rows).T for rows in self._rows]
            return _along(table.reshape(self._outputs), matrices).ravel()
        total = np.zeros(self.shape[1])
        for part, rows in self._blocks():
            total += weights[part] @ changed(rows)
        return total

    def subset(self, places: IntArray) -> "KroneckerOperator":
        """Return the law of some of the outputs."""
        return KroneckerOperator(self.factors, [which[places] for which in self.which])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        if columns is None:
            return _outer(np.multiply, self._rows, self.which)
        made = np.ones((self.shape[0], len(columns)))
        values = np.unravel_index(columns, self.sizes)
        for rows, which, own in zip(self._rows, self.which, values, strict=True):
            made *= rows[which][:, own]
        return made

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), a sum over the attributes: far tails do not underflow."""
        return _outer(np.add, [factor.log_dense() for factor in self.factors], self.which)


def _outer(join: np.ufunc, tables: Sequence[FloatArray], which: Sequence[IntArray]) -> FloatArray:
    """Return rows of tables joined, each value of one with each of the next, the last fastest."""
    joined = tables[0][which[0]]
    for table, places in zip(tables[1:], which[1:], strict=True):
        pairs = join(joined[:, :, None], table[places][:, None, :])
        joined = pairs.reshape(len(joined), joined.shape[1] * table.shape[1])
    return joined


def _along(table: FloatArray, matrices: Sequence[FloatArray]) -> FloatArray:
    """Return a table with a matrix applied along each of its axes."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
