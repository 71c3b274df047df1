"""No privacy, for a person who wants none."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet, checked_indices
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_index
from freewill.numeric.operators.support import SymbolOperator


@dataclass(frozen=True)
class Identity(Mechanism):
    """Report the true value. Promises nothing: epsilon is infinite.

    >>> import freewill as fw
    >>> fw.Identity(fw.Linear(0, 9)).obfuscate([3, 1])
    array([3, 1])
    """

    alphabet: Alphabet
    name: ClassVar[str] = "identity"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name, least=1)

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator | None = None) -> IntArray:
        """Return the values."""
        return checked_indices(values, self.alphabet.size, "value").copy()

    def draw(self, index: int, source: Source | None = None) -> int:
        """Return the index; nothing is read."""
        return checked_index(index, self.alphabet.size)

    def weights(self) -> list[list[int]]:
        """1 where z = x."""
        places = range(self.alphabet.size)
        return [[int(z == x) for z in places] for x in places]

    def operator(self, outputs: Reports) -> SymbolOperator:
        """Return the law of these outputs: 1 where z = x."""
        symbols = self.output_space.checked(outputs, self.name)
        return SymbolOperator(symbols, self.alphabet.size, 0.0, 1.0, np.zeros(symbols.size))

    def witnesses(self) -> IntArray:
        """One output: renaming the values carries it into any other."""
        return np.zeros(1, dtype=np.int64)

    def guarantee(self) -> Guarantee:
        """No guarantee."""
        return Guarantee("ldp", np.inf)

    def truths(self) -> FloatArray:
        """One."""
        return np.ones(self.alphabet.size)

    def losses(self) -> FloatArray:
        """Zero."""
        return np.zeros(self.alphabet.size)
