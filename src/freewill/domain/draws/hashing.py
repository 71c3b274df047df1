"""The hash of local hashing, `fmix32`: in 32-bit words, the same in Python and in browsers.

    mix(h):  h ^= h >> 16;  h *= 0x85ebca6b;  h ^= h >> 13;  h *= 0xc2b2ae35;  h ^= h >> 16
    H(seed, x) = floor(g mix(seed ^ mix(x + 1)) / 2^32),  products modulo 2^32,

the finaliser of MurmurHash3. It is a bijection: over all seeds, every value meets every word once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import IntArray, PackedBits, Words, slices

HASH = "fmix32"
"""The name by which programs for browsers call it."""
SEEDS = 1 << 32
MOST_BUCKETS = 1 << 20
"""Buckets up to which they are equally likely, to a few thousandths."""
_ENTRIES = 1 << 16
"""Words that are mixed in one go, few enough to stay in the processor's cache."""


def mixed(words: Words) -> Words:
    """Mix words in place, and return them.

    >>> mixed(np.array([0, 1, 2**32 - 1], dtype=np.uint32))
    array([         0, 1364076727, 2180083513], dtype=uint32)
    """
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words ^= words >> np.uint32(shift)
        words *= np.uint32(factor)
    words ^= words >> np.uint32(16)
    return words


def buckets_of(seeds: Any, values: Any, buckets: int) -> IntArray:
    """Return the bucket of each value by its seed.

    >>> buckets_of([0, 1, 4294967295], [0, 1, 999], 16)
    array([ 2,  3, 11])
    """
    words = mixed(np.asarray(seeds, np.uint32) ^ _keys(np.asarray(values)))
    return (words.astype(np.uint64) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def supports(seeds: Words, buckets: Words, size: int, count: int) -> PackedBits:
    """Return which of `size` values each seed hashes to its bucket, packed, of `count` buckets.

    Block by block, O(seeds * size) time and an eighth as many bytes.

    >>> supports(np.array([7], np.uint32), np.array([1], np.uint32), 9, 2)
    array([[255,   0]], dtype=uint8)
    """
    packed = np.empty((len(seeds), -(-size // 8)), dtype=np.uint8)
    # A word lies in bucket b where b 2^32 / g <= word < (b + 1) 2^32 / g.
    numbers = buckets.astype(np.uint64)
    first, last = (_from(numbers + np.uint64(place), count) for place in (0, 1))
    start, width = first.astype(np.uint32), (last - first).astype(np.uint32)
    keys = _keys(np.arange(size))
    for rows in slices(len(seeds), max(1, _ENTRIES // size)):
        words = mixed(seeds[rows, None] ^ keys)
        words -= start[rows, None]
        packed[rows] = np.packbits(words < width[rows, None], axis=1, bitorder="little")
    return packed


def _keys(values: IntArray) -> Words:
    return mixed((values + 1).astype(np.uint32))


def _from(numbers: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the least word of each bucket, rounded up."""
    return ((numbers << np.uint64(32)) + np.uint64(count - 1)) // np.uint64(count)
