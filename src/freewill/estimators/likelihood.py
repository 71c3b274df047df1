"""The likelihood of evidence, and estimates that carry its certificate."""

from time import perf_counter

import numpy as np

from freewill.errors import EvidenceError
from freewill.estimators.estimate import Estimate
from freewill.evidence import Evidence
from freewill.solvers import Likelihood, Status
from freewill.types import FloatArray


def likelihood_of(evidence: Evidence) -> Likelihood:
    """Return the likelihood of evidence, which must have people in it."""
    if evidence.people == 0:
        raise EvidenceError("the evidence has no people: there is nothing to estimate from.")
    return Likelihood(evidence.operator, evidence.weights)


def certified_estimate(
    evidence: Evidence,
    theta: FloatArray,
    method: str,
    status: Status,
    started: float,
    steps: int = 0,
    unresolved: int | None = None,
) -> Estimate:
    """Wrap the answer of any method with its likelihood and gap; `started` by `perf_counter`."""
    seconds = perf_counter() - started
    certificate = likelihood_of(evidence).certify(theta)
    # A vector with negative components is no distribution; no bound holds for it.
    gap = certificate.gap if np.all(theta >= 0) else np.inf
    return Estimate(
        theta,
        method,
        status,
        gap,
        certificate.value,
        steps,
        seconds,
        unresolved=unresolved,
    )
