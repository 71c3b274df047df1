"""Algorithm 1 of the paper, as printed: expectation maximisation over a mixture of mechanisms."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from freewill.errors import ParameterError
from freewill.estimators.estimate import Estimate
from freewill.estimators.likelihood import certified_estimate, likelihood_of
from freewill.evidence import Evidence
from freewill.solvers import Status
from freewill.solvers.likelihood import compact
from freewill.types import FloatArray, distribution

_DENORMAL = 1e-150


def em(
    evidence: Evidence,
    delta: float = 1e-9,
    start: ArrayLike | None = None,
    max_steps: int = 1_000_000,
    on_step: Callable[[int, float], None] | None = None,
) -> Estimate:
    """Repeat theta <- theta * P'(w / P theta) until L grows by less than delta (algorithm 1).

    theta is phi, theta^t in the paper; w_j = (n^A / n) q_z^A. Stopping by delta says nothing of
    the distance to the optimum, and stopping early changes the answer: the gap on the result
    tells how far it is. `gibu` goes to the optimum. The start must have full support (uniform by
    default). `on_step(step, log_likelihood)` is called after each step. Cost a step: one forward
    and one adjoint product, whatever the number of people.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.em(fw.collect([(coin, [0], [60]), (coin, [1], [40])]), delta=1e-12).theta.round(3)
    array([0.716, 0.284])
    """
    if not delta > 0:
        raise ParameterError(f"delta={delta!r}: must be > 0.")
    started = perf_counter()
    likelihood = compact(likelihood_of(evidence))
    theta = full_support(start, likelihood.size)
    operator, weights = likelihood.operator, likelihood.weights
    fitted = operator.forward(theta)
    value = likelihood.value(fitted)
    status, step = Status.MAX_STEPS, 0
    for step in range(1, max_steps + 1):
        theta = theta * operator.adjoint(weights / fitted)
        # Denormal numbers are as good as zero and make every product many times slower.
        theta[theta < _DENORMAL] = 0.0
        fitted = operator.forward(theta)
        last, value = value, likelihood.value(fitted)
        if on_step is not None:
            on_step(step, value)
        if abs(value - last) < delta:
            status = Status.CONVERGED
            break
    return certified_estimate(evidence, theta, "em", status, started, step)


def full_support(start: ArrayLike | None, size: int) -> FloatArray:
    """Return the start of an iteration, uniform by default; every value must have mass."""
    if start is None:
        return np.full(size, 1 / size)
    theta = distribution(start, size, "start").copy()
    if np.any(theta <= 0):
        where = int(np.argmin(theta))
        raise ParameterError(
            f"start[{where}]={theta[where]}: the start must be > 0 everywhere, "
            f"for a value that starts at 0 stays there."
        )
    return theta
