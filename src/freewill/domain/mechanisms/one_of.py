"""One of several attributes, drawn and answered with the whole budget."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from freewill.core.types import IntArray, PackedBits, Reports
from freewill.domain.alphabets.product import Product
from freewill.domain.draws.sources import Source, below
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import OfAttributes, Silent, attribute_parts
from freewill.domain.mechanisms.factored import ByAttribute, Said
from freewill.domain.packed_outputs import Either
from freewill.errors import ParameterError


@dataclass(frozen=True, init=False)
class OneOf(OfAttributes):
    """Draw one of several attributes, each as likely, and send a report of that one alone.

    P(i, y | x) = P_i(y | x_i) / m, with m the number of attributes that may be drawn: what the
    field calls sampling ("SMP"). The report says which attribute it is of. Every attribute has the
    epsilon of its own mechanism, and so has the whole record: the largest of them, an epsilon per
    unit of distance over the largest distance. Attributes without a mechanism are never answered.

    Products cost those of the parts.

    >>> import freewill as fw
    >>> yes_no = fw.Categorical(["yes", "no"])
    >>> half = fw.OneOf(vote=fw.KRR(yes_no, 2.0), member=fw.KRR(yes_no, 2.0))
    >>> print(half.guarantee(), "-", half.output_space.places, "outputs")
    2-LDP in all: vote 2-LDP, member 2-LDP - 4 outputs
    """

    alphabet: Product
    parts: tuple[Mechanism, ...]
    name: ClassVar[str] = "one-of"
    sends: ClassVar[Literal["all", "one"]] = "one"

    def __init__(self, *parts: Product | Mapping[str, Mechanism], **named: Mechanism) -> None:
        alphabet, own = attribute_parts(self.name, parts, named)
        ordered = tuple(own.get(name, Silent(each)) for name, each in alphabet.attributes.items())
        vars(self).update(alphabet=alphabet, parts=ordered)
        if len(self.drawn) < 2:
            raise ParameterError(
                f"{self.name} with {len(self.drawn)} attribute that may be drawn: expected at "
                f"least two. For one, take fw.Each with fw.Silent() for the others."
            )
        self.output_space  # noqa: B018

    @property
    def drawn(self) -> tuple[int, ...]:
        """The places of the attributes that may be drawn."""
        return tuple(n for n, part in enumerate(self.parts) if not isinstance(part, Silent))

    @cached_property
    def output_space(self) -> Either:
        """An output of one of the parts."""
        return Either(tuple(self.parts[place].output_space for place in self.drawn))

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw the attributes, and the reports of those who drew each."""
        values = self.alphabet.split(truth.ravel())
        which = rng.integers(len(self.drawn), size=truth.size)
        reports = [
            self.parts[place].obfuscate(values[place][which == number], rng)
            for number, place in enumerate(self.drawn)
        ]
        return self.output_space.joined(which, reports)

    def _report(self, value: int, source: Source) -> PackedBits:
        """Draw the attribute, then its report."""
        number = below(len(self.drawn), source)
        place = self.drawn[number]
        own = int(self.alphabet.split([value])[place][0])
        spaces = self.output_space.parts
        reports = [space.empty() for space in spaces]
        reports[number] = np.asarray([self.parts[place].draw(own, source)])
        return np.asarray(self.output_space.joined(np.array([number]), reports)[0])

    def listed(self) -> list[tuple[tuple[Mechanism, ...], float]]:
        """Return the part of each attribute that may be drawn, beside the silence of the others."""
        silent = tuple(Silent(own) for own in self.alphabet.attributes.values())
        share = -math.log(len(self.drawn))
        return [((*silent[:n], self.parts[n], *silent[n + 1 :]), share) for n in self.drawn]

    def by_attribute(self, outputs: Reports) -> ByAttribute:
        """Return the reports of each attribute, and the silence of those who drew another."""
        which, reports = self.output_space.split(outputs)
        said: list[list[Said]] = []
        for place, own in enumerate(self.alphabet.attributes.values()):
            number = self.drawn.index(place) if place in self.drawn else -1
            others = np.flatnonzero(which != number)
            said.append([Said(Silent(own), others, np.zeros(others.size, dtype=np.int64))])
            if number >= 0:
                here = np.flatnonzero(which == number)
                said[-1].append(Said(self.parts[place], here, reports[number]))
        return ByAttribute(said, -math.log(len(self.drawn)))
