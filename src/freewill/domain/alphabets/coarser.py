"""Groups of values from what people ask for: a number of neighbours, or sets of values.

>>> import freewill as fw
>>> coarser(fw.Linear(0, 4), 2).names
('0..1', '2..3', '4')
>>> coarser(fw.Categorical(["yes", "no", "maybe"]), {"told": ["yes", "no"]}).names
('told', 'the rest')
"""

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from freewill.core.types import IntArray
from freewill.domain.alphabets.base import LARGEST, Alphabet
from freewill.domain.alphabets.groups import Blocks, Groups, Sets, Values, checked_plane
from freewill.domain.alphabets.texts import readable
from freewill.errors import ParameterError, printable, shown

REST = "the rest"
"""The name of the set of all values that are in no other."""


def coarser(alphabet: Alphabet, by: Any, rows: int | None = None) -> Groups:
    """Return groups: bins of so many values, districts of columns x rows, or sets of values.

    `by` is a number, or sets that have no value in common: {"young": range(30), ...}, or a list of
    them. Values that are in none are a last group, "the rest", so that every person is counted.

    >>> import freewill as fw
    >>> str(coarser(fw.Grid(24, 16, cell=0.5), 12, 8))
    'districts of 12 x 8 cells'
    """
    if isinstance(by, int | np.integer) and not isinstance(by, bool):
        return _blocks(alphabet, by, rows)
    if rows is not None:
        raise ParameterError(
            f"rows={shown(rows)} beside {shown(by)}: expected coarser(columns, rows), two integers."
        )
    if not isinstance(by, Mapping | list | tuple) or not by:
        raise ParameterError(
            f"by={shown(by)}: expected how many neighbours to take together, or sets of values, as "
            f'{{"young": range(30), "old": range(65, 100)}}.'
        )
    return _sets(alphabet, by)


def _blocks(alphabet: Alphabet, columns: Any, rows: Any) -> Blocks:
    line = len(alphabet.axes) == 1
    plane = checked_plane(alphabet)
    if line and rows is not None:
        raise ParameterError(
            f"rows={shown(rows)} on {alphabet}: values on a line have no rows; "
            f"coarser({shown(columns)}) takes so many of them together."
        )
    columns = checked_length("width" if line else "columns", columns)
    rows = columns if rows is None else checked_length("rows", rows)
    return Blocks(alphabet, min(columns, plane[1]), min(rows, plane[0]))


def _sets(alphabet: Alphabet, by: Any) -> Sets:
    named = isinstance(by, Mapping)
    which = np.full(alphabet.size, -1, dtype=np.int64)
    names: list[str] = []
    for name, members in by.items() if named else ((None, members) for members in by):
        indices = members_of(alphabet, members)
        names.append(_checked_name(name) if named else set_name(alphabet, indices))
        if not indices.size:
            raise ParameterError(f"the group {shown(names[-1])} has no values: give it some.")
        taken = indices[which[indices] >= 0]
        if taken.size:
            (value,) = readable(alphabet, taken[:1])
            raise ParameterError(
                f"{shown(value)} is in two groups, {shown(names[which[taken[0]]])} and "
                f"{shown(names[-1])}: no value may be, for each person counts once."
            )
        which[indices] = len(names) - 1
    if (which < 0).any():
        if REST in names:
            raise ParameterError(
                f"a group is called {shown(REST)}, and values are left that are in none: give it "
                f"another name, or all of them."
            )
        which[which < 0] = len(names)
        names.append(REST)
    return Sets(alphabet, tuple(names), which)


def members_of(alphabet: Alphabet, members: Any) -> IntArray:
    """Return the indices of a set of values, each once, in the alphabet's order."""
    listed = list(members) if isinstance(members, Set) else members
    return np.unique(np.atleast_1d(alphabet.encode(listed)))


def set_name(alphabet: Alphabet, indices: IntArray) -> str:
    """Return a name for a set of values: from..to where they stand in a row, else a few of them.

    >>> import freewill as fw
    >>> set_name(fw.Linear(0, 99), np.arange(18, 25)), set_name(fw.Linear(0, 99), np.array([1, 3]))
    ('18..24', '1 or 3')
    """
    many = len(indices)
    some = Values(alphabet).texts(indices[:3])
    words = [", ".join(text) for text in some]
    together = len(alphabet.axes) == 1 and alphabet.plane is not None
    if together and many > 1 and indices[-1] - indices[0] == many - 1:
        return f"{words[0]}..{Values(alphabet).texts(indices[-1:])[0][0]}"
    return " or ".join(words) if many <= 3 else f"{words[0]}, {words[1]} or {many - 2:,} more"


def as_groups(alphabet: Alphabet, merged: Any) -> Groups:
    """Return groups as they are, for 1 every value, and for another integer so many neighbours."""
    if isinstance(merged, Values | Blocks | Sets):
        if merged.alphabet != alphabet:
            raise ParameterError(f"groups of {merged.alphabet}: expected some of {alphabet}.")
        return merged
    side = checked_length("merged", merged)
    return Values(alphabet) if side == 1 else coarser(alphabet, side)


def checked_length(name: str, value: Any) -> int:
    """Return how many neighbours to take together after checking that it is a number of them.

    More than any alphabet has are as many as it has.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ParameterError(f"{name}={shown(value)}: expected an integer >= 1.")
    return min(int(value), LARGEST)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"a group is called {shown(name)}: expected a text.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ParameterError(
            f"the name {printable(name)!r} has half of a character, which no table can hold."
        ) from None
    return name
