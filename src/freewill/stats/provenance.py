"""What evidence was put together from: digests, by which people who are in two bodies are found.

Evidence that is merged keeps the digest of each of its parts, and evidence of files of reports
those of the files, in memory and in its own file. A digest of evidence says nothing that its counts
do not. Evidence that others could have by chance, as that of a few people or of a coin, has none.
"""

import hashlib
import math
from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, xlogy

from freewill.core.types import FloatArray, IntArray
from freewill.stats.streams import Seen, Stream

if TYPE_CHECKING:
    from freewill.stats.evidence import Evidence, Group

Parts = frozenset[str]
COINCIDENCE = math.log(1e-6)
"""Logarithm of the chance below which nobody takes evidence that is alike for that of others."""
MOST_PARTS = 4096
"""Digests that are kept; those of more parts, the largest, are lost."""
_LENGTH = 32


def checked_parts(given: Any) -> Parts:
    """Return what is a digest of what a file tells, of which nothing else depends."""
    some = given[:MOST_PARTS] if isinstance(given, list) else []
    return frozenset(one for one in some if isinstance(one, str) and len(one) == _LENGTH)


def digest(*contents: bytes) -> str:
    """Return the digest of some bytes."""
    found = hashlib.sha256()
    for content in contents:
        found.update(b"%d:" % len(content))
        found.update(content)
    return found.hexdigest()[:_LENGTH]


def united(bodies: Iterable["Evidence"]) -> Parts:
    """Return the parts of evidence that is put together from some bodies."""
    found = frozenset().union(*(body.parts or own_part(body) for body in bodies))
    return frozenset(sorted(found)[:MOST_PARTS])


def picked(evidence: "Evidence", groups: Iterable["Group"]) -> Parts:
    """Return the parts of some groups of evidence: those of other groups are of other people."""
    ids = [group.mechanism.id.encode() for group in groups]
    parts = evidence.parts or own_part(evidence)
    return frozenset(digest(part.encode(), *ids) for part in parts)


def all_parts(evidence: "Evidence") -> Parts:
    """Return the parts of evidence and the evidence itself."""
    return evidence.parts | own_part(evidence)


def own_part(evidence: "Evidence") -> Parts:
    """Return the digest of evidence; none where others could have the same by chance."""
    tables = [group.table[1] for group in evidence.groups if group.table is not None]
    alone = sum(group.people for group in evidence.groups if group.table is None)
    chance = stirling(evidence.people) - alone + sum(float(fitted(one).sum()) for one in tables)
    return frozenset([_digest(evidence)]) if chance < COINCIDENCE else frozenset()


def stirling(people: int) -> float:
    """Return log(n! e^n / n^n), about log sqrt(2 pi n)."""
    return float(-fitted(np.array([people]))[0])


def fitted(counts: IntArray) -> FloatArray:
    """Return log(c^c e^-c / c!): times e^stirling(n), a product of these is the largest chance.

    No distribution gives counts c of n people a larger chance than c / n does, which is
    n! / n^n prod c^c / c!.
    """
    return np.asarray(xlogy(counts, counts) - counts - gammaln(np.asarray(counts) + 1.0))


def _digest(evidence: "Evidence") -> str:
    return digest(*(content for group in evidence.groups for content in _contents(group)))


def _contents(group: "Group") -> tuple[bytes, ...]:
    if group.table is None:
        seen = reduce(add, map(_seen, group.streams), Seen())
        return group.mechanism.id.encode(), b"%d %d" % (seen.people, seen.checksum)
    outputs, counts = group.table
    kind = "<i8" if outputs.dtype.kind == "i" else outputs.dtype
    return (
        group.mechanism.id.encode(),
        np.ascontiguousarray(outputs, dtype=kind).tobytes(),
        np.ascontiguousarray(counts, dtype="<i8").tobytes(),
    )


def _seen(stream: Stream) -> Seen:
    if stream.seen is not None:
        return stream.seen.seen
    own = (block for block in stream.source.blocks() if block.mechanism == stream.mechanism.id)
    return reduce(add, map(Seen.of, own), Seen())
