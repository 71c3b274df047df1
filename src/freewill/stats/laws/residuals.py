"""How far reports are from their laws: whom each law acts on, sums over groups, and residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.estimators.estimate import Start, default_tolerance, slope_at, theta_of
from freewill.stats.evidence import Evidence
from freewill.stats.information import OneStep, inverse_on_simplex, pulled
from freewill.stats.laws.group_laws import GroupLaw, law_of

if TYPE_CHECKING:
    from freewill.stats.choice.aware import ChoiceAwareEstimate

_STEPS = 100
_RAREST = 1e-9
"""Share of the people of a value who choose a mechanism, at least: nothing divides by 0."""
_DRAWS, _FEWEST_DRAWS = 1000, 400
_WORK = 10_000_000_000
"""Products of numbers in all draws, beyond which there are fewer of them."""
_CHUNK = 1 << 22
"""Numbers of draws that are held at once."""
_FURTHER = 100
"""Draws that deviate further than the reports, of either kind, from which on no more are needed: a
p-value above .1 is then known within a tenth of itself."""
LEFT = 1e-6
"""Share of a variance that must be left, theta estimated, for a residual to be more than rounding.
"""
_NEAR = 1e-3
"""Relative distance from the mean within which a deviance is taken from its series."""


@dataclass(frozen=True, eq=False)
class ChoiceLaw:
    """Who chooses what, and the functions of the value by which it may be otherwise.

    `choice` is c, [value, mechanism]; `functions` are [value, function], the constant not among
    them; `contrasts` those of the mechanisms' logits, orthonormal, [mechanism, contrast]; `scale`
    is the prior standard deviation of the coefficients.
    """

    choice: FloatArray
    functions: FloatArray
    contrasts: FloatArray
    scale: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Estimated values of the people of each group, and how they move with what is unknown.

    Where the choice is free, theta alone is unknown and every group has it. Where it depends on
    the value, by logits sum_j f_j(x) b_jm, those who choose m have

        theta_m(x) = theta(x) c_m(x) / s_m,   s_m = sum_x theta(x) c_m(x),

    and theta and b are unknown. With J_m = d theta_m / d (theta, b) but for its normalisation,
    which no law notices, and K_m the information of mechanism m at theta_m,

        I = sum_m n_m J_m' K_m J_m,    (theta, b)_1 = (theta, b)_w + C sum_m J_m' U_m,    C = I^-

    on the simplex, U_m the sum of a / p_m - 1 over the reports of group m. `theta` is theta_w of
    everybody, `thetas` are theta_m, `covariance` is C, and `jacobians` are J_m, [value, unknown];
    there are none where theta is all that is unknown, and J_m = 1.
    """

    theta: FloatArray
    thetas: tuple[FloatArray, ...]
    jacobians: tuple[FloatArray, ...]
    covariance: FloatArray
    law: ChoiceLaw | None

    @classmethod
    def free(cls, fit: OneStep) -> "Crowd":
        """Return the people of a fit, whose choice is free."""
        inside, count = fit.information.theta, len(fit.evidence.groups)
        return cls(inside, (inside,) * count, (), fit.information.covariance, None)

    @classmethod
    def of(cls, evidence: Evidence, law: ChoiceLaw | None, start: Start) -> "Crowd":
        """Return the people of evidence, at the most likely theta given the law, pulled inside.

        `start` is what that is looked for from.
        """
        if law is None:
            return cls.free(OneStep(evidence, start))
        model = ChoiceModel(evidence, default_tolerance(evidence), _STEPS)
        first = theta_of(start, evidence.alphabet)
        inside = pulled(model.solve(law.choice, first).theta, evidence.people)
        size, mean = inside.size, law.choice @ law.contrasts
        thetas, jacobians = [], []
        prior = np.full(law.functions.shape[1] * law.contrasts.shape[1], law.scale**-2)
        information = np.diag(np.concatenate([np.zeros(size), prior]))
        for group, own, contrast in zip(evidence.groups, law.choice.T, law.contrasts, strict=True):
            share = float(own @ inside)
            theta = own * inside / share
            moves = theta[:, None] * (contrast - mean)
            step = (law.functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            jacobian = np.hstack([np.diag(own / share), step])
            own_information = group.moments(theta).information()
            information += group.people * jacobian.T @ own_information @ jacobian
            thetas.append(theta)
            jacobians.append(jacobian)
        covariance, _ = inverse_on_simplex(information, inside)
        return cls(inside, tuple(thetas), tuple(jacobians), covariance, law)

    def amended(self, evidence: Evidence) -> "Crowd":
        """Return the people of evidence without departures, by the same choice law."""
        return Crowd.of(evidence, self.law, start=self.theta)

    def along(self, group: int, rows: FloatArray) -> FloatArray:
        """Return rows h J_m: how a group's functionals of theta_m move with what is unknown."""
        return np.asarray(rows @ self.jacobians[group]) if self.jacobians else rows

    def slope(self, evidence: Evidence) -> FloatArray:
        """Return sum_m J_m' U_m."""
        if self.law is None:
            return np.asarray(evidence.people * (slope_at(evidence, self.theta) - 1))
        total = np.zeros(len(self.covariance))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            own = slope_at(Evidence(evidence.alphabet, (group,)), theta) - 1
            total += self.along(place, group.people * own)
        return total

    def shares(self, evidence: Evidence) -> FloatArray:
        """Return the part of the information that each group holds: trace(n_m J_m' K_m J_m C)."""
        shares = np.zeros(len(self.thetas))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            information = group.moments(theta).information()
            through = self.along(place, self.along(place, information).T)
            shares[place] = group.people * float(np.sum(through * self.covariance))
        total = shares.sum()
        return shares / total if total > 0 else shares


def choice_law(aware: "ChoiceAwareEstimate", bends: bool = True) -> ChoiceLaw:
    """Return the choice law of an estimate, with all bends that its intervals allow for.

    Or with those of its own basis alone, which is what a simple law is worth beside a departure.
    """
    joint, best = aware.made_from, aware.best
    choice = np.maximum(aware.choice, _RAREST)
    choice = choice / choice.sum(axis=1, keepdims=True)
    functions, spread = (joint.basis, joint.spread) if bends else (best.functions, best.spread)
    return ChoiceLaw(choice, functions.functions, joint.model.contrasts, spread)


@dataclass(frozen=True, eq=False)
class Residuals:
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
    def of(cls, evidence: Evidence, crowd: Crowd, skipped: Sequence[int] = ()) -> "Residuals":
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
        left = self.variances > LEFT * self.theta_known
        return np.asarray(left & (self.theta_known > 0) & self.tested)

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
        deviations[..., counts] = rooted_deviance(residuals[..., counts] / share**2, mean)
        return deviations

    @cached_property
    def _draws(self) -> tuple[FloatArray, FloatArray]:
        """The largest deviations of outputs and of epsilons, were every law right, sorted.

        Reports are drawn at theta_w, and theta estimated from them: by the
        linear theta_1 for the residuals and, as the maximum likelihood has no negative shares, its
        positive part for what is expected. For an estimate that follows rare reports makes them
        less surprising. Draws end once enough deviate as far as the reports do: a p-value by such a
        number of draws is as valid (Besag and Clifford, Biometrika 78 (1991), 301-304).
        """
        rng, theta = np.random.default_rng(0), self.crowd.theta
        many = int(np.clip(_WORK // max(1, self.slopes.size), _FEWEST_DRAWS, _DRAWS))
        people = sum(law.people for law in self.laws)
        # Bits are drawn as normal numbers already.
        whole = np.array([law.counted for law in self.laws])[self.groups] & ~self.epsilons
        each = max(1, _CHUNK // max(1, self.groups.size))
        observed = self.largest(self.deviations())[:, None]
        largest = np.zeros((2, 0))
        for start in range(0, many, each):
            if np.sum(largest >= observed, axis=1).min() >= _FURTHER:
                break
            pairs = [law.draws(rng, min(each, many - start)) for law in self.laws]
            scores = [self.crowd.along(place, pair[1]) for place, pair in enumerate(pairs)]
            steps = np.asarray(sum(scores)) @ self.crowd.covariance
            sums = np.concatenate([pair[0] for pair in pairs], axis=1)
            moved = steps.copy()
            moved[:, : theta.size] = _positive(theta + steps[:, : theta.size], people) - theta
            expected = np.maximum(self.expected + moved @ self.slopes.T, LEFT * self.expected)
            drawn = self._rooted(sums - steps @ self.slopes.T, expected, self.testable & whole)
            largest = np.concatenate([largest, self.largest(drawn)], axis=1)
        outputs, epsilons = np.sort(largest)
        return outputs, epsilons

    def largest(self, deviations: FloatArray) -> FloatArray:
        """Return the largest deviation of all outputs, and of all epsilons; 0 without any."""
        sizes = np.abs(deviations)
        kinds = (~self.epsilons, self.epsilons)
        return np.stack([sizes[..., kind].max(axis=-1, initial=0.0) for kind in kinds])

    def furthest(self, count: int) -> FloatArray:
        """Return the largest deviation of outputs, and of epsilons, in each of so many groups."""
        sizes, furthest = np.abs(self.deviations()), np.zeros((2, count))
        np.maximum.at(furthest, (self.epsilons.astype(int), self.groups), sizes)
        return furthest

    def p_values(self, left: "Residuals") -> tuple[float, float]:
        """Return the p-value of the largest deviation left of outputs, and of epsilons."""
        outputs, epsilons = left.largest(left.deviations()).tolist()
        return self.p_value(outputs, epsilon=False), self.p_value(epsilons, epsilon=True)

    @cached_property
    def _tested_of_kind(self) -> list[int]:
        """How many outputs are tested, and how many epsilons."""
        return [int(np.sum(self.testable & (self.epsilons == kind))) for kind in (False, True)]

    def p_value(self, deviation: float, *, epsilon: bool) -> float:
        """Return the chance that any of its kind deviates as far, times the number of kinds.

        By draws in which every law is right and, beyond all of them, the sum of the normal tails.
        """
        if not deviation > 0:
            return 1.0
        largest = self._draws[epsilon]
        tested = self._tested_of_kind
        beyond = largest.size - int(np.searchsorted(largest, deviation))
        chance = (1 + beyond) / (1 + largest.size)
        if not beyond:
            chance = min(chance, 2 * tested[epsilon] * float(ndtr(-deviation)))
        return min(1.0, chance * (2 if all(tested) else 1))


def _positive(thetas: FloatArray, people: int) -> FloatArray:
    """Return the positive parts of rows, pulled inside as theta_w is."""
    parts = np.maximum(thetas, 0.0)
    parts /= parts.sum(axis=1, keepdims=True)
    return np.stack([pulled(row, people) for row in parts])


def rooted_deviance(apart: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the signed root of 2 (x log(x / m) - x + m) for x = m + apart, x >= 0.

    >>> rooted_deviance(np.array([-2.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0])).round(3)
    array([-2.   ,  0.   ,  1.243])
    """
    count = np.maximum(mean + apart, 0.0)
    # The mean of what is next to impossible may be too small to divide by, but has a logarithm.
    with np.errstate(all="ignore"):
        halves = count * (np.log(count) - np.log(mean))
    halves[count == 0] = 0.0
    halves += mean - count
    near = np.abs(apart) < _NEAR * mean
    excess = apart[near] / mean[near]
    halves[near] = mean[near] * excess * excess * (0.5 - excess / 6)
    return np.asarray(np.copysign(np.sqrt(2 * np.maximum(halves, 0.0)), apart))
