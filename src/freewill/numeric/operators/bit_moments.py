"""Moments of bit reports, of which nobody lists all: exact, by one integral."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray

_STEP = 0.3
"""Between nodes on the logarithmic scale of t: the sums are then good to 13 digits."""
_FIRST, _LAST = -32.0, 3.9
"""From where to where log t matters, beside the scale on which products of bits fall."""


@dataclass(frozen=True, eq=False)
class BitMoments:
    """Moments of reports of k bits, P(v|x) = c_v (1 + gain v_x), whose 2^k outputs nobody lists.

    Where bits other than the own are set with probability q, and independently, p(v) is
    (1 + gain T) / (1 + gain q) times their law, with T = sum_y theta_y v_y. So that for products
    of bits f, E_p[f / (1 + gain T)^j] is an integral over t of t^(j-1) e^-t times a mean of
    f e^(-t gain T) over independent bits, which is a product over the bits. Some
    hundred nodes give it.

    >>> import freewill as fw
    >>> theta, mine = np.array([0.2, 0.3, 0.5]), fw.RAPPOR(fw.Linear(0, 2), epsilon=2.0)
    >>> scores = mine.law().T / (mine.law().T @ theta)[:, None] - 1
    >>> listed = (scores.T * (mine.law().T @ theta)) @ scores
    >>> bool(np.allclose(listed, mine.moments(theta).information(), atol=1e-12))
    True
    """

    theta: FloatArray
    flip: float
    gain: float

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """t, the weight of each t, and the probability that a bit is set there, [t, value]."""
        largest = float(self.theta.max()) * self.gain
        first = min(_FIRST, _FIRST - np.log(largest)) if largest > 0 else _FIRST
        times = np.exp(np.arange(first, _LAST + _STEP, _STEP))
        fall = np.exp(-np.outer(times * self.gain, self.theta))
        mass = (1 - self.flip) + self.flip * fall
        weights = _STEP * times * np.exp(-times + np.log(mass).sum(axis=1))
        return times, weights / (1 + self.gain * self.flip), self.flip * fall / mass

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """Gain times the chances M, and d, where J = (1 + M)' diag(weights) (1 + M) + diag(d)."""
        _, weights, chance = self._nodes
        spread = self.gain**2 * (weights @ (chance * (1 - chance)))
        return self.gain * chance, spread

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u, in O(k) a node."""
        means, spread = self._parts
        total = direction.sum()
        # (1 + M)' diag(weights) (1 + M) u, without an array of 1 + M at each call.
        images = self._nodes[1] * (total + means @ direction)
        return np.asarray(images @ means + spread * direction + (images.sum() - total))

    def information(self) -> FloatArray:
        """Return K = P J P' with P = I - 1 theta', which loses no digits where noise is strong."""
        means, spread = self._parts
        centred = means - (means @ self.theta)[:, None]
        shift = spread * self.theta
        matrix = (centred.T * self._nodes[1]) @ centred + np.diag(spread)
        return np.asarray(matrix - shift[:, None] - shift[None, :] + shift @ self.theta)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        means, spread = self._parts
        return np.asarray(self._nodes[1] @ (1 + means) ** 2 + spread - 1)

    def response(self, value: int) -> FloatArray | None:
        """Return nothing: outputs are no values."""
        return None

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s, from those of sums of independent bits."""
        times, weights, chance = self._nodes
        spread = chance * (1 - chance)
        along = directions.T
        square = along * along
        mean, variance = chance @ along, spread @ square
        skew = (spread * (1 - 2 * chance)) @ (square * along)
        second = weights @ (mean * mean + variance)
        third = (weights * times) @ (mean * (mean * mean + 3 * variance) + skew)
        return np.asarray(self.gain**2 * second), np.asarray(self.gain**3 * third)
