"""A sieve of keys in memory of a fixed size: what it lets fall was never put in."""

import numpy as np

from freewill.core.types import BoolArray, IntArray

_BITS = 26
"""The sieve has 2^26 bits, 8 MiB."""
_MASK = (1 << _BITS) - 1


class Sieve:
    """Two bits for each key, out of 2^26, by two parts of the key itself (a Bloom filter).

    Keys are 64 random bits, so that no hash is needed. After n keys another one passes with
    probability (1 - exp(-n / 2^25))^2: 0.1 % at 10^6 keys, 7 % at 10^7. Beyond that it still lets
    nothing fall that was put in; it only saves less.

    >>> sieve = Sieve()
    >>> sieve.add(np.array([5, -7]))
    >>> sieve.passed(np.array([5, 6, -7]))
    array([ True, False,  True])
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Let everything fall."""
        # Zeros that nobody wrote to take no memory.
        self._bits = np.zeros(1 << (_BITS - 3), dtype=np.uint8)

    def add(self, keys: IntArray) -> None:
        """Let keys pass from now on."""
        for places in _places(keys):
            np.bitwise_or.at(self._bits, places >> 3, _bit(places))

    def passed(self, keys: IntArray) -> BoolArray:
        """Say which keys may have been put in."""
        first, second = (self._bits[places >> 3] & _bit(places) for places in _places(keys))
        return np.asarray((first != 0) & (second != 0))


def _places(keys: IntArray) -> tuple[IntArray, IntArray]:
    return keys & _MASK, (keys >> _BITS) & _MASK


def _bit(places: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.left_shift(np.uint8(1), (places & 7).astype(np.uint8))
