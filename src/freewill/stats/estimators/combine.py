"""Two ways to use an estimator for one mechanism on many: combine results, or mechanisms."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.mechanisms.matrix import average
from freewill.errors import ParameterError, shown
from freewill.numeric.solvers.solution import Status
from freewill.stats.estimators.estimate import Estimate, certified_estimate
from freewill.stats.evidence import Evidence, collect, refuse_nobody

Estimator: TypeAlias = Callable[..., Estimate]
"""An estimator of the evidence of one mechanism."""


def combine_results(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Estimate from each mechanism's reports alone and average the results ([e]R, eqs. 4 and 5).

    theta = sum over mechanisms of (n^A / n) e(A, D^A). Options go to the estimator.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_results(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7395, 0.2605])
    """
    started = perf_counter()
    refuse_nobody(evidence, "an estimate")
    results = [
        _estimated(estimator, Evidence(evidence.alphabet, (group,)), options)
        for group in evidence.groups
    ]
    people = np.array([group.people for group in evidence.groups])
    theta = people @ np.stack([result.theta for result in results]) / evidence.people
    return _combined(evidence, f"[{results[0].method}]R", theta, results, started)


def combine_mechanisms(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Pretend that everyone used the average mechanism A[n], and estimate from that ([e]M).

    [INV]M is eq. 7, for k-RR eqs. 8 and 9; [IBU]M is section V-C; [RAP]M is eqs. 13 and 14. The
    mechanisms must share their outputs. Options go to the estimator.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_mechanisms(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7452, 0.2548])
    """
    started = perf_counter()
    result = _estimated(estimator, compound(evidence), options)
    return _combined(evidence, f"[{result.method}]M", result.theta, [result], started)


def _estimated(estimator: Any, evidence: Evidence, options: dict[str, Any]) -> Estimate:
    """Return what an estimator gives, after checking that it is one and gives an estimate."""
    found = estimator(evidence, **options) if callable(estimator) else None
    if not isinstance(found, Estimate):
        told = "" if found is None else f" gave {shown(found)}"
        raise ParameterError(
            f"estimator={shown(estimator)}{told}: expected a function that returns an Estimate, "
            f"such as fw.inversion."
        )
    return found


def compound(evidence: Evidence) -> Evidence:
    """Return all reports as if they came from the average mechanism A[n] (eqs. 6 and 7)."""
    refuse_nobody(evidence, "an estimate")
    groups = evidence.groups
    mean = average([group.mechanism for group in groups], [group.people for group in groups])
    return collect((mean, group.outputs, group.counts) for group in groups)


def _combined(
    evidence: Evidence, method: str, theta: FloatArray, parts: list[Estimate], started: float
) -> Estimate:
    """Wrap a combination; it is as good as its worst part.

    What certifies the parts does not certify the whole, which has only converged.
    """
    order = list(Status)
    status = max([Status.CONVERGED, *(part.status for part in parts)], key=order.index)
    steps = sum(part.steps for part in parts)
    known = [part.unresolved for part in parts if part.unresolved is not None]
    # Some that are lost are worth telling; that none is lost must be known of every part.
    unresolved = max(known, default=0) or (0 if len(known) == len(parts) else None)
    return certified_estimate(evidence, theta, method, status, started, steps, unresolved)
