"""Exact samplers that several mechanisms share."""

import numpy as np
from numpy.typing import NDArray

from freewill.types import PackedBits

_WORD = 64
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
