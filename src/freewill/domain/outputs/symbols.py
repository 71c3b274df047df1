"""Reports that are a symbol each: an index of an output alphabet."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import BoolArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet, checked_indices, encode_texts, texts
from freewill.domain.outputs.base import (
    LONGEST_NUMBER,
    VALUE,
    Counter,
    Decoded,
    OutputSpace,
    Reason,
)
from freewill.errors import AlphabetError

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
        from pyarrow import types  # noqa: PLC0415

        if types.is_integer(column.type):
            numbers = np.asarray(column, np.int64)
            decoded = Decoded(numbers, np.ones(len(numbers), dtype=np.bool_), {})
        else:
            decoded = self._read_texts(column)
        outside = decoded.good & ((decoded.outputs < 0) | (decoded.outputs >= self.size))
        decoded.note(Reason.OUT_OF_RANGE, outside)
        good = decoded.good & ~outside
        return Decoded(decoded.outputs if good.all() else decoded.outputs[good], good, decoded.bad)

    @cached_property
    def _labels(self) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        return pa.array([label.encode() for label in self.alphabet.labels], pa.large_binary())

    def _read_texts(self, column: Any) -> Decoded:
        """Read each text as an index and as a label; both at once must mean the same.

        Behind `value:` stands a value, and nothing else, whatever labels there are.
        """
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

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
        decoded = Decoded(numbers, ~(ambiguous | nothing), {})
        decoded.note(Reason.AMBIGUOUS, ambiguous)
        decoded.note(Reason.NO_SYMBOL, nothing & ~valued)
        decoded.note(Reason.NO_VALUE, nothing & valued)
        return decoded

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
        import pyarrow as pa  # noqa: PLC0415

        return pa.array(reports, pa.int64())

    def texts(self, reports: Reports) -> Any:
        """Return decimal digits."""
        import pyarrow as pa  # noqa: PLC0415

        return self.encode(reports).cast(pa.string())

    def __str__(self) -> str:
        return f"values of {self.alphabet}"


def values(space: OutputSpace, reports: Reports) -> Any:
    """Return an Arrow column of texts for people, which are read back behind `value:`.

    Outputs that are values are written as such, all others as the texts in which they travel.

    >>> import freewill as fw
    >>> values(fw.KRR(fw.Linear(1, 100), 1.0).output_space, np.array([40])).to_pylist()
    ['41']
    """
    import pyarrow as pa  # noqa: PLC0415

    if space.alphabet is None:
        return space.texts(reports)
    distinct, where = np.unique(reports, return_inverse=True)
    return pa.array(texts(space.alphabet, distinct), pa.string()).take(pa.array(where))


def unmarked(space: OutputSpace, column: Any) -> Any:
    """Take `value:` off the texts of a space that has no values, where it says nothing."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if space.alphabet is None and is_text and pc.any(pc.starts_with(column, VALUE)).as_py():
        return pc.replace_substring_regex(column, f"^{VALUE}", "")
    return column
