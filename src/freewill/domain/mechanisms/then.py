"""Reports that are mapped to others, surely or by chance, by maps as people write them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from freewill.core.types import IntArray, Reports, Spec
from freewill.domain.alphabets.base import (
    LARGEST,
    Alphabet,
    Categorical,
    Linear,
    checked_alphabet,
    checked_indices,
    readable,
)
from freewill.domain.alphabets.groups import Groups, Values
from freewill.domain.alphabets.product import alphabet_from_spec
from freewill.domain.draws.sources import Source
from freewill.domain.draws.tables import Tables, whole_weights
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.composed import checked_inner, inner_spec, promised, read_inner
from freewill.domain.mechanisms.matrix import checked_law
from freewill.domain.outputs import Symbols, listed_numbers
from freewill.domain.packed_outputs import Bits
from freewill.errors import (
    AlphabetError,
    FreewillError,
    LawError,
    ParameterError,
    raised,
    several,
    shown,
)
from freewill.numeric.operators.around import MappedOperator

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
    many = len(listed)
    if isinstance(given, Groups):
        if given.alphabet != space.alphabet:
            raise ParameterError(
                f"groups of {given.alphabet} for reports that are {space}: expected groups of that "
                f"alphabet."
            )
        return _of_indices(given.which, many, outputs or _named(given))
    if callable(given):
        return _of_function(mechanism, listed, given, outputs)
    try:
        axes = np.ndim(given)
    except (TypeError, ValueError, OverflowError, RecursionError):  # rows of several lengths
        axes = 2
    if axes == 1:
        return _of_indices(given, many, outputs)
    if axes == 2:
        return _of_matrix(given, many, outputs, space.alphabet)
    raise ParameterError(
        f"map={shown(given)}: expected an index for each of {several(many, 'output')}, "
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
            f"the map {shown(given)} raises {raised(fault)}. It is called with each output of "
            f"{mechanism}, and returns what is reported for it."
        ) from fault
    for alphabet in filter(None, (outputs, None if outputs else own)):
        try:
            # One by one, for they may have several shapes.
            indices = np.array([int(alphabet.encode([one])[0]) for one in results], dtype=np.int64)
            return _of_indices(indices, len(results), alphabet)
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


def _values(mechanism: Mechanism, listed: Reports) -> list[Any]:
    """Return all outputs as people write them: values, or those of which bits are set."""
    space: Any = mechanism.output_space
    if space.alphabet is not None:
        return readable(space.alphabet, listed)
    if not isinstance(space, Bits):
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


_LONGEST = 1 << 13
"""Binary digits that all chances of a map have in common, up to which they are listed."""


@dataclass(frozen=True, init=False)
class Then(Mechanism):
    """Map each report of another mechanism to an output of another alphabet.

    P(y | x) = sum over z of M(z, y) P(z | x), the law A M. `map` may be

    - a list with the index of an output for each output of the inner mechanism;
    - groups of the inner output alphabet (`domain/alphabets/groups.py`), outputs named by them;
    - a function of the inner outputs: of values or, where reports are bits, of the tuple of the
      values whose bits are set. It returns values of `outputs` or, without these, values of the
      inner alphabet, if all are some, or else texts, which become labels;
    - a matrix M whose rows sum to 1, one an inner output: a map by chance.

    `outputs` is the alphabet of what is reported: 0 .. m-1 unless given, for a list, and for a
    matrix that is not square. Whatever the map is, the promise is the inner one's; the law may keep
    a smaller epsilon, which `audit` finds. The inner outputs must be listable. Products cost those
    of the inner law on all its outputs.

    Post-processing: Dwork and Roth 2014, proposition 2.1.

    >>> import freewill as fw
    >>> from freewill.domain.alphabets.groups import coarser
    >>> ages = fw.Linear(0, 99)
    >>> decades = fw.Geometric(ages, epsilon=0.1).then(coarser(ages, 10))
    >>> decades.output_space.size, str(decades.guarantee())
    (10, '0.1-geo-indistinguishability per unit')
    >>> fw.KRR(fw.Categorical(["a", "b", "c"]), epsilon=1.0).then([0, 1, 1]).law().round(3)
    array([[0.576, 0.424],
           [0.212, 0.788],
           [0.212, 0.788]])
    """

    alphabet: Alphabet
    inner: Mechanism
    map: tuple[Any, ...]
    """The output of each inner output; or the chances of all."""
    output_alphabet: Alphabet
    name: ClassVar[str] = "then"

    def __init__(self, inner: Mechanism, map: Any, outputs: Alphabet | None = None) -> None:  # noqa: A002
        mechanism = checked_inner(inner, self.name)
        entries, reported = read_map(mechanism, map, outputs)
        vars(self).update(
            alphabet=mechanism.alphabet, inner=mechanism, map=entries, output_alphabet=reported
        )

    @property
    def output_space(self) -> Symbols:
        """A value of the output alphabet."""
        return Symbols(self.output_alphabet)

    @property
    def sure(self) -> bool:
        """Whether each inner output leads to one output."""
        return not isinstance(self.map[0], tuple)

    @cached_property
    def _array(self) -> Any:
        """The map as an array: indices, or chances."""
        return np.array(self.map)

    @cached_property
    def _numbers(self) -> IntArray:
        """The numbers of all inner outputs, which rise."""
        return listed_numbers(self.inner.output_space)  # type: ignore[return-value]

    def _places(self, reports: Reports) -> IntArray:
        """Return the places of inner reports among all."""
        space: Any = self.inner.output_space
        return np.asarray(np.searchsorted(self._numbers, space.numbers(reports)))

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._array)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw inner reports, and map them."""
        places = self._places(self.inner.obfuscate(truth.ravel(), rng))
        if self.sure:
            return np.asarray(self._array[places]).reshape(truth.shape)
        return self._tables.many(places, rng).reshape(truth.shape)

    def _report(self, value: int, source: Source) -> int:
        """Draw an inner report, and map it."""
        place = int(self._places(np.asarray([self.inner.draw(value, source)]))[0])
        return int(self._array[place]) if self.sure else self._tables[place].draw(source)

    def weights(self) -> list[list[int]] | None:
        """Return the inner numbers times those of the map, added up by output."""
        inner, many = self.inner.weights(), self.output_alphabet.size
        if inner is None:
            return None
        if self.sure:
            maps: list[tuple[tuple[int, int], ...]] = [((y, 1),) for y in self._array.tolist()]
        else:
            rows = [whole_weights(row) for row in self._array]
            common = lcm(*map(sum, rows))
            if common.bit_length() > _LONGEST:
                return None
            shares = [(row, common // sum(row)) for row in rows]
            maps = [tuple((y, w * share) for y, w in enumerate(row) if w) for row, share in shares]
        table = []
        for row in inner:
            table.append([0] * many)
            for weight, entries in zip(row, maps, strict=True):
                for output, chance in entries:
                    table[-1][output] += weight * chance
        return table

    def operator(self, outputs: Reports) -> MappedOperator:
        """Return the law of these outputs, by that of all inner outputs that lead to them."""
        symbols = self.output_space.checked(outputs, self.name)
        present, which = np.unique(symbols, return_inverse=True)
        if self.sure:
            places = np.argsort(self._array, kind="stable")
            places = places[np.isin(self._array[places], present)]
            rows, chances = np.searchsorted(present, self._array[places]), np.ones(places.size)
        else:
            table = self._array[:, present].T
            rows, places = np.nonzero(table)
            chances = table[rows, places]
        used, again = np.unique(places, return_inverse=True)
        law = self.inner.operator(self.inner.outputs()[used])
        return MappedOperator(law, rows, again, chances, which)

    def guarantee(self) -> Guarantee:
        """Return the inner promise: what is made of a report tells no more than it does."""
        return promised(self.inner)

    def program(self) -> Spec | None:
        """Return the map, and the program of an inner report, where a browser can draw it.

        It must be a value or a sign, and what is reported no value of the alphabet itself: of such
        reports people are told how often they are true, which takes the whole law.
        """
        from freewill.domain.programs import part_of  # noqa: PLC0415

        inner = part_of(self.inner)
        values = self.inner.output_space.alphabet is not None
        if inner is None or not values or self.output_alphabet == self.alphabet:
            return None
        table, outputs = self._array.tolist(), self.output_alphabet.spec()
        return {"draw": "then", "inner": inner, "map": table, "outputs": outputs}

    def parameters(self) -> Spec:
        """Return the inner mechanism without its alphabet, the map and the output alphabet."""
        table = self._array.tolist()
        outputs = self.output_alphabet.spec()
        return {"inner": inner_spec(self.inner), "map": table, "outputs": outputs}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from the inner mechanism and the output alphabet."""
        fields: dict[str, Any] = dict(parameters)
        inner, outputs = read_inner(alphabet, fields.pop("inner"), cls.name), fields.get("outputs")
        return cls(inner, fields["map"], None if outputs is None else alphabet_from_spec(outputs))

    def __str__(self) -> str:
        many = several(self.output_alphabet.size, "output")
        return f"{self.name}({self.alphabet}, {brief(self.inner)}, {many})"
