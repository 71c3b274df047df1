"""Several attributes with multi-freq-ldpy: SPL, SMP and RS+FD, as its tutorial calls them.

An order has the people as `values`, a list of each with a value of every attribute, and as `size`
the sizes of the attributes. Estimates come back by the place of the attribute. Reports come back
where they are asked for by a name with "reports": lists, one of each person, of what was said of
each attribute, None where nothing was, and sets of values as lists.
"""

from functools import partial

import numpy as np
from compiled import seed
from estimating import serve
from multi_freq_ldpy.mdim_freq_est import RSpFD_solution as fake
from multi_freq_ldpy.mdim_freq_est import SMP_solution as sampled
from multi_freq_ldpy.mdim_freq_est import SPL_solution as split


def _solution(client, aggregator, read, sizes_first=True, **options):
    """Return a protocol for `serve`, and the same with its reports."""

    def run(tell, values, epsilon, size):
        seed()
        count = len(size)
        reports = [client(value, size, count, epsilon, **options) for value in np.array(values)]
        sizes = (size,) if sizes_first else ()
        estimates = aggregator(reports, *sizes, count, epsilon, **options)
        return dict(enumerate(estimates)), read(reports, count) if tell else []

    return partial(run, False), partial(run, True)


def _all(reports, _count):
    return [[_plain(part) for part in report] for report in reports]


def _one(reports, count):
    """Place the answer of a person among the attributes."""
    return [
        [_plain(report) if place == attribute else None for place in range(count)]
        for attribute, report in reports
    ]


def _plain(report):
    """Return a value as it is, bits and subsets as lists of values."""
    if np.ndim(report) == 0:
        return int(report)
    report = np.asarray(report)
    return (np.flatnonzero(report) if report.dtype == float else report).tolist()


STANDARD, OPTIMAL = {"optimal": False}, {"optimal": True}
SOLUTIONS = {
    "SPL[GRR]": _solution(split.SPL_GRR_Client, split.SPL_GRR_Aggregator_MI, _all),
    "SPL[ADP]": _solution(split.SPL_ADP_Client, split.SPL_ADP_Aggregator_MI, _all),
    "SPL[SS]": _solution(split.SPL_SS_Client, split.SPL_SS_Aggregator_MI, _all),
    "SMP[GRR]": _solution(sampled.SMP_GRR_Client, sampled.SMP_GRR_Aggregator_MI, _one),
    "SMP[SUE]": _solution(
        sampled.SMP_UE_Client, sampled.SMP_UE_Aggregator_MI, _one, sizes_first=False, **STANDARD
    ),
    "SMP[OUE]": _solution(
        sampled.SMP_UE_Client, sampled.SMP_UE_Aggregator_MI, _one, sizes_first=False, **OPTIMAL
    ),
    "SMP[OLH]": _solution(sampled.SMP_LH_Client, sampled.SMP_LH_Aggregator_MI, _one, **OPTIMAL),
    "SMP[SS]": _solution(sampled.SMP_SS_Client, sampled.SMP_SS_Aggregator_MI, _one),
    "SMP[ADP]": _solution(sampled.SMP_ADP_Client, sampled.SMP_ADP_Aggregator_MI, _one),
    "RS+FD[GRR]": _solution(fake.RSpFD_GRR_Client, fake.RSpFD_GRR_Aggregator_MI, _all),
    "RS+FD[SUE-z]": _solution(
        fake.RSpFD_UE_zero_Client, fake.RSpFD_UE_zero_Aggregator_MI, _all, **STANDARD
    ),
    "RS+FD[SUE-r]": _solution(
        fake.RSpFD_UE_rnd_Client, fake.RSpFD_UE_rnd_Aggregator_MI, _all, **STANDARD
    ),
    "RS+FD[OUE-z]": _solution(
        fake.RSpFD_UE_zero_Client, fake.RSpFD_UE_zero_Aggregator_MI, _all, **OPTIMAL
    ),
    "RS+FD[OUE-r]": _solution(
        fake.RSpFD_UE_rnd_Client, fake.RSpFD_UE_rnd_Aggregator_MI, _all, **OPTIMAL
    ),
    "RS+FD[ADP]": _solution(fake.RSpFD_ADP_Client, fake.RSpFD_ADP_Aggregator_MI, _all),
}

serve(
    {name: protocol for name, (protocol, _) in SOLUTIONS.items()}
    | {f"{name} reports": protocol for name, (_, protocol) in SOLUTIONS.items()}
)
