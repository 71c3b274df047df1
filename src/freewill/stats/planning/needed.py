"""The number of people at which an error comes down to a target."""

import math

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.stats.planning.predicted import Design

MOST_PEOPLE = 10**12
"""Beyond, a number of people is no answer."""
REACH = float(ndtri(0.975))
"""Standard errors that a 95 % interval reaches to either side."""
_CLOSE = 0.01
"""How near, relative, the search comes to its target."""
_NOISE = 0.02
"""The same for simulated surveys, whose mean is known no better."""
_SEARCH = 60
_CHECKS = 8


def needed_for_interval(variances: FloatArray, target: float) -> int | None:
    """Return the least n with z sqrt(h'C h / n) <= target for all h; None beyond 10^12.

    >>> needed_for_interval(np.array([0.25]), 0.01)
    9604
    """
    widest = float(np.sqrt(variances.max()))
    if widest == 0:
        return 2
    # A tiny target asks for more people than any number counts.
    with np.errstate(over="ignore"):
        many = float(np.square(np.float64(widest * (REACH / target))))
    return max(2, math.ceil(many * (1 - 1e-12))) if many <= MOST_PEOPLE else None


def needed_for_emd(design: Design, target: float, *, check: bool = True) -> int | None:
    """Return the number of people whose expected distance is the target; None beyond 10^12.

    Found by draws to first order, which are cheap and the same at every number; then checked, and
    moved where they are wrong, by simulated surveys, if these are to be had at that size.
    """
    found = _to_first_order(design, target) if design.resolved else None
    if found is None or not check:
        return found
    # What is known to be too few never comes back.
    least = 2
    for _ in range(_CHECKS):
        expected = design.expected_emd(found)
        off = expected.mean / target
        if off <= 1 + _NOISE and (off >= 1 - _NOISE or found == least):
            return found
        if off > 1:
            least = min(found + 1, MOST_PEOPLE)
        moved = math.ceil(found * min(max(off**2, 0.25), 4.0))
        found = min(max(moved, least), MOST_PEOPLE)
        if not expected.simulated:
            return found
    return found


def _to_first_order(design: Design, target: float) -> int | None:
    """Return where the expected distance, by draws to first order, is the target or just below."""

    def excess(log_people: float) -> float:
        people = max(2, round(math.exp(log_people)))
        mean = design.expected_emd(people, _NOISE, simulate=False).mean
        return math.log(max(mean, 1e-300) / target)

    few, many = math.log(2), math.log(MOST_PEOPLE)
    if excess(few) <= 0:
        return 2
    if excess(many) > 0:
        return None
    # The error falls nearly like n^-1/2: from the last number to where it would then be right.
    guess = math.log(10_000)
    for _ in range(_SEARCH):
        off = excess(guess)
        if abs(off) < _CLOSE or many - few < _CLOSE:
            break
        few, many = (guess, many) if off > 0 else (few, guess)
        guess = guess + 2 * off
        if not few < guess < many:
            guess = (few + many) / 2
    return max(2, round(math.exp(guess)))
