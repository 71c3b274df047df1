"""How unsure shares are where people are few, in a sentence that comes before them."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.groups import Groups
from freewill.errors import several
from freewill.stats.information import FEW
from freewill.stats.intervals import Intervals

if TYPE_CHECKING:
    from freewill.present.readable.shares import Shares

_LOOKED_AT = 20
"""Shares, the largest, that this looks at."""
_SOLVED, _LARGE = 20_000, 50_000
"""Values times shares of which it does, for beyond some size each share takes a solve; and values
beyond which one solve is too many."""


def warning(
    shares: "Shares", sure: Intervals | None, more: str, level: float = 0.95, large: int = _LARGE
) -> str:
    """Say how unsure the largest shares are, where people are few; nothing where many.

    `sure` are their intervals where they are known; `more` says how to ask for them where not.
    Beyond so many values as `large` has, no solve is made, and noise is left out.
    """
    people, size = shares.people, shares.estimate.alphabet.size
    rough = people < FEW or (sure is not None and people < size)
    if not rough or len(shares) == 1:
        return ""
    if people < 2:
        return f"From {several(people, 'person')}: nothing tells how near these shares are."
    many = max(1, min(_LOOKED_AT, _SOLVED // size))
    largest = np.argsort(-shares.shares, kind="stable")[:many]
    reach = ndtri((1 + level) / 2) * _least_errors(shares.shares[largest], people)
    looked = sure is not None
    if sure is not None:
        reach = np.maximum(reach, sure.critical * sure.standard_error[largest])
    elif size <= large and shares.estimate.evidence is not None:
        one = (shares.fit or shares.estimate).intervals(rows_of(shares.groups, largest), level)
        reach, looked = np.maximum(reach, one.critical * one.standard_error), True
    without = "" if looked else " without any noise, which adds to it"
    if sure is not None:
        more = f"Intervals are rough where people are so few, for {several(size, 'value')}."
    return (
        f"From {several(people, 'person')}, these shares are unsure: at {percent(level)} the "
        f"largest may be off by {min(100 * reach.max(), 100):.3g} points{without}. {more}"
    )


def rows_of(groups: Groups, places: IntArray) -> FloatArray:
    """Return the weights of the shares of some groups."""
    return np.asarray(groups.which == places[:, None], dtype=float)


def heading(sure: Intervals) -> str:
    """Say what the intervals in a table are."""
    kind = "all together" if sure.joint else "one by one"
    return (
        f"{percent(sure.level)} intervals, {kind}, about the one-step estimate (point): "
        f"{sure.critical:.3g} standard errors."
    )


def advice(sure: Intervals, coarser: str) -> str:
    """Return the advice that comes with intervals, in the words for merging of those who ask."""
    text = sure.advice
    for name in ("functionals.bins", "functionals.districts"):
        text = text.replace(name, coarser)
    return text


def percent(level: float) -> str:
    """Return a level as people say it."""
    return f"{100 * level:.12g} %"


def _least_errors(shares: FloatArray, people: int) -> FloatArray:
    """Return the standard errors of shares counted without any noise, which adds to them.

    sqrt(s (1 - s) / (n + 4)) with s = (n share + 2) / (n + 4) (Agresti and Coull, The American
    Statistician 52 (1998), 119-126), which is not 0 where all people are alike.
    """
    pulled = (people * np.clip(shares, 0, 1) + 2) / (people + 4)
    return np.asarray(np.sqrt(pulled * (1 - pulled) / (people + 4)))
