"""The parts that a pass goes over: reports in memory, or wherever a `Part` reads them from."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from freewill.operators import Guess, Operator, Sums
from freewill.types import FloatArray


class Part(Protocol):
    """Some of the reports behind a likelihood. A pass reads them once and keeps none of them."""

    @property
    def rows(self) -> int:
        """Bit reports, of which H may come from a sample; 0 where H is exact."""

    @property
    def weight(self) -> float:
        """Share of all people who reported here."""

    @property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors, which `sums` leaves out of L."""

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return L, g and, unless `stride` is 0, H; from about one bit report in `stride`."""

    def guesses(self) -> Iterator[Guess]:
        """Yield the bit sums of each law, from which the debiased start is made."""


@dataclass(frozen=True, eq=False)
class OperatorPart:
    """Reports in memory: the law of the observed outputs and the weight of each."""

    operator: Operator
    weights: FloatArray

    @property
    def rows(self) -> int:
        """Bit reports; 0 for any other kind, whose H is exact."""
        return self.operator.shape[0] if self.operator.structure == "bits" else 0

    @cached_property
    def weight(self) -> float:
        """Share of all people."""
        return float(self.weights.sum())

    @cached_property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors."""
        return float(self.weights @ self.operator.log_scale)

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return the operator's sums."""
        return self.operator.sums(theta, self.weights, stride)

    def guesses(self) -> Iterator[Guess]:
        """Yield the operator's bit sums, if it is bits."""
        guess = self.operator.guess(self.weights)
        if guess is not None:
            yield guess
