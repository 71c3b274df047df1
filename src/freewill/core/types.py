"""Arrays that the whole package shares, counts of people, the checks of both and their limits.

A few letters can ask for any amount of memory: `last: 10**12` in a survey, a page of a file that
unpacks to gigabytes. More bytes, as they would lie in memory, than the limits here are refused
before they are taken.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freewill.errors import (
    EvidenceError,
    FreewillError,
    ParameterError,
    SpecError,
    closest,
    several,
    shown,
)

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
PackedBits: TypeAlias = NDArray[np.uint8]
"""Bit reports, one row each: bit x of a report is bit x % 8 of its byte x // 8."""

Words: TypeAlias = NDArray[np.uint32]
"""Words of 32 bits."""

Reports: TypeAlias = NDArray[np.int64] | NDArray[np.uint8] | NDArray[np.uint32]
"""What leaves the devices: output indices (one axis), packed bits or pairs of words (two axes)."""

Spec: TypeAlias = dict[str, Any]
"""A portable description, ready for JSON."""

VECTOR_BYTES = 1 << 27
"""A vector with a number for every value or output of a survey: 128 MiB, 16,777,216 values."""
MATRIX_BYTES = 1 << 29
"""A matrix with a number for every two values: 512 MiB, of 8,192 values."""
SURVEY_FILE_BYTES = 1 << 28
"""The text of a survey: a law of 3,000 x 3,000 numbers is about 180 MB."""
PAGE_BYTES = 1 << 28
"""A page of a Parquet file of reports, unpacked, or the rows that an engine holds at once."""
ROW_GROUP_BYTES = 1 << 28
"""A row group of a file of evidence, unpacked: those that are written here have up to 64 MB."""


def frozen(array: FloatArray) -> FloatArray:
    """Return an array of one's own, read-only from now on."""
    array.flags.writeable = False
    return array


def array_of(given: Any) -> NDArray[Any]:
    """Return what NumPy makes of anything: of no entries integers, of what is no array one object.

    >>> array_of([[], []]), array_of([[1], [2, 3]])
    (array([], shape=(2, 0), dtype=int64), array(None, dtype=object))
    """
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return np.asarray(None)
    return array if array.size else np.zeros(array.shape, dtype=np.int64)


def numbers(
    given: Any, name: str, wanted: str = "numbers", error: type[FreewillError] = ParameterError
) -> FloatArray:
    """Return real numbers as a new array of floats; texts, truth values and all else are an error.

    NumPy itself would read "0.5" as a number, True as 1, and stop at a list of uneven rows with
    errors of its own.

    >>> numbers([[1, 2]], "law")
    array([[1., 2.]])
    """
    try:
        array = np.asarray(given)
        kind = array.dtype.kind
        if not array.size:
            return np.zeros(array.shape)
        whole = kind in "iuf" and not _has_truth_value(given)
        if whole or (kind == "O" and all(map(is_number, array.flat))):
            # Adding 0 turns -0.0, which equals 0.0 but is written otherwise, into 0.0.
            return np.asarray(array.astype(np.float64) + 0.0)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    raise error(f"{name}={shown(given)}: expected {wanted}.")


def _has_truth_value(given: Any) -> bool:
    """Say whether True or False stands among numbers, where NumPy takes it for 1 or 0."""
    if not isinstance(given, list | tuple):
        return isinstance(given, bool | np.bool_)
    return not {*map(type, given)} <= {float, int} and any(map(_has_truth_value, given))


def is_number(value: Any) -> bool:
    """Say whether something is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def checked_number(
    given: Any, what: str, name: str, fits: Callable[[float], bool], expected: str
) -> float:
    """Return a real number as a float after checking that it fits; nothing else does."""
    try:
        real = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
        value = float(given) if real else math.nan
    except (OverflowError, ValueError):
        value = math.nan
    if not fits(value):
        whose = f" for {name}" if name else ""
        raise ParameterError(f"{what}={shown(given)}{whose}: must be {expected}")
    return value


def checked_positive(number: Any, what: str, name: str) -> float:
    """Return a number as a float after checking that it is positive and finite."""
    return checked_number(number, what, name, is_positive, "a number > 0 and finite.")


def checked_whole(
    number: Any, what: str, name: str, least: int, most: int, why: str, unit: str = ""
) -> int:
    """Return a whole number within bounds, for which there is a reason."""
    wanted = f"a whole number{unit} from {least:,} to {most:,}. {why}"
    value = checked_number(
        number, what, name, lambda value: least <= value <= most and value == int(value), wanted
    )
    return int(value)


def is_positive(number: float) -> bool:
    """Whether a number is positive and finite."""
    return 0 < number < math.inf


def distribution(theta: ArrayLike, size: int, name: str = "theta") -> FloatArray:
    """Return `theta` as a float array after checking that it is a distribution on `size` values.

    >>> distribution([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    array = numbers(theta, name, several(size, "number"))
    if array.shape != (size,):
        expected = f"expected one weight for each of the alphabet's {several(size, 'value')}."
        raise ParameterError(f"{name} has shape {array.shape}; {expected}")
    if not np.all(np.isfinite(array)) or np.any(array < 0):
        worst = int(np.argmin(np.where(np.isfinite(array), array, -np.inf)))
        raise ParameterError(f"{name}[{worst}]={array[worst]}: must be finite and >= 0.")
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if abs(total - 1) > 1e-9:
        raise ParameterError(f"{name} sums to {total!r}; expected 1. Divide it by its sum.")
    return array


def check_fields(
    given: Mapping[str, Any], build: Callable[..., Any], what: str, notes: Mapping[str, str]
) -> None:
    """Refuse a description with fields that `build` does not take, or without those it needs.

    >>> check_fields({"frist": 0, "last": 9}, lambda first, last, step=1: 0, "a line", {})
    Traceback (most recent call last):
    freewill.errors.SpecError: a line has no field 'frist'. Did you mean 'first'? Its fields are
    first, last and, if you like, step.
    """
    needed, free = _parameters(build)
    taken = (*needed, *free)
    unknown = (f"has no field {shown(n)}.{closest(n, taken)}" for n in given if n not in taken)
    missing = (f"needs the field {name!r}." for name in needed if name not in given)
    if fault := next(chain(unknown, missing), ""):
        needs, may = (
            ", ".join(f"{name} ({notes[name]})" if name in notes else name for name in names)
            for names in (needed, free)
        )
        listed = " and, if you like, ".join(filter(None, (needs, may))) or "none"
        raise SpecError(f"{what} {fault} Its fields are {listed}.")


@cache
def _parameters(build: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what must be given besides the alphabet, and what may."""
    taken = inspect.signature(build).parameters
    keywords = inspect.Parameter.VAR_KEYWORD
    names = [n for n, one in taken.items() if n != "alphabet" and one.kind != keywords]
    needed = tuple(name for name in names if taken[name].default is inspect.Parameter.empty)
    return needed, tuple(name for name in names if name not in needed)


def refuse_beyond(
    limit: int, needed: int, what: str, advice: str, error: type[FreewillError]
) -> None:
    """Refuse what needs more bytes than a limit allows.

    >>> from freewill.errors import SurveyError
    >>> refuse_beyond(VECTOR_BYTES, 8 * 10**12, "0..10^12", "Take steps.", SurveyError)
    Traceback (most recent call last):
    freewill.errors.SurveyError: 0..10^12 needs 7,629,394.5 MiB: at most 128 MiB are taken. Take ...
    """
    if needed > limit:
        limited = f"at most {limit / 2**20:,.0f} MiB are taken."
        raise error(f"{what} needs {needed / 2**20:,.1f} MiB: {limited} {advice}")


def checked_hold(hold: Any, error: type[FreewillError]) -> None:
    """Refuse a number of bytes to hold in memory that is none."""
    if isinstance(hold, bool) or not isinstance(hold, int) or hold < 0:
        raise error(f"hold={shown(hold)}: expected how many bytes to bring into memory, >= 0.")


def slices(length: int, width: int) -> Iterator[slice]:
    """Yield the slices that cut `length` entries into pieces of `width`, the last one shorter.

    A width below 1, such as a budget that one entry exceeds, counts as 1.

    >>> [list(range(5))[some] for some in slices(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    width = max(1, width)
    return (slice(first, first + width) for first in range(0, length, width))


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
        array = np.asarray(counts)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise EvidenceError(
            f"counts of {what} in lists of several lengths: expected one list."
        ) from None
    if not array.size:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iuf" and not all(isinstance(n, Integral) for n in array.flat):
        raise EvidenceError(
            f"counts of {what} of type {array.dtype}: expected whole numbers, one an output."
        )
    # NaN is neither inside nor outside: ask for what is wanted.
    inside = (array >= 0) & (array <= MOST_PEOPLE)
    wrong = ~inside | (np.where(inside, array, 0) % 1 != 0)
    if wrong.any():
        where = int(np.argmax(wrong))
        raise EvidenceError(
            f"count {array.flat[where]!s:.40} at place {where} of {what}: expected whole numbers "
            f"from 0 to 2^53 ({MOST_PEOPLE:,})."
        )
    return array.astype(np.int64)


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


_SORTED = 32
"""Places for each output up to which a table of all would be mostly empty."""


class Counter:
    """Counts outputs as they stream by: a few by sorting, many in a table with a place for each.

    `numbers` says which place an output has, and `outputs` which output a place stands for; where
    outputs are indices, both are left out.
    """

    def __init__(
        self,
        size: int,
        numbers: Callable[[Reports], IntArray] = np.asarray,
        outputs: Callable[[IntArray], Reports] = np.asarray,
    ) -> None:
        what = f"a count for each of {several(size, 'output')}"
        refuse_beyond(VECTOR_BYTES, size * 8, what, "Take fewer values.", EvidenceError)
        self._numbers, self._outputs = numbers, outputs
        self._size, self._people = size, 0
        # Distinct places and their counts; all places, once there are many.
        self._places, self._counts = np.empty((2, 0), dtype=np.int64)

    def add(self, outputs: Reports, counts: IntArray | None) -> None:
        """Count outputs, once each unless counts are given."""
        # Checked before it is added: as long as all together fit, so does each place of the table.
        more = len(outputs) if counts is None else people_in(counts)
        self._people = checked_people(self._people + more, "the counts of one mechanism")
        numbers = self._numbers(outputs)
        if self._places.size < self._size:
            few = _SORTED * (self._places.size + numbers.size) < self._size
            places = np.union1d(self._places, numbers) if few else np.arange(self._size)
            table = np.zeros(places.size, dtype=np.int64)
            table[np.searchsorted(places, self._places)] = self._counts
            self._places, self._counts = places, table
        full = self._places.size == self._size
        here = numbers if full else np.searchsorted(self._places, numbers)
        np.add.at(self._counts, here, 1 if counts is None else counts)

    def result(self) -> tuple[Reports, IntArray]:
        """Return the distinct outputs seen, in a fixed order, and their counts."""
        seen = np.flatnonzero(self._counts)
        return self._outputs(self._places[seen]), self._counts[seen]
