"""Reports about several attributes, attribute by attribute: what laws and marginals share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.noisy import stacked_operators
from freewill.numeric.operators.base import Operator, StackOperator
from freewill.numeric.operators.kronecker import KroneckerOperator


class Said(NamedTuple):
    """What some reports say of an attribute: by which mechanism, which reports they are, and what.

    Places are in the order of the reports of the whole.
    """

    mechanism: Mechanism
    places: IntArray
    reports: Reports


class ByAttribute(NamedTuple):
    """Reports attribute by attribute: each says something of every attribute, if only nothing.

    P(y | x) = share times the product over the attributes of P_i(y_i | x_i).
    """

    said: Sequence[Sequence[Said]]
    log_share: float = 0.0


@dataclass(frozen=True, eq=False)
class Column:
    """What all reports say of one attribute: distinct outputs of its mechanisms, and who has which.

    Rows are numbered through `mechanisms`, each of which has the rows of its `outputs`.
    """

    mechanisms: tuple[Mechanism, ...]
    outputs: tuple[Reports, ...]
    which: IntArray
    """The row of each report."""

    def law(self) -> Operator:
        """Return the law of all rows."""
        operators = stacked_operators(self.mechanisms, self.outputs)
        return operators[0] if len(operators) == 1 else StackOperator(operators)

    def split(self) -> tuple[IntArray, IntArray]:
        """Return the mechanism of each report, and the place of its output there."""
        ends = np.cumsum([len(own) for own in self.outputs])
        number = np.searchsorted(ends, self.which, side="right")
        return number, self.which - np.append(0, ends)[number]


@dataclass(frozen=True, eq=False)
class Factored:
    """Reports of mechanisms whose laws are products, as a column an attribute.

    Mechanisms that several reports share stand in a column once, and so does each of their outputs:
    hundreds of combinations of a few mechanisms cost what the few do.
    """

    columns: tuple[Column, ...]
    log_share: FloatArray

    @classmethod
    def of(cls, mechanisms: Sequence[Mechanism], outputs: Sequence[Reports]) -> "Factored | None":
        """Take the reports of several mechanisms apart; None where a law is no product."""
        start, shares, columns = 0, list[FloatArray](), list[list[Said]]()
        for mechanism, own in zip(mechanisms, outputs, strict=True):
            some = mechanism.by_attribute(own)
            if some is None:
                return None
            columns = columns or [[] for _ in some.said]
            # Attributes mostly share their places, and combinations of mechanisms may be very many.
            moved: dict[int, IntArray] = {}
            for column, said in zip(columns, some.said, strict=True):
                for mine, places, reports in said:
                    if id(places) not in moved:
                        moved[id(places)] = places + start
                    column.append(Said(mine, moved[id(places)], reports))
            shares.append(np.full(len(own), some.log_share))
            start += len(own)
        return cls(tuple(_column(said, start) for said in columns), np.concatenate(shares))

    def law(self) -> KroneckerOperator:
        """Return the law of all reports, in their order."""
        factors = [column.law() for column in self.columns]
        return KroneckerOperator(factors, [column.which for column in self.columns], self.log_share)


def _column(said: Sequence[Said], rows: int) -> Column:
    """Return what all reports say of one attribute."""
    by_id: dict[str, list[Said]] = {}
    for one in said:
        by_id.setdefault(one.mechanism.id, []).append(one)
    which, outputs, first = np.zeros(rows, dtype=np.int64), [], 0
    mechanisms = tuple(some[0].mechanism for some in by_id.values())
    for mechanism, some in zip(mechanisms, by_id.values(), strict=True):
        distinct, place = _distinct(mechanism, _together([one.reports for one in some]))
        which[np.concatenate([one.places for one in some])] = first + place
        outputs.append(distinct)
        first += len(distinct)
    return Column(mechanisms, tuple(outputs), which)


def _distinct(mechanism: Mechanism, reports: Reports) -> tuple[Reports, IntArray]:
    """Return the different reports, and which each is; those that do not repeat are their own."""
    if not mechanism.output_space.repeats:
        return reports, np.arange(len(reports))
    numbered: Any = mechanism.output_space
    _, first, place = np.unique(numbered.numbers(reports), return_index=True, return_inverse=True)
    return reports[first], place


def _together(reports: Sequence[Reports]) -> Reports:
    together: Any = reports[0] if len(reports) == 1 else np.concatenate(reports)
    return together  # type: ignore[no-any-return]


def product_law(mechanisms: Sequence[Mechanism], outputs: Sequence[Reports]) -> KroneckerOperator:
    """Return the laws of mechanisms that are products, one below the other, as one operator."""
    checked = [
        mechanism.output_space.checked(own, mechanism.name)
        for mechanism, own in zip(mechanisms, outputs, strict=True)
    ]
    factored = Factored.of(mechanisms, checked)
    if factored is None:
        raise TypeError("a law that is no product")
    return factored.law()


def named(alphabet: Any, parts: Sequence[Mechanism]) -> Iterator[tuple[str, Mechanism]]:
    """Yield the mechanism of each attribute, by its name."""
    return zip(alphabet.attributes, parts, strict=True)
