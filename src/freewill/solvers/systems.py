"""The Newton systems (P' diag(d) P + diag(q)) x = r of the interior point, by structure."""

import math
from typing import Protocol, TypeGuard

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from freewill.operators import GeometricOperator, Operator, StackOperator, SymbolOperator
from freewill.types import FloatArray

_REPRESENTABLE = 300.0
"""Exponents up to which e^(2 x) and its inverse are ordinary doubles."""


class Solver(Protocol):
    """Solves a factored system for one right-hand side after the other."""

    def __call__(self, right: FloatArray) -> FloatArray:
        """Return x with (P' diag(d) P + diag(q)) x = right."""


class System(Protocol):
    """Factors the system for given diagonals."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor P' diag(inner) P + diag(outer)."""


class DenseSystem:
    """The system as a k x k matrix and its Cholesky factor: O(outputs * k^2 + k^3)."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows
        # One buffer for all steps: fresh memory costs more than the products.
        self._weighted = np.empty_like(rows)

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor the matrix P' diag(inner) P + diag(outer)."""
        np.multiply(self.rows, np.sqrt(inner)[:, None], out=self._weighted)
        return cholesky(dsyrk(1.0, self._weighted.T, lower=1), outer)


def cholesky(matrix: FloatArray, diagonal: FloatArray) -> Solver:
    """Factor matrix + diag(diagonal), of which only the lower triangle is read; overwrites it.

    The matrix is scaled to a unit diagonal first, and gets a ridge should rounding require one.
    """
    size = len(matrix)
    matrix.ravel(order="K")[:: size + 1] += diagonal
    scale = 1 / np.sqrt(matrix.diagonal())
    matrix *= scale
    matrix *= scale[:, None]
    ridge = 0.0
    while True:
        factor, failed = dpotrf(matrix, lower=1)
        if not failed:
            break
        ridge = max(100 * ridge, 1e-15)
        matrix.ravel(order="K")[:: size + 1] += ridge

    def solve(right: FloatArray) -> FloatArray:
        found, _ = dpotrs(factor, scale * right, lower=1)
        return np.asarray(scale * found)

    return solve


class LineParts:
    """Geometric mechanisms, k-RR and Identity on one line: what they add to the system.

    k-RR and Identity add diag(own) + 1 cross' + cross 1' + constant 1 1'.
    """

    def __init__(self, stack: StackOperator) -> None:
        geometric = [part for part in stack.parts if isinstance(part, GeometricOperator)]
        symbols = [part for part in stack.parts if isinstance(part, SymbolOperator)]
        self.size = stack.shape[1]
        self.decays = np.array([part.decay for part in geometric])
        self._bases = np.array([part.base for part in symbols])
        self._gains = np.array([part.gain for part in symbols])
        self._shape = (len(geometric) + len(symbols), self.size)
        # Where each output's weight is added up: by part, geometric ones first, and by symbol.
        places, factors = [], []
        first, second = iter(range(len(geometric))), iter(range(len(geometric), self._shape[0]))
        for part in stack.parts:
            if isinstance(part, GeometricOperator):
                places.append(next(first) * self.size + part.outputs)
                factors.append(part.squared_constants())
            elif isinstance(part, SymbolOperator):
                places.append(next(second) * self.size + part.symbols)
                factors.append(np.ones(part.symbols.size))
        self._places, self._factors = np.concatenate(places), np.concatenate(factors)

    @staticmethod
    def fit(operator: Operator) -> TypeGuard[StackOperator]:
        """Whether all parts of an operator have the structure."""
        return isinstance(operator, StackOperator) and all(
            isinstance(part, GeometricOperator | SymbolOperator) for part in operator.parts
        )

    def masses(self, inner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the weights times c_z^2 [geometric part, z], then own, cross and constant."""
        flat = np.bincount(self._places, inner * self._factors, minlength=math.prod(self._shape))
        by_part = flat.reshape(self._shape).astype(np.float64, copy=False)
        smooth, symbols = by_part[: self.decays.size], by_part[self.decays.size :]
        own = self._gains**2 @ symbols
        cross = (self._bases * self._gains) @ symbols
        return smooth, own, cross, float(self._bases**2 @ symbols.sum(axis=1))


class ToeplitzSystem:
    """The dense matrix of geometric mechanisms and k-RR on a short line, by formula: O(M k^2).

    For x <= x' a geometric mechanism adds a^(x'-x) (u[x] + v[x']), with u from the outputs left
    of x' and v from those right of x (see `GeometricOperator.gram`). Summed over mechanisms, the
    entries at distance t are two products with the table of a^t.
    """

    @staticmethod
    def fits(operator: Operator) -> TypeGuard[StackOperator]:
        """Whether the parts have the structure, and a^(2k) is far from underflow for all."""
        return LineParts.fit(operator) and all(
            part.decay * part.size < _REPRESENTABLE
            for part in operator.parts
            if isinstance(part, GeometricOperator)
        )

    def __init__(self, stack: StackOperator) -> None:
        self.parts = LineParts(stack)
        size = self.parts.size
        index = np.arange(size)
        gaps = np.abs(np.subtract.outer(index, index))
        exponents = np.outer(self.parts.decays, index)
        self.powers = np.exp(-exponents)
        self.falling, self.rising = np.exp(-2 * exponents), np.exp(2 * exponents)
        # Where entry [x, x'] finds its two terms in the tables [x or x', distance].
        self.low = np.minimum.outer(index, index) * size + gaps
        self.high = np.maximum.outer(index, index) * size + gaps

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor the matrix P' diag(inner) P + diag(outer)."""
        smooth, own, cross, constant = self.parts.masses(inner)
        left = self.falling * np.cumsum(self.rising * smooth, axis=1)
        right = self.rising * np.cumsum((self.falling * smooth)[:, ::-1], axis=1)[:, ::-1]
        until = np.cumsum(smooth, axis=1)
        low = (left - until).T @ self.powers
        high = (right + until - smooth).T @ self.powers
        matrix = low.ravel()[self.low] + high.ravel()[self.high]
        if constant:
            matrix += cross + (cross[:, None] + constant)
        return cholesky(matrix, outer + own)


class LinearSystem:
    """The system of geometric mechanisms and k-RR on a long line, in O(k M^2) for M geometric ones.

    The matrix K = a^|i-j| of a geometric mechanism has a tridiagonal inverse T. With y = K x and
    z = K diag(d) y as further unknowns, K diag(d) K x + diag(q) x = r turns into T y = x,
    T z = diag(d) y, z + diag(q) x = r: a banded system when the unknowns of each position stand
    together. k-RR adds a diagonal and a matrix of rank two (Woodbury).
    """

    def __init__(self, stack: StackOperator) -> None:
        self.parts = LineParts(stack)

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor the banded matrix and the correction of rank two."""
        smooth, own, cross, constant = self.parts.masses(inner)
        banded = self._banded(outer + own, smooth)
        if constant == 0:
            return banded
        # H = B + U C U' with U = [1, cross] and C = [[constant, 1], [1, 0]].
        low = np.stack([np.ones(self.parts.size), cross])
        solved = np.stack([banded(row) for row in low])
        small = np.linalg.inv(np.array([[0.0, 1.0], [1.0, -constant]]) + low @ solved.T)

        def solve(right: FloatArray) -> FloatArray:
            first = banded(right)
            return np.asarray(first - (small @ (low @ first)) @ solved)

        return solve

    def _banded(self, diagonal: FloatArray, masses: FloatArray) -> Solver:
        size, count = self.parts.size, len(masses)
        if count == 0:
            return lambda right: np.asarray(right / diagonal)
        block = 1 + 2 * count
        # LAPACK's layout: entry (row, column) stands in band[2 * block + row - column, column].
        band = np.zeros((3 * block + 1, size, block))
        centre = 2 * block
        band[centre, :, 0] = diagonal
        for number, (decay, mass) in enumerate(zip(self.parts.decays, masses, strict=True)):
            ratio, smooth, spread = np.exp(-decay), 1 + number, 1 + count + number
            width = -np.expm1(-2 * decay)
            for slot in (smooth, spread):
                band[centre, :, slot] = 1 + ratio**2
                band[centre, [0, -1], slot] = 1.0
                band[centre - block, 1:, slot] = -ratio
                band[centre + block, :-1, slot] = -ratio
            band[centre + smooth, :, 0] = -width
            band[centre + spread - smooth, :, smooth] = -width * mass
            band[centre - spread, :, spread] = 1.0
        flat = band.reshape(3 * block + 1, -1)
        factors, pivots, info = dgbtrf(flat, block, block, overwrite_ab=1)
        if info:
            raise LinAlgError(f"the banded Newton system is singular at pivot {info}")

        def solve(right: FloatArray) -> FloatArray:
            spread_out = np.zeros((size, block))
            spread_out[:, 0] = right
            found, _ = dgbtrs(factors, block, block, spread_out.ravel(), pivots)
            return np.asarray(found).reshape(size, block)[:, 0].copy()

        return solve
