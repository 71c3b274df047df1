"""Intervals from reports of which some outputs tell nothing, for anybody may have sent them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.numeric.operators.base import DenseOperator, probabilities
from freewill.numeric.operators.moments import ListedMoments, Moments
from freewill.stats.evidence import Group
from freewill.stats.information import Information
from freewill.stats.intervals import OneStep


@dataclass(frozen=True, eq=False)
class DoubtedMoments:
    """Moments of a mechanism of which some outputs S tell nothing, nor how often they come.

    What a report tells is split in two: whether it is one of S, which one, or another output; and
    which one of the others. With b = 1 - sum_S a and B = 1 - sum_S p, the first has the information

        E = sum_S a a' / p + b b' / B - 1 1',

    and what is left is K - E, that of reports given that they are not in S.
    """

    whole: Moments
    coarse: ListedMoments
    """Of the outputs S and of all others as one, which is the last."""

    def information(self) -> FloatArray:
        """Return K - E, k x k."""
        return self.whole.information() - self.coarse.information()

    def product(self, direction: FloatArray) -> FloatArray:
        """Return (K - E) u."""
        return self.whole.product(direction) - self.coarse.product(direction)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K - E."""
        return np.maximum(self.whole.diagonal() - self.coarse.diagonal(), 0.0)

    def system(self) -> None:
        """Return nothing: K - E is no sum of squares."""

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value) of all outputs: a preconditioner needs no more."""
        return self.whole.response(value)

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sum p (s - r)^2 and ^3 over the outputs believed, with r the mean of s there."""
        scored = self.coarse.scores @ directions.T
        shares, mean, rest = self.coarse.shares[:-1], scored[-1], self.coarse.shares[-1]
        doubted = scored[:-1]
        square, cube = self.whole.powers(directions)
        square = square - shares @ (doubted * doubted)
        cube = cube - shares @ (doubted * doubted * doubted)
        second = np.maximum(square - rest * mean**2, 0.0)
        return second, np.asarray(cube - 3 * mean * square + 2 * rest * mean**3)


@dataclass(frozen=True, eq=False)
class DoubtedOneStep(OneStep):
    """theta_1 from reports of which some outputs are not believed, named for each group.

    Where an output has an atom (`AtomModel`), its reports explain the atom and nothing else, and
    the share of the mechanism among the honest is unknown: theta is estimated from the other
    outputs, given that a report is one of them. The evidence is that of the reports kept; how many
    of those are on an output that is not believed makes no difference.
    """

    doubted: tuple[IntArray, ...]

    @property
    def mode(self) -> FloatArray:
        """The theta that it starts from, which is no maximum of the reports kept."""
        return np.asarray(self.start)

    def information_at(self, pull: float) -> Information:
        """Return the information of the outputs that are believed."""
        whole = super().information_at(pull)
        moments = tuple(
            DoubtedMoments(own, _coarse(part[0], outputs, whole.theta)) if outputs.size else own
            for part, own, outputs in zip(whole.parts, whole.moments, self.doubted, strict=True)
        )
        return replace(whole, moments=moments)

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient at theta_w, with as many reports of a doubted output as the others suggest."""
        slope, theta = super().slope, self.information.theta
        for group, outputs in zip(self.evidence.groups, self.doubted, strict=True):
            if outputs.size:
                slope = slope + _exchanged(group, outputs, theta) / self.evidence.people
        return np.asarray(slope)


def _coarse(mechanism: Mechanism, outputs: IntArray, theta: FloatArray) -> ListedMoments:
    """Return the moments of an observer who sees these outputs, and all others as one."""
    rows = probabilities(mechanism.operator(outputs))
    rest = np.maximum(1 - rows.sum(axis=0), 0.0)
    return ListedMoments(DenseOperator(np.vstack([rows, rest])), theta)


def _exchanged(group: Group, outputs: IntArray, theta: FloatArray) -> FloatArray:
    """Return what sum n a / p gains by expected counts of doubted outputs instead of those kept."""
    rows = probabilities(group.mechanism.operator(outputs))
    fitted = rows @ theta
    counts = np.array([group.counts[group.outputs == output].sum() for output in outputs])
    rate = (group.people - counts.sum()) / max(1 - float(fitted.sum()), np.finfo(float).tiny)
    change = np.divide(rate * fitted - counts, fitted, out=np.zeros_like(fitted), where=fitted > 0)
    return np.asarray(change @ rows)
