"""Algorithm 1 of the paper, as printed (EM over a mixture of mechanisms), and IBU, for one."""

import sys
from dataclasses import replace
from functools import partial
from itertools import islice
from time import perf_counter

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError
from freewill.numeric.solvers.likelihood import (
    OnStep,
    Status,
    Trace,
    compact,
    em_steps,
    gap_of,
    one_blas_thread,
)
from freewill.stats.estimators.estimate import (
    Estimate,
    Start,
    certified_estimate,
    likelihood_of,
    positive,
    theta_of,
    unresolved_directions,
    whole,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.inversion import only_group
from freewill.stats.evidence import Evidence

_LEAST_SHARE = 1e-3
"""Part of an even share that every value of a start is given at least."""


@one_blas_thread
def em(
    evidence: Evidence,
    delta: float = 1e-9,
    start: Start | None = None,
    max_steps: int = 1_000_000,
    on_step: OnStep | None = None,
) -> Estimate:
    """Repeat theta <- theta * P'(w / P theta) until L grows by less than delta (algorithm 1).

    theta is phi, theta^t in the paper; w_j = (n^A / n) q_z^A. Stopping by delta says nothing of
    the distance to the optimum, and stopping early changes the answer: the gap on the result
    tells how far it is. `gibu` goes to the optimum. The start must have full support (uniform by
    default); shares below a thousandth of an even one are lifted to that. `on_step` is called with
    a `Step` (number, gap, log_likelihood) after each one. Where numbers overflow or underflow, the
    last theta without such is the answer, and its status is "stalled". Cost a step: one forward and
    one adjoint product, whatever the number of people.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.em(fw.collect([(coin, [0], [60]), (coin, [1], [40])]), delta=1e-12).theta.round(3)
    array([0.716, 0.284])
    """
    delta = positive("delta", delta)
    limit = whole("max_steps", max_steps)
    started = perf_counter()
    likelihood, trace = compact(likelihood_of(evidence)), Trace(on_step)
    theta = full_support(start, evidence.alphabet)
    status, done, value = Status.MAX_STEPS, 0, -np.inf
    steps = em_steps(likelihood.operator, likelihood.weights, theta)
    # What is not finite ends the loop: no comparison with it would.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for step, here in enumerate(islice(steps, min(limit, sys.maxsize - 1) + 1)):
            last, value = value, likelihood.value(here.fitted)
            if not (np.isfinite(value) and np.all(np.isfinite(here.slope))):
                status = Status.STALLED
                break
            theta, done = here.theta, step
            if step:
                # A step makes theta sum to what the weights sum to: no need to scale.
                trace.add(step, gap_of(here.slope), value)
            if abs(value - last) < delta:
                status = Status.CONVERGED
                break
    lost = unresolved_directions(evidence)
    return certified_estimate(evidence, theta, "em", status, started, done, lost, trace.gaps)


def ibu(
    evidence: Evidence,
    tol: float | None = None,
    delta: float | None = None,
    max_steps: int | None = None,
    on_step: OnStep | None = None,
) -> Estimate:
    """Return the most likely theta under the only mechanism of the evidence (IBU, eq. 10).

    The iteration's limit is computed directly and certified to `tol`; give `delta` to run the
    iteration itself until L grows by less than that. `on_step` is called with a `Step` (number,
    gap, log_likelihood) after each one.

    The cost is that of `gibu`.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.ibu(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(3)
    array([0.716, 0.284])
    """
    only_group(evidence, "ibu")
    method = partial(gibu, evidence, tol) if delta is None else partial(em, evidence, delta)
    limit = {} if max_steps is None else {"max_steps": max_steps}
    return replace(method(on_step=on_step, **limit), method="ibu")


def full_support(start: Start | None, alphabet: Alphabet) -> FloatArray:
    """Return the start of an iteration, uniform by default; every value must have mass."""
    if start is None:
        return np.full(alphabet.size, 1 / alphabet.size)
    theta = theta_of(start, alphabet)
    if np.any(theta <= 0):
        where = int(np.argmin(theta))
        raise ParameterError(
            f"start[{where}]={theta[where]}: the start must be > 0 everywhere, "
            f"for a value that starts at 0 stays there."
        )
    # One that starts next to 0 leaves it so slowly that L seems to stand still.
    theta = np.maximum(theta, _LEAST_SHARE / theta.size)
    return np.asarray(theta / theta.sum())
