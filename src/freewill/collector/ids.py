"""The ids of a store's reports: looked for with each upload, kept in the order of their keys."""

import secrets
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from freewill.collector.database import Database, Reader
from freewill.collector.keys import Sieve, among, from_bytes, to_bytes
from freewill.core.types import IntArray

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
_INSERT = "INSERT INTO reports VALUES (?) ON CONFLICT (id) DO NOTHING"
_NONE = np.empty(0, dtype=np.int64)


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
            ((content,),) = rows("SELECT content FROM runs WHERE run = ?", (name,))
            self._hold(name, from_bytes(bytes(content)))
        settled = Settled.of(self._database)
        if settled != self._settled:
            self._settled = None
            ((self._loose,),) = rows("SELECT count(*) FROM reports")
            self._sieve = Sieve()
            for (content,) in rows("SELECT content FROM settled"):
                self._sieve.add(from_bytes(bytes(content)))
            self._settled = settled

    def add_all(self, group: IntArray) -> bool:
        """Keep ids, and say so, if all of them are new and differ; else keep none."""
        new = np.sort(group)
        if _twice(new) or among(new, self._fresh).size or self._in_buckets(new).size:
            return False
        if new.size < _LARGE:
            if not self._database.trial(_INSERT, _rows(new)):
                return False
            self._loosen(new.size)
            return True
        run = np.sort(np.concatenate([self._loose_ones(), new]))
        if _twice(run):
            return False
        self._keep(run)
        return True

    def known(self, keys: IntArray) -> set[int]:
        """Return those of some keys whose ids are there."""
        distinct = np.unique(keys)
        loose = self._database.among("SELECT id FROM reports WHERE id IN", distinct.tolist())
        bulk = among(distinct, self._fresh).tolist(), self._in_buckets(distinct).tolist()
        return {key for (key,) in loose}.union(*bulk)

    def add(self, group: IntArray) -> None:
        """Keep ids that are new and differ."""
        if group.size >= _LARGE:
            self._keep(np.sort(np.concatenate([self._loose_ones(), group])))
        elif group.size:
            self._database.run(_INSERT, _rows(np.sort(group)))
            self._loosen(group.size)

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
            old = [from_bytes(bytes(row[0])) for row in self._database.rows(query, (low, high))]
            start, end = np.searchsorted(new, low), np.searchsorted(new, high, side="right")
            some = np.sort(np.concatenate([*old, new[start:end]]))
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
            for (content,) in self._database.rows(query, (bucket,)):
                settled.append(among(some, from_bytes(bytes(content))))
        return np.concatenate(settled)

    def _loosen(self, many: int) -> None:
        """Know of more ids that lie one by one, and make a run of them before they are too many."""
        self._loose += many
        if self._loose > _MOST_LOOSE:
            self._keep(self._loose_ones())

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


def _twice(keys: IntArray) -> bool:
    """Say whether a key is there twice, where they are in order."""
    return bool((keys[1:] == keys[:-1]).any())


def _rows(keys: IntArray) -> list[tuple[int]]:
    """Return keys as rows of a table."""
    return [(key,) for key in keys.tolist()]
