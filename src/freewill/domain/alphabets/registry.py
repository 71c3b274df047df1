"""The kinds of alphabets by name, and how one is read from its description."""

from collections.abc import Callable
from typing import Any

from freewill.core.types import check_fields
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.categorical import Categorical
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.alphabets.product import Product, product_from_spec
from freewill.errors import SpecError, none_of, raised_as

_NOTES = {
    "labels": "a list of texts",
    "unit": "what the integers count, such as year",
    "cell": "km, or [width, height]; with bounds it follows from them",
    "bounds": "[south, north, west, east] in degrees",
    "mask": "cells left out, kept, left out, ... by turns, row by row from the south-west",
    "attributes": "a list of alphabets, each with its name",
    "weights": "what a unit of distance of each attribute counts",
}


def _product(attributes: Any, weights: Any = None) -> Product:
    return product_from_spec(alphabet_from_spec, attributes, weights)


_KINDS: dict[str, Callable[..., Any]] = {
    "categorical": Categorical,
    "linear": Linear,
    "grid": Grid,
    "product": _product,
}


def alphabet_from_spec(spec: Any) -> Alphabet:
    """Rebuild an alphabet from its portable description.

    O(values) for labels, O(1) for lines and boxes.

    >>> alphabet_from_spec(Linear(0, 9).spec()) == Linear(0, 9)
    True
    """
    kind = spec.get("kind") if isinstance(spec, dict) else spec
    if not (isinstance(spec, dict) and isinstance(kind, str) and kind in _KINDS):
        raise SpecError(none_of("alphabet kind", kind, _KINDS))
    fields = {name: value for name, value in spec.items() if name != "kind"}
    check_fields(fields, _KINDS[kind], f"a {kind} alphabet", _NOTES)
    with raised_as(SpecError, f"{kind} alphabet: "):
        alphabet: Alphabet = _KINDS[kind](**fields)
    return alphabet
