"""Laws that are tables computed from parameters: a mechanism is its formula, and little else."""

from functools import cached_property
from typing import Protocol

import numpy as np

from freewill.core.types import FloatArray, Spec, frozen
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.matrix import Tabulated
from freewill.domain.mechanisms.noisy import Noisy
from freewill.domain.mechanisms.parameters import checked_alphabet
from freewill.errors import LawError, ParameterError, several

LARGEST_TABLE = 2048
"""Values whose law, 32 MiB, is still computed, held and sent as a table."""
_LARGEST_EXPONENT = 650.0
"""Where e^-x, divided by the sum of a row, is still a double with all its digits."""
_ROUNDING = 2.0**-49
_ROUNDINGS = 16.0
"""By how many of these log P(y | x) may be off, besides one for each unit of its exponent: sums of
positive terms, their quotient and exp, each rounded."""
_LEAST_EPSILON = 1e-10
"""Times the least distance: below, rounding would be more than a thousandth of the promise."""


class Computed(Tabulated, Protocol):
    """A mechanism whose law is a table that its parameters give, drawn to the last digit.

    A kind has `_law`, its formula; samplers, operator, exact audit and what a browser needs follow
    from the table. The table, and not the formula, is what its `guarantee` must be true of.
    """

    def _law(self) -> FloatArray:
        """Return the law up to a factor of each row, [value, output], by its formula."""
        raise LawError(f"{self.name} has no formula: its class must have _law or a matrix.")

    @cached_property
    def matrix(self) -> FloatArray:  # type: ignore[override]
        """The law, read-only."""
        unscaled = self._law()
        return frozen(unscaled / unscaled.sum(axis=1, keepdims=True))

    def guarantee(self) -> Guarantee:
        """Return what is promised of the table."""
        ...

    def program(self) -> Spec:
        """Return the table: a browser draws from the row of its value."""
        claim = self.guarantee()
        promise = {"kind": claim.kind, "epsilon": claim.epsilon}
        return {"draw": "table", "law": self.matrix.tolist(), "promise": promise}


class NoisyTable(Noisy, Computed, Protocol):
    """A table that an epsilon makes, and for which it is promised: for the doubles that are drawn.

    The table is computed for `inner_epsilon`, which is smaller than epsilon by as much as rounding
    may add to any log P(y | x) - log P(y | x'), so that the promise holds to the last digit.

    >>> import freewill as fw
    >>> table = fw.Staircase(fw.Linear(0, 4), epsilon=1.0)
    >>> fw.NoisyTable in type(table).__mro__, 0 < table.epsilon - table.inner_epsilon < 1e-12
    (True, True)
    """

    def __post_init__(self) -> None:
        checked_table(self.alphabet, self.on, self.name)
        Noisy.__post_init__(self)
        least = _LEAST_EPSILON / self._distances[0]
        if self.epsilon < least:
            raise ParameterError(
                f"epsilon={self.epsilon!r} for {self.name} on {self.alphabet}: must be >= "
                f"{least:.3g}, below which the law is flat to the rounding of its numbers. For "
                f"full privacy, send no report."
            )

    @cached_property
    def _distances(self) -> tuple[float, float]:
        """The least and the largest distance that the promise is about; both 1 for LDP."""
        return distance_range(self.alphabet) if self.promise == "geo" else (1.0, 1.0)

    def _largest_epsilon(self) -> float:
        """Return where the rarest report still has a double of its own."""
        return _LARGEST_EXPONENT / self._distances[1]

    @property
    def inner_epsilon(self) -> float:
        """The epsilon of the formula: what is promised, less the rounding of the table."""
        least, largest = self._distances
        return self.epsilon - (_ROUNDINGS + self.epsilon * largest) * _ROUNDING / least


def checked_table(alphabet: Alphabet, kind: type, name: str) -> None:
    """Refuse an alphabet of another kind, or of more values than a table is made for."""
    checked_alphabet(alphabet, kind, name)
    if alphabet.size > LARGEST_TABLE:
        raise LawError(
            f"{name} on {several(alphabet.size, 'value')}: its law is a table, for at most "
            f"{LARGEST_TABLE:,} values. Use a coarser alphabet."
        )


def distance_range(alphabet: Alphabet) -> tuple[float, float]:
    """Return the distance of the nearest two values and of the furthest two.

    >>> import freewill as fw
    >>> distance_range(fw.Linear(0, 30, step=3))
    (3.0, 30.0)
    """
    apart = distances(alphabet)
    return float(apart[~np.eye(len(apart), dtype=bool)].min()), float(apart.max())
