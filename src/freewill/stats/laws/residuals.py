"""How far reports are from their laws: whom each law acts on, sums over groups, and residuals."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr, xlog1py, xlogy

from freewill.core.types import BoolArray, FloatArray, IntArray, Reports
from freewill.domain.mechanisms.base import Mechanism, held_beside_epsilon
from freewill.domain.outputs import listed_numbers
from freewill.errors import FreewillError
from freewill.numeric.operators.moments import SetChances, root_of
from freewill.stats.choice.model import ChoiceLaw, ChoiceModel
from freewill.stats.estimators.estimate import Start, default_tolerance, slope_at, theta_of
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group
from freewill.stats.information import OneStep, inverse_on_simplex, pulled

_EPSILON_STEP = 1e-3
"""Share of epsilon by which it is moved to see how the law moves."""
_CONSTANT = 1e-12
"""Variance of the share of theta in a set below which all sets have the same, up to rounding."""
_COUNTED = 4096
"""Outputs up to which each is tested, where they are no values."""
_FAR = 6.0
"""Standard errors of its mean from 0 at which a score is none: a law that lacks a factor."""
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


def law_of(group: Group, theta: FloatArray) -> "GroupLaw":
    """Return what a group's reports are compared with: nothing, where nothing is known of them.

    Reports that name their law by a public part are compared with the average of the laws that were
    named, which a few members stand for (`Family.mixture`).
    """
    members, shares = [group.mechanism], np.ones(1)
    if group.public is not None:
        part: Any = group.mechanism.public()
        members, shares = part.mixture(group.public)
    space = members[0].output_space
    if space.alphabet is not None:
        return CountedLaw(group, theta, members, shares)
    if all(member.set_chances() is not None for member in members):
        return BitLaw(group, theta, members, shares)
    single = group.public is None
    numbers = listed_numbers(space) if single and space.repeats else None
    if numbers is not None and numbers.size <= _COUNTED:
        return CountedLaw(group, theta, members, shares)
    epsilon = epsilon_of(group.mechanism)
    # Too many values to draw, or another epsilon that has other outputs, leave nothing to compare.
    with suppress(FreewillError):
        if single and epsilon is not None:
            return DrawnLaw(group, theta, epsilon)
    return GroupLaw(group, theta)


class GroupLaw:
    """Sums over the reports of one group: outputs first, the score of epsilon last, if any.

    A sum T of features f(z) over n reports has mean n E f, and theta moves it by n B d theta, with
    B = E[f | x], one row a feature. `sums` are T - n E f at theta, `slopes` is B, `expected` n p of
    each output, and `counted` says whether outputs are counted whole, and drawn so. In this class
    there are no sums: it is for reports of a kind that only their mechanism knows.
    """

    has_epsilon = counted = False

    def __init__(self, group: Group, theta: FloatArray) -> None:
        self.people, self._group, self._theta = group.people, group, theta
        self.sums, self.slopes = np.zeros(0), np.zeros((0, theta.size))
        self.expected, self._covariance = np.zeros(0), np.zeros((0, 0))

    def reports(self, output: int) -> float:
        """Return how many reports there are of an output, or with a bit set."""
        return float(self.sums[output] + self.expected[output])

    def variances(self) -> FloatArray:
        """Return the variance of each sum, theta known."""
        return np.diag(self._covariance).copy()

    def covariances(self, place: int) -> FloatArray:
        """Return the covariance of all sums with one."""
        return np.asarray(self._covariance[place])

    @cached_property
    def _root(self) -> FloatArray:
        """R with R R' the covariance of all sums and sum a / p - 1."""
        cross = self.people * self.slopes
        information = self.people * self._group.moments(self._theta).information()
        return root_of(np.block([[self._covariance, cross], [cross.T, information]]))

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Return so many draws of the sums, and of sum a / p - 1 over the same reports.

        As normal numbers of their covariance.
        """
        drawn = rng.standard_normal((many, len(self._root))) @ self._root.T
        return drawn[:, : self.sums.size], drawn[:, self.sums.size :]


class CountedLaw(GroupLaw):
    """Counts of outputs that are listed, which are multinomial with p = theta A.

    Features: 1 for each output and, of a single law, d log p / d epsilon.
    """

    counted = True

    def __init__(
        self, group: Group, theta: FloatArray, members: Sequence[Mechanism], shares: FloatArray
    ) -> None:
        super().__init__(group, theta)
        laws = [member.law() for member in members]
        fitted = [np.maximum(theta @ law, 0.0) for law in laws]
        fitted = [one / one.sum() for one in fitted]
        people = np.diff(np.rint(np.cumsum(shares) * group.people), prepend=0.0).astype(np.int64)
        self._parts = list(zip(shares.tolist(), people.tolist(), laws, fitted, strict=True))
        self.expected = self.people * np.asarray(shares @ np.stack(fitted))
        if group.public is None:
            counts, epsilon = all_counts(group), epsilon_of(group.mechanism)
            if epsilon is not None:
                low, high, apart = around(group.mechanism, epsilon)
                change = (theta @ (high.law() - low.law())) / apart
                self._score = change / np.where(fitted[0] > 0, fitted[0], np.inf)
                self.has_epsilon = True
        else:
            blocks = [np.bincount(*block, self.expected.size) for block in _inner(group)]
            counts = np.sum(blocks, axis=0)
        slopes = sum(share * (law - p) for share, _, law, p in self._parts)
        self.sums = self._with_score(counts - self.expected)
        self.slopes = self._with_score(np.asarray(slopes)).T

    def _with_score(self, counts: FloatArray) -> FloatArray:
        """Add the score of epsilon to counts along the last axis."""
        if not self.has_epsilon:
            return counts
        return np.concatenate([counts, (counts @ self._score)[..., None]], axis=-1)

    def variances(self) -> FloatArray:
        """Return n p (1 - p), and n sum p f^2."""
        outputs = self.people * sum(share * p * (1 - p) for share, _, _, p in self._parts)
        scores = [self.covariances(self.expected.size)[-1]] if self.has_epsilon else []
        return np.append(outputs, scores)

    def covariances(self, place: int) -> FloatArray:
        """Return n (p w - p p'w), for the weights w of one sum, and its product with the score."""
        size = self.expected.size
        weights = np.eye(1, size, place)[0] if place < size else self._score
        along = sum(share * p * (weights - p @ weights) for share, _, _, p in self._parts)
        return self._with_score(self.people * np.asarray(along))

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw counts, rare ones as they are: no normal number stands for them."""
        sums, scores = np.zeros((many, self.expected.size)), np.zeros((many, self._theta.size))
        for _, people, law, p in self._parts:
            drawn = rng.multinomial(people, p, size=many) - people * p
            sums += drawn
            scores += (drawn / np.where(p > 0, p, np.inf)) @ law.T
        return self._with_score(sums), scores


def _inner(group: Group) -> Iterator[tuple[Any, IntArray]]:
    """Yield blocks of reports without what names their law, and how many people sent each."""
    part: Any = group.mechanism.public()
    return ((part.output_space.split(outputs)[1], counts) for outputs, counts in group.blocks())


def all_counts(group: Group) -> IntArray:
    """Return how often each of all outputs was reported, in the order of `outputs()`."""
    space: Any = group.mechanism.output_space
    numbers, places = listed_numbers(space), group.outputs
    if numbers is not None:
        places = np.searchsorted(numbers, space.numbers(group.outputs))
    return np.bincount(places, group.counts, len(space.all())).astype(np.int64)


class BitLaw(GroupLaw):
    """Counts of the single bits of reports and, where it varies, of how many are set in each.

    Bit x is set with probability q + (p - q) theta_x, bits x and y both with
    b + (a - b) (theta_x + theta_y) (`SetChances`). Where bits are independent, how many are set is
    Bernoulli(p) + Binomial(k - 1, q), whatever theta, and the score of that law is the feature for
    epsilon. Where as many are set in each, it is the share of theta in the set, sum theta_x v_x,
    times what makes its mean move with epsilon as that of a score does.
    """

    def __init__(
        self, group: Group, theta: FloatArray, members: Sequence[Any], shares: FloatArray
    ) -> None:
        super().__init__(group, theta)
        chances = [member.set_chances() for member in members]
        features = zip(*(bit_sums(own, theta) for own in chances), strict=True)
        means, covariance, self.slopes = (
            np.asarray(sum(share * one for share, one in zip(shares, some, strict=True)))
            for some in features
        )
        self.expected, self._covariance = self.people * means, self.people * covariance
        self.sums = -self.expected
        if group.public is not None:
            for inner, counts in _inner(group):
                self.sums += members[0].operator(inner).by_bit(counts.astype(np.float64))
            return
        if group.summary.ones is not None:
            self.sums += group.summary.ones
        epsilon = epsilon_of(group.mechanism)
        if epsilon is not None:
            low, high, apart = around(group.mechanism, epsilon)
            near = low.set_chances(), high.set_chances()
            if chances[0].varies:
                self._add_score(group, chances[0], *near, apart)
            else:
                self._add_share(*near, apart)

    def _add_share(self, low: SetChances, high: SetChances, apart: float) -> None:
        """Add the share of theta in the sets, which are all of one size, unless it is constant."""
        along = self._covariance @ self._theta
        if not float(self._theta @ along) > _CONSTANT * self.people:
            return
        # E T = q + (p - q) theta'theta, and k q = d - (p - q): the mean of T moves by both.
        moved = (high.own - high.other - low.own + low.other) / apart
        moved *= float(self._theta @ self._theta) - 1 / self._theta.size
        weights = moved * self.people / float(self._theta @ along) * self._theta
        along = self._covariance @ weights
        self._add(float(weights @ self.sums), weights @ self.slopes, along, float(along @ weights))

    def _add_score(
        self, group: Group, chances: SetChances, low: SetChances, high: SetChances, apart: float
    ) -> None:
        """Add the score of epsilon by how many bits are set."""
        size = self._theta.size
        set_law = _set_law(chances, size)
        change = (_set_law(high, size) - _set_law(low, size)) / apart
        score = np.divide(change, set_law, out=np.zeros(size + 1), where=set_law > 0)
        total = 0.0
        for outputs, counts in group.blocks():
            law: Any = group.mechanism.operator(outputs)
            total += float(counts @ score[law.ones])
        # Bit x with the score: by whether x is the value, and the number of other bits.
        own = chances.own * float(_binomial(size - 1, chances.other) @ score[1:])
        rest = chances.other * float(_set_law(chances, size - 1) @ score[1:])
        along = self.people * (self._theta * own + (1 - self._theta) * rest)
        self._add(total, np.zeros(size), along, self.people * float(set_law @ score**2))

    def _add(self, total: float, slope: FloatArray, along: FloatArray, variance: float) -> None:
        """Add the score of epsilon: its sum, slope, covariances with the bits, and variance."""
        self.sums, self.slopes = np.append(self.sums, total), np.vstack([self.slopes, slope])
        rows = np.block([self._covariance, along[:, None]]), np.append(along, variance)
        self._covariance, self.has_epsilon = np.vstack(rows), True


def bit_sums(chances: SetChances, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means and covariance of the bits of a report, and how theta moves them."""
    gain = chances.own - chances.other
    means = chances.other + gain * theta
    both = chances.others + (chances.pair - chances.others) * np.add.outer(theta, theta)
    covariance = both - np.outer(means, means)
    np.fill_diagonal(covariance, means * (1 - means))
    return means, covariance, gain * (np.eye(theta.size) - theta[:, None])


class DrawnLaw(GroupLaw):
    """The score of epsilon, f = d log p / d epsilon, over the reports of one group.

    Whatever the law is, f has mean 0 where the epsilon is right. How it moves with theta, and its
    variance, are sums over outputs that were drawn (`SampledLaw`).
    """

    has_epsilon = True

    def __init__(self, group: Group, theta: FloatArray, epsilon: float) -> None:
        super().__init__(group, theta)
        low, high, apart = around(group.mechanism, epsilon)

        def score(outputs: Reports) -> FloatArray:
            laws = (one.operator(outputs) for one in (low, high))
            below, above = (np.log(law.forward(theta)) + law.log_scale for law in laws)
            return np.asarray((above - below) / apart)

        outputs, law = group.mechanism.sampled
        drawn, shares = score(outputs), law.moments(theta).shares
        mean, square = float(shares @ drawn), float(shares @ drawn**2)
        self.has_epsilon = bool(abs(mean) <= _FAR * np.sqrt(square / len(drawn)))
        if not self.has_epsilon:
            return
        slope = law.operator.adjoint(law.mass * drawn)
        self.sums = np.array([sum(float(score(some) @ many) for some, many in group.blocks())])
        self.slopes = (slope - slope @ theta)[None, :]
        self._covariance = np.array([[self.people * (square - mean**2)]])


def epsilon_of(mechanism: Mechanism) -> float | None:
    """Return the epsilon that a mechanism is described by, None where it is by something else."""
    parameters = mechanism.parameters()
    # A law that was solved for belongs to its epsilon alone.
    value = None if "law" in parameters else parameters.get("epsilon")
    return float(value) if isinstance(value, float | int) else None


def at_epsilon(mechanism: Mechanism, epsilon: float) -> Mechanism:
    """Return the same mechanism with another epsilon.

    >>> import freewill as fw
    >>> at_epsilon(fw.KRR(fw.Linear(0, 2), 3.0), 2.5).epsilon
    2.5
    """
    given = {**held_beside_epsilon(mechanism), "epsilon": epsilon}
    return type(mechanism).from_parameters(mechanism.alphabet, given)


def around(mechanism: Mechanism, epsilon: float) -> tuple[Any, Any, float]:
    """Return the mechanism a little below and above its epsilon, and how far these are apart."""
    low, high = at_epsilon(mechanism, epsilon * (1 - _EPSILON_STEP)), mechanism
    with suppress(ValueError):  # the largest epsilon there is
        high = at_epsilon(mechanism, epsilon * (1 + _EPSILON_STEP))
    return low, high, float(epsilon_of(high) or 0.0) - float(epsilon_of(low) or 0.0)


def _binomial(trials: int, chance: float) -> FloatArray:
    """Return the binomial law of 0 to so many."""
    hits = np.arange(trials + 1)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance)))


def _set_law(chances: SetChances, size: int) -> FloatArray:
    """Return the law of how many of so many bits are set, one of them the own."""
    own = [1 - chances.own, chances.own]
    return np.convolve(_binomial(size - 1, chances.other), own) if size else np.zeros(1)


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
        model = ChoiceModel(evidence, default_tolerance(evidence), 100)
        solution = model.solve(law.choice, theta_of(start, evidence.alphabet))
        inside = pulled(solution.theta, evidence.people)
        size, contrasts, mean = inside.size, model.contrasts, law.choice @ model.contrasts
        thetas, jacobians = [], []
        prior = np.full(law.functions.shape[1] * contrasts.shape[1], law.scale**-2)
        information = np.diag(np.concatenate([np.zeros(size), prior]))
        for group, own, contrast in zip(evidence.groups, law.choice.T, contrasts, strict=True):
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
        return np.asarray(shares / (shares.sum() or 1.0))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals R = T - n_m B (theta_1 - theta_w) of all groups' sums T, one after the other.

    With theta_1 = theta_w + C (g - 1), R is linear in the reports, has mean 0 and, within a group
    and between two,

        cov R_m = n_m (cov f - s_m B C B'),   cov(R_m, R_l) = -n_m n_l / n  B_m C B_l'.

    A departure of one kind (an epsilon, forged reports on one output) shifts all residuals in
    proportion to their covariances with its own. Of each residual, `groups` has the group, `within`
    its place there, and `expected` how many reports n p are expected of its output or bit, infinite
    for the score of an epsilon, a sum of many; `slopes` are n_m B by all that is unknown, n_m B J_m
    where the choice is, too; `theta_known` has the variances that sums would have were theta known,
    and `tested` what is to be tested: nothing of groups that are too small.
    """

    crowd: Crowd
    laws: tuple[GroupLaw, ...]
    groups: IntArray
    within: IntArray
    expected: FloatArray
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
        expected = [np.append(law.expected, [np.inf] * law.has_epsilon) for law in laws]
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
            expected=np.concatenate(expected),
            slopes=slopes,
            residuals=np.concatenate([law.sums for law in laws]) - slopes @ step,
            variances=theta_known - np.einsum("ij,ij->i", slopes @ crowd.covariance, slopes),
            theta_known=theta_known,
            tested=~np.isin(groups, skipped),
        )

    @cached_property
    def testable(self) -> BoolArray:
        """Which residuals are more than rounding: the others no other group can contradict."""
        return np.asarray(self.tested & (self.variances > LEFT * self.theta_known))

    @cached_property
    def epsilons(self) -> BoolArray:
        """Which residuals are scores of an epsilon, and not of an output."""
        return np.isinf(self.expected)

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
    def _draws(self) -> FloatArray:
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
            pairs = (law.draws(rng, min(each, many - start)) for law in self.laws)
            sums, scores = zip(*pairs, strict=True)
            slope = sum(self.crowd.along(place, own) for place, own in enumerate(scores))
            steps = np.asarray(slope) @ self.crowd.covariance
            moved = steps.copy()
            parts = np.maximum(theta + steps[:, : theta.size], 0.0)
            inside = np.stack([pulled(row / row.sum(), people) for row in parts])
            moved[:, : theta.size] = inside - theta
            expected = np.maximum(self.expected + moved @ self.slopes.T, LEFT * self.expected)
            drawn = self._rooted(
                np.hstack(sums) - steps @ self.slopes.T, expected, self.testable & whole
            )
            largest = np.concatenate([largest, self.largest(drawn)], axis=1)
        return np.sort(largest)

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

    def p_value(self, deviation: float, *, epsilon: bool) -> float:
        """Return the chance that any of its kind deviates as far, times the number of kinds.

        By draws in which every law is right and, beyond all of them, the sum of the normal tails.
        """
        if not deviation > 0:
            return 1.0
        largest = self._draws[int(epsilon)]
        tested = [int(np.sum(self.testable & (self.epsilons == kind))) for kind in (False, True)]
        beyond = largest.size - int(np.searchsorted(largest, deviation))
        chance = (1 + beyond) / (1 + largest.size)
        if not beyond:
            chance = min(chance, 2 * tested[epsilon] * float(ndtr(-deviation)))
        return float(min(1.0, chance * (2 if all(tested) else 1)))


def rooted_deviance(apart: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the signed root of 2 (x log(x / m) - x + m) for x = m + apart, x >= 0.

    >>> rooted_deviance(np.array([-2.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0])).round(3)
    array([-2.   ,  0.   ,  1.243])
    """
    count = np.maximum(mean + apart, 0.0)
    # The mean of what is next to impossible may be too small to divide by, but has a logarithm.
    halves = xlogy(count, count) - xlogy(count, mean) + mean - count
    near = np.abs(apart) < _NEAR * mean
    excess = apart[near] / mean[near]
    halves[near] = mean[near] * excess * excess * (0.5 - excess / 6)
    return np.asarray(np.copysign(np.sqrt(2 * np.maximum(halves, 0.0)), apart))
