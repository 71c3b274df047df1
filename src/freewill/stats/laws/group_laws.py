"""What the reports of a group are compared with: sums over them, their means and covariances."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.mechanisms.base import Mechanism, held_beside_epsilon
from freewill.domain.outputs import listed_numbers
from freewill.errors import FreewillError
from freewill.numeric.operators.moments import SetChances, root_of
from freewill.stats.groups import Group

_EPSILON_STEP = 1e-3
"""Share of epsilon by which it is moved to see how the law moves."""
_CONSTANT = 1e-12
"""Variance of the share of theta in a set below which all sets have the same, up to rounding."""
_COUNTED = 4096
"""Outputs up to which each is tested, where they are no values."""
_FAR = 6.0
"""Standard errors of its mean from 0 at which a score is none: a law that lacks a factor."""


def law_of(group: Group, theta: FloatArray) -> "GroupLaw":
    """Return what a group's reports are compared with: nothing, where nothing is known of them."""
    if group.mechanism.output_space.alphabet is not None:
        return SymbolLaw(group, theta)
    if group.public is not None:
        return PublicLaw(group, theta)
    chances = group.mechanism.set_chances()
    if chances is not None:
        return BitLaw(group, theta, chances)
    space = group.mechanism.output_space
    numbers = listed_numbers(space) if space.repeats else None
    if numbers is not None and numbers.size <= _COUNTED:
        return SymbolLaw(group, theta)
    epsilon = epsilon_of(group.mechanism)
    try:
        return GroupLaw(group, theta) if epsilon is None else DrawnLaw(group, theta, epsilon)
    except FreewillError:  # too many values, or another epsilon has other outputs
        return GroupLaw(group, theta)


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


class SymbolLaw(GroupLaw):
    """Counts of outputs that are listed, which are multinomial with p = theta A.

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
            low, high, apart = around(group.mechanism, epsilon)
            self._score = (theta @ (high.law() - low.law())) / apart / divisor
        self.expected = self.people * self._shares
        self.sums = self._with_score(all_counts(group) - self.expected)
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


def all_counts(group: Group) -> IntArray:
    """Return how often each of all outputs was reported, in the order of `outputs()`."""
    space: Any = group.mechanism.output_space
    numbers = listed_numbers(space)
    places = (
        group.outputs if numbers is None else np.searchsorted(numbers, space.numbers(group.outputs))
    )
    counts = np.zeros(len(space.all()), dtype=np.int64)
    counts[places] = group.counts
    return counts


class BitLaw(GroupLaw):
    """Counts of the single bits of reports and, where it varies, of how many are set in each.

    Bit x is set with probability q + (p - q) theta_x, bits x and y both with
    b + (a - b) (theta_x + theta_y) (`SetChances`). Where bits are independent, how many are set is
    Bernoulli(p) + Binomial(k - 1, q), whatever theta, and the score of that law is the feature for
    epsilon. Where as many are set in each, it is the share of theta in the set, sum theta_x v_x,
    times what makes its mean move with epsilon as that of a score does.
    """

    def __init__(self, group: Group, theta: FloatArray, chances: SetChances) -> None:
        super().__init__(group, theta)
        size, ones = theta.size, group.summary.ones
        means, covariance, self.slopes = bit_features(chances, theta)
        self.expected = self.people * means
        self.sums = (np.zeros(size) if ones is None else ones) - self.expected
        self._covariance = self.people * covariance
        epsilon = epsilon_of(group.mechanism)
        if epsilon is not None:
            near = around(group.mechanism, epsilon)
            if chances.varies:
                self._add_score(group, chances, *near)
            else:
                self._add_share(*near)
            self.has_epsilon = self.sums.size > size

    def _add_share(self, low: Mechanism, high: Mechanism, apart: float) -> None:
        """Add the share of theta in the sets, which are all of one size, unless it is constant."""
        along = self._covariance @ self._theta
        if not float(self._theta @ along) > _CONSTANT * self.people:
            return
        gains = [chances.own - chances.other for chances in map(_set_chances, (low, high))]
        # E T = q + (p - q) theta'theta, and k q = d - (p - q): the mean of T moves by both.
        moved = (gains[1] - gains[0]) / apart * (self._theta @ self._theta - 1 / self._theta.size)
        weights = moved * self.people / float(self._theta @ along) * self._theta
        self.sums = np.append(self.sums, weights @ self.sums)
        self.slopes = np.vstack([self.slopes, weights @ self.slopes])
        along = self._covariance @ weights
        self._covariance = np.block(
            [[self._covariance, along[:, None]], [along, float(along @ weights)]]
        )

    def _add_score(
        self, group: Group, chances: SetChances, low: Any, high: Any, apart: float
    ) -> None:
        """Add the score of epsilon by how many bits are set."""
        size = self._theta.size
        set_law = _set_law(chances, size)
        laws = (_set_law(_set_chances(one), size) for one in (low, high))
        change = -np.subtract(*laws) / apart
        score = np.divide(change, set_law, out=np.zeros(size + 1), where=set_law > 0)
        self.sums = np.append(self.sums, float(_set_counts(group, size) @ score))
        self.slopes = np.vstack([self.slopes, np.zeros(size)])
        # Bit x with the score: by whether x is the value, and the number of other bits.
        own = chances.own * float(_binomial(size - 1, chances.other) @ score[1:])
        rest = chances.other * float(_set_law(chances, size - 1) @ score[1:])
        along = self.people * (self._theta * own + (1 - self._theta) * rest)
        corner = self.people * float(set_law @ score**2)
        self._covariance = np.block([[self._covariance, along[:, None]], [along, corner]])


def bit_features(
    chances: SetChances, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means and covariance of the bits of a report, and how theta moves them."""
    gain = chances.own - chances.other
    means = chances.other + gain * theta
    both = chances.others + (chances.pair - chances.others) * np.add.outer(theta, theta)
    covariance = both - np.outer(means, means)
    np.fill_diagonal(covariance, means * (1 - means))
    return means, covariance, gain * (np.eye(theta.size) - theta[:, None])


def output_features(
    law: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same of 1 for each output."""
    shares = theta @ law
    return shares, np.diag(shares) - np.outer(shares, shares), (law - shares).T


class PublicLaw(GroupLaw):
    """Counts of outputs, or of bits, over reports that name their law by a public part.

    Given the public parts of all reports, their means and covariances are the averages of those of
    the laws that were named, which a few stand for (`Family.mixture`).
    """

    def __init__(self, group: Group, theta: FloatArray) -> None:
        super().__init__(group, theta)
        part: Any = group.mechanism.public()
        members, shares = part.mixture(group.public)
        values = members[0].output_space.alphabet is not None
        chances = [member.set_chances() for member in members]
        if not values and None in chances:
            return
        features = [
            output_features(member.law(), theta) if values else bit_features(own, theta)
            for member, own in zip(members, chances, strict=True)
        ]
        means, covariance, self.slopes = (
            np.tensordot(shares, np.stack(some), 1) for some in zip(*features, strict=True)
        )
        self.expected, self._covariance = self.people * means, self.people * covariance
        self.sums = -self.expected
        self.counted = values
        if values:
            self._members = list(zip(apportioned(shares, self.people), members, strict=True))
        for outputs, counts in group.blocks():
            inner = part.output_space.split(outputs)[1]
            if values:
                self.sums += np.bincount(inner, counts, means.size)
            else:
                law: Any = members[0].operator(inner)
                self.sums += law.by_bit(counts.astype(np.float64))

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw counts of outputs, as they are, from each of the laws; bits as normal numbers."""
        if not self.counted:
            return super().draws(rng, many)
        sums, scores = np.zeros((many, self.sums.size)), np.zeros((many, self._theta.size))
        for people, member in self._members:
            law = member.law()
            shares = self._theta @ law
            drawn = rng.multinomial(people, shares / shares.sum(), size=many) - people * shares
            sums += drawn
            scores += drawn @ (law / np.where(shares > 0, shares, np.inf)).T
        return sums, scores


def apportioned(shares: FloatArray, people: int) -> list[int]:
    """Return whole numbers that sum to the people, nearest to their shares.

    >>> apportioned(np.array([0.5, 0.26, 0.24]), 10)
    [5, 3, 2]
    """
    wanted = shares * people
    whole = np.floor(wanted).astype(np.int64)
    most = np.argsort(whole - wanted, kind="stable")[: people - int(whole.sum())]
    whole[most] += 1
    return [*map(int, whole)]


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
            return (log_chances(high, outputs, theta) - log_chances(low, outputs, theta)) / apart

        outputs, law = group.mechanism.sampled
        drawn, shares = score(outputs), law.moments(theta).shares
        mean, square = float(shares @ drawn), float(shares @ drawn**2)
        self.has_epsilon = abs(mean) <= _FAR * np.sqrt(square / len(drawn))
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
    low = at_epsilon(mechanism, epsilon * (1 - _EPSILON_STEP))
    try:
        high = at_epsilon(mechanism, epsilon * (1 + _EPSILON_STEP))
    except ValueError:  # the largest epsilon there is
        high = mechanism
    return low, high, float(epsilon_of(high) or 0.0) - float(epsilon_of(low) or 0.0)


def _set_chances(mechanism: Mechanism) -> SetChances:
    chances = mechanism.set_chances()
    assert chances is not None
    return chances


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
    set_bits = np.zeros(size + 1)
    for outputs, counts in group.blocks():
        law: Any = group.mechanism.operator(outputs)
        set_bits += np.bincount(law.ones, counts, minlength=size + 1)
    return set_bits


def log_chances(mechanism: Mechanism, outputs: Reports, theta: FloatArray) -> FloatArray:
    """Return log p of outputs."""
    operator = mechanism.operator(outputs)
    return np.asarray(np.log(operator.forward(theta)) + operator.log_scale)
