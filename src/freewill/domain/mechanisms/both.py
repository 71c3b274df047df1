"""Several independent reports of one person's same value, as one report."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from freewill.core.types import FloatArray, PackedBits, Reports, Spec
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, brief, of_full_rank
from freewill.domain.mechanisms.composed import (
    OfParts,
    added_up,
    checked_inner,
    inner_spec,
    promised,
    read_inner,
)
from freewill.domain.mechanisms.factored import distinct
from freewill.errors import AlphabetError, ParameterError, SpecError, several, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.blocks import product_rows

_COMPARED = 2e10
"""Comparisons of outputs and pairs of values that take about a minute."""


class OfSameValue(OfParts, Protocol):
    """Reports of the same value: their law is the product of the laws of the parts."""

    def weights(self) -> list[list[int]] | None:
        """Return the products of the parts' numbers, the last part fastest."""
        tables = [part.weights() for part in self.parts]
        if any(table is None for table in tables):
            return None
        return [[math.prod(some) for some in product(*rows)] for rows in zip(*tables, strict=True)]

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these outputs; each output of a part that repeats counts once."""
        reports = self.output_space.split(self.output_space.checked(outputs, self.name))
        pairs = [distinct(part, some) for part, some in zip(self.parts, reports, strict=True)]
        factors = [part.operator(own) for part, (own, _) in zip(self.parts, pairs, strict=True)]
        return product_rows(factors, [which for _, which in pairs])

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return the sum of the parts', where all have them."""
        reports = self.output_space.split(outputs)
        ratios = [p.log_ratios(some) for p, some in zip(self.parts, reports, strict=True)]
        return None if any(one is None for one in ratios) else np.sum(ratios, axis=0)


@dataclass(frozen=True, init=False)
class Both(OfSameValue):
    """Send a report of each of several mechanisms, drawn independently from the same value.

    P(y_1, y_2, .. | x) = P_1(y_1 | x) P_2(y_2 | x) .., and what all parts tell adds up. Epsilons
    add up too: those of LDP, or those per unit of distance; where both kinds meet, one per unit of
    distance is taken over the largest distance, and the whole promises LDP. A part whose promise is
    an average counts by the epsilon that its law has. One `Both` in another is the same as
    all parts side by side. Products cost O(outputs * k). Reports are records of bytes
    (`domain/packed_outputs.py`).

    Sequential composition: Dwork and Roth 2014, theorem 3.14.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 99)
    >>> twice = fw.Both(fw.KRR(ages, epsilon=1.0), fw.Geometric(ages, epsilon=0.25))
    >>> print(twice.guarantee(), "and", twice.output_space)
    25.75-LDP and values of 0..99 and values of 0..99
    """

    alphabet: Alphabet
    parts: tuple[Mechanism, ...]
    name: ClassVar[str] = "both"

    def __init__(self, *parts: Mechanism) -> None:
        given = [checked_inner(part, "a part") for part in parts]
        # Of one that sends several reports its parts.
        flat = tuple(p for one in given for p in (one.parts if isinstance(one, Both) else (one,)))
        if len(flat) < 2:
            raise ParameterError(
                f"{self.name} of {several(len(flat), 'mechanism')}: expected at least two, as "
                f"fw.Both(one, other). One alone needs no composition."
            )
        alphabet = flat[0].alphabet
        for other in flat[1:]:
            if other.alphabet != alphabet:
                raise AlphabetError(
                    f"{self.name} of mechanisms on {alphabet} and on {other.alphabet}: all report "
                    f"the same value, and must be on the same alphabet."
                )
        vars(self).update(alphabet=alphabet, parts=flat)
        # Refused now rather than with the first report.
        self.output_space  # noqa: B018

    @property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether one of the parts tells all distributions apart."""
        return any(map(of_full_rank, self.parts))

    def witnesses(self) -> PackedBits:
        """Return all outputs or, where only those of the parts can be listed, the worst of them.

        Each part may report what it likes: two values are told apart best by what each part tells
        them apart by. So the sums over the parts of max_y log P(y | x) - log P(y | x') decide,
        O(k^2) of them, and not the products of outputs.
        """
        space = self.output_space
        if space.listable:
            return space.all()
        listed = all(part.output_space.listable for part in self.parts)
        many = sum(part.output_space.places for part in self.parts) if listed else math.inf
        if many * self.alphabet.size**2 > _COMPARED:
            return super().witnesses()  # type: ignore[return-value]  # which refuses
        every, tables = [part.outputs() for part in self.parts], []
        for part, outputs in zip(self.parts, every, strict=True):
            ratios = part.log_ratios(outputs)
            tables.append(part.operator(outputs).log_dense() if ratios is None else ratios)
        values = range(self.alphabet.size)
        apart = sum(np.stack([_ratios(logs, x).max(axis=0) for x in values]) for logs in tables)
        far = distances(self.alphabet)
        np.fill_diagonal(far, np.inf)
        pairs = [np.unravel_index(np.argmax(some), far.shape) for some in (apart, apart / far)]
        chosen = [[int(_ratios(logs, x)[:, z].argmax()) for x, z in pairs] for logs in tables]
        return space.joined([own[some] for own, some in zip(every, chosen, strict=True)])

    def guarantee(self) -> Guarantee:
        """Return the sum of all epsilons, never understated."""
        return added_up([promised(part) for part in self.parts], self.alphabet)

    def program(self) -> Spec | None:
        """Return the programs of all parts, where a browser can draw each."""
        from freewill.domain.programs import part_of  # noqa: PLC0415

        parts = [part_of(part) for part in self.parts]
        return None if None in parts else {"draw": "both", "parts": parts}

    def parameters(self) -> Spec:
        """Return the descriptions of the parts, without their alphabet."""
        return {"parts": [inner_spec(part) for part in self.parts]}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild from the parts."""
        parts = parameters["parts"]
        if not isinstance(parts, list):
            raise SpecError(f"{cls.name} with parts={shown(parts)}: expected a list of mechanisms.")
        return cls(*(read_inner(alphabet, spec, "a part") for spec in parts))

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, {', '.join(map(brief, self.parts))})"


def _ratios(logs: FloatArray, value: Any) -> FloatArray:
    """Return log P(y | x) - log P(y | x') for all x', -inf for an output that both values exclude.

    Beside it nothing that another part tells could be seen.
    """
    with np.errstate(invalid="ignore"):
        ratios = logs[:, [value]] - logs
    return np.where(np.isnan(ratios), -np.inf, ratios)
