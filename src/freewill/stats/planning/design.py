"""What the estimate from a survey will miss, and how many people it takes to miss no more."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of, has_distance
from freewill.stats.information import DENSE, FEW, SHARE, Information, information_of
from freewill.stats.planning.distances import (
    ACCURACY,
    MOST_PEOPLE,
    UNKNOWN,
    Distances,
    Expected,
    Parts,
    effective_share,
)

_HAIR = 1e-9
"""Share of the uniform distribution in theta, so that nothing divides by 0."""
REACH = float(ndtri(0.975))
"""Standard errors that a 95 % interval reaches to either side."""


@dataclass(frozen=True, eq=False)
class Design:
    """People with true values from theta, who choose from mechanisms in fixed shares.

    >>> import freewill as fw
    >>> ages, theta = fw.Linear(0, 1), np.array([0.5, 0.5])
    >>> design = Design(ages, (("all", fw.Identity(ages), 1.0),), theta)
    >>> exact = np.sqrt(0.25 / 40_000 * 2 / np.pi)  # E |share - 1/2|
    >>> bool(abs(design.expected_emd(40_000, 0.05).mean / exact - 1) < 0.15)
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
        least = effective_share(self.information, rows)
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

        Infinite where one person who tells the truth is enough: all have the same. Not a number for
        records of several attributes beyond 1,024.
        """
        least = true_variance(rows, self.theta)
        if attributes_of(self.alphabet) and self.alphabet.size > DENSE:
            # A solve each, for combinations of mechanisms of which most tell of some attributes.
            return dict.fromkeys(self.alone, np.nan)
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
    def distances(self) -> Distances:
        """The distance to theta for any number of people."""
        return Distances(self.alphabet, self.parts, self.theta, self.information)

    def expected_emd(self, people: int, accuracy: float = ACCURACY) -> Expected:
        """Return the expected earth mover's distance of the maximum likelihood estimate to theta.

        By simulated surveys (`Distances`), until the standard error of the mean is `accuracy` of
        it. Not a number where the reports do not tell all distributions apart.
        """
        if not self.resolved or not has_distance(self.alphabet):
            return UNKNOWN
        if self.alphabet.size == 1:
            return Expected(0.0, 0.0, 0.0, 0.0, simulated=False)
        return self.distances.expected(people, accuracy)

    def needed_for_emd(self, target: float, accuracy: float = ACCURACY) -> int | None:
        """Return the number of people whose expected distance is the target; None beyond 10^12."""
        if not self.resolved:
            return None
        return 2 if self.alphabet.size == 1 else self.distances.needed(target, accuracy)


def true_variance(rows: FloatArray, theta: FloatArray) -> float:
    """Return the variance of functionals together, of one person who tells the truth.

    >>> true_variance(np.array([[0.0, 1.0]]), np.array([0.5, 0.5]))
    0.25
    """
    # About each mean, so that it is 0 and no rounding where all have the same value.
    return float(sum((row - row @ theta) ** 2 @ theta for row in rows))


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
