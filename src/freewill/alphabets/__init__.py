"""Alphabets: the values a person may have, their numbering and their distances.

Users meet values (ages, labels, places); everything inside works on indices 0 .. size-1.
`encode` leads in, `decode` leads out.
"""

from typing import Any

from freewill.alphabets.base import Alphabet, Inside, checked_indices, distances, is_line
from freewill.alphabets.categorical import Categorical
from freewill.alphabets.grid import Grid, kilometres_per_degree
from freewill.alphabets.linear import Linear
from freewill.errors import SpecError

__all__ = [
    "Alphabet",
    "Categorical",
    "Grid",
    "Inside",
    "Linear",
    "alphabet_from_spec",
    "checked_indices",
    "distances",
    "is_line",
    "kilometres_per_degree",
]

_KINDS: dict[str, type[Any]] = {"categorical": Categorical, "linear": Linear, "grid": Grid}


def alphabet_from_spec(spec: Any) -> Alphabet:
    """Rebuild an alphabet from its portable description.

    >>> alphabet_from_spec(Linear(0, 9).spec()) == Linear(0, 9)
    True
    """
    kind = spec.get("kind") if isinstance(spec, dict) else spec
    if not (isinstance(spec, dict) and isinstance(kind, str) and kind in _KINDS):
        raise SpecError(f"alphabet kind {kind!r}: expected one of {', '.join(_KINDS)}.")
    fields = {name: value for name, value in spec.items() if name != "kind"}
    try:
        alphabet: Alphabet = _KINDS[spec["kind"]](**fields)
    except (TypeError, ValueError) as error:
        raise SpecError(f"damaged {spec['kind']} alphabet {fields}: {error}") from None
    return alphabet
