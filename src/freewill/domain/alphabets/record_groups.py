"""Groups of records: those of each attribute, combined."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import IntArray
from freewill.domain.alphabets.base import Alphabet, attributes_of


@dataclass(frozen=True)
class RecordGroups:
    """Records together that are in the same group of every attribute, the last attribute fastest.

    >>> import freewill as fw
    >>> from freewill.domain.alphabets.groups import coarser
    >>> people = fw.Product(age=fw.Linear(0, 3), vote=fw.Categorical(["yes", "no"]))
    >>> coarser(people, {"age": 2}).names
    ('0..1, yes', '0..1, no', '2..3, yes', '2..3, no')
    """

    alphabet: Alphabet
    parts: tuple[Any, ...]
    """The groups of each attribute (`freewill.domain.alphabets.groups`)."""
    what: ClassVar[str] = "group"

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(part.count for part in self.parts)

    @property
    def count(self) -> int:
        """How many combinations of groups there are."""
        return math.prod(self._counts)

    @property
    def which(self) -> IntArray:
        """The group of each record."""
        product: Any = self.alphabet
        values = product.split(np.arange(product.size))
        own = [part.which[places] for part, places in zip(self.parts, values, strict=True)]
        return np.asarray(np.ravel_multi_index(own, self._counts))

    def _each(self, places: IntArray) -> list[tuple[str, Any, IntArray]]:
        """Return the name, the groups and the places of each attribute."""
        names, split = attributes_of(self.alphabet), np.unravel_index(places, self._counts)
        return list(zip(names, self.parts, split, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups of all attributes."""
        each = self._each(np.arange(self.count))
        columns = [[part.names[place] for place in own] for _, part, own in each]
        return tuple(", ".join(row) for row in zip(*columns, strict=True))

    @property
    def heads(self) -> tuple[str, ...]:
        """Those of the groups of each attribute, behind its name where there are several."""
        return self._columns("heads")

    @property
    def axes(self) -> tuple[str, ...]:
        """The same for people."""
        return self._columns("axes")

    def _columns(self, kind: str) -> tuple[str, ...]:
        each = [(name, getattr(part, kind)) for name, part, _ in self._each(np.zeros(1, np.int64))]
        return tuple(
            name if len(heads) == 1 else f"{name} {head}" for name, heads in each for head in heads
        )

    def cells(self, places: IntArray) -> list[tuple[Any, ...]]:
        """Return the cells of all attributes, one after the other."""
        columns = [part.cells(own) for _, part, own in self._each(np.asarray(places))]
        return [
            tuple(cell for cells in row for cell in cells) for row in zip(*columns, strict=True)
        ]

    def texts(self, places: IntArray) -> list[list[str]]:
        """Return the same as texts."""
        columns = [part.texts(own) for _, part, own in self._each(np.asarray(places))]
        return [[text for texts in row for text in texts] for row in zip(*columns, strict=True)]

    def __str__(self) -> str:
        return " x ".join(
            f"{name} in {part}" for name, part, _ in self._each(np.zeros(1, np.int64))
        )


def is_by_attribute(alphabet: Any, by: Any) -> bool:
    """Say whether groups are asked for attribute by attribute, and not as sets of records."""
    return isinstance(by, Mapping) and bool(by) and by.keys() <= attributes_of(alphabet).keys()
