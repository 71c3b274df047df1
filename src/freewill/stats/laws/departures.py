"""Which departures from the laws explain what reports are: the clearest first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import readable
from freewill.errors import FreewillError, printable
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group, grouped
from freewill.stats.laws.group_laws import all_counts, at_epsilon, epsilon_of
from freewill.stats.laws.residuals import LEFT, Residuals

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


@dataclass(frozen=True)
class StickingOut:
    """An output that is reported too often, or too rarely, to come from its mechanism.

    `output` is as `mechanism.report` would give it; where reports are bits, the value of the bit.
    `excess` is how many reports are too many (negative: too few), with its standard error.
    """

    output: Any
    reports: int
    excess: float
    error: float
    p_value: float

    def __str__(self) -> str:
        what = "many" if self.excess > 0 else "few"
        value = printable(str(self.output))
        return f"{abs(self.excess):,.0f} ± {self.error:,.0f} reports too {what} on {value}"


@dataclass(frozen=True, eq=False)
class Explained:
    """Departures found, how large they are, and what they leave.

    `left` is what is left of the `first` residuals, the departures found taken as given; `sizes`
    are the epsilons really used, or reports too many, or too few, on an output; `amended` is the
    evidence without the departures, None where there are none.
    """

    first: Residuals
    left: Residuals
    places: tuple[int, ...] = ()
    p_values: tuple[float, ...] = ()
    sizes: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    amended: Evidence | None = None


def explained(
    evidence: Evidence, first: Residuals, chance: float, skipped: Sequence[int]
) -> Explained:
    """Name departures one by one, until nothing left is less likely than `chance`.

    A departure shifts the residuals of everything else, for it moved theta. So the one that
    deviates furthest is named; all sizes so far are fitted, by Newton's steps on evidence amended
    by them (another epsilon, reports set aside); and only what they leave is tested again.
    """
    best = Explained(first, first)
    while len(best.places) < _MOST:
        likely = first.p_values(best.left)
        kinds = [kind for kind in (False, True) if likely[kind] < chance]
        if not kinds:
            break
        tried = []
        for place in _candidates(best.left, kinds):
            p_values = (*best.p_values, likely[bool(first.epsilons[place])])
            tried.append(fitted(evidence, first, (*best.places, place), p_values, skipped))
        best = min(tried, key=_remaining)
    return best


def _candidates(left: Residuals, kinds: list[bool]) -> list[int]:
    """Return the departure that is furthest, and those of other groups that nearly are.

    Where few groups hold theta, too many of one output here and too few there are nearly the same.
    """
    far = np.abs(left.standardised(left.residuals)) * np.isin(left.epsilons, kinds)
    own = [np.flatnonzero(left.groups == group) for group in np.unique(left.groups)]
    places = [int(places[np.argmax(far[places])]) for places in own]
    places.sort(key=lambda place: -far[place])
    return [place for place in places if far[place] >= _NEARLY * far[places[0]]][:_TRIED]


def _remaining(tried: Explained) -> float:
    """Return how far the rest deviates; of much the same, forged reports rather than lost ones."""
    lost = tried.sizes[-1] < 0 and not tried.left.epsilons[tried.places[-1]]
    return float(np.abs(tried.left.deviations()).max(initial=0.0)) * (_LOST if lost else 1.0)


def fitted(
    evidence: Evidence,
    first: Residuals,
    places: tuple[int, ...],
    p_values: tuple[float, ...],
    skipped: Sequence[int],
) -> Explained:
    """Return all departures found with their sizes, by Newton's steps."""
    departures = [_Departure.of(evidence, first, place) for place in places]
    sizes = np.array([departure.start for departure in departures])
    now = first
    for step in range(_ROUNDS + 1):
        moves, errors = _sizes(now, places)
        groups = list(evidence.groups)
        for which, departure in enumerate(departures):
            before = sizes[which] if departure.amendable else departure.start
            sizes[which] = departure.bounded(before, moves[which])
            if departure.amendable:
                number = departure.group
                groups[number] = departure.amended(groups[number], float(sizes[which]))
        amended = Evidence(evidence.alphabet, tuple(groups))
        if step < _ROUNDS:
            now = Residuals.of(amended, first.crowd.amended(amended), skipped)
    figures = tuple(sizes.tolist()), tuple(errors.tolist())
    return Explained(first, _without(now, places), places, p_values, *figures, amended)


@dataclass(frozen=True)
class _Departure:
    """One departure: another epsilon, or reports too many on an output.

    `start` is its size before it is fitted, and reports are no more than `most`, and no fewer than
    `least`; it is `amendable` where evidence can be had without it: elsewhere the first step is all
    there is.
    """

    group: int
    output: int | None
    start: float
    amendable: bool
    least: float = 0.0
    most: float = np.inf

    @classmethod
    def of(cls, evidence: Evidence, first: Residuals, place: int) -> "_Departure":
        number, output = int(first.groups[place]), int(first.within[place])
        group, law = evidence.groups[number], first.laws[number]
        if first.epsilons[place]:
            return cls(number, None, epsilon_of(group.mechanism) or 0.0, group.held)
        return cls(number, output, 0.0, law.counted, -group.people, law.reports(output))

    def bounded(self, before: float, move: float) -> float:
        """Return a size that can be, not too far from that before where it is an epsilon."""
        if self.output is not None:
            return float(np.clip(before + move, self.least, self.most))
        return float(np.clip(before + move, before / _FACTOR, before * _FACTOR))

    def amended(self, group: Group, size: float) -> Group:
        """Return the group as it would be without the departure."""
        if self.output is None:
            try:
                mechanism = at_epsilon(group.mechanism, size)
            except FreewillError:  # an epsilon beyond the largest
                return group
            return grouped(mechanism, [(group.outputs, group.counts)], group.name)
        counts, outputs = all_counts(group), group.mechanism.outputs()
        counts[self.output] = max(0, counts[self.output] - round(size))
        return grouped(group.mechanism, [(outputs, counts)], group.name)


def column(left: Residuals, place: int) -> FloatArray:
    """Return the covariances of all residuals with one."""
    column = -left.slopes @ (left.crowd.covariance @ left.slopes[place])
    group = int(left.groups[place])
    column[left.groups == group] += left.laws[group].covariances(int(left.within[place]))
    return np.asarray(column)


def _sizes(left: Residuals, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return how large some departures are together, and their standard errors.

    What is added to an epsilon, or to the reports of an output: of these, e more shift the
    residuals by their covariances with its own, where it is expected e times.
    """
    inverse, scale = _inverse(np.stack([column(left, place)[[*places]] for place in places]))
    # Variances of what is next to impossible have no inverse: sizes are scaled on both sides.
    unit = scale * np.where(left.epsilons, 1.0, left.expected)[[*places]]
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return unit * (inverse @ (scale * left.residuals[[*places]])), unit * errors


def _without(left: Residuals, places: Sequence[int]) -> Residuals:
    """Return what is left once some departures, of any size, are taken as given."""
    columns = np.stack([column(left, place) for place in places])
    inverse, scale = _inverse(columns[:, [*places]])
    columns = scale[:, None] * columns
    explained = inverse @ columns
    return replace(
        left,
        residuals=left.residuals - (scale * left.residuals[[*places]]) @ explained,
        variances=left.variances - np.einsum("ij,ij->j", explained, columns),
        tested=left.tested & ~np.isin(np.arange(left.tested.size), places),
    )


def _inverse(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return U and s with diag(s) U diag(s) the inverse, without what is only rounding.

    diag(s) C diag(s) has a unit diagonal, and U is its inverse.
    """
    variances = np.diag(covariance)
    scale = np.where(variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)
    unit = covariance * scale[:, None] * scale
    return np.asarray(np.linalg.pinv(unit, LEFT, hermitian=True), dtype=np.float64), scale


def sticking_out(evidence: Evidence, explanation: Explained, number: int) -> StickingOut:
    """Return an output that is to blame, as a value or, where it is none, as a text."""
    first, place = explanation.first, explanation.places[number]
    group, output = int(first.groups[place]), int(first.within[place])
    mechanism = evidence.groups[group].mechanism
    outputs = mechanism.output_space.alphabet or evidence.alphabet
    if first.laws[group].counted and mechanism.output_space.alphabet is None:
        reports = mechanism.outputs()[[output]]
        if hasattr(mechanism, "shown"):  # a record is read attribute by attribute
            said = ", ".join(f"{name} {own}" for name, own in mechanism.shown(reports)[0].items())
        else:
            (said,) = mechanism.written(reports)
    else:
        (said,) = readable(outputs, [output])
    return StickingOut(
        output=said,
        reports=round(first.laws[group].reports(output)),
        excess=float(explanation.sizes[number]),
        error=float(explanation.errors[number]),
        p_value=explanation.p_values[number],
    )
