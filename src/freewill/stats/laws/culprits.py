"""Which departures explain residuals: the clearest first, and what is left once it is explained."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from freewill.core.types import FloatArray
from freewill.errors import FreewillError
from freewill.stats.evidence import Evidence, Group, grouped
from freewill.stats.laws.crowds import Crowd
from freewill.stats.laws.departures import Departures
from freewill.stats.laws.group_laws import at_epsilon, epsilon_of

_MOST = 10
"""Departures that are looked for."""
_ROUNDS = 3
"""Newton steps to the size of all departures found."""
_TRIED, _NEARLY = 3, 0.9
"""Departures of which the one that explains most is taken: so many, and nearly as far."""
_LOST = 1.2
"""By how much better lost reports must explain what forged ones do."""
_FACTOR = 2.0
"""By what an epsilon is moved at most in a step."""


@dataclass(frozen=True, eq=False)
class Null:
    """How large the largest deviations are where every law is right, from draws."""

    draws: FloatArray
    outputs: int
    epsilons: int
    """How many residuals of either kind are tested."""

    @classmethod
    def of(cls, departures: Departures) -> "Null":
        """Draw."""
        asked = departures.testable
        number = int(np.sum(asked & departures.epsilons))
        return cls(departures.draws(), int(asked.sum()) - number, number)

    @cached_property
    def _largest(self) -> tuple[FloatArray, FloatArray]:
        half = self.draws.shape[1] // 2
        by_kind = self.draws[:, :half].max(axis=1), self.draws[:, half:].max(axis=1)
        return np.sort(by_kind[0]), np.sort(by_kind[1])

    def least(self, departures: Departures) -> float:
        """Return the least p-value of all residuals."""
        return min(self.kinds(departures))

    def kinds(self, departures: Departures) -> tuple[float, float]:
        """Return the p-value of the largest deviation of outputs, and of epsilons."""
        far, scores = np.abs(departures.deviations()), departures.epsilons
        outputs = self.p_value(float(far[~scores].max(initial=0.0)), epsilon=False)
        return outputs, self.p_value(float(far[scores].max(initial=0.0)), epsilon=True)

    def p_value(self, deviation: float, *, epsilon: bool) -> float:
        """Return the chance that any of its kind deviates as far, times the number of kinds.

        Beyond all draws, the sum of the normal tails.
        """
        if not deviation > 0:
            return 1.0
        largest, many = self._largest[epsilon], self.epsilons if epsilon else self.outputs
        beyond = largest.size - int(np.searchsorted(largest, deviation))
        chance = (1 + beyond) / (1 + largest.size)
        if not beyond:
            chance = min(chance, 2 * many * float(ndtr(-deviation)))
        return min(1.0, chance * (2 if self.outputs and self.epsilons else 1))


@dataclass(frozen=True, eq=False)
class Explained:
    """Departures found, how large they are, and what they leave."""

    left: Departures
    """What is left of all residuals, the departures found taken as given."""
    places: tuple[int, ...] = ()
    p_values: tuple[float, ...] = ()
    sizes: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Epsilons really used; reports too many, or too few, on an output."""
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    amended: Evidence | None = None
    """The evidence without the departures found, None where there are none."""


def explained(
    evidence: Evidence, first: Departures, null: Null, chance: float, skipped: list[int]
) -> Explained:
    """Name departures one by one, until nothing left is less likely than `chance`.

    A departure shifts the residuals of everything else, for it moved theta. So the one that
    deviates furthest is named; all sizes so far are fitted, by Newton's steps on evidence amended
    by them (another epsilon, reports set aside); and only what they leave is looked at again.
    """
    found = Explained(first)
    while len(found.places) < _MOST:
        left = found.left
        likely = null.kinds(left)
        kinds = [kind for kind in (False, True) if likely[kind] < chance]
        if not kinds:
            break
        tried = [
            _fitted(evidence, first, _with(found, place, likely), skipped)
            for place in _candidates(left, kinds)
        ]
        found = min(tried, key=_remaining)
    return found


def _with(found: Explained, place: int, likely: tuple[float, float]) -> Explained:
    """Return what is found with one departure more, not fitted yet."""
    p_value = likely[bool(found.left.epsilons[place])]
    return replace(found, places=(*found.places, place), p_values=(*found.p_values, p_value))


def _candidates(left: Departures, kinds: list[bool]) -> list[int]:
    """Return the departure that is furthest, and those of other groups that nearly are.

    Where few groups hold theta, too many of one output here and too few there are nearly the same.
    """
    far = np.abs(left.standardised()) * np.isin(left.epsilons, kinds)
    places: list[int] = []
    for group in range(len(left.laws)):
        own = np.flatnonzero(left.groups == group)
        if own.size:
            places.append(int(own[np.argmax(far[own])]))
    places.sort(key=lambda place: -far[place])
    return [place for place in places if far[place] >= _NEARLY * far[places[0]]][:_TRIED]


def _remaining(found: Explained) -> float:
    """Return how far the rest deviates; of much the same, forged reports rather than lost ones."""
    lost = found.sizes[-1] < 0 and not found.left.epsilons[found.places[-1]]
    return float(np.abs(found.left.deviations()).max(initial=0.0)) * (_LOST if lost else 1.0)


def _fitted(
    evidence: Evidence, first: Departures, found: Explained, skipped: list[int]
) -> Explained:
    """Return all departures found with their sizes, by Newton's steps."""
    kinds = [_Departure.of(evidence, first, place) for place in found.places]
    sizes = np.array([kind.start for kind in kinds])
    now = first
    for step in range(_ROUNDS + 1):
        moves, errors = now.sizes(found.places)
        for which, kind in enumerate(kinds):
            before = sizes[which] if kind.amendable else kind.start
            sizes[which] = kind.bounded(before, before + moves[which])
        groups = list(evidence.groups)
        for kind, size in zip(kinds, sizes, strict=True):
            if kind.amendable:
                groups[kind.group] = kind.amended(groups[kind.group], float(size))
        amended = Evidence(evidence.alphabet, tuple(groups))
        if step == _ROUNDS:
            break
        crowd = Crowd.of(amended, first.crowd.law, start=first.crowd.theta)
        now = Departures.of(amended, crowd, skipped)
    left = now.without(found.places)
    return replace(found, left=left, sizes=sizes, errors=errors, amended=amended)


@dataclass(frozen=True)
class _Departure:
    """One departure: another epsilon, or reports too many on an output."""

    group: int
    output: int | None
    start: float
    least: float
    most: float
    """Between which sizes can be: reports are no more than there are."""
    amendable: bool
    """Whether evidence can be had without it; elsewhere the first step is all there is."""

    @classmethod
    def of(cls, evidence: Evidence, first: Departures, place: int) -> "_Departure":
        number = int(first.groups[place])
        group = evidence.groups[number]
        if first.epsilons[place]:
            start = epsilon_of(group.mechanism) or 0.0
            return cls(number, None, start, 0.0, np.inf, group.held)
        output = place - int(np.argmax(first.groups == number))
        counted = group.mechanism.output_space.alphabet is not None
        law = first.laws[number]
        seen = float(law.sums[output] + law.expected[output])
        return cls(number, output, 0.0, -float(group.people), seen, counted)

    def bounded(self, before: float, after: float) -> float:
        """Return a size that can be, not too far from that before where it is an epsilon."""
        if self.output is not None:
            return float(np.clip(after, self.least, self.most))
        return float(np.clip(after, before / _FACTOR, before * _FACTOR))

    def amended(self, group: Group, size: float) -> Group:
        """Return the group as it would be without the departure."""
        if self.output is None:
            try:
                mechanism = at_epsilon(group.mechanism, size)
            except FreewillError:  # an epsilon beyond the largest
                return group
            return grouped(mechanism, [(group.outputs, group.counts)], group.name)
        space = group.mechanism.output_space
        counts = np.zeros(space.size, dtype=np.int64)
        counts[group.outputs] = group.counts
        counts[self.output] = max(0, counts[self.output] - round(size))
        return grouped(group.mechanism, [(space.all(), counts)], group.name)
