"""From reports in memory to evidence: every report is checked, and counted where it repeats."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import IntArray, Reports, checked_counts
from freewill.domain.mechanisms.base import Mechanism, is_mechanism, stacked_operators
from freewill.errors import EvidenceError, FreewillError, several, shown
from freewill.stats.evidence import Evidence, assemble, listed
from freewill.stats.groups import Group, grouped


def collect(parts: Iterable[Sequence[Any]]) -> Evidence:
    """Count reports: [(mechanism, reports), ...] or [(mechanism, outputs, counts), ...].

    Every report is checked: one that its mechanism cannot produce is an error that names both.

    O(n log n) for n reports, which are sorted to be counted.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> print(fw.collect([(fw.KRR(line, 1.0), [3, 3, 4]), (fw.Geometric(line, 0.5), [2])]))
    4 people, 2 mechanisms, alphabet 0..9
                 1 person           1 distinct output   geometric(0..9, epsilon=0.5)
                 3 people           2 distinct outputs  k-rr(0..9, epsilon=1)
    """
    pairs = [_checked_part(part) for part in listed(parts, "parts", "pairs (mechanism, reports)")]
    if not pairs:
        raise EvidenceError("nothing to collect: expected pairs of a mechanism and its reports.")
    first = pairs[0][0]
    same: dict[str, list[tuple[Any, ...]]] = {}
    for pair in pairs:
        if pair[0].alphabet != first.alphabet:
            raise EvidenceError(
                f"{pair[0]} is over another alphabet than {first}: one collection has one alphabet."
            )
        same.setdefault(pair[0].id, []).append(pair)
    groups = [
        grouped(own[0][0], [_checked_reports(*pair) for pair in own]) for own in same.values()
    ]
    refuse_impossible(groups)
    return assemble(first.alphabet, groups)


def _checked_part(part: Any) -> tuple[Any, ...]:
    """Return a part of `collect` after checking that it is a mechanism and what belongs to it."""
    given = tuple(part) if isinstance(part, tuple | list) else ()
    if len(given) not in (2, 3) or not is_mechanism(given[0]):
        raise EvidenceError(
            f"{shown(part)}: expected (mechanism, reports) or (mechanism, outputs, counts)."
        )
    return given


def _checked_reports(
    mechanism: Mechanism, reports: Any, counts: ArrayLike | None = None
) -> tuple[Reports, IntArray | None]:
    space = mechanism.output_space
    try:
        outputs = np.asarray(reports)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise EvidenceError(
            f"reports {shown(reports)} of {mechanism}: expected an array, as obfuscate gives it."
        ) from None
    if outputs.size == 0 and outputs.ndim == 1:
        outputs = space.empty()
    try:
        outputs = space.checked(outputs, mechanism.name)
    except FreewillError as error:
        raise EvidenceError(f"a report that {mechanism} cannot produce: {error}") from None
    if counts is None:
        return outputs, None
    numbers = checked_counts(counts, str(mechanism))
    if numbers.shape != (len(outputs),):
        raise EvidenceError(
            f"{several(len(outputs), 'output')} of {mechanism} with counts of shape "
            f"{numbers.shape}: expected one count an output."
        )
    return outputs, numbers


def refuse_impossible(groups: Sequence[Group]) -> None:
    """Refuse outputs that no value can lead to, where they were counted."""
    counted = [group for group in groups if group.table is not None]
    laws = stacked_operators([one.mechanism for one in counted], [one.outputs for one in counted])
    if all(law.possible().all() for law in laws):
        return
    group, fine = next((group, fine) for group in counted if not (fine := group.possible).all())
    where = int(np.argmin(fine))
    raise EvidenceError(
        f"output {group.outputs[where].tolist()} of {group.mechanism} was reported "
        f"{several(group.counts[where], 'time')}, but has probability 0 whatever the true value is."
    )
