"""The wire format: how the reports of one mechanism stand in a column, read and written by arrays.

Symbols are indices: integers, or decimal digits in a text; any other text is a label. Bits are
packed bytes, or their hexadecimal digits in a text. docs/reports.md is the written schema.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freewill.alphabets import Categorical
from freewill.errors import ReportError
from freewill.mechanisms import Mechanism
from freewill.types import BoolArray, IntArray, PackedBits, Reports

WIRE_VERSION = 1
_INDEX = r"^(0|[1-9][0-9]{0,17})(\.0+)?$"
_NO_DIGIT = 255


class Reason(StrEnum):
    """Why a row is invalid."""

    NO_MECHANISM = "no mechanism"
    NO_REPORT = "no report"
    UNKNOWN_MECHANISM = "unknown mechanism"
    OUT_OF_RANGE = "report out of range"
    NO_SYMBOL = "neither an index nor a label"
    AMBIGUOUS = "an index and the label of another index"
    IMPOSSIBLE = "report of probability 0"
    NO_BITS = "not packed bits"
    WRONG_LENGTH = "wrong number of bits"
    STRAY_BITS = "bits beyond the alphabet"


class Decoded(NamedTuple):
    """The good reports of a column, which rows they were, and which rows were bad and why."""

    outputs: Reports
    good: BoolArray
    bad: dict[Reason, BoolArray]


@dataclass(frozen=True)
class Symbols:
    """Reports that are output indices."""

    mechanism: Mechanism

    @cached_property
    def size(self) -> int:
        """How many outputs there are."""
        return len(self.mechanism.outputs())

    @cached_property
    def _labels(self) -> Any:
        outputs = getattr(self.mechanism, "output_alphabet", self.mechanism.alphabet)
        labels = outputs.labels if isinstance(outputs, Categorical) else ()
        return pa.array([label.encode() for label in labels], pa.large_binary())

    def decode(self, column: Any) -> Decoded:
        """Read a column of integers or texts (as text or binary); nulls must be gone."""
        bad: dict[Reason, BoolArray] = {}
        if pa.types.is_integer(column.type):
            numbers = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
            good = np.ones(len(numbers), dtype=np.bool_)
        else:
            numbers, good = self._read_texts(column.cast(pa.large_binary()), bad)
        outside = good & ((numbers < 0) | (numbers >= self.size))
        _note(bad, Reason.OUT_OF_RANGE, outside)
        good &= ~outside
        return Decoded(numbers if good.all() else numbers[good], good, bad)

    def _read_texts(self, texts: Any, bad: dict[Reason, BoolArray]) -> tuple[IntArray, BoolArray]:
        digits = _booleans(pc.match_substring_regex(texts, _INDEX))
        numbers = np.full(len(texts), -1, dtype=np.int64)
        written = texts.filter(pa.array(digits)).cast(pa.large_string())
        whole = pc.replace_substring_regex(written, r"\.0+$", "")
        numbers[digits] = whole.cast(pa.int64()).to_numpy(zero_copy_only=False)
        places = pc.fill_null(pc.index_in(texts, value_set=self._labels), -1)
        label = places.to_numpy(zero_copy_only=False).astype(np.int64)
        ambiguous = digits & (label >= 0) & (label != numbers)
        nothing = ~digits & (label < 0)
        _note(bad, Reason.AMBIGUOUS, ambiguous)
        _note(bad, Reason.NO_SYMBOL, nothing)
        return np.where(digits, numbers, label), ~(ambiguous | nothing)


@dataclass(frozen=True)
class Bits:
    """Reports that are packed bits, `width` bytes each."""

    mechanism: Mechanism
    width: int

    @property
    def size(self) -> int:
        """How many bits a report has."""
        return int(self.mechanism.alphabet.size)

    def decode(self, column: Any) -> Decoded:
        """Read a column of packed bytes or hexadecimal texts; nulls must be gone."""
        rows = len(column)
        if pa.types.is_integer(column.type):
            nothing = np.zeros((0, self.width), dtype=np.uint8)
            return Decoded(nothing, np.zeros(rows, np.bool_), {Reason.NO_BITS: _all(rows)})
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        width = 2 * self.width if text else self.width
        column = column.cast(pa.large_binary())
        bad: dict[Reason, BoolArray] = {}
        good = pc.binary_length(column).to_numpy(zero_copy_only=False) == width
        _note(bad, Reason.WRONG_LENGTH, ~good)
        packed = _bytes(column if good.all() else column.filter(pa.array(good)), width)
        if text:
            packed, hexadecimal = _from_hexadecimal(packed)
            packed = packed if hexadecimal.all() else packed[hexadecimal]
            good = _narrowed(good, hexadecimal, Reason.NO_BITS, bad)
        last = 0xFF >> (8 * self.width - self.size)
        clean = packed[:, -1] <= last
        good = _narrowed(good, clean, Reason.STRAY_BITS, bad)
        return Decoded(packed if clean.all() else packed[clean], good, bad)


Codec: TypeAlias = Symbols | Bits


def codec_of(mechanism: Mechanism) -> Codec:
    """Return how the reports of a mechanism travel: bits if it tells a width, else symbols.

    >>> import freewill as fw
    >>> codec_of(fw.KRR(fw.Categorical(["yes", "no"]), 1.0)).decode(pa.array(["1", "no"])).outputs
    array([1, 1])
    """
    width = getattr(mechanism, "width", None)
    return Symbols(mechanism) if width is None else Bits(mechanism, int(width))


def as_binary(packed: Reports) -> Any:
    """Return rows of bytes as a binary Arrow array that shares their memory."""
    rows, width = packed.shape
    offsets = np.arange(rows + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(packed))]
    return pa.Array.from_buffers(pa.large_binary(), rows, buffers).cast(pa.binary())


def texts(reports: Reports) -> Any:
    """Return symbols as decimal and packed bits as hexadecimal digits.

    >>> texts(np.array([[10, 255]], dtype=np.uint8)).to_pylist()
    ['0aff']
    """
    if reports.ndim == 1:
        return pa.array(reports, pa.int64()).cast(pa.string())
    digits = _HEXADECIMAL[np.ascontiguousarray(reports)].view(np.uint8)
    return as_binary(digits.reshape(len(reports), -1)).cast(pa.string())


def pieces(reports: Reports, rows: int = 1 << 17) -> Iterator[Reports]:
    """Cut reports into pieces that stay small while they are converted."""
    for first in range(0, len(reports), rows):
        yield reports[first : first + rows]


def checked_reports(codec: Codec, reports: Any) -> Reports:
    """Return reports as an array after checking that their mechanism can have made them."""
    array = np.asarray(reports)
    try:
        if len(array):
            for piece in pieces(array):
                codec.mechanism.operator(piece)
    except (ValueError, TypeError) as error:
        raise ReportError(f"reports of {codec.mechanism}: {error}") from None
    return array


def _bytes(column: Any, width: int) -> PackedBits:
    """Return a large_binary column of equal lengths as an array that shares its memory."""
    rows = len(column)
    _, offsets, content = column.buffers()
    if rows == 0 or content is None:
        return np.zeros((rows, width), dtype=np.uint8)
    first = np.frombuffer(offsets, dtype=np.int64, count=1, offset=8 * column.offset)[0]
    flat = np.frombuffer(content, dtype=np.uint8, count=rows * width, offset=int(first))
    return flat.reshape(rows, width)


def _from_hexadecimal(digits: PackedBits) -> tuple[PackedBits, BoolArray]:
    nibbles = _NIBBLES[digits]
    valid = np.asarray((nibbles != _NO_DIGIT).all(axis=1))
    return np.asarray((nibbles[:, ::2] << 4) | (nibbles[:, 1::2] & 15), dtype=np.uint8), valid


def _narrowed(
    good: BoolArray, kept: BoolArray, reason: Reason, bad: dict[Reason, BoolArray]
) -> BoolArray:
    """Take rows off the good ones; `kept` speaks of the good rows only."""
    if kept.all():
        return good
    left = good.copy()
    left[np.flatnonzero(good)[~kept]] = False
    _note(bad, reason, good & ~left)
    return left


def _note(bad: dict[Reason, BoolArray], reason: Reason, rows: BoolArray) -> None:
    if rows.any():
        bad[reason] = rows


def _all(rows: int) -> BoolArray:
    return np.ones(rows, dtype=np.bool_)


def _booleans(column: Any) -> BoolArray:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.bool_)


_NIBBLES = np.full(256, _NO_DIGIT, dtype=np.uint8)
for _place, _digit in enumerate("0123456789abcdef"):
    _NIBBLES[ord(_digit)] = _NIBBLES[ord(_digit.upper())] = _place
_HEXADECIMAL = np.frombuffer(
    "".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint8
).view(np.uint16)
