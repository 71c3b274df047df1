"""What each group's reports are compared with: the values of its people, and the law of sums."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from freewill.core.types import FloatArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.estimators.estimate import Start, default_tolerance, theta_of
from freewill.stats.evidence import Evidence, Group
from freewill.stats.information import inverse_on_simplex, pulled
from freewill.stats.one_step import OneStep, slope_at

_EPSILON_STEP = 1e-3
"""Share of epsilon by which it is moved to see how the law moves."""
_STEPS = 100


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
    def of(cls, evidence: Evidence, law: ChoiceLaw | None, start: Start | None = None) -> "Crowd":
        """Return the people of evidence, at the most likely theta given the law, pulled inside.

        `start` is what that is looked for from.
        """
        if law is None:
            return cls.free(OneStep(evidence, start))
        model = ChoiceModel(evidence, default_tolerance(evidence), _STEPS)
        first = np.full(model.size, 1 / model.size)
        first = first if start is None else theta_of(start, evidence.alphabet)
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
            own_information = group.mechanism.moments(theta).information()
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
            information = group.mechanism.moments(theta).information()
            through = self.along(place, self.along(place, information).T)
            shares[place] = group.people * float(np.sum(through * self.covariance))
        total = shares.sum()
        return shares / total if total > 0 else shares


def law_of(group: Group, theta: FloatArray) -> "GroupLaw":
    """Return what a group's reports are compared with: nothing, where outputs cannot be listed."""
    if isinstance(group.mechanism, RAPPOR):
        return BitLaw(group, theta)
    if group.mechanism.output_space.alphabet is None:
        return GroupLaw(group, theta)
    return SymbolLaw(group, theta)


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
    """Counts of the single bits of reports, and of how many are set in each.

    Bit x is set with probability q + (1 - 2 q) theta_x, and bits x and y have the covariance
    -(1 - 2 q)^2 theta_x theta_y. How many are set does not depend on theta: it is
    Bernoulli(1 - q) + Binomial(k - 1, q), and the score of that law is the feature for epsilon.
    """

    has_epsilon = True

    def __init__(self, group: Group, theta: FloatArray) -> None:
        super().__init__(group, theta)
        mechanism: Any = group.mechanism
        size, flip = theta.size, mechanism.flip
        gain = 1 - 2 * flip
        means = flip + gain * theta
        score = _ones_score(mechanism, size)
        guess = group.summary.guess
        ones = np.zeros(size) if guess is None else guess.ones
        self.expected = self.people * means
        self.sums = np.append(ones - self.expected, float(_set_counts(group, size) @ score))
        self.slopes = np.vstack([gain * (np.eye(size) - theta[:, None]), np.zeros(size)])
        # Bit x with the score: by whether x is the value, and the number of other bits.
        own = (1 - flip) * float(_binomial(size - 1, flip) @ score[1:])
        rest = flip * float(_set_law(flip, size - 1) @ score[1:])
        covariance = np.empty((size + 1, size + 1))
        covariance[:-1, :-1] = -(gain**2) * np.outer(theta, theta)
        np.fill_diagonal(covariance, means * (1 - means))
        covariance[-1, :-1] = covariance[:-1, -1] = theta * own + (1 - theta) * rest
        covariance[-1, -1] = float(_set_law(flip, size) @ score**2)
        self._covariance = self.people * covariance


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


def _set_law(flip: float, size: int) -> FloatArray:
    """Return the law of how many of so many bits are set, one of them the own."""
    return np.convolve(_binomial(size - 1, flip), [flip, 1 - flip]) if size else np.zeros(1)


def _ones_score(mechanism: Any, size: int) -> FloatArray:
    """Return d log P(j bits are set) / d epsilon."""
    low, high, apart = _around(mechanism, mechanism.epsilon)
    law = _set_law(mechanism.flip, size)
    change = (_set_law(high.flip, size) - _set_law(low.flip, size)) / apart
    return np.asarray(np.divide(change, law, out=np.zeros(size + 1), where=law > 0))


def _set_counts(group: Group, size: int) -> FloatArray:
    """Return in how many reports how many bits are set."""
    blocks: Any = [group.table]
    if group.table is None:
        every = (block for stream in group.streams for block in stream.source.blocks())
        own = (block for block in every if block.mechanism == group.mechanism.id)
        blocks = ((block.outputs, block.numbers) for block in own)
    set_bits = np.zeros(size + 1)
    for outputs, counts in blocks:
        many = np.bitwise_count(outputs).sum(axis=1, dtype=np.int64)
        set_bits += np.bincount(many, counts, minlength=size + 1)
    return set_bits
