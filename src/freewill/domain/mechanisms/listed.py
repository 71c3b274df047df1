"""All outputs of mechanisms about several attributes, as one law that shares their factors."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.noisy import stacked_operators
from freewill.errors import LawError, several
from freewill.numeric.operators.base import StackOperator
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import Moments, SharedLaw, SharedMoments

MOST_ROWS = 1 << 22
"""Outputs of all mechanisms together that are listed, some 32 MiB an attribute."""
_MOST_DRAWN = 2_048
"""Records up to which outputs that cannot be listed are drawn."""
_MOST_ONE = 1 << 20
"""Outputs of one mechanism that are."""


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
    which = [np.empty(total, dtype=np.int64) for _ in attributes]
    shares, start = np.empty(total), 0
    for grid, log_share in grids:
        shape = tuple(map(len, grid))
        end = start + math.prod(shape)
        places = np.unravel_index(np.arange(end - start), shape)
        for own, rows, place in zip(which, grid, places, strict=True):
            own[start:end] = rows.start + place
        shares[start:end] = log_share
        start = end
    factors = []
    for some in laws:
        operators = stacked_operators(some, [part.outputs() for part in some])
        factors.append(operators[0] if len(operators) == 1 else StackOperator(operators))
    return KroneckerOperator(factors, which, shares), np.array(ends)


def _rows(firsts: dict[str, range], laws: list[Mechanism], part: Any) -> range:
    """Return the rows of a part among those of its attribute, which it joins when it is new."""
    if part.id not in firsts:
        first = max((rows.stop for rows in firsts.values()), default=0)
        # Not its places: of sets of so many values most patterns are none.
        firsts[part.id] = range(first, first + len(part.outputs()))
        laws.append(part)
    return firsts[part.id]
