"""What the estimate from a survey will miss, and how many people it takes to miss no more."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.numeric.solvers.quadratic import pivoted_quadratic
from freewill.stats.collect import collect
from freewill.stats.difference import norm_on
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence
from freewill.stats.information import DENSE, FEW, SHARE, Information, information_of

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
MOST_PEOPLE = 10**12
"""Beyond, a number of people is no answer."""
REACH = float(ndtri(0.975))
"""Standard errors that a 95 % interval reaches to either side."""
_CLOSE = 0.01
"""How near, relative, the search comes to its target."""
_MEAN_NOISE = 0.02
"""The same for simulated surveys, whose mean is known no better."""
_SEARCH = 60
_CHECKS = 8

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

    def enough_people(self, rows: FloatArray) -> int:
        """Return from how many people on no functional rests on few (`Information.shape`)."""
        if self.alphabet.size == 1:
            return 0
        influences = self.information.influences(rows)
        # Of one person: the share of the people on whom each functional rests.
        least = float(self.information.shape(rows, influences).effective_people.min(initial=1.0))
        return math.ceil(FEW / least) if least < SHARE else 0

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
            name: float(np.sum(own.products(influences) * influences)) / whole if whole else np.nan
            for name, own in self.alone.items()
        }

    def costs(self, rows: FloatArray) -> dict[str, float]:
        """Return how many times the people each mechanism alone needs, beside no privacy.

        Infinite where one person who tells the truth is enough: all have the same.
        """
        least = true_variance(rows, self.theta)
        return {
            name: float(own.variances(rows).sum()) / least if least else np.inf
            for name, own in self.alone.items()
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
        rng = np.random.default_rng(0)
        thetas = self.projected.draws(people)
        if simulate:
            thetas = (gibu(self.draw(people, rng)).theta for _ in count())
        aim = accuracy or (_SIMULATED_ACCURACY if simulate else _ACCURACY)
        most = _MOST_SIMULATED if simulate else _MOST
        drawn = enough((length(theta - self.theta) for theta in thetas), aim, most)
        low, high = np.quantile(drawn, [0.05, 0.95])
        error = drawn.std(ddof=1) / np.sqrt(drawn.size)
        return Expected(float(drawn.mean()), float(low), float(high), float(error), simulate)

    def needed_for_emd(self, target: float, *, check: bool = True) -> int | None:
        """Return the number of people whose expected distance is the target; None beyond 10^12.

        Found by draws to first order, which are cheap and the same at every number; then checked,
        and moved where they are wrong, by simulated surveys, if these are to be had at that size.
        """
        people = self._to_first_order(target) if self.resolved else None
        if people is None or not check:
            return people
        # What is too few never comes back.
        least = 2
        for _ in range(_CHECKS):
            expected = self.expected_emd(people)
            off = expected.mean / target
            if off <= 1 + _MEAN_NOISE and (off >= 1 - _MEAN_NOISE or people == least):
                break
            if off > 1:
                least = min(people + 1, MOST_PEOPLE)
            moved = math.ceil(people * min(max(off**2, 0.25), 4.0))
            people = min(max(moved, least), MOST_PEOPLE)
            if not expected.simulated:
                break
        return people

    def _to_first_order(self, target: float) -> int | None:
        """Return where the expected distance, by draws to first order, is about the target."""

        def excess(log_people: float) -> float:
            people = max(2, round(math.exp(log_people)))
            mean = self.expected_emd(people, _MEAN_NOISE, simulate=False).mean
            return math.log(max(mean, 1e-300) / target)

        few, many = math.log(2), math.log(MOST_PEOPLE)
        if excess(few) <= 0:
            return 2
        if excess(many) > 0:
            return None
        # The error falls nearly like n^-1/2: from the last number to where it would then be right.
        guess = math.log(10_000)
        for _ in range(_SEARCH):
            off = excess(guess)
            if abs(off) < _CLOSE or many - few < _CLOSE:
                break
            few, many = (guess, many) if off > 0 else (few, guess)
            guess = guess + 2 * off
            if not few < guess < many:
                guess = (few + many) / 2
        return max(2, round(math.exp(guess)))

    def can_simulate(self, people: int) -> bool:
        """Say whether simulating so many people is worth its time."""
        size = self.alphabet.size
        bits = [mechanism.output_space.alphabet is None for _, mechanism, _ in self.parts]
        # A report of many bits is nearly normal itself, and slow to solve from.
        few = not any(bits) or (people * size <= _SIMULATED_BITS and not all(bits))
        return few and size <= _SIMULATED_VALUES

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
        laws: list[FloatArray | None] = []
        for _, mechanism, _ in self.parts:
            if mechanism.output_space.alphabet is None:
                laws.append(None)
            else:
                law = self.theta @ mechanism.law()
                laws.append(np.maximum(law, 0) / law.sum())
        return laws


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

    def draws(self, people: int) -> Iterator[FloatArray]:
        """Yield estimates, the same draws for any number of people."""
        rng = np.random.default_rng(0)
        free = self.theta > 0.1 / self.theta.size
        while True:
            score = self._root @ rng.standard_normal(self.theta.size) / np.sqrt(people)
            drawn = self.solve(score, free)
            free = drawn > 0
            yield drawn

    def solve(self, score: FloatArray, free: Any) -> FloatArray:
        """Return the most likely distribution, where its score at theta is this one.

        By multipliers: with c/2 (sum u - 1)^2 added, the program has the single constraint u >= 0.
        """
        # What a sum that is not 1 costs: of the size of K where the people are, and heavier where
        # the noise is larger than K, so that the sum is near 1 from the first.
        size = float(self.theta @ self.information.diagonal())
        weight = max(size, _NOISE * float(np.ptp(score)))
        matrix = self.information + weight
        multiplier, rise = weight, 1 / weight
        before: tuple[float, float] | None = None
        for _ in range(_MULTIPLIERS):
            drawn = pivoted_quadratic(matrix, -(score + multiplier), free)
            total = float(drawn.sum())
            if abs(1 - total) < _SUM:
                break
            # The sum rises with the multiplier, by straight pieces: the secant finds the right one.
            if before is not None and (total - before[1]) * (multiplier - before[0]) > 0:
                rise = (total - before[1]) / (multiplier - before[0])
            before = multiplier, total
            multiplier += (1 - total) / rise
            free = drawn > 0
        return np.asarray(drawn / drawn.sum())


def true_variance(rows: FloatArray, theta: FloatArray) -> float:
    """Return the variance of functionals together, of one person who tells the truth.

    >>> true_variance(np.array([[0.0, 1.0]]), np.array([0.5, 0.5]))
    0.25
    """
    # About each mean, so that it is 0 and no rounding where all have the same value.
    return float(sum((row - row @ theta) ** 2 @ theta for row in rows))


def enough(drawn: Iterator[float], accuracy: float, most: int = _MOST) -> FloatArray:
    """Draw until the mean is as accurate as asked, or drawing more would take long.

    >>> enough(iter([1.0] * 100), accuracy=0.01).size
    40
    """
    values: list[float] = []
    for value in drawn:
        values.append(value)
        if len(values) >= _FEWEST and not len(values) % _BATCH:
            error = np.std(values) / np.sqrt(len(values))
            if error <= accuracy * np.mean(values) or len(values) >= most:
                break
    return np.array(values)


def needed_for_interval(variances: FloatArray, target: float) -> int | None:
    """Return the least n with z sqrt(h'C h / n) <= target for all h; None beyond 10^12.

    >>> needed_for_interval(np.array([0.25]), 0.01)
    9604
    """
    widest = float(np.sqrt(variances.max()))
    if widest == 0:
        return 2
    # A tiny target asks for more people than any number counts.
    with np.errstate(over="ignore"):
        many = float(np.square(np.float64(widest * (REACH / target))))
    return max(2, math.ceil(many * (1 - 1e-12))) if many <= MOST_PEOPLE else None
