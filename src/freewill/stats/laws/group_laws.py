"""What each group's reports are held against: counts whose law is known, and how theta moves it."""

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from freewill.core.types import FloatArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.stats.evidence import Group

_STEP = 1e-3
"""Share of epsilon by which it is moved to see how the law moves."""


class GroupLaw(Protocol):
    """Sums over the reports of one group: outputs first, the score of epsilon last, if any.

    A sum T of features f(z) over n reports has mean n E f, and theta moves it by n B d theta, with
    B = E[f | x], one row a feature.
    """

    people: int
    has_epsilon: bool
    sums: FloatArray
    """T - n E f at theta."""
    slopes: FloatArray
    """B, a row a feature."""
    expected: FloatArray
    """n p of each output."""
    counted: bool
    """Whether outputs are counted whole, and drawn so."""

    def variances(self) -> FloatArray:
        """Return the variance of each sum, theta known."""

    def covariances(self, place: int) -> FloatArray:
        """Return the covariance of all sums with one."""

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Return so many draws of the sums, and of sum a / p - 1 over the same reports."""


def law_of(group: Group, theta: FloatArray) -> GroupLaw:
    """Return what a group's reports are held against: nothing, where outputs cannot be listed."""
    if isinstance(group.mechanism, RAPPOR):
        return BitLaw(group, theta)
    if group.mechanism.output_space.alphabet is None:
        return UnknownLaw(group, theta)
    return SymbolLaw(group, theta)


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


def _around(mechanism: Mechanism, epsilon: float) -> tuple[Mechanism, Mechanism, float]:
    """Return the mechanism a little below and above its epsilon, and how far these are apart."""
    low = at_epsilon(mechanism, epsilon * (1 - _STEP))
    try:
        high = at_epsilon(mechanism, epsilon * (1 + _STEP))
    except ValueError:  # the largest epsilon there is
        high = mechanism
    return low, high, float(epsilon_of(high) or 0.0) - float(epsilon_of(low) or 0.0)


class SymbolLaw:
    """Counts of outputs, which are multinomial with p = theta A.

    Features: 1 for each output, and d log p / d epsilon.
    """

    counted = True

    def __init__(self, group: Group, theta: FloatArray) -> None:
        mechanism = group.mechanism
        self.people = group.people
        self._law = mechanism.law()
        shares = np.maximum(theta @ self._law, 0.0)
        self._shares = shares / shares.sum()
        divisor = np.where(self._shares > 0, self._shares, np.inf)
        self._ratios = self._law / divisor - (self._shares > 0)
        epsilon = epsilon_of(mechanism)
        self.has_epsilon = epsilon is not None
        self._score = np.zeros(shares.size)
        if epsilon is not None:
            low, high, apart = _around(mechanism, epsilon)
            self._score = (theta @ (high.law() - low.law())) / apart / divisor
        counts = np.zeros(shares.size)
        counts[group.outputs] = group.counts
        self.expected = self.people * self._shares
        self.sums = self._with_score(counts - self.expected)
        self.slopes = self._with_score(self._law - self._shares).T

    def _with_score(self, counts: FloatArray) -> FloatArray:
        """Add the score of epsilon to counts along the last axis."""
        if not self.has_epsilon:
            return counts
        return np.concatenate([counts, (counts @ self._score)[..., None]], axis=-1)

    def variances(self) -> FloatArray:
        """Return n p (1 - p), and n sum p f^2."""
        found = self.people * self._shares * (1 - self._shares)
        if not self.has_epsilon:
            return np.asarray(found)
        mean = float(self._shares @ self._score)
        own = float(self._shares @ (self._score - mean) ** 2)
        return np.append(found, self.people * own)

    def covariances(self, place: int) -> FloatArray:
        """Return n (p w - p p'w), for the weights w of one sum, and its product with the score."""
        weights = self._score
        if place < self._shares.size:
            weights = np.zeros(self._shares.size)
            weights[place] = 1.0
        along = self._shares * (weights - self._shares @ weights)
        return self._with_score(self.people * along)

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw counts, rare ones as they are: no normal number stands for them."""
        drawn = rng.multinomial(self.people, self._shares, size=many)
        drawn = drawn - self.people * self._shares
        return self._with_score(drawn), np.asarray(drawn @ self._ratios.T)


class BitLaw:
    """Counts of the single bits of reports, and of how many are set in each.

    Bit x is set with probability q + (1 - 2 q) theta_x, and bits x and y have the covariance
    -(1 - 2 q)^2 theta_x theta_y. How many are set does not depend on theta: it is
    Bernoulli(1 - q) + Binomial(k - 1, q), and the score of that law is the feature for epsilon.
    """

    has_epsilon = True
    counted = False

    def __init__(self, group: Group, theta: FloatArray) -> None:
        self.people = group.people
        mechanism: Any = group.mechanism
        self._theta, self._mechanism = theta, mechanism
        size, flip = theta.size, mechanism.flip
        ones, set_bits = _ones_of(group, size)
        gain = 1 - 2 * flip
        means = flip + gain * theta
        self.expected = self.people * means
        self._score = _ones_score(mechanism, size)
        score = float(set_bits @ self._score)
        self.sums = np.append(ones - self.people * means, score)
        self.slopes = np.vstack([gain * (np.eye(size) - theta[:, None]), np.zeros(size)])
        # Bit x with the score: by whether x is the value, and the number of other bits.
        others = np.arange(size)
        own = (1 - flip) * float(_binomial(size - 1, flip) @ self._score[1:])
        rest = flip * float(_set_law(flip, size - 1) @ self._score[1:])
        spread = float(_set_law(flip, size) @ self._score**2)
        covariance = np.empty((size + 1, size + 1))
        covariance[:-1, :-1] = -(gain**2) * np.outer(theta, theta)
        covariance[others, others] = means * (1 - means)
        covariance[-1, :-1] = covariance[:-1, -1] = theta * own + (1 - theta) * rest
        covariance[-1, -1] = spread
        self._covariance = self.people * covariance

    def variances(self) -> FloatArray:
        """Return the diagonal."""
        return np.diag(self._covariance).copy()

    def covariances(self, place: int) -> FloatArray:
        """Return a column."""
        return np.asarray(self._covariance[place])

    @cached_property
    def _root(self) -> FloatArray:
        """A root of the covariance of all sums and sum a / p - 1."""
        size = self._theta.size
        whole = np.empty((2 * size + 1, 2 * size + 1))
        whole[: size + 1, : size + 1] = self._covariance
        whole[size + 1 :, size + 1 :] = (
            self.people * self._mechanism.moments(self._theta).information()
        )
        whole[: size + 1, size + 1 :] = self.people * self.slopes
        whole[size + 1 :, : size + 1] = whole[: size + 1, size + 1 :].T
        return _root_of(whole)

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw normal numbers of that covariance."""
        drawn = rng.standard_normal((many, len(self._root))) @ self._root.T
        edge = self._theta.size + 1
        return drawn[:, :edge], drawn[:, edge:]


class UnknownLaw:
    """No sums at all: of reports of a kind that only their mechanism knows."""

    has_epsilon = False
    counted = False

    def __init__(self, group: Group, theta: FloatArray) -> None:
        self.people = group.people
        self.sums, self.slopes = np.zeros(0), np.zeros((0, theta.size))
        self.expected = np.zeros(0)
        self._moments = group.mechanism.moments(theta)

    def variances(self) -> FloatArray:
        """Return nothing."""
        return np.zeros(0)

    def covariances(self, place: int) -> FloatArray:
        """Return nothing."""
        return np.zeros(0)

    def draws(self, rng: np.random.Generator, many: int) -> tuple[FloatArray, FloatArray]:
        """Draw sum a / p - 1, as normal numbers."""
        root = _root_of(self.people * self._moments.information())
        return np.zeros((many, 0)), rng.standard_normal((many, len(root))) @ root.T


def _root_of(covariance: FloatArray) -> FloatArray:
    """Return R with R R' = covariance."""
    roots, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(roots, 0.0)))


def _binomial(trials: int, chance: float) -> FloatArray:
    """Return the binomial law of 0 to so many."""
    hits = np.arange(trials + 1)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance)))


def _set_law(flip: float, size: int) -> FloatArray:
    """Return the law of how many of so many bits are set, one of them the own."""
    law = np.zeros(size + 1)
    others = _binomial(size - 1, flip)
    law[:-1] += flip * others
    law[1:] += (1 - flip) * others
    return law


def _ones_score(mechanism: Any, size: int) -> FloatArray:
    """Return d log P(j bits are set) / d epsilon."""
    low: Any
    high: Any
    low, high, apart = _around(mechanism, mechanism.epsilon)
    law = _set_law(mechanism.flip, size)
    change = (_set_law(high.flip, size) - _set_law(low.flip, size)) / apart
    return np.asarray(np.divide(change, law, out=np.zeros(size + 1), where=law > 0))


def _ones_of(group: Group, size: int) -> tuple[FloatArray, FloatArray]:
    """Return how often each bit is set, and in how many reports how many are."""
    ones, set_bits = np.zeros(size), np.zeros(size + 1)
    blocks: Any = [group.table] if group.table is not None else _blocks(group)
    for outputs, counts in blocks:
        many = np.bitwise_count(outputs).sum(axis=1, dtype=np.int64)
        set_bits += np.bincount(many, counts, minlength=size + 1)
    guess = group.summary.guess
    ones[:] = 0.0 if guess is None else guess.ones
    return ones, set_bits


def _blocks(group: Group) -> Any:
    for stream in group.streams:
        for block in stream.source.blocks():
            if block.mechanism == group.mechanism.id:
                yield block.outputs, block.numbers
