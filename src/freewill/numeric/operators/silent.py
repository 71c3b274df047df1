"""Operator and moments of a law with rows that are the same for all values, which tell nothing."""

from dataclasses import dataclass, replace

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.numeric.operators.base import Map, Operator, RowNumbers, Structure, Sums

_ON_A_LINE = ("geometric", "symbols", "stack")
"""Structures of which other rows are not: between them the law is an array."""


@dataclass(frozen=True, eq=False)
class SilentOperator(Operator):
    """The rows of a law where something is `sent`, in their order, and rows of ones elsewhere.

    Products cost those of the law. Where silence is impossible, `silence` is 0 instead of 1.

    >>> from freewill.numeric.operators.base import DenseOperator
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
    def exact(self) -> bool:
        """Whether the law's products are."""
        return self.inner.exact

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

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return the law's product, and the sum of theta."""
        return self._scattered(self.inner.forward(theta), self.silence * float(theta.sum()))

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this relative error."""
        inner = self.inner.forward_within(theta, error)
        return self._scattered(inner, self.silence * float(theta.sum()))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the law's product, plus the weight of the silent."""
        return np.asarray(self.inner.adjoint(weights[self.sent]) + self._silent(weights))

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the same, each number within this (absolute) error."""
        inner = self.inner.adjoint_within(weights[self.sent], error)
        return np.asarray(inner + self._silent(weights))

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix, plus the weight of the silent everywhere."""
        return np.asarray(self.inner.gram(weights[self.sent]) + self._silent(weights))

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        return np.asarray(self.inner.gram_diagonal(weights[self.sent]) + self._silent(weights))

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
        """Return the law's own, plus those of rows p = sum of theta."""
        inner = self.inner.sums(theta, weights[self.sent], stride)
        silent, fitted = float(weights[~self.sent].sum()), self.silence * float(theta.sum())
        if not silent:
            return inner
        if not fitted > 0:
            return Sums.impossible(theta.size)
        slope = np.full(theta.size, silent * self.silence / fitted)
        curve = silent * (self.silence / fitted) ** 2
        hessian = np.full((theta.size, theta.size), curve) if stride else None
        return inner + Sums(silent * float(np.log(fitted)), slope, hessian)
