"""Alphabets: the values a person may have, their numbering and their distances.

Users meet values (ages, labels, places); everything inside works on indices 0 .. size-1.
`encode` leads in, `decode` leads out.
"""

from typing import Any

from freewill.alphabets.base import (
    Alphabet,
    Inside,
    checked_indices,
    checked_kind,
    distances,
    is_line,
    refuse_vast,
)
from freewill.alphabets.categorical import Categorical
from freewill.alphabets.grid import Grid, kilometres_per_degree
from freewill.alphabets.linear import Linear
from freewill.alphabets.texts import encode_texts, encode_values, readable, texts
from freewill.errors import FreewillError, SpecError, closest, shown
from freewill.types import check_fields

__all__ = [
    "Alphabet",
    "Categorical",
    "Grid",
    "Inside",
    "Linear",
    "alphabet_from_spec",
    "checked_indices",
    "checked_kind",
    "distances",
    "encode_texts",
    "encode_values",
    "is_line",
    "kilometres_per_degree",
    "readable",
    "refuse_vast",
    "texts",
]

_NOTES = {
    "labels": "a list of texts",
    "unit": "what the integers count, such as year",
    "cell": "km, or [width, height]; with bounds it follows from them",
    "bounds": "[south, north, west, east] in degrees",
}
_KINDS: dict[str, type[Any]] = {"categorical": Categorical, "linear": Linear, "grid": Grid}


def alphabet_from_spec(spec: Any) -> Alphabet:
    """Rebuild an alphabet from its portable description.

    >>> alphabet_from_spec(Linear(0, 9).spec()) == Linear(0, 9)
    True
    """
    kind = spec.get("kind") if isinstance(spec, dict) else spec
    if not (isinstance(spec, dict) and isinstance(kind, str) and kind in _KINDS):
        raise SpecError(
            f"alphabet kind {shown(kind)}: expected one of {', '.join(_KINDS)}."
            f"{closest(kind, _KINDS)}"
        )
    fields = {name: value for name, value in spec.items() if name != "kind"}
    check_fields(fields, _KINDS[kind], f"a {kind} alphabet", _NOTES)
    try:
        alphabet: Alphabet = _KINDS[kind](**fields)
    except FreewillError as error:
        raise SpecError(f"{kind} alphabet: {error}") from None
    return alphabet
