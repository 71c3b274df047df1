"""Conjugate gradients: Newton systems that are solved by products alone; and laws with atoms."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import Map, Operator, parts_of
from freewill.numeric.operators.support import BitOperator

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


class System(Protocol):
    """Factors the Newton system for given diagonals."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor P' diag(inner) P + diag(outer)."""


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
