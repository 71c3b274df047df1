"""Moments of reports that name a subset of fixed length, by a second, periodic integral.

A uniform subset of d of k values is k independent coins, given that d of them show yes: the
coefficient of z^d in a product over the values, that is, a mean over a circle z = r e^(i phi). At
the saddle point, where the coins show d on average, the integrand is a bell in phi as narrow as
their number is spread, and the trapezoid rule needs some dozen nodes for 13 digits.

Moments of records of bits: how often each was set among several reports.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.moments import (
    NodeMoments,
    Nodes,
    SetMoments,
    SumOfSquares,
    nodes_in_time,
)

_FURTHEST = 2000.0
"""Exponents beyond which a value is in no subset that counts."""
_NOTHING = 745.0
"""Exponent at which e^- is no double any more."""
_HALVINGS = 40
"""Of the interval in which the saddle point lies: it need not be found to many digits."""
_SPREADS, _SPARE = 9, 13
"""Nodes on the circle by the spread of the number of coins that show yes: what the rule mistakes
for d coins is then e^-40 as likely."""
_NEGLIGIBLE = 40.0
_MOST_BYTES, _BLOCK_BYTES = 1 << 28, 1 << 24
"""Of chances at all nodes that are held, up to some 9,000 values; and of those that are made, and
taken into a sum, together."""


@dataclass(frozen=True, eq=False)
class SubsetMoments(SetMoments):
    """Moments of P(v|x) = c (1 + gain v_x) over the subsets v of `length` values.

    Nodes are pairs of t and an angle; weights and chances are complex, and their sums real.

    >>> import freewill as fw
    >>> theta, mine = np.array([0.2, 0.3, 0.4, 0.1]), fw.SubsetSelection(fw.Linear(0, 3), 0.9, 2)
    >>> scores = mine.law().T / (mine.law().T @ theta)[:, None] - 1
    >>> listed = (scores.T * (mine.law().T @ theta)) @ scores
    >>> bool(np.allclose(listed, mine.moments(theta).information(), atol=1e-12))
    True
    """

    theta: FloatArray
    length: int
    gain: float

    @property
    def chance(self) -> float:
        """The share of the values that are in a set."""
        return self.length / self.theta.size

    @property
    def other(self) -> float:
        """The share of the other values that are in a set, the true one being in it or not."""
        own = self.chance * (1 + self.gain) / (1 + self.gain * self.chance)
        return (self.length - own) / (self.theta.size - 1)

    def first_chances(self) -> FloatArray:
        """Return C(k-1-j, d-1) / C(k, d), each from the one before it."""
        size, before = self.theta.size, np.arange(self.theta.size - 1)
        ratios = np.maximum(size - self.length - before, 0) / (size - 1 - before)
        return np.asarray(self.chance * np.append(1.0, np.cumprod(ratios)))

    def fading(self, time: float) -> float:
        """Return E_p e^(-t gain T), by the nodes of one t."""
        if np.ptp(self.theta) == 0:
            return float(np.exp(-time * self.gain * self.chance))
        # Over the same for t = 0, so that what the logarithm of all ways is off by cancels.
        return self._mean_at(time) / self._whole

    @cached_property
    def _whole(self) -> float:
        return self._mean_at(0.0)

    def _mean_at(self, time: float) -> float:
        fall = np.minimum(time * self.gain * self.theta, _FURTHEST)
        _, weights, chances = self._on_circle(time, 0.0, fall)
        return float(np.real(weights @ (1 + self.gain * (chances @ self.theta))))

    def _blocks(self) -> Iterable[Nodes]:
        """Return all pairs of t and angle that count: held, or made anew where they are many."""
        return self._made() if self._held is None else self._held

    @cached_property
    def _held(self) -> list[Nodes] | None:
        held, size = list[Nodes](), 0
        for nodes in self._made():
            size += nodes.chances.nbytes
            if size > _MOST_BYTES:
                return None
            held.append(nodes)
        return held

    def _made(self) -> Iterator[Nodes]:
        """Yield the nodes, as many values of t together as make a block."""
        times, log_weights = nodes_in_time(float(self.theta.max()) * self.gain)
        least = float(np.sort(self.theta)[: self.length].sum()) * self.gain
        counts = times * least < _NOTHING
        block, size = list[Nodes](), 0
        for time, log_weight in zip(times[counts], log_weights[counts], strict=True):
            fall = np.minimum(time * self.gain * self.theta, _FURTHEST)
            block.append(self._on_circle(time, log_weight, fall))
            size += block[-1].chances.nbytes
            if size > _BLOCK_BYTES:
                yield _together(block)
                block, size = [], 0
        if block:
            yield _together(block)

    def _on_circle(self, time: float, log_weight: float, fall: FloatArray) -> Nodes:
        """Return the nodes of one t: z = e^(s + i phi), the own weights of values e^-fall."""
        size, saddle = fall.size, self._saddle(fall)
        chance = expit(saddle - fall)
        variance = float(chance @ (1 - chance))
        many = min(size + 1, int(_SPREADS * np.sqrt(variance)) + _SPARE) | 1
        angles = 2 * np.pi / many * np.arange(many // 2 + 1)
        angles = angles[variance * (1 - np.cos(angles)) < _NEGLIGIBLE]
        exponents = (saddle - fall) + 1j * angles[:, None]
        # 1 / (1 + e^-w), and log(1 + e^w), without overflow on either side.
        right = exponents.real > 0
        small = np.exp(np.where(right, -exponents, exponents))
        chances = np.where(right, 1.0, small) / (1 + small)
        product = (np.log1p(small) + np.where(right, exponents, 0.0)).sum(axis=1)
        ways = gammaln(size + 1) - gammaln(self.length + 1) - gammaln(size - self.length + 1)
        norm = np.log(many * (1 + self.gain * self.length / size)) + ways
        logs = product - self.length * (saddle + 1j * angles) + (log_weight - norm)
        # An angle stands for its negative too, whose terms are the complex conjugates.
        weights = np.exp(logs) * np.where(angles > 0, 2, 1)
        return Nodes(np.full(angles.size, time), weights, chances)

    def _saddle(self, fall: FloatArray) -> float:
        """Return s at which coins of chances 1 / (1 + e^(fall - s)) show `length` on average."""
        low, high = -_NOTHING, _FURTHEST + _NOTHING
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if float(expit(middle - fall).sum()) < self.length:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def _together(some: list[Nodes]) -> Nodes:
    return Nodes(*map(np.concatenate, zip(*some, strict=True)))


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
        centre, variances = mean @ along, variance @ square
        second = weights @ (centre * centre + variances)
        third = (weights * times) @ (
            centre * (centre * centre + 3 * variances) + skew @ (square * along)
        )
        return np.asarray(second), np.asarray(third)
