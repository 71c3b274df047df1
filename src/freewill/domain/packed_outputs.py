"""Output spaces of reports that are bytes: a bit for every value, or outputs of other spaces."""

import math
from binascii import hexlify, unhexlify
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from freewill.core.types import BoolArray, Counter, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Categorical
from freewill.domain.outputs import Decoded, Reason, Symbols, arrow
from freewill.errors import AlphabetError, LawError, ParameterError, several, shown

_LISTED_BITS = 16
"""Bits up to which all patterns are listed: 65,536 rows."""
_NARROW_BITS = 20
"""Bits up to which a table with a place for every pattern is small, 8 MB."""
COUNTED = 1 << 24
"""Places of records up to which they are counted."""
LISTED = 1 << _LISTED_BITS
"""Places of records up to which they are listed."""
_DIGITS = r"^[0-9a-fA-F]*$"


class Packed(Protocol):
    """Rows of `width` bytes. They travel as bytes, or as hexadecimal digits in a text."""

    column: ClassVar[str] = "bits"
    packed: ClassVar[bool] = True
    alphabet: ClassVar[None] = None
    stray: ClassVar[Reason]
    """Why rows of the right length may be no reports."""
    width: Any

    @property
    def longest(self) -> int:
        """Bytes of a report's text: two digits for each of its own."""
        return 2 * int(self.width)

    def strays(self, packed: PackedBits) -> BoolArray:
        """Say which rows are no reports."""

    def complaint(self, row: PackedBits) -> str:
        """Say what is wrong with a row."""

    def empty(self) -> PackedBits:
        """Return no reports."""
        return np.empty((0, self.width), dtype=np.uint8)

    def checked(self, reports: Any, name: str) -> PackedBits:
        """Check that reports are rows of bytes that can be."""
        try:
            packed = np.asarray(reports)
        except (ValueError, OverflowError):
            raise AlphabetError(
                f"reports of {name} are rows of several lengths: expected uint8, (n, {self.width})."
            ) from None
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != self.width:
            raise AlphabetError(
                f"reports of {name} have type {packed.dtype} and shape {packed.shape}; "
                f"expected uint8, (n, {self.width}): {self}."
            )
        stray = self.strays(packed)
        if stray.any():
            row = int(np.argmax(stray))
            raise AlphabetError(f"report {row} of {name} {self.complaint(packed[row])}")
        return packed

    def to_bytes(self, reports: Reports) -> PackedBits:
        """Return the rows, which are bytes."""
        return np.asarray(reports, np.uint8)

    def from_bytes(self, rows: PackedBits) -> tuple[PackedBits, BoolArray]:
        """Return the rows, and which of them are no reports."""
        return rows, self.strays(rows)

    def decode(self, column: Any) -> Decoded:
        """Read bytes, or texts of hexadecimal digits."""
        pa, pc = arrow()
        if pa.types.is_integer(column.type):
            every = np.ones(len(column), np.bool_)
            return Decoded.of(self.empty(), {Reason.NO_BITS: every}, slice(0))
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        width = 2 * self.width if text else self.width
        column = column.cast(pa.large_binary())
        fits: BoolArray = np.asarray(pc.binary_length(column)) == width
        read = fits & np.asarray(pc.match_substring_regex(column, _DIGITS)) if text else fits
        packed = _byte_rows(column if read.all() else column.filter(pa.array(read)), width)
        if text:
            packed = np.frombuffer(unhexlify(packed.tobytes()), dtype=np.uint8).reshape(
                -1, self.width
            )
        stray = np.zeros_like(read)
        stray[np.flatnonzero(read)[self.strays(packed)]] = True
        bad = {Reason.WRONG_LENGTH: ~fits, Reason.NO_BITS: fits & ~read, self.stray: stray}
        return Decoded.of(packed, bad, read)

    def encode(self, reports: Reports) -> Any:
        """Return the bytes, which share the rows' memory."""
        pa, _ = arrow()
        rows, width = reports.shape
        offsets = np.arange(rows + 1, dtype=np.int64) * width
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(reports))]
        return pa.Array.from_buffers(pa.large_binary(), rows, buffers).cast(pa.binary())

    def texts(self, reports: Reports) -> Any:
        """Return hexadecimal digits, two a byte.

        >>> Bits(16).texts(np.array([[10, 255]], dtype=np.uint8)).to_pylist()
        ['0aff']
        """
        digits = np.frombuffer(hexlify(reports.tobytes()), dtype=np.uint8)
        return self.encode(digits.reshape(-1, 2 * self.width)).cast("string")


@dataclass(frozen=True)
class Bits(Packed):
    """`size` bits a report, packed: bit x is bit x % 8 of byte x // 8.

    They travel as bytes, or as hexadecimal digits in a text. Patterns of at most 20 bits repeat
    and are counted; wider ones hardly do, and are neither counted nor sorted.

    >>> import pyarrow as pa
    >>> Bits(12).decode(pa.array(["ff0f", "0100"])).outputs
    array([[255,  15],
           [  1,   0]], dtype=uint8)
    """

    size: int
    stray: ClassVar[Reason] = Reason.STRAY_BITS

    @property
    def width(self) -> int:
        """Bytes a report."""
        return -(-self.size // 8)

    @property
    def last_byte(self) -> np.uint8:
        """The bits of the last byte that belong to the alphabet."""
        return np.uint8(0xFF >> (8 * self.width - self.size))

    @property
    def repeats(self) -> bool:
        """Whether there are few patterns."""
        return self.size <= _NARROW_BITS

    @property
    def listable(self) -> bool:
        """Whether there are at most 65,536 patterns."""
        return self.size <= _LISTED_BITS

    @property
    def places(self) -> int:
        """How many patterns there are."""
        return 1 << self.size

    def all(self) -> PackedBits:
        """Return all 2^size patterns, for at most 16 bits."""
        if not self.listable:
            raise LawError(
                f"{several(self.size, 'bit')} have 2^{self.size} patterns, which cannot be listed. "
                f"Use operator(reports) with the reports that were observed."
            )
        return self.numbered(np.arange(1 << self.size))

    def of_rows(self, rows: Any, name: str) -> PackedBits:
        """Return packed bits from rows of 0 and 1, or from rows of the indices that are set.

        As other packages have them: a column a value, or a column for each value of a subset.

        >>> Bits(4).of_rows(np.array([[1.0, 0, 0, 1]]), "oue")
        array([[9]], dtype=uint8)
        >>> Bits(4).of_rows(np.array([[0, 3]]), "subset-selection")
        array([[9]], dtype=uint8)
        """
        size = self.size
        wanted = (
            f"expected rows of {several(size, 'number')}, 0 or 1, or of fewer indices below it."
        )
        if rows.ndim != 2 or rows.shape[1] > size:
            raise AlphabetError(f"reports of {name} have the shape {rows.shape}: {wanted}")
        whole = rows.shape[1] == size
        if not np.all((rows >= 0) & (rows < (2 if whole else size)) & (np.floor(rows) == rows)):
            raise AlphabetError(f"reports {shown(rows)} of {name}: {wanted}")
        bits = rows.astype(np.uint8)
        if not whole:
            bits = np.zeros((len(rows), size), dtype=np.uint8)
            np.put_along_axis(bits, rows.astype(np.int64), 1, axis=1)
            if np.any(bits.sum(axis=1) < rows.shape[1]):
                twice = "an index stands twice in a row."
                raise AlphabetError(f"reports {shown(rows)} of {name}: {twice}")
        return np.packbits(bits, axis=1, bitorder="little")

    def numbered(self, numbers: IntArray) -> PackedBits:
        """Return the patterns of these numbers."""
        packed = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : self.width]
        return np.ascontiguousarray(packed)

    def numbers(self, packed: Reports) -> IntArray:
        """Return narrow patterns as numbers, bit x worth 2^x."""
        numbers = np.zeros(len(packed), dtype=np.int64)
        for byte in range(self.width):
            numbers |= packed[:, byte].astype(np.int64) << (8 * byte)
        return numbers

    def strays(self, packed: PackedBits) -> BoolArray:
        """Say which rows have bits that belong to no value."""
        return np.asarray(packed[:, -1] > self.last_byte)

    def complaint(self, row: PackedBits) -> str:
        """Say so."""
        return (
            f"has bits beyond the {self.size} of the alphabet. Does it belong to another alphabet?"
        )

    def counter(self) -> Counter:
        """Return an empty table of counts, for narrow patterns."""
        return Counter(self.places, self.numbers, self.numbered)

    def __str__(self) -> str:
        return several(self.size, "bit")


@dataclass(frozen=True)
class Subsets(Bits):
    """`length` of `size` values a report, as packed bits."""

    length: int

    def all(self) -> PackedBits:
        """Return all subsets, for at most 16 values."""
        every = super().all()
        return every[self._fit(every)]

    def _fit(self, packed: PackedBits) -> BoolArray:
        return np.asarray(np.bitwise_count(packed).sum(axis=1, dtype=np.int64) == self.length)

    def checked(self, reports: Any, name: str) -> PackedBits:
        """Check that reports are packed bits, so many of them set."""
        packed = super().checked(reports, name)
        fit = self._fit(packed)
        if not fit.all():
            row = int(np.argmin(fit))
            raise AlphabetError(
                f"report {row} of {name} names {int(np.bitwise_count(packed[row]).sum())} of "
                f"{several(self.size, 'value')}: expected {self.length:,}."
            )
        return packed

    def from_bytes(self, rows: PackedBits) -> tuple[PackedBits, BoolArray]:
        """Return the rows, and which of them are no sets of this length."""
        return rows, self.strays(rows) | ~self._fit(rows)

    def decode(self, column: Any) -> Decoded:
        """Read bytes or hexadecimal digits, and refuse sets of another length."""
        outputs, good, bad = super().decode(column)
        wrong = np.zeros_like(good)
        wrong[np.flatnonzero(good)] = ~self._fit(np.asarray(outputs, np.uint8))
        return Decoded.of(outputs, {**bad, Reason.WRONG_SUBSET: wrong}, good)

    def __str__(self) -> str:
        return f"sets of {self.length:,} of {several(self.size, 'value')}"


class OfParts(Packed, Protocol):
    """Reports made of outputs of other spaces, each of which takes whole bytes."""

    parts: tuple[Any, ...]
    stray: ClassVar[Reason] = Reason.WRONG_PART

    def __post_init__(self) -> None:
        for part in self.parts:
            if not hasattr(part, "to_bytes"):
                raise ParameterError(
                    f"{shown(str(part))} cannot be a part of a report: its space needs width, "
                    f"places, to_bytes and from_bytes, and where it repeats numbers and numbered."
                )

    @property
    def size(self) -> int:
        """How many bits a report has."""
        return 8 * int(self.width)

    places: Any
    """How many outputs there are."""

    @property
    def repeats(self) -> bool:
        """Whether all parts repeat, and there are few outputs in all."""
        return all(part.repeats for part in self.parts) and self.places <= COUNTED

    @property
    def listable(self) -> bool:
        """Whether all parts can be listed, and there are at most 65,536 outputs."""
        return all(part.listable for part in self.parts) and self.places <= LISTED

    def listed_parts(self) -> list[Reports]:
        """Return all outputs of each part, where all of the whole can be listed."""
        if not self.listable:
            raise LawError(
                f"{self} cannot be listed: there are {self.places:.3g}. Use operator(reports) with "
                f"the reports that were observed."
            )
        return [part.all() for part in self.parts]

    def numbers(self, reports: Reports) -> IntArray:
        """Return outputs as numbers."""

    def numbered(self, numbers: IntArray) -> PackedBits:
        """Return the outputs of these numbers."""

    def counter(self) -> Counter:
        """Return an empty table of counts."""
        return Counter(self.places, self.numbers, self.numbered)


@dataclass(frozen=True)
class Records(OfParts):
    """Reports of several parts: an output of each of these spaces, one after the other.

    Each part takes whole bytes (`width`, `to_bytes`, `from_bytes` of its space): an index as few as
    hold the last one, the least byte first; bits as they are packed. What has few outputs in all,
    up to 16 million, is counted, by the numbers of its parts (`numbers`, `numbered`); the rest
    stays in the order it came in.

    >>> import freewill as fw
    >>> from freewill.domain.outputs import Symbols
    >>> pair = Records((Symbols(fw.Linear(0, 299)), Bits(4)))
    >>> pair.joined([np.array([258]), np.array([[9]], dtype=np.uint8)])
    array([[2, 1, 9]], dtype=uint8)
    >>> [part.tolist() for part in pair.split(np.array([[2, 1, 9]], dtype=np.uint8))]
    [[258], [[9]]]
    """

    parts: tuple[Any, ...]

    @cached_property
    def width(self) -> int:
        """Bytes a report."""
        return sum(part.width for part in self.parts)

    @cached_property
    def places(self) -> int:
        """How many outputs there are."""
        return math.prod(part.places for part in self.parts)

    def all(self) -> PackedBits:
        """Return all outputs, the last part fastest."""
        every = self.listed_parts()
        places = np.indices([len(some) for some in every]).reshape(len(every), -1)
        return self.joined([some[chosen] for some, chosen in zip(every, places, strict=True)])

    @cached_property
    def _sizes(self) -> IntArray | None:
        """How many symbols each byte may be, where every part is one of at most 256, a byte each.

        So that reports of thousands of mechanisms are read at once, and not part by part.
        """
        few = all(isinstance(part, Symbols) and part.size <= 256 for part in self.parts)
        return np.array([part.size for part in self.parts]) if few else None

    @cached_property
    def _worth(self) -> IntArray:
        """What each part counts in the number of a report, the last part 1."""
        worth = [part.places for part in self.parts[1:]] + [1]
        return np.cumprod(worth[::-1])[::-1]

    def joined(self, parts: Sequence[Reports]) -> PackedBits:
        """Return reports from their parts."""
        if self._sizes is not None:
            return np.stack([np.asarray(part, np.uint8) for part in parts], axis=1)
        rows = [space.to_bytes(part) for space, part in zip(self.parts, parts, strict=True)]
        return np.concatenate(rows, axis=1)

    @cached_property
    def ends(self) -> IntArray:
        """Where parts end, but for the last."""
        return np.cumsum([part.width for part in self.parts])[:-1]

    def _read(self, packed: PackedBits) -> list[tuple[Reports, BoolArray]]:
        pieces = np.split(packed, self.ends, axis=1)
        return [space.from_bytes(piece) for space, piece in zip(self.parts, pieces, strict=True)]

    def split(self, packed: Reports) -> list[Reports]:
        """Return the parts of checked reports."""
        if self._sizes is not None:
            return list(np.asarray(packed, np.uint8).T.astype(np.int64))
        return [part for part, _ in self._read(np.asarray(packed, np.uint8))]

    def strays(self, packed: PackedBits) -> BoolArray:
        """Say which rows have a part that is no output of its space."""
        if self._sizes is not None:
            return np.asarray((packed >= self._sizes).any(axis=1))
        return np.asarray(np.any([stray for _, stray in self._read(packed)], axis=0))

    def complaint(self, row: PackedBits) -> str:
        """Say which part it is."""
        wrong = [bool(stray[0]) for _, stray in self._read(row[None])].index(True)
        return f"has a part {wrong + 1} out of range: expected {self.parts[wrong]}."

    def numbers(self, reports: Reports) -> IntArray:
        """Return reports as numbers, the last part fastest."""
        if self._sizes is not None:
            return np.asarray(reports @ self._worth)
        each = zip(self._worth, self.parts, self.split(reports), strict=True)
        return np.asarray(sum(worth * space.numbers(part) for worth, space, part in each))

    def numbered(self, numbers: IntArray) -> PackedBits:
        """Return the reports of these numbers."""
        if self._sizes is not None:
            return np.asarray(numbers[:, None] // self._worth % self._sizes, np.uint8)
        each = zip(self.parts, self._worth, strict=True)
        return self.joined([one.numbered(numbers // worth % one.places) for one, worth in each])

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))


def _byte_rows(column: Any, width: int) -> PackedBits:
    """Return a large_binary column of equal lengths as an array that shares its memory."""
    rows = len(column)
    if not rows:
        return np.empty((0, width), dtype=np.uint8)
    _, offsets, content = column.buffers()
    first = np.frombuffer(offsets, dtype=np.int64)[column.offset]
    flat = np.frombuffer(content, dtype=np.uint8, count=rows * width, offset=int(first))
    return flat.reshape(rows, width)


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
