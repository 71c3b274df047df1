"""The levels of a family: the public part of its reports, which says the epsilon."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.numeric.operators.moments import MixedMoments
from freewill.numeric.quadrature import octave_rule


@dataclass(frozen=True)
class Levels:
    """The levels of a family (`fw.Family`), chosen or drawn whatever the value is: from 0 on.

    What reports tell is told given their levels, and neighbours may be looked at by themselves.
    """

    family: Any

    @property
    def places(self) -> int:
        """How many levels there are."""
        return int(self.family.last) + 1

    def _split(self, outputs: Reports) -> Any:
        return self.family.output_space.split(outputs)

    def of(self, outputs: Reports) -> IntArray:
        """Return the levels of reports."""
        return self._split(outputs)[0]  # type: ignore[no-any-return]

    def inner(self, outputs: Reports) -> Reports:
        """Return what the members reported."""
        return self._split(outputs)[1]  # type: ignore[no-any-return]

    def members(self) -> Iterator[Any]:
        """Return the members, one after the other."""
        return map(self.family.member, range(self.places))

    def mixture(self, counts: FloatArray) -> tuple[list[Any], FloatArray]:
        """Return members at the nodes of a Gauss rule of the epsilons that occur."""
        there = np.flatnonzero(counts)
        epsilons, weights = octave_rule(self.family.epsilons_of(there), counts[there] * 1.0)
        return [self.family.made(epsilon) for epsilon in epsilons], weights / weights.sum()

    def moments(self, theta: FloatArray, counts: FloatArray) -> MixedMoments:
        """Average the members' moments over these levels, by the same rule."""
        members, shares = self.mixture(counts)
        return MixedMoments([member.moments(theta) for member in members], shares)

    def within(self, first: int, last: int) -> Any:
        """Return the family of these levels alone."""
        return self.family.within(first, last)

    def renumbered(self, outputs: Reports, first: int, last: int) -> Reports:
        """Count levels from the first of these on."""
        levels, reports = self._split(outputs)
        space: Any = self.within(first, last).output_space
        return space.joined([levels - first, reports])  # type: ignore[no-any-return]

    def label(self, first: int, last: int) -> str:
        """Name the range, to three digits."""
        low, high = self.family.epsilons_of(np.array([first, last]))
        return f"{low:.3g} to {high:.3g}" if last > first else f"{low:.3g}"
