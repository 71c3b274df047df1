"""Reports that are a bit vector each: a bit for every value, packed eight a byte."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import BoolArray, IntArray, PackedBits, Reports
from freewill.domain.outputs.base import Counter, Decoded, Reason
from freewill.errors import AlphabetError, LawError, several

_LISTED_BITS = 16
"""Bits up to which all patterns are listed: 65,536 rows."""
_NARROW_BITS = 20
"""Bits up to which a table with a place for every pattern is small, 8 MB."""
_NO_DIGIT = 255


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
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        rows = len(column)
        if pa.types.is_integer(column.type):
            bad = {Reason.NO_BITS: np.ones(rows, np.bool_)} if rows else {}
            return Decoded(self.empty(), np.zeros(rows, np.bool_), bad)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        width = 2 * self.width if text else self.width
        column = column.cast(pa.large_binary())
        fits: BoolArray = np.asarray(pc.binary_length(column)) == width
        packed = _byte_rows(column if fits.all() else column.filter(pa.array(fits)), width)
        decoded = Decoded(packed, fits, {})
        decoded.note(Reason.WRONG_LENGTH, ~fits)
        if text:
            packed, hexadecimal = _from_hexadecimal(packed)
            decoded = _narrowed(decoded._replace(outputs=packed), hexadecimal, Reason.NO_BITS)
        return _narrowed(decoded, decoded.outputs[:, -1] <= self.last_byte, Reason.STRAY_BITS)

    def encode(self, reports: Reports) -> Any:
        """Return the bytes, which share the rows' memory."""
        import pyarrow as pa  # noqa: PLC0415

        rows, width = reports.shape
        offsets = np.arange(rows + 1, dtype=np.int64) * width
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(reports))]
        return pa.Array.from_buffers(pa.large_binary(), rows, buffers).cast(pa.binary())

    def texts(self, reports: Reports) -> Any:
        """Return hexadecimal digits, two a byte.

        >>> Bits(16).texts(np.array([[10, 255]], dtype=np.uint8)).to_pylist()
        ['0aff']
        """
        import pyarrow as pa  # noqa: PLC0415

        digits = _HEXADECIMAL[np.ascontiguousarray(reports)].view(np.uint8)
        return self.encode(digits).cast(pa.string())

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


def _from_hexadecimal(digits: Reports) -> tuple[PackedBits, BoolArray]:
    nibbles = _NIBBLES[digits]
    valid = np.asarray((nibbles != _NO_DIGIT).all(axis=1))
    return np.asarray((nibbles[:, ::2] << 4) | (nibbles[:, 1::2] & 15), dtype=np.uint8), valid


def _narrowed(decoded: Decoded, valid: BoolArray, reason: Reason) -> Decoded:
    """Take rows off the good ones; `kept` speaks of the good rows only."""
    if valid.all():
        return decoded
    good = decoded.good.copy()
    good[np.flatnonzero(decoded.good)[~valid]] = False
    decoded.note(reason, decoded.good & ~good)
    return Decoded(decoded.outputs[valid], good, decoded.bad)


_NIBBLES = np.full(256, _NO_DIGIT, dtype=np.uint8)
for _place, _digit in enumerate("0123456789abcdef"):
    _NIBBLES[ord(_digit)] = _NIBBLES[ord(_digit.upper())] = _place
_HEXADECIMAL = np.frombuffer(
    "".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint8
).view(np.uint16)
