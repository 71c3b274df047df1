"""Maps from the outputs of a mechanism to others, as people write them, read as numbers."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from freewill.core.types import IntArray, Reports
from freewill.domain.alphabets.base import LARGEST, Alphabet, checked_indices, readable
from freewill.domain.alphabets.categorical import Categorical
from freewill.domain.alphabets.groups import Groups, Values
from freewill.domain.alphabets.linear import Linear
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.matrix import checked_law
from freewill.domain.mechanisms.parameters import checked_alphabet
from freewill.errors import (
    AlphabetError,
    FreewillError,
    LawError,
    ParameterError,
    first_line,
    printable,
    several,
    shown,
)

Entries: TypeAlias = tuple[int, ...] | tuple[tuple[float, ...], ...]
"""The output of each inner output; or the chances of all outputs."""


def read_map(
    mechanism: Mechanism, given: Any, outputs: Alphabet | None
) -> tuple[Entries, Alphabet]:
    """Return the map as numbers, and the alphabet of what is reported.

    >>> import freewill as fw
    >>> ages = fw.KRR(fw.Linear(16, 19), epsilon=1.0)
    >>> read_map(ages, lambda age: "minor" if age < 18 else "adult", None)
    ((0, 0, 1, 1), Categorical(labels=('minor', 'adult')))
    """
    space = mechanism.output_space
    if not (space.listable and hasattr(space, "numbers")):
        raise LawError(
            f"reports of {mechanism} are {space}, which cannot be listed: a map names an output "
            f"for each. Map a mechanism whose reports are values, or one of at most 16 bits."
        )
    if outputs is not None:
        checked_alphabet(outputs, Alphabet, "the outputs of a map", least=1)
    listed = mechanism.outputs()
    if isinstance(given, Groups):
        if given.alphabet != space.alphabet:
            raise ParameterError(
                f"groups of {given.alphabet} for reports that are {space}: expected groups of that "
                f"alphabet."
            )
        return _of_indices(given.which, len(listed), outputs or _named(given))
    if callable(given):
        return _of_function(mechanism, listed, given, outputs)
    try:
        axes = np.ndim(given)
    except (TypeError, ValueError, OverflowError, RecursionError):  # rows of several lengths
        axes = 2
    if axes == 1:
        return _of_indices(given, len(listed), outputs)
    if axes == 2:
        return _of_matrix(given, len(listed), outputs, space.alphabet)
    raise ParameterError(
        f"map={shown(given)}: expected an index for each of {several(len(listed), 'output')}, "
        f"groups of values, a function of them, or a matrix of chances with a row for each."
    )


def _named(groups: Groups) -> Alphabet:
    """Return the names of groups as labels, and values by themselves as they are.

    A bin of one value is named like it, 7: as a label 7..7, which no reader takes for an index.
    """
    if isinstance(groups, Values):
        return groups.alphabet
    return Categorical([f"{name}..{name}" if name.isdecimal() else name for name in groups.names])


def _of_indices(given: Any, many: int, outputs: Alphabet | None) -> tuple[Entries, Alphabet]:
    """Read an index for each output; without an alphabet they count from 0."""
    if len(given) != many:
        raise ParameterError(
            f"a map of length {len(given):,}: expected an index for each of "
            f"{several(many, 'output')}."
        )
    limit = outputs.size if outputs is not None else LARGEST
    indices = checked_indices(given, limit, "entry of the map")
    return tuple(indices.tolist()), outputs or Linear(0, int(indices.max()))


def _of_function(
    mechanism: Mechanism, listed: Reports, given: Callable[[Any], Any], outputs: Alphabet | None
) -> tuple[Entries, Alphabet]:
    """Ask a function for each output; texts that are no values become labels."""
    own = mechanism.output_space.alphabet
    try:
        results = [given(value) for value in _values(mechanism, listed)]
    except FreewillError:
        raise
    except Exception as fault:  # whatever somebody's function raises
        raise ParameterError(
            f"the map {shown(given)} raises {type(fault).__name__}: "
            f"{printable(first_line(fault))}. It is called with each output of {mechanism}, and "
            f"returns what is reported for it."
        ) from fault
    for alphabet in filter(None, (outputs, None if outputs else own)):
        try:
            return _of_indices(_encoded(alphabet, results), len(results), alphabet)
        except AlphabetError:
            if outputs is not None:
                raise
    if not all(isinstance(result, str) for result in results):
        odd = next(result for result in results if not isinstance(result, str))
        raise ParameterError(
            f"the map gives {shown(odd)}: expected values of {own}, or texts, which become labels. "
            f"outputs= names another alphabet."
        )
    labels = Categorical(list(dict.fromkeys(results)))
    return _of_indices(labels.encode(results), len(results), labels)


def _encoded(alphabet: Alphabet, results: list[Any]) -> IntArray:
    """Return the indices of what a function gave, one by one where they have several shapes."""
    return np.array([int(alphabet.encode([result])[0]) for result in results], dtype=np.int64)


def _values(mechanism: Mechanism, listed: Reports) -> list[Any]:
    """Return all outputs as people write them: values, or those of which bits are set."""
    space: Any = mechanism.output_space
    if space.alphabet is not None:
        return readable(space.alphabet, listed)
    if not getattr(space, "by_value", False):
        raise ParameterError(
            f"a function of reports that are {space}: it takes values, or tuples of those whose "
            f"bits are set. Write an index for each of outputs() instead."
        )
    bits = np.unpackbits(np.asarray(listed, np.uint8), axis=1, count=space.size, bitorder="little")
    return [tuple(readable(mechanism.alphabet, np.flatnonzero(row))) for row in bits]


def _of_matrix(
    given: Any, many: int, outputs: Alphabet | None, own: Alphabet | None
) -> tuple[Entries, Alphabet]:
    """Read chances, one row an output; a square matrix leads to the same alphabet."""
    matrix = checked_law(given, many, "map", "an output")
    if outputs is None:
        square = matrix.shape[1] == many and own is not None
        outputs = own if square else Linear(0, matrix.shape[1] - 1)
    assert outputs is not None
    if outputs.size != matrix.shape[1]:
        raise LawError(
            f"a map with {several(matrix.shape[1], 'column')} to "
            f"{several(outputs.size, 'output')}: expected one column an output."
        )
    return tuple(map(tuple, matrix.tolist())), outputs
