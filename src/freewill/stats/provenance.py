"""What evidence was put together from, and what shows that two bodies of it are of the same people.

Evidence that is merged keeps the digest of each of its parts, evidence of files of reports those of
the files, and that of a store one of each period, which stays while it grows; in memory and in
files. A digest of evidence says nothing that its counts
do not. Evidence that others could have by chance, as that of a few people or of a coin, has none.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from freewill.core.types import FloatArray, IntArray
from freewill.errors import EvidenceError, several

if TYPE_CHECKING:
    from freewill.stats.evidence import Evidence
    from freewill.stats.groups import Group

Parts = frozenset[str]
COINCIDENCE = math.log(1e-6)
"""Logarithm of the chance below which nobody takes evidence that is alike for that of others."""
MOST_PARTS = 4096
"""Digests that are kept; those of more parts, the largest, are lost."""
_LENGTH = 32
_ROWS = 64
"""Reports that do not repeat, of which one is looked for; each is next to impossible by chance."""
_FIRST = 1000
"""Outputs that are compared first: those of different people hardly agree so far."""


def checked_parts(given: Any) -> Parts:
    """Return what is a digest of what a file tells, of which nothing else depends."""
    some = given[:MOST_PARTS] if isinstance(given, list) else []
    return frozenset(one for one in some if isinstance(one, str) and len(one) == _LENGTH)


def digest(*contents: bytes) -> str:
    """Return the digest of some bytes."""
    total = hashlib.sha256()
    for content in contents:
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()[:_LENGTH]


def united(bodies: Iterable["Evidence"]) -> Parts:
    """Return the parts of evidence that is put together from some bodies."""
    parts = frozenset().union(*(body.parts or own_part(body) for body in bodies))
    return frozenset(sorted(parts)[:MOST_PARTS])


def picked(evidence: "Evidence", groups: Iterable["Group"]) -> Parts:
    """Return the parts of some groups of evidence: those of other groups are of other people."""
    ids = [group.mechanism.id.encode() for group in groups]
    parts = evidence.parts or own_part(evidence)
    return frozenset(digest(part.encode(), *ids) for part in parts)


def own_part(evidence: "Evidence") -> Parts:
    """Return the digest of evidence; none where others could have the same by chance."""
    if log_repeated(evidence) >= COINCIDENCE:
        return frozenset()
    contents: list[bytes] = []
    for group in evidence.groups:
        contents.append(group.mechanism.id.encode())
        if group.table is None:
            contents.append(b"%d %d" % (group.seen.people, group.seen.checksum))
        else:
            outputs, counts = group.table
            kind = "<i8" if outputs.dtype.kind == "i" else outputs.dtype
            contents.append(np.ascontiguousarray(outputs, dtype=kind).tobytes())
            contents.append(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    return frozenset([digest(*contents)])


def log_repeated(evidence: "Evidence") -> float:
    """Bound the logarithm of the chance that others have the same evidence, whoever they are."""
    alone = sum(group.people for group in evidence.groups if group.table is None)
    return stirling(evidence.people) - alone + _fitted_sum(evidence)


def stirling(people: int) -> float:
    """Return log(n! e^n / n^n), about log sqrt(2 pi n)."""
    return float(-fitted(np.array([people]))[0])


def fitted(counts: IntArray) -> FloatArray:
    """Return log(c^c e^-c / c!): times e^stirling(n), a product of these is the largest chance.

    No distribution gives counts c of n people a larger chance than c / n does, which is
    n! / n^n prod c^c / c!.
    """
    return np.asarray(xlogy(counts, counts) - counts - gammaln(np.asarray(counts) + 1.0))


def _fitted_sum(evidence: "Evidence") -> float:
    """Return the logarithm of prod c^c e^-c / c! over the counts of outputs that repeat."""
    tables = [group.table for group in evidence.groups if group.table is not None]
    return sum(float(fitted(counts).sum()) for _, counts in tables)


class Body(NamedTuple):
    """Evidence that is held against other, and what it is called."""

    evidence: "Evidence"
    name: str


def shared_people(one: Body, other: Body) -> str:
    """Say by what two bodies of evidence are of the same people; nothing where nothing tells.

    They are equal; or they have a period in common, which several equal ones show though others
    could have each by chance, or all periods of one are equal ones of the other; or they were put
    together from a part that both have (its digest); or all reports of one are among those of the
    other, which has so few more that this is no chance (`log_chance`). Evidence with twice as many
    reports as another has about all of its counts whoever sent them: there only what they were put
    together from can tell.
    """
    if one.evidence == other.evidence:
        many = several(one.evidence.people, "person")
        return f"{one.name} and {other.name} hold the same evidence of {many}"
    if said := _shared_periods(one, other):
        return said
    if one.evidence.digests & other.evidence.digests:
        return (
            f"{one.name} and {other.name} have people in common: one was made from the other, or "
            f"both from the same evidence, file of reports or store"
        )
    small, large = sorted((one, other), key=lambda body: body.evidence.people)
    if log_chance(small, large) < COINCIDENCE and contained(small, large):
        more = large.evidence.people - small.evidence.people
        return (
            f"all reports of {small.name} are among those of {large.name}, which has {more:,} "
            f"more: hardly by chance"
        )
    return ""


def refuse_shared(one: Body, other: Body, override: str) -> None:
    """Refuse to compare two bodies of evidence of the same people."""
    if said := shared_people(one, other):
        raise EvidenceError(
            f"{said}, and a comparison is of different people: is one a copy, or a part?"
            f"{_apart(one, other)} If not, give {override}."
        )


def _shared_periods(one: Body, other: Body) -> str:
    """Say which periods two bodies of evidence share, where that is no chance."""
    pairs = [
        (mine, theirs)
        for mine in one.evidence.periods
        for theirs in other.evidence.periods
        if (mine.start, mine.end) == (theirs.start, theirs.end) and mine.evidence.people
        if mine.evidence == theirs.evidence
    ]
    the_very_same = any(mine.evidence is theirs.evidence for mine, theirs in pairs)
    each = [[p for p in body.evidence.periods if p.evidence.people] for body in (one, other)]
    chance = sum(min(log_repeated(mine.evidence), 0.0) for mine, _ in pairs)
    whole = len(pairs) in map(len, each)
    if not pairs or not (the_very_same or whole or chance < COINCIDENCE):
        return ""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"{one.name} and {other.name} both hold the people of {pairs[0][0]}{more}"


def _apart(one: Body, other: Body) -> str:
    """Say how evidence with periods is compared, where either has some: by whole periods."""
    longest = max((one.evidence, other.evidence), key=lambda some: len(some.periods)).periods
    if len(longest) < 2:
        return ""
    before, after = (
        f"evidence.between({str(period.start)!r}, {str(period.last)!r})"
        if period.last
        else f"evidence.between({str(period.start)!r})"
        for period in longest[-2:]
    )
    return f" To compare periods, take them apart: {before} and {after}."


def contained(small: Body, large: Body) -> bool:
    """Say whether each report of one is in the other, as often at least; no where nobody knows."""
    others = {group.mechanism.id: group for group in large.evidence.groups if group.held}
    pairs = [(group, others.get(group.mechanism.id)) for group in small.evidence.groups]
    return all(group.held and other is not None for group, other in pairs) and all(
        other is not None and _within(group, other, some)
        for some in (slice(_FIRST), slice(_FIRST, None))
        for group, other in pairs
    )


def _within(small: "Group", large: "Group", some: slice) -> bool:
    keys, counts = (column[some] for column in small.hashed)
    all_keys, all_counts = large.hashed
    places = np.searchsorted(all_keys, keys).clip(max=len(all_keys) - 1)
    return bool(np.all((all_keys[places] == keys) & (counts <= all_counts[places])))


def log_chance(small: Body, large: Body) -> float:
    """Bound the logarithm of the chance that others' reports hold all of small, whoever they are.

    Let N be the counts of small over K outputs, and D how many more people large has. There are
    C(D + K - 1, D) counts N + d, d >= 0, that hold N, and no distribution gives one of them more
    than n!/n^n prod c^c / c!, which falls with each count c: at most that of N (with n of large).
    A report that does not repeat has at most the chance n max_x a(z|x) to be among n others.
    """
    bound, counted = 0.0, [group for group in large.evidence.groups if group.table is not None]
    if counted:
        outputs = sum(group.mechanism.output_space.places for group in counted)
        people = sum(group.people for group in counted)
        fewer = sum(group.people for group in small.evidence.groups if group.table is not None)
        more = max(people - fewer, 0)
        ways = float(gammaln(more + outputs) - gammaln(outputs) - gammaln(more + 1))
        bound += min(0.0, ways + stirling(people) + _fitted_sum(small.evidence))
    for group in small.evidence.groups:
        if group.table is None and group.held:
            some: Any = np.unique(group.outputs[:_ROWS], axis=0)
            operator = group.mechanism.operator(some)
            likeliest = np.log(operator.dense().max(axis=1)) + operator.log_scale
            bound += float(np.minimum(likeliest + math.log(large.evidence.people), 0.0).sum())
    return bound
