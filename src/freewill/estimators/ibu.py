"""IBU: iterative Bayesian update, for one mechanism."""

from dataclasses import replace

from freewill.estimators.em import em
from freewill.estimators.estimate import Estimate
from freewill.estimators.gibu import gibu
from freewill.estimators.inversion import only_group
from freewill.evidence import Evidence


def ibu(
    evidence: Evidence,
    tol: float | None = None,
    delta: float | None = None,
    max_steps: int | None = None,
) -> Estimate:
    """Return the most likely theta under the only mechanism of the evidence (IBU, eq. 10).

    The iteration's limit is computed directly and certified to `tol`; give `delta` to run the
    iteration itself until L grows by less than that.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.ibu(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(3)
    array([0.716, 0.284])
    """
    only_group(evidence, "ibu")
    if delta is None:
        found = gibu(evidence, tol, 100 if max_steps is None else max_steps)
    else:
        found = em(evidence, delta, max_steps=1_000_000 if max_steps is None else max_steps)
    return replace(found, method="ibu")
