"""Reports about several attributes, attribute by attribute: for laws and marginals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.mechanisms.base import Mechanism, stacked_operators
from freewill.errors import LawError, several
from freewill.numeric.operators.base import Operator, StackOperator
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import Moments, SharedLaw, SharedMoments

MOST_ROWS = 1 << 22
"""Outputs of all mechanisms together that are listed, some 32 MiB an attribute."""
_MOST_DRAWN = 2_048
"""Records up to which outputs that cannot be listed are drawn."""
_MOST_ONE = 1 << 20
"""Outputs of one mechanism that are."""


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
        reports: Any = [one.reports for one in some]
        own, place = distinct(mechanism, np.concatenate(reports) if reports[1:] else reports[0])
        which[np.concatenate([one.places for one in some])] = first + place
        outputs.append(own)
        first += len(own)
    return Column(mechanisms, tuple(outputs), which)


def distinct(mechanism: Mechanism, reports: Reports) -> tuple[Reports, IntArray]:
    """Return the different reports, and which each is; those that do not repeat are their own."""
    if not mechanism.output_space.repeats:
        return reports, np.arange(len(reports))
    numbered: Any = mechanism.output_space
    _, first, place = np.unique(numbered.numbers(reports), return_index=True, return_inverse=True)
    return reports[first], place


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


def moments_together(mechanisms: Sequence[Any], theta: FloatArray) -> list[Moments]:
    """Return what a report of each mechanism tells at theta; of those about attributes, at once."""
    places = [place for place, one in enumerate(mechanisms) if hasattr(one, "listed")]
    shared = shared_moments([mechanisms[place] for place in places], theta) if places else []
    moments = dict(zip(places, shared, strict=True))
    return [
        moments[place] if place in moments else one.moments(theta)
        for place, one in enumerate(mechanisms)
    ]


def shared_moments(mechanisms: Sequence[Any], theta: FloatArray) -> list[Moments]:
    """Return the moments of mechanisms about attributes, from one law of all their outputs.

    Those with more than a million outputs, and what goes beyond four million of all, have moments
    of their own, from reports that are drawn.
    """
    rows = [_outputs(mechanism) for mechanism in mechanisms]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    fits = np.cumsum([rows[place] for place in order]) <= MOST_ROWS
    listed = sorted(
        place for place, fit in zip(order, fits, strict=True) if fit and rows[place] <= _MOST_ONE
    )
    missing = [mechanisms[place] for place in range(len(rows)) if place not in {*listed}]
    if missing and theta.size > _MOST_DRAWN:
        # Two of them, or of two one.
        names = list(missing[0].alphabet.attributes)[:-1][:2]
        raise LawError(
            f"what reports tell of {several(theta.size, 'record')}: the outputs of "
            f"{several(len(missing), 'mechanism')}, as {missing[0]}, are too many to be listed, "
            f"and drawn ones serve up to {_MOST_DRAWN:,} records. Ask of a table of some "
            f"attributes, as evidence.marginal({', '.join(map(repr, names))})."
        )
    if not listed:
        return [Mechanism.moments(mechanism, theta) for mechanism in mechanisms]
    operator, ends = law_of_all([mechanisms[place] for place in listed])
    law = SharedLaw(operator, theta, ends=ends)
    shared = {place: SharedMoments.of(law, number) for number, place in enumerate(listed)}
    return [
        shared[place] if place in shared else Mechanism.moments(mechanism, theta)
        for place, mechanism in enumerate(mechanisms)
    ]


def _outputs(mechanism: Any) -> float:
    """Return how many outputs a mechanism has; infinitely many where a part cannot be listed."""
    spaces = [part.output_space for part in mechanism.parts]
    if not all(space.listable for space in spaces):
        return math.inf
    return float(mechanism.output_space.places)


def law_of_all(mechanisms: Sequence[Any]) -> tuple[KroneckerOperator, IntArray]:
    """Return the law of all outputs of mechanisms, and where those of each end.

    Each attribute has the outputs of each of its mechanisms once, whoever uses it.
    """
    attributes = range(len(mechanisms[0].parts))
    firsts: list[dict[str, range]] = [{} for _ in attributes]
    laws: list[list[Mechanism]] = [[] for _ in attributes]
    grids: list[tuple[list[range], float]] = []
    ends, total = [], 0
    for mechanism in mechanisms:
        for parts, log_share in mechanism.listed():
            grid = [_rows(firsts[n], laws[n], part) for n, part in enumerate(parts)]
            grids.append((grid, log_share))
            total += math.prod(map(len, grid))
        ends.append(total)
    which = [np.concatenate([_along(grid, n) for grid, _ in grids]) for n in attributes]
    sizes = [math.prod(map(len, grid)) for grid, _ in grids]
    shares, factors = np.repeat([share for _, share in grids], sizes), []
    for some in laws:
        operators = stacked_operators(some, [part.outputs() for part in some])
        factors.append(operators[0] if len(operators) == 1 else StackOperator(operators))
    return KroneckerOperator(factors, which, shares), np.array(ends)


def _along(grid: Sequence[range], axis: int) -> IntArray:
    """Return the row of an attribute in all combinations of rows, the last attribute fastest."""
    before, own, after = grid[:axis], grid[axis], grid[axis + 1 :]
    rows = np.repeat(np.arange(own.start, own.stop), math.prod(map(len, after)))
    return np.tile(rows, math.prod(map(len, before)))


def _rows(firsts: dict[str, range], laws: list[Mechanism], part: Any) -> range:
    """Return the rows of a part among those of its attribute, which it joins when it is new."""
    if part.id not in firsts:
        first = max((rows.stop for rows in firsts.values()), default=0)
        # Not its places: of sets of so many values most patterns are none.
        firsts[part.id] = range(first, first + len(part.outputs()))
        laws.append(part)
    return firsts[part.id]
