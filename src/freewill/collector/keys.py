"""What a store keeps of a report's id: enough to know it again, and nothing of the report."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from freewill.core.types import BoolArray, IntArray

ID_BYTES = 16
"""Of a report's id: 128 random bits, drawn by the device."""
SECRET_BYTES = 32

_KEY = np.dtype("<i8")
_DIGEST = np.dtype([("key", _KEY), ("more", "<u4")])
"""Of a hash of 12 bytes the first 8: those that stores of version 2 have."""
_SIEVE_BITS = 26
"""A sieve has 2^26 bits, 8 MiB."""
_MASK = (1 << _SIEVE_BITS) - 1


def keys_of(heads: Mapping[int, bytes], rows: Sequence[tuple[int, bytes, bytes]]) -> IntArray:
    """Return, of rows (mechanism, output, id), the keys by which the ids are found again.

    `heads` has a secret with the survey of each mechanism: a device that answers a question again,
    in a survey whose wording was mended, sends the same report with the same id to both. A key is
    64 bits of a hash of the id behind its head: a store in the order of its keys has no order of
    arrival, also where someone's ids count 1, 2, 3. An id has the key of one of n others with
    probability n / 2^64, and is then taken for it. The report has no part in it: whoever knows an
    id can find out that it was sent, and not with what.

    >>> same = keys_of({1: bytes(48)}, [(1, b"a", bytes(16)), (1, b"b", bytes(16))])
    >>> same[0] == same[1]
    np.True_
    """
    # BLAKE2 is safe with the secret in front, and takes half the time of its keyed mode.
    size = _DIGEST.itemsize
    digests = [blake2b(heads[of] + own, digest_size=size).digest() for of, _, own in rows]
    return np.frombuffer(b"".join(digests), dtype=_DIGEST)["key"].astype(np.int64)


def to_bytes(keys: IntArray) -> bytes:
    """Return keys one behind the other, the lowest bytes first."""
    return keys.astype(_KEY).tobytes()


def from_bytes(content: bytes) -> IntArray:
    """Return the keys that `to_bytes` wrote.

    >>> from_bytes(to_bytes(np.array([-1, 5])))
    array([-1,  5])
    """
    return np.frombuffer(content, dtype=_KEY).astype(np.int64, copy=False)


def among(keys: IntArray, others: IntArray) -> IntArray:
    """Return those of some keys that are among others; both are in order."""
    places = np.searchsorted(others, keys)
    inside = places < len(others)
    inner: IntArray = keys[inside]
    found: IntArray = inner[others[places[inside]] == inner]
    return found


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
        # Zeros that nobody wrote to take no memory.
        self._bits = np.zeros(1 << (_SIEVE_BITS - 3), dtype=np.uint8)

    def add(self, keys: IntArray) -> None:
        """Let keys pass from now on."""
        for places in _places(keys):
            np.bitwise_or.at(self._bits, places >> 3, _bit(places))

    def passed(self, keys: IntArray) -> BoolArray:
        """Say which keys may have been put in."""
        first, second = (self._bits[places >> 3] & _bit(places) for places in _places(keys))
        return np.asarray((first != 0) & (second != 0))


def _places(keys: IntArray) -> tuple[IntArray, IntArray]:
    return keys & _MASK, (keys >> _SIEVE_BITS) & _MASK


def _bit(places: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.left_shift(np.uint8(1), (places & 7).astype(np.uint8))
