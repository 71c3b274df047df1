"""How far reports are from their laws, and which departures explain that: the clearest first."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import kl_div, ndtr

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.errors import FreewillError
from freewill.stats.evidence import Evidence, Group, grouped
from freewill.stats.information import pulled
from freewill.stats.laws.group_laws import Crowd, GroupLaw, at_epsilon, epsilon_of, law_of

_DRAWS, _FEWEST_DRAWS = 1000, 400
_WORK = 10_000_000_000
"""Products of numbers in all draws, beyond which there are fewer of them."""
_CHUNK = 1 << 22
"""Numbers of draws that are held at once."""
_LEFT = 1e-6
"""Share of a variance that must be left, theta estimated, for a residual to be more than rounding.
"""
_NEAR = 1e-3
"""Relative distance from the mean within which a deviance is taken from its series."""
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
class Departures:
    """Residuals R = T - n_m B (theta_1 - theta_w) of all groups' sums T, one after the other.

    With theta_1 = theta_w + C (g - 1), R is linear in the reports, has mean 0 and, within a group
    and between two,

        cov R_m = n_m (cov f - s_m B C B'),   cov(R_m, R_l) = -n_m n_l / n  B_m C B_l'.

    A departure of one kind (an epsilon, forged reports on one output) shifts all residuals in
    proportion to their covariances with its own. Of each residual, `groups` has the group, `within`
    its place there, and `epsilons` whether it is the score of an epsilon, or of an output;
    `slopes` are n_m B by all that is unknown, n_m B J_m where the choice is, too; `theta_known` has
    the variances that sums would have were theta known, and `tested` what is to be tested: nothing
    of groups that are too small.
    """

    crowd: Crowd
    laws: tuple[GroupLaw, ...]
    groups: IntArray
    within: IntArray
    epsilons: BoolArray
    slopes: FloatArray
    residuals: FloatArray
    variances: FloatArray
    theta_known: FloatArray
    tested: BoolArray

    @classmethod
    def of(cls, evidence: Evidence, crowd: Crowd, skipped: Sequence[int] = ()) -> "Departures":
        """Take the residuals of evidence of such people."""
        laws = tuple(map(law_of, evidence.groups, crowd.thetas))
        sizes = [law.sums.size for law in laws]
        groups = np.repeat(np.arange(len(laws)), sizes)
        within = np.concatenate([np.arange(size) for size in sizes])
        last = within == np.array(sizes)[groups] - 1
        slopes = np.concatenate(
            [crowd.along(place, law.people * law.slopes) for place, law in enumerate(laws)]
        )
        theta_known = np.concatenate([law.variances() for law in laws])
        step = crowd.covariance @ crowd.slope(evidence)
        return cls(
            crowd=crowd,
            laws=laws,
            groups=groups,
            within=within,
            epsilons=last & np.array([law.has_epsilon for law in laws])[groups],
            slopes=slopes,
            residuals=np.concatenate([law.sums for law in laws]) - slopes @ step,
            variances=theta_known - np.einsum("ij,ij->i", slopes @ crowd.covariance, slopes),
            theta_known=theta_known,
            tested=~np.isin(groups, skipped),
        )

    @cached_property
    def testable(self) -> BoolArray:
        """Which residuals are more than rounding: the others no other group can contradict."""
        left = self.variances > _LEFT * self.theta_known
        return np.asarray(left & (self.theta_known > 0) & self.tested)

    def column(self, place: int) -> FloatArray:
        """Return the covariances of all residuals with one."""
        column = -self.slopes @ (self.crowd.covariance @ self.slopes[place])
        group = int(self.groups[place])
        column[self.groups == group] += self.laws[group].covariances(int(self.within[place]))
        return np.asarray(column)

    def sizes(self, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return how large some departures are together, and their standard errors.

        What is added to an epsilon, or to the reports of an output: of these, e more shift the
        residuals by their covariances with its own, where it is expected e times.
        """
        inverse = _inverse(np.stack([self.column(place)[[*places]] for place in places]))
        unit = np.where(self.epsilons, 1.0, self.expected)[[*places]]
        errors = np.sqrt(np.maximum(np.diag(inverse), 0.0))
        return unit * (inverse @ self.residuals[[*places]]), unit * errors

    def without(self, places: Sequence[int]) -> "Departures":
        """Return what is left once some departures, of any size, are taken as given."""
        columns = np.stack([self.column(place) for place in places])
        explained = _inverse(columns[:, [*places]]) @ columns
        return replace(
            self,
            residuals=self.residuals - self.residuals[[*places]] @ explained,
            variances=self.variances - np.einsum("ij,ij->j", explained, columns),
            tested=self.tested & ~np.isin(np.arange(self.tested.size), places),
        )

    @cached_property
    def expected(self) -> FloatArray:
        """Expected reports n p of each output or bit; infinite for epsilons, sums of many."""
        expected = np.full(self.groups.size, np.inf)
        expected[~self.epsilons] = np.concatenate([law.expected for law in self.laws])
        return expected

    def deviations(self) -> FloatArray:
        """Return residuals as nearly normal numbers, those of rare outputs too.

        A count with expectation e, of which theta estimated leaves the share r of its variance, has
        a residual with variance r e and third moment r^3 e, as r^2 (X - l) has for X Poisson with
        mean l = e / r^3: the signed root of the deviance of X is nearly normal. 0 where there is
        nothing to test.
        """
        return self._rooted(self.residuals, self.expected, self.testable & ~self.epsilons)

    def standardised(self, residuals: FloatArray) -> FloatArray:
        """Return residuals in standard errors, 0 where there is nothing to test."""
        return residuals / np.sqrt(np.where(self.testable, self.variances, np.inf))

    def _rooted(self, residuals: FloatArray, expected: FloatArray, counts: BoolArray) -> FloatArray:
        """Return roots of deviances of residuals of counts, and standardised ones elsewhere."""
        deviations = self.standardised(residuals)
        share = self.variances[counts] / self.expected[counts]
        mean = expected[..., counts] / share**3
        deviations[..., counts] = rooted_deviance(residuals[..., counts] / share**2 / mean, mean)
        return deviations

    def draws(self) -> tuple[FloatArray, FloatArray]:
        """Return the largest deviations of outputs and of epsilons, were every law right, sorted.

        The same at each call. Reports are drawn at theta_w, and theta estimated from them: by the
        linear theta_1 for the residuals and, as the maximum likelihood has no negative shares, its
        positive part for what is expected. For an estimate that follows rare reports makes them
        less surprising.
        """
        rng, theta = np.random.default_rng(0), self.crowd.theta
        many = int(np.clip(_WORK // max(1, self.slopes.size), _FEWEST_DRAWS, _DRAWS))
        people = sum(law.people for law in self.laws)
        # Bits are drawn as normal numbers already.
        whole = np.array([law.counted for law in self.laws])[self.groups] & ~self.epsilons
        each = max(1, _CHUNK // max(1, self.groups.size))
        largest = []
        for start in range(0, many, each):
            pairs = [law.draws(rng, min(each, many - start)) for law in self.laws]
            scores = [self.crowd.along(place, pair[1]) for place, pair in enumerate(pairs)]
            steps = np.asarray(sum(scores)) @ self.crowd.covariance
            sums = np.concatenate([pair[0] for pair in pairs], axis=1)
            moved = steps.copy()
            moved[:, : theta.size] = _positive(theta + steps[:, : theta.size], people) - theta
            expected = np.maximum(self.expected + moved @ self.slopes.T, _LEFT * self.expected)
            drawn = self._rooted(sums - steps @ self.slopes.T, expected, self.testable & whole)
            largest.append(self.largest(drawn))
        outputs, epsilons = np.sort(np.concatenate(largest, axis=1))
        return outputs, epsilons

    def largest(self, deviations: FloatArray) -> FloatArray:
        """Return the largest deviation of all outputs, and of all epsilons; 0 without any."""
        sizes = np.abs(deviations)
        kinds = (~self.epsilons, self.epsilons)
        return np.stack([sizes[..., kind].max(axis=-1, initial=0.0) for kind in kinds])


def _inverse(covariance: FloatArray) -> FloatArray:
    """Return the inverse, scaled to a unit diagonal before; without what is only rounding."""
    variances = np.diag(covariance)
    scale = np.where(variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)
    unit = covariance * scale[:, None] * scale
    return np.asarray(np.linalg.pinv(unit, _LEFT, hermitian=True) * scale[:, None] * scale)


def _positive(thetas: FloatArray, people: int) -> FloatArray:
    """Return the positive parts of rows, pulled inside as theta_w is."""
    parts = np.maximum(thetas, 0.0)
    parts /= parts.sum(axis=1, keepdims=True)
    return np.stack([pulled(row, people) for row in parts])


def rooted_deviance(excess: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the signed root of 2 (x log(x / m) - x + m) for x = m (1 + excess), x >= 0.

    >>> rooted_deviance(np.array([-1.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0])).round(3)
    array([-2.   ,  0.   ,  1.243])
    """
    excess = np.maximum(excess, -1.0)
    series = excess * excess * (0.5 - excess / 6)
    half = np.where(np.abs(excess) < _NEAR, series, kl_div(1 + excess, 1.0))
    return np.asarray(np.sign(excess) * np.sqrt(2 * mean * half))


class Null:
    """How large the largest deviations are where every law is right, from draws."""

    def __init__(self, departures: Departures) -> None:
        self._largest = departures.draws()
        kinds = (~departures.epsilons, departures.epsilons)
        self._tested = [int(np.sum(departures.testable & kind)) for kind in kinds]

    def p_values(self, departures: Departures) -> tuple[float, float]:
        """Return the p-value of the largest deviation of outputs, and of epsilons."""
        outputs, epsilons = departures.largest(departures.deviations()).tolist()
        return self.p_value(outputs, epsilon=False), self.p_value(epsilons, epsilon=True)

    def p_value(self, deviation: float, *, epsilon: bool) -> float:
        """Return the chance that any of its kind deviates as far, times the number of kinds.

        Beyond all draws, the sum of the normal tails.
        """
        if not deviation > 0:
            return 1.0
        largest = self._largest[epsilon]
        beyond = largest.size - int(np.searchsorted(largest, deviation))
        chance = (1 + beyond) / (1 + largest.size)
        if not beyond:
            chance = min(chance, 2 * self._tested[epsilon] * float(ndtr(-deviation)))
        return min(1.0, chance * (2 if all(self._tested) else 1))


@dataclass(frozen=True, eq=False)
class Explained:
    """Departures found, how large they are, and what they leave.

    `left` is what is left of the `first` residuals, the departures found taken as given; `sizes`
    are the epsilons really used, or reports too many, or too few, on an output; `amended` is the
    evidence without the departures, None where there are none.
    """

    first: Departures
    left: Departures
    places: tuple[int, ...] = ()
    p_values: tuple[float, ...] = ()
    sizes: FloatArray = field(default_factory=lambda: np.zeros(0))
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    amended: Evidence | None = None


def explained(
    evidence: Evidence, first: Departures, null: Null, chance: float, skipped: Sequence[int]
) -> Explained:
    """Name departures one by one, until nothing left is less likely than `chance`.

    A departure shifts the residuals of everything else, for it moved theta. So the one that
    deviates furthest is named; all sizes so far are fitted, by Newton's steps on evidence amended
    by them (another epsilon, reports set aside); and only what they leave is looked at again.
    """
    best = Explained(first, first)
    while len(best.places) < _MOST:
        likely = null.p_values(best.left)
        kinds = [kind for kind in (False, True) if likely[kind] < chance]
        if not kinds:
            break
        tried = []
        for place in _candidates(best.left, kinds):
            p_values = (*best.p_values, likely[bool(first.epsilons[place])])
            tried.append(_fitted(evidence, first, (*best.places, place), p_values, skipped))
        best = min(tried, key=_remaining)
    return best


def _candidates(left: Departures, kinds: list[bool]) -> list[int]:
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


def _fitted(
    evidence: Evidence,
    first: Departures,
    places: tuple[int, ...],
    p_values: tuple[float, ...],
    skipped: Sequence[int],
) -> Explained:
    """Return all departures found with their sizes, by Newton's steps."""
    departures = [_Departure.of(evidence, first, place) for place in places]
    sizes = np.array([departure.start for departure in departures])
    now = first
    for step in range(_ROUNDS + 1):
        moves, errors = now.sizes(places)
        groups = list(evidence.groups)
        for which, departure in enumerate(departures):
            before = sizes[which] if departure.amendable else departure.start
            sizes[which] = departure.bounded(before, moves[which])
            if departure.amendable:
                number = departure.group
                groups[number] = departure.amended(groups[number], float(sizes[which]))
        amended = Evidence(evidence.alphabet, tuple(groups))
        if step < _ROUNDS:
            crowd = Crowd.of(amended, first.crowd.law, start=first.crowd.theta)
            now = Departures.of(amended, crowd, skipped)
    return Explained(first, now.without(places), places, p_values, sizes, errors, amended)


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
    def of(cls, evidence: Evidence, first: Departures, place: int) -> "_Departure":
        number, output = int(first.groups[place]), int(first.within[place])
        group, law = evidence.groups[number], first.laws[number]
        if first.epsilons[place]:
            return cls(number, None, epsilon_of(group.mechanism) or 0.0, group.held)
        counted = group.mechanism.output_space.alphabet is not None
        return cls(number, output, 0.0, counted, -group.people, law.reports(output))

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
        space = group.mechanism.output_space
        counts = np.zeros(space.size, dtype=np.int64)
        counts[group.outputs] = group.counts
        counts[self.output] = max(0, counts[self.output] - round(size))
        return grouped(group.mechanism, [(space.all(), counts)], group.name)
