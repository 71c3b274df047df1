"""Operator of a law whose outputs are mapped to others, surely or by chance: sums of its rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import Operator

_BLOCK = 1 << 21
"""Numbers of the law that are added up at once: 16 MiB."""


@dataclass(frozen=True, eq=False)
class MappedOperator(Operator):
    """P(y | x) = sum over z of M(z, y) P(z | x), by the products of P(z | x).

    Entry i of M is `chances[i]` > 0, from the output `places[i]` of the inner law to the row
    `rows[i]`; rows rise. Observed outputs repeat rows as `which` says. A product costs one of the
    inner law, and one step for each entry: terms of one sign, so that it is as exact as that is.

    >>> from freewill.numeric.operators.base import DenseOperator
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

    @property
    def exact(self) -> bool:
        """Whether the inner law's products are."""
        return self.inner.exact

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

    def _gathered(self, inner: FloatArray) -> FloatArray:
        """Return the sums of numbers of inner outputs, at the observed ones."""
        sums = np.bincount(self.rows, self._weights * inner[self.places], self._many)
        return np.asarray(sums, np.float64)[self.which]

    def _spread(self, weights: FloatArray) -> FloatArray:
        """Return the weights of inner outputs."""
        rows = np.bincount(self.which, weights, self._many)
        by_place = np.bincount(self.places, self._weights * rows[self.rows], self.inner.shape[0])
        return np.asarray(by_place, np.float64)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return sums of the inner product."""
        return self._gathered(self.inner.forward(theta))

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this relative error."""
        return self._gathered(self.inner.forward_within(theta, error))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the inner product of spread weights."""
        return self.inner.adjoint(self._spread(weights))

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this (absolute) error."""
        return self.inner.adjoint_within(self._spread(weights), error)

    def subset(self, places: IntArray) -> "MappedOperator":
        """Return the law of some of the outputs."""
        return replace(self, which=self.which[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array: one inner product each, where these are exact."""
        if not self.exact:
            rows = np.exp(self.log_dense() - self.log_scale[:, None])
            return np.asarray(rows if columns is None else rows[:, columns])
        present, which = np.unique(self.which, return_inverse=True)
        ends = np.searchsorted(self.rows, np.stack([present, present + 1]))
        whole = np.empty((present.size, self.shape[1] if columns is None else len(columns)))
        for place, (first, end) in enumerate(ends.T):
            some = slice(first, end)
            by_place = np.bincount(self.places[some], self._weights[some], self.inner.shape[0])
            row = self.inner.adjoint(np.asarray(by_place, np.float64))
            whole[place] = row if columns is None else row[columns]
        return whole[which]

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), added up from the largest term: far tails do not underflow."""
        present, which = np.unique(self.which, return_inverse=True)
        entries = np.flatnonzero(np.isin(self.rows, present))
        rows = np.searchsorted(present, self.rows[entries])
        total = np.full((present.size, self.shape[1]), -np.inf)
        for part in slices(entries.size, max(1, _BLOCK // self.shape[1])):
            some, own = entries[part], rows[part]
            places, again = np.unique(self.places[some], return_inverse=True)
            logs = self.inner.subset(places).log_dense()[again]
            logs += np.log(self.chances[some])[:, None]
            firsts = np.flatnonzero(np.diff(own, prepend=-1))
            added = log_sums(logs, firsts)
            total[own[firsts]] = np.logaddexp(total[own[firsts]], added)
        return np.asarray(total[which])


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
