"""What shows that two bodies of evidence are of the same people, so that they are not compared."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from freewill.errors import EvidenceError, several
from freewill.stats.evidence import COINCIDENCE, Evidence, fitted_sum, log_repeated, stirling
from freewill.stats.groups import Group

_ROWS = 64
"""Reports that do not repeat, of which one is looked for; each is next to impossible by chance."""
_FIRST = 1000
"""Outputs that are compared first: those of different people hardly agree so far."""


class Body(NamedTuple):
    """Evidence that is held against other, and what it is called."""

    evidence: Evidence
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


def _within(small: Group, large: Group, some: slice) -> bool:
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
        bound += min(0.0, ways + stirling(people) + fitted_sum(small.evidence))
    for group in small.evidence.groups:
        if group.table is None and group.held:
            some: Any = np.unique(group.outputs[:_ROWS], axis=0)
            operator = group.mechanism.operator(some)
            likeliest = np.log(operator.dense().max(axis=1)) + operator.log_scale
            bound += float(np.minimum(likeliest + math.log(large.evidence.people), 0.0).sum())
    return bound
