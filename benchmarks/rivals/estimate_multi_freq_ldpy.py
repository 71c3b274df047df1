"""Reports and estimates of multi-freq-ldpy, as its tutorials make them."""

import numpy as np
from compiled import seed
from estimating import named, serve
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

for oracle in (GRR, LH, SS, UE):
    # Compiled, its matrix products want SciPy, which is not among its requirements.
    oracle.IBU = oracle.IBU.py_func


def grr(values, epsilon, size):
    seed()
    reports = [GRR.GRR_Client(value, size, epsilon) for value in values]
    return _both(GRR.GRR_Aggregator_MI, GRR.GRR_Aggregator_IBU, reports, size, epsilon), reports


def _unary(optimal):
    def protocol(values, epsilon, size):
        seed()
        reports = [UE.UE_Client(value, size, epsilon, optimal) for value in values]
        estimates = {
            "MI": UE.UE_Aggregator_MI(reports, epsilon, optimal),
            "IBU": UE.UE_Aggregator_IBU(reports, size, epsilon, optimal),
        }
        return estimates, [np.flatnonzero(report) for report in reports]

    return protocol


def _hashing(optimal):
    def protocol(values, epsilon, size):
        seed()
        reports = [LH.LH_Client(value, size, epsilon, optimal) for value in values]
        buckets = round(np.exp(epsilon)) + 1 if optimal else 2
        sets = [named(*report, buckets, size) for report in reports]
        estimates = {
            "MI": LH.LH_Aggregator_MI(reports, size, epsilon, optimal),
            "IBU": LH.LH_Aggregator_IBU(reports, size, epsilon, optimal),
        }
        return estimates, sets

    return protocol


def subsets(values, epsilon, size):
    seed()
    reports = [SS.SS_Client(value, size, epsilon) for value in values]
    return _both(SS.SS_Aggregator_MI, SS.SS_Aggregator_IBU, reports, size, epsilon), reports


def _both(inversion, update, reports, size, epsilon):
    return {
        "MI": inversion(reports, size, epsilon),
        "IBU": update(reports, size, epsilon),
    }


serve(
    {
        "GRR": grr,
        "SUE": _unary(False),
        "OUE": _unary(True),
        "BLH": _hashing(False),
        "OLH": _hashing(True),
        "SS": subsets,
    }
)
