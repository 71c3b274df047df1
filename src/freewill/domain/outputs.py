"""Output spaces: what a mechanism may report, and how that is checked, counted and stored.

`Symbols` are indices of an output alphabet, `Bits` a bit for every value. Arrow is imported when
a column is first read or written, so that a device gets by with NumPy.
"""

from binascii import hexlify, unhexlify
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from freewill.core.types import BoolArray, Counter, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Alphabet, checked_indices, encode_texts
from freewill.errors import AlphabetError, LawError, several

VALUE = "value:"
"""What a text begins with that is a value, as people write it, and neither an index nor a label."""
LONGEST_NUMBER = 64
"""Bytes within which the numbers of a value are written; longer texts are no value."""


class Reason(StrEnum):
    """Why a row of reports is invalid."""

    NO_MECHANISM = "no mechanism"
    NO_REPORT = "no report"
    UNKNOWN_MECHANISM = "unknown mechanism"
    OUT_OF_RANGE = "report out of range"
    NO_SYMBOL = "neither an index nor a label"
    NO_VALUE = "no value of the alphabet"
    AMBIGUOUS = "an index and the label of another index"
    IMPOSSIBLE = "report of probability 0"
    CONFLICT = "rows of one report_id that differ"
    NO_BITS = "not packed bits"
    WRONG_LENGTH = "wrong number of bits"
    STRAY_BITS = "bits beyond the alphabet"
    NO_HASHED = "no seed and bucket"
    WRONG_SUBSET = "wrong number of values in a set"


class Decoded(NamedTuple):
    """The good reports of a column, which rows they were, and which rows were bad and why."""

    outputs: Reports
    good: BoolArray
    bad: dict[Reason, BoolArray]

    @classmethod
    def of(
        cls, outputs: Reports, bad: dict[Reason, BoolArray], read: BoolArray | slice = slice(None)
    ) -> "Decoded":
        """Take the bad rows from the outputs of those that were read: all, unless told."""
        reasons = {reason: rows for reason, rows in bad.items() if rows.any()}
        good = np.ones(len(next(iter(bad.values()))), dtype=np.bool_)
        for rows in reasons.values():
            good &= ~rows
        return cls(outputs[good[read]] if reasons else outputs, good, reasons)


class OutputSpace(Protocol):
    """All that a mechanism may report, and how its reports are checked, counted and stored.

    A new kind of report is one such object: nothing else asks what a report is.
    """

    column: ClassVar[str]
    """The column of a file of evidence that holds an output."""
    packed: ClassVar[bool]
    """Whether reports are rows of bytes, best counted beside a stream rather than grouped."""

    @property
    def alphabet(self) -> Alphabet | None:
        """The values that outputs are, where they are values."""

    @property
    def size(self) -> int:
        """How many symbols there are to report, or how many bits."""

    @property
    def repeats(self) -> bool:
        """Whether outputs repeat enough to be counted; others stay in the order they came in."""

    @property
    def listable(self) -> bool:
        """Whether all outputs can be listed."""

    def all(self) -> Reports:
        """Return all outputs, where they can be listed."""

    def empty(self) -> Reports:
        """Return no outputs."""

    def checked(self, reports: Any, name: str) -> Any:
        """Return reports as an array after checking that they lie in the space."""

    def counter(self) -> Counter:
        """Return a counter that has seen nothing."""

    def encode(self, reports: Reports) -> Any:
        """Return an Arrow column, of a type that may have fields, for Parquet files."""

    def decode(self, column: Any) -> Decoded:
        """Read an Arrow column without nulls, of any type in which reports travel."""

    def texts(self, reports: Reports) -> Any:
        """Return an Arrow column of texts that `decode` reads."""


def arrow() -> tuple[Any, Any]:
    """Import Arrow and its functions, when a column is read or written."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    return pa, pc


_INDEX = r"^(0|[1-9][0-9]{0,17})(\.0{1,20})?$"
"""Decimal digits that fit 64 bits, also as a table of floats writes them."""


@dataclass(frozen=True)
class Symbols:
    """One index of an output alphabet a report.

    They travel as integers, as decimal digits in a text, as the alphabet's labels, or as its
    values behind `value:`.

    >>> import freewill as fw, pyarrow as pa
    >>> Symbols(fw.Categorical(["yes", "no"])).decode(pa.array(["1", "no"])).outputs
    array([1, 1])
    >>> Symbols(fw.Linear(1, 100)).decode(pa.array(["40", "value:41"])).outputs
    array([40, 40])
    """

    alphabet: Alphabet
    column: ClassVar[str] = "symbol"
    packed: ClassVar[bool] = False
    repeats: ClassVar[bool] = True
    listable: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return self.alphabet.size

    def all(self) -> IntArray:
        """Return every index."""
        return np.arange(self.size)

    def empty(self) -> IntArray:
        """Return no indices."""
        return np.empty(0, dtype=np.int64)

    def checked(self, reports: Any, name: str) -> IntArray:
        """Check that reports are output indices, on one axis."""
        symbols = checked_indices(reports, self.size, f"output of {name}")
        if symbols.ndim != 1:
            raise AlphabetError(f"outputs of {name} have shape {symbols.shape}; expected one axis.")
        return symbols

    def counter(self) -> Counter:
        """Return an empty table of counts."""
        return Counter(self.size)

    def decode(self, column: Any) -> Decoded:
        """Read integers, or texts (also as bytes) that are indices, labels or values."""
        pa, _ = arrow()
        unread: dict[Reason, BoolArray] = {}
        if pa.types.is_integer(column.type):
            numbers = np.asarray(column, np.int64)
        else:
            numbers, unread = self._read_texts(column)
        outside = (numbers < 0) | (numbers >= self.size)
        for rows in unread.values():
            outside &= ~rows
        return Decoded.of(numbers, {**unread, Reason.OUT_OF_RANGE: outside})

    @cached_property
    def _labels(self) -> Any:
        pa, _ = arrow()
        return pa.array([label.encode() for label in self.alphabet.labels], pa.large_binary())

    def _read_texts(self, column: Any) -> tuple[IntArray, dict[Reason, BoolArray]]:
        """Read each text as an index and as a label; both at once must mean the same.

        Behind `value:` stands a value, and nothing else, whatever labels there are.
        """
        pa, pc = arrow()
        given = column.cast(pa.large_binary())
        digits: BoolArray = np.asarray(pc.match_substring_regex(given, _INDEX))
        places = pc.fill_null(pc.index_in(given, value_set=self._labels), -1)
        label = np.asarray(places, np.int64)
        numbers = label.copy()
        written = given.filter(pa.array(digits)).cast(pa.large_string())
        numbers[digits] = pc.replace_substring_regex(written, r"\.0+$", "").cast(pa.int64())
        ambiguous = (label >= 0) & (label != numbers)
        valued: BoolArray = np.asarray(pc.starts_with(given, VALUE))
        if valued.any():
            numbers[valued] = self._read_values(given.filter(pa.array(valued)).to_pylist())
            ambiguous &= ~valued
        nothing = numbers < 0
        return numbers, {
            Reason.AMBIGUOUS: ambiguous,
            Reason.NO_SYMBOL: nothing & ~valued,
            Reason.NO_VALUE: nothing & valued,
        }

    def _read_values(self, given: list[bytes]) -> IntArray:
        """Return the indices of the values behind `value:`, -1 where there is no such value."""
        # Bytes that are no UTF-8 become halves of characters, which no label has.
        written = [text[len(VALUE) :].decode("utf-8", "surrogateescape") for text in given]
        if not self.alphabet.labels:
            # An engine may cut off what is longer, and must not make another number of it.
            written = [text if len(text) <= LONGEST_NUMBER else "" for text in written]
        inside = encode_texts(self.alphabet, written)
        indices = np.full(len(given), -1, dtype=np.int64)
        indices[inside.kept] = inside.indices
        return indices

    def encode(self, reports: Reports) -> Any:
        """Return 64-bit integers."""
        pa, _ = arrow()
        return pa.array(reports, pa.int64())

    def texts(self, reports: Reports) -> Any:
        """Return decimal digits."""
        return self.encode(reports).cast("string")

    def __str__(self) -> str:
        return f"values of {self.alphabet}"


_LISTED_BITS = 16
"""Bits up to which all patterns are listed: 65,536 rows."""
_NARROW_BITS = 20
"""Bits up to which a table with a place for every pattern is small, 8 MB."""
_DIGITS = r"^[0-9a-fA-F]*$"


@dataclass(frozen=True)
class Bits:
    """`size` bits a report, packed: bit x is bit x % 8 of byte x // 8.

    They travel as bytes, or as hexadecimal digits in a text. Patterns of at most 20 bits repeat
    and are counted; wider ones hardly do, and are neither counted nor sorted.

    >>> import pyarrow as pa
    >>> Bits(12).decode(pa.array(["ff0f", "0100"])).outputs
    array([[255,  15],
           [  1,   0]], dtype=uint8)
    """

    size: int
    column: ClassVar[str] = "bits"
    packed: ClassVar[bool] = True
    alphabet: ClassVar[None] = None

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

    def all(self) -> PackedBits:
        """Return all 2^size patterns, for at most 16 bits."""
        if not self.listable:
            raise LawError(
                f"{several(self.size, 'bit')} have 2^{self.size} patterns, which cannot be listed. "
                f"Use operator(reports) with the reports that were observed."
            )
        return self._from_numbers(np.arange(1 << self.size))

    def _from_numbers(self, numbers: IntArray) -> PackedBits:
        packed = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : self.width]
        return np.ascontiguousarray(packed)

    def numbers(self, packed: Reports) -> IntArray:
        """Return narrow patterns as numbers, bit x worth 2^x."""
        numbers = np.zeros(len(packed), dtype=np.int64)
        for byte in range(self.width):
            numbers |= packed[:, byte].astype(np.int64) << (8 * byte)
        return numbers

    def empty(self) -> PackedBits:
        """Return no reports."""
        return np.empty((0, self.width), dtype=np.uint8)

    def checked(self, reports: Any, name: str) -> PackedBits:
        """Check that reports are packed bits of this size."""
        try:
            packed = np.asarray(reports)
        except (ValueError, OverflowError):
            raise AlphabetError(
                f"reports of {name} are rows of several lengths: expected uint8, (n, {self.width})."
            ) from None
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != self.width:
            raise AlphabetError(
                f"reports of {name} have type {packed.dtype} and shape {packed.shape}; "
                f"expected uint8, (n, {self.width}): {several(self.size, 'bit')}, eight a byte."
            )
        stray = packed[:, -1] > self.last_byte
        if stray.any():
            raise AlphabetError(
                f"report {int(np.argmax(stray))} of {name} has bits beyond the {self.size} of the "
                f"alphabet. Does it belong to another alphabet?"
            )
        return packed

    def counter(self) -> Counter:
        """Return an empty table of counts, for narrow patterns."""
        return Counter(1 << self.size, self.numbers, self._from_numbers)

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
        stray[np.flatnonzero(read)[packed[:, -1] > self.last_byte]] = True
        bad = {Reason.WRONG_LENGTH: ~fits, Reason.NO_BITS: fits & ~read, Reason.STRAY_BITS: stray}
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

    def __str__(self) -> str:
        return several(self.size, "bit")


def _byte_rows(column: Any, width: int) -> PackedBits:
    """Return a large_binary column of equal lengths as an array that shares its memory."""
    rows = len(column)
    if not rows:
        return np.empty((0, width), dtype=np.uint8)
    _, offsets, content = column.buffers()
    first = np.frombuffer(offsets, dtype=np.int64)[column.offset]
    flat = np.frombuffer(content, dtype=np.uint8, count=rows * width, offset=int(first))
    return flat.reshape(rows, width)
