"""Conjugate gradients: ever better solutions of a linear system that is known by its products."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Map


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
