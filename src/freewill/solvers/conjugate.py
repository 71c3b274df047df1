"""The Newton systems of the interior point by conjugate gradients: large optima, not sparse."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from freewill.operators import Map, Operator
from freewill.solvers.newton import Factor
from freewill.solvers.systems import System
from freewill.types import FloatArray

_PREDICTOR = 0.03
"""Relative residual of the predictor, which only tells how much centring is needed."""
_CORRECTOR = 1e-4
"""That of the step itself: with 1e-3 as many as twice the steps were needed, 1e-5 saves none."""
_MOST = 1000
"""Products a solve, at most: where so many do not do, a better direction will not come."""


class ConjugateStep(NamedTuple):
    """Where conjugate gradients stand."""

    found: FloatArray
    """The approximate solution x, in an array that the next step changes."""
    left: float
    """r' M r for what is left of the right-hand side, r, and the preconditioner M."""
    gain: float
    """By how much the step raised right'x, which grows towards its limit."""


def conjugate_steps(
    product: Map, inverse: Map, right: FloatArray, start: FloatArray | None = None
) -> Iterator[ConjugateStep]:
    """Yield the start and then ever better solutions of product(x) = right."""
    found = np.zeros_like(right) if start is None else start.copy()
    left = right.copy() if start is None else right - product(found)
    way = inverse(left)
    size = float(left @ way)
    yield ConjugateStep(found, size, 0.0)
    while True:
        image = product(way)
        length = size / float(way @ image)
        found += length * way
        left -= length * image
        towards = inverse(left)
        last, size = size, float(left @ towards)
        yield ConjugateStep(found, size, length * last)
        way = towards + (size / last) * way


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
            start = earlier[0] if earlier else None
            steps = conjugate_steps(lambda way: product(way) + outer * way, inverse, right, start)
            for step in islice(steps, _MOST + 1):
                if not step.left > enough:
                    break
            found = step.found
            earlier[:] = [found]
            return found

        return solve

    def _inverse(self, inner: FloatArray, outer: FloatArray) -> Factor:
        if self.near is not None:
            return self.near.factor(inner, outer)
        diagonal = self.operator.gram_diagonal(inner) + outer
        return lambda right: np.asarray(right / diagonal)
