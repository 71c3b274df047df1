"""Output spaces of one answer among several, and of an answer or nothing: which, and the answer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import BoolArray, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Categorical
from freewill.domain.outputs import Symbols
from freewill.domain.packed_outputs import OfParts


@dataclass(frozen=True)
class Either(OfParts):
    """A report of one of several spaces, and of which: the outputs of all, one after the other.

    The first byte says which space it is, the report follows in as many bytes as it has there; the
    rest is 0.

    >>> import freewill as fw
    >>> from freewill.domain.outputs import Symbols
    >>> space = Either((Symbols(fw.Linear(0, 299)), Symbols(fw.Linear(0, 9))))
    >>> space.joined(np.array([1, 0]), [np.array([258]), np.array([7])])
    array([[1, 7, 0],
           [0, 2, 1]], dtype=uint8)
    """

    parts: tuple[Any, ...]

    @property
    def width(self) -> int:
        """Bytes a report."""
        return 1 + max(int(part.width) for part in self.parts)

    @cached_property
    def _firsts(self) -> list[int]:
        """The number of the first output of each space, and how many there are in all."""
        return [sum(part.places for part in self.parts[:end]) for end in range(len(self.parts) + 1)]

    @property
    def places(self) -> int:
        """How many outputs there are."""
        return self._firsts[-1]

    def all(self) -> PackedBits:
        """Return all outputs, those of the first space first."""
        every = self.listed_parts()
        return self.joined(np.repeat(np.arange(len(every)), list(map(len, every))), every)

    def joined(self, which: IntArray, reports: list[Reports]) -> PackedBits:
        """Return reports from the space that each is of, and the reports of every space."""
        rows = np.zeros((which.size, self.width), dtype=np.uint8)
        rows[:, 0] = which
        for number, (part, own) in enumerate(zip(self.parts, reports, strict=True)):
            rows[which == number, 1 : 1 + part.width] = part.to_bytes(own)
        return rows

    def split(self, packed: Reports) -> tuple[IntArray, list[Reports]]:
        """Return the space that each report is of, and the reports of every space."""
        rows = np.asarray(packed, np.uint8)
        which = rows[:, 0].astype(np.int64)
        return which, [own for own, _ in self._read(rows)]

    def _read(self, rows: PackedBits) -> list[tuple[Reports, BoolArray]]:
        each = enumerate(self.parts)
        pieces = [(part, rows[rows[:, 0] == number, 1 : 1 + part.width]) for number, part in each]
        return [part.from_bytes(np.ascontiguousarray(piece)) for part, piece in pieces]

    def strays(self, packed: PackedBits) -> BoolArray:
        """Say which rows are a report of no space."""
        stray = np.asarray(packed[:, 0] >= len(self.parts))
        for number, (part, (_, wrong)) in enumerate(
            zip(self.parts, self._read(packed), strict=True)
        ):
            own = packed[:, 0] == number
            stray[own] = wrong | packed[own, 1 + part.width :].any(axis=1)
        return stray

    def complaint(self, row: PackedBits) -> str:
        """Say what was expected."""
        return f"is {row.tobytes().hex()}: expected the number of a part, and its report: {self}."

    def numbers(self, reports: Reports) -> IntArray:
        """Return outputs as numbers, those of the first space first."""
        which, parts = self.split(reports)
        numbers = np.zeros(which.size, dtype=np.int64)
        for number, (part, own) in enumerate(zip(self.parts, parts, strict=True)):
            numbers[which == number] = self._firsts[number] + part.numbers(own)
        return numbers

    def numbered(self, numbers: IntArray) -> PackedBits:
        """Return the outputs of these numbers."""
        which = np.searchsorted(self._firsts, numbers, side="right") - 1
        reports = [
            part.numbered(numbers[which == number] - self._firsts[number])
            for number, part in enumerate(self.parts)
        ]
        return self.joined(which, reports)

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


NOTHING = Symbols(Categorical(["nothing"]))
"""The only thing that somebody says who says nothing."""


@dataclass(frozen=True, init=False)
class Maybe(Either):
    """Nothing, or a report of another space.

    The first byte is 1 before a report, which then takes whole bytes as a part of `Records` does;
    for nothing all bytes are 0. Nothing has the number 0, a report its own and one.

    >>> import freewill as fw
    >>> from freewill.domain.outputs import Symbols
    >>> space = Maybe(Symbols(fw.Linear(0, 299)))
    >>> space.scattered(np.array([True, False]), np.array([258]))
    array([[1, 2, 1],
           [0, 0, 0]], dtype=uint8)
    """

    def __init__(self, inner: Any) -> None:
        vars(self)["parts"] = (NOTHING, inner)
        self.__post_init__()

    @property
    def listable(self) -> bool:
        """Whether reports are."""
        return bool(self.parts[1].listable)

    def scattered(self, sent: BoolArray, reports: Reports) -> PackedBits:
        """Return the reports where something is sent, and nothing elsewhere."""
        return self.joined(sent.astype(np.int64), [np.zeros((~sent).sum(), np.int64), reports])

    def sent(self, packed: Reports) -> tuple[BoolArray, Reports]:
        """Say where something is sent, and return the reports there."""
        which, (_, reports) = self.split(packed)
        return which == 1, reports

    def complaint(self, row: PackedBits) -> str:
        """Say what was expected."""
        inner = self.parts[1]
        return f"is {row.tobytes().hex()}: expected {'00' * self.width}, or 01 and {inner}."

    def __str__(self) -> str:
        return f"nothing or {self.parts[1]}"
