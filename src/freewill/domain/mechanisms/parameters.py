"""What mechanisms are made with, checked: their alphabet, an epsilon, a quality loss."""

import inspect
import json
import math
from numbers import Real
from typing import Any

import numpy as np

from freewill.core.types import Spec
from freewill.errors import AlphabetError, LawError, ParameterError, shown


def checked_alphabet(alphabet: Any, kind: type[Any], name: str, least: int = 2) -> None:
    """Check that an alphabet is of the kind a mechanism works on and has enough values."""
    # A class has what a protocol asks for, too.
    if isinstance(alphabet, type) or not isinstance(alphabet, kind):
        names = {"Linear": "a Linear alphabet", "Grid": "a Grid"}
        wanted = names.get(kind.__name__, "an alphabet")
        raise AlphabetError(f"{name} on {shown(alphabet)}: expected {wanted}.")
    if alphabet.size < least:
        raise AlphabetError(f"{name} on an alphabet of one value: it needs at least {least}.")


def check_plane(grid: Any, name: str) -> None:
    """Refuse a grid of a single row or column."""
    if min(grid.columns, grid.rows) < 2:
        raise AlphabetError(
            f"{name} on {grid}: it needs at least 2 columns and 2 rows. For a single row, use "
            f"Geometric on a Linear alphabet."
        )


def checked_epsilon(epsilon: Any, name: str, largest: float) -> float:
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


def needed_beside_epsilon(kind: type[Any]) -> list[str] | None:
    """Return what the mechanisms of a kind need beside alphabet and epsilon; None without epsilon.

    >>> import freewill as fw
    >>> needed_beside_epsilon(fw.THE), needed_beside_epsilon(fw.Identity)
    ([], None)
    """
    taken = inspect.signature(kind).parameters
    if "epsilon" not in taken:
        return None
    always, empty = ("alphabet", "epsilon"), inspect.Parameter.empty
    return [name for name, one in taken.items() if name not in always and one.default is empty]


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


def checked_positive(number: Any, what: str, name: str) -> float:
    """Return a number as a float after checking that it is positive and finite."""
    value = _number(number)
    if not 0 < value < math.inf:
        raise ParameterError(f"{what}={shown(number)} for {name}: must be a number > 0 and finite.")
    return value


def checked_chance(chance: Any, what: str, name: str) -> float:
    """Return a probability as a float after checking that it lies strictly between 0 and 1."""
    value = _number(chance)
    if not 0 < value < 1:
        raise ParameterError(
            f"{what}={shown(chance)} for {name}: must be a number > 0 and < 1. At 0 and at 1 a "
            f"report would exclude values for sure."
        )
    return value


def checked_threshold(threshold: Any, name: str) -> float:
    """Return a threshold between the two values of a bit."""
    value = _number(threshold)
    if not 0 <= value <= 1:
        raise ParameterError(
            f"threshold={shown(threshold)} for {name}: must be a number from 0 to 1, between the "
            f"two values of a bit, or None for the best one."
        )
    return value


def checked_whole(number: Any, what: str, name: str, least: int, most: int, why: str) -> int:
    """Return a whole number within bounds, for which there is a reason."""
    value = _number(number)
    if not (least <= value <= most and value == int(value)):
        raise ParameterError(
            f"{what}={shown(number)} for {name}: must be a whole number from {least:,} to "
            f"{most:,}. {why}"
        )
    return int(value)


def _number(value: Any) -> float:
    """Return a real number as a float, anything else (texts and truth values too) as NaN."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan


def canonical(spec: Spec, name: str) -> bytes:
    """Return a description as the bytes whose hash is the mechanism's id."""
    try:
        return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        expected = "expected numbers, texts, lists and dicts alone, ready for JSON"
        raise LawError(
            f"the parameters of {name} cannot be written ({error}): {expected}. Convert them in "
            f"__post_init__, or write parameters() and from_parameters()."
        ) from None


def no_witnesses(mechanism: Any, wanted: str = "witnesses") -> str:
    """Say what is missing for the audit of a mechanism whose reports cannot be listed."""
    return (
        f"the reports of {mechanism} cannot be listed, so that no audit looks at all of them. "
        f"Write its {wanted}(), outputs among which the least private one is sure to be. "
        f"fw.check_mechanism tries the promise on reports that are drawn."
    )


def held_beside_epsilon(mechanism: Any) -> Spec:
    """Return all parameters of a mechanism but its epsilon, to be held while that is varied."""
    parameters = {**mechanism.parameters(), **mechanism.shape()}
    return {name: value for name, value in parameters.items() if name != "epsilon"}


def of_full_rank(mechanism: Any) -> bool:
    """Say whether a law is of full rank by its kind; a kind derived from it may have another."""
    for kind in type(mechanism).__mro__:
        if "full_rank" in vars(kind):
            return bool(mechanism.full_rank)
        if vars(kind).keys() & {"operator", "law", "output_space"}:
            return False
    return False
