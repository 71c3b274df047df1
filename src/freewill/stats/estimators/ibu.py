"""IBU: iterative Bayesian update, for one mechanism."""

from dataclasses import replace
from functools import partial

from freewill.numeric.solvers.solution import OnStep
from freewill.stats.estimators.em import em
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.inversion import only_group
from freewill.stats.evidence import Evidence


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

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.ibu(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(3)
    array([0.716, 0.284])
    """
    only_group(evidence, "ibu")
    method = partial(gibu, evidence, tol) if delta is None else partial(em, evidence, delta)
    limit = {} if max_steps is None else {"max_steps": max_steps}
    found = method(on_step=on_step, **limit)
    return replace(found, method="ibu")
