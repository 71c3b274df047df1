"""The Newton systems of the interior point by conjugate gradients: large optima, not sparse."""

import numpy as np

from freewill.operators import Operator
from freewill.solvers.newton import Factor
from freewill.solvers.systems import System
from freewill.types import FloatArray

_PREDICTOR = 0.03
"""Relative residual of the predictor, which only tells how much centring is needed."""
_CORRECTOR = 1e-4
"""That of the step itself: with 1e-3 as many as twice the steps were needed, 1e-5 saves none."""
_MOST = 1000
"""Products a solve, at most: where so many do not do, a better direction will not come."""


class ConjugateSystem:
    """(P' diag(inner) P + diag(outer)) x = r by products, preconditioned.

    By the diagonal, unless a system that is close to this one, and cheaper, is given as `near`.

    Where noise is sharp against a cell the matrix is nearly diagonal: the condition number of
    one planar mechanism is 270 at epsilon * cell = 1 and 8 at 2. Where it is wide it is not, but
    there the optimum is sparse, `outer` large beside it, and only its values count. Memory for
    some vectors of k numbers.
    """

    def __init__(self, operator: Operator, near: System | None = None) -> None:
        self.operator = operator
        self.near = near

    def factor(self, inner: FloatArray, outer: FloatArray) -> Factor:
        """Return a solver: rough for the first right-hand side, the predictor's, then finer."""
        product = self.operator.gram_map(inner)
        inverse = self._inverse(inner, outer)
        earlier: list[FloatArray] = []

        def solve(right: FloatArray) -> FloatArray:
            tolerance = _CORRECTOR if earlier else _PREDICTOR
            enough = tolerance**2 * float(right @ inverse(right))
            found, left = np.zeros_like(right), right.copy()
            if earlier:
                found = earlier[0].copy()
                left -= product(found) + outer * found
            way = inverse(left)
            size = float(left @ way)
            for _ in range(_MOST):
                if not size > enough:
                    break
                image = product(way) + outer * way
                length = size / float(way @ image)
                found += length * way
                left -= length * image
                towards = inverse(left)
                last, size = size, float(left @ towards)
                way = towards + (size / last) * way
            earlier[:] = [found]
            return found

        return solve

    def _inverse(self, inner: FloatArray, outer: FloatArray) -> Factor:
        if self.near is not None:
            return self.near.factor(inner, outer)
        diagonal = self.operator.gram_diagonal(inner) + outer
        return lambda right: np.asarray(right / diagonal)
