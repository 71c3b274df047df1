"""Operators one above the other: the law of everything that was observed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.errors import AlphabetError
from freewill.numeric.operators.base import Map, Operator, Structure


@dataclass(frozen=True, eq=False)
class StackOperator(Operator):
    """Rows of several operators over the same alphabet, in the order given."""

    parts: Sequence[Operator]
    structure: ClassVar[Structure] = "stack"

    def __post_init__(self) -> None:
        sizes = [part.shape[1] for part in self.parts]
        if not sizes:
            raise AlphabetError("no operators to stack: expected at least one.")
        if len(set(sizes)) > 1:
            raise AlphabetError(
                f"operators over alphabets of sizes {sizes} cannot be stacked: "
                f"they must share one alphabet."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs of all parts, values)."""
        return int(self._ends[-1]), self.parts[0].shape[1]

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum([part.shape[0] for part in self.parts])

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""
        return np.concatenate([part.log_scale for part in self.parts])

    def split(self, weights: FloatArray) -> list[FloatArray]:
        """Cut a vector over all outputs into one piece a part."""
        return np.split(weights, self._ends[:-1])

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return all parts' products, one after the other."""
        return np.concatenate([part.forward(theta) for part in self.parts])

    def _sum(self, method: str, weights: FloatArray, *error: float) -> FloatArray:
        """Return the sum of what all parts make of their pieces of the weights."""
        pieces = zip(self.parts, self.split(weights), strict=True)
        return np.asarray(sum(getattr(part, method)(piece, *error) for part, piece in pieces))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the sum of all parts' products."""
        return self._sum("adjoint", weights)

    @cached_property
    def exact(self) -> bool:
        """Whether the products of all parts are."""
        return all(part.exact for part in self.parts)

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return all parts' products, each number within this relative error."""
        return np.concatenate([part.forward_within(theta, error) for part in self.parts])

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return the sum of all parts' products; the inexact ones share the error."""
        share = error / max(1, sum(not part.exact for part in self.parts))
        return self._sum("adjoint_within", weights, share)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the sum of all parts' gram matrices."""
        return self._sum("gram", weights)

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the sum of all parts' diagonals."""
        return self._sum("gram_diagonal", weights)

    def gram_map(self, weights: FloatArray) -> Map:
        """Return the sum of all parts' products; planar ones share their transforms."""
        return self._sum_of_maps(weights, near=False)

    def near_gram_map(self, weights: FloatArray) -> Map:
        """Return the sum of all parts' near products; planar ones share their transforms."""
        return self._sum_of_maps(weights, near=True)

    def _sum_of_maps(self, weights: FloatArray, near: bool) -> Map:
        by_class: dict[type[Operator], list[tuple[Operator, FloatArray]]] = {}
        for part, piece in zip(self.parts, self.split(weights), strict=True):
            by_class.setdefault(type(part), []).append((part, piece))
        maps = [each for kind, pairs in by_class.items() for each in kind.gram_maps(pairs, near)]
        return lambda vector: np.asarray(sum(each(vector) for each in maps))

    def subset(self, places: IntArray) -> "StackOperator":
        """Return the law of some of the outputs, part by part."""
        cuts = np.searchsorted(places, self._ends)
        firsts = np.append(0, self._ends[:-1])
        pieces = np.split(places, cuts[:-1])
        each = zip(self.parts, pieces, firsts, strict=True)
        some = [part.subset(piece - first) for part, piece, first in each if piece.size]
        return StackOperator(some or [self.parts[0].subset(places)])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return all rows as an array, laid out as those of the first part are."""
        first = self.parts[0].dense(columns)
        # Part by part, for all at once would take the memory twice, and fresh memory its time.
        layout: Literal["C", "F"] = "C" if first.flags.c_contiguous else "F"
        rows = np.empty((self.shape[0], first.shape[1]), order=layout)
        others = (part.dense(columns) for part in self.parts[1:])
        for piece, end in zip(chain([first], others), self._ends, strict=True):
            rows[end - len(piece) : end] = piece
        return rows


def parts_of(operator: Operator) -> Sequence[Operator]:
    """Return the operators that a stack is made of; any other is its own only part."""
    return operator.parts if isinstance(operator, StackOperator) else (operator,)
