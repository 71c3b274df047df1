"""The truncated geometric mechanism on a line."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Linear, checked_indices
from freewill.entropy import generator
from freewill.guarantees import Guarantee
from freewill.mechanisms.base import (
    LARGEST_EXPONENT,
    Mechanism,
    checked_alphabet,
    checked_epsilon,
)
from freewill.operators import GeometricOperator
from freewill.sampling import waits
from freewill.types import FloatArray, IntArray, Reports

_FLAT = 1e-200
"""A decay that no alphabet is long enough to notice."""


@dataclass(frozen=True)
class Geometric(Mechanism):
    """Add two-sided geometric noise and clip to the ends of the line (eqs. 2 and 3).

    P(z | x) = c_z e^(-epsilon |z - x|), c_z = 1 / (1 + a) at the two ends and (1 - a) / (1 + a)
    between, a = e^(-epsilon step). Promises epsilon-geo-indistinguishability per unit of
    distance, tightly. Products cost O(k).

    >>> import freewill as fw
    >>> fw.Geometric(fw.Linear(0, 2), epsilon=np.log(2)).law().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """

    alphabet: Linear
    epsilon: float
    name: ClassVar[str] = "geometric"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Linear, self.name)
        largest = LARGEST_EXPONENT / (self.alphabet.step * (self.alphabet.size - 1))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, self.name, largest))

    @property
    def _decay(self) -> float:
        return self.epsilon * self.alphabet.step

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator | None = None) -> IntArray:
        """Draw how far, then to which side, then clip.

        On either side, with half of the zero, P(noise >= t) = 2 a^t / (1 + a) for t >= 1. That is
        P(T + log(2 / (1 + a)) >= t decay) for an exponential T, so that the noise is a wait
        divided by the decay: infinite, hence clipped, where the decay is too small for doubles.
        """
        rng, last = generator(rng), self.alphabet.size - 1
        truth = checked_indices(values, last + 1, "value")
        with np.errstate(over="ignore"):
            far = (waits(truth.shape, rng) + self._shift) / self._decay
        steps = np.minimum(far, last).astype(np.int64)
        side = rng.integers(0, 2, truth.shape, dtype=np.int8)
        return np.asarray(np.clip(np.where(side, truth + steps, truth - steps), 0, last))

    @property
    def _shift(self) -> float:
        """log(2 / (1 + a)), without cancellation."""
        return float(-np.log1p(np.expm1(-self._decay) / 2))

    def operator(self, outputs: Reports) -> GeometricOperator:
        """Return the law of these outputs."""
        size = self.alphabet.size
        between = np.log(-np.expm1(-self._decay))
        log_constants = np.full(size, between)
        log_constants[[0, -1]] = 0.0
        log_constants -= np.log1p(np.exp(-self._decay))
        symbols = self.output_space.checked(outputs, self.name)
        return GeometricOperator(symbols, size, self._decay, log_constants)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return -epsilon |z - x|."""
        gaps = np.abs(np.subtract.outer(outputs, np.arange(self.alphabet.size)))
        return np.asarray(-self._decay * gaps)

    def guarantee(self) -> Guarantee:
        """epsilon-geo-indistinguishability."""
        return Guarantee("geo", self.epsilon, self.alphabet.unit)

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
