"""The truncated geometric mechanism on a line."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports, checked_positive
from freewill.domain.alphabets.base import Linear
from freewill.domain.draws.chance import Dyadic, precision
from freewill.domain.draws.noise import TwoSided, shortened, steps
from freewill.domain.draws.sources import Source
from freewill.domain.mechanisms.base import LARGEST_EXPONENT, Noisy, Rows
from freewill.numeric.operators.geometric import GeometricOperator

_FLAT = 1e-200
"""A decay that no alphabet is long enough to notice."""


@dataclass(frozen=True)
class Geometric(Noisy):
    """Add two-sided geometric noise and clip to the ends of the line (eqs. 2 and 3).

    P(z | x) = c_z e^(-epsilon |z - x|), c_z = 1 / (1 + a) at the two ends and (1 - a) / (1 + a)
    between, a = e^(-epsilon step). Promises epsilon-geo-indistinguishability per unit of
    distance, tightly. Products cost O(k).

    >>> import freewill as fw, numpy as np
    >>> fw.Geometric(fw.Linear(0, 2), epsilon=np.log(2)).law().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """

    alphabet: Linear
    epsilon: float
    name: ClassVar[str] = "geometric"
    full_rank: ClassVar[bool] = True
    on: ClassVar[Any] = Linear
    promise: ClassVar[Literal["geo"]] = "geo"

    @classmethod
    def of_scale(cls, alphabet: Linear, scale: float) -> "Geometric":
        """Return the mechanism whose noise falls by e over a distance: epsilon = 1 / scale.

        >>> import freewill as fw
        >>> fw.Geometric.of_scale(fw.Linear(0, 99), 4.0).epsilon
        0.25
        """
        return cls(alphabet, 1 / checked_positive(scale, "scale", cls.name))

    def _largest_epsilon(self) -> float:
        return LARGEST_EXPONENT / (self.alphabet.step * (self.alphabet.size - 1))

    @property
    def _decay(self) -> float:
        return self.epsilon * self.alphabet.step

    @cached_property
    def steps(self) -> TwoSided:
        """The chances of a step, of which all reports are made."""
        step = Dyadic.of(self.alphabet.step)
        bits = precision(Dyadic.of(self.epsilon).times(step))
        return TwoSided.of(shortened(self.epsilon).times(step), bits, self.alphabet.size)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Add a step to each value, digit by digit, and clip."""
        steps = self.steps.many(truth.size, rng).signed.reshape(truth.shape)
        return np.asarray(np.clip(truth + steps, 0, self.alphabet.size - 1))

    @classmethod
    def reports_of_rows(cls, rows: Rows, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Do the same with an epsilon a row."""
        size, exponents = rows.alphabet.size, rows.each * rows.alphabet.step
        drawn = steps(exponents, size, lambda row: rows.of(row).steps, rng)
        return np.asarray(np.clip(truth + drawn, 0, size - 1))

    def _report(self, value: int, source: Source) -> int:
        """Add one step, and clip."""
        return min(max(value + self.steps.step(source), 0), self.alphabet.size - 1)

    def weights(self) -> list[list[int]]:
        """Clip each step of the table of all steps."""
        size = self.alphabet.size
        still, away = self.steps.table()
        rows = []
        for x in range(size):
            row = [0] * size
            row[x] = still
            for t, weight in enumerate(away, start=1):
                row[min(x + t, size - 1)] += weight
                row[max(x - t, 0)] += weight
            rows.append(row)
        return rows

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> GeometricOperator | None:
        """Return the law of outputs with an epsilon a row, where these do not fall.

        Its log_scale is log c_z.
        """
        if np.any(rows.which[1:] < rows.which[:-1]):
            return None
        size, which, decays = rows.alphabet.size, rows.which, rows.epsilons * rows.alphabet.step
        between, ends = np.log(-np.expm1(-decays)), rows.log_share - np.log1p(np.exp(-decays))
        inner = (outputs > 0) & (outputs < size - 1)
        log_scale = ends[which] + np.where(inner, between[which], 0.0)
        return GeometricOperator(outputs, size, decays, which, log_scale)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return -epsilon |z - x|."""
        gaps = np.abs(np.subtract.outer(outputs, np.arange(self.alphabet.size)))
        return np.asarray(-self._decay * gaps)

    def truths(self) -> FloatArray:
        """Return the constants c_x."""
        chances = np.full(self.alphabet.size, np.tanh(self._decay / 2))
        chances[[0, -1]] = 1 / (1 + np.exp(-self._decay))
        return chances

    def losses(self) -> FloatArray:
        """Add up, on each side, P(noise >= t) = a^t / (1 + a) for t up to the end of the line."""
        room = np.arange(self.alphabet.size, dtype=np.float64)
        ratio = np.exp(-self._decay)
        # Below 1e-200 the sum of room equal terms, where the quotient has lost its digits.
        terms = room
        if self._decay > _FLAT:
            terms = np.expm1(-self._decay * room) / np.expm1(-self._decay)
        mean = ratio / (1 + ratio) * terms
        return np.asarray(self.alphabet.step * (mean + mean[::-1]))
