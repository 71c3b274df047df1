"""Information in reports of several laws, of which each report says by which it was made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import StackOperator
from freewill.numeric.operators.moments import Moments, SumOfSquares


@dataclass(frozen=True, eq=False)
class MixedMoments:
    """Averages of moments with these weights, which sum to 1: K is the mean of all K_j.

    Where a report names its law, its score is that of this law: means add up, and nothing else.
    """

    parts: Sequence[Moments]
    weights: FloatArray

    def _pairs(self) -> list[tuple[float, Moments]]:
        return list(zip(self.weights.tolist(), self.parts, strict=True))

    def information(self) -> FloatArray:
        """Return K, k x k."""
        return np.asarray(sum(weight * part.information() for weight, part in self._pairs()))

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u for any u."""
        return np.asarray(sum(weight * part.product(direction) for weight, part in self._pairs()))

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        return np.asarray(sum(weight * part.diagonal() for weight, part in self._pairs()))

    def system(self) -> SumOfSquares | None:
        """Return all rows one below the other; None where a part is no sum of squares."""
        systems = [part.system() for part in self.parts]
        sums = [one for one in systems if one is not None]
        if len(sums) < len(systems):
            return None
        weights = [share * one.weights for share, one in zip(self.weights, sums, strict=True)]
        diagonals = [share * one.diagonal for share, one in zip(self.weights, sums, strict=True)]
        rows = StackOperator([one.operator for one in sums])
        return SumOfSquares(rows, np.concatenate(weights), np.sum(diagonals, axis=0))

    def response(self, value: int) -> None:
        """Return nothing: outputs are no values."""
        return

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s."""
        powers = [np.stack(part.powers(directions)) for part in self.parts]
        second, third = np.tensordot(self.weights, np.stack(powers), 1)
        return np.asarray(second), np.asarray(third)
