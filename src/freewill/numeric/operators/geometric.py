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
        """Return P' diag(weights) P in O(k^2), whatever the number of outputs.

        For x <= x' all outputs share the factor a^(x'-x): those left of x add a^(2(x-y)),
        those right of x' add a^(2(y-x')), those between add 1.
        """
        square = np.exp(-2 * self.decay)
        masses = self._by_symbol(weights)
        left = _decaying_sums(masses, square)
        right = _decaying_sums(masses[::-1], square)[::-1]
        until = np.cumsum(masses)
        # Between x and x', both excluded, lies until[x' - 1] - until[x]; at x = x' the output
        # x itself stands in both sums, and until[x' - 1] - until[x] = -masses[x] takes one back.
        gram = np.add.outer(left - until, right + until - masses)
        indices = np.arange(self.size)
        gram = np.where(indices[:, None] <= indices[None, :], gram, gram.T)
        powers = np.exp(-self.decay * indices)
        return np.asarray(gram * powers[np.abs(np.subtract.outer(indices, indices))])

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


def _smooth(vector: FloatArray, decay: float) -> FloatArray:
    """Return sum over x of exp(-decay |y - x|) vector_x, for all y.

    The inverse of this matrix is L D L', where L has ones and, below them, -a, and D is
    1 / (1 - a^2) and at last 1. So s_y = vector_y + a s_(y-1), and then from the right
    t_y = (1 - a^2) s_y + a t_(y+1).
    """
    from scipy.linalg.lapack import dpttrs  # noqa: PLC0415

    size = vector.size
    with np.errstate(divide="ignore"):
        diagonal = np.full(size, -1 / np.expm1(-2 * decay))
    diagonal[-1] = 1.0
    return np.asarray(dpttrs(diagonal, np.full(max(1, size - 1), -np.exp(-decay)), vector)[0])


def _decaying_sums(vector: FloatArray, ratio: float) -> FloatArray:
    """Return sum over t >= 0 of ratio^t vector[i - t], for all i, by a recurrence in O(k)."""
    from scipy.linalg.lapack import dtbtrs  # noqa: PLC0415

    # L above as LAPACK's band: the diagonal, whose ones are not read, and what is below it.
    band = np.full((2, vector.size), -ratio)
    return np.asarray(dtbtrs(band, vector, uplo="L", diag="U")[0])
