"""Labels without an order."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.alphabets.base import Inside, checked_indices
from freewill.errors import AlphabetError
from freewill.types import FloatArray, IntArray, Spec


@dataclass(frozen=True)
class Categorical:
    """Labels without an order; two different labels are at distance 1.

    >>> menu = Categorical(["yes", "no", "won't say"])
    >>> menu.encode(["no", "yes"])
    array([1, 0])
    """

    labels: tuple[str, ...]
    plane: ClassVar[None] = None
    axes: ClassVar[tuple[str, ...]] = ("value",)
    extent: ClassVar[tuple[()]] = ()

    def __init__(self, labels: Iterable[str]) -> None:
        if isinstance(labels, str):
            raise AlphabetError(f"labels={labels!r}: expected a list of labels, not one text.")
        labels = tuple(labels)
        for label in labels:
            if not isinstance(label, str):
                raise AlphabetError(f"label {label!r}: labels are texts. For numbers, use Linear.")
        if not labels:
            raise AlphabetError("labels=[]: an alphabet needs at least one value.")
        if len(set(labels)) != len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise AlphabetError(f"label {twice!r} stands twice: labels must differ.")
        object.__setattr__(self, "labels", labels)

    @property
    def size(self) -> int:
        """How many labels there are, k."""
        return len(self.labels)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels)}

    def encode(self, values: Any) -> IntArray:
        """Turn labels into indices."""
        values = [values] if isinstance(values, str) else list(values)
        indices, kept = self.encode_inside(values)
        if not kept.all():
            shown = ", ".join(map(repr, self.labels[:5])) + (", ..." if self.size > 5 else "")
            wrong = values[int(np.argmin(kept))]
            raise AlphabetError(f"{wrong!r} is not in the alphabet: expected one of {shown}.")
        return indices

    def encode_inside(self, values: Iterable[Any]) -> Inside:
        """Turn labels into indices and leave out those that are no labels of this alphabet."""
        found = np.fromiter((self._index.get(value, -1) for value in values), dtype=np.int64)
        return Inside(found[found >= 0], np.asarray(found >= 0))

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into labels."""
        return np.array(self.labels)[checked_indices(indices, self.size)]

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return 0 for the same label and 1 for any other."""
        return np.asarray(np.asarray(first) != np.asarray(second), dtype=np.float64)

    def total_distance(self) -> FloatArray:
        """Return k - 1 for every label."""
        return np.full(self.size, self.size - 1.0)

    def transport(self, difference: FloatArray) -> float:
        """Return the total variation: every label is at distance 1 from every other."""
        return float(np.abs(difference).sum() / 2)

    def spec(self) -> Spec:
        """Portable description."""
        return {"kind": "categorical", "labels": list(self.labels)}

    def __str__(self) -> str:
        return f"{self.size} labels"
