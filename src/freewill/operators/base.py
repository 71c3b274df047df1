"""What an operator is: the law of the observed outputs, as two products."""

from typing import Protocol

import numpy as np

from freewill.errors import LawError
from freewill.types import FloatArray, IntArray


class Operator(Protocol):
    """P(y | x) for observed outputs y (rows) and all values x of the alphabet (columns).

    Rows are stored up to a known factor, P(y | x) = exp(log_scale[y]) * row[y, x], so that a
    report of ten thousand bits does not underflow. No estimate of theta depends on the factor;
    only the log-likelihood adds it back.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(observed outputs, size of the alphabet)."""

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta, one number an output."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights, one number a value."""

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows."""

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, or only these columns of it."""

    def log_dense(self) -> FloatArray:
        """Return log P(y | x) with the factor included, finite even where P underflows."""


def probabilities(operator: Operator) -> FloatArray:
    """Return the true P(y | x), rows and factor together.

    >>> from freewill.operators.dense import DenseOperator
    >>> probabilities(DenseOperator(np.array([[0.75, 0.25]])))
    array([[0.75, 0.25]])
    """
    return np.asarray(np.exp(operator.log_scale)[:, None] * operator.dense())


def dot_test(operator: Operator, rng: np.random.Generator, tolerance: float = 1e-10) -> float:
    """Check that forward and adjoint belong together: <P t, w> = <t, P' w> for random t, w.

    Returns the relative mismatch and raises `LawError` when it exceeds the tolerance: the first
    thing to run on a new operator.

    >>> from freewill.operators.dense import DenseOperator
    >>> dot_test(DenseOperator(np.eye(3)), np.random.default_rng(0)) < 1e-12
    True
    """
    outputs, size = operator.shape
    theta, weights = rng.standard_normal(size), rng.standard_normal(outputs)
    left_terms = operator.forward(theta) * weights
    right_terms = theta * operator.adjoint(weights)
    scale = max(float(np.abs(left_terms).sum()), float(np.abs(right_terms).sum()))
    mismatch = abs(float(left_terms.sum()) - float(right_terms.sum())) / (scale or 1.0)
    if not mismatch <= tolerance:
        raise LawError(
            f"{type(operator).__name__}: forward and adjoint disagree by {mismatch:.3g} "
            f"(relative), more than {tolerance:g}: one of the two products is wrong."
        )
    return mismatch
