"""Output spaces: what a mechanism may report, and how that is checked, counted and stored.

`Symbols` are indices of an output alphabet; `packed_outputs` has reports that are bytes. Arrow is
imported when a column is first read or written, so that a device gets by with NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, Counter, IntArray, PackedBits, Reports
from freewill.domain.alphabets.base import Alphabet, checked_indices, encode_texts, longest_text
from freewill.errors import AlphabetError, several, shown

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


def as_texts(space: OutputSpace, reports: Reports) -> list[str]:
    """Return reports that are no values of an alphabet as texts, as a column of reports has them.

    >>> from freewill.domain.packed_outputs import Bits
    >>> as_texts(Bits(12), np.array([[255, 15]], dtype=np.uint8))
    ['ff0f']
    """
    if space.packed:  # without Arrow, which a device need not have
        return [row.tobytes().hex() for row in reports]
    return [*space.texts(reports).to_pylist()]


def from_texts(space: OutputSpace, texts: Sequence[str], name: str) -> Any:
    """Return the reports of a mechanism of this name from their texts.

    >>> from freewill.domain.packed_outputs import Bits
    >>> from_texts(Bits(12), ["ff0f"], "rappor")
    array([[255,  15]], dtype=uint8)
    """
    if not space.packed:
        return space.checked(_decoded(space, texts, name), name)
    try:
        rows = [np.frombuffer(bytes.fromhex(text), dtype=np.uint8) for text in texts]
        packed: Any = np.array(rows) if rows else space.empty()
    except (TypeError, ValueError):
        expected = "expected hexadecimal digits, as many in each text, as report gives them."
        raise AlphabetError(f"reports {shown(texts)} of {name}: {expected}") from None
    return space.checked(packed, name)


def from_rows(space: OutputSpace, rows: NDArray[Any], name: str) -> Any:
    """Return packed bits from rows of 0 and 1, or from rows of the indices that are set.

    As other packages have them: a column a value, or a column for each value of a subset.

    >>> from freewill.domain.packed_outputs import Bits
    >>> from_rows(Bits(4), np.array([[1.0, 0, 0, 1]]), "oue")
    array([[9]], dtype=uint8)
    >>> from_rows(Bits(4), np.array([[0, 3]]), "subset-selection")
    array([[9]], dtype=uint8)
    """
    size = space.size
    expected = f"expected rows of {several(size, 'number')}, 0 or 1, or of fewer indices below it."
    if rows.ndim != 2 or rows.shape[1] > size:
        raise AlphabetError(f"reports of {name} have the shape {rows.shape}: {expected}")
    whole = rows.shape[1] == size
    if not np.all((rows >= 0) & (rows < (2 if whole else size)) & (np.floor(rows) == rows)):
        raise AlphabetError(f"reports {shown(rows)} of {name}: {expected}")
    bits = rows.astype(np.uint8)
    if not whole:
        bits = np.zeros((len(rows), size), dtype=np.uint8)
        np.put_along_axis(bits, rows.astype(np.int64), 1, axis=1)
        if np.any(bits.sum(axis=1) < rows.shape[1]):
            raise AlphabetError(f"reports {shown(rows)} of {name}: an index stands twice in a row.")
    return np.packbits(bits, axis=1, bitorder="little")


def _decoded(space: OutputSpace, texts: Sequence[str], name: str) -> Reports:
    """Read texts as a column of a file is read."""
    pa, _ = arrow()
    try:
        column = pa.array(texts, pa.string())
    except (TypeError, ValueError, pa.ArrowException):
        raise AlphabetError(f"reports {shown(texts)} of {name}: expected texts.") from None
    decoded = space.decode(column)
    if not decoded.good.all():
        first = texts[int(np.argmin(decoded.good))]
        why = next((str(reason) for reason in decoded.bad), "no report")
        raise AlphabetError(f"report {shown(first)} of {name}: {why}; expected {space}.")
    return decoded.outputs
