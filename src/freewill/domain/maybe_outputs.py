"""The output space of somebody who may say nothing: one more output than another space has."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import BoolArray, Counter, IntArray, PackedBits, Reports
from freewill.domain.outputs import Reason
from freewill.domain.packed_outputs import COUNTED, Packed, check_part


@dataclass(frozen=True)
class Maybe(Packed):
    """Nothing, or a report of another space.

    The first byte is 1 before a report, which then takes whole bytes as a part of `Records` does;
    for nothing all bytes are 0. Nothing has the number 0, a report its own and one.

    >>> import freewill as fw
    >>> from freewill.domain.outputs import Symbols
    >>> space = Maybe(Symbols(fw.Linear(0, 299)))
    >>> space.joined(np.array([True, False]), np.array([258]))
    array([[1, 2, 1],
           [0, 0, 0]], dtype=uint8)
    """

    inner: Any
    stray: ClassVar[Reason] = Reason.WRONG_PART

    def __post_init__(self) -> None:
        check_part(self.inner)

    @property
    def width(self) -> int:
        """Bytes a report."""
        return 1 + int(self.inner.width)

    @property
    def size(self) -> int:
        """How many bits a report has."""
        return 8 * self.width

    @property
    def places(self) -> int:
        """How many outputs there are."""
        return 1 + int(self.inner.places)

    @property
    def repeats(self) -> bool:
        """Whether reports do, and there are few outputs in all."""
        return self.inner.repeats and self.places <= COUNTED

    @property
    def listable(self) -> bool:
        """Whether reports are."""
        return bool(self.inner.listable)

    def all(self) -> PackedBits:
        """Return nothing, and all reports."""
        every = self.inner.all()
        return self.joined(np.arange(len(every) + 1) > 0, every)

    def joined(self, sent: BoolArray, reports: Reports) -> PackedBits:
        """Return the reports where something is sent, and nothing elsewhere."""
        rows = np.zeros((sent.size, self.width), dtype=np.uint8)
        rows[sent, 0] = 1
        rows[sent, 1:] = self.inner.to_bytes(reports)
        return rows

    def split(self, packed: Reports) -> tuple[BoolArray, Reports]:
        """Say where something is sent, and return the reports there."""
        rows = np.asarray(packed, np.uint8)
        sent = rows[:, 0] == 1
        return sent, self.inner.from_bytes(rows[sent, 1:])[0]

    def strays(self, packed: PackedBits) -> BoolArray:
        """Say which rows are neither nothing nor a report."""
        sent, stray = packed[:, 0] == 1, np.atleast_1d(packed.any(axis=1))
        stray[sent] = self.inner.from_bytes(np.ascontiguousarray(packed[sent, 1:]))[1]
        return np.asarray(stray)

    def complaint(self, row: PackedBits) -> str:
        """Say what was expected."""
        return f"is {row.tobytes().hex()}: expected {'00' * self.width}, or 01 and {self.inner}."

    def counter(self) -> Counter:
        """Return an empty table of counts."""
        return Counter(self.places, self.numbers, self.numbered)

    def numbers(self, reports: Reports) -> IntArray:
        """Return outputs as numbers."""
        sent, some = self.split(reports)
        numbers = np.zeros(sent.size, dtype=np.int64)
        numbers[sent] = 1 + self.inner.numbers(some)
        return numbers

    def numbered(self, numbers: IntArray) -> PackedBits:
        """Return the outputs of these numbers."""
        sent = numbers > 0
        return self.joined(sent, self.inner.numbered(numbers[sent] - 1))

    def __str__(self) -> str:
        return f"nothing or {self.inner}"
