"""The exponential mechanism, on any alphabet and its distance."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.mechanisms.matrix import NoisyTable


@dataclass(frozen=True)
class Exponential(NoisyTable):
    """Report near values more often than far ones, whatever "near" means on the alphabet.

    P(z | x) = e^(-epsilon d(x, z) / 2) / n_x, with the n_x that makes the row sum to 1. Promises
    epsilon-geo-indistinguishability: the exponents of x and x' differ by at most
    epsilon d(x, x') / 2, and so do the logarithms of n_x and n_x'. That is an upper bound: where
    all n_x are alike, an audit finds half of it. Products cost O(outputs * k); 2,048 values at
    most. McSherry and Talwar, FOCS 2007; with distances, Chatzikokolakis, Palamidessi and
    Stronati, PETS 2015.

    >>> import freewill as fw, numpy as np
    >>> noisy = fw.Exponential(fw.Linear(0, 2), epsilon=2 * np.log(2))
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
    name: ClassVar[str] = "exponential"
    promise: ClassVar[Literal["geo"]] = "geo"

    def _law(self) -> FloatArray:
        return np.exp(-self.inner_epsilon / 2 * distances(self.alphabet))
