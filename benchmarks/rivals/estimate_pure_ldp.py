"""Reports and estimates of pure-ldp, as its examples make them."""

import numpy as np
from estimating import named, serve
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

POSTS = {"none": 0, "additive": 1, "simplex": 2, "threshold": 3}


def _same(value):
    return value


def _estimated(server, client, values, size):
    reports = [client.privatise(value) for value in values]
    for report in reports:
        server.aggregate(report)
    every = list(range(size))
    return {
        name: np.array(server.estimate_all(every, True, number)) / len(values)
        for name, number in POSTS.items()
    }, reports


def grr(values, epsilon, size):
    client = DEClient(epsilon, size, index_mapper=_same)
    return _estimated(DEServer(epsilon, size, index_mapper=_same), client, values, size)


def _unary(optimal):
    def protocol(values, epsilon, size):
        client, server = (
            kind(epsilon, size, use_oue=optimal, index_mapper=_same)
            for kind in (UEClient, UEServer)
        )
        estimates, reports = _estimated(server, client, values, size)
        return estimates, [np.flatnonzero(report) for report in reports]

    return protocol


def _hashing(optimal):
    def protocol(values, epsilon, size):
        client, server = (
            kind(epsilon, size, use_olh=optimal, index_mapper=_same)
            for kind in (LHClient, LHServer)
        )
        estimates, reports = _estimated(server, client, values, size)
        sets = [named(*report, server.g, size) for report in reports]
        return estimates, sets

    return protocol


def hadamard(values, epsilon, size):
    server = HadamardResponseServer(epsilon, size, index_mapper=_same)
    client = HadamardResponseClient(epsilon, size, server.get_hash_funcs(), index_mapper=_same)
    estimates, reports = _estimated(server, client, values, size)
    blocks = epsilon > 1
    return estimates, reports, _law_in_blocks(server.hr, size) if blocks else None


def _law_in_blocks(scheme, size):
    """Return the law of the scheme in blocks, by its own permutation and its own matrix."""
    law = np.ones((size, scheme.outsz))
    for value in range(size):
        block, row = divmod(int(scheme.permute[value]), scheme.partsz - 1)
        column = (block << scheme.tailbit) + row + 1
        own = [not scheme.entry_check(column, y) for y in range(scheme.outsz)]
        law[value, own] = scheme.exp
    return (law / law.sum(axis=1, keepdims=True)).tolist()


serve(
    {
        "GRR": grr,
        "SUE": _unary(False),
        "OUE": _unary(True),
        "BLH": _hashing(False),
        "OLH": _hashing(True),
        "HR": hadamard,
    }
)
