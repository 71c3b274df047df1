"""What an operator is: the law of the observed outputs, as two products."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from freewill.core.types import FloatArray, IntArray, numbers
from freewill.errors import LawError, ParameterError, shown
from freewill.numeric.operators.kernel import Sums

Structure = Literal["dense", "symbols", "bits", "geometric", "planar", "stack"]
"""What a law is made of: the solvers choose by it."""

Map: TypeAlias = Callable[[FloatArray], FloatArray]
"""A matrix that is known by its products."""


class LineTerms(NamedTuple):
    """What a law on a line adds to P' diag(d) P, through m_z = sum of d_y over y = z.

    K diag(m) K with K = e^(-decay |i - j|); or, where the decay is infinite,
    gain^2 diag(m) + base gain (1 m' + m 1') + base^2 sum(m) 1 1'.
    """

    outputs: IntArray
    decay: float = np.inf
    base: float = 0.0
    gain: float = 0.0


class Guess(NamedTuple):
    """Bit reports at a glance: rows base + gain * bits, their weight, and its sum by set bit."""

    base: float
    gain: float
    weight: float
    ones: FloatArray


class Operator(Protocol):
    """P(y | x) for observed outputs y (rows) and all values x of the alphabet (columns).

    Rows are stored up to a known factor, P(y | x) = exp(log_scale[y]) * row[y, x], so that the
    largest entry of a row is near 1 however improbable the output is. No estimate of theta
    depends on the factor; only the log-likelihood adds it back.

    All products but one kind are accurate entry by entry: sums of terms of one sign. `exact`
    says so. What an FFT returns is accurate relative to its largest entry only, and
    `forward_within` and `adjoint_within` then look up what it does not get right.
    """

    @property
    def structure(self) -> Structure:
        """What the law is made of."""

    @property
    def shape(self) -> tuple[int, int]:
        """(observed outputs, size of the alphabet)."""

    @property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row."""

    @property
    def exact(self) -> bool:
        """Whether all products are accurate entry by entry."""

    @property
    def sharpness(self) -> float:
        """Logarithm of what noise falls by from a value to the next; 0 where none is next."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return rows @ theta, one number an output."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ weights, one number a value."""

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return rows @ theta for theta >= 0, each number within this relative error."""

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return rows.T @ weights for weights >= 0, each number within this (absolute) error."""

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return rows.T @ diag(weights) @ rows."""

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of that matrix: the weights times the squared rows."""

    def gram_map(self, weights: FloatArray) -> Map:
        """Return that matrix as a product, good to float32 at least: for directions."""

    def near_gram_map(self, weights: FloatArray) -> Map:
        """Return a product close to that one, where it costs much less: for preconditioners."""

    def subset(self, places: IntArray) -> "Operator":
        """Return the law of some of the outputs alone, named by their (rising) places."""

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array, or only these columns of it."""

    def log_dense(self) -> FloatArray:
        """Return log P(y | x) with the factor included, finite even where P underflows."""

    def sums(self, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, H; of bits from about one row in `stride`."""

    def line_terms(self) -> LineTerms | None:
        """Return what the law adds to a system on a line, where it has that structure."""

    def guess(self, weights: FloatArray) -> Guess | None:
        """Return what a glance at bit reports tells, None for anything else."""


class Products:
    """What an operator answers that has nothing but its products to answer from."""

    structure: ClassVar[Structure] = "dense"

    @property
    def exact(self) -> bool:
        """Yes: only an FFT is not."""
        return True

    @property
    def sharpness(self) -> float:
        """None: no value is nearer than another."""
        return 0.0

    def forward_within(self: Operator, theta: FloatArray, error: float) -> FloatArray:
        """Return rows @ theta, which is as accurate as can be."""
        return self.forward(theta)

    def adjoint_within(self: Operator, weights: FloatArray, error: float) -> FloatArray:
        """Return rows.T @ weights, which is as accurate as can be."""
        return self.adjoint(weights)

    def gram_map(self: Operator, weights: FloatArray) -> Map:
        """Return x -> P' diag(weights) P x, by the two products."""
        return lambda vector: self.adjoint(weights * self.forward(vector))

    def near_gram_map(self: Operator, weights: FloatArray) -> Map:
        """Return the same: nothing costs less."""
        return self.gram_map(weights)

    def sums(self: Operator, theta: FloatArray, weights: FloatArray, stride: int = 0) -> Sums:
        """Return L, g and, unless `stride` is 0, the exact H: two products and a gram matrix."""
        fitted = self.forward(theta)
        if not np.all(fitted > 0):
            return Sums.impossible(theta.size)
        ratio = weights / fitted
        hessian = self.gram(ratio / fitted) if stride else None
        return Sums(float(weights @ np.log(fitted)), self.adjoint(ratio), hessian)

    def line_terms(self) -> LineTerms | None:
        """Return None: the solvers for lines do not know this law."""
        return None

    def guess(self, weights: FloatArray) -> Guess | None:
        """Return None: the outputs are not bits."""
        return None


_TESTED = ("shape", "forward", "adjoint")


def probabilities(operator: Operator) -> FloatArray:
    """Return the true P(y | x), rows and factor together.

    >>> from freewill.numeric.operators.dense import DenseOperator
    >>> probabilities(DenseOperator(np.array([[0.75, 0.25]])))
    array([[0.75, 0.25]])
    """
    return np.asarray(np.exp(operator.log_scale)[:, None] * operator.dense())


def dot_test(operator: Operator, rng: np.random.Generator, tolerance: float = 1e-10) -> float:
    """Check that forward and adjoint belong together: <P t, w> = <t, P' w> for random t, w.

    Returns the relative mismatch and raises `LawError` when it exceeds the tolerance: the first
    thing to run on a new operator.

    >>> from freewill.numeric.operators.dense import DenseOperator
    >>> dot_test(DenseOperator(np.eye(3)), np.random.default_rng(0)) < 1e-12
    True
    """
    if isinstance(operator, type) or not all(map(partial(hasattr, operator), _TESTED)):
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
