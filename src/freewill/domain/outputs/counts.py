"""Counts of people: checked wherever they come in, and added without wrapping around."""

from numbers import Integral
from typing import Any

import numpy as np

from freewill.core.types import IntArray
from freewill.errors import EvidenceError, several

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
