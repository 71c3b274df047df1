"""The truncated geometric mechanism on a line."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Linear, checked_indices
from freewill.guarantees import Guarantee
from freewill.mechanisms.base import Mechanism, checked_alphabet, checked_epsilon
from freewill.operators import GeometricOperator
from freewill.types import FloatArray, IntArray, Reports


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
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, self.name))

    @property
    def _decay(self) -> float:
        return self.epsilon * self.alphabet.step

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Add the difference of two geometric variables, then clip."""
        last = self.alphabet.size - 1
        truth = checked_indices(values, last + 1, "value")
        stop = -np.expm1(-self._decay)
        noise = rng.geometric(stop, truth.shape) - rng.geometric(stop, truth.shape)
        return np.asarray(np.clip(truth + np.clip(noise, -last, last), 0, last))

    def operator(self, outputs: Reports) -> GeometricOperator:
        """Return the law of these outputs."""
        size = self.alphabet.size
        between = np.log(-np.expm1(-self._decay))
        log_constants = np.full(size, between)
        log_constants[[0, -1]] = 0.0
        log_constants -= np.log1p(np.exp(-self._decay))
        symbols = self.output_space.checked(outputs, self.name)
        return GeometricOperator(symbols, size, self._decay, log_constants)

    def guarantee(self) -> Guarantee:
        """epsilon-geo-indistinguishability."""
        return Guarantee.never_understated("geo", self.epsilon)

    def losses(self) -> FloatArray:
        """Add up, on each side, P(noise >= t) = a^t / (1 + a) for t up to the end of the line."""
        room = np.arange(self.alphabet.size)
        ratio = np.exp(-self._decay)
        mean = ratio / (1 + ratio) * np.expm1(-self._decay * room) / np.expm1(-self._decay)
        return np.asarray(self.alphabet.step * (mean + mean[::-1]))
