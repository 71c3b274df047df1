"""Sampling with multi-freq-ldpy: value by value as its examples do, and in a compiled loop."""

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from numba import njit
from orders import serve


def krr(values, epsilon, size):
    return [GRR_Client(value, size, epsilon) for value in values]


def rappor(values, epsilon, size):
    return [UE_Client(value, size, epsilon, False) for value in values]


@njit
def krr_compiled(values, epsilon, size):
    reports = np.empty(values.size, np.int64)
    for person in range(values.size):
        reports[person] = GRR_Client(values[person], size, epsilon)
    return reports


@njit
def rappor_compiled(values, epsilon, size):
    reports = np.empty((values.size, size))
    for person in range(values.size):
        reports[person] = UE_Client(values[person], size, epsilon, False)
    return reports


serve(
    {
        "krr": (list, krr),
        "rappor": (list, rappor),
        "krr_compiled": (np.array, krr_compiled),
        "rappor_compiled": (np.array, rappor_compiled),
    }
)
