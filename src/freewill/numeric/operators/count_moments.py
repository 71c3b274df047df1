"""Moments of records of bits: how often each was set among several reports."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.moments import NodeMoments, Nodes, SumOfSquares, nodes_in_time


class _Tilted(NamedTuple):
    """Nodes t, their weights, and central moments of r(c) - 1 there, [node, value]."""

    times: FloatArray
    weights: FloatArray
    mean: FloatArray
    variance: FloatArray
    skew: FloatArray


@dataclass(frozen=True, eq=False)
class CountMoments(NodeMoments):
    """Moments of records of a bit a value, P(c | x) = b Q(c) r(c_x), c the counts of set bits.

    Under Q the counts are independent, with `chances` of 0 .. T; r(c) - 1 = `excess`, from 0 on,
    and b is `least`. With G = sum_x theta_x (r(c_x) - 1), p = b Q (1 + G), and E_p[f / (1 + G)^j]
    is an integral over t of t^(j-1) e^-t times a mean of f e^(-t G), which is a product over the
    values: what `BitMoments` does with bits, for T = 1, by sums over T + 1 counts. O(nodes k T).

    >>> import freewill as fw
    >>> record = fw.Repeated(fw.LongitudinalUnary(fw.Linear(0, 2), 1.0, 3.0), 2)
    >>> theta, law = np.array([0.2, 0.3, 0.5]), record.law().T
    >>> scores = law / (law @ theta)[:, None] - 1
    >>> listed = (scores.T * (law @ theta)) @ scores
    >>> bool(np.allclose(listed, record.moments(theta).information(), atol=1e-12))
    True
    """

    theta: FloatArray
    chances: FloatArray
    excess: FloatArray
    least: float
    gain: float = 1.0

    @cached_property
    def _tilted(self) -> _Tilted:
        """Tilt the law of counts by e^(-t theta (r - 1)), for each t and value."""
        times, log_weights = nodes_in_time(float(self.theta.max()) * float(self.excess.max()))
        rates = np.outer(times, self.theta)
        tilts = [chance * np.exp(-rates * more) for chance, more in self._counts]
        mass = np.sum(tilts, axis=0)
        mean = sum(tilt * more for tilt, (_, more) in zip(tilts, self._counts, strict=True)) / mass
        apart = [more - mean for _, more in self._counts]
        variance, skew = (
            np.asarray(
                sum(tilt * gap**power for tilt, gap in zip(tilts, apart, strict=True)) / mass
            )
            for power in (2, 3)
        )
        weights = self.least * np.exp(log_weights + np.log(mass).sum(axis=1))
        return _Tilted(times, weights, np.asarray(mean), variance, skew)

    @property
    def _counts(self) -> list[tuple[float, float]]:
        return list(zip(self.chances.tolist(), self.excess.tolist(), strict=True))

    def _blocks(self) -> list[Nodes]:
        return [Nodes(*self._tilted[:3])]

    @cached_property
    def _variance(self) -> FloatArray:
        return np.asarray(self._tilted.weights @ self._tilted.variance)

    def system(self) -> SumOfSquares:
        """Return a row for each node that counts, and d."""
        means, weights = self._tilted.mean, self._tilted.weights
        counts = weights > 0
        return SumOfSquares(DenseOperator(1 + means[counts]), weights[counts], self._variance)

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s, from those of sums of independent counts."""
        times, weights, mean, variance, skew = self._tilted
        along = directions.T
        square = along * along
        centre, spread = mean @ along, variance @ square
        second = weights @ (centre * centre + spread)
        third = (weights * times) @ (
            centre * (centre * centre + 3 * spread) + skew @ (square * along)
        )
        return np.asarray(second), np.asarray(third)
