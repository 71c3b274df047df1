"""Information in reports of many mechanisms whose laws share their factors, all from one law.

Hundreds of combinations of a few mechanisms, one an attribute, have outputs whose law is one
operator: products go through what they have in common once. The information of the mixture is one
sum of squares, sum over groups of share * K_m = A' diag(w) A - 1 1' sum of shares, and that of a
group the same over its own rows. Where each report says by which of several laws it was made, the
information is theirs, by shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import DenseOperator, StackOperator
from freewill.numeric.operators.kronecker import KroneckerOperator
from freewill.numeric.operators.moments import ListedMoments, Moments, SumOfSquares

_FAINT = 1e-6
"""Diagonal of K below which what is left of J - 1 1' has too few digits."""
_NOBODY = 1e-12
"""The share of people who send nothing, as far as rounding leaves one."""


@dataclass(frozen=True, eq=False)
class SharedLaw(ListedMoments):
    """The law of all outputs of several groups, one group below the other, at theta."""

    operator: KroneckerOperator
    ends: IntArray = field(kw_only=True)
    """Where the outputs of each group end."""

    def rows(self, place: int) -> slice:
        """Return the outputs of a group."""
        return slice(int(self.ends[place - 1]) if place else 0, int(self.ends[place]))

    def powers_by_group(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and third moment of s in each group, [group, direction]."""
        starts = np.concatenate([[0], self.ends[:-1]])
        powers = np.zeros((2, len(self.ends), len(directions)))
        shares = self.shares
        for place, row in enumerate(directions):
            scored = self.operator.forward(row) / self._divisor
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
class SharedSum(ListedMoments):
    """The information of all groups of a shared law, by these shares of the people."""

    operator: KroneckerOperator
    law: SharedLaw = field(kw_only=True)
    parts: Sequence[SharedMoments] = field(kw_only=True)
    people: FloatArray = field(kw_only=True)
    """The share of each part."""

    @classmethod
    def of(cls, law: SharedLaw, parts: Sequence[SharedMoments], people: FloatArray) -> "SharedSum":
        """Return the sum over parts of their shares times what they tell."""
        by_group = np.zeros(len(law.ends))
        np.add.at(by_group, [part.place for part in parts], people)
        by_row = np.repeat(by_group, np.diff(law.ends, prepend=0))
        made = cls(law.operator, law.theta, law=law, parts=parts, people=people)
        vars(made).update(mass=by_row * law.mass, fitted=law.fitted)
        return made

    @property
    def total(self) -> float:
        """The share of all parts together."""
        return float(self.people.sum())

    def information(self) -> FloatArray:
        """Return K, k x k: from the law of pairs of values, or group by group where it is faint."""
        if not float(self.diagonal().max(initial=0.0)) > _FAINT:
            each = zip(self.parts, self.people, strict=True)
            return np.asarray(sum(share * part.information() for part, share in each))
        return np.asarray(self.operator.gram(self._weights) - self.total)

    def response(self, value: int) -> None:
        """Return nothing: outputs are no values."""
        return

    def factors(self) -> list[FloatArray]:
        """Return a matrix an attribute, of which J is the Kronecker product where all is free.

        J_i = sum_y s_y a_i(y|.) a_i(y|.)' / p_i(y) at the marginal of theta, s_y the share of the
        people whose report of attribute i is by the mechanism of y: J = J_1 x .. x J_d where theta
        is a product, and people choose for each attribute by itself.
        """
        operator, sizes = self.operator, self.operator.sizes
        table = self.theta.reshape(sizes)
        factors = []
        for axis, (factor, which) in enumerate(zip(operator.factors, operator.which, strict=True)):
            others = tuple(other for other in range(len(sizes)) if other != axis)
            marginal = table.sum(axis=others)
            rows = factor.dense()
            shares = np.bincount(which, self.shares, len(rows))
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
        sums.append((1.0, SharedSum.of(parts[0].law, parts, np.array(shares))))
    return sums + rest


def powers_of(moments: Sequence[Moments], directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second and the third moment of s in each group, [group, direction]."""
    by_law: dict[int, tuple[FloatArray, FloatArray]] = {}
    rows = []
    for one in moments:
        if isinstance(one, SharedMoments) and one.law is not None:
            key = id(one.law)
            if key not in by_law:
                by_law[key] = one.law.powers_by_group(directions)
            rows.append(np.stack([by_law[key][0][one.place], by_law[key][1][one.place]]))
        else:
            rows.append(np.stack(one.powers(directions)))
    both = np.stack(rows)
    return both[:, 0], both[:, 1]


@dataclass(frozen=True, eq=False)
class MixedMoments:
    """Averages of moments with these weights: K is the mean of all K_j.

    Where a report names its law, its score is that of this law: means add up, and nothing else.
    What weights lack to 1 is the share of people who send nothing, which tells nothing.
    """

    parts: Sequence[Moments]
    weights: FloatArray

    def _pairs(self) -> list[tuple[float, Moments]]:
        return list(zip(self.weights.tolist(), self.parts, strict=True))

    def information(self) -> FloatArray:
        """Return K, k x k."""
        return np.asarray(sum(weight * part.information() for weight, part in self._pairs()))

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u for any u."""
        return np.asarray(sum(weight * part.product(direction) for weight, part in self._pairs()))

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        return np.asarray(sum(weight * part.diagonal() for weight, part in self._pairs()))

    def system(self) -> SumOfSquares | None:
        """Return all rows one below the other; None where a part is no sum of squares.

        And a row of ones for those who send nothing, without which it would not be K + 1 1'.
        """
        systems = [part.system() for part in self.parts]
        sums = [one for one in systems if one is not None]
        if len(sums) < len(systems):
            return None
        weights = [share * one.weights for share, one in zip(self.weights, sums, strict=True)]
        diagonals = [share * one.diagonal for share, one in zip(self.weights, sums, strict=True)]
        rows, silent = [one.operator for one in sums], 1 - float(self.weights.sum())
        if silent > _NOBODY:
            rows.append(DenseOperator(np.ones((1, rows[0].shape[1]))))
            weights.append(np.array([silent]))
        return SumOfSquares(StackOperator(rows), np.concatenate(weights), np.sum(diagonals, axis=0))

    def response(self, value: int) -> None:
        """Return nothing: outputs are no values."""
        return

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s."""
        powers = [np.stack(part.powers(directions)) for part in self.parts]
        second, third = np.tensordot(self.weights, np.stack(powers), 1)
        return np.asarray(second), np.asarray(third)

    @property
    def error(self) -> Any:
        """How well variances are known, where all reports are of one law and were drawn."""
        return getattr(self.parts[0], "error", None) if len(self.parts) == 1 else None

    @property
    def lift(self) -> float:
        """By how much errors are too large at most."""
        return float(getattr(self.parts[0], "lift", 0.0)) if len(self.parts) == 1 else 0.0
