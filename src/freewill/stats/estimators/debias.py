"""RAP: the bit sums of RAPPOR reports, debiased."""

from time import perf_counter

from freewill.errors import ParameterError
from freewill.numeric.solvers.solution import Status
from freewill.stats.estimators.estimate import Estimate, certified_estimate
from freewill.stats.estimators.inversion import Post, make_distribution, only_group
from freewill.stats.evidence import Evidence


def debias(evidence: Evidence, post: Post = "project") -> Estimate:
    """Turn the share s_x of reports with bit x set into theta, for one epsilon (RAP, eq. 14).

    theta = ((e^(epsilon/2) + 1) s - 1) / (e^(epsilon/2) - 1), then made a distribution as `post`
    says. Cost: one pass over the packed bits.

    >>> import freewill as fw, numpy as np
    >>> bits = fw.RAPPOR(fw.Linear(0, 2), epsilon=4.0)
    >>> reports = bits.obfuscate(np.repeat([0, 1], 50_000))
    >>> fw.debias(fw.collect([(bits, reports)])).theta.round(1)
    array([0.5, 0.5, 0. ])
    """
    started = perf_counter()
    group = only_group(evidence, "debias")
    glance = group.summary.guess
    solved = None if glance is None else group.mechanism.debiased(glance.ones / group.people)
    if solved is None:
        raise ParameterError(
            f"debias takes RAPPOR reports and the evidence is of {group.mechanism}. Use inversion."
        )
    return certified_estimate(
        evidence, make_distribution(solved, post), "debias", Status.DIRECT, started
    )
