"""What an operator is: the law of the observed outputs, as two products; arrays and stacks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, numbers, slices
from freewill.errors import AlphabetError, LawError, ParameterError, shown

Structure = Literal[
    "dense", "symbols", "bits", "geometric", "planar", "hadamard", "kronecker", "stack"
]
"""What a law is made of: the solvers choose by it."""

Map: TypeAlias = Callable[[FloatArray], FloatArray]
"""A matrix that is known by its products."""
_MADE_ENTRIES = 1 << 20
"""Of rows that are made at once where products do not do."""

RowNumbers: TypeAlias = float | FloatArray
"""One number for all rows, or one a row."""


def numbers_at(values: RowNumbers, places: IntArray | slice) -> RowNumbers:
    """Return the numbers of some rows."""
    return values if np.ndim(values) == 0 else np.asarray(values)[places]


class LineTerms(NamedTuple):
    """What laws on a line add to P' diag(d) P.

    Rows of geometric noise with `decays`, of which each row has the one at its place in `which`,
    add K diag(m) K a decay with K = e^(-decay |i - j|) and m_z the sum of d over the rows of z.
    Rows base + gain [x = z], which have no decay, add
    diag(gain^2 d) + 1 (base gain d)' + (base gain d) 1' + sum(base^2 d) 1 1', d summed by z.
    """

    outputs: IntArray
    decays: FloatArray | None = None
    which: IntArray | None = None
    base: RowNumbers = 0.0
    gain: RowNumbers = 0.0


class Guess(NamedTuple):
    """What bit reports say of theta at first sight, times its precision: both add up."""

    total: FloatArray
    precision: float


@dataclass(frozen=True, eq=False)
class Sums:
    """L = sum w log p without the rows' own factors, g = P'(w/p), H = P' diag(w/p^2) P.

    They add up over blocks of reports. H is None where it was not asked for, and where an output
    has no probability at theta: L is then -inf.
    """

    value: float
    slope: FloatArray
    hessian: FloatArray | None

    @classmethod
    def nothing(cls, size: int, stride: int) -> "Sums":
        """Return the sums of no reports."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)) if stride else None)

    @classmethod
    def impossible(cls, size: int) -> "Sums":
        """Return the sums where an observed output has probability 0."""
        return cls(-np.inf, np.full(size, np.inf), None)

    @classmethod
    def of(
        cls, size: int, fitted: FloatArray, weights: FloatArray, adjoint: Map, gram: Map | None
    ) -> "Sums":
        """Return the sums at p = P theta, from w -> P'w and, for H, w -> P' diag(w) P."""
        if not np.all(fitted > 0):
            return cls.impossible(size)
        ratio = weights / fitted
        hessian = None if gram is None else gram(ratio / fitted)
        return cls(float(weights @ np.log(fitted)), adjoint(ratio), hessian)

    def __add__(self, other: "Sums") -> "Sums":
        hessian = None
        if self.hessian is not None and other.hessian is not None:
            hessian = self.hessian + other.hessian
        return Sums(self.value + other.value, self.slope + other.slope, hessian)


class Operator(Protocol):
    """P(y | x) for observed outputs y (rows) and all values x of the alphabet (columns).

    Rows are stored up to a factor, P(y | x) = exp(log_scale[y]) * row[y, x], so that the largest
    entry of a row is near 1 however improbable the output is. Only the log-likelihood adds it back.

    All products but those by FFT are accurate entry by entry (`exact`). What an FFT returns is so
    relative to its largest entry; `forward_within` and `adjoint_within` look up what it got wrong.
    An operator names this class as its base, inherits what its products or rows can answer, and
    answers anew what its structure makes cheaper or more exact.

    >>> import numpy as np, freewill as fw
    >>> fw.KRR(fw.Linear(0, 2), epsilon=1.0).operator([0, 2]).adjoint(np.ones(2)).round(3)
    array([1.368, 0.736, 1.368])
    """

    if TYPE_CHECKING:
        # Only here: a dataclass would take an inherited property for the default of its field.
        @property
        def log_scale(self) -> FloatArray:
            """Logarithm of the factor of each row."""

    @property
    def shape(self) -> tuple[int, int]:
        """(observed outputs, size of the alphabet)."""

    @property
    def structure(self) -> Structure:
        """What the law is made of."""
        return "dense"

    @property
    def exact(self) -> bool:
        """Whether all products are accurate entry by entry: only those of an FFT are not."""
        return True

    @property
    def sharpness(self) -> RowNumbers:
        """Logarithm of the factor by which noise falls from a value to its neighbour, or 0."""
        return 0.0

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta, one number an output."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights, one number a value."""

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return rows @ theta for theta >= 0, each number within this relative error."""
        return self.forward(theta)

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return rows.T @ weights for weights >= 0, each number within this (absolute) error."""
        return self.adjoint(weights)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows, for weights >= 0."""
        rows = self.dense()
        return np.asarray(rows.T @ (weights[:, None] * rows))

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that matrix: the weights times the squared rows."""
        rows = self.dense()
        return np.asarray(np.einsum("j,jx,jx->x", weights, rows, rows))

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return that matrix as a product, good to float32 at least: for directions.

        `near` asks for a product close to it where that costs much less: for preconditioners.
        """
        return lambda vector: self.adjoint(weights * self.forward(vector))

    def subset(self, places: IntArray) -> "Operator":
        """Return the law of some of the outputs alone, named by their (rising) places."""

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, or only these columns of it."""

    def log_dense(self) -> FloatArray:
        """Return log P(y | x) with the factor included; an impossible output gives -inf."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.dense()) + self.log_scale[:, None])

    def possible(self) -> BoolArray:
        """Say which outputs some value can lead to."""
        return np.asarray(self.forward(np.ones(self.shape[1])) > 0)

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H; of bits from about one row in `stride`."""
        fitted = self.forward(theta)
        return Sums.of(theta.size, fitted, weights, self.adjoint, self.gram if stride else None)

    def work(self, pairs: bool = False) -> float:
        """Return how many multiplications take as long as a product, or as a gram matrix."""
        outputs, size = self.shape
        return float(outputs * size ** (2 if pairs else 1))

    def line_terms(self) -> LineTerms | None:
        """Return what the law adds to a system on a line, where it has that structure."""
        return None

    def by_bit(self, weights: FloatArray) -> FloatArray | None:
        """Return the weights summed by set bit, None unless the outputs are bits."""
        return None

    def guess(self, weights: FloatArray, ones: FloatArray | None = None) -> Guess | None:
        """Return a guess of theta, None unless the outputs are bits.

        `ones` are the weights by set bit, where the rows are of one law and this is known.
        """
        return None


_TESTED = ("shape", "forward", "adjoint")


def probabilities(operator: Operator) -> FloatArray:
    """Return the true P(y | x), rows and factor together.

    >>> probabilities(DenseOperator(np.array([[0.75, 0.25]])))
    array([[0.75, 0.25]])
    """
    return np.asarray(np.exp(operator.log_scale)[:, None] * operator.dense())


def dot_test(operator: Operator, rng: np.random.Generator, tolerance: float = 1e-10) -> float:
    """Check that forward and adjoint belong together: <P t, w> = <t, P' w> for random t, w.

    Returns the relative mismatch; raises `LawError` beyond the tolerance. The cost is two products.

    >>> import freewill as fw, numpy as np
    >>> fw.dot_test(fw.KRR(fw.Linear(0, 2), 1.0).operator([1]), np.random.default_rng(0)) < 1e-12
    True
    """
    if isinstance(operator, type) or not all(hasattr(operator, name) for name in _TESTED):
        raise ParameterError(f"operator={shown(operator)}: expected one with {', '.join(_TESTED)}.")
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(f"rng={shown(rng)}: expected numpy.random.default_rng(seed).")
    allowed = numbers(tolerance, "tolerance", "a number")
    if allowed.ndim or not allowed >= 0:
        raise ParameterError(f"tolerance={shown(tolerance)}: expected a number >= 0.")
    outputs, size = operator.shape
    theta, weights = rng.standard_normal(size), rng.standard_normal(outputs)
    left_terms = operator.forward(theta) * weights
    right_terms = theta * operator.adjoint(weights)
    scale = max(float(np.abs(left_terms).sum()), float(np.abs(right_terms).sum()))
    mismatch = abs(float(left_terms.sum()) - float(right_terms.sum())) / (scale or 1.0)
    if not mismatch <= allowed:
        raise LawError(
            f"{type(operator).__name__}: forward and adjoint disagree by {mismatch:.3g} "
            f"(relative), more than {tolerance:g}: one of the two products is wrong."
        )
    return mismatch


@dataclass(frozen=True, eq=False)
class DenseOperator(Operator):
    """Rows held as an array, probabilities unless a log_scale is given; O(outputs * k) a product.

    Logarithms are given beside them where they are known better than the rows say.

    >>> operator = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> operator.forward(np.array([0.5, 0.5]))
    array([0.5, 0.5])
    """

    rows: FloatArray
    log_scale: FloatArray
    logs: FloatArray | None

    def __init__(
        self, rows: FloatArray, log_scale: FloatArray | None = None, logs: FloatArray | None = None
    ) -> None:
        scale = np.zeros(rows.shape[0]) if log_scale is None else log_scale
        vars(self).update(rows=rows, log_scale=scale, logs=logs)

    @classmethod
    def of_logs(cls, logs: FloatArray) -> Self:
        """Return the rows of these logarithms, which are kept: ratios may be too small numbers."""
        most = logs.max(axis=1)
        most[np.isneginf(most)] = 0.0
        return cls(np.exp(logs - most[:, None]), most, logs)

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.rows.shape[0], self.rows.shape[1]

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta."""
        return np.asarray(self.rows.dot(theta))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights."""
        return np.asarray(weights.dot(self.rows))

    def subset(self, places: IntArray) -> Self:
        """Return some of the rows."""
        logs = None if self.logs is None else self.logs[places]
        return type(self)(self.rows[places], self.log_scale[places], logs)

    def log_dense(self) -> FloatArray:
        """Return log P(y | x)."""
        return super().log_dense() if self.logs is None else self.logs

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows."""
        return self.rows if columns is None else self.rows[:, columns]


class ByBlocks(Operator, Protocol):
    """A law whose rows are made, some at a time, where its products do not do."""

    def _blocks(self, places: IntArray | None = None) -> Iterator[tuple[Any, FloatArray]]:
        """Yield places of outputs, of all if none are given, and their rows as an array."""
        wanted = np.arange(self.shape[0]) if places is None else places
        for some in slices(wanted.size, _MADE_ENTRIES // self.shape[1]):
            yield wanted[some], self.subset(wanted[some]).dense()

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H, block by block."""
        total = Sums.nothing(theta.size, stride)
        for places, rows in self._blocks():
            total += DenseOperator(rows).sums(theta, weights[places], stride)
        return total

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows, block by block."""
        gram = np.zeros((self.shape[1], self.shape[1]))
        for places, rows in self._blocks():
            gram += DenseOperator(rows).gram(weights[places])
        return gram


def chosen_rows(
    curvature: FloatArray, leverage: FloatArray, stride: int
) -> tuple[IntArray, FloatArray]:
    """Choose about one row in `stride`, half evenly and half by leverage; return places, weights.

    Systematic: a row each time the running sum of the chances passes a whole number.
    """
    chance = np.minimum(1.0, leverage + (1 + leverage / leverage.mean()) / (2 * stride))
    running = np.cumsum(chance) + 0.5
    chosen = np.flatnonzero(np.floor(running) > np.floor(running - chance))
    return chosen, curvature[chosen] / chance[chosen]


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

    def possible(self) -> BoolArray:
        """Say which outputs of each part some value can lead to."""
        return np.concatenate([part.possible() for part in self.parts])

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

    def gram_map(self, weights: FloatArray, near: bool = False) -> Map:
        """Return the sum of all parts' (near) products."""
        pieces = zip(self.parts, self.split(weights), strict=True)
        maps = [part.gram_map(piece, near) for part, piece in pieces]
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
