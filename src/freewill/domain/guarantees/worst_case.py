"""The pair of values that some output tells apart best, and how sure that is.

Each pair is judged at its own distance: log P(y | x) - log P(y | x') is known up to the rounding of
its two terms, which is little beside a large distance and may be all there is at a small one.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.numeric.operators.base import Operator

_ROUNDINGS = 8
"""Units in the last place by which a logarithm of a law may be off."""
_FORMULA = 1e-12
"""Relative error of a mechanism's own log_ratios, and how closely the law must agree with them."""
_NEAR = 0.5
"""Differences of logarithms below which the quotient of the numbers themselves tells more."""
_QUOTIENT = 1e-15
"""Relative error of log(1 + (p - q) / q)."""


class Auditable(Protocol):
    """What the audit needs of a mechanism."""

    @property
    def alphabet(self) -> Alphabet:
        """The values that are told apart."""

    @property
    def tabulated(self) -> bool:
        """Whether the numbers of the law are the law, to the last digit."""

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these outputs."""

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return log P(y | x) up to a constant of each y, to the last digits, if a formula can."""

    def witnesses(self) -> Reports:
        """Return outputs among which the worst one is sure to be."""


class Worst(NamedTuple):
    """The tightest epsilon, how far rounding may have moved it, and who shows it.

    `most` is what the epsilon is at most: another pair may be known less well.
    """

    epsilon: float
    resolution: float
    most: float
    output: int
    first: int
    second: int

    @property
    def least(self) -> float:
        """What the epsilon is at least."""
        return self.epsilon - self.resolution


NOTHING = Worst(-math.inf, 0.0, -math.inf, 0, 0, 0)
"""Before any pair was looked at."""


def worse(one: Worst, other: Worst, shift: int = 0) -> Worst:
    """Return the worse of two, the second's outputs counted from `shift` on."""
    most = max(one.most, other.most)
    if other.least > one.least:
        return other._replace(most=most, output=other.output + shift)
    return one._replace(most=most)


@dataclass(frozen=True, eq=False)
class Rows:
    """Logarithms of a law, [output, value]; its numbers where they are exact; their rounding."""

    logs: FloatArray
    numbers: FloatArray | None
    rounding: FloatArray

    @classmethod
    def of(cls, mechanism: Auditable, outputs: Reports) -> "Rows":
        """Tabulate the law of these outputs."""
        operator = mechanism.operator(outputs)
        logs = operator.log_dense()
        size = np.where(np.isfinite(logs), np.abs(logs), 0.0).max(axis=1, keepdims=True)
        numbers = operator.dense() if mechanism.tabulated else None
        rounding = _ROUNDINGS * np.spacing(1 + size)
        ratios = mechanism.log_ratios(outputs)
        if ratios is not None and _agree(ratios, logs, _FORMULA * (1 + size)):
            # The formula's own digits, where they are those of the law as far as it has any.
            size = np.abs(ratios).max(axis=1, keepdims=True)
            return cls(ratios, numbers, _FORMULA * size + np.spacing(size))
        return cls(logs, numbers, rounding)

    @cached_property
    def impossible(self) -> bool:
        """Whether some value excludes some output."""
        return bool(np.any(np.isneginf(self.logs)))

    def worst_output(self, alphabet: Alphabet) -> Worst:
        """Find max over y, x, x' of log P(y|x) - log P(y|x')."""
        table = self.logs if self.numbers is None else self.numbers
        first, second = table.argmax(axis=1), table.argmin(axis=1)
        spread, rounding = self._apart(first[:, None], second[:, None], paired=True)
        found = _worst(spread, rounding, np.ones(1))
        return found._replace(first=int(first[found.output]), second=int(second[found.output]))

    def worst_neighbours(self, alphabet: Alphabet) -> Worst:
        """Compare neighbours only: on a line, distances add up along the way between two values."""
        left = np.arange(alphabet.size - 1)
        found = _worst(*self._apart(left + 1, left), alphabet.distance(left, left + 1))
        return found._replace(second=found.first + 1)

    def worst_pair(self, alphabet: Alphabet) -> Worst:
        """Compare all pairs of values."""
        worst = NOTHING
        for value in range(alphabet.size - 1):
            others = np.arange(value + 1, alphabet.size)
            one = np.array([value])
            found = _worst(*self._apart(others, one), alphabet.distance(value, others))
            second = int(others[found.first])
            worst = worse(worst, found._replace(first=value, second=second))
        return worst

    def _apart(
        self, first: IntArray, second: IntArray, *, paired: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return |log P(y|x) - log P(y|x')| and its rounding; two impossible outputs are equal."""
        left, right = (_columns(self.logs, which, paired) for which in (first, second))
        with np.errstate(invalid="ignore"):
            spread = left - right
        np.abs(spread, out=spread)
        if self.impossible:
            spread[np.isneginf(left) & np.isneginf(right)] = 0.0
        rounding = np.broadcast_to(self.rounding, spread.shape)
        if self.numbers is None:
            return spread, rounding
        one, other = (_columns(self.numbers, which, paired) for which in (first, second))
        low = np.minimum(one, other)
        near = (spread < _NEAR) & (low > 0)
        excess = np.divide(np.abs(one - other), low, out=np.zeros(spread.shape), where=near)
        spread = np.where(near, np.log1p(excess), spread)
        exact = (spread < _NEAR) | np.isinf(spread)
        return spread, np.where(exact, _QUOTIENT * np.where(near, spread, 0.0), rounding)


def _agree(ratios: FloatArray, logs: FloatArray, closely: FloatArray) -> bool:
    """Tell whether the rows of two tables differ by constants, that closely."""
    likeliest = logs.argmax(axis=1)[:, None]
    one, other = (t - np.take_along_axis(t, likeliest, axis=1) for t in (ratios, logs))
    # Not so where anything is infinite or no number.
    return bool(np.all(np.abs(one - other) <= closely))


def _columns(table: FloatArray, which: IntArray, paired: bool) -> FloatArray:
    """Return columns of all rows or, paired, one entry a row."""
    return np.take_along_axis(table, which, axis=1) if paired else table[:, which]


def _worst(spread: FloatArray, rounding: FloatArray, distance: FloatArray) -> Worst:
    """Return the pair whose epsilon is surely largest; `first` is the number of its column."""
    least, most = (spread - rounding).max(axis=0), (spread + rounding).max(axis=0)
    # Beyond the largest double an epsilon is infinite.
    with np.errstate(over="ignore"):
        column = int(np.argmax(least / distance))
        row = int(np.argmax(spread[:, column] - rounding[:, column]))
        epsilon, blur = (float(t[row, column] / distance[column]) for t in (spread, rounding))
        highest = float((most / distance).max())
    return Worst(epsilon, 0.0 if math.isinf(epsilon) else blur, highest, row, column, 0)
