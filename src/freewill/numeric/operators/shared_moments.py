"""Information in reports of many mechanisms whose laws share their factors, all from one law.

Hundreds of combinations of a few mechanisms, one an attribute, have outputs whose law is one
operator: products go through what they have in common once. The information of the mixture is one
sum of squares, sum over groups of share * K_m = A' diag(w) A - 1 1' sum of shares, and that of a
group the same over its own rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import ListedMoments, Moments, SumOfSquares

_FAINT = 1e-6
"""Diagonal of K below which what is left of J - 1 1' has too few digits."""


@dataclass(frozen=True, eq=False)
class SharedLaw:
    """The law of all outputs of several groups, one group below the other, at theta."""

    operator: KroneckerOperator
    theta: FloatArray
    ends: IntArray
    """Where the outputs of each group end."""

    @cached_property
    def mass(self) -> FloatArray:
        """What an output counts, in the units of its row."""
        return np.asarray(np.exp(self.operator.log_scale))

    @cached_property
    def fitted(self) -> FloatArray:
        """Probability of each output in its group, in the units of its row."""
        return self.operator.forward_within(self.theta, 1e-9)

    @cached_property
    def divisor(self) -> FloatArray:
        """The same, infinite where it is 0."""
        return np.where(self.fitted > 0, self.fitted, np.inf)

    def rows(self, place: int) -> slice:
        """Return the outputs of a group."""
        return slice(int(self.ends[place - 1]) if place else 0, int(self.ends[place]))

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and third moment of s in each group, [group, direction]."""
        starts = np.concatenate([[0], self.ends[:-1]])
        powers = np.zeros((2, len(self.ends), len(directions)))
        shares = self.mass * self.fitted
        for place, row in enumerate(directions):
            scored = self.operator.forward(row) / self.divisor
            square = shares * scored * scored
            powers[0, :, place] = np.add.reduceat(square, starts)
            powers[1, :, place] = np.add.reduceat(square * scored, starts)
        return powers[0], powers[1]


@dataclass(frozen=True, eq=False)
class SharedMoments(ListedMoments):
    """Moments of one of the groups of a shared law."""

    law: SharedLaw | None = None
    place: int = 0

    @classmethod
    def of(cls, law: SharedLaw, place: int) -> "SharedMoments":
        """Return those of a group."""
        rows = law.rows(place)
        own = law.operator.subset(np.arange(rows.start, rows.stop))
        made = cls(own, law.theta, None, law, place)
        vars(made).update(mass=law.mass[rows], fitted=law.fitted[rows])
        return made


@dataclass(frozen=True, eq=False)
class SharedSum:
    """The information of all groups of a shared law, by these shares of the people."""

    law: SharedLaw
    parts: Sequence[SharedMoments]
    shares: FloatArray

    @cached_property
    def _by_row(self) -> FloatArray:
        """The share of each output's group."""
        lengths = np.diff(np.concatenate([[0], self.law.ends]))
        by_group = np.zeros(len(lengths))
        for part, share in zip(self.parts, self.shares, strict=True):
            by_group[part.place] += share
        return np.repeat(by_group, lengths)

    @cached_property
    def _weights(self) -> FloatArray:
        return np.asarray(self._by_row * self.law.mass / self.law.divisor)

    @property
    def _total(self) -> float:
        return float(self.shares.sum())

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u by two products."""
        operator = self.law.operator
        full = operator.adjoint(self._weights * operator.forward(direction))
        return np.asarray(full - self._total * direction.sum())

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        return np.asarray(self.law.operator.gram_diagonal(self._weights) - self._total)

    def information(self) -> FloatArray:
        """Return K, k x k: from the law of pairs of values, or group by group where it is faint."""
        if not float(self.diagonal().max(initial=0.0)) > _FAINT:
            each = zip(self.parts, self.shares, strict=True)
            return np.asarray(sum(share * part.information() for part, share in each))
        return np.asarray(self.law.operator.gram(self._weights) - self._total)

    def system(self) -> SumOfSquares:
        """Return the law and its weights."""
        operator: Operator = self.law.operator
        return SumOfSquares(operator, self._weights, np.zeros(self.law.theta.size))

    def response(self, value: int) -> None:
        """Return nothing: outputs are no values."""
        return

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s."""
        second, third = self.law.powers(directions)
        by_group = np.zeros(len(second))
        for part, share in zip(self.parts, self.shares, strict=True):
            by_group[part.place] += share
        return np.asarray(by_group @ second), np.asarray(by_group @ third)

    def factors(self) -> list[FloatArray]:
        """Return a matrix an attribute, of which J is the Kronecker product where all is free.

        J_i = sum_y s_y a_i(y|.) a_i(y|.)' / p_i(y) at the marginal of theta, s_y the share of the
        people whose report of attribute i is by the mechanism of y: J = J_1 x .. x J_d where theta
        is a product, and people choose for each attribute by itself.
        """
        operator, sizes = self.law.operator, self.law.operator.sizes
        table = self.law.theta.reshape(sizes)
        weight = self._by_row * self.law.mass * self.law.fitted
        factors = []
        for axis, (factor, which) in enumerate(zip(operator.factors, operator.which, strict=True)):
            others = tuple(other for other in range(len(sizes)) if other != axis)
            marginal = table.sum(axis=others)
            rows = factor.dense()
            shares = np.bincount(which, weight, len(rows))
            fitted = rows @ marginal
            # The chance of an output is its people's share times p, so that s / p is this by p^2.
            by_row = np.divide(shares, fitted**2, out=np.zeros(len(rows)), where=fitted > 0)
            factors.append((rows.T * by_row) @ rows)
        return factors


def merged(weighted: Sequence[tuple[float, Moments]]) -> list[tuple[float, Any]]:
    """Return shares and moments, with all that are of one shared law as one.

    >>> merged([(1.0, "of something else")])
    [(1.0, 'of something else')]
    """
    shared: dict[int, list[tuple[float, SharedMoments]]] = {}
    rest: list[tuple[float, Any]] = []
    for share, moments in weighted:
        if isinstance(moments, SharedMoments):
            shared.setdefault(id(moments.law), []).append((share, moments))
        else:
            rest.append((share, moments))
    sums = []
    for some in shared.values():
        shares, parts = zip(*some, strict=True)
        sums.append((1.0, SharedSum(parts[0].law, parts, np.array(shares))))
    return sums + rest


def powers_of(moments: Sequence[Moments], directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second and the third moment of s in each group, [group, direction]."""
    known: dict[int, tuple[FloatArray, FloatArray]] = {}
    rows = []
    for one in moments:
        if isinstance(one, SharedMoments) and one.law is not None:
            key = id(one.law)
            if key not in known:
                known[key] = one.law.powers(directions)
            rows.append(np.stack([known[key][0][one.place], known[key][1][one.place]]))
        else:
            rows.append(np.stack(one.powers(directions)))
    both = np.stack(rows)
    return both[:, 0], both[:, 1]
