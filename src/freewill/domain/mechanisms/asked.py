"""Answers to several questions, each by a mechanism that the person chose, as one report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from freewill.core.types import FloatArray, PackedBits, Reports, Spec
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.alphabets.product import Product
from freewill.domain.guarantees.promises import Guarantee, JointGuarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.composed import inner_spec, promised, read_inner, summed
from freewill.domain.mechanisms.each import Each, attribute_parts
from freewill.domain.mechanisms.factored import ByAttribute, Said, product_law
from freewill.domain.packed_outputs import Either, Records
from freewill.errors import LawError, ParameterError, SpecError, closest, shown
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import Moments

JOINED = " + "
"""Between the names of what was chosen for each question."""
_MOST = 256
"""Mechanisms of one question: the first byte of its part says which."""


class Unfolded(NamedTuple):
    """Reports of people who chose alike: by which mechanism, what it is called, which they are."""

    mechanism: Each
    names: tuple[str, ...]
    """Of what was chosen for each attribute."""
    places: Any
    reports: PackedBits

    @property
    def name(self) -> str:
        """What they are called together."""
        return JOINED.join(self.names)


@dataclass(frozen=True, init=False)
class Asked(Mechanism):
    """A report of every attribute, and by which of the mechanisms on offer it was made.

    What travels from people who answer several questions, and what a collector counts: with three
    mechanisms for each of ten questions there are 59,049 ways to answer, and one kind of report.
    Given what was chosen, the law is that of `Each`, which `at` returns; by itself it draws
    nothing. The promise is that of whoever chooses the least private mechanism everywhere.
    A report has for each attribute one byte, the number of the mechanism among the sorted names,
    and its report, as `Either` has.

    Products cost those of the parts, attribute by attribute.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> offers = {"careful": fw.KRR(votes, 0.5), "open": fw.KRR(votes, 2.0)}
    >>> asked = fw.Asked(vote=offers, member=offers)
    >>> print(asked.at(vote="careful", member="open"))
    each(vote k-rr(epsilon=0.5), member k-rr(epsilon=2))
    >>> asked.guarantee().epsilon
    4.0
    """

    alphabet: Product
    offers: tuple[tuple[tuple[str, Mechanism], ...], ...]
    name: ClassVar[str] = "asked"
    sends: ClassVar[Literal["all", "one"]] = "all"

    def __init__(
        self,
        *offers: Product | Mapping[str, Mapping[str, Mechanism]],
        **named: Mapping[str, Mechanism],
    ) -> None:
        products = [one for one in offers if isinstance(one, Product)]
        given: dict[str, Any] = {}
        for table in [*(one for one in offers if not isinstance(one, Product)), named]:
            given |= table if isinstance(table, Mapping) else {}
        for name, some in given.items():
            if not isinstance(some, Mapping) or not 0 < len(some) <= _MOST:
                raise ParameterError(
                    f"{self.name}, {name!r}: {shown(some)}: expected the mechanisms on offer by "
                    f"their names, at least one and at most {_MOST}."
                )
        alphabet, _ = attribute_parts(
            self.name, products, {name: next(iter(some.values())) for name, some in given.items()}
        )
        missing = [name for name in alphabet.attributes if name not in given]
        if missing:
            raise ParameterError(f"{self.name} without {missing[0]!r}: expected what is on offer.")
        # One by one, so that what is not of its question is named.
        checked = {
            name: {
                called: attribute_parts(self.name, [alphabet], {name: one})[1][name]
                for called, one in sorted(given[name].items())
            }
            for name in alphabet.attributes
        }
        offered = tuple(tuple(some.items()) for some in checked.values())
        vars(self).update(alphabet=alphabet, offers=offered)
        self.output_space  # noqa: B018

    @cached_property
    def output_space(self) -> Records:
        """Of each attribute an output of one of its mechanisms, and which."""
        spaces = (Either(tuple(one.output_space for _, one in some)) for some in self.offers)
        return Records(tuple(spaces))

    @property
    def by_name(self) -> dict[str, dict[str, Mechanism]]:
        """What is on offer for each attribute, by name."""
        pairs = zip(self.alphabet.attributes, self.offers, strict=True)
        return {name: dict(some) for name, some in pairs}

    def numbers(self, choices: Mapping[str, str]) -> list[int]:
        """Return the number of the mechanism that was chosen for each attribute."""
        unknown = [name for name in choices if name not in self.by_name]
        if unknown:
            raise ParameterError(
                f"no question {shown(unknown[0])}: expected {', '.join(self.by_name)}."
                f"{closest(unknown[0], self.by_name)}"
            )
        numbers = []
        for name, some in self.by_name.items():
            if name not in choices or choices[name] not in some:
                raise ParameterError(
                    f"for {name!r} {shown(choices.get(name))} was chosen: expected one of "
                    f"{', '.join(map(repr, some))}.{closest(choices.get(name), some)}"
                )
            numbers.append([*some].index(choices[name]))
        return numbers

    def at(self, epsilon: Any = None, /, **choices: str) -> Each:
        """Return the mechanism that a person uses who chose so for each attribute."""
        chosen = dict(epsilon) if isinstance(epsilon, Mapping) else choices
        return self._each(self.numbers(chosen))

    def _each(self, numbers: Sequence[int]) -> Each:
        parts = [some[number][1] for some, number in zip(self.offers, numbers, strict=True)]
        return Each(self.alphabet, dict(zip(self.alphabet.attributes, parts, strict=True)))

    def joined(self, choices: Mapping[str, str], reports: Reports) -> PackedBits:
        """Return reports of `at(choices)` as reports that say what was chosen."""
        numbers = self.numbers(choices)
        each = self._each(numbers)
        columns = []
        for space, number, own in zip(
            self.output_space.parts, numbers, each.output_space.split(reports), strict=True
        ):
            every = [part.empty() for part in space.parts]
            every[number] = own
            columns.append(space.joined(np.full(len(own), number), every))
        return np.concatenate(columns, axis=1)

    def unfolded(self, outputs: Reports) -> list[Unfolded]:
        """Return the reports of each combination of choices."""
        space = self.output_space
        pieces = np.split(np.asarray(outputs, np.uint8), space.ends, axis=1)
        choices = np.stack([piece[:, 0] for piece in pieces], axis=1)
        distinct, which = np.unique(choices, axis=0, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which.ravel(), minlength=len(distinct)))[:-1]
        groups: list[Unfolded] = []
        if not len(choices):
            return groups
        for numbers, places in zip(distinct.tolist(), np.split(order, ends), strict=True):
            each = self._each(numbers)
            widths = [space.width for space in each.output_space.parts]
            rows = [
                piece[places, 1 : 1 + width] for piece, width in zip(pieces, widths, strict=True)
            ]
            names = [some[number][0] for some, number in zip(self.offers, numbers, strict=True)]
            groups.append(Unfolded(each, tuple(names), places, np.concatenate(rows, axis=1)))
        return groups

    def by_attribute(self, outputs: Reports) -> ByAttribute:
        """Return the reports of each mechanism on offer, attribute by attribute."""
        columns = zip(
            self.output_space.parts, self.output_space.split(outputs), self.offers, strict=True
        )
        said = []
        for space, own, offers in columns:
            which, reports = space.split(own)
            each = zip(offers, reports, strict=True)
            said.append(
                [
                    Said(one, np.flatnonzero(which == number), some)
                    for number, ((_, one), some) in enumerate(each)
                ]
            )
        return ByAttribute(said)

    @classmethod
    def stacked(cls, mechanisms: Sequence[Self], outputs: Sequence[Reports]) -> KroneckerOperator:
        """Return the law given what was chosen, as one Kronecker product."""
        return product_law(mechanisms, outputs)

    def obfuscate(self, values: Any, rng: np.random.Generator | None = None) -> Any:
        """Refuse: what is drawn depends on what a person chose."""
        raise LawError(self._unchosen)

    def draw(self, index: int, source: Any = None) -> Any:
        """Refuse likewise."""
        raise LawError(self._unchosen)

    @property
    def _unchosen(self) -> str:
        names = ", ".join(f"{name}=..." for name in self.by_name)
        return f"{self.name} draws nothing before mechanisms are chosen: take at({names}) first."

    def moments(self, theta: FloatArray) -> Moments:
        """Refuse: what a report tells depends on what people chose; evidence knows it."""
        raise LawError(
            f"what a report of {self.name} tells depends on what was chosen for each question: "
            f"take at(...) first, or evidence.split of reports."
        )

    def audited(self) -> dict[str, list[tuple[Mechanism, Guarantee]]]:
        """Return what is audited of each attribute: all mechanisms on offer, and their promises."""
        return {
            name: [(one, promised(one)) for one in some.values()]
            for name, some in self.by_name.items()
        }

    def guarantee(self) -> JointGuarantee:
        """Return what whoever chooses the least private mechanism of each attribute is promised."""
        weakest: list[tuple[str, Guarantee]] = []
        for name, some in self.by_name.items():
            own = self.alphabet.attributes[name]
            promises = [promised(one) for one in some.values()]
            weakest.append((name, max(promises, key=lambda each: summed([(each, own)]))))
        total = summed([(promise, self.alphabet.attributes[name]) for name, promise in weakest])
        return JointGuarantee("ldp", total, parts=tuple(weakest))

    def parameters(self) -> Spec:
        """Return the descriptions of what is on offer, without alphabets."""
        offers = {
            name: {called: inner_spec(one) for called, one in some.items()}
            for name, some in self.by_name.items()
        }
        return {"offers": offers}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from what is on offer."""
        given, attributes = parameters["offers"], attributes_of(alphabet)
        fine = isinstance(given, Mapping) and all(
            isinstance(own, Mapping) for own in given.values()
        )
        if not fine or not {*given} <= {*attributes}:
            raise SpecError(
                f"{cls.name} with offers={shown(given)}: expected mechanisms by name for each "
                f"attribute of {alphabet}."
            )
        offers = {
            name: {
                called: read_inner(attributes[name], own, called) for called, own in some.items()
            }
            for name, some in given.items()
        }
        build: Any = cls
        return build(alphabet, offers)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        offers = (f"{name} {' or '.join(some)}" for name, some in self.by_name.items())
        return f"{self.name}({', '.join(offers)})"
