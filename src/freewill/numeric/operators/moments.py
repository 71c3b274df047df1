"""What a report of one mechanism tells at some theta: the moments of a/p - 1 over all outputs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Operator

_CLOSE = 0.5
"""Log-ratios up to which a/p - 1 is better taken from them than from the law."""


class Moments(Protocol):
    """The score of a report z in direction u is s = sum_x u_x a(z|x) / p(z), with p = theta A.

    For directions that sum to 0 it has mean 0. Its variance u'Ku defines the centred information
    K = sum_z a a'/p - 1 1', and K theta = 0.
    """

    def information(self) -> FloatArray:
        """Return K, k x k."""

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u for any u."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value) for all outputs, where outputs are values; None where not."""

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s for each row u, which sums to 0."""


@dataclass(frozen=True, eq=False)
class ListedMoments:
    """Moments of a mechanism whose outputs are listed, from the law of all of them.

    `log_ratios`, where given, are log a(z|x) up to a constant of each z: where noise is strong they
    keep digits of a/p - 1 that the law itself has lost.
    """

    operator: Operator
    theta: FloatArray
    log_ratios: FloatArray | None = None

    @cached_property
    def fitted(self) -> FloatArray:
        """Probability p of each output, in the units of its row."""
        return self.operator.forward_within(self.theta, 1e-9)

    @cached_property
    def _divisor(self) -> FloatArray:
        """The same to divide by: what no value reports tells nothing, and does not divide by 0."""
        return np.where(self.fitted > 0, self.fitted, np.inf)

    @cached_property
    def shares(self) -> FloatArray:
        """Probability p of each output."""
        return np.asarray(np.exp(self.operator.log_scale) * self.fitted)

    @cached_property
    def scores(self) -> FloatArray:
        """a/p - 1, [output, value]."""
        ratios = self.log_ratios
        if ratios is not None and float(np.ptp(ratios, axis=1).max(initial=0)) < _CLOSE:
            excess = np.expm1(ratios - ratios.max(axis=1, keepdims=True))
            mean = (excess @ self.theta)[:, None]
            return np.asarray((excess - mean) / (1 + mean))
        return np.asarray(self.operator.dense() / self._divisor[:, None] - 1)

    def information(self) -> FloatArray:
        """Return K, k x k."""
        # A matrix times its own transpose is half the work of a product.
        rooted = np.sqrt(self.shares)[:, None] * self.scores
        return np.asarray(rooted.T @ rooted)

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u by two products."""
        weights = np.exp(self.operator.log_scale) / self._divisor
        full = self.operator.adjoint(weights * self.operator.forward(direction))
        return np.asarray(full - direction.sum())

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        weights = np.exp(self.operator.log_scale) / self._divisor
        return np.asarray(self.operator.gram_diagonal(weights) - 1)

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value)."""
        point = np.zeros(self.operator.shape[1])
        point[value] = 1.0
        return np.asarray(np.exp(self.operator.log_scale) * self.operator.forward(point))

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sum_z p s^2 and sum_z p s^3."""
        if "scores" in self.__dict__:
            scored = self.scores @ directions.T
        else:
            by_row = [self.operator.forward(row) / self._divisor for row in directions]
            scored = np.stack(by_row, axis=1) if by_row else np.empty((len(self.fitted), 0))
        # NumPy's cubes are logarithms, and some ten times slower.
        square = scored * scored
        return np.asarray(self.shares @ square), np.asarray(self.shares @ (square * scored))
