"""Reports that are mapped to others, surely or by chance: post-processing."""

from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any, ClassVar, Self

import numpy as np

from freewill.core.types import IntArray, Reports, Spec
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.draws.sources import Source
from freewill.domain.draws.tables import Table, whole_weights
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.composed import checked_inner, inner_spec, promised, read_inner
from freewill.domain.mechanisms.maps import read_map
from freewill.domain.outputs import Symbols, listed_numbers
from freewill.errors import several
from freewill.numeric.operators.mapped import MappedOperator

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
    def _tables(self) -> dict[int, Table]:
        return {}

    def _table(self, place: int) -> Table:
        """Return the chances of an inner output, made when first drawn from."""
        if place not in self._tables:
            self._tables[place] = Table.of(whole_weights(self._array[place]))
        return self._tables[place]

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw inner reports, and map them."""
        places = self._places(self.inner.obfuscate(truth.ravel(), rng))
        if self.sure:
            return np.asarray(self._array[places]).reshape(truth.shape)
        drawn = np.empty(places.size, dtype=np.int64)
        order = np.argsort(places, kind="stable")
        present, starts = np.unique(places[order], return_index=True)
        for place, people in zip(present.tolist(), np.split(order, starts)[1:], strict=True):
            drawn[people] = self._table(place).many(people.size, rng)
        return drawn.reshape(truth.shape)

    def _report(self, value: int, source: Source) -> int:
        """Draw an inner report, and map it."""
        place = int(self._places(np.asarray([self.inner.draw(value, source)]))[0])
        return int(self._array[place]) if self.sure else self._table(place).draw(source)

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
