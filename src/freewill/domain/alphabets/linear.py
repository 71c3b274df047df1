"""Integers on a line."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.core.texts import checked_unit
from freewill.core.types import FloatArray, IntArray, Spec
from freewill.domain.alphabets.base import (
    LARGEST,
    Inside,
    checked_indices,
    checked_integer,
    kind_of,
    refuse_vast,
)
from freewill.errors import AlphabetError, several, shown


@dataclass(frozen=True)
class Linear:
    """The integers first, first + step, ..., last; distance is the difference.

    `unit` says what they count, in the singular, so that promises can name it: "year".

    >>> import freewill as fw
    >>> fw.Linear(0, 99).size, fw.Linear(1900, 2000, step=10).encode([1950])
    (100, array([5]))
    >>> print(fw.Linear(0, 99, unit="year"))
    0..99 [year]
    """

    first: int
    last: int
    step: int = 1
    unit: str = ""
    axes: ClassVar[tuple[str, ...]] = ("value",)
    labels: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("first", "last", "step"):
            value = getattr(self, name)
            object.__setattr__(self, name, checked_integer(name, value))
        object.__setattr__(self, "unit", checked_unit(self.unit, AlphabetError))
        for name, value in (("first", self.first), ("last", self.last)):
            if abs(value) > LARGEST:
                raise AlphabetError(
                    f"{name}={shown(value)}: must be at most 2^53 either way, up to which "
                    f"distances are exact. Use smaller units, or labels."
                )
        if self.step <= 0:
            raise AlphabetError(f"step={shown(self.step)}: must be > 0.")
        if self.last < self.first or (self.last - self.first) % self.step:
            raise AlphabetError(
                f"first={self.first}, last={self.last}, step={shown(self.step)}: "
                f"last must be first plus a whole number of steps."
            )

    @property
    def size(self) -> int:
        """How many integers there are, k."""
        return (self.last - self.first) // self.step + 1

    @property
    def plane(self) -> tuple[int, int]:
        """One row."""
        return 1, self.size

    @property
    def extent(self) -> tuple[tuple[float, float]]:
        """Half a step beyond the first and the last."""
        return ((self.first - self.step / 2, self.last + self.step / 2),)

    @property
    def reach(self) -> tuple[tuple[float, float]]:
        """The same: values are distances from 0."""
        return self.extent

    @property
    def positions(self) -> FloatArray:
        """The integers themselves, as floats."""
        refuse_vast(self)
        return self.first + self.step * np.arange(self.size, dtype=np.float64)

    def encode(self, values: Any) -> IntArray:
        """Turn integers into indices."""
        indices, kept = self.encode_inside(values)
        if not kept.all():
            wrong = np.atleast_1d(np.asarray(values))[~kept][0]
            among = "" if self.step == 1 else f" in steps of {self.step}"
            raise AlphabetError(
                f"{wrong} is not in the alphabet ({several(int((~kept).sum()), 'such value')}): "
                f"expected integers from {self.first} to {self.last}{among}."
            )
        return indices

    def encode_inside(self, values: Any) -> Inside:
        """Turn integers into indices and leave out all other numbers."""
        try:
            array = np.atleast_1d(np.asarray(values))
        except (TypeError, ValueError, OverflowError, RecursionError):
            array = np.asarray(None)
        if not array.size:
            array = np.zeros(array.shape, dtype=np.int64)
        if array.dtype.kind not in "iuf":
            expected = f"expected integers, from {self.first} to {self.last}."
            raise AlphabetError(f"got {shown(values)}, {kind_of(array)}; {expected}")
        wide = array.astype(np.result_type(array, np.float64)) if array.dtype.kind == "f" else array
        kept = np.asarray((wide >= self.first) & (wide <= self.last))
        if wide.dtype.kind == "f":
            kept &= wide == np.floor(wide)
        # Integers from here on, and only those that are near: differences neither round nor wrap.
        steps, rest = np.divmod(wide[kept].astype(np.int64) - self.first, self.step)
        kept[kept] = rest == 0
        return Inside(steps[rest == 0], kept)

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """Turn indices back into integers."""
        return self.first + self.step * checked_indices(indices, self.size)

    def distance(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return step * |i - j|."""
        gap = np.subtract(first, second, dtype=np.float64)
        return np.asarray(self.step * np.abs(gap))

    def total_distance(self) -> FloatArray:
        """Return step * (i(i+1) + (k-1-i)(k-i)) / 2 for each index i."""
        refuse_vast(self)
        left = np.arange(self.size, dtype=np.float64)
        right = left[::-1]
        return np.asarray(self.step * (left * (left + 1) + right * (right + 1)) / 2)

    def transport(self, difference: FloatArray) -> float:
        """Return the sum of |cumulative differences| times the step: what crosses each gap."""
        return float(self.step * np.abs(np.cumsum(difference)[:-1]).sum())

    def spec(self) -> Spec:
        """Portable description."""
        # A line without a unit is described as it was before lines had any: ids stay.
        unit = {"unit": self.unit} if self.unit else {}
        return {"kind": "linear", "first": self.first, "last": self.last, "step": self.step, **unit}

    def __repr__(self) -> str:
        unit = f", unit={self.unit!r}" if self.unit else ""
        return f"Linear(first={self.first}, last={self.last}, step={self.step}{unit})"

    def __str__(self) -> str:
        by = "" if self.step == 1 else f" by {self.step}"
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{self.first}..{self.last}{by}{unit}"
