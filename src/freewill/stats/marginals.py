"""Evidence about some of the attributes, and of many combinations of mechanisms as one kind."""

import math
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from freewill.domain.alphabets.base import attributes_of
from freewill.domain.mechanisms.asked import JOINED, Asked
from freewill.domain.mechanisms.each import Each, Silent
from freewill.domain.mechanisms.factored import Column, Factored
from freewill.domain.survey import ANSWERS
from freewill.errors import EvidenceError, several
from freewill.stats.evidence import Evidence, assemble, changed, checked_evidence, merge
from freewill.stats.groups import Group, grouped

_TABLE = 1 << 16
"""Combinations of reports up to which there is a place for each."""


def factored_of(evidence: Evidence) -> Factored:
    """Return all reports as a column an attribute; an error where they are not told so."""
    checked_evidence(evidence, "a marginal")
    if not attributes_of(evidence.alphabet):
        raise EvidenceError(
            f"a marginal of evidence over {evidence.alphabet}: it is about one question, and has "
            f"no attributes to choose from."
        )
    factored = Factored.of(evidence.mechanisms, [group.outputs for group in evidence.groups])
    if factored is None:
        whole = next(
            one for one in evidence.mechanisms if one.by_attribute(one.output_space.empty()) is None
        )
        raise EvidenceError(
            f"{whole}: its reports are of whole records, and of no attribute by itself. They have "
            f"no marginal. Estimate the joint distribution, and take the marginal of the estimate."
        )
    return factored


def marginal_evidence(
    evidence: Evidence, names: tuple[str, ...], *, of_nobody: bool = False
) -> Evidence:
    """Return the evidence about some attributes: a marginal report has the law of what is left.

    P(y_a, y_b | x) = P_a(y_a | x_a) P_b(y_b | x_b) whatever is forgotten, so that nothing is
    approximated. Reports that are silent on all of these attributes tell nothing, and are left out;
    where all are, there is no evidence, unless it may be `of_nobody`, as of one week of many.
    """
    product: Any = evidence.alphabet
    if of_nobody and not evidence.people:
        return assemble(product.only(*names), [])
    factored = evidence.factored
    places = product.places(names)
    if len(places) == len(product.sizes) and len(places) > 1:
        return evidence
    columns, times = _counted([factored.columns[place] for place in places], evidence.counts)
    called = part_names(evidence, places)
    alphabet = product.only(*names)
    groups: list[Group] = []
    numbers, rows = zip(*(column.split() for column in columns), strict=True)
    combined, which = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(combined)))[:-1]
    for combination, some in zip(combined.tolist(), np.split(order, ends), strict=True):
        parts = [c.mechanisms[number] for c, number in zip(columns, combination, strict=True)]
        if all(isinstance(part, Silent) for part in parts):
            continue
        reports = [
            c.outputs[number][own[some]]
            for c, number, own in zip(columns, combination, rows, strict=True)
        ]
        words = [
            called.get((place, part.id), "") for place, part in zip(places, parts, strict=True)
        ]
        mechanism, outputs = parts[0], reports[0]
        if len(parts) > 1:
            mechanism = Each(alphabet, dict(zip(alphabet.attributes, parts, strict=True)))
            outputs = mechanism.output_space.joined(reports)
        name = JOINED.join(words) if all(words) else ""
        groups.append(grouped(mechanism, [(outputs, times[some])], name))
    if not groups and not of_nobody:
        raise EvidenceError(
            f"nobody answered {' or '.join(names)}: all {several(evidence.people, 'person')} were "
            f"silent there, and there is no evidence about it."
        )
    return assemble(alphabet, groups, evidence.digests)


def _counted(columns: list[Column], counts: Any) -> tuple[list[Column], Any]:
    """Return columns of the different combinations of rows, and how often each came."""
    shape = [int(column.which.max(initial=0)) + 1 for column in columns]
    if math.prod(shape) > 1 << 62:
        raise EvidenceError("reports of so many parts cannot be counted together: take fewer.")
    keys = np.ravel_multi_index([column.which for column in columns], shape)
    # Whole numbers up to 2^53, which evidence has at most, are exact in a sum of floats.
    if math.prod(shape) <= max(_TABLE, keys.size):
        table = np.bincount(keys, counts, math.prod(shape))
        keys = np.flatnonzero(table)
        times = table[keys]
    else:
        keys, place = np.unique(keys, return_inverse=True)
        times = np.bincount(place, counts)
    rows = np.unravel_index(keys, shape)
    some = [replace(column, which=own) for column, own in zip(columns, rows, strict=True)]
    return some, times.astype(np.int64)


def part_names(evidence: Evidence, places: list[int]) -> dict[tuple[int, str], str]:
    """Return what the mechanism of each attribute is called, where groups have names of parts."""
    called: dict[tuple[int, str], str] = {}
    for group in evidence.groups:
        if not group.name:
            continue
        words, parts = group.name.split(JOINED), getattr(group.mechanism, "parts", ())
        if len(words) == len(parts) and isinstance(group.mechanism, Each):
            called |= {(place, parts[place].id): words[place] for place in places}
    return called


def unfolded(evidence: Evidence) -> Evidence:
    """Return evidence of questionnaires with a group for every combination that people chose.

    What was counted as one kind of report (`fw.Asked`) becomes reports of `fw.Each`. Reports that
    stay in files are left as they are.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> asked = fw.Asked(vote={"a": fw.KRR(votes, 1.0), "b": fw.KRR(votes, 2.0)})
    >>> reports = asked.joined({"vote": "b"}, asked.at(vote="b").received([{"vote": "no"}]))
    >>> [group.name for group in unfolded(fw.collect([(asked, reports)])).groups]
    ['b']
    """
    return changed(evidence, _unfolded)


def _unfolded(evidence: Evidence) -> Evidence:
    pieces = ([one] if one.chosen is None else one.chosen for one in evidence.groups)
    groups = list(chain.from_iterable(pieces))
    if len({group.mechanism.id for group in groups}) < len(groups):
        # Two kinds of questionnaires have a combination in common.
        groups = list(merge(Evidence(evidence.alphabet, (group,)) for group in groups).groups)
    return assemble(evidence.alphabet, groups, evidence.parts)


_MOST = 256
"""Mechanisms of one attribute that a report tells apart."""


def folded(evidence: Evidence) -> Evidence:
    """Return evidence in which what `marginals.unfolded` takes apart is one group.

    Ten thousand combinations of ten mechanisms for each of four questions are forty mechanisms.
    Groups whose names do not say what was chosen for each attribute stay as they are. O(reports).

    >>> import freewill as fw
    >>> from freewill.stats.marginals import unfolded
    >>> votes = fw.Categorical(["yes", "no"])
    >>> asked = fw.Asked(vote={"a": fw.KRR(votes, 1.0), "b": fw.KRR(votes, 2.0)})
    >>> said = [asked.joined({"vote": name}, asked.at(vote=name).obfuscate([0])) for name in "ab"]
    >>> evidence = unfolded(fw.collect([(asked, np.concatenate(said))]))
    >>> len(evidence.groups), len(folded(evidence).groups), unfolded(folded(evidence)) == evidence
    (2, 1, True)
    """
    return changed(evidence, _folded)


def _folded(evidence: Evidence) -> Evidence:
    product: Any = evidence.alphabet
    some, others = list[Group](), list[Group]()
    for group in evidence.groups:
        (some if isinstance(group.mechanism, Each) and group.held else others).append(group)
    offers = _offers(some, len(getattr(product, "attributes", ())))
    if len(some) < 2 or offers is None:
        return evidence
    asked = Asked(product, dict(zip(product.attributes, offers, strict=True)))
    pieces = []
    for group in some:
        choices = dict(zip(product.attributes, group.name.split(JOINED), strict=True))
        pieces.append((asked.joined(choices, group.outputs), group.counts))
    return assemble(product, [*others, grouped(asked, pieces, ANSWERS)], evidence.parts)


def _offers(groups: list[Group], attributes: int) -> list[dict[str, Any]] | None:
    """Return what groups call the mechanisms of each attribute; None where they do not agree."""
    offers: list[dict[str, Any]] = [{} for _ in range(attributes)]
    ids: list[dict[str, str]] = [{} for _ in range(attributes)]
    for group in groups:
        each: Any = group.mechanism
        names = group.name.split(JOINED)
        if len(names) != attributes or not all(names):
            return None
        for place, (name, part) in enumerate(zip(names, each.parts, strict=True)):
            same = offers[place].setdefault(name, part).id == part.id
            if not same or ids[place].setdefault(part.id, name) != name:
                return None
    return offers if all(len(some) <= _MOST for some in offers) else None
