"""The ids of a store's reports: looked for with each upload, kept in the order of their keys."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from freewill.collector.database import Database, Reader
from freewill.core.types import BoolArray, IntArray

_LARGE = 1 << 10
"""Ids of a group from which on they are written as a run."""
_MOST_LOOSE = 1 << 14
"""Ids that lie one by one."""
_MOST_FRESH = 1 << 18
"""Ids in runs, which are held in memory: 2 MiB."""
_BUCKET = 1 << 10
"""Ids of a bucket, at most on average."""
_AT_ONCE = 1 << 16
"""Settled ids that are in memory at once while others join them."""
_NONE = np.empty(0, dtype=np.int64)
ID_BYTES = 16
"""Of a report's id: 128 random bits, drawn by the device."""
SECRET_BYTES = 32
_KEY = np.dtype("<i8")
_DIGEST = np.dtype([("key", _KEY), ("more", "<u4")])
"""Of a hash of 12 bytes the first 8: those that stores of version 2 have."""
_SIEVE_BITS = 26
"""A sieve has 2^26 bits, 8 MiB."""
_MASK = (1 << _SIEVE_BITS) - 1


class Ids:
    """Keys of ids, each in one of three places, whose sums are bounded.

    Were each a row of its own, those of a batch would fall anywhere into a large tree, and change
    nearly all of its leaves. So they move on, from the small to the large, in bulk: `reports` has
    ids of small groups, one a row; they become a run, one row of `runs` in the order of the keys,
    with the next large group, or when they are 2^14; and when runs have 2^18 ids, these join the
    buckets of `settled`, each of which has all keys that begin with the same bits, in order.
    Of n ids that is 8 n / 2^18 bytes written for each new one.

    Runs are held in memory, and a sieve of those in buckets: only an id that was most likely sent
    before is looked for on the disk. All is called within a transaction of `database`, and each
    begins with `refresh`, for other processes may have written since.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: frozenset[int] = frozenset()
        self._fresh = _NONE
        self._loose = 0
        self._settled: Settled | None = None
        self._sieve = Sieve()

    def refresh(self) -> None:
        """See what other processes wrote, and forget what was undone."""
        rows = self._database.rows
        names = frozenset(name for (name,) in rows("SELECT run FROM runs"))
        if self._names - names:
            self._names, self._fresh = frozenset(), _NONE
        for name in names - self._names:
            (run,) = self._keys("SELECT content FROM runs WHERE run = ?", (name,))
            self._hold(name, run)
        settled = Settled.of(self._database)
        if settled != self._settled:
            self._settled = None
            ((self._loose,),) = rows("SELECT count(*) FROM reports")
            self._sieve = Sieve()
            for keys in self._keys("SELECT content FROM settled"):
                self._sieve.add(keys)
            self._settled = settled

    def known(self, keys: IntArray) -> set[int]:
        """Return those of some keys whose ids are there."""
        keys = np.sort(keys)
        if keys.size < _LARGE:
            rows = self._database.among("SELECT id FROM reports WHERE id IN", keys.tolist())
            loose = [key for (key,) in rows]
        else:
            loose = among(keys, self._loose_ones()).tolist()
        return {
            *loose,
            *among(keys, self._fresh).tolist(),
            *self._in_buckets(keys).tolist(),
        }

    def add(self, group: IntArray) -> None:
        """Keep ids that are new and differ."""
        if group.size >= _LARGE:
            self._keep(np.sort(np.concatenate([self._loose_ones(), group])))
        elif group.size:
            rows = [(key,) for key in np.sort(group).tolist()]
            self._database.run("INSERT INTO reports VALUES (?)", rows)
            self._loose += group.size
            if self._loose > _MOST_LOOSE:
                self._keep(self._loose_ones())

    def settle(self) -> None:
        """Let all ids join the buckets, where they lie as they would had they come otherwise."""
        before = Settled.of(self._database)
        new = np.sort(np.concatenate([self._loose_ones(), self._fresh]))
        after = before.joined_by(new)
        if after == before:
            return
        upsert = (
            "INSERT INTO settled VALUES (?, ?) ON CONFLICT (bucket) "
            "DO UPDATE SET content = excluded.content"
        )
        for low, high in _slices(before.many):
            query = "SELECT content FROM settled WHERE bucket BETWEEN ? AND ? ORDER BY bucket"
            start, end = np.searchsorted(new, low), np.searchsorted(new, high, side="right")
            some = np.sort(np.concatenate([*self._keys(query, (low, high)), new[start:end]]))
            self._database.run(upsert, _buckets(some, low, high, _bits(after.many)))
        self._sieve.add(new)
        self._settled = after
        statement = "UPDATE facts SET fact = ? WHERE name = 'settled'"
        self._database.run(statement, [(after.fact,)])
        for table in ("runs", "reports"):
            self._database.run(f"DELETE FROM {table}", [()])
        self._names, self._fresh, self._loose = frozenset(), _NONE, 0

    def _in_buckets(self, keys: IntArray) -> IntArray:
        """Return those of some keys, in order, that are settled."""
        maybe = keys[self._sieve.passed(keys)]
        if self._settled is None or not maybe.size:
            return _NONE
        bits = _bits(self._settled.many)
        # Of each bucket the lowest key that begins with the same bits.
        buckets, starts = np.unique(maybe >> (64 - bits) << (64 - bits), return_index=True)
        settled = [_NONE]
        query = "SELECT content FROM settled WHERE bucket = ?"
        for bucket, some in zip(buckets.tolist(), np.split(maybe, starts[1:]), strict=False):
            settled += [among(some, keys) for keys in self._keys(query, (bucket,))]
        return np.concatenate(settled)

    def _keys(self, query: str, values: Sequence[int] = ()) -> Iterator[IntArray]:
        """Yield the keys that are in each row of a query."""
        return (from_bytes(content) for (content,) in self._database.rows(query, values))

    def _loose_ones(self) -> IntArray:
        """Return the ids that lie one by one."""
        rows = list(self._database.rows("SELECT id FROM reports ORDER BY id"))
        return np.array(rows, dtype=np.int64).reshape(-1)

    def _keep(self, run: IntArray) -> None:
        """Write ids as one run, which has all of those that lay one by one."""
        name = secrets.randbits(62)
        self._database.run("INSERT INTO runs VALUES (?, ?)", [(name, to_bytes(run))])
        self._database.run("DELETE FROM reports", [()])
        self._loose = 0
        self._hold(name, run)
        if self._fresh.size > _MOST_FRESH:
            self.settle()

    def _hold(self, name: int, run: IntArray) -> None:
        self._names |= {name}
        self._fresh = np.sort(np.concatenate([self._fresh, run]))


class Settled(NamedTuple):
    """How many ids are in buckets, and all of their keys in one number, by exclusive or.

    The same for the same ids, whatever their order; others have the same with probability 2^-64.
    So whoever holds a sieve can tell whether it is that of the buckets as they are.
    """

    many: int = 0
    mixed: int = 0

    @classmethod
    def of(cls, view: Reader) -> "Settled":
        """Return what the store says of its buckets."""
        ((fact,),) = view.rows("SELECT fact FROM facts WHERE name = 'settled'")
        many, mixed = bytes(fact).split()
        return cls(int(many), int(mixed))

    def joined_by(self, keys: IntArray) -> "Settled":
        """Return what is to be said after some more ids."""
        return Settled(self.many + len(keys), self.mixed ^ int(np.bitwise_xor.reduce(keys)))

    @property
    def fact(self) -> bytes:
        """As it stands in the store."""
        return f"{self.many} {self.mixed}".encode()


def _bits(many: int) -> int:
    """Return how many bits of their keys the ids of a bucket share, where there are so many."""
    return max(1, (many // _BUCKET).bit_length())


def _slices(settled: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of keys that begin and end with a bucket, of some 2^16 settled ids each."""
    bits = max(1, (settled // _AT_ONCE).bit_length())
    for part in range(-1 << bits - 1, 1 << bits - 1):
        yield part << 64 - bits, (part + 1 << 64 - bits) - 1


def _buckets(some: IntArray, low: int, high: int, bits: int) -> list[tuple[int, bytes]]:
    """Return all buckets of a range of keys, with what is in them."""
    names = np.arange(low >> 64 - bits, (high >> 64 - bits) + 1) << 64 - bits
    places = [*np.searchsorted(some, names).tolist(), some.size]
    return [
        (name, to_bytes(some[first:last]))
        for name, first, last in zip(names.tolist(), places[:-1], places[1:], strict=True)
    ]


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
