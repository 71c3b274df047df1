"""How far reports are from their laws: sums over each group, and their residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, ndtr, xlog1py, xlogy

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.mechanisms.base import Mechanism, SetChances
from freewill.stats.evidence import Evidence, Group
from freewill.stats.information import pulled

if TYPE_CHECKING:
    from freewill.stats.laws.check import Crowd

_DRAWS, _FEWEST_DRAWS = 1000, 400
_WORK = 10_000_000_000
"""Products of numbers in all draws, beyond which there are fewer of them."""
_CHUNK = 1 << 22
"""Numbers of draws that are held at once."""
LEFT = 1e-6
"""Share of a variance that must be left, theta estimated, for a residual to be more than rounding.
"""
_NEAR = 1e-3
"""Relative distance from the mean within which a deviance is taken from its series."""
_EPSILON_STEP = 1e-3
"""Share of epsilon by which it is moved to see how the law moves."""


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

    crowd: "Crowd"
    laws: "tuple[GroupLaw, ...]"
    groups: IntArray
    within: IntArray
    epsilons: BoolArray
    slopes: FloatArray
    residuals: FloatArray
    variances: FloatArray
    theta_known: FloatArray
    tested: BoolArray

    @classmethod
    def of(cls, evidence: Evidence, crowd: "Crowd", skipped: Sequence[int] = ()) -> "Residuals":
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
            expected = np.maximum(self.expected + moved @ self.slopes.T, LEFT * self.expected)
            drawn = self._rooted(sums - steps @ self.slopes.T, expected, self.testable & whole)
            largest.append(self.largest(drawn))
        outputs, epsilons = np.sort(np.concatenate(largest, axis=1))
        return outputs, epsilons

    def largest(self, deviations: FloatArray) -> FloatArray:
        """Return the largest deviation of all outputs, and of all epsilons; 0 without any."""
        sizes = np.abs(deviations)
        kinds = (~self.epsilons, self.epsilons)
        return np.stack([sizes[..., kind].max(axis=-1, initial=0.0) for kind in kinds])

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
        largest = self._draws[epsilon]
        tested = [int(np.sum(self.testable & (self.epsilons == kind))) for kind in (False, True)]
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
    near = np.abs(apart) < _NEAR * mean
    excess = np.divide(apart, mean, out=np.zeros(near.shape), where=near)
    series = mean * excess * excess * (0.5 - excess / 6)
    # The mean of what is next to impossible may be too small to divide by.
    far = xlogy(count, count) - xlogy(count, mean) - count + mean
    return np.asarray(np.sign(apart) * np.sqrt(2 * np.where(near, series, np.maximum(far, 0.0))))


def law_of(group: Group, theta: FloatArray) -> "GroupLaw":
    """Return what a group's reports are compared with: nothing, where outputs cannot be listed."""
    if group.mechanism.output_space.alphabet is not None:
        return SymbolLaw(group, theta)
    chances = group.mechanism.set_chances()
    return GroupLaw(group, theta) if chances is None else BitLaw(group, theta, chances)


class GroupLaw:
    """Sums over the reports of one group: outputs first, the score of epsilon last, if any.

    A sum T of features f(z) over n reports has mean n E f, and theta moves it by n B d theta, with
    B = E[f | x], one row a feature. `sums` are T - n E f at theta, `slopes` is B, `expected` n p of
    each output, and `counted` says whether outputs are counted whole, and drawn so. In this class
    there are no sums: it is for reports of a kind that only their mechanism knows.
    """

    has_epsilon = False
    counted = False

    def __init__(self, group: Group, theta: FloatArray) -> None:
        self.people, self._mechanism, self._theta = group.people, group.mechanism, theta
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
        information = self.people * self._mechanism.moments(self._theta).information()
        roots, vectors = np.linalg.eigh(
            np.block([[self._covariance, cross], [cross.T, information]])
        )
        return np.asarray(vectors * np.sqrt(np.maximum(roots, 0.0)))

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Return so many draws of the sums, and of sum a / p - 1 over the same reports.

        As normal numbers of their covariance.
        """
        drawn = rng.standard_normal((many, len(self._root))) @ self._root.T
        return drawn[:, : self.sums.size], drawn[:, self.sums.size :]


class SymbolLaw(GroupLaw):
    """Counts of outputs, which are multinomial with p = theta A.

    Features: 1 for each output, and d log p / d epsilon.
    """

    counted = True

    def __init__(self, group: Group, theta: FloatArray) -> None:
        super().__init__(group, theta)
        law, epsilon = group.mechanism.law(), epsilon_of(group.mechanism)
        shares = np.maximum(theta @ law, 0.0)
        self._shares = shares / shares.sum()
        divisor = np.where(self._shares > 0, self._shares, np.inf)
        self._ratios = law / divisor - (self._shares > 0)
        self.has_epsilon = epsilon is not None
        if epsilon is not None:
            low, high, apart = _around(group.mechanism, epsilon)
            self._score = (theta @ (high.law() - low.law())) / apart / divisor
        counts = np.zeros(shares.size)
        counts[group.outputs] = group.counts
        self.expected = self.people * self._shares
        self.sums = self._with_score(counts - self.expected)
        self.slopes = self._with_score(law - self._shares).T

    def _with_score(self, counts: FloatArray) -> FloatArray:
        """Add the score of epsilon to counts along the last axis."""
        if not self.has_epsilon:
            return counts
        return np.concatenate([counts, (counts @ self._score)[..., None]], axis=-1)

    def variances(self) -> FloatArray:
        """Return n p (1 - p), and n sum p f^2."""
        outputs = self.people * self._shares * (1 - self._shares)
        if not self.has_epsilon:
            return np.asarray(outputs)
        centred = self._score - float(self._shares @ self._score)
        return np.append(outputs, self.people * float(self._shares @ centred**2))

    def covariances(self, place: int) -> FloatArray:
        """Return n (p w - p p'w), for the weights w of one sum, and its product with the score."""
        size = self._shares.size
        weights = np.eye(1, size, place)[0] if place < size else self._score
        along = self._shares * (weights - self._shares @ weights)
        return self._with_score(self.people * along)

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw counts, rare ones as they are: no normal number stands for them."""
        drawn = rng.multinomial(self.people, self._shares, size=many) - self.expected
        return self._with_score(drawn), np.asarray(drawn @ self._ratios.T)


class BitLaw(GroupLaw):
    """Counts of the single bits of reports and, where it varies, of how many are set in each.

    Bit x is set with probability q + (p - q) theta_x, bits x and y both with
    b + (a - b) (theta_x + theta_y) (`SetChances`). Where bits are independent, how many are set is
    Bernoulli(p) + Binomial(k - 1, q), whatever theta, and the score of that law shows epsilon.
    """

    def __init__(self, group: Group, theta: FloatArray, chances: SetChances) -> None:
        super().__init__(group, theta)
        size, ones = theta.size, group.summary.ones
        gain = chances.own - chances.other
        means = chances.other + gain * theta
        both = chances.others + (chances.pair - chances.others) * np.add.outer(theta, theta)
        covariance = both - np.outer(means, means)
        np.fill_diagonal(covariance, means * (1 - means))
        self.expected = self.people * means
        self.sums = (np.zeros(size) if ones is None else ones) - self.expected
        self.slopes = gain * (np.eye(size) - theta[:, None])
        self._covariance = self.people * covariance
        epsilon = epsilon_of(group.mechanism)
        if epsilon is not None and chances.varies:
            self._add_score(group, epsilon, chances)

    def _add_score(self, group: Group, epsilon: float, chances: SetChances) -> None:
        """Add the score of epsilon by how many bits are set."""
        self.has_epsilon, size = True, self._theta.size
        low, high, apart = _around(group.mechanism, epsilon)
        set_law = _set_law(chances, size)
        change = (_set_law(high.set_chances(), size) - _set_law(low.set_chances(), size)) / apart
        score = np.divide(change, set_law, out=np.zeros(size + 1), where=set_law > 0)
        self.sums = np.append(self.sums, float(_set_counts(group, size) @ score))
        self.slopes = np.vstack([self.slopes, np.zeros(size)])
        # Bit x with the score: by whether x is the value, and the number of other bits.
        own = chances.own * float(_binomial(size - 1, chances.other) @ score[1:])
        rest = chances.other * float(_set_law(chances, size - 1) @ score[1:])
        along = self.people * (self._theta * own + (1 - self._theta) * rest)
        corner = self.people * float(set_law @ score**2)
        self._covariance = np.block([[self._covariance, along[:, None]], [along, corner]])


def epsilon_of(mechanism: Mechanism) -> float | None:
    """Return the epsilon that a mechanism is described by, None where it is by something else."""
    value = mechanism.parameters().get("epsilon")
    return float(value) if isinstance(value, float | int) else None


def at_epsilon(mechanism: Mechanism, epsilon: float) -> Mechanism:
    """Return the same mechanism with another epsilon.

    >>> import freewill as fw
    >>> at_epsilon(fw.KRR(fw.Linear(0, 2), 3.0), 2.5).epsilon
    2.5
    """
    given = {**mechanism.parameters(), "epsilon": epsilon}
    return type(mechanism).from_parameters(mechanism.alphabet, given)


def _around(mechanism: Mechanism, epsilon: float) -> tuple[Any, Any, float]:
    """Return the mechanism a little below and above its epsilon, and how far these are apart."""
    low = at_epsilon(mechanism, epsilon * (1 - _EPSILON_STEP))
    try:
        high = at_epsilon(mechanism, epsilon * (1 + _EPSILON_STEP))
    except ValueError:  # the largest epsilon there is
        high = mechanism
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


def _set_counts(group: Group, size: int) -> FloatArray:
    """Return in how many reports how many bits are set."""
    blocks: Any = [group.table]
    if group.table is None:
        every = (block for stream in group.streams for block in stream.source.blocks())
        own = (block for block in every if block.mechanism == group.mechanism.id)
        blocks = ((block.outputs, block.numbers) for block in own)
    set_bits = np.zeros(size + 1)
    for outputs, counts in blocks:
        law: Any = group.mechanism.operator(outputs)
        set_bits += np.bincount(law.ones, counts, minlength=size + 1)
    return set_bits
