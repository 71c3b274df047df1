"""The public part of a report: what it says that does not depend on the value."""

from collections.abc import Iterable
from typing import Any, Protocol

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.numeric.operators.moments import Moments


class PublicPart(Protocol):
    """A part of each report that is chosen, or drawn, whatever the value is: a number from 0 on.

    What reports tell is told given their public parts, and neighbours may be looked at by
    themselves. An epsilon of one's own is such a part.
    """

    places: int
    """How many public parts there are."""

    def of(self, outputs: Reports) -> IntArray:
        """Return the public parts of reports."""

    def inner(self, outputs: Reports) -> Reports:
        """Return what is left of reports."""

    def members(self) -> Iterable[Any]:
        """Return the mechanism of what is left, for each public part."""

    def mixture(self, counts: FloatArray) -> tuple[list[Any], FloatArray]:
        """Return a few mechanisms of what is left, and shares, that stand for all these parts."""

    def moments(self, theta: FloatArray, counts: FloatArray) -> Moments:
        """Return what a report tells at theta, on average over public parts that often."""

    def within(self, first: int, last: int) -> Any:
        """Return the mechanism that has these public parts alone."""

    def renumbered(self, outputs: Reports, first: int, last: int) -> Reports:
        """Return reports with these parts as reports of that mechanism."""

    def label(self, first: int, last: int) -> str:
        """Name these parts."""
