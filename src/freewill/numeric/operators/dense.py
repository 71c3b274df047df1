"""Operator for laws without structure: an array."""

from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Operator


@dataclass(frozen=True, eq=False)
class DenseOperator(Operator):
    """Rows held as an array, probabilities unless a log_scale is given; O(outputs * k) a product.

    >>> operator = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> operator.forward(np.array([0.5, 0.5]))
    array([0.5, 0.5])
    """

    rows: FloatArray
    log_scale: FloatArray

    def __init__(self, rows: FloatArray, log_scale: FloatArray | None = None) -> None:
        object.__setattr__(self, "rows", rows)
        scale = np.zeros(rows.shape[0]) if log_scale is None else log_scale
        object.__setattr__(self, "log_scale", scale)

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.rows.shape[0], self.rows.shape[1]

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta."""
        return np.asarray(self.rows @ theta)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights."""
        return np.asarray(weights @ self.rows)

    def subset(self, places: IntArray) -> "DenseOperator":
        """Return some of the rows."""
        return DenseOperator(self.rows[places], self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows."""
        return self.rows if columns is None else self.rows[:, columns]
