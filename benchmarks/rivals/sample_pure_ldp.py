"""Sampling with pure-ldp, called value by value as its examples do."""

from orders import serve
from pure_ldp.frequency_oracles.direct_encoding import DEClient
from pure_ldp.frequency_oracles.unary_encoding import UEClient


def krr(values, epsilon, size):
    client = DEClient(epsilon, size, index_mapper=_same)
    return [client.privatise(value) for value in values]


def rappor(values, epsilon, size):
    client = UEClient(epsilon, size, use_oue=False, index_mapper=_same)
    return [client.privatise(value) for value in values]


def _same(value):
    return value


serve({"krr": (list, krr), "rappor": (list, rappor)})
