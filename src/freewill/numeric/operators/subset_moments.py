"""Moments of reports that name a subset of fixed length, by a second, periodic integral.

A uniform subset of d of k values is k independent coins, given that d of them show yes: the
coefficient of z^d in a product over the values, that is, a mean over a circle z = r e^(i phi). At
the saddle point, where the coins show d on average, the integrand is a bell in phi as narrow as
their number is spread, and the trapezoid rule needs some dozen nodes for 13 digits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, gammaln

from freewill.core.types import FloatArray
from freewill.numeric.operators.moments import Nodes, SetMoments, nodes_in_time

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

    def system(self) -> None:
        """Return nothing: weights are complex, and K is no sum of squares."""

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
