"""When a promise that holds is empty in human terms.

A law may keep its promise to the last digit and hide nothing: epsilon per metre where per kilometre
was meant, or an epsilon of 45. Two things tell, under a uniform prior:

- the chance that a report is the true value, averaged over the values, is above 90 %;
- two typical values are told apart by odds of more than e^5, 148 to 1. An epsilon of LDP is about
  any two values. One per unit of distance is taken over the *typical distance*, the mean of
  d(x, x') over all pairs: what lies between two people of whom nothing is known.

The chance is an average: a law that sends "no" whatever the truth has a chance of 1 at one value,
and hides everything.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.core.texts import behind, per
from freewill.domain.alphabets.base import Alphabet

if TYPE_CHECKING:
    from freewill.domain.guarantees.promises import Guarantee

MOST_TRUTH = 0.9
"""Chance of sending the true value above which a promise is empty."""
MOST_EXPONENT = 5.0
"""Logarithm of the odds between two typical values above which it is."""
_LARGEST = 700.0
"""Where the odds are still a number."""


def typical_distance(alphabet: Alphabet) -> float:
    """Return the mean distance of two values drawn independently and uniformly, in O(k).

    >>> import freewill as fw
    >>> typical_distance(fw.Linear(0, 2))
    0.8888888888888888
    """
    with np.errstate(over="ignore"):
        return float(alphabet.total_distance().mean()) / alphabet.size


def chance_of_truth(mechanism: Any) -> float | None:
    """Return the chance that a report is the true value under a uniform prior, if it can be one."""
    chances = getattr(mechanism, "truths", lambda: None)()
    return None if chances is None else float(np.mean(chances))


def truth_warnings(mechanism: Any) -> list[str]:
    """Say if reports are next to always true."""
    chance = chance_of_truth(mechanism) if mechanism.alphabet.size > 1 else None
    if chance is None or not chance > MOST_TRUTH:
        return []
    told = "always" if chance == 1 else f"with a chance of {_percentage(chance)}"
    return [f"the report is the true value {told}: next to nothing is hidden."]


def odds_warnings(claim: "Guarantee", alphabet: Alphabet) -> list[str]:
    """Say if two typical values may be told apart with next to certainty."""
    apart = typical_distance(alphabet) if claim.kind == "geo" else 1.0
    if alphabet.size < 2 or not claim.epsilon * apart > MOST_EXPONENT:
        return []
    if math.isinf(claim.epsilon):
        return ["nothing is promised: a report may tell the true value for sure."]
    odds = f"odds of up to {_odds(claim.epsilon * apart)} to 1 where e^5, 148 to 1, is much"
    if claim.kind == "ldp":
        return [f"epsilon {claim.epsilon:.4g} lets a report tell two values apart by {odds}."]
    unit = alphabet.unit
    return [
        f"epsilon {claim.epsilon:.4g} {per(unit)} is {claim.epsilon * apart:.3g} over "
        f"{apart:.3g}{behind(unit)}, the mean distance of two values: {odds}. "
        f"Is epsilon meant {per(unit)}?"
    ]


def _odds(exponent: float) -> str:
    return f"{math.exp(exponent):.3g}" if exponent < _LARGEST else f"e^{exponent:.3g}"


def _percentage(chance: float) -> str:
    return f"{chance:.1%}" if chance < 0.999 else "more than 99.9%"
