"""RAP: the bit sums of RAPPOR reports, debiased."""

from time import perf_counter

import numpy as np

from freewill.errors import ParameterError
from freewill.estimators.estimate import Estimate
from freewill.estimators.inversion import Post, make_distribution, only_group
from freewill.estimators.likelihood import certified_estimate
from freewill.evidence import Evidence
from freewill.mechanisms import RAPPOR
from freewill.operators import BitOperator
from freewill.solvers import Status


def debias(evidence: Evidence, post: Post = "project") -> Estimate:
    """Turn the share s_x of reports with bit x set into theta, for one epsilon (RAP, eq. 14).

    theta = ((e^(epsilon/2) + 1) s - 1) / (e^(epsilon/2) - 1), then made a distribution as `post`
    says. Cost: one pass over the packed bits.

    >>> import freewill as fw
    >>> bits = fw.RAPPOR(fw.Linear(0, 2), epsilon=4.0)
    >>> reports = bits.obfuscate(np.repeat([0, 1], 5000), np.random.default_rng(0))
    >>> fw.debias(fw.collect([(bits, reports)])).theta.round(2)
    array([0.5, 0.5, 0. ])
    """
    started = perf_counter()
    group = only_group(evidence, "debias")
    if not isinstance(group.mechanism, RAPPOR) or not isinstance(group.operator, BitOperator):
        raise ParameterError(
            f"debias takes RAPPOR reports and the evidence is of {group.mechanism}. Use inversion."
        )
    shares = group.operator.by_bit(group.counts / group.people)
    advantage = np.expm1(group.mechanism.epsilon / 2)
    solved = ((advantage + 2) * shares - 1) / advantage
    return certified_estimate(
        evidence, make_distribution(solved, post), "debias", Status.DIRECT, started
    )
