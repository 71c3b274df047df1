"""Labels without an order."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.types import FloatArray, IntArray, Spec
from freewill.domain.alphabets.base import Inside, checked_indices
from freewill.errors import AlphabetError, closest, several, shown


@dataclass(frozen=True)
class Categorical:
    """Labels without an order; two different labels are at distance 1.

    >>> import freewill as fw
    >>> menu = fw.Categorical(["yes", "no", "won't say"])
    >>> menu.encode(["no", "yes"])
    array([1, 0])
    """

    labels: tuple[str, ...]
    plane: ClassVar[None] = None
    axes: ClassVar[tuple[str, ...]] = ("value",)
    unit: ClassVar[str] = ""
    extent: ClassVar[tuple[()]] = ()
    reach: ClassVar[tuple[()]] = ()

    def __init__(self, labels: Iterable[str]) -> None:
        # A set would have another order, hence other indices, on another machine.
        if isinstance(labels, str | bytes | Mapping | Set) or not isinstance(labels, Iterable):
            raise AlphabetError(f"labels={shown(labels)}: expected a list of texts, in order.")
        try:
            labels = tuple(labels)
        except TypeError:  # an array without an axis
            raise AlphabetError(f"labels={shown(labels)}: expected a list of texts.") from None
        if not labels:
            raise AlphabetError("labels=[]: an alphabet needs at least one value.")
        seen: set[str] = set()
        for label in labels:
            if not isinstance(label, str):
                raise AlphabetError(
                    f"label {shown(label)}: labels are texts. For numbers, use Linear."
                )
            if label in seen:
                raise AlphabetError(f"label {shown(label)} stands twice: labels must differ.")
            seen.add(label)
        try:
            "".join(labels).encode()
        except UnicodeEncodeError as error:
            half = f"{error.object[error.start]!a}, half of a character"
            message = f"a label has {half}, which no file can hold. Write the whole one."
            raise AlphabetError(message) from None
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
        try:
            values = [values] if isinstance(values, str | bytes) else list(values)
        except TypeError:  # one value, and no list of them
            values = [values]
        indices, kept = self.encode_inside(values)
        if not kept.all():
            some = ", ".join(map(shown, self.labels[:5])) + (", ..." if self.size > 5 else "")
            wrong = values[int(np.argmin(kept))]
            expected = f"expected one of {some}.{closest(wrong, self.labels[:1000])}"
            raise AlphabetError(f"{shown(wrong)} is not in the alphabet: {expected}")
        return indices

    def encode_inside(self, values: Iterable[Any]) -> Inside:
        """Turn labels into indices and leave out those that are no labels of this alphabet."""
        try:
            given = iter(values)
        except TypeError:
            raise AlphabetError(f"values={shown(values)}: expected a list of labels.") from None
        texts = (value if isinstance(value, str) else None for value in given)
        # No label is None.
        index: dict[Any, int] = self._index
        indices = np.fromiter((index.get(text, -1) for text in texts), dtype=np.int64)
        return Inside(indices[indices >= 0], np.asarray(indices >= 0))

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
        return several(self.size, "label")
