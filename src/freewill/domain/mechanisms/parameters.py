"""What mechanisms are made with, checked: their alphabet, an epsilon, a quality loss."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from freewill.errors import AlphabetError, ParameterError, shown


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


def checked_number(
    given: Any, what: str, name: str, fits: Callable[[float], bool], expected: str
) -> float:
    """Return a real number as a float after checking that it fits; nothing else does."""
    try:
        real = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
        value = float(given) if real else math.nan
    except (OverflowError, ValueError):
        value = math.nan
    if not fits(value):
        whose = f" for {name}" if name else ""
        raise ParameterError(f"{what}={shown(given)}{whose}: must be {expected}")
    return value


def checked_positive(number: Any, what: str, name: str) -> float:
    """Return a number as a float after checking that it is positive and finite."""
    return checked_number(number, what, name, _positive, "a number > 0 and finite.")


def checked_epsilon(epsilon: Any, name: str, largest: float) -> float:
    """Return epsilon as a float after checking that it is positive, finite and not too large."""
    blind = (
        "> 0. At 0 a report would be full privacy and tell the collector nothing: choose a small "
        "positive epsilon, or send no report."
    )
    value = checked_number(epsilon, "epsilon", name, lambda number: number != 0, blind)
    # Whoever wrote "0", or went below it, meant full privacy, and never Identity.
    advice = "For no privacy at all, use Identity."
    advice = advice if value > 0 else "For full privacy, send no report."
    wanted = f"a number > 0 and finite (the larger, the less private). {advice}"
    checked_number(epsilon, "epsilon", name, _positive, wanted)
    empty = (
        f"<= {largest:g}, beyond which no number holds what the noise would need and the promise "
        f"is empty. For no privacy, use Identity."
    )
    return checked_number(epsilon, "epsilon", name, lambda number: number <= largest, empty)


def checked_quality_loss(quality_loss: Any, least: float = 0.0) -> float:
    """Return an expected loss as a float after checking that it is positive and finite."""
    truth = (
        f"> {least:g} and finite. At 0, and so close to it, every report would be the truth: for "
        f"no privacy at all, use Identity."
    )
    checked_number(quality_loss, "quality_loss", "", lambda loss: not 0 <= loss <= least, truth)
    wanted = "a number > 0 and finite, in units of distance (the larger, the more private)."
    return checked_number(quality_loss, "quality_loss", "", _positive, wanted)


def checked_chance(chance: Any, what: str, name: str) -> float:
    """Return a probability as a float after checking that it lies strictly between 0 and 1."""
    wanted = "a number > 0 and < 1. At 0 and at 1 a report would exclude values for sure."
    return checked_number(chance, what, name, lambda number: 0 < number < 1, wanted)


def checked_whole(
    number: Any, what: str, name: str, least: int, most: int, why: str, unit: str = ""
) -> int:
    """Return a whole number within bounds, for which there is a reason."""
    wanted = f"a whole number{unit} from {least:,} to {most:,}. {why}"
    value = checked_number(
        number, what, name, lambda value: least <= value <= most and value == int(value), wanted
    )
    return int(value)


def _positive(number: float) -> bool:
    return 0 < number < math.inf
