"""Output spaces: what a mechanism may report, and how that is checked, counted and stored.

`Symbols` are indices of an output alphabet, `Hashed` a seed and a bucket; `packed_outputs` has
reports that are bytes. Arrow is imported when a column is first read or written, so that a device
gets by with NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from freewill.core.types import BoolArray, Counter, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Alphabet, checked_indices, encode_texts, longest_text
from freewill.domain.draws.hashing import SEEDS
from freewill.errors import AlphabetError, LawError, shown

VALUE = "value:"
"""What a text begins with that is a value, as people write it, and neither an index nor a label."""
LONGEST_NUMBER = 64
"""Bytes within which the numbers of a value are written; longer texts are no value."""
_INDEX = r"^(0|[1-9][0-9]{0,17})(\.0{1,20})?$"
"""Decimal digits that fit 64 bits, also as a table of floats writes them."""
_HASHED = r"^(?P<seed>0|[1-9][0-9]{0,9}):(?P<bucket>0|[1-9][0-9]{0,9})$"
_FIELDS = ("seed", "bucket")


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
    WRONG_PART = "a part of the report out of range"


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

    @property
    def places(self) -> int:
        """How many outputs there are."""

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


def listed_numbers(space: Any) -> IntArray | None:
    """Return the numbers of all outputs, which rise, where they are listed and have numbers."""
    if not (space.listable and hasattr(space, "numbers")):
        return None
    return np.asarray(space.numbers(space.all()))


def arrow() -> tuple[Any, Any]:
    """Import Arrow and its functions, when a column is read or written."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    return pa, pc


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

    places = size

    @property
    def width(self) -> int:
        """As few bytes as hold the last index."""
        return max(1, -(-(self.size - 1).bit_length() // 8))

    @property
    def longest(self) -> int:
        """Bytes within which JSON holds the text of any value."""
        return longest_text(self.alphabet)

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

    def numbers(self, reports: Reports) -> IntArray:
        """Return the indices, which are numbers."""
        return np.asarray(reports, np.int64)

    numbered = numbers

    def to_bytes(self, reports: Reports) -> PackedBits:
        """Return the indices, the least byte first."""
        whole = np.ascontiguousarray(reports, "<i8").view(np.uint8).reshape(-1, 8)
        return np.ascontiguousarray(whole[:, : self.width])

    def from_bytes(self, rows: PackedBits) -> tuple[IntArray, BoolArray]:
        """Return the indices, and which of them are too large."""
        whole = np.zeros((len(rows), 8), dtype=np.uint8)
        whole[:, : self.width] = rows
        indices = whole.view("<i8")[:, 0].astype(np.int64)
        return indices, indices >= self.size

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
        texts = column.cast(pa.large_binary())
        digits: BoolArray = np.asarray(pc.match_substring_regex(texts, _INDEX))
        places = pc.fill_null(pc.index_in(texts, value_set=self._labels), -1)
        label = np.asarray(places, np.int64)
        numbers = label.copy()
        written = texts.filter(pa.array(digits)).cast(pa.large_string())
        numbers[digits] = pc.replace_substring_regex(written, r"\.0+$", "").cast(pa.int64())
        ambiguous = (label >= 0) & (label != numbers)
        valued: BoolArray = np.asarray(pc.starts_with(texts, VALUE))
        if valued.any():
            numbers[valued] = self._read_values(texts.filter(pa.array(valued)).to_pylist())
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


@dataclass(frozen=True)
class Hashed:
    """A seed below 2^32 and a bucket below `size`.

    They travel as a column with two fields, or as texts `seed:bucket` of decimal digits.

    >>> import pyarrow as pa
    >>> Hashed(8).decode(pa.array(["4294967295:7", "3:1"])).outputs
    array([[4294967295,          7],
           [         3,          1]], dtype=uint32)
    """

    size: int
    width: ClassVar[int] = 8
    column: ClassVar[str] = "hashed"
    packed: ClassVar[bool] = False
    alphabet: ClassVar[None] = None
    repeats: ClassVar[bool] = False
    listable: ClassVar[bool] = False

    @property
    def longest(self) -> int:
        """Bytes of the longest text `seed:bucket`."""
        return len(f"{SEEDS - 1}:{self.size - 1}")

    @property
    def places(self) -> int:
        """How many pairs there are."""
        return SEEDS * self.size

    def all(self) -> Reports:
        """Refuse: there are 2^32 seeds."""
        raise LawError(
            f"{self} cannot be listed: there are 2^32 seeds. Use operator(reports) with the "
            f"reports that were observed."
        )

    def empty(self) -> Reports:
        """Return no reports."""
        return np.empty((0, 2), dtype=np.uint32)

    def checked(self, reports: Any, name: str) -> Any:
        """Check that reports are pairs of a seed and a bucket."""
        try:
            pairs = np.asarray(reports)
        except (ValueError, OverflowError):
            pairs = np.empty(0)
        if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise AlphabetError(
                f"reports of {name} have type {pairs.dtype} and shape {pairs.shape}; expected "
                f"whole numbers, (n, 2): a seed and a bucket each."
            )
        for place, (what, limit) in enumerate((("seed", SEEDS), ("bucket", self.size))):
            outside = (pairs[:, place] < 0) | (pairs[:, place] >= limit)
            if outside.any():
                row = int(np.argmax(outside))
                raise AlphabetError(
                    f"report {row} of {name} has the {what} {pairs[row, place]}: expected 0 to "
                    f"{limit - 1:,}."
                )
        return pairs.astype(np.uint32, copy=False)

    def counter(self) -> Counter:
        """Refuse: seeds do not repeat."""
        raise LawError(f"{self} are not counted: hardly two have the same seed.")

    def to_bytes(self, reports: Reports) -> PackedBits:
        """Return seed and bucket, four bytes each, the least byte first."""
        return np.ascontiguousarray(reports, "<u4").view(np.uint8).reshape(-1, self.width)

    def from_bytes(self, rows: PackedBits) -> tuple[Reports, BoolArray]:
        """Return seeds and buckets, and which buckets are too large."""
        pairs = np.ascontiguousarray(rows).view("<u4").astype(np.uint32)
        return pairs, pairs[:, 1] >= self.size

    def encode(self, reports: Reports) -> Any:
        """Return a column with the fields `seed` and `bucket`."""
        pa, _ = arrow()
        columns = [pa.array(reports[:, place], pa.uint32()) for place in (0, 1)]
        return pa.StructArray.from_arrays(columns, names=_FIELDS)

    def decode(self, column: Any) -> Decoded:
        """Read a column with the two fields, or texts."""
        pa, pc = arrow()
        if pa.types.is_struct(column.type):
            fields = [_whole(pc.struct_field(column, name)) for name in _FIELDS]
        elif pa.types.is_integer(column.type):
            fields = [pa.nulls(len(column), pa.int64())] * 2
        else:
            texts = column.cast(pa.large_binary())
            written = pc.match_substring_regex(texts, _HASHED)
            well_formed = pc.if_else(written, texts, None).cast(pa.large_string())
            matched = pc.extract_regex(well_formed, _HASHED)
            fields = [pc.struct_field(matched, name).cast(pa.int64()) for name in _FIELDS]
        complete = np.asarray(pc.and_(fields[0].is_valid(), fields[1].is_valid()))
        pairs = np.column_stack([np.asarray(pc.fill_null(field, 0)) for field in fields])
        outside = complete & ((pairs < 0) | (pairs >= (SEEDS, self.size))).any(axis=1)
        bad = {Reason.NO_HASHED: ~complete, Reason.OUT_OF_RANGE: outside}
        return Decoded.of(np.where((complete & ~outside)[:, None], pairs, 0).astype(np.uint32), bad)

    def texts(self, reports: Reports) -> Any:
        """Return `seed:bucket`.

        >>> Hashed(8).texts(np.array([[12, 7]], dtype=np.uint32)).to_pylist()
        ['12:7']
        """
        pa, pc = arrow()
        columns = [pa.array(reports[:, place], pa.uint32()).cast("string") for place in (0, 1)]
        return pc.binary_join_element_wise(*columns, ":")

    def __str__(self) -> str:
        return f"seeds with one of {self.size:,} buckets"


def _whole(column: Any) -> Any:
    """Return a field as 64-bit integers, nulls where it is none."""
    pa, _ = arrow()
    return (
        column.cast(pa.int64())
        if pa.types.is_integer(column.type)
        else pa.nulls(len(column), pa.int64())
    )


def read_texts(space: OutputSpace, texts: Sequence[str], name: str) -> Any:
    """Return the reports of a mechanism of this name from their texts.

    >>> from freewill.domain.packed_outputs import Bits
    >>> read_texts(Bits(12), ["ff0f"], "rappor")
    array([[255,  15]], dtype=uint8)
    """
    if space.packed:  # without Arrow, which a device need not have
        try:
            rows = [np.frombuffer(bytes.fromhex(text), dtype=np.uint8) for text in texts]
            packed: Any = np.array(rows) if rows else space.empty()
        except (TypeError, ValueError):
            expected = "expected hexadecimal digits, as many in each text, as report gives them."
            raise AlphabetError(f"reports {shown(texts)} of {name}: {expected}") from None
        return space.checked(packed, name)
    pa, _ = arrow()
    try:
        column = pa.array(texts, pa.string())
    except (TypeError, ValueError, pa.ArrowException):
        raise AlphabetError(f"reports {shown(texts)} of {name}: expected texts.") from None
    outputs, good, bad = space.decode(column)
    if not good.all():
        first = texts[int(np.argmin(good))]
        why = next(map(str, bad), "no report")
        raise AlphabetError(f"report {shown(first)} of {name}: {why}; expected {space}.")
    return space.checked(outputs, name)
