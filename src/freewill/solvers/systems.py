"""The Newton systems (P' diag(d) P + diag(q)) x = r of the interior point, by structure."""

from typing import Protocol, TypeGuard

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dgbtrf, dgbtrs

from freewill.operators import GeometricOperator, Operator, StackOperator, SymbolOperator
from freewill.types import FloatArray


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
        self.rows = np.ascontiguousarray(rows)

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor after scaling to a unit diagonal, with a ridge should rounding require one."""
        weighted = self.rows * np.sqrt(inner)[:, None]
        matrix = dsyrk(1.0, weighted.T, lower=1)
        matrix[np.diag_indices_from(matrix)] += outer
        scale = 1 / np.sqrt(matrix.diagonal())
        matrix *= scale
        matrix *= scale[:, None]
        ridge = 0.0
        while True:
            try:
                factor = cho_factor(matrix, lower=True, check_finite=False)
                break
            except LinAlgError:
                ridge = max(100 * ridge, 1e-15)
                matrix[np.diag_indices_from(matrix)] += ridge

        def solve(right: FloatArray) -> FloatArray:
            return np.asarray(scale * cho_solve(factor, scale * right, check_finite=False))

        return solve


class LinearSystem:
    """The system of geometric mechanisms and k-RR on a line, in O(k M^2) for M geometric ones.

    The matrix K = a^|i-j| of a geometric mechanism has a tridiagonal inverse T. With y = K x and
    z = K diag(d) y as further unknowns, K diag(d) K x + diag(q) x = r turns into T y = x,
    T z = diag(d) y, z + diag(q) x = r: a banded system when the unknowns of each position stand
    together. k-RR adds a diagonal and a matrix of rank two (Woodbury).
    """

    def __init__(self, stack: StackOperator) -> None:
        self.stack = stack
        self.geometric = [part for part in stack.parts if isinstance(part, GeometricOperator)]
        self.size = stack.shape[1]

    @staticmethod
    def fits(operator: Operator) -> TypeGuard[StackOperator]:
        """Whether all parts of an operator have the structure."""
        return isinstance(operator, StackOperator) and all(
            isinstance(part, GeometricOperator | SymbolOperator) for part in operator.parts
        )

    def factor(self, inner: FloatArray, outer: FloatArray) -> Solver:
        """Factor the banded matrix and the correction of rank two."""
        diagonal = outer.copy()
        cross = np.zeros(self.size)
        constant = 0.0
        masses = []
        for part, weights in zip(self.stack.parts, self.stack.split(inner), strict=True):
            if isinstance(part, SymbolOperator):
                own = part.by_symbol(weights)
                diagonal += part.gain**2 * own
                cross += part.base * part.gain * own
                constant += part.base**2 * float(weights.sum())
            elif isinstance(part, GeometricOperator):
                masses.append(part.squared_masses(weights))
        banded = self._banded(diagonal, masses)
        if constant == 0:
            return banded
        # H = B + U C U' with U = [1, cross] and C = [[constant, 1], [1, 0]].
        low = np.stack([np.ones(self.size), cross])
        solved = np.stack([banded(row) for row in low])
        small = np.array([[0.0, 1.0], [1.0, -constant]]) + low @ solved.T

        def solve(right: FloatArray) -> FloatArray:
            first = banded(right)
            return np.asarray(first - np.linalg.solve(small, low @ first) @ solved)

        return solve

    def _banded(self, diagonal: FloatArray, masses: list[FloatArray]) -> Solver:
        count = len(self.geometric)
        if count == 0:
            return lambda right: np.asarray(right / diagonal)
        block = 1 + 2 * count
        # LAPACK's layout: entry (row, column) stands in band[2 * block + row - column, column].
        band = np.zeros((3 * block + 1, self.size, block))
        centre = 2 * block
        band[centre, :, 0] = diagonal
        for number, (part, mass) in enumerate(zip(self.geometric, masses, strict=True)):
            ratio, smooth, spread = np.exp(-part.decay), 1 + number, 1 + count + number
            width = -np.expm1(-2 * part.decay)
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
            spread_out = np.zeros((self.size, block))
            spread_out[:, 0] = right
            found, _ = dgbtrs(factors, block, block, spread_out.ravel(), pivots)
            return np.asarray(found).reshape(self.size, block)[:, 0].copy()

        return solve
