"""The exponential mechanism, from a table: a complete mechanism, small enough to copy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import Reports
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_epsilon
from freewill.numeric.operators.base import DenseOperator

_LARGEST_EXPONENT = 700.0
"""Where e^-x is still a double with all its digits."""


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Report near values more often than far ones (McSherry and Talwar 2007).

    P(z | x) = e^(-epsilon d(x, z) / 2) / n_x, with the n_x that makes the row sum to 1.
    Promises epsilon-geo-indistinguishability: the exponents of x and x' differ by at most
    epsilon d(x, x') / 2, and so do the logarithms of n_x and n_x'. That is an upper bound; an
    audit tells how much of it the law uses. Products cost O(outputs * k).

    >>> import freewill as fw
    >>> noisy = Exponential(fw.Linear(0, 2), epsilon=2 * np.log(2))
    >>> noisy.law().round(4)
    array([[0.5714, 0.2857, 0.1429],
           [0.25  , 0.5   , 0.25  ],
           [0.1429, 0.2857, 0.5714]])
    >>> found = fw.audit(noisy)
    >>> found.holds, found.tight, round(found.epsilon, 4)
    (True, False, 0.8267)
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "copied-exponential"

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name)
        # Beyond, weights would underflow to 0: some outputs could not be drawn from some values.
        largest = 2 * _LARGEST_EXPONENT / float(distances(self.alphabet).max())
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, self.name, largest))

    @cached_property
    def _table(self) -> Matrix:
        """Samplers and operator all read the law from here, so that they cannot drift."""
        weights = np.exp(-self.epsilon / 2 * distances(self.alphabet))
        return Matrix(self.alphabet, weights / weights.sum(axis=1, keepdims=True))

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator | None = None) -> Any:
        """Draw from the row of each value."""
        return self._table.obfuscate(values, rng)

    def draw(self, index: int, source: Source | None = None) -> Any:
        """Draw one report from random bytes."""
        return self._table.draw(index, source)

    def weights(self) -> list[list[int]]:
        """Return the whole numbers that both draw from, for the exact audit."""
        return self._table.weights()

    def operator(self, outputs: Reports) -> DenseOperator:
        """Return the law of these outputs."""
        return self._table.operator(outputs)

    def guarantee(self) -> Guarantee:
        """epsilon-geo-indistinguishability."""
        return Guarantee("geo", self.epsilon, self.alphabet.unit)
