"""Laws around another law, whose products are its own with a step before and a step after."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.operators.base import (
    ByBlocks,
    DenseOperator,
    Map,
    Operator,
    RowNumbers,
    Structure,
    Sums,
)

_ON_A_LINE = ("geometric", "symbols", "stack")
"""Structures of which other rows are not: between them the law is an array."""
_BLOCK = 1 << 21
"""Numbers of a law that are added up at once: 16 MiB."""


class Around(Operator, Protocol):
    """P theta = gathered(Q laid(theta)) with the inner law Q, and its adjoint step by step.

    Both steps after the inner product are also told what it was made for, of which parts may pass
    the law by.
    """

    inner: Operator

    @property
    def exact(self) -> bool:
        """Whether the inner law's products are."""
        return self.inner.exact

    def _laid(self, theta: FloatArray) -> FloatArray:
        """Lay theta out for the inner law."""
        return theta

    def _gathered(self, fitted: FloatArray, theta: FloatArray) -> FloatArray:
        """Return a number an output, from those of the inner outputs."""
        return fitted

    def _spread(self, weights: FloatArray) -> FloatArray:
        """Return the weights of inner outputs."""
        return weights

    def _collected(self, slope: FloatArray, weights: FloatArray) -> FloatArray:
        """Return a number a value, from those of the inner values."""
        return slope

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta by the inner product."""
        return self._gathered(self.inner.forward(self._laid(theta)), theta)

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this relative error: sums of terms of one sign."""
        return self._gathered(self.inner.forward_within(self._laid(theta), error), theta)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights by the inner product."""
        return self._collected(self.inner.adjoint(self._spread(weights)), weights)

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this (absolute) error."""
        return self._collected(self.inner.adjoint_within(self._spread(weights), error), weights)


@dataclass(frozen=True, eq=False)
class ArrangedOperator(Around):
    """Row `order[i]` is row i of a law, times e^log_share: by the products of that law.

    Laws that want the rows of each mechanism together serve reports in the order they came in.

    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> ArrangedOperator(law, np.array([1, 0])).forward(np.array([1.0, 0.0]))
    array([0.25, 0.75])
    """

    inner: Operator
    order: IntArray
    log_share: float = 0.0

    @property
    def structure(self) -> Structure:
        """That of the law."""
        return self.inner.structure

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.inner.shape

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self._gathered(self.inner.log_scale + self.log_share)

    @property
    def sharpness(self) -> RowNumbers:
        """That of the law."""
        sharpness = self.inner.sharpness
        return sharpness if np.ndim(sharpness) == 0 else self._gathered(np.asarray(sharpness))

    def _gathered(self, fitted: FloatArray, theta: FloatArray | None = None) -> FloatArray:
        arranged = np.empty_like(fitted)
        arranged[self.order] = fitted
        return arranged

    def _spread(self, weights: FloatArray) -> FloatArray:
        return weights[self.order]

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix."""
        return self.inner.gram(self._spread(weights))

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        return self.inner.gram_diagonal(self._spread(weights))

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the law's (near) product."""
        return self.inner.gram_map(self._spread(weights), near)

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return the law's sums, which know no order."""
        return self.inner.sums(theta, self._spread(weights), stride)

    def subset(self, places: IntArray) -> "ArrangedOperator":
        """Return the law of some of the outputs."""
        wanted = np.full(self.order.size, -1)
        wanted[places] = np.arange(places.size)
        some = np.flatnonzero(wanted[self.order] >= 0)
        return ArrangedOperator(self.inner.subset(some), wanted[self.order[some]], self.log_share)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        return self._gathered(self.inner.dense(columns))


@dataclass(frozen=True, eq=False)
class SilentOperator(Around):
    """The rows of a law where something is `sent`, in their order, and rows of ones elsewhere.

    Products cost those of the law. Where silence is impossible, `silence` is 0 instead of 1.

    >>> law = DenseOperator(np.array([[0.75, 0.25]]))
    >>> operator = SilentOperator(law, np.array([False, True]), np.log([0.5, 0.5]))
    >>> operator.forward(np.array([0.2, 0.8]))
    array([1.  , 0.35])
    """

    inner: Operator
    sent: BoolArray
    log_scale: FloatArray
    silence: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.sent.size, self.inner.shape[1]

    @property
    def structure(self) -> Structure:
        """That of the law, unless silent rows have no place in it."""
        return "dense" if self.inner.structure in _ON_A_LINE else self.inner.structure

    @property
    def sharpness(self) -> RowNumbers:
        """That of the law; silence has none."""
        return self._scattered(np.asarray(self.inner.sharpness), 0.0)

    def _scattered(self, some: FloatArray, silent: float) -> FloatArray:
        """Return a number a row: those of reports that were sent, and one for all others."""
        numbers = np.full(self.sent.size, silent)
        numbers[self.sent] = some
        return numbers

    def _silent(self, weights: FloatArray) -> float:
        """Return the weight of all silent rows."""
        return self.silence * float(weights[~self.sent].sum())

    def _gathered(self, fitted: FloatArray, theta: FloatArray) -> FloatArray:
        return self._scattered(fitted, self.silence * float(theta.sum()))

    def _spread(self, weights: FloatArray) -> FloatArray:
        return weights[self.sent]

    def _collected(self, slope: FloatArray, weights: FloatArray) -> FloatArray:
        return slope + self._silent(weights)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix, plus the weight of the silent everywhere."""
        return self._collected(self.inner.gram(weights[self.sent]), weights)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        return self._collected(self.inner.gram_diagonal(weights[self.sent]), weights)

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the law's (near) product, plus the weight of the silent."""
        inner, silent = self.inner.gram_map(weights[self.sent], near), self._silent(weights)
        return lambda vector: np.asarray(inner(vector) + silent * vector.sum())

    def subset(self, places: IntArray) -> "SilentOperator":
        """Return the law of some of the outputs."""
        sent = self.sent[places]
        inner = self.inner.subset((np.cumsum(self.sent) - 1)[places[sent]])
        return replace(self, inner=inner, sent=sent, log_scale=self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        inner = self.inner.dense(columns)
        rows = np.full((self.sent.size, inner.shape[1]), self.silence)
        rows[self.sent] = inner
        return rows

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), of what was sent by the law's own."""
        silent = self.log_scale if self.silence else np.full(self.sent.size, -np.inf)
        logs = np.repeat(silent[:, None], self.shape[1], axis=1)
        own = self.log_scale[self.sent] - self.inner.log_scale
        logs[self.sent] = self.inner.log_dense() + own[:, None]
        return logs

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return the law's own, plus those of a row of ones for all the silent."""
        inner, silent = self.inner.sums(theta, weights[self.sent], stride), weights[~self.sent]
        if not silent.any():
            return inner
        row = DenseOperator(np.full((1, theta.size), self.silence))
        return inner + row.sums(theta, silent.sum(keepdims=True), stride)


@dataclass(frozen=True, eq=False)
class AtomOperator(Around):
    """Rows of a law, each times a factor, then a column for each place: `height` there, else 0.

        P = [ diag(e^log_factors) A | height * e_j for j in places ]

    The columns are atoms, each of which explains a single output: a report that nobody's value
    accounts for. Rows with an atom are held as they are, for the atom is likely, whatever the law
    says of that output; the others as the law holds them, up to their own factors.

    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> AtomOperator(law, np.log([0.5, 0.5]), np.array([1]), 0.8).forward(np.array([0.6, 0.2, 0.2]))
    array([0.5 , 0.31])
    """

    inner: Operator
    log_factors: FloatArray
    places: IntArray
    height: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values and atoms)."""
        outputs, size = self.inner.shape
        return outputs, size + self.places.size

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row, 0 at atoms."""
        scale = self.inner.log_scale + self.log_factors
        scale[self.places] = 0.0
        return scale

    @cached_property
    def factors(self) -> FloatArray:
        """What the law's rows are multiplied by: at atoms all of their factors, elsewhere 1."""
        factors = np.ones(self.inner.shape[0])
        factors[self.places] = np.exp((self.inner.log_scale + self.log_factors)[self.places])
        return factors

    def _laid(self, theta: FloatArray) -> FloatArray:
        return theta[: self.inner.shape[1]]

    def _gathered(self, fitted: FloatArray, theta: FloatArray) -> FloatArray:
        result = self.factors * fitted
        result[self.places] += self.height * theta[self.inner.shape[1] :]
        return result

    def _spread(self, weights: FloatArray) -> FloatArray:
        return self.factors * weights

    def _collected(self, slope: FloatArray, weights: FloatArray) -> FloatArray:
        return np.concatenate([slope, self.height * weights[self.places]])

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix, bordered by the rows that have atoms."""
        values = self.inner.gram(self.factors**2 * weights)
        atoms = self.height * weights[self.places]
        # The law's rows at the atoms, which are few.
        own = self.inner.subset(np.sort(self.places)).dense()[np.argsort(np.argsort(self.places))]
        rows = (atoms * self.factors[self.places])[:, None] * own
        return np.block([[values, rows.T], [rows, np.diag(self.height * atoms)]])

    def subset(self, places: IntArray) -> DenseOperator:
        """Return some of the rows as an array, in which atoms of other outputs are columns of 0."""
        return DenseOperator(self.dense()[places], self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        outputs, size = self.inner.shape
        wanted = np.arange(self.shape[1]) if columns is None else columns
        honest = wanted < size
        rows = np.zeros((outputs, wanted.size))
        rows[:, honest] = self.factors[:, None] * self.inner.dense(wanted[honest])
        (behind,) = np.nonzero(~honest)
        rows[self.places[wanted[behind] - size], behind] = self.height
        return rows


@dataclass(frozen=True, eq=False)
class MappedOperator(Around):
    """P(y | x) = sum over z of M(z, y) P(z | x), by the products of P(z | x).

    Entry i of M is `chances[i]` > 0, from the output `places[i]` of the inner law to the row
    `rows[i]`; rows rise. Observed outputs repeat rows as `which` says. A product costs one of the
    inner law, and one step for each entry: terms of one sign, so that it is as exact as that is.

    >>> law = DenseOperator(np.array([[0.5, 0.25], [0.3, 0.25], [0.2, 0.5]]))
    >>> entries = np.array([0, 0, 1]), np.array([0, 1, 2]), np.ones(3)
    >>> np.exp(MappedOperator(law, *entries, np.array([0, 1])).log_dense()).round(12)
    array([[0.8, 0.5],
           [0.2, 0.5]])
    """

    inner: Operator
    rows: IntArray
    places: IntArray
    chances: FloatArray
    which: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.which.size, self.inner.shape[1]

    @cached_property
    def _many(self) -> int:
        """How many rows there are, repeated or not."""
        last = (int(some.max(initial=-1)) for some in (self.rows, self.which))
        return max(last) + 1

    @cached_property
    def _logs(self) -> FloatArray:
        """Logarithm of each entry times the factor of its output."""
        return np.asarray(np.log(self.chances) + self.inner.log_scale[self.places])

    @cached_property
    def _scales(self) -> FloatArray:
        """Logarithm of the largest such product of each row; 0 of a row without entries."""
        scales = np.full(self._many, -np.inf)
        np.maximum.at(scales, self.rows, self._logs)
        return np.where(np.isfinite(scales), scales, 0.0)

    @cached_property
    def _weights(self) -> FloatArray:
        """The entries, in the units of the inner rows and of ours."""
        return np.asarray(np.exp(self._logs - self._scales[self.rows]))

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self._scales[self.which]

    def _gathered(self, fitted: FloatArray, theta: FloatArray) -> FloatArray:
        sums = np.bincount(self.rows, self._weights * fitted[self.places], self._many)
        return np.asarray(sums, np.float64)[self.which]

    def _spread(self, weights: FloatArray) -> FloatArray:
        rows = np.bincount(self.which, weights, self._many)
        by_place = np.bincount(self.places, self._weights * rows[self.rows], self.inner.shape[0])
        return np.asarray(by_place, np.float64)

    def subset(self, places: IntArray) -> "MappedOperator":
        """Return the law of some of the outputs."""
        present, which = np.unique(self.which[places], return_inverse=True)
        some = np.flatnonzero(np.isin(self.rows, present))
        used, again = np.unique(self.places[some], return_inverse=True)
        rows, chances = np.searchsorted(present, self.rows[some]), self.chances[some]
        inner = self.inner.subset(used)
        return replace(self, inner=inner, rows=rows, places=again, chances=chances, which=which)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array: one inner product each, where these are exact."""
        if not self.exact:
            rows = np.exp(self.log_dense() - self.log_scale[:, None])
            return np.asarray(rows if columns is None else rows[:, columns])
        ends = np.searchsorted(self.rows, np.arange(self._many + 1)).tolist()
        whole = np.empty((self._many, self.shape[1] if columns is None else len(columns)))
        for row, (first, end) in enumerate(pairwise(ends)):
            some = slice(first, end)
            by_place = np.bincount(self.places[some], self._weights[some], self.inner.shape[0])
            sums = self.inner.adjoint(np.asarray(by_place, np.float64))
            whole[row] = sums if columns is None else sums[columns]
        return whole[self.which]

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), added up from the largest term: far tails do not underflow."""
        total = np.full((self._many, self.inner.shape[1]), -np.inf)
        for part in slices(self.rows.size, max(1, _BLOCK // self.inner.shape[1])):
            own = self.rows[part]
            places, again = np.unique(self.places[part], return_inverse=True)
            logs = self.inner.subset(places).log_dense()[again]
            logs += np.log(self.chances[part])[:, None]
            firsts = np.flatnonzero(np.diff(own, prepend=-1))
            added = log_sums(logs, firsts)
            total[own[firsts]] = np.logaddexp(total[own[firsts]], added)
        return np.asarray(total[self.which])


@dataclass(frozen=True, eq=False)
class KeptOperator(ByBlocks, MappedOperator):
    """Planar noise on some `cells` of a grid: reports elsewhere are remapped to the nearest.

    `inner` is the noise at all cells z that are remapped to an output, each with one entry in their
    order. Products are those of the inner law, O(K log K) for K cells of the plane; `dense` and
    what is made of it are accurate entry by entry, for terms have one sign.
    """

    cells: IntArray
    structure: ClassVar[Structure] = "planar"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.which.size, self.cells.size

    @cached_property
    def _firsts(self) -> IntArray:
        """Where each row begins among the inner outputs; each has one at least."""
        return np.flatnonzero(np.diff(self.rows, prepend=-1))

    @property
    def sharpness(self) -> FloatArray:
        """That of the inner law."""
        return np.asarray(np.asarray(self.inner.sharpness)[self._firsts][self.which])

    def _laid(self, theta: FloatArray) -> FloatArray:
        plane = np.zeros(self.inner.shape[1])
        plane[self.cells] = theta
        return plane

    def _collected(self, slope: FloatArray, weights: FloatArray) -> FloatArray:
        return slope[self.cells]

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the squares by FFT where a row is one of the noise; of other rows, its entries."""
        alone = (np.bincount(self.rows, minlength=self._many) == 1)[self.which]
        single = self._spread(np.where(alone, weights, 0.0)) * self._weights
        diagonal = self.inner.gram_diagonal(single)[self.cells]
        for places, rows in self._blocks(np.flatnonzero(~alone)):
            diagonal = diagonal + DenseOperator(rows).gram_diagonal(weights[places])
        return np.asarray(diagonal)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, summed from the entries of the noise."""
        cells = self.cells if columns is None else self.cells[columns]
        if not self.which.size:
            return np.empty((0, cells.size))
        entries = self.inner.dense(cells) * self._weights[:, None]
        return np.asarray(np.add.reduceat(entries, self._firsts, axis=0)[self.which])

    def log_dense(self) -> FloatArray:
        """Return the same of the whole plane, at the values."""
        return super().log_dense()[:, self.cells]


def log_sums(logs: FloatArray, firsts: IntArray) -> FloatArray:
    """Return the logarithms of sums of rows, each sum from one of `firsts` to the next.

    >>> np.exp(log_sums(np.log([[0.25], [0.5], [0.125]]), np.array([0, 2])))
    array([[0.75 ],
           [0.125]])
    """
    largest = np.maximum.reduceat(logs, firsts, axis=0)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    counts = np.diff(firsts, append=len(logs))
    with np.errstate(divide="ignore"):
        sums = np.add.reduceat(np.exp(logs - np.repeat(finite, counts, axis=0)), firsts, axis=0)
        return np.asarray(np.log(sums) + finite)
