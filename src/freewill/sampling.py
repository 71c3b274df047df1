"""Samplers that several mechanisms share: no possible outcome is lost, however rare it is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freewill.types import FloatArray, IntArray, PackedBits

_WORD = 64
_LONG, _SHORT = 24.0, 2.0**-24
"""Waits beyond which, and below which, a wait is drawn anew among those alone."""
# Small enough to stay in the processor's cache through all digits.
_BLOCK = 1 << 16


def bernoulli_bits(probability: float, count: int, rng: np.random.Generator) -> PackedBits:
    """Draw 8 * `count` independent bits, each 1 with exactly the given probability, as bytes.

    A uniform number U is drawn one binary digit at a time and compared with the digits of the
    probability: the first digit that differs decides whether U < probability. 64 such
    comparisons run in one machine word, and only words with an open comparison draw on, so a
    bit costs about an eighth of a random word and the law is exact for every double.

    >>> rng = np.random.default_rng(1)
    >>> int(np.bitwise_count(bernoulli_bits(0.25, 100_000, rng)).sum())
    200734
    """
    words = -(-count * 8 // _WORD)
    result = np.empty(words, dtype=np.uint64)
    for start in range(0, words, _BLOCK):
        block = result[start : start + _BLOCK]
        block[:] = _bernoulli_words(probability, block.size, rng)
    return result.view(np.uint8)[:count]


def waits(shape: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Draw exponential numbers T, P(T > t) = e^-t, with many digits at both ends.

    A generator's own numbers are multiples of some 2^-53 and end near 44: probabilities below
    e^-44 would become 0, and those of a short wait would be off by up to 2^-53. So a long wait is
    continued (what is left of it has the same law) and a short one drawn again among short ones.

    >>> T = waits(100_000, np.random.default_rng(1))
    >>> round(float(T.mean()), 2), bool(T.min() >= 0)
    (1.0, True)
    """
    drawn = np.asarray(rng.standard_exponential(shape))
    every = drawn.reshape(-1)
    far, waited = np.flatnonzero(every > _LONG), _LONG
    while far.size:
        more = rng.standard_exponential(far.size)
        every[far] = waited + more
        far, waited = far[more > _LONG], waited + _LONG
    near, width = np.flatnonzero(every < _SHORT), _SHORT
    while near.size and width > 0:
        every[near] = -np.log1p(rng.random(near.size) * np.expm1(-width))
        width *= _SHORT
        near = near[every[near] < width]
    return drawn


@dataclass(frozen=True, eq=False)
class Urn:
    """Indices, each to be drawn with a probability proportional to its weight.

    The cumulative weights, the small ones first, are searched for a uniform number e^-T that is
    accurate near 0, so that a weight of 1e-100 keeps its probability and one of 0 is never drawn.
    O(log k) a draw.

    >>> np.bincount(Urn.of(np.array([0.0, 3.0, 1.0])).draw(4000, np.random.default_rng(1)))
    array([   0, 3011,  989])
    """

    order: IntArray
    cumulative: FloatArray

    @classmethod
    def of(cls, weights: FloatArray) -> "Urn":
        """Sort and add up the weights, O(k log k)."""
        order = np.argsort(weights, kind="stable")
        return cls(order, np.cumsum(weights[order]))

    def draw(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> IntArray:
        """Draw as many as the shape has places."""
        uniform = np.exp(-waits(shape, rng)) * self.cumulative[-1]
        found = np.searchsorted(self.cumulative, uniform, side="right")
        # A wait of 0 is the whole sum, and belongs to the largest weight.
        return np.asarray(self.order[np.minimum(found, self.order.size - 1)])


def _bernoulli_words(
    probability: float, words: int, rng: np.random.Generator
) -> NDArray[np.uint64]:
    result = np.zeros(words, dtype=np.uint64)
    active = np.arange(words)
    undecided = np.full(words, np.iinfo(np.uint64).max, dtype=np.uint64)
    remainder = probability
    while active.size and remainder > 0:
        digit = remainder >= 0.5
        remainder = 2 * remainder - digit
        drawn = rng.integers(0, 2**_WORD, size=active.size, dtype=np.uint64)
        if digit:
            # The probability has a 1 here: a drawn 0 makes U smaller, which decides for 1.
            decided = undecided & ~drawn
            result[active] |= decided
        else:
            # The probability has a 0 here: a drawn 1 makes U larger, which decides for 0.
            decided = undecided & drawn
        undecided &= ~decided
        open_words = undecided != 0
        if np.count_nonzero(open_words) < 0.7 * active.size:
            active, undecided = active[open_words], undecided[open_words]
    return result
