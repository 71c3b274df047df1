"""Discrete Laplace noise for published counts of people, each of whom is in one cell."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import IntArray
from freewill.domain.draws.chance import precision
from freewill.domain.draws.noise import TwoSided, shortened
from freewill.errors import ParameterError, shown

LEAST_EPSILON, LARGEST_EPSILON = 1e-3, 100.0
"""Between them noise is neither larger than any survey nor none at all."""


@dataclass(frozen=True)
class CountNoise:
    """Whole numbers z with P(z) = (1 - a) / (1 + a) a^|z|, a = e^(-epsilon / 2), one a cell.

    One person who answers otherwise leaves a cell and enters another: two counts change by 1, and
    the odds of all noisy counts by e^epsilon at most, which two cells reach. The draws are exact
    (`TwoSided`).

    >>> noise = CountNoise(1.0)
    >>> noise.many(3, np.random.default_rng(1)), round(noise.variance, 2)
    (array([ 3, -1,  0]), 7.84)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not LEAST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon={shown(self.epsilon)} for published counts: expected "
                f"{LEAST_EPSILON:g} to {LARGEST_EPSILON:g} (the larger, the less private). The "
                f"noise of a count has a standard deviation of about 2.8 / epsilon."
            )

    @cached_property
    def steps(self) -> TwoSided:
        """What draws them, epsilon / 2 its exponent."""
        exponent = shortened(self.epsilon).doubled(-1)
        return TwoSided.of(exponent, precision(exponent))

    @property
    def variance(self) -> float:
        """Variance of the noise of a cell, 2 a / (1 - a)^2."""
        return 0.5 / math.sinh(self.epsilon / 4) ** 2

    def many(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw the noise of so many cells."""
        return self.steps.many(count, rng).signed
