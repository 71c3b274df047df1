"""How far reports are from their laws, theta estimated from everyone: residuals and their draws."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.stats.evidence import Evidence
from freewill.stats.information import pulled
from freewill.stats.laws.crowds import Crowd
from freewill.stats.laws.group_laws import GroupLaw, law_of

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


@dataclass(frozen=True, eq=False)
class Departures:
    """Residuals R = T - n_m B (theta_1 - theta_w) of all groups' sums T, one after the other.

    With theta_1 = theta_w + C (g - 1), R is linear in the reports, has mean 0 and, within a group
    and between two,

        cov R_m = n_m (cov f - s_m B C B'),   cov(R_m, R_l) = -n_m n_l / n  B_m C B_l'.

    A departure of one kind (an epsilon, forged reports on one output) shifts all residuals in
    proportion to their covariances with its own.
    """

    crowd: Crowd
    """Whose values the laws act on, at theta_w."""
    laws: tuple[GroupLaw, ...]
    groups: IntArray
    """To which group each residual belongs."""
    epsilons: BoolArray
    """Which residuals are scores of an epsilon; the others are of outputs."""
    slopes: FloatArray
    """n_m B, a row a residual, by all that is unknown: n_m B J_m where the choice is, too."""
    residuals: FloatArray
    variances: FloatArray
    known: FloatArray
    """The variances that sums would have were theta known."""
    asked: BoolArray
    """Which residuals are asked for: not those of groups that are too small."""

    @classmethod
    def of(cls, evidence: Evidence, crowd: Crowd, skipped: Sequence[int] = ()) -> "Departures":
        """Take the residuals of evidence of such people."""
        laws = tuple(map(law_of, evidence.groups, crowd.values))
        sizes = [law.sums.size for law in laws]
        groups = np.repeat(np.arange(len(laws)), sizes)
        ends = np.cumsum(sizes) - 1
        epsilons = np.zeros(groups.size, dtype=np.bool_)
        epsilons[[end for end, law in zip(ends, laws, strict=True) if law.has_epsilon]] = True
        slopes = np.concatenate(
            [crowd.along(place, law.people * law.slopes) for place, law in enumerate(laws)]
        )
        known = np.concatenate([law.variances() for law in laws])
        step = crowd.spread @ crowd.slope(evidence)
        residuals = np.concatenate([law.sums for law in laws]) - slopes @ step
        variances = known - np.einsum("ij,ij->i", slopes @ crowd.spread, slopes)
        asked = ~np.isin(groups, skipped)
        return cls(crowd, laws, groups, epsilons, slopes, residuals, variances, known, asked)

    @cached_property
    def testable(self) -> BoolArray:
        """Which residuals are more than rounding: the others no other group can contradict."""
        left = self.variances > _LEFT * self.known
        return np.asarray(left & (self.known > 0) & self.asked)

    def column(self, place: int) -> FloatArray:
        """Return the covariances of all residuals with one."""
        found = -self.slopes @ (self.crowd.spread @ self.slopes[place])
        group = int(self.groups[place])
        own = np.flatnonzero(self.groups == group)
        found[own] += self.laws[group].covariances(place - int(own[0]))
        return np.asarray(found)

    def sizes(self, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return how large some departures are together, and their standard errors.

        What is added to an epsilon, or to the reports of an output: of these, e more shift the
        residuals by their covariances with its own, where it is expected e times.
        """
        told = np.stack([self.column(place)[[*places]] for place in places])
        known = _inverse(told)
        unit = np.where(self.epsilons, 1.0, self.expected)[[*places]]
        errors = np.sqrt(np.maximum(np.diag(known), 0.0))
        return unit * (known @ self.residuals[[*places]]), unit * errors

    def without(self, places: Sequence[int]) -> "Departures":
        """Return what is left once some departures, of any size, are taken as given."""
        if not places:
            return self
        columns = np.stack([self.column(place) for place in places])
        known = _inverse(columns[:, [*places]]) @ columns
        variances = self.variances - np.einsum("ij,ij->j", known, columns)
        asked = self.asked.copy()
        asked[[*places]] = False
        left = self.residuals - self.residuals[[*places]] @ known
        return replace(self, residuals=left, variances=variances, asked=asked)

    @cached_property
    def expected(self) -> FloatArray:
        """Expected reports n p of each output or bit; infinite for epsilons, sums of many."""
        found = np.full(self.groups.size, np.inf)
        found[~self.epsilons] = np.concatenate([law.expected for law in self.laws])
        return found

    def deviations(self) -> FloatArray:
        """Return residuals as nearly normal numbers, those of rare outputs too.

        A count with expectation e, of which theta estimated leaves the share r of its variance, has
        a residual with variance r e and third moment r^3 e, as r^2 (X - l) has for X Poisson with
        mean l = e / r^3: the signed root of the deviance of X is nearly normal. 0 where there is
        nothing to test.
        """
        return self._rooted(self.residuals, self.expected, self.testable & ~self.epsilons)

    def standardised(self) -> FloatArray:
        """Return residuals in standard errors, 0 where there is nothing to test."""
        return self.residuals / np.sqrt(np.where(self.testable, self.variances, np.inf))

    def _rooted(self, residuals: FloatArray, expected: FloatArray, counts: BoolArray) -> FloatArray:
        """Return roots of deviances of residuals of counts, and standardised ones elsewhere."""
        found = residuals / np.sqrt(np.where(self.testable, self.variances, np.inf))
        share = self.variances[counts] / self.expected[counts]
        mean = expected[..., counts] / share**3
        found[..., counts] = rooted_deviance(residuals[..., counts] / share**2 / mean, mean)
        return np.asarray(found)

    def draws(self) -> FloatArray:
        """Return what `largest` would be were every law right, in rows, the same at each call.

        Reports are drawn at theta_w, and theta estimated from them: by the linear theta_1 for the
        residuals and, as the maximum likelihood has no negative shares, its positive part for what
        is expected. For an estimate that follows rare reports makes them less surprising.
        """
        rng, number = np.random.default_rng(0), len(self.laws)
        many = int(np.clip(_WORK // max(1, self.slopes.size), _FEWEST_DRAWS, _DRAWS))
        people, theta = sum(law.people for law in self.laws), self.crowd.theta
        # Bits are drawn as normal numbers already.
        whole = np.array([law.counted for law in self.laws])[self.groups] & ~self.epsilons
        found = np.zeros((many, 2 * number))
        each = max(1, _CHUNK // max(1, self.groups.size))
        for start in range(0, many, each):
            some = min(each, many - start)
            pairs = [law.draws(rng, some) for law in self.laws]
            scores = [self.crowd.along(place, pair[1]) for place, pair in enumerate(pairs)]
            steps = np.asarray(sum(scores)) @ self.crowd.spread
            sums = np.concatenate([pair[0] for pair in pairs], axis=1)
            moved = steps.copy()
            moved[:, : theta.size] = _positive(theta + steps[:, : theta.size], people) - theta
            expected = np.maximum(self.expected + moved @ self.slopes.T, _LEFT * self.expected)
            drawn = self._rooted(sums - steps @ self.slopes.T, expected, self.testable & whole)
            found[start : start + some] = self.largest(drawn)
        return found

    def largest(self, deviations: FloatArray) -> FloatArray:
        """Return the largest deviation of each group's outputs, then that of each epsilon.

        0 where there is nothing to test.
        """
        sizes = np.abs(deviations)
        found = np.zeros((*sizes.shape[:-1], 2 * len(self.laws)))
        for number in range(len(self.laws)):
            own = self.groups == number
            found[..., number] = sizes[..., own & ~self.epsilons].max(axis=-1, initial=0.0)
            score = sizes[..., own & self.epsilons]
            found[..., len(self.laws) + number] = score.max(axis=-1, initial=0.0)
        return found


def _inverse(covariance: FloatArray) -> FloatArray:
    """Return the inverse, scaled to a unit diagonal before; without what is only rounding."""
    variances = np.diag(covariance)
    scale = np.where(variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)
    unit = covariance * scale[:, None] * scale
    return np.asarray(np.linalg.pinv(unit, _LEFT, hermitian=True) * scale[:, None] * scale)


def _positive(thetas: FloatArray, people: int) -> FloatArray:
    """Return the positive parts of rows, pulled inside as theta_w is."""
    kept = np.maximum(thetas, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    return np.stack([pulled(row, people) for row in kept])


def rooted_deviance(excess: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the signed root of 2 (x log(x / m) - x + m) for x = m (1 + excess), x >= 0.

    >>> rooted_deviance(np.array([-1.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0])).round(3)
    array([-2.   ,  0.   ,  1.243])
    """
    excess = np.maximum(excess, -1.0)
    above = np.where(excess > -1, 1 + excess, 1.0)
    full = np.where(excess > -1, above * np.log(above), 0.0) - excess
    near = np.abs(excess) < _NEAR
    full = np.where(near, excess * excess * (0.5 - excess / 6), full)
    return np.asarray(np.sign(excess) * np.sqrt(2 * mean * np.maximum(full, 0.0)))
