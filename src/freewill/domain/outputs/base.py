"""What an output space is: the size, checks, counts and columns of a mechanism's reports."""

from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol

from freewill.core.types import BoolArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet

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


class Decoded(NamedTuple):
    """The good reports of a column, which rows they were, and which rows were bad and why."""

    outputs: Reports
    good: BoolArray
    bad: dict[Reason, BoolArray]

    def note(self, reason: Reason, rows: BoolArray) -> None:
        """Remember bad rows, if there are any."""
        if rows.any():
            self.bad[reason] = rows


class Counter(Protocol):
    """Counts outputs as they stream by."""

    def add(self, outputs: Reports, counts: IntArray | None) -> None:
        """Count outputs, once each unless told otherwise."""

    def result(self) -> tuple[Reports, IntArray]:
        """Return the distinct outputs seen, in a fixed order, and their counts."""


class OutputSpace(Protocol):
    """All that a mechanism may report, and how its reports are checked, counted and stored.

    A new kind of report is one such object: nothing else asks what a report is. Arrow columns
    are imported when first needed, so that a device gets by with NumPy.
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
