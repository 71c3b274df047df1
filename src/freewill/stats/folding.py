"""Evidence of many combinations of mechanisms as one kind of report, to be stored as such."""

from typing import Any

import numpy as np

from freewill.domain.mechanisms.asked import JOINED, Asked
from freewill.domain.mechanisms.each import Each
from freewill.domain.questionnaire import ANSWERS
from freewill.stats.evidence import Evidence, assemble
from freewill.stats.groups import Group, grouped
from freewill.stats.periods import changed

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
    rows = np.concatenate([reports for reports, _ in pieces])
    counts = np.concatenate([times for _, times in pieces])
    return assemble(product, [*others, grouped(asked, [(rows, counts)], ANSWERS)], evidence.parts)


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
