"""The Newton systems (P' diag(d) P + diag(q)) x = r of the interior point, by structure.

A system factors its matrix for given diagonals; what it returns solves for one right-hand side
after the other.
"""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import (
    DenseOperator,
    LineTerms,
    Map,
    Operator,
    StackOperator,
    parts_of,
)
from freewill.numeric.operators.support import BitOperator

_TINY = float(np.finfo(float).tiny)
"""The least number whose inverse is one."""
_REPRESENTABLE = 300.0
"""Exponents up to which e^(2 x) and its inverse are ordinary doubles."""
_MOST_BYTES = 1 << 28
"""Memory of a banded system beyond which its mechanisms are merged."""
CROWD, _MERGED = 6, 3
"""Mechanisms beyond which they are as well, for the band takes the cube of them; and then left."""
_TABLE_ROWS = 256
"""Rows of an array that make a matrix in the time that one of structure takes at least."""
_LINE_ROWS = 8
"""Rows of an array that a product takes as long with as a geometric mechanism."""
_FEW_LAWS = 64
"""Geometric mechanisms up to which products of powers beat a table of them."""
_RIGHT_BYTES = 1 << 26
"""Memory for the right-hand sides that a banded system is solved for in one call."""
_PREDICTOR = 0.03
"""Relative residual of the predictor, which only tells how much centring is needed."""
_CORRECTOR = 1e-4
"""That of the step itself: with 1e-3 as many as twice the steps were needed, 1e-5 saves none."""
_MOST, _MOST_A_VALUE = 1000, 10
"""Products a solve, at most: where so many do not do, a better direction will not come."""
_ROUGH, _MOST_ROUGH = 0.05, 200
"""Relative residual of a preconditioner that is itself solved by products, and their number."""
_MANY_BYTES = 1 << 19
"""Bytes of bit reports from which on a product with them costs more than one of a large grid."""

_FIRST_RIDGE = 1e-15
"""Of a unit diagonal: the rounding of one entry."""


def cholesky(matrix: FloatArray, diagonal: FloatArray | None = None) -> Map:
    """Factor matrix + diag(diagonal), of which only the lower triangle is read.

    Adds the diagonal to the matrix itself: fresh memory costs as much as the arithmetic. Should
    rounding require it, the matrix is scaled to a unit diagonal and gets a ridge.
    """
    if diagonal is not None:
        matrix.ravel(order="K")[:: len(matrix) + 1] += diagonal
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    return (
        _ridged(matrix) if failed else lambda right: np.asarray(dpotrs(factor, right, lower=1)[0])
    )


def _ridged(matrix: FloatArray) -> Map:
    """Factor a matrix that is not positive definite by some rounding."""
    held = matrix.diagonal()
    scale = 1 / np.sqrt(np.where(held > 0, held, 1.0))
    matrix = matrix * scale * scale[:, None]
    ridge, failed = 0.0, 1
    while failed:
        ridge = max(100 * ridge, _FIRST_RIDGE)
        if not np.isfinite(ridge):
            raise LinAlgError("the Newton system has entries that are no numbers")
        matrix.ravel(order="K")[:: len(matrix) + 1] += ridge
        factor, failed = dpotrf(matrix, lower=1, clean=0)

    def solve(right: FloatArray) -> FloatArray:
        solution, _ = dpotrs(factor, scale * right, lower=1)
        return np.asarray(scale * solution)

    return solve


def least(numbers: FloatArray) -> float:
    """Return the least number, found by its place: several times as fast where there are few."""
    return float(numbers[numbers.argmin()])


def reach(step: FloatArray) -> float:
    """Return how far (at most 1) a step, relative to a positive point, keeps it non-negative.

    >>> reach(np.array([5.0, -2.0]) / np.array([1.0, 1.0]))
    0.5
    """
    return 1 / max(1.0, -least(step))


class System(Protocol):
    """Factors the Newton system for given diagonals."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor P' diag(inner) P + diag(outer)."""


class DenseSystem:
    """The system as a k x k matrix and its Cholesky factor: O(outputs * k^2 + k^3)."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows
        # One buffer for all steps: fresh memory costs more than the products.
        self._weighted = np.empty_like(rows)

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the matrix P' diag(inner) P + diag(outer)."""
        np.multiply(self.rows, np.sqrt(inner)[:, None], out=self._weighted)
        return cholesky(dsyrk(1.0, self._weighted.T, lower=1), outer)


@dataclass(frozen=True, eq=False)
class GramSystem:
    """The same, as the sum of what each law's structure makes of its rows."""

    operator: Operator

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the matrix P' diag(inner) P + diag(outer)."""
        return cholesky(self.operator.gram(inner).T, outer)


class Line:
    """Geometric mechanisms, k-RR and Identity on one line: what their rows add to the system.

    k-RR and Identity add diag(own) + 1 cross' + cross 1' + constant 1 1'.
    """

    def __init__(self, terms: Sequence[LineTerms], size: int) -> None:
        self.size, self.decays = size, np.empty(0)
        rows = [np.empty((4, 0))]
        for term in terms:
            # Rows without a decay come before those of the first.
            law = 0 if term.which is None else 1 + self.decays.size + term.which
            rows.append(np.array(np.broadcast_arrays(law, term.outputs, term.base, term.gain)))
            self.decays = np.append(self.decays, () if term.decays is None else term.decays)
        laws, outputs, bases, gains = np.concatenate(rows, axis=1)
        self._laws, self._outputs = laws.astype(np.int64), outputs.astype(np.int64)
        self._places = self._laws * size + self._outputs
        self._flat, self._any_flat = (
            np.array([gains**2, bases * gains, bases**2]),
            bool(gains.any()),
        )
        self._scales: FloatArray | float = 1.0
        """What each row's weight is multiplied by, where mechanisms are merged."""

    @classmethod
    def of(cls, operator: Operator) -> "Line | None":
        """Return the line that all parts of an operator are laws on, None if one is not."""
        terms = [part.line_terms() for part in parts_of(operator)]
        on_line = [term for term in terms if term is not None]
        return cls(on_line, operator.shape[1]) if len(on_line) == len(terms) else None

    @property
    def band_bytes(self) -> int:
        """Memory of the banded matrix of all geometric parts."""
        block = 1 + 2 * self.decays.size
        return 8 * (3 * block + 1) * block * self.size if self.decays.size else 0

    def merged(self, count: int) -> "Line":
        """Return a line of at most so many geometric parts, close to this one.

        Neighbours in sharpness become one part of their mean decay d; each brings its weights
        times (d / its own)^2, for K, the matrix of e^(-decay |i - j|), has row sums of about
        2 / decay and enters twice.
        """
        groups = np.array_split(np.argsort(self.decays), min(count, self.decays.size))
        line = copy(self)
        line.decays = np.exp([np.log(self.decays[group]).mean() for group in groups])
        part, scale = np.zeros(1 + self.decays.size, dtype=np.int64), np.ones(1 + self.decays.size)
        for number, group in enumerate(groups):
            part[1 + group] = 1 + number
            scale[1 + group] = (line.decays[number] / self.decays[group]) ** 2
        line._laws, line._scales = part[self._laws], scale[self._laws]
        line._places = line._laws * self.size + self._outputs
        return line

    @property
    def short(self) -> bool:
        """Whether a^(2k) is far from underflow for all geometric parts."""
        return bool(np.all(self.decays * self.size < _REPRESENTABLE))

    def masses(self, inner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the weights [geometric part, z], then own, cross and constant."""
        own, cross = np.zeros((2, self.size))
        smooth, constant = np.empty((0, self.size)), 0.0
        if self.decays.size:
            shape = (1 + self.decays.size, self.size)
            smooth = _summed(self._places, self._scales * inner, math.prod(shape)).reshape(shape)[
                1:
            ]
        if self._any_flat:
            squares, products, constants = self._flat
            own = _summed(self._outputs, squares * inner, self.size)
            cross = _summed(self._outputs, products * inner, self.size)
            constant = float(constants @ inner)
        return smooth, own, cross, constant


def _summed(places: IntArray, weights: FloatArray, size: int) -> FloatArray:
    return np.bincount(places, weights, size).astype(np.float64, copy=False)


class ToeplitzSystem:
    """The dense matrix of geometric mechanisms and k-RR on a short line, by formula: O(M k^2).

    For x <= x' all outputs share the factor a^(x'-x): those left of x add a^(2(x-y)), those right
    of x' add a^(2(y-x')), those between add 1. So a geometric mechanism adds
    a^(x'-x) (u[x] + v[x']). As a^(x'-x) is a^x' / a^x, that is a product of two vectors twice, and
    over all mechanisms one product of k x 2M with 2M x k. The line must be `short`, for a^-x to be
    an ordinary number.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        exponents = np.outer(line.decays, np.arange(line.size))
        self.powers, self.inverse = np.exp(-exponents), np.exp(exponents)
        self.falling, self.rising = self.powers**2, self.inverse**2
        # Half of each is the same for every system.
        self._low = np.concatenate([self.inverse, self.inverse])
        self._high = np.concatenate([self.powers, self.powers])

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the matrix P' diag(inner) P + diag(outer)."""
        smooth, own, cross, constant = self.line.masses(inner)
        until = np.cumsum(smooth, axis=1)
        left = np.cumsum(self.rising * smooth, axis=1)
        right = np.cumsum((self.falling * smooth)[:, ::-1], axis=1)[:, ::-1]
        low, high = self._low, self._high
        low[: len(smooth)] = left * self.powers - until * self.inverse
        high[len(smooth) :] = right * self.inverse + (until - smooth) * self.powers
        # Right where x <= x'; below the diagonal it means nothing, and is not read.
        upper = low.T @ high
        if constant:
            upper += cross + (cross[:, None] + constant)
        return cholesky(upper.T, outer + own)


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The system of geometric mechanisms and k-RR on a long line, in O(k M^2) for M geometric ones.

    The matrix K = a^|i-j| of a geometric mechanism has a tridiagonal inverse T. With y = K x and
    z = K diag(d) y as further unknowns, K diag(d) K x + diag(q) x = r turns into T y = x,
    T z = diag(d) y, z + diag(q) x = r: a banded system when the unknowns of each position stand
    together. k-RR adds a diagonal and a matrix of rank two (Woodbury). Right-hand sides may be
    the rows of an array, which are solved for together.
    """

    line: Line

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the banded matrix and the correction of rank two."""
        smooth, own, cross, constant = self.line.masses(inner)
        banded = self._banded(outer + own, smooth)
        if constant == 0:
            return banded
        # H = B + U C U' with U = [1, cross] and C = [[constant, 1], [1, 0]].
        low = np.stack([np.ones(self.line.size), cross])
        solved = banded(low)
        (first, second), (third, fourth) = (low @ solved.T).tolist()
        # The inverse of C^-1 + U' B^-1 U, where C^-1 = [[0, 1], [1, -constant]].
        second, third, fourth = second + 1, third + 1, fourth - constant
        small = np.array([[fourth, -second], [-third, first]])
        small /= first * fourth - second * third

        def solve(right: FloatArray) -> FloatArray:
            first = banded(right)
            return np.asarray(first - (first @ low.T) @ small.T @ solved)

        return solve

    def _banded(self, diagonal: FloatArray, masses: FloatArray) -> Map:
        size, count = self.line.size, len(masses)
        if count == 0:
            return lambda right: np.asarray(right / diagonal)
        block = 1 + 2 * count
        # LAPACK's layout: entry (row, column) stands in band[2 * block + row - column, column];
        # what stands outside of the matrix is not read.
        band = np.zeros((size, block, 3 * block + 1)).transpose(2, 0, 1)
        centre = 2 * block
        band[centre, :, 0] = diagonal
        for number, (decay, mass) in enumerate(zip(self.line.decays, masses, strict=True)):
            ratio, smooth, twice = np.exp(-decay), 1 + number, 1 + count + number
            drop = np.expm1(-2 * decay)
            for slot in (smooth, twice):
                band[centre, :, slot] = 1 + ratio**2
                band[centre, [0, -1], slot] = 1.0
                band[[centre - block, centre + block], :, slot] = -ratio
            band[centre + smooth, :, 0] = drop
            band[centre + twice - smooth, :, smooth] = drop * mass
            band[centre - twice, :, twice] = 1.0
        flat = band.reshape(3 * block + 1, -1)
        factors, pivots, info = dgbtrf(flat, block, block, overwrite_ab=1)
        if info:
            raise LinAlgError(f"the banded Newton system is singular at pivot {info}")

        def solve(right: FloatArray) -> FloatArray:
            rows = right.reshape(-1, size)
            solution = np.empty_like(rows)
            for some in slices(len(rows), _RIGHT_BYTES // (8 * size * block)):
                padded = np.zeros((len(rows[some]), size, block))
                padded[:, :, 0] = rows[some]
                unknowns = padded.reshape(-1, size * block).T
                dgbtrs(factors, block, block, unknowns, pivots, overwrite_b=1)
                solution[some] = padded[:, :, 0]
            return solution.reshape(right.shape)

        return solve


@dataclass(frozen=True, eq=False)
class LowRankSystem:
    """(B + R' diag(d) R) x = r, where B is a structured system and R has few rows.

    With Z = B^-1 R' the answer is B^-1 r - Z (diag(1/d) + R Z)^-1 R B^-1 r. O(rows^2 k) and one
    solve with B for all rows a step, in memory for two arrays of rows * k.
    """

    base: LinearSystem
    rows: FloatArray
    few: BoolArray
    """Which of all outputs the rows are; the others are the structured ones."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the structured part, and the small matrix of the few rows."""
        base = self.base.factor(inner[~self.few], outer)
        solved = base(self.rows)
        small = cholesky(self.rows @ solved.T, 1 / np.maximum(inner[self.few], _TINY))

        def solve(right: FloatArray) -> FloatArray:
            first = base(right)
            return np.asarray(first - small(self.rows @ first) @ solved)

        return solve


@dataclass(frozen=True, eq=False)
class AtomSystem:
    """(P' diag(d) P + diag(q)) x = r for P = [ diag(f) A | h E ], E a column an atom.

    An atom meets one output, so that eliminating it leaves the system of A with another weight
    there: f^2 d q / (h^2 d + q), d and f the output's, q the atom's. Atoms at all outputs cost no
    more than a product with A.
    """

    law: AtomOperator
    system: System
    """That of A."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the law's system, the atoms eliminated."""
        law, size = self.law, self.law.inner.shape[1]
        places, height, factors = law.places, law.height, law.factors
        own, atoms = inner[places], outer[size:]
        whole = height**2 * own + atoms
        left = factors**2 * inner
        left[places] *= atoms / whole
        # A weight of 0 has no inverse, which systems of low rank need.
        solve = self.system.factor(np.maximum(left, np.finfo(np.float64).tiny), outer[:size])
        across = height * own * factors[places]

        def solved(right: FloatArray) -> FloatArray:
            back = np.zeros(inner.size)
            back[places] = across * right[size:] / whole
            values = solve(right[:size] - law.inner.adjoint(back))
            behind = (right[size:] - across * law.inner.forward(values)[places]) / whole
            return np.concatenate([values, behind])

        return solved


class ConjugateStep(NamedTuple):
    """Where conjugate gradients stand."""

    solution: FloatArray
    """The approximate solution x, in an array that the next step changes."""
    left: float
    """r' M r for what is left of the right-hand side, r, and the preconditioner M."""
    gain: float
    """By how much the step raised right'x, which grows towards its limit."""


def conjugate_steps(
    product: Map, inverse: Map, right: FloatArray, start: FloatArray | None = None
) -> Iterator[ConjugateStep]:
    """Yield the start and then ever better solutions of product(x) = right, while there are any."""
    solution = np.zeros_like(right) if start is None else start.copy()
    left = right.copy() if start is None else right - product(solution)
    way = inverse(left)
    size = float(left @ way)
    yield ConjugateStep(solution, size, 0.0)
    while True:
        image = product(way)
        curvature = float(way @ image)
        if not curvature > 0:
            return
        length = size / curvature
        solution += length * way
        left -= length * image
        towards = inverse(left)
        last, size = size, float(left @ towards)
        yield ConjugateStep(solution, size, length * last)
        # Conjugate to the last way even if the preconditioner is not the same map each time.
        way = towards - (length * float(towards @ image) / last) * way


def conjugate_solution(
    product: Map,
    inverse: Map,
    right: FloatArray,
    tolerance: float,
    most: int,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return x with product(x) near right, to this relative residual or after so many products."""
    steps = conjugate_steps(product, inverse, right, start)
    step = next(steps)
    whole = step.left if start is None else float(right @ inverse(right))
    for _ in range(most):
        if not step.left > tolerance**2 * whole:
            break
        step = next(steps, step)
    return step.solution


@dataclass(frozen=True, eq=False)
class ConjugateSystem:
    """(P' diag(inner) P + diag(outer)) x = r by products, preconditioned.

    By the diagonal, unless a system that is close to this one, and cheaper, is given as `near`.
    With many bit reports `conjugate_system` gives one.

    Where noise is sharp against a cell the matrix is nearly diagonal: the condition number of
    one planar mechanism is 270 at epsilon * cell = 1 and 8 at 2. Where it is wide it is not, but
    there the optimum is sparse, `outer` large beside it, and only its values count. Memory for
    some vectors of k numbers.
    """

    operator: Operator
    near: System | None = None

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Return a solver: rough for the first right-hand side, the predictor's, then finer."""
        product = self.operator.gram_map(inner)
        inverse = self._inverse(inner, outer)
        earlier: list[FloatArray] = []

        def solve(right: FloatArray) -> FloatArray:
            tolerance, start = (_CORRECTOR, earlier[0]) if earlier else (_PREDICTOR, None)
            most = min(_MOST, _MOST_A_VALUE * right.size)
            solution = conjugate_solution(
                lambda way: product(way) + outer * way, inverse, right, tolerance, most, start
            )
            earlier[:] = [solution]
            return solution

        return solve

    def _inverse(self, inner: FloatArray, outer: FloatArray) -> Map:
        if self.near is not None:
            return self.near.factor(inner, outer)
        diagonal = self.operator.gram_diagonal(inner) + outer
        return lambda right: np.asarray(right / diagonal)


@dataclass(frozen=True, eq=False)
class NearSystem:
    """The system of the near `gram_map`, roughly solved: a preconditioner.

    It saves products with bit reports, each of which reads all of them: some four a solve are
    left where the diagonal needs thirty.
    """

    operator: Operator

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Return a rough solver, preconditioned by the diagonal."""
        product = self.operator.gram_map(inner, near=True)
        diagonal = self.operator.gram_diagonal(inner) + outer

        return lambda right: conjugate_solution(
            lambda way: product(way) + outer * way,
            lambda left: left / diagonal,
            right,
            _ROUGH,
            _MOST_ROUGH,
        )


def conjugate_system(operator: Operator) -> ConjugateSystem:
    """Return the system by products, with a near system as preconditioner for many bit reports."""
    packed = (part.packed.nbytes for part in parts_of(operator) if isinstance(part, BitOperator))
    return ConjugateSystem(operator, NearSystem(operator) if sum(packed) > _MANY_BYTES else None)


def on_few_lines(operator: Operator) -> bool:
    """Say if all rows have structure on a line, and so many rows a line that this is faster."""
    terms = [part.line_terms() for part in parts_of(operator)]
    if any(term is None for term in terms):
        return False
    lines = sum(term.decays.size for term in terms if term and term.decays is not None)
    return operator.shape[0] > _LINE_ROWS * lines


def dense_system(operator: Operator, held: Operator) -> System:
    """Return the system as a k x k matrix, by the structure of the laws or from their rows.

    `held` is the operator, or its rows as an array: the sooner of both makes the matrix.
    """
    line = Line.of(operator)
    if line is not None and line.short and line.decays.size <= _FEW_LAWS:
        return ToeplitzSystem(line)
    if isinstance(held, DenseOperator) and not sooner_by_structure(operator):
        return DenseSystem(held.rows)
    return GramSystem(operator)


def sooner_by_structure(operator: Operator) -> bool:
    """Say if the structure of the laws makes the matrix with less work than their rows."""
    return sum(map(_rows_worth, parts_of(operator))) < operator.shape[0]


def _rows_worth(part: Operator) -> int:
    """Return how many rows of an array make a matrix of k x k with as much work as a law does."""
    terms = part.line_terms()
    if terms is None:
        return int(part.work(pairs=True) / part.shape[1] ** 2)
    return _TABLE_ROWS + (0 if terms.decays is None else 4 * terms.decays.size)


def rows_beside(operator: Operator) -> int:
    """Return how many outputs have no structure on a line."""
    return sum(part.shape[0] for part in parts_of(operator) if part.line_terms() is None)


def structured_system(operator: Operator, mechanisms: int = CROWD) -> System:
    """Return the system of all parts that have structure on a line, and the others as rows.

    Where geometric mechanisms are more than `mechanisms`, or take too much memory, those of like
    sharpness are merged, and the system so made is the preconditioner of a `ConjugateSystem`.
    """
    parts = parts_of(operator)
    others = [part for part in parts if part.line_terms() is None]
    terms = [term for part in parts if (term := part.line_terms()) is not None]
    line = Line(terms, operator.shape[1])
    crowded = line.band_bytes > _MOST_BYTES or line.decays.size > mechanisms
    banded = LinearSystem(line.merged(_MERGED) if crowded else line)
    system: System = banded
    if others:
        few = np.concatenate([np.full(part.shape[0], part in others) for part in parts])
        system = LowRankSystem(banded, StackOperator(others).dense(), few)
    return ConjugateSystem(operator, system) if crowded else system
