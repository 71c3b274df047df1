"""Operator of the linear geometric mechanism, in O(k) by two recurrences."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import LineTerms, Operator, Structure


@dataclass(frozen=True, eq=False)
class GeometricOperator(Operator):
    """P(y | x) = exp(log_constants[y]) * exp(-decay * |y - x|): eqs. 2 and 3 on observed outputs.

    With a = exp(-decay), the sum over x <= y of a^(y-x) theta_x obeys s_y = a s_(y-1) + theta_y,
    and much the same from the right: O(k) a product, all terms of one sign, nothing cancels.
    """

    outputs: IntArray
    size: int
    decay: float
    log_constants: FloatArray
    """log c_z of every output z of the alphabet (eq. 3)."""
    structure: ClassVar[Structure] = "geometric"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.outputs.size, self.size

    @property
    def log_scale(self) -> FloatArray:
        """Log c_y: small for the inner outputs of a small epsilon."""
        return np.asarray(self.log_constants[self.outputs])

    @property
    def sharpness(self) -> float:
        """The decay."""
        return self.decay

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return sum over x of exp(-decay |y - x|) theta_x at the observed outputs."""
        return _smooth(theta, self.decay)[self.outputs]

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum over y of exp(-decay |y - x|) weights_y."""
        return _smooth(self._by_symbol(weights), self.decay)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the same sum with twice the decay."""
        return _smooth(self._by_symbol(weights), 2 * self.decay)

    def _by_symbol(self, weights: FloatArray) -> FloatArray:
        counted = np.bincount(self.outputs, weights, minlength=self.size)
        return np.asarray(counted, dtype=np.float64)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return K diag(weights by symbol) K, K = exp(-decay |i - j|), in O(k^2) by recurrences."""
        every = replace(self, outputs=np.arange(self.size)).dense()
        return _smooth((every * self._by_symbol(weights)).T, self.decay)

    def line_terms(self) -> LineTerms:
        """Return K = e^(-decay |i - j|); each output counts once."""
        return LineTerms(self.outputs, self.decay)

    def subset(self, places: IntArray) -> "GeometricOperator":
        """Return the law of some of the outputs."""
        return replace(self, outputs=self.outputs[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        if columns is not None:
            powers = np.exp(-self.decay * np.arange(self.size))
            return np.asarray(powers[self._gaps(columns)])
        # a^|t| for t from 1 - k to k - 1: row y is a window of it, that of y = k - 1 the first.
        powers = np.exp(-self.decay * np.abs(np.arange(1 - self.size, self.size)))
        step = powers.itemsize
        windows = np.ndarray((self.size, self.size), buffer=powers.data, strides=(step, step))
        return np.asarray(windows[self.size - 1 - self.outputs])

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), finite however far y is from x."""
        return np.asarray(self.log_constants[self.outputs, None] - self.decay * self._gaps(None))

    def _gaps(self, columns: IntArray | None) -> IntArray:
        wanted = np.arange(self.size) if columns is None else columns
        return np.asarray(np.abs(np.subtract.outer(self.outputs, wanted)))


def _smooth(vectors: FloatArray, decay: float) -> FloatArray:
    """Return sum over x of exp(-decay |y - x|) vector_x, for all y: of a vector, or of each column.

    The inverse of this matrix is L D L', where L has ones and, below them, -a, and D is
    1 / (1 - a^2) and at last 1. So s_y = vector_y + a s_(y-1), and then from the right
    t_y = (1 - a^2) s_y + a t_(y+1).
    """
    from scipy.linalg.lapack import dpttrs  # noqa: PLC0415

    size = len(vectors)
    with np.errstate(divide="ignore"):
        diagonal = np.full(size, -1 / np.expm1(-2 * decay))
    diagonal[-1] = 1.0
    return np.asarray(dpttrs(diagonal, np.full(max(1, size - 1), -np.exp(-decay)), vectors)[0])
