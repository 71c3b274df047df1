"""Groups of reports as tests speak of them: what they are called, and which are too small."""

from freewill.domain.mechanisms.base import brief
from freewill.errors import several
from freewill.stats.evidence import Evidence, Group

FEWEST = 30
"""People of a group below whom its sums are not normal enough for a test."""


def name_of(group: Group, *, short: bool = False) -> str:
    """Return what a group is called: by the survey, else by its mechanism.

    `short` is without the alphabet, where that is told beside it.

    >>> import freewill as fw
    >>> group = fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3])]).groups[0]
    >>> name_of(group), name_of(group, short=True)
    ('k-rr(0..9, epsilon=1)', 'k-rr(epsilon=1)')
    """
    return group.name or (brief(group.mechanism) if short else str(group.mechanism))


def names_of(evidence: Evidence, *, short: bool = False) -> list[str]:
    """Return what all groups are called."""
    return [name_of(group, short=short) for group in evidence.groups]


def too_small(group: Group) -> str | None:
    """Say why a group is not tested, None where it is large enough.

    >>> import freewill as fw
    >>> too_small(fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3, 4])]).groups[0])
    'of 2 people, and 30 are needed'
    """
    few = f"of {several(group.people, 'person')}, and {FEWEST} are needed"
    return few if group.people < FEWEST else None
