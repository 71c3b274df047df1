"""Operator of a law whose columns have factors: values that report with different probability.

If a person with the value x chooses a mechanism with probability c(x), the law of choosing it and
reporting y is c(x) P(y | x).
"""

from dataclasses import dataclass, replace

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Map, Operator, RowNumbers, Structure, Sums


@dataclass(frozen=True, eq=False)
class ScaledOperator(Operator):
    """Each column of a law times a factor >= 0, by the products of that law.

    With factors the law is none of those that systems on a line know, and bit sums do not tell how
    the factors shared the people out: it has neither line terms nor a guess.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> ScaledOperator(law, np.array([1.0, 0.5])).forward(np.array([0.5, 0.5]))
    array([0.4375, 0.3125])
    """

    inner: Operator
    factors: FloatArray

    @property
    def structure(self) -> Structure:
        """That of the law."""
        return self.inner.structure

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.inner.shape

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return self.inner.log_scale

    @property
    def exact(self) -> bool:
        """Whether the law's products are."""
        return self.inner.exact

    @property
    def sharpness(self) -> RowNumbers:
        """That of the law."""
        return self.inner.sharpness

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return the law's product with factors * theta."""
        return self.inner.forward(self.factors * theta)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return factors * the law's product."""
        return np.asarray(self.factors * self.inner.adjoint(weights))

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return the law's product, each number within this relative error."""
        return self.inner.forward_within(self.factors * theta, error)

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return factors * the law's product, each number within this (absolute) error."""
        finer = error / max(1.0, float(self.factors.max()))
        return np.asarray(self.factors * self.inner.adjoint_within(weights, finer))

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix, its rows and columns times the factors."""
        return np.asarray(self.factors[:, None] * self.inner.gram(weights) * self.factors)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that."""
        return np.asarray(self.factors**2 * self.inner.gram_diagonal(weights))

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the law's (near) product, before and after it the factors."""
        inner = self.inner.gram_map(weights, near)
        return lambda vector: np.asarray(self.factors * inner(self.factors * vector))

    def subset(self, places: IntArray) -> "ScaledOperator":
        """Return the law of some of the outputs."""
        return replace(self, inner=self.inner.subset(places))

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        factors = self.factors if columns is None else self.factors[columns]
        return np.asarray(self.inner.dense(columns) * factors)

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H, from the law's own at factors * theta."""
        inner = self.inner.sums(self.factors * theta, weights, stride)
        hessian = None
        if inner.hessian is not None:
            hessian = self.factors[:, None] * inner.hessian * self.factors
        return Sums(inner.value, self.factors * inner.slope, hessian)
