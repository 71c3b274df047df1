"""What the parameters of mechanisms must be, and what the error says where they are not."""

import math
from numbers import Real
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import checked_indices
from freewill.errors import AlphabetError, IdentifiabilityError, ParameterError, shown

LARGEST_EXPONENT = 1e290
"""Of e^(-epsilon d) at the largest distance d, where logarithms still leave room for sums."""
_BLIND = 1e-15
"""An advantage of the truth that is lost in the rounding of probabilities."""


def checked_index(index: Any, size: int) -> int:
    """Return one index of the alphabet."""
    whole = checked_indices(index, size, "value")
    if whole.ndim:
        raise AlphabetError(
            f"index {shown(index)}: expected one index, 0 to {size - 1}. For many, use obfuscate."
        )
    return int(whole)


def checked_epsilon(epsilon: Any, name: str, largest: float = math.inf) -> float:
    """Return epsilon as a float after checking that it is positive, finite and not too large."""
    value, given = _number(epsilon), f"epsilon={shown(epsilon)} for {name}"
    if value == 0:
        raise ParameterError(
            f"{given}: must be > 0. At 0 a report would be full privacy and "
            f"tell the collector nothing: choose a small positive epsilon, or send no report."
        )
    if not 0 < value < math.inf:
        # Whoever wrote "0", or went below it, meant full privacy, and never Identity.
        advice = "For full privacy, send no report."
        advice = "For no privacy at all, use Identity." if value > 0 else advice
        raise ParameterError(
            f"{given}: must be a number > 0 and finite (the larger, the less private). {advice}"
        )
    if value > largest:
        raise ParameterError(
            f"{given}: must be <= {largest:g}, beyond which no number holds "
            f"what the noise would need and the promise is empty. For no privacy, use Identity."
        )
    return value


def checked_quality_loss(quality_loss: Any, least: float = 0.0) -> float:
    """Return an expected loss as a float after checking that it is positive and finite."""
    value, given = _number(quality_loss), f"quality_loss={shown(quality_loss)}"
    if 0 <= value <= least:
        raise ParameterError(
            f"{given}: must be > {least:g} and finite. At 0, and so close to it, every report "
            f"would be the truth: for no privacy at all, use Identity."
        )
    if not 0 < value < math.inf:
        raise ParameterError(
            f"{given}: must be a number > 0 and finite, in units of distance "
            f"(the larger, the more private)."
        )
    return value


def _number(value: Any) -> float:
    """Return a real number as a float, anything else (texts and truth values too) as NaN."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan


def checked_advantage(advantage: float, mechanism: object) -> float:
    """Return how much likelier the truth is, e^epsilon - 1, unless doubles show no trace of it."""
    if advantage < _BLIND:
        raise IdentifiabilityError(
            f"{mechanism} cannot be inverted: the truth is likelier than the rest by a factor of "
            f"1 + {advantage:.3g} only, less than the rounding of shares. Use gibu, or a larger "
            f"epsilon."
        )
    return advantage


def checked_alphabet(alphabet: Any, kind: type[Any], name: str, least: int = 2) -> None:
    """Check that an alphabet is of the kind a mechanism works on and has enough values."""
    # A class has what a protocol asks for, too.
    if isinstance(alphabet, type) or not isinstance(alphabet, kind):
        names = {"Linear": "a Linear alphabet", "Grid": "a Grid"}
        wanted = names.get(kind.__name__, "an alphabet")
        raise AlphabetError(f"{name} on {shown(alphabet)}: expected {wanted}.")
    if alphabet.size < least:
        raise AlphabetError(f"{name} on an alphabet of one value: it needs at least {least}.")


def average_epsilon(epsilons: FloatArray, weights: FloatArray, size: int) -> float:
    """Return epsilon[n] with 1/(k-1+e^epsilon[n]) = the mean of 1/(k-1+e^epsilon_i) (eq. 8).

    With size 2 and halved epsilons it is eq. 13. Written with the mean m of 1/(k-1+e^epsilon)
    and the mean t of (e^epsilon - 1)/(k-1+e^epsilon), e^epsilon[n] - 1 = t / m: nothing cancels
    for small epsilons and nothing overflows for large ones.

    >>> average_epsilon(np.array([2.0, 2.0]), np.array([0.5, 0.5]), 10)
    2.0
    """
    rare = np.exp(-epsilons)
    other = rare / (1 + (size - 1) * rare)
    # In units of the largest, so that epsilons near the least of all doubles keep their digits.
    unit = float(epsilons.max()) or 1.0
    advantage = -np.expm1(-epsilons) / unit / (1 + (size - 1) * rare)
    mean = np.log1p(unit * ((weights @ advantage) / (weights @ other)))
    # Rounding may lead past the least and the largest, which no mean does.
    return float(np.clip(mean, epsilons.min(), epsilons.max()))
