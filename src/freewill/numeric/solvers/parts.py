"""The parts that a pass goes over: reports in memory, or wherever a `Part` reads them from."""

from collections.abc import Iterator
from typing import Protocol

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Guess
from freewill.numeric.operators.kernel import Sums
from freewill.numeric.solvers.likelihood import Likelihood


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


class OperatorPart(Likelihood):
    """Reports in memory: a likelihood of one law is a part of one of many."""

    @property
    def rows(self) -> int:
        """Bit reports; 0 for any other kind, whose H is exact."""
        return self.operator.shape[0] if self.operator.structure == "bits" else 0

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return the operator's sums."""
        return self.operator.sums(theta, self.weights, stride)

    def guesses(self) -> Iterator[Guess]:
        """Yield the operator's bit sums, if it is bits."""
        guess = self.operator.guess(self.weights)
        if guess is not None:
            yield guess
