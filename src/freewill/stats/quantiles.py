"""Quantiles, which are read off the intervals of the CDF: no weights give them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from freewill.core.types import FloatArray
from freewill.stats.information import advice_on_few
from freewill.stats.weights import Quantiles

if TYPE_CHECKING:
    from freewill.stats.intervals import Intervals


def quantiles_of(curve: "Intervals", wanted: Quantiles) -> "Intervals":
    """Return what the intervals of the CDF do not rule out."""
    (low, high), size = curve.alphabet.reach[0], curve.alphabet.size
    edges = np.linspace(low, high, size + 1)
    middle, lower, upper = (
        np.concatenate([[0.0], np.maximum.accumulate(heights), [1.0]])
        for heights in (curve.point, curve.low, curve.high)
    )
    point, first, last = (
        crossings(heights, wanted.levels, edges) for heights in (middle, upper, lower)
    )
    names = tuple(str(wanted).split(", "))
    # The CDF of all values is 1: it rests on nobody.
    crossed = np.minimum(np.searchsorted(middle[1:], wanted.levels), max(size - 2, 0))
    effective_people = curve.effective_people[crossed]
    return replace(
        curve,
        of=names,
        point=point,
        low=first,
        high=last,
        standard_error=(last - first) / (2 * curve.critical),
        effective_people=effective_people,
        advice=advice_on_few(names, effective_people, curve.people),
    )


def crossings(curve: FloatArray, shares: Sequence[float], edges: FloatArray) -> FloatArray:
    """Return where a rising curve over the edges first reaches each share."""
    # Backwards, for where the curve is flat `interp` takes the last of its places.
    return np.interp(np.negative(shares), -curve[::-1], edges[::-1])
