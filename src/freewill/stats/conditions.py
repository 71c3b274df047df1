"""What is asked of several attributes that no weights give, and of which records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, is_line
from freewill.domain.alphabets.groups import members_of, set_name
from freewill.domain.alphabets.product import Product
from freewill.errors import AlphabetError, ParameterError, printable, raised_as, shown

if TYPE_CHECKING:
    from freewill.stats.functionals import Quantiles

Given = Mapping[str, Any]
"""Of some attributes, a value or several: what people are asked for."""
MOST = 1 << 24
"""Records that weights are written for."""


class Fraction(NamedTuple):
    """Numerators and denominators at some shares t, one a functional, with their gradients."""

    top: FloatArray
    top_gradient: FloatArray
    """[functional, share]"""
    bottom: FloatArray
    bottom_gradient: FloatArray


@dataclass(frozen=True, eq=False)
class Fractions:
    """Functionals f(H theta) = A(t) / B(t) on one alphabet, of a few sums t = H theta.

    A ratio, a difference of ratios or a product of odds is such a fraction of smooth A and B > 0,
    whose gradients say how sure it is; `least` and `most` bound what it can be.
    """

    rows: FloatArray
    """H, a row of weights a sum."""
    at: Callable[[FloatArray], Fraction]
    names: tuple[str, ...]
    least: FloatArray
    most: FloatArray
    bottom: str
    """What the denominator is, for a sentence about one that is hardly above 0."""
    single: bool = False
    about: Alphabet | None = None
    quantiles: "Quantiles | None" = None


@dataclass(frozen=True, eq=False)
class Dependence:
    """The mutual information of two attributes, sum p_ij log p_ij / (p_i p_j), from all p_ij."""

    rows: FloatArray
    """A row of weights a cell, row by row."""
    shape: tuple[int, int]
    name: str


@dataclass(frozen=True)
class Nonlinear:
    """Something to ask of theta that no weights give, on products of attributes."""

    what: str
    on: Callable[[Alphabet], Fractions | Dependence]

    def __str__(self) -> str:
        return self.what


def product_of(alphabet: Alphabet, what: str, *, any_size: bool = False) -> Product:
    """Return an alphabet of several attributes, and refuse any other, and one too large."""
    if not isinstance(alphabet, Product):
        raise ParameterError(
            f"{what} on {alphabet}: it is about one question, and has no attributes to choose "
            f"from. Expected an fw.Product."
        )
    if alphabet.size > MOST and not any_size:
        names = ", ".join(repr(name) for name in list(alphabet.attributes)[:2])
        raise ParameterError(
            f"{what} on {alphabet}, {alphabet.size:.3g} records: too many for their joint "
            f"distribution. Take a marginal of the evidence first, evidence.marginal({names})."
        )
    return alphabet


def checked_names(names: Any) -> tuple[str, ...]:
    """Return one name, or several, as a tuple of them."""
    listed = tuple(names) if isinstance(names, tuple | list) else (names,)
    if not all(isinstance(name, str) for name in listed):
        raise ParameterError(
            f"{shown(names)}: expected the name of an attribute, as 'age', or several of them."
        )
    return listed


def places_in(product: Product, names: tuple[str, ...]) -> IntArray:
    """Return for each record its index among those of some attributes alone, O(k).

    >>> import freewill as fw
    >>> people = fw.Product(a=fw.Linear(0, 1), b=fw.Linear(0, 2))
    >>> places_in(people, ("b",))
    array([0, 1, 2, 0, 1, 2])
    """
    split, places = product.split(np.arange(product.size)), product.places(names)
    shape = [product.sizes[place] for place in places]
    return np.asarray(np.ravel_multi_index([split[place] for place in places], shape))


def condition_on(product: Product, given: Given) -> tuple[BoolArray, str]:
    """Return which records a condition leaves, and the condition in words.

    >>> import freewill as fw
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> condition_on(people, {"age": [1, 2], "vote": "yes"})[1]
    'age 1..2 and vote yes'
    """
    if not given:
        raise ParameterError(
            f"no condition: expected values of some of {', '.join(product.attributes)}, as "
            f"given(name=value)."
        )
    split = product.split(np.arange(product.size))
    inside, words = np.ones(product.size, dtype=np.bool_), []
    for place in product.places(given):
        name, alphabet = list(product.attributes.items())[place]
        with raised_as(AlphabetError, f"attribute {printable(name)!r}: "):
            indices = members_of(alphabet, given[name])
        if not indices.size:
            raise ParameterError(f"attribute {printable(name)!r} with no value: expected some.")
        inside &= np.isin(np.arange(alphabet.size), indices)[split[place]]
        words.append(f"{printable(name)} {printable(set_name(alphabet, indices))}")
    return inside, " and ".join(words)


def numbers_of(product: Product, name: str, what: str) -> FloatArray:
    """Return the number that one attribute has in each record; an error where it has none."""
    product.places([name])
    alphabet = product.attributes[name]
    if len(alphabet.axes) != 1 or not is_line(alphabet):
        raise ParameterError(
            f"{what} of {printable(name)}, which is {alphabet}: expected numbers in a row, an "
            f"attribute with a Linear alphabet."
        )
    numbers = np.asarray(alphabet.decode(np.arange(alphabet.size)), dtype=float)
    return np.asarray(numbers[places_in(product, (name,))])
