"""The certified maximum of a likelihood on dense rows: by columns, else by interior point."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.solvers import columns, interior
from freewill.numeric.solvers.likelihood import Likelihood
from freewill.numeric.solvers.solution import Certificate, Solution, Status
from freewill.numeric.solvers.systems import DenseSystem


def dense_maximum(
    likelihood: Likelihood,
    tolerance: float,
    max_steps: int,
    start: FloatArray,
    plane: tuple[int, int] | None = None,
) -> Solution:
    """Maximise over theta from a start that is near: few steps where few values have weight.

    By columns first, which begin from a start in two or three steps; by interior point where
    these do not arrive. The best of both is returned, certified or not.

    >>> from freewill.numeric.operators.dense import DenseOperator
    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> likelihood = Likelihood(law, np.array([0.6, 0.4]))
    >>> dense_maximum(likelihood, 1e-9, 20, np.array([0.5, 0.5])).theta.round(6)
    array([0.7, 0.3])
    """
    uniform = np.full(likelihood.size, 1 / likelihood.size)
    best = Solution(uniform, Certificate(-np.inf, uniform, np.inf), 0, Status.STALLED)

    def by_columns() -> Solution:
        return columns.solve(likelihood, tolerance, max_steps, start, plane)

    def by_interior() -> Solution:
        system = DenseSystem(likelihood.operator.dense())
        return interior.solve(likelihood, system, tolerance, max_steps, start)

    for solve in (by_columns, by_interior):
        try:
            found = solve()
        except (ArithmeticError, np.linalg.LinAlgError):
            continue
        if found.certificate.gap < best.certificate.gap:
            best = found
        if best.status == Status.CERTIFIED:
            return best
    return best
