"""What a store keeps of a report's id: enough to know it again, and nothing of when it came."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, IntArray

ID_BYTES = 16
"""Of a report's id: 128 random bits, drawn by the device."""
SECRET_BYTES = 32

_DIGEST = np.dtype([("key", "<i8"), ("more", "<u4")])
_KEY, _MARK = np.dtype("<i8"), np.dtype("<u4")
_BYTES = _KEY.itemsize + _MARK.itemsize
_NUMBER = Struct("<I")
_SIEVE_BITS = 26
"""A sieve has 2^26 bits, 8 MiB."""
_MASK = (1 << _SIEVE_BITS) - 1


@dataclass(frozen=True, eq=False)
class Marks:
    """Keys of ids, and a mark of the report of each."""

    keys: IntArray
    marks: NDArray[np.uint32]

    def __getitem__(self, places: Any) -> "Marks":
        """Return those at some places."""
        return Marks(self.keys[places], self.marks[places])

    @property
    def many(self) -> int:
        """How many there are."""
        return len(self.keys)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield each key with its mark."""
        return zip(self.keys.tolist(), self.marks.tolist(), strict=True)

    def ordered(self) -> "Marks":
        """Return them in the order of the keys, which tells nothing of how they came."""
        return self[np.argsort(self.keys, kind="stable")]

    def between(self, low: int, high: int) -> "Marks":
        """Return those with keys from a range, both ends among them, where they are in order."""
        start = np.searchsorted(self.keys, low)
        return self[start : np.searchsorted(self.keys, high, side="right")]

    def having(self, keys: IntArray) -> "Marks":
        """Return those that have one of some keys; both are in order."""
        places = np.searchsorted(self.keys, keys)
        inside = places < len(self.keys)
        places = places[inside]
        return self[places[self.keys[places] == keys[inside]]]

    def to_bytes(self) -> bytes:
        """Return all keys, then all marks, the lowest bytes first."""
        return self.keys.astype(_KEY).tobytes() + self.marks.astype(_MARK).tobytes()


NONE = Marks(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32))


def from_bytes(content: bytes) -> Marks:
    """Return the marks that `Marks.to_bytes` wrote.

    >>> from_bytes(Marks(np.array([-1, 5]), np.array([7, 8], dtype=np.uint32)).to_bytes())
    Marks(keys=array([-1,  5]), marks=array([7, 8], dtype=uint32))
    """
    many = len(content) // _BYTES
    keys = np.frombuffer(content, dtype=_KEY, count=many)
    marks = np.frombuffer(content, dtype=_MARK, count=many, offset=many * _KEY.itemsize)
    return Marks(keys.astype(np.int64, copy=False), marks.astype(np.uint32, copy=False))


def marks_from(pairs: Mapping[int, int]) -> Marks:
    """Return marks from a mapping of keys to them."""
    keys = np.fromiter(pairs.keys(), dtype=np.int64, count=len(pairs))
    return Marks(keys, np.fromiter(pairs.values(), dtype=np.uint32, count=len(pairs)))


def together(*several: Marks) -> Marks:
    """Return marks one behind the other."""
    return Marks(
        np.concatenate([some.keys for some in several]),
        np.concatenate([some.marks for some in several]),
    )


def marks_of(heads: Mapping[int, bytes], rows: Sequence[tuple[int, bytes, bytes]]) -> Marks:
    """Return, of rows (mechanism, output, id), a key of each id and a mark of its report.

    `heads` has a secret with the survey of each mechanism: a device that answers a question again,
    in a survey whose wording was mended, sends the same report with the same id to both. The key,
    by which an id is found again, is 64 bits of a hash of the id behind its head: a store
    in the order of its keys has no order of arrival, also where someone's ids count 1, 2, 3. An id
    has the key of one of n others with probability n / 2^64, and is then refused. The mark tells
    whether a second report of an id is the first one again: a CRC of mechanism and output, which
    differs wherever they differ within 32 bits, as any two outputs of one alphabet of less than
    2^32 values do, and else with probability 1 - 2^-32. More bits of the hash are added to it, so
    that equal reports have different marks.

    >>> both = marks_of({1: bytes(48)}, [(1, b"a", bytes(16)), (1, b"b", bytes(16))])
    >>> both.keys[0] == both.keys[1], both.marks[0] == both.marks[1]
    (np.True_, np.False_)
    """
    starts = {number: crc32(_NUMBER.pack(number)) for number in {row[0] for row in rows}}
    # BLAKE2 is safe with the secret in front, and takes half the time of its keyed mode.
    digests = [blake2b(heads[of] + own, digest_size=_BYTES).digest() for of, _, own in rows]
    hashed = np.frombuffer(b"".join(digests), dtype=_DIGEST)
    sums = [crc32(output, starts[number]) for number, output, _ in rows]
    marks = np.array(sums, dtype=np.uint32) ^ hashed["more"]
    return Marks(hashed["key"].astype(np.int64), marks.astype(np.uint32, copy=False))


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
