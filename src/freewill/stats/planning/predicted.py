"""What the estimate from a survey will miss, before anyone has reported."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.krr import Identity
from freewill.numeric.solvers.quadratic import pivoted_quadratic
from freewill.stats.distance import norm_on
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, collect
from freewill.stats.information import DENSE, Information, information_of

_SIMULATED_VALUES = 400
"""Values up to which a simulated survey is solved in milliseconds, on a grid some hundred of them.

However many people: the counts of their reports are drawn at once.
"""
_SIMULATED_BITS = 1_000_000
"""Bits up to which the same is so of reports that are drawn one by one."""
_HAIR = 1e-9
"""Share of the uniform distribution in theta, so that nothing divides by 0."""
_FEWEST, _BATCH = 40, 20
_MOST, _MOST_SIMULATED = 2000, 400
_ACCURACY, _SIMULATED_ACCURACY = 0.01, 0.02
"""Standard errors of a mean, as shares of it, at which no more is drawn."""
_SUM = 1e-7
"""How closely a projected draw sums to 1."""
_MULTIPLIERS = 100
_NOISE = 4.0
"""Weight of the sum in units of the score, at least."""

Parts = tuple[tuple[str, Mechanism, float], ...]
"""Name, mechanism and share of the people of each."""


class Expected(NamedTuple):
    """An expected distance, between what it is in 90 % of surveys, and the error of the mean."""

    mean: float
    low: float
    high: float
    error: float
    simulated: bool


UNKNOWN = Expected(np.nan, np.nan, np.nan, np.nan, simulated=False)


@dataclass(frozen=True, eq=False)
class Design:
    """People with true values from theta, who choose from mechanisms in fixed shares.

    >>> import freewill as fw
    >>> ages, theta = fw.Linear(0, 1), np.array([0.5, 0.5])
    >>> design = Design(ages, (("all", fw.Identity(ages), 1.0),), theta)
    >>> exact = np.sqrt(0.25 / 40_000 * 2 / np.pi)  # E |share - 1/2|
    >>> bool(abs(design.expected_emd(40_000).mean / exact - 1) < 0.05)
    True
    """

    alphabet: Alphabet
    parts: Parts
    theta: FloatArray

    @cached_property
    def inside(self) -> FloatArray:
        """Theta, with a hair of the uniform distribution."""
        return np.asarray((1 - _HAIR) * self.theta + _HAIR / self.theta.size)

    @cached_property
    def information(self) -> Information:
        """What one person tells."""
        parts = [(mechanism, share, name) for name, mechanism, share in self.parts]
        return information_of(self.alphabet, parts, self.inside, people=1)

    @cached_property
    def alone(self) -> dict[str, Information]:
        """What one person of each mechanism tells."""
        return {
            name: information_of(self.alphabet, [(mechanism, 1.0, name)], self.inside, people=1)
            for name, mechanism, _ in self.parts
        }

    def variances(self, rows: FloatArray) -> FloatArray:
        """Return h'C h for each row h."""
        if self.alphabet.size == 1:  # there is nothing to be unsure of
            return np.zeros(len(rows))
        return self.information.variances(rows)

    def rests_on(self, rows: FloatArray) -> FloatArray:
        """Return the share of the people on whom each functional rests (`Information.shape`)."""
        if self.alphabet.size == 1:
            return np.ones(len(rows))
        return self.information.shape(rows, self.information.influences(rows)).effective_people

    def worth(self, rows: FloatArray) -> dict[str, float]:
        """Return what one more person of each mechanism is worth, in average people.

        By sum_h u'K_m u / sum_h u'K u with u = C h: what the person takes off the variances of
        the functionals h together, beside what the average person takes off.
        """
        influences = self.information.influences(rows)
        if not np.isfinite(influences).all():
            return dict.fromkeys(self.alone, np.nan)
        whole = float(np.sum(self.information.products(influences) * influences))
        return {
            name: float(np.sum(told.products(influences) * influences)) / whole if whole else np.nan
            for name, told in self.alone.items()
        }

    def costs(self, rows: FloatArray) -> dict[str, float]:
        """Return how many times the people each mechanism alone needs, beside no privacy.

        Infinite where one person who tells the truth is enough: all have the same.
        """
        least = true_variance(rows, self.theta)
        return {
            name: float(told.variances(rows).sum()) / least if least else np.inf
            for name, told in self.alone.items()
        }

    @cached_property
    def resolved(self) -> bool:
        """Whether the reports tell all distributions apart, and values are few enough to look."""
        few = self.alphabet.size <= DENSE
        return few and bool(np.isfinite(self.variances(np.eye(self.alphabet.size))).all())

    @cached_property
    def projected(self) -> "Projected":
        """Draws of the estimate to first order."""
        return Projected(self.information.products(np.eye(self.theta.size)), self.inside)

    def expected_emd(
        self, people: int, accuracy: float | None = None, simulate: bool | None = None
    ) -> Expected:
        """Return the expected earth mover's distance of the maximum likelihood estimate to theta.

        Surveys are simulated and solved or, where that would take long, drawn to first order
        (`Projected`). The draws are the same for any number of people.
        """
        if not self.resolved:
            return UNKNOWN
        if self.alphabet.size == 1:
            return Expected(0.0, 0.0, 0.0, 0.0, simulated=False)
        simulate = self.can_simulate(people) if simulate is None else simulate
        length = norm_on(self.alphabet)
        thetas = self._simulated(people) if simulate else self.projected.draws(people)
        aim = accuracy or (_SIMULATED_ACCURACY if simulate else _ACCURACY)
        most = _MOST_SIMULATED if simulate else _MOST
        found = enough((length(theta - self.theta) for theta in thetas), aim, most)
        low, high = np.quantile(found, [0.05, 0.95])
        error = found.std(ddof=1) / np.sqrt(found.size)
        return Expected(float(found.mean()), float(low), float(high), float(error), simulate)

    def can_simulate(self, people: int) -> bool:
        """Say whether simulating so many people is worth its time."""
        size = self.alphabet.size
        bits = [one.output_space.alphabet is None for _, one, _ in self.parts]
        if not any(bits):
            return size <= _SIMULATED_VALUES
        # A report of many bits is nearly normal itself, and slow to solve from.
        few = people * size <= _SIMULATED_BITS
        return few and not all(bits) and size <= _SIMULATED_VALUES

    def _simulated(self, people: int) -> Iterator[FloatArray]:
        """Yield estimates from one simulated survey after the other."""
        rng = np.random.default_rng(0)
        while True:
            yield gibu(self.draw(people, rng)).theta

    def draw(self, people: int, rng: np.random.Generator) -> Evidence:
        """Draw evidence: the counts of reports at once, or report by report where they are bits."""
        who = rng.multinomial(people, np.array([share for _, _, share in self.parts]))
        parts: list[Any] = []
        for (_, mechanism, _), many, law in zip(self.parts, who, self._reports, strict=True):
            if many and law is None:
                values = rng.choice(self.theta.size, size=many, p=self.theta)
                parts.append((mechanism, mechanism.obfuscate(values, rng)))
            elif many and law is not None:
                parts.append((mechanism, mechanism.outputs(), rng.multinomial(many, law)))
        return collect(parts)

    @cached_property
    def _reports(self) -> list[FloatArray | None]:
        """The distribution of each mechanism's reports; of bits, none."""
        listed = (one for _, one, _ in self.parts)
        found = [
            None if one.output_space.alphabet is None else self.theta @ one.law() for one in listed
        ]
        return [None if law is None else np.maximum(law, 0) / law.sum() for law in found]


@dataclass(frozen=True, eq=False)
class Projected:
    """Draws of the maximum likelihood estimate of n people, to first order.

    Near theta the likelihood is a parabola: with the score s ~ N(0, K) the estimate is

        argmin (u - theta)'K (u - theta) / 2 - s'(u - theta) / sqrt(n)  over  u >= 0, sum u = 1,

    which is the draw theta + C s / sqrt(n) of the efficient estimator, projected onto the simplex
    in the metric of K. Without the projection the distance is wrong by a factor of 2 where many
    values are rare. O(k^3) a draw, from the last one's support.
    """

    information: FloatArray
    theta: FloatArray

    @cached_property
    def _root(self) -> FloatArray:
        """R with R R = K: for mechanisms that tell nearly the same, draws are nearly the same."""
        roots, vectors = np.linalg.eigh(self.information)
        return np.asarray((vectors * np.sqrt(np.maximum(roots, 0.0))) @ vectors.T)

    @cached_property
    def _weight(self) -> float:
        """What a sum that is not 1 costs: of the size of K where the people are."""
        return float(self.theta @ self.information.diagonal())

    def draws(self, people: int) -> Iterator[FloatArray]:
        """Yield estimates, the same draws for any number of people."""
        rng = np.random.default_rng(0)
        free = self.theta > 0.1 / self.theta.size
        while True:
            score = self._root @ rng.standard_normal(self.theta.size) / np.sqrt(people)
            found = self.solve(score, free)
            free = found > 0
            yield found

    def solve(self, score: FloatArray, free: Any) -> FloatArray:
        """Return the most likely distribution, where its score at theta is this one.

        By multipliers: with c/2 (sum u - 1)^2 added, the program has the single constraint u >= 0.
        """
        # Heavier where the noise is larger than K, so that the sum is near 1 from the first.
        weight = max(self._weight, _NOISE * float(np.ptp(score)))
        matrix = self.information + weight
        multiplier, rise = weight, 1 / weight
        before: tuple[float, float] | None = None
        for _ in range(_MULTIPLIERS):
            found = pivoted_quadratic(matrix, -(score + multiplier), free)
            total = float(found.sum())
            if abs(1 - total) < _SUM:
                break
            # The sum rises with the multiplier, by straight pieces: the secant finds the right one.
            if before is not None and (total - before[1]) * (multiplier - before[0]) > 0:
                rise = (total - before[1]) / (multiplier - before[0])
            before = multiplier, total
            multiplier += (1 - total) / rise
            free = found > 0
        return np.asarray(found / found.sum())


def true_variance(rows: FloatArray, theta: FloatArray) -> float:
    """Return the variance of functionals together, of one person who tells the truth.

    >>> true_variance(np.array([[0.0, 1.0]]), np.array([0.5, 0.5]))
    0.25
    """
    # About each mean, so that it is 0 and no rounding where all have the same value.
    return float(sum((row - row @ theta) ** 2 @ theta for row in rows))


def without_privacy(alphabet: Alphabet, theta: FloatArray) -> Design:
    """Return people who all tell the truth."""
    return Design(alphabet, (("no privacy", Identity(alphabet), 1.0),), theta)


def enough(drawn: Iterator[float], accuracy: float, most: int = _MOST) -> FloatArray:
    """Draw until the mean is as accurate as asked, or drawing more would take long.

    >>> enough(iter([1.0] * 100), accuracy=0.01).size
    40
    """
    found: list[float] = []
    for value in drawn:
        found.append(value)
        if len(found) >= _FEWEST and not len(found) % _BATCH:
            error = np.std(found) / np.sqrt(len(found))
            if error <= accuracy * np.mean(found) or len(found) >= most:
                break
    return np.array(found)
