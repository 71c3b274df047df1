"""Operator of independent reports about several attributes: a Kronecker product of their laws."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.errors import LawError
from freewill.numeric.operators.base import (
    DenseOperator,
    Operator,
    RowNumbers,
    Structure,
    numbers_at,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TABLE = 1 << 24
"""Numbers, 128 MiB of them, up to which a table stands between two attributes."""
_ROWS = 1 << 24
"""Entries of the rows of an attribute up to which they are an array."""
_SPARSE = 8
"""Combinations an observed one from which on these alone are gone through."""
_SCATTERED, _CALLS = 20, 2_000_000
"""Multiplications in a matrix that take as long as one with an entry here and there, and as all
calls of a product."""
_KEPT = 1 << 23
"""Entries of laws of pairs up to which they are kept from one gram matrix to the next: 100 MB."""
_ALONE = 1024
"""Prefixes up to which the rows of the last attribute are taken by themselves for each."""


@dataclass(frozen=True, eq=False)
class KroneckerOperator(Operator):
    """P(y | x) = product over attributes i of P_i(y_i | x_i), for values x = (x_1, .., x_d).

    Values are numbered by mixed radix, the last attribute fastest. Observed output j has the rows
    `which[i][j]` of the factors, of which each distinct output of an attribute has one, whatever
    mechanisms it is of. Products go attribute by attribute over the *prefixes* that were observed,
    (y_1), (y_1, y_2), .., and never over a full grid of outputs: O(k (k_1 + .. + k_d)) where there
    are about as many outputs as values. All terms have one sign: entries are as exact as those of
    the factors. `log_share` is the logarithm of a factor that each row has beside these.

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
    log_share: RowNumbers = 0.0
    structure: ClassVar[Structure] = "kronecker"

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
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row, a sum over the attributes."""
        each = zip(self.factors, self.which, strict=True)
        own = np.full(self.which[0].size, self.log_share)
        return np.asarray(sum((factor.log_scale[which] for factor, which in each), own))

    @cached_property
    def _order(self) -> list[int]:
        """The attributes, those first that leave the fewest combinations."""
        grow = [factor.shape[0] / factor.shape[1] for factor in self.factors]
        return sorted(range(len(grow)), key=grow.__getitem__)

    @cached_property
    def _way(self) -> "tuple[list[_Step], IntArray]":
        """A step an attribute, and the last prefix of each output, which is its own."""
        steps: list[_Step] = []
        parents, place = 1, np.zeros(self.shape[0], dtype=np.int64)
        for attribute in self._order:
            factor, many = self.factors[attribute], self.factors[attribute].shape[0]
            keys, place = np.unique(place * many + self.which[attribute], return_inverse=True)
            step = _Step(factor, parents, keys)
            # The rows of reports that do not repeat may be more than memory holds.
            alone = attribute == self._order[-1] and parents <= _ALONE
            large = factor.shape[0] * factor.shape[1] > _ROWS
            steps.append(_Apart(factor, parents, keys) if large and alone else step)
            parents = keys.size
        return steps, place

    @cached_property
    def _pieces(self) -> "list[tuple[slice, KroneckerOperator]]":
        """Outputs whose tables on the way fit into memory, all of them if they do."""
        left, prefixes, length = self.shape[1], 1, self.shape[0]
        for attribute in self._order:
            left //= self.sizes[attribute]
            prefixes *= self.factors[attribute].shape[0]
            if left * min(prefixes, length) > _TABLE:
                length = max(1, _TABLE // left)
        if self.shape[0] <= length:
            return [(slice(None), self)]
        parts = slices(self.shape[0], length)
        return [(part, replace(self, which=[own[part] for own in self.which])) for part in parts]

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta."""
        if not self.shape[0]:
            return np.zeros(0)
        if len(self._pieces) > 1:
            return np.concatenate([piece.forward(theta) for _, piece in self._pieces])
        table = np.ascontiguousarray(theta.reshape(self.sizes).transpose(self._order))
        steps, place = self._way
        for step in steps:
            table = step.forward(table)
        return np.asarray(table.ravel()[place])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights."""
        return self._spread(weights, squared=False)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the same with squared factors, whose products are the squared rows."""
        return self._spread(weights, squared=True)

    def _spread(self, weights: FloatArray, squared: bool) -> FloatArray:
        if not self.shape[0]:
            return np.zeros(self.shape[1])
        if len(self._pieces) > 1:
            parts = (own._spread(weights[part], squared) for part, own in self._pieces)
            return np.asarray(sum(parts))
        steps, place = self._way
        last = steps[-1].keys.size
        table: FloatArray = np.bincount(place, weights, last).astype(np.float64)
        for step in reversed(steps):
            table = step.adjoint(table.reshape(step.keys.size, -1), squared)
        back = np.argsort(self._order)
        shape = [self.sizes[attribute] for attribute in self._order]
        return np.ascontiguousarray(table.reshape(shape).transpose(back)).ravel()

    def possible(self) -> BoolArray:
        """Say which outputs some record can lead to: those all of whose parts are possible."""
        each = zip(self.factors, self.which, strict=True)
        return np.asarray(np.all([factor.possible()[own] for factor, own in each], axis=0))

    @cached_property
    def _pairs(self) -> "KroneckerOperator":
        """The law of pairs of values, whose adjoint is the gram matrix."""
        rows = map(_rows_of, self.factors)
        squares = (own[:, :, None] * own[:, None, :] for own in rows)
        # Of no outputs, too, which leave nothing for NumPy to count.
        pairs = [own.reshape(len(own), own.shape[1] ** 2) for own in squares]
        return KroneckerOperator(list(map(DenseOperator, pairs)), self.which)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows: the adjoint of laws of pairs of values."""
        steps, _ = self._way
        entries = sum(step.keys.size * step.factor.shape[1] ** 2 for step in steps)
        # Most ask again at the next step; but what is large is not kept.
        whole = (self if entries <= _KEPT else replace(self))._pairs.adjoint(weights)
        many = range(len(self.sizes))
        shape = [size for size in self.sizes for _ in range(2)]
        split = whole.reshape(shape).transpose([2 * i for i in many] + [2 * i + 1 for i in many])
        return np.ascontiguousarray(split).reshape(self.shape[1], self.shape[1])

    def work(self, pairs: bool = False) -> float:
        """Return the work of a product, step by step, or of a gram matrix.

        The law of pairs of values has the squares of all numbers of values.
        """
        power = 2 if pairs else 1
        total, rest = float(_CALLS), 1
        if self.shape[0] * self.shape[1] ** power <= total:
            return total
        steps, _ = self._way
        for step in reversed(steps):
            size = step.factor.shape[1] ** power
            total += step.places * size * rest
            rest *= size
        return total

    def subset(self, places: IntArray) -> "KroneckerOperator":
        """Return the law of some of the outputs."""
        share = numbers_at(self.log_share, places)
        return KroneckerOperator(self.factors, [own[places] for own in self.which], share)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        rows = [_rows_of(factor) for factor in self.factors]
        if columns is None:
            return _joined(np.multiply, rows, self.which)
        made = np.ones((self.shape[0], len(columns)))
        values = np.unravel_index(columns, self.sizes)
        for own, which, place in zip(rows, self.which, values, strict=True):
            made *= own[which][:, place]
        return made

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), a sum over the attributes: far tails do not underflow."""
        logs = [factor.log_dense() for factor in self.factors]
        share = np.broadcast_to(self.log_share, self.which[0].shape)
        return np.asarray(_joined(np.add, logs, self.which) + share[:, None])


@dataclass(frozen=True, eq=False)
class _Step:
    """One attribute: from prefixes of outputs to those that are longer by its output.

    A longer prefix has the number parent * rows + row in `keys`, which rise. Tables have prefixes
    in their rows, and in their columns the values of the attributes that are still to come.
    """

    factor: Operator
    parents: int
    keys: IntArray

    @cached_property
    def rows(self) -> FloatArray:
        """The rows of the attribute's law."""
        return _rows_of(self.factor)

    @property
    def _few(self) -> bool:
        """Whether few of all longer prefixes were observed."""
        return self.parents * self.factor.shape[0] > _SPARSE * self.keys.size

    @property
    def places(self) -> int:
        """Longer prefixes that are gone through; those of a few count for more."""
        return _SCATTERED * self.keys.size if self._few else self.parents * self.factor.shape[0]

    @cached_property
    def _sparse(self) -> "csr_array | None":
        """The law from (parent, value) to longer prefixes, where few of these were observed."""
        size = self.rows.shape[1]
        if not self._few:
            return None
        from scipy.sparse import csr_array  # noqa: PLC0415

        parent, row = np.divmod(self.keys, len(self.rows))
        columns = parent[:, None] * size + np.arange(size)
        ends = np.arange(self.keys.size + 1) * size
        shape = self.keys.size, self.parents * size
        return csr_array((self.rows[row].ravel(), columns.ravel(), ends), shape=shape)

    @cached_property
    def _squared(self) -> "csr_array | None":
        return None if self._sparse is None else self._sparse.multiply(self._sparse).tocsr()

    @property
    def _whole(self) -> bool:
        """Whether every output was observed behind every prefix."""
        return self.keys.size == self.parents * len(self.rows)

    def forward(self, table: FloatArray) -> FloatArray:
        """Return sum over x of P(row | x) table[parent, x, rest], as [longer prefix, rest]."""
        size = self.rows.shape[1]
        rest = table.size // (self.parents * size)
        if self._sparse is not None:
            return np.asarray(self._sparse @ table.reshape(-1, rest))
        if rest == 1:
            every = (table.reshape(-1, size) @ self.rows.T).reshape(-1, 1)
        else:
            every = (self.rows @ table.reshape(self.parents, size, rest)).reshape(-1, rest)
        return every if self._whole else every[self.keys]

    def adjoint(self, table: FloatArray, squared: bool) -> FloatArray:
        """Return sum over rows of P(row | x) table[longer prefix, rest], as [parent, x, rest]."""
        sparse = self._squared if squared else self._sparse
        if sparse is not None:
            return np.asarray(sparse.T @ table)
        rows, rest = self.rows * self.rows if squared else self.rows, table.shape[1]
        every = table
        if not self._whole:
            every = np.zeros((self.parents * len(rows), rest))
            every[self.keys] = table
        if rest == 1:
            return every.reshape(-1, len(rows)) @ rows
        return np.asarray(rows.T @ every.reshape(self.parents, len(rows), rest))


@dataclass(frozen=True, eq=False)
class _Apart(_Step):
    """The last attribute where its rows are too many to be an array: by its own products."""

    @cached_property
    def _laws(self) -> list[tuple[slice, Operator]]:
        """The prefixes of each parent, and their rows."""
        parent, row = np.divmod(self.keys, self.factor.shape[0])
        ends = np.searchsorted(parent, np.arange(self.parents + 1)).tolist()
        pieces = [slice(*pair) for pair in pairwise(ends)]
        return [(piece, self.factor.subset(row[piece])) for piece in pieces]

    def forward(self, table: FloatArray) -> FloatArray:
        """Return the products of each parent with its own rows."""
        columns = zip(self._laws, table.reshape(self.parents, -1), strict=True)
        return np.concatenate([law.forward(column) for (_, law), column in columns])[:, None]

    def adjoint(self, table: FloatArray, squared: bool) -> FloatArray:
        """Return the products of the rows of each parent."""
        weights = table[:, 0]
        each = [
            law.gram_diagonal(weights[piece]) if squared else law.adjoint(weights[piece])
            for piece, law in self._laws
        ]
        return np.stack(each)


def _rows_of(factor: Operator) -> FloatArray:
    return np.ascontiguousarray(factor.dense())


def _joined(join: np.ufunc, tables: Sequence[FloatArray], which: Sequence[IntArray]) -> FloatArray:
    """Return rows of tables joined, each value of one with each of the next, the last fastest."""
    joined = tables[0][which[0]]
    for table, places in zip(tables[1:], which[1:], strict=True):
        pairs = join(joined[:, :, None], table[places][:, None, :])
        joined = pairs.reshape(len(joined), joined.shape[1] * table.shape[1])
    return joined
