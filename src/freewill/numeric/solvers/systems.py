"""The Newton systems (P' diag(d) P + diag(q)) x = r of the interior point, by structure.

A system factors its matrix for given diagonals; what it returns solves for one right-hand side
after the other.
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from freewill.core.types import BoolArray, FloatArray, slices
from freewill.numeric.operators.base import LineTerms, Map, Operator, StackOperator, parts_of
from freewill.numeric.operators.support import BitOperator
from freewill.numeric.solvers.conjugate import conjugate_solution

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
_REPRESENTABLE = 300.0
"""Exponents up to which e^(2 x) and its inverse are ordinary doubles."""
_MOST_BYTES = 1 << 28
"""Memory of a banded system beyond which its mechanisms are merged."""
_MERGED = 3
"""Mechanisms that are left then."""
_RIGHT_BYTES = 1 << 26
"""Memory for the right-hand sides that a banded system is solved for in one call."""

_FIRST_RIDGE = 1e-15
"""Of a unit diagonal: the rounding of one entry."""


class System(Protocol):
    """Factors the Newton system for given diagonals."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor P' diag(inner) P + diag(outer)."""


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


def reach(point: FloatArray, step: FloatArray) -> float:
    """Return how far (at most 1) a step keeps the positive point non-negative.

    >>> reach(np.array([1.0, 1.0]), np.array([5.0, -2.0]))
    0.5
    """
    return 1 / max(1.0, -float((step / point).min()))


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


class Line:
    """Geometric mechanisms, k-RR and Identity on one line: what they add to the system.

    k-RR and Identity add diag(own) + 1 cross' + cross 1' + constant 1 1'.
    """

    def __init__(self, terms: Sequence[LineTerms], size: int) -> None:
        self.size = size
        self.decays = np.array([term.decay for term in terms if term.decay < np.inf])
        flat = [term for term in terms if term.decay == np.inf]
        self._bases = np.array([term.base for term in flat])
        self._gains = np.array([term.gain for term in flat])
        self._shape = (len(terms), size)
        # Where each output's weight is added up: by part, geometric ones first, and by symbol.
        ranks = np.argsort(np.argsort([term.decay == np.inf for term in terms], kind="stable"))
        places = [rank * size + term.outputs for rank, term in zip(ranks, terms, strict=True)]
        self._places = np.concatenate([np.empty(0, dtype=np.int64), *places])
        self._shares: FloatArray | None = None
        """What each geometric mechanism brings to each part, where these are merged."""

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
        line._shares = np.zeros((len(groups), self.decays.size))
        for row, decay, group in zip(line._shares, line.decays, groups, strict=True):
            row[group] = (decay / self.decays[group]) ** 2
        return line

    @property
    def short(self) -> bool:
        """Whether a^(2k) is far from underflow for all geometric parts."""
        return bool(np.all(self.decays * self.size < _REPRESENTABLE))

    def masses(self, inner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the weights [geometric part, z], then own, cross and constant."""
        flat = np.bincount(self._places, inner, minlength=math.prod(self._shape))
        by_part = flat.reshape(self._shape).astype(np.float64, copy=False)
        smooth, symbols = np.split(by_part, [len(by_part) - self._bases.size])
        if self._shares is not None:
            smooth = self._shares @ smooth
        own = self._gains**2 @ symbols
        cross = (self._bases * self._gains) @ symbols
        return smooth, own, cross, float(self._bases**2 @ symbols.sum(axis=1))


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
        small = cholesky(self.rows @ solved.T, 1 / inner[self.few])

        def solve(right: FloatArray) -> FloatArray:
            first = base(right)
            return np.asarray(first - small(self.rows @ first) @ solved)

        return solve


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


def rows_beside(operator: Operator) -> int:
    """Return how many outputs have no structure on a line."""
    return sum(part.shape[0] for part in parts_of(operator) if part.line_terms() is None)


def structured_system(operator: Operator) -> System:
    """Return the system of all parts that have structure on a line, and the others as rows.

    Where many geometric mechanisms on a long line would take too much memory, those of like
    sharpness are merged, and the system so made is the preconditioner of conjugate gradients.
    """
    parts = parts_of(operator)
    others = [part for part in parts if part.line_terms() is None]
    terms = [term for part in parts if (term := part.line_terms()) is not None]
    line = Line(terms, operator.shape[1])
    crowded = line.band_bytes > _MOST_BYTES
    banded = LinearSystem(line.merged(_MERGED) if crowded else line)
    system: System = banded
    if others:
        few = np.concatenate([np.full(part.shape[0], part in others) for part in parts])
        system = LowRankSystem(banded, StackOperator(others).dense(), few)
    return ConjugateSystem(operator, system) if crowded else system
