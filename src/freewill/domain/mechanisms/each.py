"""One mechanism an attribute: the answers of a person to several questions, each protected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports, Spec
from freewill.domain.alphabets.base import Alphabet, checked_alphabet
from freewill.domain.alphabets.product import Product
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee, JointGuarantee
from freewill.domain.mechanisms.base import Mechanism, brief, of_full_rank
from freewill.domain.mechanisms.composed import (
    OfParts,
    checked_inner,
    inner_spec,
    promised,
    read_inner,
    summed,
)
from freewill.domain.mechanisms.factored import ByAttribute, Said, product_law, shared_moments
from freewill.domain.outputs import Symbols
from freewill.domain.packed_outputs import NOTHING
from freewill.errors import AlphabetError, ParameterError, SpecError, closest, several, shown
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import Moments


@dataclass(frozen=True)
class Silent(Mechanism):
    """Say nothing, whatever the value is: a law of ones, which promises everything.

    For an attribute that stays unanswered. Within `Each` it takes the alphabet of its attribute.

    Products cost O(k).

    >>> import freewill as fw
    >>> print(fw.Silent(fw.Linear(0, 9)).guarantee())
    0-LDP
    """

    alphabet: Alphabet | None = None
    name: ClassVar[str] = "silent"

    def __post_init__(self) -> None:
        if self.alphabet is not None:
            checked_alphabet(self.alphabet, Alphabet, self.name, least=1)

    tabulated: ClassVar[bool] = True

    @property
    def output_space(self) -> Symbols:
        """Nothing."""
        return NOTHING

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        return np.zeros(truth.shape, dtype=np.int64)

    def _report(self, value: int, source: Source) -> int:
        return 0

    def weights(self) -> list[list[int]]:
        """Return 1 for every value."""
        return [[1]] * self._alphabet.size

    @property
    def _alphabet(self) -> Alphabet:
        if self.alphabet is None:
            raise ParameterError("silent without an alphabet: fw.Silent(alphabet), or within Each.")
        return self.alphabet

    def operator(self, outputs: Reports) -> DenseOperator:
        """Return rows of ones."""
        return DenseOperator(
            np.ones((len(NOTHING.checked(outputs, self.name)), self._alphabet.size))
        )

    def guarantee(self) -> Guarantee:
        """Return 0-LDP: nothing is told."""
        return Guarantee("ldp", 0.0)


class OfAttributes(Mechanism):
    """What mechanisms on records share that have a mechanism for each attribute."""

    alphabet: Product
    parts: tuple[Mechanism, ...]
    sends: ClassVar[Literal["all", "one"]] = "all"
    """Whether a report tells of all attributes that are answered, or of one that is drawn."""

    @property
    def by_name(self) -> dict[str, Mechanism]:
        """The mechanism of each attribute."""
        return dict(zip(self.alphabet.attributes, self.parts, strict=True))

    @property
    def answered(self) -> frozenset[str]:
        """The names of the attributes that reports tell of."""
        return frozenset(n for n, part in self.by_name.items() if not isinstance(part, Silent))

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a report tells at theta, from the law of all outputs if these are listed."""
        return shared_moments([self], theta)[0]

    def listed(self) -> list[tuple[tuple[Mechanism, ...], float]]:
        """Return parts, all combinations of whose outputs are sent by the share of the logarithm.

        In the order of `outputs()`.
        """
        raise NotImplementedError

    def audited(self) -> dict[str, list[tuple[Mechanism, Guarantee]]]:
        """Return what is audited of each attribute: its mechanism, and what that promises."""
        return {name: [(part, promised(part))] for name, part in self.by_name.items()}

    def guarantee(self) -> JointGuarantee:
        """Return the epsilons of the attributes, and their sum, or the largest if one is sent."""
        parts = [(name, promised(part)) for name, part in self.by_name.items()]
        each = [(promise, self.alphabet.attributes[name]) for name, promise in parts]
        total = summed(each) if self.sends == "all" else max(summed([one]) for one in each)
        return JointGuarantee("ldp", total, parts=tuple(parts))

    @classmethod
    def stacked(cls, mechanisms: Sequence[Self], outputs: Sequence[Reports]) -> KroneckerOperator:
        """Return the laws of all as one Kronecker product; what they have in common counts once."""
        return product_law(mechanisms, outputs)

    def parameters(self) -> Spec:
        """Return the descriptions of the parts by name, without their alphabets."""
        return {"parts": {name: inner_spec(part) for name, part in self.by_name.items()}}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from the parts."""
        specs = parameters["parts"]
        attributes = getattr(alphabet, "attributes", None)
        if attributes is None or not isinstance(specs, Mapping):
            raise SpecError(
                f"{cls.name} on {alphabet} with parts={shown(specs)}: expected the mechanisms of "
                f"the attributes of a product, by their names."
            )
        parts = {
            name: read_inner(attributes[name], spec, f"part {name!r}")
            if name in attributes
            else spec
            for name, spec in specs.items()
        }
        build: Any = cls
        return build(alphabet, parts)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        parts = (f"{name} {_words(part)}" for name, part in self.by_name.items())
        return f"{self.name}({', '.join(parts)})"


def _words(part: Mechanism) -> str:
    """Return a part in a few words; the same part may stand in thousands of mechanisms."""
    words: str = vars(part).get("_words") or vars(part).setdefault("_words", brief(part))
    return words


@dataclass(frozen=True, init=False)
class Each(OfAttributes, OfParts):
    """Send a report of every attribute of a record, each by a mechanism of its own.

    P(y | x) = product over attributes i of P_i(y_i | x_i): a Kronecker product, never a matrix.
    Epsilons add up for records that differ in all attributes, and each attribute has its own
    besides; an epsilon per unit of distance counts over the largest distance of its attribute. A
    report is a record, part after part as bytes (`domain/packed_outputs.py`). An attribute may stay
    unanswered, by `fw.Silent()`; the product then says its alphabet.

    Products cost those of the parts: they go attribute by attribute over what was observed.

    >>> import freewill as fw, numpy as np
    >>> ages, votes = fw.Linear(0, 99), fw.Categorical(["yes", "no"])
    >>> mine = fw.Each(age=fw.Geometric(ages, 0.25), vote=fw.KRR(votes, 1.0))
    >>> print(mine.guarantee())
    25.75-LDP in all: age 0.25-geo-indistinguishability per unit, vote 1-LDP
    >>> people = fw.Product(age=ages, vote=votes)
    >>> shy = fw.Each(people, age=fw.Silent(), vote=fw.KRR(votes, 1.0))
    >>> sorted(shy.report({"age": 41, "vote": "no"}, np.random.default_rng(1)).items())
    [('age', 'nothing'), ('vote', 'yes')]
    """

    alphabet: Product
    parts: tuple[Mechanism, ...]
    name: ClassVar[str] = "each"

    def __init__(self, *parts: Product | Mapping[str, Mechanism], **named: Mechanism) -> None:
        alphabet, own = attribute_parts(self.name, parts, named)
        missing = [name for name in alphabet.attributes if name not in own]
        if missing:
            raise ParameterError(
                f"{self.name} without {missing[0]!r}: expected a mechanism for each attribute of "
                f"{alphabet}, and fw.Silent() for one that stays unanswered."
            )
        ordered = tuple(own[name] for name in alphabet.attributes)
        vars(self).update(alphabet=alphabet, parts=ordered)
        # Refused now rather than with the first report.
        self.output_space  # noqa: B018

    @property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether all parts tell all distributions of their attribute apart."""
        return all(map(of_full_rank, self.parts))

    def _of_each(self, truth: IntArray) -> Sequence[IntArray]:
        """Return the values of each attribute."""
        return self.alphabet.split(truth)

    def listed(self) -> list[tuple[tuple[Mechanism, ...], float]]:
        """Return the parts, of whose outputs all combinations are the outputs."""
        return [(self.parts, 0.0)]

    def by_attribute(self, outputs: Reports) -> ByAttribute:
        """Return all reports, which have a part for every attribute."""
        every, parts = np.arange(len(outputs)), self.output_space.split(outputs)
        return ByAttribute(
            [[Said(m, every, own)] for m, own in zip(self.parts, parts, strict=True)]
        )

    def shown(self, reports: Reports) -> list[dict[str, Any]]:
        """Return reports as people read them: dicts with a report an attribute."""
        pairs = zip(self.parts, self.output_space.split(reports), strict=True)
        columns, names = [part.shown(own) for part, own in pairs], self.alphabet.attributes
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def received(self, reports: Any) -> PackedBits:
        """Turn readable reports, dicts with a report an attribute, into what `collect` takes.

        Reports may also come as the texts that `written` gives.
        """
        many = isinstance(reports, Iterable) and getattr(reports, "ndim", 1) > 0
        alone = isinstance(reports, Mapping | str) or not many
        rows: list[Any] = [reports] if alone else list(reports)
        if rows and all(isinstance(row, str) for row in rows):
            return np.asarray(self.read(rows))
        for row in rows:
            if not isinstance(row, Mapping) or {*row} != {*self.alphabet.attributes}:
                raise AlphabetError(
                    f"report {shown(row)} of {self.name}: expected a dict with "
                    f"{', '.join(self.alphabet.attributes)}."
                )
        parts = [part.received([row[name] for row in rows]) for name, part in self.by_name.items()]
        return self.output_space.joined(parts)

    def inverse(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the shares of all outputs, attribute by attribute, in closed form."""
        table = shares.reshape([part.output_space.places for part in self.parts])
        for axis, part in enumerate(self.parts):
            columns = np.moveaxis(table, axis, -1)
            inverted = _inverted(part, columns.reshape(-1, columns.shape[-1]))
            if inverted is None:
                return None
            table = np.moveaxis(inverted.reshape(*columns.shape[:-1], -1), -1, axis)
        return np.ascontiguousarray(table).ravel()


def _inverted(part: Mechanism, rows: FloatArray) -> FloatArray | None:
    """Return what the inverse of a part makes of rows, which do not sum to 1; None without one.

    A formula takes shares that do. It is a linear map where these are: what a row lacks is added
    evenly, and what the inverse makes of that is taken off again.
    """
    even = np.full(rows.shape[1], 1 / rows.shape[1])
    added = part.inverse(even)
    if added is None:
        return None
    lack = 1 - rows.sum(axis=1)
    inverted = [part.inverse(row + less * even) for row, less in zip(rows, lack, strict=True)]
    whole: FloatArray = np.array(inverted, dtype=float)
    return np.asarray(whole - lack[:, None] * added)


def attribute_parts(
    kind: str, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Product, dict[str, Mechanism]]:
    """Return the product, and the mechanisms by attribute, that a constructor was given.

    A product may come first, mechanisms by name in a dict or as keywords. Without a product the
    mechanisms' own alphabets make it.
    """
    products = [one for one in given if isinstance(one, Product)]
    tables = [one for one in given if isinstance(one, Mapping)]
    if len(products) > 1 or len(tables) > 1 or len(products) + len(tables) < len(given):
        raise ParameterError(
            f"{kind} of {shown(given)}: expected mechanisms by the names of attributes, as "
            f"fw.Each(age=mechanism, vote=mechanism), behind a product if you like."
        )
    parts = dict(tables[0]) if tables else {}
    twice = [name for name in named if name in parts]
    if twice:
        raise ParameterError(f"{kind} with {shown(twice[0])} twice: name each attribute once.")
    every = {**parts, **named}.items()
    parts = {name: checked_inner(part, f"{kind}, {name!r}") for name, part in every}
    if products:
        alphabet = products[0]
    else:
        unsaid = [name for name, part in parts.items() if part.alphabet is None]
        if unsaid:
            raise ParameterError(
                f"{kind} with fw.Silent() for {unsaid[0]!r}, whose alphabet nobody says: give the "
                f"product first, as fw.Each(people, ...), or fw.Silent(alphabet)."
            )
        alphabet = Product({name: part.alphabet for name, part in parts.items()})
    attributes = alphabet.attributes
    for name, part in parts.items():
        if name not in attributes:
            raise ParameterError(
                f"{kind} with {shown(name)}, which is no attribute of {alphabet}."
                f"{closest(name, attributes)}"
            )
        if part.alphabet is None:
            parts[name] = Silent(attributes[name])
        elif part.alphabet != attributes[name]:
            raise AlphabetError(
                f"{kind}, {name!r}: {part} is over {part.alphabet}, and the attribute over "
                f"{attributes[name]}. Does it belong to another question?"
            )
    if not parts:
        raise ParameterError(f"{kind} of {several(0, 'mechanism')}: expected one an attribute.")
    return alphabet, parts
