"""Two bodies of evidence must be of different people: what shows that they are not."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, several
from freewill.stats.evidence import Evidence, Group
from freewill.stats.provenance import COINCIDENCE, Parts, all_parts, fitted, stirling
from freewill.stats.streams import row_keys

_ROWS = 64
"""Reports that do not repeat, of which one is looked for; each is next to impossible by chance."""
_FIRST = 1000
"""Outputs that are compared first: those of different people hardly agree so far."""


@dataclass(frozen=True, eq=False)
class Body:
    """Evidence that is held against other, and what it is called; worked out once for all of it."""

    evidence: Evidence
    name: str

    @cached_property
    def parts(self) -> Parts:
        """Digests of the evidence and of what it was put together from."""
        return all_parts(self.evidence)

    @cached_property
    def counts(self) -> dict[str, tuple[NDArray[np.uint64], FloatArray]]:
        """Hashes of outputs, sorted, and their counts, of each mechanism whose reports are held."""
        return {one.mechanism.id: _counted(one) for one in self.evidence.groups if one.held}

    @cached_property
    def counted(self) -> list[Group]:
        """The groups whose outputs repeat."""
        return [group for group in self.evidence.groups if group.table is not None]

    @cached_property
    def chance(self) -> float:
        """Logarithm of prod c^c e^-c / c! over the counts of outputs that repeat."""
        return sum(float(fitted(group.counts).sum()) for group in self.counted)


def shared_people(one: Body, other: Body) -> str:
    """Say by what two bodies of evidence are of the same people; nothing where nothing tells.

    They are equal; or they were put together from a part that both have (`stats.provenance`); or
    all reports of one are among those of the other, which has so few more that this is no chance
    (`log_chance`). Evidence with twice as many reports as another has about all of its counts
    whoever sent them: there only what they were put together from can tell.
    """
    if one.evidence == other.evidence:
        many = several(one.evidence.people, "person")
        return f"{one.name} and {other.name} hold the same evidence of {many}"
    if one.parts & other.parts:
        return (
            f"{one.name} and {other.name} have people in common: one was made from the other, or "
            f"both from the same evidence or file of reports"
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
            f"{said}, and a comparison is of different people: is one a copy, or a part? If not, "
            f"give {override}."
        )


def contained(small: Body, large: Body) -> bool:
    """Say whether each report of one is in the other, as often at least; no where nobody knows."""
    names = [group.mechanism.id for group in small.evidence.groups]
    if not all(name in small.counts and name in large.counts for name in names):
        return False
    return all(
        _within(small.counts[name], large.counts[name], some)
        for some in (slice(_FIRST), slice(_FIRST, None))
        for name in names
    )


def _within(
    small: tuple[NDArray[np.uint64], FloatArray],
    large: tuple[NDArray[np.uint64], FloatArray],
    some: slice,
) -> bool:
    keys, counts = small[0][some], small[1][some]
    found = np.searchsorted(large[0], keys).clip(max=len(large[0]) - 1)
    return bool(np.all((large[0][found] == keys) & (counts <= large[1][found])))


def _counted(group: Group) -> tuple[NDArray[np.uint64], FloatArray]:
    rows = np.ascontiguousarray(group.outputs)
    all_keys = row_keys(rows.view(np.uint8).reshape(len(rows), -1))
    keys, places = np.unique(all_keys, return_inverse=True)
    counts: Any = np.bincount(places.ravel(), group.counts, len(keys))
    return keys, counts


def log_chance(small: Body, large: Body) -> float:
    """Bound the logarithm of the chance that others' reports hold all of small, whoever they are.

    Let N be the counts of small over K outputs, and D how many more people large has. There are
    C(D + K - 1, D) counts N + d, d >= 0, that hold N, and no distribution gives one of them more
    than n!/n^n prod c^c / c!, which falls with each count c: at most that of N (with n of large).
    A report that does not repeat has at most the chance n max_x a(z|x) to be among n others.
    """
    bound = 0.0
    if large.counted:
        spaces = [group.mechanism.output_space for group in large.counted]
        outputs = sum(1 << space.size if space.packed else space.size for space in spaces)
        people = sum(group.people for group in large.counted)
        more = max(people - sum(group.people for group in small.counted), 0)
        ways = float(gammaln(more + outputs) - gammaln(outputs) - gammaln(more + 1))
        bound += min(0.0, ways + stirling(people) + small.chance)
    for group in small.evidence.groups:
        if group.table is None and group.held:
            some: Any = np.unique(group.outputs[:_ROWS], axis=0)
            operator = group.mechanism.operator(some)
            likeliest = np.log(operator.dense().max(axis=1)) + operator.log_scale
            bound += float(np.minimum(likeliest + math.log(large.evidence.people), 0.0).sum())
    return bound
