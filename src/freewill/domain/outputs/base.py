"""What an output space is: the size, checks, counts and columns of a mechanism's reports."""

from collections.abc import Callable
from enum import StrEnum
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from freewill.core.types import VECTOR_BYTES, BoolArray, IntArray, Reports, refuse_beyond
from freewill.errors import EvidenceError, several

if TYPE_CHECKING:
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
    def alphabet(self) -> "Alphabet | None":
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

    def counter(self) -> "Counter":
        """Return a counter that has seen nothing."""

    def encode(self, reports: Reports) -> Any:
        """Return an Arrow column, of a type that may have fields, for Parquet files."""

    def decode(self, column: Any) -> Decoded:
        """Read an Arrow column without nulls, of any type in which reports travel."""

    def texts(self, reports: Reports) -> Any:
        """Return an Arrow column of texts that `decode` reads."""


MOST_PEOPLE = 2**53
"""The most people that evidence may hold: 9 million times a thousand million.

Up to here a sum of counts is exact both as a 64-bit integer and as a float, which is what weights
are made of.
"""


def checked_counts(counts: Any, what: str) -> IntArray:
    """Return counts as 64-bit integers after checking that each is a whole number of people.

    >>> checked_counts([3, 0, 2.0], "k-rr")
    array([3, 0, 2])
    >>> checked_counts([1e19], "k-rr")
    Traceback (most recent call last):
    freewill.errors.EvidenceError: count 1e+19 at place 0 of k-rr: expected whole numbers from 0 ...
    """
    try:
        numbers = np.asarray(counts)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise EvidenceError(
            f"counts of {what} in lists of several lengths: expected one list."
        ) from None
    if numbers.dtype.kind == "O" and all(isinstance(n, Integral) for n in numbers.flat):
        wrong = np.array([not 0 <= n <= MOST_PEOPLE for n in numbers.flat], dtype=np.bool_)
        wrong = wrong.reshape(numbers.shape)
    elif numbers.dtype.kind in "iuf":
        # NaN is neither inside nor outside: ask for what is wanted.
        inside = (numbers >= 0) & (numbers <= MOST_PEOPLE)
        wrong = ~inside | (np.where(inside, numbers, 0) % 1 != 0)
    elif numbers.size == 0:
        wrong = np.zeros(numbers.shape, dtype=np.bool_)
    else:
        raise EvidenceError(
            f"counts of {what} of type {numbers.dtype}: expected whole numbers, one an output."
        )
    if wrong.any():
        where = int(np.argmax(wrong))
        raise EvidenceError(
            f"count {numbers.flat[where]!s:.40} at place {where} of {what}: expected whole numbers "
            f"from 0 to 2^53 ({MOST_PEOPLE:,})."
        )
    return numbers.astype(np.int64) if numbers.size else np.zeros(numbers.shape, np.int64)


def _unchanged(indices: Any) -> Any:
    return indices


def people_in(counts: IntArray) -> int:
    """Return the sum of counts, exactly: halves of 32 bits are added apart and cannot wrap around.

    >>> people_in(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    high, low = counts >> 32, counts & 0xFFFFFFFF
    return (int(high.sum(dtype=np.int64)) << 32) + int(low.sum(dtype=np.int64))


def checked_people(people: int, what: str) -> int:
    """Return a number of people after checking that sums of it stay exact.

    >>> checked_people(2**62 + 2**62, "the evidence")
    Traceback (most recent call last):
    freewill.errors.EvidenceError: 9,223,372,036,854,775,808 people in the evidence: expected at ...
    """
    if not 0 <= people <= MOST_PEOPLE:
        raise EvidenceError(
            f"{several(people, 'person')} in {what}: expected at most 2^53 ({MOST_PEOPLE:,}), up "
            f"to which counts are exact. Are the counts damaged?"
        )
    return people


class Counter:
    """Counts outputs as they stream by, in a table with a place for each.

    `numbers` says which place an output has, and `outputs` which output a place stands for; where
    outputs are indices, both are left out.
    """

    def __init__(
        self,
        size: int,
        numbers: Callable[[Reports], IntArray] = _unchanged,
        outputs: Callable[[IntArray], Reports] = _unchanged,
    ) -> None:
        what = f"a count for each of {several(size, 'output')}"
        refuse_beyond(VECTOR_BYTES, size * 8, what, "Take fewer values.", EvidenceError)
        self._numbers, self._outputs = numbers, outputs
        self._table = np.zeros(size, dtype=np.int64)
        self._people = 0

    def add(self, outputs: Reports, counts: IntArray | None) -> None:
        """Count outputs, once each unless counts are given."""
        # Checked before it is added: as long as all together fit, so does each place of the table.
        more = len(outputs) if counts is None else people_in(counts)
        self._people = checked_people(self._people + more, "the counts of one mechanism")
        np.add.at(self._table, self._numbers(outputs), 1 if counts is None else counts)

    def result(self) -> tuple[Reports, IntArray]:
        """Return the distinct outputs seen, in a fixed order, and their counts."""
        seen = np.flatnonzero(self._table)
        return self._outputs(seen), self._table[seen]
