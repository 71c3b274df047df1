"""Records of several named attributes, and how an alphabet of any kind is read."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.texts import is_whole_text
from freewill.core.types import FloatArray, IntArray, Spec, check_fields, is_number
from freewill.domain.alphabets.base import (
    LARGEST,
    Alphabet,
    Categorical,
    Inside,
    Linear,
    checked_indices,
    checked_kind,
    headed,
    readable,
    refuse_vast,
)
from freewill.domain.alphabets.grid import Grid
from freewill.errors import (
    AlphabetError,
    SpecError,
    closest,
    none_of,
    printable,
    raised_as,
    several,
    shown,
)

Values = list[Any] | NDArray[Any]


@dataclass(frozen=True, init=False, repr=False)
class Product:
    """All combinations of the values of several attributes; a value is a record of one of each.

    Index = sum over attributes of their indices by mixed radix, the last attribute fastest. Records
    come as dicts, as tuples in the order of the attributes, or as columns (a dict of lists, a
    frame). `weights` say how far a unit of each attribute counts: the distance of two records is
    the sum over the attributes of weight times distance. Without weights records have none, for
    years and labels have no unit in common.

    >>> import freewill as fw
    >>> from freewill import Categorical, Linear
    >>> people = fw.Product(age=Linear(0, 99), commute=Categorical(["car", "bus", "bicycle"]))
    >>> people.encode([{"age": 41, "commute": "bus"}, (0, "car")])
    array([124,   0])
    >>> people.decode([124]).tolist(), str(people)
    ([(41, 'bus')], 'age 0..99 x commute 3 labels')
    """

    _pairs: tuple[tuple[str, Alphabet], ...]
    _weights: tuple[float, ...] | None
    plane: ClassVar[None] = None
    labels: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = ""
    extent: ClassVar[tuple[()]] = ()
    reach: ClassVar[tuple[()]] = ()

    def __init__(
        self,
        attributes: Mapping[str, Alphabet] | None = None,
        /,
        *,
        weights: Mapping[str, float] | None = None,
        **named: Alphabet,
    ) -> None:
        if attributes is not None and not isinstance(attributes, Mapping):
            raise AlphabetError(
                f"attributes={shown(attributes)}: expected alphabets by name, as "
                f'fw.Product(age=ages, commute=modes) or fw.Product({{"age": ages, ...}}).'
            )
        twice = [name for name in attributes or {} if name in named]
        if twice:
            raise AlphabetError(f"attribute {shown(twice[0])} comes twice: name each once.")
        pairs = {**(attributes or {}), **named}
        if not pairs:
            raise AlphabetError("a product of no attributes: name at least one, with its alphabet.")
        for name, alphabet in pairs.items():
            _check_name(name)
            with raised_as(AlphabetError, f"attribute {name!r}: "):
                if hasattr(checked_kind(alphabet), "attributes"):
                    raise AlphabetError(
                        "it is a product itself: name its attributes beside the others instead."
                    )
        size = math.prod(alphabet.size for alphabet in pairs.values())
        if size > LARGEST:
            raise AlphabetError(
                f"a product of {several(len(pairs), 'attribute')} with {size:.3g} records: at most "
                f"2^53 can be numbered. Ask fewer questions at once, or with fewer answers."
            )
        vars(self)["_pairs"] = tuple(pairs.items())
        vars(self)["_weights"] = None if weights is None else _checked_weights(weights, pairs)

    @cached_property
    def attributes(self) -> Mapping[str, Alphabet]:
        """The alphabets of the attributes, by name."""
        return MappingProxyType(dict(self._pairs))

    @property
    def weights(self) -> Mapping[str, float] | None:
        """What a unit of distance of each attribute counts, where that is said."""
        if self._weights is None:
            return None
        return MappingProxyType(dict(zip(self.attributes, self._weights, strict=True)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(alphabet.size for _, alphabet in self._pairs)

    @property
    def size(self) -> int:
        """How many records there are, k."""
        return math.prod(self.sizes)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the attributes; of one with several axes, each behind its name."""
        return headed((name, alphabet.axes) for name, alphabet in self._pairs)

    def places(self, names: Iterable[str]) -> list[int]:
        """Return where attributes of these names stand, in the order of the product.

        >>> from freewill import Linear
        >>> Product(a=Linear(0, 1), b=Linear(0, 1), c=Linear(0, 1)).places(["c", "a"])
        [0, 2]
        """
        attributes = list(self.attributes)
        try:
            listed = [names] if isinstance(names, str) else list(names)
        except TypeError:
            raise AlphabetError(
                f"attributes {shown(names)}: expected names, some of {', '.join(attributes)}."
            ) from None
        for place, name in enumerate(listed):
            if not isinstance(name, str) or name not in attributes:
                raise AlphabetError(
                    f"no attribute {shown(name)}: expected some of {', '.join(attributes)}."
                    f"{closest(name, attributes)}"
                )
            if name in listed[:place]:
                raise AlphabetError(f"attribute {shown(name)} comes twice: name each once.")
        if not listed:
            raise AlphabetError(f"no attribute is named: expected some of {', '.join(attributes)}.")
        return sorted(attributes.index(name) for name in listed)

    def only(self, *names: str) -> Alphabet:
        """Return the alphabet of some attributes, in the order of the product; of one, its own.

        >>> from freewill import Linear
        >>> people = Product(age=Linear(0, 99), income=Linear(0, 9))
        >>> print(people.only("income"), "and", people.only("income", "age"))
        0..9 and age 0..99 x income 0..9
        """
        pairs = [self._pairs[place] for place in self.places(names)]
        if len(pairs) == 1:
            return pairs[0][1]
        own = self.weights
        return Product(dict(pairs), weights=own and {name: own[name] for name, _ in pairs})

    def split(self, indices: ArrayLike) -> list[IntArray]:
        """Return the index of each attribute, for each record."""
        left = checked_indices(indices, self.size)
        parts: list[IntArray] = []
        for size in reversed(self.sizes):
            left, own = np.divmod(left, size)
            parts.append(own)
        return parts[::-1]

    def joined(self, parts: Sequence[ArrayLike]) -> IntArray:
        """Return the indices of records from those of their attributes."""
        total = np.zeros((), dtype=np.int64)
        for size, own in zip(self.sizes, parts, strict=True):
            total = np.asarray(total * size + np.asarray(own, np.int64))
        return total

    def encode(self, values: Any) -> IntArray:
        """Turn records into indices; one alone is a list of one."""
        return self.joined([np.atleast_1d(own) for own in self._each("encode", values)])

    def encode_inside(self, values: Any) -> Inside:
        """Turn records into indices and leave out those with a value outside, telling which."""
        each = list(self._each("encode_inside", values))
        kept = np.all([inside.kept for inside in each], axis=0)
        return Inside(self.joined([inside.indices[kept[inside.kept]] for inside in each]), kept)

    def _each(self, encode: str, values: Any) -> Iterator[Any]:
        """Yield what the alphabet of each attribute makes of its column; an error names it."""
        for (name, alphabet), column in zip(self._pairs, self._columns(values), strict=True):
            with raised_as(AlphabetError, f"attribute {printable(name)!r}: "):
                yield getattr(alphabet, encode)(column)

    def is_record(self, values: Any) -> bool:
        """Say whether something is one record, and no list of them."""
        if isinstance(values, Mapping):
            return not any(isinstance(own, list | np.ndarray) for own in values.values())
        return isinstance(values, tuple) and not any(map(self._looks_whole, values))

    def _looks_whole(self, value: Any) -> bool:
        wide = {len(alphabet.axes) for _, alphabet in self._pairs}
        points = wide - {1}
        whole = isinstance(value, tuple | list) and len(value) == len(self._pairs)
        return isinstance(value, Mapping) or (whole and len(value) not in points)

    def _columns(self, values: Any) -> list[Values]:
        """Return a list of values for each attribute, from records or columns."""
        if self.is_record(values):
            values = [values]
        if isinstance(values, Mapping) or hasattr(values, "columns"):
            return self._from_columns(values)
        try:
            records = list(values)
        except TypeError:
            raise AlphabetError(f"{shown(values)}: expected {self._expected}.") from None
        rows = [self._row(record, place) for place, record in enumerate(records)]
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in self._pairs]

    def _row(self, record: Any, place: int) -> list[Any]:
        if isinstance(record, Mapping):
            return [record[name] for name in self._checked_fields(record, f"record {place}")]
        if not (isinstance(record, tuple | list) and len(record) == len(self._pairs)):
            raise AlphabetError(f"record {place} is {shown(record)}: expected {self._expected}.")
        return list(record)

    @property
    def _expected(self) -> str:
        names = ", ".join(self.attributes)
        return f"a dict with {names}, a tuple of these {len(self._pairs)} in this order, or columns"

    def _checked_fields(self, given: Iterable[Any], what: str) -> list[str]:
        """Return the names of all attributes after checking that these are they."""
        names, there = list(self.attributes), list(given)
        missing = [name for name in names if name not in there]
        unknown = [name for name in there if name not in names]
        if missing:
            raise AlphabetError(
                f"{what} has no {missing[0]!r}: a record has all of {', '.join(names)}. Whoever "
                f"leaves a question unanswered takes fw.Silent() for it, and has a value all the "
                f"same."
            )
        if unknown:
            raise AlphabetError(
                f"{what} has a field {shown(unknown[0])}: expected {', '.join(names)}."
                f"{closest(unknown[0], names)}"
            )
        return names

    def _from_columns(self, values: Any) -> list[Values]:
        there = values
        if not isinstance(values, Mapping):  # a frame may have more columns than these
            there = [*getattr(values, "column_names", values.columns)]
            there = [name for name in self.attributes if name in there]
        columns: dict[str, Values] = {}
        for name in self._checked_fields(there, "the table"):
            # Of a frame, an array of numbers, or a list of anything else.
            array = values[name] if isinstance(values[name], list) else np.asarray(values[name])
            plain = isinstance(array, list) or array.dtype.kind in "iuf"
            columns[name] = array if plain else list(array.tolist())
        if len({*map(len, columns.values())}) > 1:
            counts = ", ".join(f"{name} {len(own)}" for name, own in columns.items())
            message = f"columns of several lengths ({counts}): expected one row a record."
            raise AlphabetError(message)
        return [*columns.values()]

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into records: tuples in the order of the attributes."""
        parts = self.split(np.ravel(indices))
        columns = [readable(a, own) for (_, a), own in zip(self._pairs, parts, strict=True)]
        records = np.empty(len(parts[0]), dtype=object)
        records[:] = [*zip(*columns, strict=True)]
        return records.reshape(np.shape(indices))

    def _measured(self) -> tuple[float, ...]:
        if self._weights is None:
            raise AlphabetError(
                f"the records of {self} have no distance, for their attributes have no unit in "
                f"common. Say what a unit of each counts, as fw.Product(..., weights={{"
                f"{', '.join(f'{name!r}: 1.0' for name in self.attributes)}}})."
            )
        return self._weights

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return the weighted sum of the distances of the attributes."""
        weights = self._measured()
        own, others = self.split(first), self.split(second)
        each = zip(weights, self._pairs, own, others, strict=True)
        return np.asarray(sum(w * a.distance(x, z) for w, (_, a), x, z in each))

    def total_distance(self) -> FloatArray:
        """Return the sum of the distances to all records, from those of the attributes."""
        weights = self._measured()
        refuse_vast(self)
        each = [
            weight * alphabet.total_distance() * (self.size / alphabet.size)
            for weight, (_, alphabet) in zip(weights, self._pairs, strict=True)
        ]
        return np.asarray(reduce(np.add.outer, each)).ravel()

    def transport(self, difference: FloatArray) -> None:
        """Return nothing, for no formula gives it; without weights it makes no sense."""
        self._measured()

    def spec(self) -> Spec:
        """Portable description."""
        # A list, for indices depend on the order, and names in an object have none.
        attributes = [{"name": name, **alphabet.spec()} for name, alphabet in self._pairs]
        spec: Spec = {"kind": "product", "attributes": attributes}
        own = self.weights
        return spec if own is None else {**spec, "weights": dict(own)}

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out from these is worked out again: a view of a dict does not travel.
        return {"_pairs": self._pairs, "_weights": self._weights}

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name!r}: {alphabet!r}" for name, alphabet in self._pairs)
        own = self.weights
        return f"Product({{{attributes}}}{'' if own is None else f', weights={dict(own)}'})"

    def __str__(self) -> str:
        return " x ".join(f"{printable(name)} {alphabet}" for name, alphabet in self._pairs)


def _product(attributes: Any, weights: Any = None) -> Product:
    """Rebuild a product from its description."""
    listed = attributes if isinstance(attributes, list) else [attributes]
    if not all(isinstance(one, dict) and "name" in one for one in listed):
        raise AlphabetError(
            f"attributes={shown(attributes)}: expected a list of alphabets, each with its name, as "
            f'[{{"name": "age", "kind": "linear", "first": 0, "last": 99}}].'
        )
    pairs: dict[Any, Alphabet] = {}
    for one in listed:
        name = one["name"]
        _check_name(name)
        if name in pairs:
            raise AlphabetError(f"attribute {shown(name)} comes twice: name each once.")
        pairs[name] = alphabet_from_spec(
            {field: given for field, given in one.items() if field != "name"}
        )
    return Product(pairs, weights=weights)


def _check_name(name: Any) -> None:
    if not (is_whole_text(name) and name.strip() and name.isprintable()):
        raise AlphabetError(
            f"attribute name {shown(name)}: expected a text on one line that is not empty."
        )


def _checked_weights(weights: Any, pairs: Mapping[str, Alphabet]) -> tuple[float, ...]:
    given = dict(weights) if isinstance(weights, Mapping) else {}
    good = all(is_number(own) and 0 < own < math.inf for own in given.values())
    if given.keys() != pairs.keys() or not good:
        raise AlphabetError(
            f"weights={shown(weights)}: expected a number > 0 for each of {', '.join(pairs)}, "
            f"what a unit of its distance counts."
        )
    return tuple(float(given[name]) for name in pairs)


_NOTES = {
    "labels": "a list of texts",
    "unit": "what the integers count, such as year",
    "cell": "km, or [width, height]; with bounds it follows from them",
    "bounds": "[south, north, west, east] in degrees",
    "mask": "cells left out, kept, left out, ... by turns, row by row from the south-west",
    "attributes": "a list of alphabets, each with its name",
    "weights": "what a unit of distance of each attribute counts",
}


_KINDS: dict[str, Callable[..., Any]] = {
    "categorical": Categorical,
    "linear": Linear,
    "grid": Grid,
    "product": _product,
}


def alphabet_from_spec(spec: Any) -> Alphabet:
    """Rebuild an alphabet from its portable description.

    O(values) for labels, O(1) for lines and boxes.

    >>> import freewill as fw
    >>> fw.alphabet_from_spec(fw.Linear(0, 9).spec()) == fw.Linear(0, 9)
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
