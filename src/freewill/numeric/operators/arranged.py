"""Operator of a law whose rows stand in another order, and share a factor."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Map, Operator, RowNumbers, Structure, Sums


@dataclass(frozen=True, eq=False)
class ArrangedOperator(Operator):
    """Row `order[i]` is row i of a law, times e^log_share: by the products of that law.

    Laws that want the rows of each mechanism together serve reports in the order they came in.

    >>> from freewill.numeric.operators.base import DenseOperator
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

    def _arranged(self, numbers: FloatArray) -> FloatArray:
        arranged = np.empty_like(numbers)
        arranged[self.order] = numbers
        return arranged

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self._arranged(np.asarray(self.inner.log_scale + self.log_share))

    @property
    def exact(self) -> bool:
        """Whether the law's products are."""
        return self.inner.exact

    @property
    def sharpness(self) -> RowNumbers:
        """That of the law."""
        sharpness = self.inner.sharpness
        return sharpness if np.ndim(sharpness) == 0 else self._arranged(np.asarray(sharpness))

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return the law's product."""
        return self._arranged(self.inner.forward(theta))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the law's product."""
        return self.inner.adjoint(weights[self.order])

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the law's product, each number within this relative error."""
        return self._arranged(self.inner.forward_within(theta, error))

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the law's product, each number within this (absolute) error."""
        return self.inner.adjoint_within(weights[self.order], error)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix."""
        return self.inner.gram(weights[self.order])

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        return self.inner.gram_diagonal(weights[self.order])

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the law's (near) product."""
        return self.inner.gram_map(weights[self.order], near)

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return the law's sums, which know no order."""
        return self.inner.sums(theta, weights[self.order], stride)

    def subset(self, places: IntArray) -> "ArrangedOperator":
        """Return the law of some of the outputs."""
        wanted = np.full(self.order.size, -1)
        wanted[places] = np.arange(places.size)
        kept = np.flatnonzero(wanted[self.order] >= 0)
        order = wanted[self.order[kept]]
        return ArrangedOperator(self.inner.subset(kept), order, self.log_share)

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        return self._arranged(self.inner.dense(columns))
