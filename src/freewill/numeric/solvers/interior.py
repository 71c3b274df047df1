"""Certified maximum likelihood by a primal-dual interior point: about a dozen Newton steps.

And the Newton systems (P' diag(d) P + diag(q)) x = r of these steps, by structure. A system factors
its matrix for given diagonals; what it returns solves for one right-hand side after the other.
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.operators.base import (
    DenseOperator,
    LineTerms,
    Map,
    Operator,
    StackOperator,
    parts_of,
)
from freewill.numeric.solvers.conjugate import ConjugateSystem, System
from freewill.numeric.solvers.likelihood import (
    POOR,
    Iterate,
    Likelihood,
    OnStep,
    Solution,
    Status,
    Trace,
    accelerated_em,
    one_blas_thread,
    pulled_inside,
)

_LEAST = float(np.finfo(float).tiny)
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
_FRACTION = 0.995
"""Share of the way to the boundary that a step takes at least; it grows to 1 as mu falls."""
_PATIENCE = 12
"""Steps without a smaller gap before rounding is blamed: an ordinary run has about that many."""
_WARM_UP = 3
"""Cycles of accelerated EM to begin with: together they cost one Newton step and save four."""
_UNIFORM = 0.01
"""Share of the uniform distribution after these: zeros at the start are slow to leave."""
_TRUSTED = 0.003
"""The same share after a given start: likely near the optimum, but not to be on the edge."""
_LOOSE = 1.001
"""Factor by which the dual starts inside its constraint P'v <= 1: with 1.02 7 % more steps."""
_ABOUT = 1.01
"""How much larger than the tolerance a gap may be that carries the rounding of all steps."""
_TO_THE_WALL = 1e-8
"""What a step leaves at least of the way to zero: exact zeros would divide by zero."""
_TINY = 1e-40
"""Least theta: nothing depends on less, and products of less are denormal, many times slower."""
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
        small = cholesky(self.rows @ solved.T, 1 / np.maximum(inner[self.few], _LEAST))

        def solve(right: FloatArray) -> FloatArray:
            first = base(right)
            return np.asarray(first - small(self.rows @ first) @ solved)

        return solve


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


@one_blas_thread
@np.errstate(all="ignore")
def solve(
    likelihood: Likelihood,
    system: System,
    tolerance: float,
    max_steps: int,
    start: FloatArray | None = None,
    on_step: OnStep | None = None,
) -> Solution:
    """Maximise sum_j w_j log (P theta)_j over the simplex.

    The optimum has a dual v (one number an output) and a slack s (one a value) with
    P'v + s = 1, (P theta) v = w and theta s = 0. Newton steps follow theta s = mu -> 0 with
    Mehrotra's predictor and corrector; the matrix is P' diag(v/p) P + diag(s/theta). The best
    certified iterate is kept, so that the answer never gets worse with more steps.
    docs/solvers.md derives the system.
    """
    operator, weights = likelihood.operator, likelihood.weights
    trace = Trace(on_step)
    if start is not None and (given := likelihood.certify(start, tolerance)).gap <= tolerance:
        return Solution(start, given, 0, Status.CERTIFIED)
    theta, fitted, slope = _start(likelihood, start)
    if start is not None and given.gap > POOR:
        own = _start(likelihood, None)
        if likelihood.value(own.fitted) > likelihood.value(fitted):
            theta, fitted, slope = own
    best = (likelihood.gap(theta, slope), theta, 0)
    # v = w / (c p), so that P'v is g / c.
    loose, size = _LOOSE * float(slope.max()), theta.size
    dual = np.concatenate([1 - slope / loose, weights / (loose * fitted)])
    here = _Point(np.concatenate([theta, fitted]), dual)
    goal = np.concatenate([np.zeros(size), weights])
    step, certificate = 0, None
    while best[0] > tolerance and step < max_steps and step - best[2] < _PATIENCE:
        step += 1
        ratio = here.dual / here.primal
        factor = system.factor(ratio[size:], ratio[:size])
        here = _newton(likelihood, factor, here, slope, goal)
        theta, fitted = here.primal[:size], here.primal[size:]
        if not least(fitted) > 0:
            break
        slope = operator.adjoint(weights / fitted)
        gap = likelihood.gap(theta, slope)
        if gap <= _ABOUT * tolerance:
            # P theta was carried along; what counts is computed from theta.
            certificate = likelihood.certify(theta, tolerance)
            slope, gap = certificate.slope, certificate.gap
        trace.add(step, gap, likelihood.value(fitted) if on_step else np.nan)
        if gap < best[0]:
            best = (gap, theta, step)
    if certificate is None or certificate.gap != best[0]:
        certificate = likelihood.certify(best[1], tolerance)
    if certificate.gap <= tolerance:
        return Solution(best[1], certificate, best[2], Status.CERTIFIED, trace.gaps)
    status = Status.MAX_STEPS if step >= max_steps else Status.STALLED
    return Solution(best[1], certificate, step, status, trace.gaps)


class _Point(NamedTuple):
    """theta and p = P theta in one array, their duals s and v in another; or relative steps."""

    primal: FloatArray
    dual: FloatArray


def _newton(
    likelihood: Likelihood, factor: Map, here: _Point, slope: FloatArray, goal: FloatArray
) -> _Point:
    """Take one step of Mehrotra's method, and normalise theta.

    `goal` is what the products of primal and dual are to be: 0 and w. Steps are relative to where
    they begin: their reach and their products are then had at once.
    """
    operator, size, (primal, dual) = likelihood.operator, slope.size, here
    product, right = primal * dual, slope - 1
    complement = product[:size]
    lack = goal / product - 1
    step = _direction(operator, factor, primal, right, lack)
    # What the linear equations leave out: the products of the predictor's steps.
    second = step.primal * step.dual
    whole, along = float(complement.sum()), float(complement.dot(step.primal[:size]))
    length, dual_length = reach(step.primal[:size]), reach(step.dual[:size])
    # theta . s where these lengths end, of which s alone loses all that theta has not gained.
    ahead = (1 - dual_length) * whole + (length - dual_length) * along
    ahead += length * dual_length * float(complement.dot(second[:size]))
    mu = whole / size
    target = mu * (max(ahead, 0.0) / whole) ** 3 if mu > 0 else 0.0
    lack -= second
    lack[:size] += target / complement
    second *= dual
    right += target / primal[:size] - second[:size] - operator.adjoint(second[size:])
    step = _direction(operator, factor, primal, right, lack)
    fraction = max(_FRACTION, 1 - max(mu, _TO_THE_WALL))
    primal = primal * (1 + fraction * reach(step.primal) * step.primal)
    primal /= float(primal[:size].sum())
    np.maximum(primal[:size], _TINY, out=primal[:size])
    return _Point(primal, dual * (1 + fraction * reach(step.dual) * step.dual))


def _direction(
    operator: Operator, factor: Map, primal: FloatArray, right: FloatArray, lack: FloatArray
) -> _Point:
    """Solve the Newton equations; both relative steps are to add up to what is lacking."""
    move = factor(right)
    along = np.concatenate([move, operator.forward(move)]) / primal
    return _Point(along, lack - along)


def _start(likelihood: Likelihood, start: FloatArray | None) -> Iterate:
    """Return a point inside the simplex: some cycles of EM from the start, or from the centre."""
    law, weights = likelihood.operator, likelihood.weights
    share = _UNIFORM if start is None else _TRUSTED
    theta = np.full(likelihood.size, 1 / likelihood.size)
    if start is not None:
        theta = pulled_inside(start, _UNIFORM)
    theta = accelerated_em(law, weights, theta, _WARM_UP).theta
    return accelerated_em(law, weights, pulled_inside(theta / theta.sum(), share), 0)
